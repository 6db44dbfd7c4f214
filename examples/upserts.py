"""Visits to a site in an SQLite table that is right at any moment, from a Spark stream.

A visit is a session: clicks of one visitor, at most ten minutes apart. With `emit="update"` each trigger sends the
visits that have changed. A late click may join two visits: then the later one is withdrawn (`final` is null). The
stream is killed after a trigger has been written and before Spark knows it: the trigger comes again, and changes
nothing.

    python examples/upserts.py
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from windrow import agg, win

query = windrow.Query(
    time="ts",
    by="visitor",
    windows=win.session("10 minutes"),
    aggregates={"clicks": agg.count(), "path": agg.concat("page", sep=" ")},
    lateness="30 minutes",
    emit="update",
)

TABLE = """CREATE TABLE IF NOT EXISTS visits (visitor INTEGER, start INTEGER, "end" INTEGER, clicks INTEGER, path TEXT,
    final INTEGER, PRIMARY KEY (visitor, start))"""
DELETE = "DELETE FROM visits WHERE visitor = ? AND start = ?"
UPSERT = """INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (visitor, start)
    DO UPDATE SET "end" = excluded."end", clicks = excluded.clicks, path = excluded.path, final = excluded.final"""


def into(path: Path, killed_after: int | None = None) -> Callable[[Any, int], None]:
    """What `foreachBatch` calls: each trigger is one transaction, so that it is in the table whole, or not at all."""

    def write(batch: Any, number: int) -> None:
        columns = ["visitor", "unix_micros(start)", "unix_micros(end)", "clicks", "path", "final"]
        rows = [tuple(row) for row in batch.selectExpr(*columns).collect()]
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(TABLE)
            db.executemany(DELETE, [row[:2] for row in rows if row[-1] is None])
            db.executemany(UPSERT, [row for row in rows if row[-1] is not None])
        if number == killed_after:
            raise RuntimeError("killed: the trigger is in the table, and Spark does not know it")

    return write


def clicks(folder: Path) -> None:
    """Three hours of clicks by 5 visitors, in six files; they come up to 25 minutes late."""
    rng = np.random.default_rng(9)
    ts = rng.integers(0, 3 * 3_600, 240)
    order = np.argsort(ts + rng.integers(0, 1_500, 240), kind="stable")
    start = np.datetime64("2024-05-01T09:00", "us")
    rows = pa.table(
        {
            "ts": pa.array(start + ts[order] * np.timedelta64(1, "s"), pa.timestamp("us", "UTC")),
            "visitor": rng.integers(1, 6, 240),
            "page": np.array(["home", "search", "cart", "help"])[rng.integers(0, 4, 240)],
        }
    )
    for number in range(6):
        path = folder / f"{number}.parquet"
        pq.write_table(rows.slice(number * 40, 40), path)
        os.utime(path, (number, number))  # a stream takes files by their age


def stream(spark: Any, folder: Path, killed_after: int | None = None) -> None:
    """Streams the files that are there into the table, one at a time."""
    source = folder / "clicks"
    schema = spark.read.parquet(str(source)).schema
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = query.run(rows).writeStream.outputMode("update").foreachBatch(into(folder / "visits.db", killed_after))
    writer = writer.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True)
    writer.start().awaitTermination()


def visits(folder: Path) -> list[tuple]:
    """The table as it is."""
    with closing(sqlite3.connect(folder / "visits.db")) as db:
        return db.execute("SELECT * FROM visits ORDER BY visitor, start").fetchall()


def show(rows: list[tuple]) -> None:
    print("visitor  from   to     clicks  final")
    for visitor, start, end, count, _, final in rows[:6]:
        begin, last = (np.datetime64(at, "us").astype(str)[11:16] for at in (start, end))
        print(f"{visitor:7}  {begin}  {last}  {count:6}  {'yes' if final else 'no'}")
    print(f"... {len(rows)} visits, {sum(row[-1] for row in rows)} of them final")


def main() -> None:
    spark = windrow.spark.session("local[2]")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clicks").mkdir()
        clicks(folder / "clicks")
        try:
            stream(spark, folder, killed_after=3)
        except Exception as error:
            print("RuntimeError: killed" if "killed" in str(error) else error)
        stream(spark, folder)  # goes on from the checkpoint
        show(visits(folder))


if __name__ == "__main__":
    main()
