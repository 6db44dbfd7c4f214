"""Periodic windows over a stream on Spark.

Asked: what a row costs in `win.sliding(range, every="1 minute")` by key over a stream of ten triggers, against Spark's
own `groupBy(key, window(...))`, which keeps each row in range/slide windows of its state; how long a row waits for its
trigger to end; and how much state there is, and is written. Max, sum and count, a row a second, local[2], the RocksDB
store for both, one state partition a core (each costs both ways a commit a trigger), append mode. And what a hundred
windows in one query cost and keep beside the largest of them alone.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings, unmeasured
from benchmarks.judging import medians
from benchmarks.on_spark import MEASURE, PACKAGES, PARTITIONS, aim, bars, configured, ratios, readings, session
from benchmarks.results import figure
from windrow import agg, win
from windrow.errors import WindrowError

OURS, SPARK, LARGEST = "windrow", "Spark's window()", "windrow, the largest window alone"
LATENESS = "1 minute"
COMPACT = "spark.sql.streaming.stateStore.rocksdb.compactOnCommit"
CORES = 2
HUNDRED = "100 windows of 14 min to a day, 10 keys"
#: a way to the answer: from a streaming DataFrame to a streaming DataFrame
Make = Callable[[Any], Any]


def ours(*minutes: int) -> Make:
    windows = {f"{size} min": win.sliding(f"{size} minutes", every="1 minute") for size in minutes}
    query = windrow.Query(
        time="ts",
        by="k",
        windows=windows if len(windows) > 1 else windows.popitem()[1],
        aggregates={"most": agg.max("x"), "total": agg.sum("x"), "rows": agg.count("x")},
        lateness=LATENESS,
    )
    return query.run


def own(minutes: int) -> Make:
    def make(stream: Any) -> Any:
        from pyspark.sql import functions as F

        window = F.window("ts", f"{minutes} minutes", "1 minute")
        grouped = stream.withWatermark("ts", LATENESS).groupBy("k", window)
        answers = grouped.agg(F.max("x").alias("most"), F.sum("x").alias("total"), F.count("x").alias("rows"))
        return answers.select("k", "window.start", "window.end", "most", "total", "rows")

    return make


@dataclass(frozen=True)
class Way:
    """One way through a stream: it gets the first `share` of the triggers, at most so often."""

    make: Make
    share: float = 1.0
    repetitions: int = 99


@dataclass(frozen=True)
class Case:
    """One comparison.

    With `compact`, the store's files are compacted at each commit, so that their size is what is kept, without what
    was overwritten.
    """

    name: str
    keys: int
    ways: Mapping[str, Way]
    compact: bool = False


def named(minutes: int, keys: int) -> str:
    return f"{minutes} min every minute, {keys:,} keys"


def against_spark(minutes: int, keys: int, share: float = 1.0, repetitions: int = 99, compact: bool = False) -> Case:
    """Ours gets all triggers, Spark's own the first `share` of them, so often."""
    ways = {OURS: Way(ours(minutes)), SPARK: Way(own(minutes), share, repetitions)}
    return Case(named(minutes, keys), keys, ways, compact)


def hundred(share: float) -> Case:
    """A hundred windows in one query, which share their slices, and the largest of them."""
    sizes = range(14, 1441, 14)
    ways = {OURS: Way(ours(*sizes[:99], 1440), share), LARGEST: Way(ours(1440), share)}
    return Case(HUNDRED, 10, ways, compact=True)


class Streams:
    """Readings as folders of files, one file a trigger."""

    def __init__(self, spark: Any, count: int, triggers: int, seed: int) -> None:
        self.spark, self.count, self.triggers, self.seed = spark, count, triggers, seed
        self.folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def of(self, keys: int, share: float = 1.0) -> tuple[Any, int]:
        """A streaming DataFrame of the first triggers, and how many rows it has."""
        import pyarrow.parquet as pq

        files = max(1, round(self.triggers * share))
        size = self.count // self.triggers
        folder = self.folder / f"{keys}-{files}"
        if not folder.exists():
            folder.mkdir()
            table = readings(self.count, keys, self.seed)
            for i in range(files):
                path = folder / f"{i:03}.parquet"
                pq.write_table(table.slice(i * size, size), path)
                os.utime(path, (1_000_000 + i, 1_000_000 + i))  # files are taken by their age
        schema = self.spark.read.parquet(str(folder)).schema
        stream = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
        return stream, files * size


