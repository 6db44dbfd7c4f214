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
from windrow.errors import WindrowError
from windrow.query import RUNNERS, Query, Report

__all__ = [
    "Spark", "aggregate", "check", "check_state", "explain", "late", "listen", "physical_plan", "progress", "rejected",
    "replay", "run", "session", "stream",
]  # fmt: skip


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


def listen(spark: Any, console: Any = None, port: int | None = None, **options: Any) -> Any:
    """Keeps what each trigger of a session's streams did, and offers it to Prometheus: see
    `windrow.spark.listening.listen`."""
    return import_module("windrow.spark.listening").listen(spark, console, port, **options)


def replay(spark: Any, path: Any, time: str, **options: Any) -> Any:
    """A Parquet table as a stream in event time, out of order and with duplicates as you like: see
    `windrow.spark.replaying.replay`."""
    return import_module("windrow.spark.replaying").replay(spark, path, time, **options)


def rejected(query: Query, data: Any, ahead: Any = None) -> Any:
    """The rows of a DataFrame that have no place in any window: no time, or no number in the column of a window.

    With `ahead`, a duration, also those whose time is that far ahead of the clock (see `stream`).
    """
    return import_module("windrow.spark.planning").rejected(query, data, ahead)


def run(query: Query, data: Any, *, fold: str = "auto") -> Any:
    """A query over a DataFrame, as `Query.run`, with a choice that never changes an answer.

    Args:
        fold: who folds rows into slices. "spark": its own functions, before the exchange, so that no row goes to
            Python; an error where there is no such way. "python": ours. "auto": Spark, where it can.
    """
    return import_module("windrow.spark.planning").planned(query, data, fold).result()


def explain(query: Query, data: Any, *, fold: str = "auto") -> str:
    """The plan of `run` as text, as `Query.explain`."""
    return import_module("windrow.spark.planning").planned(query, data, fold).explain()


def stream(
    query: Query,
    data: Any,
    *,
    history: Any = None,
    since: Any = None,
    ahead: Any = None,
    large: bool = False,
    key: bytes | None = None,
) -> Any:
    """A query over a streaming DataFrame, as `Query.run`, with what only streams have.

    Args:
        history: a batch DataFrame of rows from before the stream: state begins with what windows that reach back need
            of them. So a query that has changed starts anew, in a new checkpoint, from where the old one stopped.
        since: with a history, the event time at which the stream begins. Windows that have ended by then are not sent
            (run the query over the history for them), and rows of the stream from before it are late.
        ahead: a duration: rows whose time is further ahead of the clock are left out, so that one from the far future
            does not end all windows. `rejected` gives them.
        large: for few keys whose periodic, trailing or policy windows have a hundred thousand partials or more: they
            are Monoid Trees in Spark's state, of which a trigger moves O(log n) pages.
        key: a secret of 16 bytes or more: pages of the state are signed with it, and no others are believed. Not with
            `large`.
    """
    options = {"history": history, "since": since, "ahead": ahead, "large": large, "key": key}
    return import_module("windrow.spark.planning").streaming(query, data, **options).result()


def late(query: Query, data: Any, *, since: Any = None, ahead: Any = None) -> Any:
    """The rows of a streaming DataFrame that come behind the watermark, as a streaming DataFrame.

    It is a query of its own: that it finds the rows that the other one leaves out is certain only where both get the
    same rows in each trigger. The listener counts what the other one left out.
    """
    return import_module("windrow.spark.planning").streaming(query, data, ahead=ahead).late(since)


def watch(stream: Any, query: Query | None = None, *, port: int = 0, host: str = "127.0.0.1") -> Any:
    """A local page that shows a streaming query while it runs, trigger by trigger; `address` tells where.

    Args:
        stream: the running query, as `writeStream...start()` gives it.
        query: what it runs, for the plan on the page.
        port: 0 takes a free one.
        host: only this machine by default. The page has no password: who reaches the port sees it.
    """
    return import_module("windrow.spark.stream_page").StreamPage(stream, query, host, port)


def check_state(query: Query, data: Any, checkpoint: Any, operator: int = 0, key: bytes | None = None) -> bool:
    """Whether a checkpoint's state is of this query, before it is started: see `windrow.spark.states.check_state`."""
    return import_module("windrow.spark.states").check_state(query, data, checkpoint, operator, key)


class Spark:
    """Runs queries over Spark DataFrames, classic or Connect."""

    def accepts(self, data: Any) -> bool:
        return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        return import_module("windrow.spark.planning").planned(query, data).result(), Report()

    def answer(self, query: Query, data: Any, at: Any, at_time: str | None) -> tuple[Any, Report]:
        planning = import_module("windrow.spark.planning")
        planning.check_columns(query, data)
        planning.check_unit(query, data)
        return import_module("windrow.spark.asking").asked(query, data, at, at_time), Report()

    def explain(self, query: Query, data: Any) -> str:
        return import_module("windrow.spark.planning").planned(query, data).explain()

    def first(self, data: Any, rows: int) -> tuple[Any, bool]:
        if data.isStreaming:
            raise WindrowError("draw needs rows that are there, such as a table of the stream's first ones; watch() "
                               "shows a stream that runs")  # fmt: skip
        return data.limit(rows + 1).toArrow(), False


RUNNERS.insert(0, Spark())
