"""Many small keys against one large one.

Asked: does `slide(values, w, keys=...)` cost the same a row for a million keys of ten rows as for one key of ten
million rows? The column of keys is read in both, so that only the windows differ.

No paper has it; one process that keeps a state for each key is what streaming systems are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_least, ratios, span
from benchmarks.sliding import MAKERS
from benchmarks.timing import interleaved
from windrow import swag

ROWS_A_KEY = 10


def run(settings: Settings) -> list[Row]:
    count = settings.pick(1_000, 1_000_000, 10_000_000, 10_000_000)
    aggregates = ("max",) if settings.level == "smoke" else ("max", "sum")
    values = streams.energy(count, settings.seed)
    keys = {"many": np.repeat(np.arange(count // ROWS_A_KEY), ROWS_A_KEY), "one": np.zeros(count, np.int64)}
    rows: list[Row] = []
    for aggregate, window in settings.track([(a, w) for a in aggregates for w in (5, 1000)], "keys"):

        def sliding(which: str, aggregate: str = aggregate, window: int = window) -> Callable[[], Callable[[], Any]]:
            w = swag.TwoStacksLite(MAKERS[aggregate]())
            return lambda: lambda: swag.TwoStacksLite(w.of).slide(values, window, keys=keys[which])

        for which in keys:
            swag.TwoStacksLite(MAKERS[aggregate]()).slide(values[:100], window, keys=keys[which][:100])
        for which, repetition, seconds in interleaved({which: sliding(which) for which in keys}, settings.repetitions):
            row = {"aggregate": aggregate, "window": window, "keys": which, "repetition": repetition, "rows": count}
            rows.append(
                {
                    **row,
                    "distinct": len(keys["many"]) // ROWS_A_KEY if which == "many" else 1,
                    "mrows": count / seconds / 1e6,
                }
            )
    return rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Many against one."""
    times = [value for key, value in ratios(EXPERIMENT.measure, rows).items() if key[-1] == "many"]
    text = f"many keys run at {span(times, 'x')} the rate of one"
    return [Claim("many keys run at about the rate of one", text, all(at_least(value, 1) for value in times))]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    labels = [f"{line['aggregate']}, w={line['window']}, {line['keys']}" for line in lines]
    axes.barh(
        labels, [line["median"] for line in lines], color=["C0" if line["keys"] == "many" else "C1" for line in lines]
    )
    axes.invert_yaxis()
    axes.set_xlabel("million rows/s")


EXPERIMENT = Experiment(
    name="keys",
    title=f"keys of {ROWS_A_KEY} rows against one key of all rows",
    paper="none",
    expected="ours to set: near 1",
    run=run,
    draw=draw,
    measure=Measure(("aggregate", "window", "keys"), "mrows", "M rows/s", baseline="one", less_is_better=False),
    asked="Does a row cost the same where there are a million small keys as where there is one large key?",
    claims=claims,
)
