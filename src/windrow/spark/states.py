"""A look at a stream's state from outside, before it is started again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from windrow.query import Query
from windrow.spark.buckets import HEAD, Bucket
from windrow.spark.planning import streaming
from windrow.spark.streams import BUCKET, VARIABLE


class Found(dict):
    """Pages that were read."""

    chunks: Any = None

    def put(self, page: int, data: bytes) -> None:
        self[page] = data

    def remove(self, page: int) -> None:
        del self[page]


def check_state(query: Query, data: Any, checkpoint: str | Path, operator: int = 0, key: bytes | None = None) -> bool:
    """Whether a checkpoint has state that the query can go on from; False: it has none yet.

    `SnapshotError` says what differs where it is another query's. No data of the stream is read.

    Args:
        data: the streaming DataFrame.
        operator: the number of our operator, where the plan has other ones with state before it.
        key: that the state is signed with, if it is.
    """
    spark, path = data.sparkSession, str(checkpoint)
    if not (Path(path) / "commits").is_dir() and "://" not in path:
        return False
    bucket = Bucket(query, streaming(query, data).rows(), key)
    reader = spark.read.format("statestore").option("path", path).option("operatorId", operator)
    pages = reader.option("stateVarName", VARIABLE).load()
    heads = pages.filter(F.col("user_map_key.page") == HEAD).select(f"key.{BUCKET}", "user_map_value.bytes")
    for number, head in heads.collect():
        bucket.head(number, Found({HEAD: bytes(head)}))
    return True
