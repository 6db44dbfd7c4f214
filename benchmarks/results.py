"""Rows to CSV and back, to a table, to a picture."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.base import Experiment, Measure, Row
from windrow.errors import WindrowError

if TYPE_CHECKING:
    from rich.table import Table


def write_csv(path: Path, rows: Sequence[Row], facts: dict[str, Any]) -> None:
    """Every repetition a line, with the machine, versions and seed on each."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*facts, *names], restval="")
        writer.writeheader()
        writer.writerows({**facts, **row} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """The rows of a CSV that `write_csv` wrote; what looks like a number is one, what is empty is left out."""
    with path.open(newline="") as file:
        return [{name: _value(text) for name, text in row.items() if text != ""} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)


def summary(measure: Measure, rows: Sequence[Row]) -> list[Row]:
    """For each group: median, least, most, repetitions, and the median ratio against the baseline's same repetition."""
    chosen = [row for row in rows if measure.value in row and (measure.kind is None or row.get("kind") == measure.kind)]
    groups: dict[tuple, dict[int, float]] = {}
    for row in chosen:
        key = tuple(row.get(name) for name in measure.by)
        groups.setdefault(key, {})[row.get("repetition", 0)] = row[measure.value]
    lines = []
    for key, values in groups.items():
        base = groups.get((*key[:-1], measure.baseline), {}) if measure.baseline is not None else {}
        ratios = []
        for repetition, value in values.items():
            if base.get(repetition) and value:
                ratios.append(base[repetition] / value if measure.less_is_better else value / base[repetition])
        line = dict(zip(measure.by, key, strict=True))
        line |= {
            "median": statistics.median(values.values()),
            "least": min(values.values()),
            "most": max(values.values()),
        }
        line |= {"repetitions": len(values), "ratio": statistics.median(ratios) if ratios else None}
        lines.append(line)
    return lines


def table(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """The summary for people."""
    from rich.table import Table  # not above: a missing extra must not keep `__main__` from saying so

    measure = experiment.measure
    result = Table(title=f"{experiment.name}: {experiment.title}", title_justify="left")
    for name in measure.by:
        result.add_column(name)
    result.add_column(measure.unit, justify="right")
    result.add_column("least - most", justify="right")
    if measure.baseline is not None:
        result.add_column(f"times better than {measure.baseline}", justify="right")
    for line in summary(measure, rows):
        cells = [f"{line[name]:,}" if isinstance(line[name], int) else str(line[name]) for name in measure.by]
        cells += [figure(line["median"]), f"{figure(line['least'])} - {figure(line['most'])}"]
        if measure.baseline is not None:
            cells.append("" if line["ratio"] is None else figure(line["ratio"]))
        result.add_row(*cells)
    return result


def figure(value: float) -> str:
    """A number in three or so digits."""
    if value != value:
        return "nan"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def draw(experiment: Experiment, csv_path: Path, png_path: Path) -> None:
    """The picture, from the CSV alone. Raises `WindrowError` where matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise WindrowError("pictures need matplotlib: pip install '.[bench]'") from None
    canvas = Figure(figsize=(11, 6), layout="constrained")
    FigureCanvasAgg(canvas)
    experiment.draw(read_csv(csv_path), canvas)
    labels = {
        label: handle for axes in canvas.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if labels:
        canvas.legend(labels.values(), labels.keys(), loc="outside right upper", fontsize=7)
    canvas.suptitle(f"{experiment.name}: {experiment.title}", fontsize=11)
    canvas.savefig(png_path, dpi=110)


def lines_over(
    axes: Any,
    rows: Sequence[Row],
    x: str,
    value: str,
    series: str,
    xlabel: str,
    ylabel: str,
    logx: bool = True,
    logy: bool = True,
) -> None:
    """One line for each `series`, its medians over `x`, with a band from least to most."""
    names = list(dict.fromkeys(row[series] for row in rows))
    styles = axes.figure.__dict__.setdefault("series_styles", {})  # a series looks the same on all axes of a figure
    for name in names:
        i = styles.setdefault(str(name), len(styles))
        own = summary(Measure((x,), value, ""), [row for row in rows if row[series] == name])
        own.sort(key=lambda line: line[x])
        at = [line[x] for line in own]
        style = ("-", "--", ":", "-.")[i // 10 % 4]
        medians = [line["median"] for line in own]
        [drawn] = axes.plot(at, medians, style, marker=".", linewidth=1.2, color=f"C{i % 10}", label=str(name))
        axes.fill_between(
            at, [line["least"] for line in own], [line["most"] for line in own], alpha=0.15, color=drawn.get_color()
        )
    if logx:
        axes.set_xscale("log", base=2)
    if logy:
        axes.set_yscale("log")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)


def grid(figure: Any, rows: Sequence[Row], by: str) -> list[tuple[Any, Any, list[Row]]]:
    """One pair of axes for each value of a column: (value, axes, its rows)."""
    values = list(dict.fromkeys(row[by] for row in rows if by in row))
    wide = min(3, len(values)) or 1
    all_axes = figure.subplots(-(-len(values) // wide) or 1, wide, squeeze=False).flatten()
    for axes in all_axes[len(values) :]:
        axes.set_axis_off()
    found = []
    for value, axes in zip(values, all_axes, strict=False):
        axes.set_title(str(value), fontsize=9)
        found.append((value, axes, [row for row in rows if row.get(by) == value]))
    return found
