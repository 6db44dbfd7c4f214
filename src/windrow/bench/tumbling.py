"""Windows that do not overlap, where there is nothing to reuse.

Asked: what the Reactive Aggregator costs when slide = range, a firing, against recalculation. Plain Python.

Found by paper 1 (Fig. 8): about equal, so the framework itself costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow import agg
from windrow.bench import results, streams
from windrow.bench.base import Experiment, Measure, Row, Settings
from windrow.bench.firing import combines, fired
from windrow.bench.timing import interleaved

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
)
