"""Trailing windows of rows on Spark.

Asked: what a row costs in `win.trailing(n)` by key, against Spark's own frames (recomputed for every row) and against
its segment tree (`spark.sql.window.segmentTree.enabled`, off by default), for max; and for max_by, which the segment
tree does not cover. 10 keys, local[2], rows read from Parquet files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def frame(kind: str, size: int) -> Any:
    def make(data: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        over = Window.partitionBy("k").orderBy("ts").rowsBetween(1 - size, 0)
        column = F.max("x") if kind == "max" else F.max_by("y", "x")
        return data.withColumn("answer", column.over(over))

    return make


def query(kind: str, size: int) -> Any:
    aggregate = agg.max("x") if kind == "max" else agg.max_by("y", "x")
    return windrow.Query(time="ts", by="k", windows=win.trailing(size), aggregates={"answer": aggregate}).run


def run(settings: Settings) -> list[Row]:
    tables = Tables(session(), readings(settings.pick(2_000, 100_000, 1_000_000, 5_000_000), 10, settings.seed))
    sizes = settings.pick((10,), (100, 1_000), (100, 1_000, 10_000), (100, 1_000, 10_000))
    rows: list[Row] = []
    for kind, size in settings.track(
        [*(("max", s) for s in sizes), ("max_by", sizes[-1 if len(sizes) < 3 else 1])], "spark-rows"
    ):
        ways = {"windrow": Way(query(kind, size))}
        if size <= 1000:  # beyond, a run takes minutes
            share = 1.0 if size <= 100 else 0.1
            ways["Spark's frames"] = Way(frame(kind, size), share, {SEGMENT_TREE: "false"})
        if kind == "max":
            ways["Spark's segment tree"] = Way(frame(kind, size), 1.0, {SEGMENT_TREE: "true"})
        rows += race(settings, tables, ways, {"aggregate": kind, "window": size, "case": f"{kind}, {size:,} rows"})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The aims, at the sizes that were run."""
    aims = [
        ("max, 1,000 rows", "Spark's frames", 6.0),
        ("max, 1,000 rows", "Spark's segment tree", 1.2),
        ("max, 10,000 rows", "Spark's segment tree", 2.0),
        ("max_by, 1,000 rows", "Spark's frames", 20.0),
    ]
    return [aim(rows, *one) for one in aims]


EXPERIMENT = Experiment(
    name="spark-rows",
    title="trailing windows of rows on Spark, µs a row",
    paper="none",
    expected="ours to set: 6x frames and 1.2x the segment tree at 1,000 rows, 2x the tree at 10,000; max_by 20x",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost in a trailing window of rows on Spark, against Spark's own frames and its segment "
    "tree?",
    claims=claims,
)
