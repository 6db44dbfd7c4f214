"""Windows that do not overlap, where there is nothing to reuse.

Asked: what the Reactive Aggregator costs when slide = range, a firing, against recalculation. Plain Python.

Found by paper 1 (Fig. 8): about equal, so the framework itself costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.firing import combines, fired
from benchmarks.judging import at_most, medians, ratios, span
from benchmarks.timing import interleaved
from windrow import agg

ALGORITHMS = ("recalculate", "reactive_aggregator")


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((16,), (16, 256, 4096), (16, 256, 4096, 2**16), (16, 256, 4096, 2**16, 2**20))
    makers = {"max": agg.max, "stddev": agg.stddev}
    rows: list[Row] = []
    for aggregate, window in settings.track([(a, w) for a in makers for w in windows], "tumbling"):
        firings = max(2, settings.pick(32, 2**13, 2**16, 2**17) // window)
        values = streams.energy(window * (1 + firings), settings.seed).tolist()
        counted = {name: combines(name, makers[aggregate], values, window, window) for name in ALGORITHMS}
        runs = {name: fired(name, makers[aggregate], values, window, window) for name in ALGORITHMS}
        for name, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {
                "aggregate": aggregate,
                "window": window,
                "algorithm": name,
                "repetition": repetition,
                "firings": firings,
            }
            rows.append({**row, "us_a_firing": seconds / firings * 1e6, "combines_a_row": counted[name]})
    return rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Time and combines against recalculation."""
    times = {
        key: 1 / value for key, value in ratios(EXPERIMENT.measure, rows).items() if key[-1] == "reactive_aggregator"
    }
    counts = medians(rows, ("window", "algorithm"), "combines_a_row")
    n = max(window for window, _ in counts)
    more = counts[n, "reactive_aggregator"] / counts[n, "recalculate"]
    return [
        Claim(
            "the Reactive Aggregator takes about the time of recalculation",
            f"RA takes {span(times.values(), 'x')} the time of recalculation",
            all(at_most(value, 1) for value in times.values()),
            "In plain Python, putting rows into the tree and walking it costs more than the combines it shares.",
        ),
        Claim(
            "and calls combine as often",
            f"RA calls combine {more:.2f}x as often at n = {n:,}",
            at_most(more, 1),
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "aggregate"):
        results.lines_over(axes, own, "window", "us_a_firing", "algorithm", "window = slide (rows)", "µs a firing")


EXPERIMENT = Experiment(
    name="tumbling",
    title="slide = range",
    paper="1 Fig. 8",
    expected="RA about equal to recalculation",
    run=run,
    draw=draw,
    measure=Measure(("aggregate", "window", "algorithm"), "us_a_firing", "µs a firing", baseline="recalculate"),
    asked="What does the Reactive Aggregator cost where there is nothing to reuse, because the whole window goes and "
    "a whole new one comes?",
    claims=claims,
)
