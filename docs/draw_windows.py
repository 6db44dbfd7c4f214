"""Draws how rows fall into windows: pictures for docs/windows, the cookbook, docs/updates.md and others.

python docs/draw_windows.py [FOLDER]

Nothing is drawn by hand: the first example of a page is run, and its query draws its rows (`Query.draw`). The same
rows give the same bytes: a test tells whether pictures are current.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

import windrow
from windrow import agg
from windrow.drawing import Bar, Dot, Lane, Panel, Picture
from windrow.drawing.axis import Axis
from windrow.drawing.scene import shown

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"


def example(page: Path) -> dict[str, Any]:
    """The names that a page's first example defines."""
    block = re.search(r"^```(?:pycon|python)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None, f"{page} has no example"
    names: dict[str, Any] = {"__name__": "__main__"}
    for part in doctest.DocTestParser().get_examples(block[1]):
        if not part.source.startswith("print"):
            exec(compile(part.source, str(page), "exec"), names)
    return names


def pages() -> dict[str, Path]:
    """The pages whose example is drawn, by the file's name."""
    found = {f"window_{page.stem}": page for page in sorted((DOCS / "windows").glob("*.md"))}
    recipes = sorted(page for page in (DOCS / "cookbook").glob("*.md") if page.stem != "index")
    found |= {f"cookbook_{page.stem}": page for page in recipes}
    found["updates"] = DOCS / "updates.md"
    return {**found, "window_readme": DOCS.parent / "README.md", "query_sensors": DOCS / "see_your_query.md"}


def asked(names: dict[str, Any]) -> Picture:
    """Rows of a second table that ask: the events of each key, and the window of each ask."""
    query, events, labels = names["query"], names["payments"], names["labels"]
    (window,) = query.windows.values()
    listing = windrow.Query(
        time=query.time, by=query.by, windows=window, aggregates={"held": agg.collect_list("place"), **query.aggregates}
    )
    placed, times = _micros(events[query.time]), _micros(labels[query.time])
    answers = listing.run(events.assign(place=placed), at=labels)
    lanes = {key: Lane(f"{query.by[0]} {key}") for key in labels[query.by[0]].unique()}
    for key, place, amount in zip(events[query.by[0]], placed, events["amount"], strict=True):
        lanes[key].dots.append(Dot(place, str(amount), f"{amount}"))
    for i, (key, time) in enumerate(zip(labels[query.by[0]], times, strict=True)):
        start, end, edges = window.span(time)
        held = answers["held"][i]
        told = [shown(None if pd.isna(answers[name][i]) else answers[name][i]) for name in query.aggregates]
        lanes[key].groups.setdefault("", []).append(Bar(start, end, [] if held is None else held, told, edges))
    title = f"{window!r}, asked at four moments"
    return Picture([Panel(Axis("time", ""), list(lanes.values()), list(query.aggregates), "amount")], title)


def _micros(times: Any) -> list[float]:
    return times.astype("datetime64[us]").astype("int64").astype(float).tolist()


def main(folder: str | Path = IMAGES) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        names = example(page)
        names["query"].draw(names["rows"]).save(Path(folder) / f"{name}.svg")
    asked(example(DOCS / "point_in_time.md")).save(Path(folder) / "query_asking.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
