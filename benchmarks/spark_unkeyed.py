"""No key on Spark.

Asked: what a row costs in a trailing window of 24 hours where there is no key: on two cores, on one, and in Spark's own
frame, which moves all rows to one partition (with the segment tree; without it a row costs as many as its window has).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings
from benchmarks.on_spark import (
    MEASURE,
    PACKAGES,
    PARTITIONS,
    SEGMENT_TREE,
    Tables,
    Way,
    aim,
    bars,
    race,
    ratios,
    readings,
    session,
)
from windrow import agg, win

DAY = 86_400_000_000
QUERY = windrow.Query(time="ts", windows=win.trailing("24 hours", closed="both"), aggregates={"most": agg.max("x")})


def frame(data: Any) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    return data.withColumn("most", F.max("x").over(Window.orderBy(F.unix_micros("ts")).rangeBetween(-DAY, 0)))


def run(settings: Settings) -> list[Row]:
    count = settings.pick(2_000, 500_000, 20_000_000, 20_000_000)
    tables = Tables(session(), readings(count, 10, settings.seed, 365 * DAY // count).select(["ts", "x"]))
    ways = {
        "windrow": Way(QUERY.run),
        "windrow on one core": Way(lambda data: QUERY.run(data.coalesce(1)), 1.0, {PARTITIONS: "1"}),
        "Spark's segment tree": Way(frame, settings.pick(1.0, 0.2, 0.05, 0.05), {SEGMENT_TREE: "true"}),
    }
    return race(settings, tables, ways, {"case": "24 h, no key"})


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Two cores against one."""
    return [
        aim(rows, rows[0]["case"], "windrow on one core", 1.6),
        aim(rows, rows[0]["case"], "Spark's segment tree", 1.0),
    ]


EXPERIMENT = Experiment(
    name="spark-unkeyed",
    title="trailing 24 hours without a key on Spark, µs a row",
    paper="none",
    expected="ours to set: two cores at least 1.6x as fast as one",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost on Spark in the last 24 hours where there is no key, on two cores and on one?",
    claims=claims,
)
