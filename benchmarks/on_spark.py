"""What the experiments on Spark share: a session, tables as Parquet files, and a race of ways to the same answer."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, results
from benchmarks.base import Claim, Measure, Row, Settings, unmeasured
from benchmarks.timing import interleaved
from windrow.errors import WindrowError

PACKAGES = ("pyspark", "pyarrow")
SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
MINUTE = 60_000_000
BUSY = "A small table is mostly Spark's own fixed cost, and a busy machine slows two cores more than one."
#: what the experiments on Spark compare
MEASURE = Measure(("case", "way"), "us_a_row", "µs a row", baseline="windrow")


@dataclass(frozen=True)
class Way:
    """One way to the answer: `make(data)` gives the DataFrame; `share` of the rows is all that it is given."""

    make: Callable[[Any], Any]
    share: float = 1.0
    config: Mapping[str, str] | None = None


def session() -> Any:
    if not machine.version("pyspark"):
        raise WindrowError("this experiment needs Spark: pip install '.[spark]'")
    import windrow.spark

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return windrow.spark.session("local[2]", memory="4g")


def readings(count: int, keys: int, seed: int, spacing: int = MINUTE // 60) -> Any:
    """Rows of one reading: key, time in order, a float."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0, 2 * spacing + 1, count))
    key = rng.integers(0, keys, count) if keys < count else np.arange(count)
    return pa.table(
        {"k": key, "ts": pa.array(times, pa.timestamp("us", "UTC")), "x": rng.normal(size=count), "y": key % 7 + 0.5}
    )


class Tables:
    """Tables as Spark reads them: Parquet files of two row groups, whole or the first part of them."""

    def __init__(self, spark: Any, table: Any) -> None:
        self.spark, self.table = spark, table
        self.folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.made: dict[float, Any] = {}

    def rows(self, share: float) -> int:
        return max(1, round(self.table.num_rows * share))

    def of(self, share: float) -> Any:
        """A DataFrame of the first rows."""
        import pyarrow.parquet as pq

        if share not in self.made:
            path = self.folder / f"{share}"
            path.mkdir()
            half = -(-self.rows(share) // 2)
            for part in range(2):
                pq.write_table(
                    self.table.slice(part * half, min(half, self.rows(share) - part * half)), path / f"{part}.parquet"
                )
            self.made[share] = self.spark.read.parquet(str(path))
        return self.made[share]


def race(settings: Settings, tables: Tables, ways: Mapping[str, Way], facts: Row) -> list[Row]:
    """Each way in turns; all rows computed, none written."""

    def prepared(way: Way) -> Callable[[], Any]:
        data = tables.of(way.share)

        def run() -> None:
            with configured(tables.spark, way.config or {}):
                way.make(data).write.format("noop").mode("overwrite").save()

        return run

    runs = {name: prepared(way) for name, way in ways.items()}
    for run in runs.values():  # the first one compiles, starts workers, fills caches
        run()
    rows: list[Row] = []
    ready = {n: _ready(run) for n, run in runs.items()}
    for name, repetition, seconds in interleaved(ready, settings.repetitions):
        given = tables.rows(ways[name].share)
        row = {"way": name, "repetition": repetition, "rows": given, "share": ways[name].share, "seconds": seconds}
        rows.append({**facts, **row, "us_a_row": seconds / given * 1e6})
    return rows


@contextmanager
def configured(spark: Any, config: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session for a while. Unset alone would leave Spark's defaults, not the session's."""
    before = {name: spark.conf.get(name, None) for name in config}
    for name, value in config.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _ready(run: Callable[[], Any]) -> Callable[[], Callable[[], Any]]:
    return lambda: run


def ratios(rows: Sequence[Row], by: str, ours: str = "windrow") -> list[str]:
    """How many times the time of ours each other way takes, for each value of a column."""
    said = []
    for value in dict.fromkeys(row[by] for row in rows):
        here = [row for row in rows if row[by] == value]
        base = {row["repetition"]: row["us_a_row"] for row in here if row["way"] == ours}
        for way in dict.fromkeys(row["way"] for row in here if row["way"] != ours):
            found = [row["us_a_row"] / base[row["repetition"]] for row in here if row["way"] == way]
            share = next(row["share"] for row in here if row["way"] == way)
            given = "" if share == 1 else f"; it was given {share:g} of the rows, and its cost a row is taken for all"
            said.append(
                f"{by} {value}: {ours} is {statistics.median(found):.2f}x as fast as {way} "
                f"({min(found):.2f} - {max(found):.2f}){given}"
            )
    return said


def aim(rows: Sequence[Row], case: str, way: str, times: float, why: str = "") -> Claim:
    """Whether windrow is so many times as fast as another way; below 1: takes at most 1/times of its time."""
    said = f"{times:g} times as fast as {way} ({case})"
    base = {r["repetition"]: r["us_a_row"] for r in rows if r["case"] == case and r["way"] == "windrow"}
    found = [r["us_a_row"] / base[r["repetition"]] for r in rows if r["case"] == case and r["way"] == way]
    if not found or not base:
        return unmeasured(said)
    middle = statistics.median(found)
    share = next(r["share"] for r in rows if r["case"] == case and r["way"] == way)
    given = "" if share == 1 else f", its cost a row taken from {share:g} of the rows"
    return Claim(said, f"{middle:.2f} times as fast as {way} ({case}{given})", middle >= times, why or BUSY)


def bars(measure: Measure) -> Callable[[Sequence[Row], Any], None]:
    """Draws the medians as bars, on a log axis."""

    def draw(rows: Sequence[Row], figure: Any) -> None:
        lines = results.summary(measure, rows)
        axes = figure.subplots()
        labels = [", ".join(str(line[name]) for name in measure.by) for line in lines]
        axes.barh(labels, [line["median"] for line in lines], color=["C0" if "windrow" in t else "C1" for t in labels])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel(measure.unit)

    return draw