@contextmanager
def checkpoint() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-state-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def finished(writer: Any, state: Path) -> Any:
    """A query that has taken all there was."""
    running = writer.option("checkpointLocation", str(state)).outputMode("append").trigger(availableNow=True).start()
    running.awaitTermination()
    return running


def streamed(stream: Any, rows: int, make: Make, share: float = 1.0) -> Row:
    """One run: all rows computed, none written. Times are those of the triggers, without the query's start.

    A stream ends with a trigger without rows, which is there once in the whole stream, too: it counts by its share.
    """
    with checkpoint() as state:
        done = finished(make(stream).writeStream.format("noop"), state).recentProgress
        size = sum(file.stat().st_size for file in (state / "state").rglob("*") if file.is_file())
    took = [progress.durationMs["triggerExecution"] for progress in done]
    waited = [ms for ms, progress in zip(took, done, strict=True) if progress.numInputRows]
    cost = sum(waited) + share * (sum(took) - sum(waited))
    last = [progress for progress in done if progress.numInputRows][-1].stateOperators

    def metric(name: str) -> int:
        return sum(s.customMetrics.get(name, 0) for progress in done for s in progress.stateOperators)

    updated = sum(s.numRowsUpdated for progress in done for s in progress.stateOperators)
    return {
        "rows": rows,
        "seconds": sum(took) / 1e3,
        "us_a_row": cost * 1e3 / rows,
        "rows_a_second": rows / (cost / 1e3),
        "trigger_ms": statistics.median(waited),
        "trigger_ms_most": max(waited),
        "state_rows": sum(s.numRowsTotal for s in last),
        "state_bytes": sum(s.customMetrics.get("rocksdbSstFileSize", 0) for s in last),
        "memory_bytes": sum(s.memoryUsedBytes for s in last),
        "checkpoint_bytes": size,
        "updates_a_row": updated / rows,
        "written_a_row": metric("rocksdbTotalBytesWritten") / rows,
    }


def race(settings: Settings, streams: Streams, small: Streams, case: Case) -> list[Row]:
    """The ways in turns, after a small stream each, which compiles and starts workers.

    The smaller levels have had theirs: that both ways agree was seen over a small stream.
    """
    for way in case.ways.values() if settings.level in ("normal", "full") else ():
        streamed(*small.of(case.keys), way.make)
    found: list[Row] = []
    with configured(streams.spark, {COMPACT: str(case.compact).lower()}):
        for repetition in range(settings.pick(1, 1, 3, 5)):
            for name, way in case.ways.items():
                if repetition < way.repetitions:
                    told = streamed(*streams.of(case.keys, way.share), way.make, way.share)
                    found.append({"case": case.name, "way": name, "repetition": repetition, "share": way.share, **told})
    return found


def same_windows(streams: Streams, minutes: int) -> int:
    """How many windows both ways send, which are the same; an error where they are not."""
    tables = []
    for number, make in enumerate((ours(minutes), own(minutes))):
        name = f"windrow_bench_{number}"
        with checkpoint() as state:
            finished(make(streams.of(10)[0]).writeStream.format("memory").queryName(name), state)
        tables.append(streams.spark.table(name).toArrow().sort_by([("k", "ascending"), ("start", "ascending")]))
        streams.spark.catalog.dropTempView(name)
    mine, theirs = tables
    exact = ["k", "start", "end", "most", "rows"]
    alike = mine.select(exact).cast(theirs.select(exact).schema).equals(theirs.select(exact))
    if not (mine.num_rows and alike and np.allclose(mine["total"], theirs["total"], rtol=1e-9, atol=1e-9)):
        raise WindrowError(f"spark-stream: {OURS} and {SPARK} do not send the same windows")
    return mine.num_rows


