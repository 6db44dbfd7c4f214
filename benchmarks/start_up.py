"""The first answer of a new process.

Asked: seconds from `import windrow` done to the first answer of a compiled `slide`, with the kernel in the disk
cache; beside it, what the import itself takes, and the first answer with no cache at all. Every worker of a cluster
pays it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks import child, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import medians

#: run by `python -c`: `python -m benchmarks...` would have imported all of windrow before the clock starts
CODE = """
import json, sys, time
import numpy
algorithm, aggregate = json.loads(sys.argv[1])
values = numpy.arange(16.0)
start = time.perf_counter()
from windrow import agg, swag
imported = time.perf_counter()
swag.ALGORITHMS[algorithm](getattr(agg, aggregate)()).slide(values, 4)
print(json.dumps({"import": imported - start, "seconds": time.perf_counter() - imported}))
"""


def run(settings: Settings) -> list[Row]:
    aggregates = ("max",) if settings.level in ("smoke", "quick") else ("max", "sum", "stddev")
    algorithms = ("two_stacks_lite",) if settings.level == "smoke" else ("two_stacks_lite", "daba")
    repetitions = settings.pick(1, 2, 5, 9)
    cases = [(algorithm, aggregate) for aggregate in aggregates for algorithm in algorithms]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="windrow-cache-") as directory:
        # tests use the cache there is; -1 is without a cache, and fills it
        environment = {} if settings.level == "smoke" else {"WINDROW_CACHE_DIR": directory}
        for repetition in settings.track(range(-1, repetitions), "start-up"):
            for algorithm, aggregate in cases:
                kind = "cold" if repetition < 0 else "warm"
                [found] = child.lines(CODE, [algorithm, aggregate], environment)
                head = {"aggregate": aggregate, "algorithm": algorithm, "repetition": max(repetition, 0)}
                rows.append({**head, "what": f"first use, {kind} cache", "seconds": found["seconds"]})
                if kind == "warm":
                    rows.append({**head, "what": "import windrow", "seconds": found["import"]})
    return rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Warm against cold."""
    taken = medians(rows, ("what",), "seconds")
    cold, warm = (taken.get((f"first use, {kind} cache",)) for kind in ("cold", "warm"))
    said = "with a warm cache, the first answer comes well before the compilation would have ended"
    if cold is None or warm is None:
        return [unmeasured(said)]
    return [Claim(said, f"{warm:.2f} s with a warm cache, {cold:.2f} s without", warm <= cold / 2)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    names = [f"{line['aggregate']}, {line['algorithm']}: {line['what']}" for line in lines]
    axes.barh(names, [line["median"] for line in lines])
    axes.tick_params(axis="y", labelsize=6)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds")


EXPERIMENT = Experiment(
    name="start-up",
    title="seconds to the first answer of a new process",
    paper="none",
    expected="ours to set: with a warm cache, well below the compilation",
    run=run,
    draw=draw,
    measure=Measure(("aggregate", "algorithm", "what"), "seconds", "seconds"),
    asked="How long does a new process take until its first compiled answer, with kernels on disk and without?",
    claims=claims,
)
