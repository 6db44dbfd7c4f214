"""Draws how rows fall into windows, one picture for each page of docs/windows and one for the README.

python docs/draw_windows.py [FOLDER]

Nothing is drawn by hand: the first example of a page is run, its query is asked once more which rows each window holds
(`agg.collect_list`), and that is drawn. The same rows give the same bytes: a test tells whether pictures are current.
"""

from __future__ import annotations

import doctest
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import windrow
from windrow import agg
from windrow.windows.base import TIME

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
INK, FAINT, BAR, HELD = "#22303c", "#9aa7b1", "#cfe3f1", "#1f6f9f"
#: the SVG's ids are made from this instead of at random
SETTINGS = {"svg.hashsalt": "windrow", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9}
EDGES = {"right": "(]", "left": "[)", "both": "[]", "none": "()"}


@dataclass(frozen=True)
class Bar:
    """One window: where it begins and ends along the axis, the rows that it holds, what it gives."""

    start: float
    end: float
    rows: list[int]
    answer: str
    edges: str = "[)"


def example(page: Path) -> dict[str, Any]:
    """The names that a page's first example defines."""
    block = re.search(r"^```(?:pycon|python)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None, f"{page} has no example"
    names: dict[str, Any] = {"__name__": "__main__"}
    for part in doctest.DocTestParser().get_examples(block[1]):
        if not part.source.startswith("print"):
            exec(compile(part.source, str(page), "exec"), names)
    return names


def bars(query: windrow.Query, rows: pd.DataFrame, places: np.ndarray) -> list[Bar]:
    """The windows of a query over rows, as they come back from it."""
    asked = windrow.Query(
        time=query.time,
        windows=query.windows["window"],
        aggregates={**query.aggregates, "held": agg.collect_list("number")},
        partial=query.partial,
    )
    found = asked.run(rows.assign(number=range(len(rows))))
    first = next(iter(query.aggregates))
    answers = [f"{value:g}" if isinstance(value, float) else str(value) for value in found[first].tolist()]
    held = [list(map(int, numbers)) for numbers in found["held"]]
    window: Any = query.windows["window"]
    if query.per_row:
        edges = EDGES[window.closed] if window.kind == "trailing" else "[]"
        length = window.range / 60e6 if window.kind == "trailing" else None
        begins = [
            place - length if length is not None else min((places[i] for i in numbers), default=place)
            for place, numbers in zip(places, held, strict=True)
        ]
        return [Bar(*bar, edges) for bar in zip(begins, places, held, answers, strict=True)]
    ends = [minutes(found[side], rows, query) for side in ("start", "end")]
    return [Bar(*bar) for bar in zip(*ends, held, answers, strict=True)]


def minutes(times: pd.Series, rows: pd.DataFrame, query: windrow.Query) -> np.ndarray:
    """Times as minutes after the full hour before the first row; positions stay as they are."""
    if times.dtype.kind != "M":
        return times.to_numpy(float)
    hour = rows[query.time].min().floor("h")
    return ((times - hour) / pd.Timedelta("1min")).to_numpy(float)


def draw(query: windrow.Query, rows: pd.DataFrame) -> Figure:
    """The rows on top with their values, below them a bar for each window with the rows that it holds."""
    window: Any = query.windows["window"]
    by_time = query.time is not None and (query.per_row or query.measure(window) == TIME)
    places = minutes(rows[query.time], rows, query) if by_time else np.arange(len(rows), dtype=float)
    drawn = bars(query, rows, places)
    column = next(iter(query.aggregates.values())).columns[0]
    values = rows[column].tolist()
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 1.0 + 0.27 * len(drawn)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        head(axes, places, values, column)
        for line, bar in enumerate(drawn):
            body(axes, -1.0 - line, bar, places, next(iter(query.aggregates)) if line == 0 else "")
        hour = rows[query.time].min().floor("h") if by_time else None
        frame(axes, places, drawn, hour)
    return figure


def head(axes: Axes, places: np.ndarray, values: list[Any], column: str) -> None:
    """The rows and their values."""
    axes.plot(places, np.zeros(len(places)), "o", color=INK, markersize=5)
    for place, value in zip(places, values, strict=True):
        axes.annotate(str(value), (place, 0), (0, 5), textcoords="offset points", ha="center", color=INK)
        axes.axvline(place, ymax=0.9, color=FAINT, linewidth=0.4, linestyle=(0, (1, 3)), zorder=0)
    axes.annotate(column, (0, 0), (-8, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                  ha="right", va="center", color=INK)  # fmt: skip


def body(axes: Axes, line: float, bar: Bar, places: np.ndarray, name: str) -> None:
    """One window."""
    axes.barh(line, bar.end - bar.start, left=bar.start, height=0.62, color=BAR, zorder=1)
    for at, edge, shift in ((bar.start, bar.edges[0], -5), (bar.end, bar.edges[1], 5)):
        axes.annotate(edge, (at, line), (shift, 0.5), textcoords="offset points", ha="center", va="center",
                      color=INK, fontweight="bold")  # fmt: skip
    axes.plot(places[bar.rows], np.full(len(bar.rows), line), "o", color=HELD, markersize=4, zorder=2)
    where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "color": INK}
    axes.annotate(bar.answer, (1, line), (8, 0), va="center", **where)
    if name:
        axes.annotate(name, (1, 0), (8, 0), va="center", fontweight="bold", **where)


def frame(axes: Axes, places: np.ndarray, drawn: list[Bar], hour: pd.Timestamp | None) -> None:
    """The axis, and nothing else around."""
    left = min([*places, *(bar.start for bar in drawn)])
    right = max([*places, *(bar.end for bar in drawn)])
    pad = (right - left) * 0.025
    axes.set(xlim=(left - pad, right + pad), ylim=(-1.6 - len(drawn) + 1, 0.9), yticks=[])
    step = 1 if hour is None else 5 if right - left < 60 else 60
    ticks = np.arange(np.ceil(left / step) * step, right + pad, step)
    axes.set_xticks(ticks)
    if hour is None:
        axes.set_xticklabels([f"{tick:g}" for tick in ticks])
        axes.set_xlabel("row", color=INK)
    else:
        axes.set_xticklabels([f"{hour + pd.Timedelta(minutes=tick):%H:%M}" for tick in ticks])
    axes.tick_params(colors=INK, length=3)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)


def pictures() -> dict[str, Figure]:
    """Every picture by its file's name."""
    found = {}
    for page in sorted((DOCS / "windows").glob("*.md")):
        names = example(page)
        found[f"window_{page.stem}"] = draw(names["query"], names["rows"])
    names = example(DOCS.parent / "README.md")
    found["window_readme"] = draw(names["query"], pd.DataFrame(names["rows"]))
    return found


def main(folder: str | Path = IMAGES) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, figure in pictures().items():
        with matplotlib.rc_context(SETTINGS):
            figure.savefig(Path(folder) / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
