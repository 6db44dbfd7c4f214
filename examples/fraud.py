"""Fraud rules on a Spark stream: how often was a card used in the last hour, in the last 12 hours, in the last 24?

One query with three named windows over one stream. Each payment comes back once, with its columns and the counts and
sums beside it, as soon as no earlier payment can come any more (`lateness`). Rules are then plain columns.

    python examples/fraud.py
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from windrow import agg, win

query = windrow.Query(
    time="ts",
    by="card",
    windows={"1h": win.trailing("1 hour"), "12h": win.trailing("12 hours"), "24h": win.trailing("24 hours")},
    aggregates={"uses": agg.count(), "spent": agg.sum("cents")},
    lateness="10 minutes",
)


def payments(folder: Path) -> None:
    """Two days of payments by 12 cards, in two files; card 7 is stolen on the first evening."""
    rng = np.random.default_rng(24)
    count = 210
    ts = rng.integers(0, 48 * 3_600, count)
    card, cents = rng.integers(1, 13, count), rng.integers(100, 9_000, count)
    card[:25], ts[:25], cents[:25] = 7, 70_000 + np.arange(25) * 90, 19_900  # every 90 seconds
    order = np.argsort(ts + rng.integers(0, 300, count), kind="stable")  # arrive up to five minutes late
    start = np.datetime64("2024-05-01", "us")
    rows = pa.table(
        {
            "ts": pa.array(start + ts[order] * np.timedelta64(1, "s"), pa.timestamp("us", "UTC")),
            "card": card[order],
            "cents": cents[order],
        }
    )
    for number in range(2):
        path = folder / f"{number}.parquet"
        pq.write_table(rows.slice(number * 105, 105), path)
        os.utime(path, (number, number))  # a stream takes files by their age


def scored(spark: Any, folder: Path) -> Any:
    """Streams the files through the query, one at a time; the payments that were sent, with their counts and sums."""
    source = folder / "payments"
    source.mkdir()
    payments(source)
    schema = spark.read.parquet(str(source)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    sent = query.run(stream).writeStream.format("parquet").option("path", str(folder / "scored"))
    sent.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True).start().awaitTermination()
    return spark.read.parquet(str(folder / "scored"))


def show(sent: Any) -> None:
    """The payments that break a rule."""
    rows = sent.where("uses_1h > 5 or uses_12h > 12 or spent_24h > 100000").orderBy("ts").collect()
    print("payment           card  uses 1h  12h  24h  spent 24h")
    for row in rows[:5]:
        counts = f"{row.uses_1h:7}  {row.uses_12h:3}  {row.uses_24h:3}"
        print(f"{row.ts:%Y-%m-%d %H:%M}  {row.card:4}  {counts}  {row.spent_24h / 100:9,.2f}")
    print(f"... and so on; cards to stop: {', '.join(map(str, sorted({row.card for row in rows})))}")


def main() -> None:
    spark = windrow.spark.session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        show(scored(spark, Path(folder)))


if __name__ == "__main__":
    main()
