"""From which window on does it pay to be incremental?

Asked: the smallest window of a ladder of sizes at which `slide` of an algorithm beats recalculating the window for
each row, and beats it tenfold; both compiled, in the same run. The ladder is climbed until every algorithm is ten
times ahead.

Found: Reactive Aggregator at Sum 370, Max 260, Mean 10, MinCount 200, StdDev 10, ArgMax 130, tenfold at 700 to 5,810
(paper 1, Tab. 3); Two-Stacks 16-48, ABA 4-28, DABA 28-112 (paper 2, Tab. 1); Count and Collect never.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow import swag
from windrow.bench import results, streams
from windrow.bench.base import Experiment, Measure, Row, Settings
from windrow.bench.sliding import columns, compiles, filled
from windrow.bench.timing import interleaved

LADDER = (
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    192,
    256,
    384,
    512,
    768,
    1024,
    1536,
    2048,
    3072,
    4096,
    6144,
    8192,
)


def run(settings: Settings) -> list[Row]:
    ladder = settings.pick((2, 64), LADDER[3:21:3], LADDER[:22], LADDER)
    aggregates = settings.pick(("max",), ("sum", "max", "stddev"), AGGREGATES, AGGREGATES)
    least = settings.pick(100, 10_000, 20_000, 100_000)
    names = ("two_stacks_lite", "daba") if settings.level == "smoke" else tuple(swag.ALGORITHMS)
    values = streams.energy(max(ladder) + max(least, 2 * max(ladder)), settings.seed)
    rows: list[Row] = []
    for aggregate in settings.track(aggregates, "break-even"):
        racing = [name for name in ("recalculate", *names) if compiles(name, aggregate)]
        racing = list(dict.fromkeys(racing))
        for window in ladder:
            data = columns(aggregate, values[: window + max(least, 2 * window)])
            runs = {name: filled(name, aggregate, data, window) for name in racing}
            taken: dict[str, list[float]] = {name: [] for name in racing}
            for name, repetition, seconds in interleaved(runs, settings.repetitions):
                taken[name].append(seconds)
                row = {"aggregate": aggregate, "window": window, "algorithm": name, "repetition": repetition}
                rows.append({**row, "rows": max(least, 2 * window), "seconds": seconds})
            base = taken["recalculate"]
            ahead = {n: statistics.median(np.divide(base, taken[n])) for n in racing if n != "recalculate"}
            racing = [n for n in racing if ahead.get(n, 0.0) < 12]  # clear of ten: the rest of the ladder adds nothing
            if racing == ["recalculate"]:
                break
    return rows


def points(rows: Sequence[Row], times: float) -> dict[tuple[str, str], int | None]:
    """(aggregate, algorithm) -> the smallest window from which it is `times` as fast; None: not on this ladder."""
    found: dict[tuple[str, str], int | None] = {}
    for line in sorted(results.summary(EXPERIMENT.measure, rows), key=lambda line: line["window"]):
        key = (line["aggregate"], line["algorithm"])
        if line["algorithm"] != "recalculate" and found.setdefault(key, None) is None and line["ratio"] > times:
            found[key] = line["window"]
    return found


def notes(rows: Sequence[Row]) -> list[str]:
    """The two points of each pair, and the papers'."""
    ahead, tenfold = points(rows, 1.0), points(rows, 10.0)

    def word(window: int | None) -> str:
        return "beyond the ladder" if window is None else f"{window:,}"

    return [
        f"{a}, {n}: ahead from {word(at)}, tenfold from {word(tenfold[a, n])}"
        + (f" (papers: {PAPERS[n][a]})" if a in PAPERS.get(n, {}) else "")
        for (a, n), at in ahead.items()
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    ratios = [line for line in lines if line["algorithm"] != "recalculate"]
    for _, axes, own in results.grid(figure, ratios, "aggregate"):
        results.lines_over(axes, own, "window", "ratio", "algorithm", "window (rows)", "times as fast as recalculation")
        axes.axhline(1, color="black", linewidth=0.8)
        axes.axhline(10, color="black", linewidth=0.8, linestyle=":")


AGGREGATES = ("sum", "max", "mean", "geometric_mean", "min_count", "stddev", "max_by")
_P2 = {
    "two_stacks": (48, 28, 48, 32, 28, 28, 28),
    "aba": (8, 4, 28, 16, 16, 16, 28),
    "daba": (64, 64, 112, 64, 64, 64, 48),
    "reactive_aggregator": (1024, 704, 1024, 704, 512, 704, 704),
}
#: break-even points of paper 2, Tab. 1, by algorithm and aggregate
PAPERS = {name: dict(zip(AGGREGATES, sizes, strict=True)) for name, sizes in _P2.items()}
EXPERIMENT = Experiment(
    name="break-even",
    title="the window from which incremental beats recalculation",
    paper="1 Tab. 3, 2 Tab. 1",
    expected="RA: Sum 370, Max 260, Mean 10, MinCount 200, StdDev 10, ArgMax 130; 10x at 700-5,810. "
    "Two-Stacks 16-48, ABA 4-28, DABA 28-112; Count, Collect never",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("aggregate", "window", "algorithm"), "seconds", "seconds", baseline="recalculate"),
)
