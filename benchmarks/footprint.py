"""How large a window may grow in how much memory.

Asked: the most memory a process has had resident (read from outside, /proc/PID/status) when its window of float64
maxima reached each power of two, row arrays of 2^16 at a time: AMTA and DABA in memory, AMTA over RocksDB. Plain:
AMTA over rows of Python objects, which is what the paper's Java has.

Found by paper 4 (Fig. 8): store-backed reaches 2^25 rows in 512 MB, in-memory ones need 16-32 GB (Java).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import child
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import at_least
from windrow import agg, stores, swag

CHUNK = 2**16
LIMITS = (256, 512, 1024, 4096)  # MB
STRUCTURES = ("amta rocksdb", "amta memory", "daba memory", "amta plain")


def grow(case: list) -> None:
    """The child: says at each power of two how far it is; what it holds is for its parent to see."""
    structure, largest = case
    algorithm, place = structure.split()
    with tempfile.TemporaryDirectory(prefix="windrow-footprint-") as folder:
        options: dict[str, Any] = {}
        if place == "rocksdb":
            options = {"store": stores.rocksdb(Path(folder) / "db"), "cache": 2**14, "buffer": 2**14}
        cls: Any = swag.ALGORITHMS[algorithm]
        w = cls(agg.max(), **options)
        rng, start = np.random.default_rng(1), time.perf_counter()
        while len(w) < largest:
            rows = rng.random(min(CHUNK, max(len(w), 256)))
            if place == "plain":
                w.insert_many(rows.tolist())
            elif place == "rocksdb":
                w.insert_many(rows)
            else:
                w.slide(rows, 2 * largest)
            if len(w) & (len(w) - 1) == 0:
                print(
                    json.dumps({"pid": os.getpid(), "window": len(w), "seconds": time.perf_counter() - start}),
                    flush=True,
                )
                time.sleep(0.05)  # for the parent to look
        if options:
            w.close()
            options["store"].close()


def resident(pid: int) -> int:
    """The most that a process has had resident, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def run(settings: Settings) -> list[Row]:
    largest = settings.pick(2**9, 2**18, 2**22, 2**25)
    plain = settings.pick(2**9, 2**14, 2**18, 2**20)
    structures = STRUCTURES[:1] if settings.level == "smoke" else STRUCTURES
    rows: list[Row] = []
    for structure in settings.track(structures, "footprint"):
        case = [structure, plain if "plain" in structure else largest]
        for said in child.lines(child.calling("benchmarks.footprint", "grow"), case):
            try:
                held = resident(said["pid"])
            except OSError:
                continue
            row = {"structure": structure, "window": said["window"], "repetition": 0, "resident_mb": held / 2**20}
            rows.append({**row, "mrows_a_second": said["window"] / said["seconds"] / 1e6})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """The largest window seen within each limit."""
    said = []
    for structure in dict.fromkeys(row["structure"] for row in rows):
        own = [row for row in rows if row["structure"] == structure]
        within = {limit: max((r["window"] for r in own if r["resident_mb"] <= limit), default=0) for limit in LIMITS}
        said.append(f"{structure}: " + ", ".join(f"{window:,} rows in {limit} MB" for limit, window in within.items()))
        last = own[-1]
        said.append(
            f"{structure}: {last['window']:,} rows, {last['resident_mb']:.0f} MB at most, "
            f"{last['mrows_a_second']:.2f} M rows/s"
        )
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The largest window within 512 MB, and what a row takes where it is an object."""
    largest = max(row["window"] for row in rows)
    stored = max((r["window"] for r in rows if r["structure"] == "amta rocksdb" and r["resident_mb"] <= 512), default=0)
    found = [
        Claim(
            "over a store the window outgrows memory: 2^25 rows in 512 MB",
            f"over RocksDB {stored:,} rows within 512 MB, where {largest:,} were tried",
            stored == largest,
        )
    ]
    each = {}
    for name in ("amta plain", "amta memory"):
        own = sorted((r["window"], r["resident_mb"]) for r in rows if r["structure"] == name)
        if len(own) > 1 and own[-1][1] > own[0][1]:
            each[name] = (own[-1][1] - own[0][1]) * 2**20 / (own[-1][0] - own[0][0])
    said = "in memory, 2^25 rows need 16 to 32 GB (Java objects)"
    if len(each) < 2:
        return [*found, unmeasured(said)]
    plain, columns = (each[name] * 2**25 / 2**30 for name in ("amta plain", "amta memory"))
    why = (
        "A window of numbers is kept in columns here, eight bytes a value, not as objects: it takes a small part of "
        "what the paper's takes. The figures are worked out from what a row of the largest window tried takes."
    )
    text = f"in memory 2^25 rows would take {plain:.1f} GB as objects, {columns:.1f} GB in columns"
    return [*found, Claim(said, text, at_least(columns, 16), why)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    for i, structure in enumerate(dict.fromkeys(row["structure"] for row in rows)):
        own = sorted((row["resident_mb"], row["window"]) for row in rows if row["structure"] == structure)
        axes.plot(*zip(*own, strict=True), marker=".", color=f"C{i}", label=structure)
    axes.axvline(512, color="grey", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("MB resident at most")
    axes.set_ylabel("window reached (rows)")
    axes.grid(alpha=0.3)


EXPERIMENT = Experiment(
    name="footprint",
    title="memory resident for a window",
    paper="4 Fig. 8",
    expected="store-backed reaches 2^25 in 512 MB, in-memory ones need 16-32 GB (Java)",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "structure"), "resident_mb", "MB", baseline="amta rocksdb"),
    peers=("rocksdict",),
    asked="How large may a window grow in how much memory, in memory and over RocksDB?",
    claims=claims,
)
