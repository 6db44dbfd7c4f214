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

from benchmarks import child, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import medians, span
from windrow import agg, swag
from windrow.errors import Unsupported

#: each of them is a process, twice
QUICK = ("daba_lite", "flat_fat", "flat_fit")


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
    windows = settings.pick(
        (100,), (70_000, 300_000), (5_000, 70_000, 600_000), (5_000, 70_000, 600_000, 3_000_000, 5_000_000)
    )
    plain_windows = settings.pick((100,), (5_000, 20_000), (5_000, 20_000), (5_000, 70_000))
    children = settings.pick(1, 1, 1, 3)
    names = settings.pick(("two_stacks_lite",), QUICK, *[tuple(filter(takes_max, swag.ALGORITHMS))] * 2)
    rows: list[Row] = []
    for window, name in settings.track([(w, n) for w in windows for n in names], "memory"):
        for repetition in range(children):
            for found in child.lines(child.calling("benchmarks.memory", "report"), [name, window]):
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


def claims(rows: Sequence[Row]) -> list[Claim]:
    """FlatFIT against FlatFAT, and whether memory is linear."""
    sizes = medians(rows, ("kind", "algorithm", "window"), "bytes")
    pairs = {
        kind: [
            size / sizes[kind, "flat_fit", window]
            for (k, name, window), size in sizes.items()
            if (k, name) == (kind, "flat_fat") and sizes.get((kind, "flat_fit", window))
        ]
        for kind in ("resident", "store")
    }
    less = pairs["resident"] or pairs["store"]
    linear = sorted((w, size / w) for (k, name, w), size in sizes.items() if (k, name) == ("store", "flat_fat"))
    found = []
    if less:
        mean = sum(less) / len(less)
        found.append(
            Claim(
                "FlatFIT takes 1.4 times less than FlatFAT on average, 1.9 at most",
                f"FlatFAT takes {mean:.2f} times FlatFIT's memory on average, {max(less):.2f} at most",
                mean >= 1.2,
                "Both keep rings of a power of two here, which makes positions a mask instead of a division, and "
                "FlatFIT "
                "keeps a pointer of eight bytes beside each partial of eight. In plain Python the pointers are "
                "objects.",
            )
        )
    if len(linear) > 1:
        each = [size for _, size in linear]
        found.append(
            Claim(
                "a FlatFAT is linear in the window",
                f"FlatFAT's arrays hold {span(each)} bytes a row",
                max(each) <= 2 * min(each),
            )
        )
    return found or [unmeasured("FlatFIT takes 1.4 times less than FlatFAT on average")]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "kind"):
        mega = [{**row, "mb": row["bytes"] / 2**20} for row in own]
        results.lines_over(axes, mega, "window", "mb", "algorithm", "window (rows)", "MB")


EXPERIMENT = Experiment(
    name="memory",
    title="memory of a window (max of float64)",
    paper="1 Fig. 12, 5 Fig. 16",
    expected="FlatFIT 1.4x less than FlatFAT on average, 1.9x at most",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("kind", "window", "algorithm"), "bytes_a_row", "bytes a row", baseline="flat_fat"),
    asked="How much memory does a window take, at sizes that are no power of two? What its arrays hold, by how much "
    "a fresh process grows, and what it holds in plain Python.",
    claims=claims,
)
