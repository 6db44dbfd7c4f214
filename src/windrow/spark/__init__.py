"""Runs queries over Spark DataFrames. Nothing of pyspark is imported before Spark's data, or `session`, asks for it.

import windrow.spark
spark = windrow.spark.session()          # a good local session, or use your own
query.run(spark.read.parquet("calls"))   # a DataFrame, computed when it is asked for
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from windrow.aggregates.adopted import adopted as aggregate
from windrow.query import RUNNERS, Query, Report

__all__ = ["Spark", "aggregate", "check", "physical_plan", "progress", "rejected", "session"]


def session(master: str = "local[*]", **options: Any) -> Any:
    """A SparkSession for this machine that works with windrow: see `windrow.spark.sessions.session`."""
    return import_module("windrow.spark.sessions").session(master, **options)


def check(spark: Any) -> None:
    """Says in one line what a session of your own lacks, if anything: see `windrow.spark.checking.check`."""
    import_module("windrow.spark.checking").check(spark)


def physical_plan(query: Query, data: Any, mode: str = "formatted") -> str:
    """What Spark itself will do for a query over a DataFrame: see `windrow.spark.explaining.physical_plan`."""
    return import_module("windrow.spark.explaining").physical_plan(query.run(data), mode)


def progress(spark: Any, console: Any = None) -> AbstractContextManager[Any]:
    """Shows how far jobs are while the block runs: see `windrow.spark.watching.progress`."""
    return import_module("windrow.spark.watching").progress(spark, console)


def rejected(query: Query, data: Any) -> Any:
    """The rows of a DataFrame that have no place in any window: no time, or no number in the column of a window."""
    return import_module("windrow.spark.planning").rejected(query, data)


class Spark:
    """Runs queries over Spark DataFrames, classic or Connect."""

    def accepts(self, data: Any) -> bool:
        return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        return import_module("windrow.spark.planning").planned(query, data).result(), Report()

    def explain(self, query: Query, data: Any) -> str:
        return import_module("windrow.spark.planning").planned(query, data).explain()


RUNNERS.insert(0, Spark())
