"""A window that grows and shrinks without end.

Asked: the Reactive Aggregator's cost a row when its capacity must oscillate between n and 2n, against a window of n
rows whose capacity stays. Plain Python; the run is the paper's: fill to n + 1 rows (capacity 2n), evict until fewer
than n/2 are left (capacity n), fill again, with a query after each row that comes. `resizes` counts the changes of
capacity that were seen.

Found by paper 1 (Fig. 9): resizing is paid for, the oscillating window is even faster because it is less full.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.firing import full
from benchmarks.judging import ratios, span
from benchmarks.timing import interleaved
from windrow import agg


def oscillating(make: Callable, values: list[float], n: int, seen: list[int]) -> Callable[[], Callable[[], None]]:
    """Between fewer than n/2 and more than n rows; `seen` gets the number of resizes."""

    def setup() -> Callable[[], None]:
        w = full("reactive_aggregator", make(), values, n)

        def go() -> None:
            resizes, capacity = 0, w.capacity
            for value in values[n:]:
                if len(w) > n:  # the capacity is 2n: down to fewer than a quarter of it
                    while len(w) >= n // 2:
                        w.evict()
                        resizes += w.capacity != capacity
                        capacity = w.capacity
                w.insert(value)
                resizes += w.capacity != capacity
                capacity = w.capacity
                w.query()
            seen[:] = [resizes]

        return go

    return setup


def fixed(make: Callable, values: list[float], n: int) -> Callable[[], Callable[[], None]]:
    """Always n rows."""

    def setup() -> Callable[[], None]:
        w = full("reactive_aggregator", make(), values, n)

        def go() -> None:
            for value in values[n:]:
                w.evict()
                w.insert(value)
                w.query()

        return go

    return setup


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((32,), (64, 1024), (64, 1024, 2**13), (64, 1024, 2**13, 2**17))
    makers = {"max": agg.max, "stddev": agg.stddev}
    rows: list[Row] = []
    for aggregate, n in settings.track([(a, w) for a in makers for w in windows], "resizing"):
        count = max(6 * n, settings.pick(100, 3000, 20_000, 10**6))
        values = streams.energy(n + count, settings.seed).tolist()
        seen: list[int] = [0]
        runs = {
            "fixed": fixed(makers[aggregate], values, n),
            "oscillating": oscillating(makers[aggregate], values, n, seen),
        }
        for name, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {"aggregate": aggregate, "window": n, "capacity": name, "repetition": repetition, "rows": count}
            rows.append({**row, "us_a_row": seconds / count * 1e6, "resizes": seen[0] if name == "oscillating" else 0})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """How often it was resized, so that nobody takes a window that never was for one that was."""
    seen = {(r["aggregate"], r["window"]): (r["resizes"], r["rows"]) for r in rows if r["capacity"] == "oscillating"}
    return [f"{a}, n={n:,}: {resizes:,} resizes in {count:,} rows" for (a, n), (resizes, count) in seen.items()]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The oscillating window must not be dearer."""
    times = {key: 1 / value for key, value in ratios(EXPERIMENT.measure, rows).items() if key[-1] == "oscillating"}
    middle = statistics.median(times.values())
    return [
        Claim(
            "resizing is paid for: the oscillating window is not slower",
            f"the oscillating window takes {middle:.2f}x the fixed one's time in the median ({span(times.values())})",
            middle <= 1.1,
            "On this run the oscillating windows took over 1.1 times as long as the fixed ones.",
        )
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "aggregate"):
        results.lines_over(axes, own, "window", "us_a_row", "capacity", "n (rows)", "µs a row", logy=False)
        axes.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="resizing",
    title="a capacity that oscillates between n and 2n",
    paper="1 Fig. 9",
    expected="amortised, no penalty",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("aggregate", "window", "capacity"), "us_a_row", "µs a row", baseline="fixed"),
    asked="What does a window pay whose capacity must double and halve again and again? The Reactive Aggregator, "
    "between n/2 and n + 1 rows, against one of n rows whose capacity stays.",
    claims=claims,
)
