"""A million small keys on Spark.

Asked: what a row costs in a trailing window of 5 rows where there are a million keys of ten rows, against Spark's own
frame, as it is and with the segment tree. local[2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings
from benchmarks.on_spark import (
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
from windrow import agg, win

ROWS_A_KEY = 10


def frame(data: Any) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    return data.withColumn("most", F.max("x").over(Window.partitionBy("k").orderBy("ts").rowsBetween(-4, 0)))


def run(settings: Settings) -> list[Row]:
    count = settings.pick(2_000, 300_000, 10_000_000, 10_000_000)
    keys = np.random.default_rng(settings.seed).permutation(np.repeat(np.arange(count // ROWS_A_KEY), ROWS_A_KEY))
    table = readings(count, 10, settings.seed).select(["ts", "x"]).append_column("k", [keys])
    tables = Tables(session(), table)
    query = windrow.Query(time="ts", by="k", windows=win.trailing(5), aggregates={"most": agg.max("x")})
    ways = {
        "windrow": Way(query.run),
        "Spark's frame": Way(frame, 1.0, {SEGMENT_TREE: "false"}),
        "Spark's segment tree": Way(frame, 1.0, {SEGMENT_TREE: "true"}),
    }
    return race(settings, tables, ways, {"case": f"{count // ROWS_A_KEY:,} keys of {ROWS_A_KEY} rows"})


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Not much slower than what is made for it."""
    return [aim(rows, rows[0]["case"], "Spark's frame", round(1 / 1.5, 2))]


EXPERIMENT = Experiment(
    name="spark-keys",
    title="many small keys on Spark, µs a row",
    paper="none",
    expected="ours to set: at most 1.5x the time of Spark's own frame",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost on Spark where there are very many keys of ten rows, against Spark's own frame?",
    claims=claims,
)
