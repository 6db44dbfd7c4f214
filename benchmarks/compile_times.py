"""Seconds to compile what a query needs, with no cache.

Asked: for `slide`, a sliding and a trailing query, how many kernels an aggregate needs that were not there before, and
the processor's seconds until they are compiled. Kernels that all aggregates share (edges, cuts, order) come with the
first query of a process, and have a line of their own. A busy machine changes processor seconds much less than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import child, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings

SHARED = "(shared by all)"
AGGREGATES = ("count", "sum", "mean", "min", "max", "stddev", "kurtosis", "first", "last", "max_count", "max_by")
KINDS = ("slide", "sliding", "trailing")

#: run by `python -c`, in a process of its own for each kind
CODE = """
import json, sys, time
import numpy
from numba.core import event
from windrow import Query, agg, swag, win

class Kernels(event.Listener):
    depth = count = 0
    def on_start(self, happened):
        self.depth += 1
    def on_end(self, happened):
        self.depth -= 1
        self.count += self.depth == 0

kernels = Kernels()
event.register("numba:compile", kernels)
kind, aggregates, shared = json.loads(sys.argv[1])
n = 200
rows = {"t": numpy.arange(n) * 60_000_000, "x": numpy.arange(n) * 0.5, "y": numpy.arange(n) % 7}
windows = {"sliding": win.sliding("10 minutes", every="1 minute"), "trailing": win.trailing("10 minutes")}

def answer(name, of):
    if kind == "slide":
        swag.TwoStacksLite(of()).slide(rows["x"], 50)
    else:
        columns = {"count": (), "max_by": ("y", "x")}.get(name, ("x",))
        Query(time="t", windows=windows[kind], aggregates={"a": of(*columns)}).run(rows)

for name in [shared, *aggregates]:
    if kind == "slide" and name == "max_by":
        continue
    of = getattr(agg, "value_range" if name == shared else name)
    before, start = kernels.count, time.process_time()
    answer(name, of)
    print(json.dumps([name, kernels.count - before, time.process_time() - start]))
"""


def run(settings: Settings) -> list[Row]:
    aggregates = AGGREGATES[4:5] if settings.level == "smoke" else AGGREGATES
    environment = {"WINDROW_CACHE_DIR": "", "WINDROW_COMPILE": "always"}
    rows: list[Row] = []
    for kind in settings.track(KINDS[:1] if settings.level == "smoke" else KINDS, "compile-times"):
        for name, kernels, seconds in child.lines(CODE, [kind, aggregates, SHARED], environment):
            rows.append({"query": kind, "aggregate": name, "kernels": kernels, "seconds": seconds, "repetition": 0})
    return rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    """How many kernels an aggregate needs."""
    own = [row for row in rows if row["aggregate"] != SHARED]
    most = max(row["kernels"] for row in own)
    said = "an aggregate needs at most two kernels of its own for each kind of query"
    return [Claim(said, f"{most} at most, {sum(row['seconds'] for row in own):.1f} s for all of them", most <= 2)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    axes.barh([f"{line['query']}, {line['aggregate']}" for line in lines], [line["median"] for line in lines])
    axes.tick_params(axis="y", labelsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")


EXPERIMENT = Experiment(
    name="compile-times",
    title="seconds to compile an aggregate's kernels",
    paper="none",
    expected="ours to set: at most two kernels for an aggregate and a kind of query",
    run=run,
    draw=draw,
    measure=Measure(("query", "aggregate", "kernels"), "seconds", "seconds"),
    asked="How many kernels does an aggregate need, and how long does it take to compile them?",
    claims=claims,
)
