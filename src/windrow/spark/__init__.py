"""Runs queries over Spark DataFrames. Nothing of pyspark is imported before Spark's data, or `session`, asks for it.

import windrow.spark
spark = windrow.spark.session()          # a good local session, or use your own
query.run(spark.read.parquet("calls"))   # a DataFrame, computed when it is asked for
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from windrow.aggregates.adopted import adopted as aggregate
from windrow.query import RUNNERS, Query, Report

__all__ = ["Spark", "aggregate", "session"]


def session(master: str = "local[*]", **options: Any) -> Any:
    """A SparkSession for this machine that works with windrow: see `windrow.spark.sessions.session`."""
    return import_module("windrow.spark.sessions").session(master, **options)


class Spark:
    """Runs queries over Spark DataFrames, classic or Connect."""

    def accepts(self, data: Any) -> bool:
        return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        return import_module("windrow.spark.planning").planned(query, data).result(), Report()

    def explain(self, query: Query, data: Any) -> str:
        return import_module("windrow.spark.planning").planned(query, data).explain()


RUNNERS.insert(0, Spark())