def cases(settings: Settings) -> list[Case]:
    """From 1,440 on, and with many keys, Spark's own takes minutes a trigger: it gets one."""
    tenth, once = 0.1, 1
    short, hour = against_spark(10, 10), against_spark(60, 10)
    day, many = against_spark(1440, 10, tenth, once, True), against_spark(60, 100_000, tenth, once)
    every_time = [against_spark(60, 100_000, tenth), against_spark(1440, 10, tenth, compact=True)]
    quick_day = against_spark(1440, 10, 2.5 * tenth, once, True)  # of four triggers
    return settings.pick(
        [short],
        [short, hour, quick_day],
        [short, hour, many, day, hundred(2 * tenth)],
        [short, hour, *every_time, hundred(1.0)],
    )


def run(settings: Settings) -> list[Row]:
    spark = session()
    small = Streams(spark, 2_000, 2, settings.seed)
    count, triggers = settings.pick(2_000, 20_000, 1_000_000, 1_000_000), settings.pick(2, 4, 10, 10)
    streams = Streams(spark, count, triggers, settings.seed)
    rows: list[Row] = []
    with configured(spark, {PARTITIONS: str(CORES)}):
        windows = same_windows(small, 10)
        for case in settings.track(cases(settings), "spark-stream"):
            rows += race(settings, streams, small, case)
    return [{**row, "windows_compared": windows} for row in rows]


def notes(rows: Sequence[Row]) -> list[str]:
    """Ratios, then what each way did: the medians."""
    said = ratios(rows, "case")
    for case, way in dict.fromkeys((row["case"], row["way"]) for row in rows):
        mine = [row for row in rows if (row["case"], row["way"]) == (case, way)]
        middle = {n: statistics.median(row[n] for row in mine) for n in mine[0] if isinstance(mine[0][n], (int, float))}
        said.append(
            f"{case}: {way} takes {figure(middle['rows_a_second'])} rows/s; a trigger takes "
            f"{figure(middle['trigger_ms'])} ms, {figure(middle['trigger_ms_most'])} ms at most; state: "
            f"{figure(middle['state_rows'])} entries, {figure(middle['state_bytes'] / 1e6)} MB of files; for each row "
            f"{figure(middle['updates_a_row'])} entries and {figure(middle['written_a_row'])} bytes are written"
        )
    return [*said, f"both ways sent the same {rows[0]['windows_compared']:,} windows over a small stream"]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The aims, at the sizes that were run."""
    short, hour, many, day = named(10, 10), named(60, 10), named(60, 100_000), named(1440, 10)

    def at_most(said: str, column: str, mine: tuple[str, str], theirs: tuple[str, str], times: float) -> Claim:
        found = medians(rows, ("case", "way"), column)
        if mine not in found or theirs not in found:
            return unmeasured(said)
        ratio = found[mine] / found[theirs]
        return Claim(said, f"{figure(ratio)} times", ratio <= times)

    return [
        aim(rows, hour, SPARK, 1.5),
        aim(rows, many, SPARK, 1.0),
        aim(rows, day, SPARK, 20.0),
        at_most(f"a trigger: 1.5 times that of {short} at most ({day})", "trigger_ms", (day, OURS), (short, OURS), 1.5),
        at_most(f"a third of the state of {SPARK} ({day})", "state_bytes", (day, OURS), (day, SPARK), 1 / 3),
        at_most(f"a hundredth of its writes a row ({day})", "updates_a_row", (day, OURS), (day, SPARK), 0.01),
        at_most("a quarter more state than the largest", "state_bytes", (HUNDRED, OURS), (HUNDRED, LARGEST), 1.25),
    ]


EXPERIMENT = Experiment(
    name="spark-stream",
    title="periodic windows over a stream on Spark, µs a row",
    paper="none",
    expected="ours to set: at least 20x at 1,440, 1.5x at 60, not slower with 100,000 keys; a third of the state",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost in a periodic window over a stream on Spark, against Spark's own window()? How long "
    "does it wait, and how much state is there?",
    claims=claims,
)
