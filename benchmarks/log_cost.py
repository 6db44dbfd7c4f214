"""The Reactive Aggregator's cost as the window grows.

Asked: nanoseconds a row of `slide`, compiled, for windows up to 8 million rows; a straight line over log2 n is fitted
to the medians.

Found by paper 1 (Fig. 7): straight on a log axis, without a knee where the caches end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import medians
from benchmarks.sliding import algorithm, columns, compiles, filled
from benchmarks.timing import interleaved


def run(settings: Settings) -> list[Row]:
    algorithm("reactive_aggregator")
    exponents = settings.pick((3, 5), (4, 8, 12, 16), tuple(range(4, 22, 2)), tuple(range(3, 24)))
    count = settings.pick(500, 50_000, 300_000, 2_000_000)
    aggregates = ("max",) if settings.level == "smoke" else ("max", "stddev")
    values = streams.energy(2 ** max(exponents) + count, settings.seed)
    rows: list[Row] = []
    for aggregate in settings.track(aggregates, "log-cost"):
        compiles("reactive_aggregator", aggregate)
        runs = {}
        for k in exponents:
            data = columns(aggregate, values[: 2**k + count])
            runs[str(2**k)] = filled("reactive_aggregator", aggregate, data, 2**k)
        for window, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {"aggregate": aggregate, "window": int(window), "repetition": repetition, "rows": count}
            rows.append({**row, "ns_a_row": seconds / count * 1e9})
    return rows


def fit(rows: Sequence[Row], aggregate: str) -> tuple[float, float, float]:
    """Slope and intercept of ns = a log2 n + b over the medians, and R²."""
    lines = results.summary(EXPERIMENT.measure, [row for row in rows if row["aggregate"] == aggregate])
    x, y = np.log2([line["window"] for line in lines]), np.array([line["median"] for line in lines])
    slope, intercept = np.polyfit(x, y, 1)
    spread = ((y - y.mean()) ** 2).sum()
    return (
        float(slope),
        float(intercept),
        float(1 - ((y - slope * x - intercept) ** 2).sum() / spread) if spread else 1.0,
    )


def notes(rows: Sequence[Row]) -> list[str]:
    said = []
    for aggregate in dict.fromkeys(row["aggregate"] for row in rows):
        slope, intercept, r2 = fit(rows, aggregate)
        said.append(f"{aggregate}: {slope:.2f} log2 n + {intercept:.1f} ns a row, R² = {r2:.3f} (1 is a straight line)")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """A straight line over log2 n, and one that stays far below linear."""
    found = []
    for aggregate in dict.fromkeys(row["aggregate"] for row in rows):
        slope, _, r2 = fit(rows, aggregate)
        cost = medians([row for row in rows if row["aggregate"] == aggregate], ("window",), "ns_a_row")
        (least,), (most,) = min(cost), max(cost)
        grown = cost[(most,)] / cost[(least,)]
        found.append(
            Claim(
                f"{aggregate}: straight over log2 n",
                f"{aggregate}: {slope:.1f} ns more for each doubling, R² = {r2:.2f}; "
                f"{grown:.1f} times the cost for {most // least:,} times the rows",
                r2 >= 0.8 and slope > 0,
                "The points are not on one line: a store that no longer fits into the processor's caches makes each "
                "step "
                "up the tree dearer, and on a busy machine single points are off.",
            )
        )
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    micro = [{**row, "us_a_row": row["ns_a_row"] / 1e3} for row in rows]
    results.lines_over(axes, micro, "window", "us_a_row", "aggregate", "window (rows)", "µs a row", logy=False)
    ends = np.array([min(row["window"] for row in rows), max(row["window"] for row in rows)])
    for aggregate in dict.fromkeys(row["aggregate"] for row in rows):
        slope, intercept, r2 = fit(rows, aggregate)
        axes.plot(
            ends,
            (slope * np.log2(ends) + intercept) / 1e3,
            "k:",
            linewidth=0.8,
            label=f"{aggregate}: fit, R² = {r2:.3f}",
        )


EXPERIMENT = Experiment(
    name="log-cost",
    title="the Reactive Aggregator's cost a row",
    paper="1 Fig. 7",
    expected="straight on a log axis, up to 8 M rows",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("aggregate", "window"), "ns_a_row", "ns a row"),
    asked="How does the Reactive Aggregator's cost of a row grow with the window?",
    claims=claims,
)
