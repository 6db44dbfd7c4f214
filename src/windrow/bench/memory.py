"""How much memory a window takes.

Asked: bytes a row of the window, at sizes that are no power of two: what the store itself holds after a compiled
`slide` (`store`), how much larger a fresh process got by it (`resident`), and what the same window holds in plain
Python, by tracemalloc (`plain`). Max of float64.

Found: FlatFIT needs 1.4 times less than FlatFAT on average, 1.9 at most (paper 5, Fig. 16); RA is linear (paper 1,
Fig. 12).
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windrow import agg, swag
from windrow.bench import child, results
from windrow.bench.base import Experiment, Measure, Row, Settings
from windrow.errors import Unsupported


def takes_max(name: str) -> bool:
    """Whether the algorithm accepts the aggregate at all."""
    try:
        swag.ALGORITHMS[name](agg.max())
    except Unsupported:
        return False
    return True


def store_bytes(w: Any) -> int:
    """The arrays of a compiled window."""
    arrays = [*w.s.vals, *w.s.aggs, w.s.links]
    return sum(array.nbytes for array in arrays)


def resident_bytes() -> int | None:
    """The resident set of this process; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return None


def measured(name: str, window: int) -> Row:
    """In a fresh process: `window` rows through a compiled slide, the store and the growth of the process."""
    make = swag.ALGORITHMS[name]
    warm = make(agg.max())
    warm.slide(np.arange(16.0), 4)
    if not warm.form.compiled:
        return {}
    values = np.arange(float(window))
    gc.collect()
    before = resident_bytes()
    w = make(agg.max())
    w.slide(values, window)  # the answers are gone when the memory is read
    gc.collect()
    after = resident_bytes()
    found: Row = {"store": store_bytes(w)}
    if before is not None and after is not None:
        found["resident"] = max(after - before, 0)
    return found


def report(case: list) -> None:
    """What the child process says."""
    print(json.dumps(measured(*case)))


def plain_bytes(name: str, window: int) -> int:
    """What a window of so many rows keeps alive in plain Python, the floats in it included."""
    tracemalloc.start()
    try:
        w = swag.ALGORITHMS[name](agg.max())
        for i in range(window):
            w.insert(float(i))
        w.query()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((100,), (70_000,), (5_000, 70_000, 600_000), (5_000, 70_000, 600_000, 3_000_000, 5_000_000))
    plain_windows = settings.pick((100,), (5_000,), (5_000, 70_000), (5_000, 70_000))
    children = settings.pick(1, 1, 2, 3)
    names = ("two_stacks_lite",) if settings.level == "smoke" else tuple(filter(takes_max, swag.ALGORITHMS))
    rows: list[Row] = []
    for window, name in settings.track([(w, n) for w in windows for n in names], "memory"):
        for repetition in range(children):
            for found in child.lines(child.calling("windrow.bench.memory", "report"), [name, window]):
                rows += [_row(kind, name, window, repetition, size) for kind, size in found.items()]
    for window, name in settings.track([(w, n) for w in plain_windows for n in names], "memory, plain"):
        rows.append(_row("plain", name, window, 0, plain_bytes(name, window)))
    return rows


def _row(kind: str, name: str, window: int, repetition: int, size: int) -> Row:
    row = {"kind": kind, "window": window, "algorithm": name, "repetition": repetition}
    return {**row, "bytes": size, "bytes_a_row": size / window}


def notes(rows: Sequence[Row]) -> list[str]:
    """FlatFIT against FlatFAT, each way of measuring."""
    said = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        lines = results.summary(Measure(("window", "algorithm"), "bytes", "", "flat_fat", kind=kind), rows)
        ratios = [line["ratio"] for line in lines if line["algorithm"] == "flat_fit" and line["ratio"]]
        if ratios:
            mean = sum(ratios) / len(ratios)
            said.append(
                f"{kind}: FlatFAT / FlatFIT {mean:.2f} on average, {max(ratios):.2f} at most (paper 5: 1.4 and 1.9)"
            )
    return said


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "kind"):
        results.lines_over(axes, own, "window", "bytes_a_row", "algorithm", "window (rows)", "bytes a row")


EXPERIMENT = Experiment(
    name="memory",
    title="bytes a row of the window (max of float64)",
    paper="1 Fig. 12, 5 Fig. 16",
    expected="FlatFIT 1.4x less than FlatFAT on average, 1.9x at most",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("kind", "window", "algorithm"), "bytes_a_row", "bytes a row", baseline="flat_fat"),
)
