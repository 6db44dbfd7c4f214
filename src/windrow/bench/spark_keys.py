"""A million small keys on Spark, and a large one.

Asked: what a row costs in a trailing window of 5 rows where there are a million keys of ten rows, against Spark's own
frame, as it is and with the segment tree; and in one of 1,000 rows where one key has nine rows in ten, which is found
and cut into parts, against the same in one task, and Spark's segment tree. local[2].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import windrow
from windrow import agg, win
from windrow.bench.base import Claim, Experiment, Row, Settings
from windrow.bench.on_spark import (
    MEASURE,
    PACKAGES,
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

ROWS_A_KEY = 10
LARGE = "1,000 rows, a key of nine rows in ten"


def frame(length: int) -> Callable[[Any], Any]:
    def most(data: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        window = Window.partitionBy("k").orderBy("ts").rowsBetween(1 - length, 0)
        return data.withColumn("most", F.max("x").over(window))

    return most


def query(length: int) -> windrow.Query:
    return windrow.Query(time="ts", by="k", windows=win.trailing(length), aggregates={"most": agg.max("x")})


def run(settings: Settings) -> list[Row]:
    return many_keys(settings) + a_large_key(settings)


def many_keys(settings: Settings) -> list[Row]:
    count = settings.pick(2_000, 300_000, 10_000_000, 10_000_000)
    keys = np.random.default_rng(settings.seed).permutation(np.repeat(np.arange(count // ROWS_A_KEY), ROWS_A_KEY))
    table = readings(count, 10, settings.seed).select(["ts", "x"]).append_column("k", [keys])
    tables = Tables(session(), table)
    ways = {
        "windrow": Way(query(5).run),
        "Spark's frame": Way(frame(5), 1.0, {SEGMENT_TREE: "false"}),
        "Spark's segment tree": Way(frame(5), 1.0, {SEGMENT_TREE: "true"}),
    }
    return race(settings, tables, ways, {"case": f"5 rows, {count // ROWS_A_KEY:,} keys of {ROWS_A_KEY} rows"})


def a_large_key(settings: Settings) -> list[Row]:
    """In a table that is large enough for it to be looked for."""
    count = settings.pick(0, 0, 5_000_000, 5_000_000)
    if not count:
        return []
    rng = np.random.default_rng(settings.seed)
    keys = np.where(rng.random(count) < 0.9, 0, rng.integers(1, 1000, count))
    table = readings(count, 10, settings.seed).select(["ts", "x"]).append_column("k", [keys])
    ways = {
        "windrow": Way(query(1000).run),
        "windrow, a task for each key": Way(in_one_task),
        "Spark's segment tree": Way(frame(1000), 0.2, {SEGMENT_TREE: "true"}),
    }
    return race(settings, Tables(session(), table), ways, {"case": LARGE})


def in_one_task(data: Any) -> Any:
    from windrow.spark import statistics

    before, statistics.BYTES = statistics.BYTES, statistics.UNKNOWN
    try:
        return query(1000).run(data)
    finally:
        statistics.BYTES = before


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Not much slower than what is made for it; and a large key is worth being looked for."""
    return [
        aim(rows, rows[0]["case"], "Spark's frame", round(1 / 1.5, 2)),
        aim(rows, LARGE, "windrow, a task for each key", 1.0),
    ]


EXPERIMENT = Experiment(
    name="spark-keys",
    title="many small keys on Spark, and a large one, µs a row",
    paper="none",
    expected="ours to set: at most 1.5x the time of Spark's own frame; a large key no slower than in one task",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost on Spark with very many keys of ten rows, and with a large one, against Spark's frame?",
    claims=claims,
)
