"""The part of the demo that runs on Spark: each query as a batch and as a stream, and Spark's own window()."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import windrow
from examples.demo.queries import MINUTE
from windrow.errors import WindrowError

FILES = 2  # of the stream: each is a batch of its own
#: of the year, for Spark's own window(): it copies each row 1,440 times
DAYS = 2
LAST = 86_400_000_000 * DAYS


@contextlib.contextmanager
def session(folder: Path) -> Iterator[Any]:
    """Spark on this machine, with two cores; what it has to say about itself goes into a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with quiet(folder / "spark.log"):
            spark = windrow.spark.session(
                "local[2]", spark__sql__shuffle__partitions=2, spark__sql__warehouse__dir=str(folder / "warehouse")
            )
        yield spark


@contextlib.contextmanager
def quiet(path: Path) -> Iterator[None]:
    """Programs that are started meanwhile write their errors there, all their lives; this one only meanwhile."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with path.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)


def written(table: Any, folder: Path) -> Path:
    """The rows as files, one after the other in time."""
    import pyarrow.parquet as pq

    place = folder / "flights"
    place.mkdir()
    size = -(-table.num_rows // FILES)
    for i in range(FILES):
        path = place / f"{i}.parquet"
        pq.write_table(table.slice(i * size, size), path)
        os.utime(path, (1_000_000 + i, 1_000_000 + i))  # a stream takes files by their age
    return place


def batch(spark: Any, query: windrow.Query, place: Path) -> tuple[Any, float]:
    """The answers of a query over the files as a table, and the seconds it took."""
    start = time.perf_counter()
    found = query.run(spark.read.parquet(str(place))).toArrow()
    return found, time.perf_counter() - start


def stream(spark: Any, query: windrow.Query, place: Path, folder: Path, name: str) -> tuple[Any, float]:
    """The same files as they come, one batch each, into a table in memory."""
    start = time.perf_counter()
    rows = spark.readStream.schema(spark.read.parquet(str(place)).schema)
    rows = rows.option("maxFilesPerTrigger", 1).parquet(str(place))
    writer = query.run(rows).writeStream.format("memory").queryName(name).outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / f"state-{name}")).trigger(availableNow=True)
    writer.start().awaitTermination()
    return spark.table(name).toArrow(), time.perf_counter() - start


def own_window(spark: Any, table: Any, folder: Path) -> dict[str, Any]:
    """24 hours every minute over the first days, by Spark's window() and by windrow on the same Spark."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyspark.sql import functions as F

    micros = pc.cast(table["ts"], "int64")
    part = table.filter(pc.less(micros, pc.min(micros).as_py() + LAST))
    path = folder / "part.parquet"
    pq.write_table(part, path)
    rows = spark.read.parquet(str(path))
    start = time.perf_counter()
    ours = MINUTE.run(rows).toArrow()
    taken = {"windrow": time.perf_counter() - start}
    start = time.perf_counter()
    windows = rows.groupBy("origin", F.window("ts", "24 hours", "1 minute").alias("w"))
    theirs = windows.agg(F.max("delay").alias("longest"), F.count("delay").alias("flights"))
    theirs = theirs.select("origin", F.col("w.start").alias("start"), "longest", "flights").toArrow()
    taken["Spark's window()"] = time.perf_counter() - start
    names = ["origin", "start", "longest", "flights"]
    here, there = ({tuple(row.values()) for row in t.select(names).to_pylist()} for t in (ours, theirs))
    if not here or not here <= there:
        raise WindrowError("Spark's window() and windrow do not agree")
    return {"rows": part.num_rows, "of": table.num_rows, "windows": ours.num_rows, "seconds": taken}
