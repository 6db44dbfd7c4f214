"""Several aggregates in one window, against a window for each.

Asked: the time a row (insert, policy, query, by hand) of k counts in one `join`, and of k windows with one count each,
over RocksDB and in memory.

Found by paper 4 (Fig. 9): 411 ns for each aggregate more, against 4,895 for each window more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import backends, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_least
from benchmarks.timing import interleaved
from windrow import agg


def together(k: int) -> Any:
    return agg.join(*[agg.count() for _ in range(k)])


def stepped(windows: Sequence[Any], count: int, limit: int) -> Callable[[], None]:
    def policy(total: Any, old: Any) -> bool:
        return total[0] - old[0] >= limit

    def run() -> None:
        for i in range(count):
            for w in windows:
                w.insert(i)
                w.enforce(policy)
                w.query()

    return run


def run(settings: Settings) -> list[Row]:
    dimensions = settings.pick((1, 2), (1, 5, 20), (1, 2, 5, 10, 20, 50), (1, 2, 5, 10, 20, 30, 40, 50))
    limit = settings.pick(16, 2**9, 2**12, 2**15)
    count = settings.pick(10, 200, 1000, 4000)
    rows: list[Row] = []
    with backends.places(remote=False) as places:
        for k in settings.track(dimensions, "dimensions"):
            runs: dict[str, Any] = {}
            for place, make in places.items():
                for layout in ("one window", "alone"):
                    made = [
                        make("amta", together(k if layout == "one window" else 1))
                        for _ in range(1 if layout == "one window" else k)
                    ]
                    for w in made:
                        w.insert_many(range(limit))
                    runs[f"{layout}, {place}"] = lambda made=made: stepped(made, count, limit)
            for name, repetition, seconds in interleaved(runs, settings.repetitions):
                row = {"dimensions": k, "windows": name, "repetition": repetition}
                rows.append({**row, "ns_a_row": seconds / count * 1e9})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """The slope: what one more costs."""
    said = []
    for name in dict.fromkeys(row["windows"] for row in rows):
        own = [row for row in rows if row["windows"] == name]
        slope, rest = np.polyfit([r["dimensions"] for r in own], [r["ns_a_row"] for r in own], 1)
        said.append(f"{name}: {slope:,.0f} ns for each aggregate more, {rest:,.0f} ns shared (paper 4: 411 and 4,158)")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Slopes of straight lines."""
    slopes = {}
    for name in dict.fromkeys(row["windows"] for row in rows):
        own = [row for row in rows if row["windows"] == name]
        slopes[name] = float(np.polyfit([r["dimensions"] for r in own], [r["ns_a_row"] for r in own], 1)[0])
    found = []
    for place in dict.fromkeys(name.partition(", ")[2] for name in slopes):
        one, alone = slopes[f"one window, {place}"], slopes[f"alone, {place}"]
        found.append(
            Claim(
                "one more aggregate in a window costs 12 times less than a window of its own (411 and 4,895 ns)",
                f"{place}: {one:,.0f} ns more in the same window, {alone:,.0f} ns alone, {alone / one:.1f} times",
                at_least(alone / one, 4895 / 411),
            )
        )
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    results.lines_over(
        axes, rows, "dimensions", "ns_a_row", "windows", "aggregates", "ns a row", logx=False, logy=False
    )
    for name in dict.fromkeys(row["windows"] for row in rows):
        own = [row for row in rows if row["windows"] == name]
        slope, rest = np.polyfit([r["dimensions"] for r in own], [r["ns_a_row"] for r in own], 1)
        ends = np.array([min(r["dimensions"] for r in own), max(r["dimensions"] for r in own)])
        axes.plot(ends, slope * ends + rest, "k:", linewidth=0.8, label="linear fits")


EXPERIMENT = Experiment(
    name="dimensions",
    title="aggregates in one window",
    paper="4 Fig. 9",
    expected="411 ns an aggregate in one window against 4,895 alone",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("dimensions", "windows"), "ns_a_row", "ns a row", baseline="alone, memory"),
    peers=("rocksdict",),
    asked="What does one more aggregate cost in the same window, and what in a window of its own?",
    claims=claims,
)
