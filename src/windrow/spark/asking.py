"""Rows of a second DataFrame that ask: both are exchanged once, by key and part of time, and answered in one pass.

Events and asking rows go into one DataFrame, so that Spark sorts them side by side. An asking row waits as a struct
until its answers are beside it: only what windows and aggregates read goes to Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from windrow.errors import Unsupported, WindrowError
from windrow.local.asking import check_askable
from windrow.local.batch import Local
from windrow.local.intake import column_measures, named_columns, reads_any_column
from windrow.query import Query
from windrow.spark import counted_parts, parts, statistics
from windrow.spark.parts import quoted
from windrow.spark.plan import ANSWERS, arrow_schema, beside
from windrow.spark.rows import CONTEXT, Beside, Place, SortedRows
from windrow.spark.shapes import asked_schema

#: marks rows that ask; has all of their columns; breaks ties of equal times, as the events lie
ASKS, ROW, TIE = "__windrow_asks", "__windrow_row", "__windrow_tie"
WHOLE_NUMBERS, NUMBERS = ("tinyint", "smallint", "int", "bigint"), ("float", "double")


@dataclass(frozen=True)
class AskedRows(SortedRows):
    """What a worker does: for each row an answer, which is null where the row does not ask."""

    streams = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (*super().columns, ASKS)

    def _counts(self, batch: pa.RecordBatch) -> pa.Array:
        return pc.and_(super()._counts(batch), pc.invert(batch[ASKS]))

    def _whole(self, rows: pa.Table) -> pa.Table:
        asks = rows[ASKS].combine_chunks()
        events, asking = rows.filter(pc.invert(asks)), rows.select([*self._asking()]).filter(asks)
        answers = Local().answer(self._keyed(), events.combine_chunks(), asking.combine_chunks(), None)[0]
        places = np.cumsum(asks.to_numpy(zero_copy_only=False)) - 1
        at = pa.array(places, mask=~asks.to_numpy(zero_copy_only=False))
        return answers.select(self.schema.names).take(at)

    def _asking(self) -> list[str]:
        """What asking rows have."""
        time = () if self.query.time is None else (self.query.time,)
        return list(dict.fromkeys([*self.by, *time, *(m.column or "" for m in column_measures(self.query))]))


def asked(query: Query, data: Any, at: Any, at_time: str | None) -> Any:
    """The asking rows with their answers, as a DataFrame."""
    check_askable(query, at_time)
    if not hasattr(at, "mapInArrow"):
        raise WindrowError(f"at= is of the events' kind, a Spark DataFrame, not a {type(at).__name__}")
    if data.isStreaming or at.isStreaming:
        raise Unsupported(
            "at= asks batch DataFrames, not streams. Ask the table that a stream fills, in each trigger (foreachBatch),"
            " or a live query in this process, by live.at"
        )
    if reads_any_column(query):
        raise Unsupported(
            "at= on Spark takes no condition that is a Python function; write it as text, such as 'x > 5'"
        )
    answers = asked_schema(query, arrow_schema(data))
    for name in answers.names:
        if name in at.columns:
            raise WindrowError(f"the data has a column {name!r} already; give the aggregate another name")
    events, asks = _alike(query, data, at, at_time)
    by: tuple[str, ...] = query.by
    places: dict[int, Place] = {}
    if parts.reaching(query):
        events, asks, by = parts.with_context(query, events), parts.alone(query, asks), (*by, parts.PART)
    elif counted_parts.counting(query) and (found := _counted_parts(query, data)):
        events = counted_parts.with_context(query, events, found)
        asks, by = counted_parts.alone(query, asks, found), (*by, parts.PART)
        places = counted_parts.places(found)
    rows = events.drop(CONTEXT).unionByName(asks, allowMissingColumns=True)
    rows = rows.repartition(*map(quoted, by)) if by else rows.repartition(1)
    order = [*by, *([query.time] if query.time is not None else []), TIE]
    rows = rows.sortWithinPartitions(*map(quoted, order)).drop(TIE)
    work = AskedRows(query, answers, by, places)
    rows = beside(rows, Beside(work, work.columns), work.columns, answers).filter(F.col(ASKS))
    own, made = F.col(ROW), F.col(ANSWERS)
    columns = [own.getField(name).alias(name) for name in at.columns]
    return rows.select(*columns, *[made.getField(name).alias(name) for name in answers.names])


def _counted_parts(query: Query, data: Any) -> Mapping[statistics.Steps, counted_parts.Cuts]:
    steps = statistics.steps_of_large_keys if query.by else statistics.steps_of_all
    return counted_parts.cut_up(query, data, steps(query, data))


def _alike(query: Query, data: Any, at: Any, at_time: str | None) -> tuple[Any, Any]:
    """Events and asking rows, each with what is needed of them, and what both have in columns of one type."""
    time = query.time if at_time is None else at_time
    names = {name: name for name in (*query.by, *(m.column or "" for m in column_measures(query)))}
    if query.time is not None and time is not None:
        names[query.time] = time
    for name in names.values():
        if name not in at.columns:
            raise WindrowError(f"at=: there is no column {name!r}; the columns are: {', '.join(at.columns)}")
    events = data.select(*[F.col(quoted(name)) for name in named_columns(query)])
    row = F.struct(*[F.col(quoted(name)) for name in at.columns]).alias(ROW)
    asks = at.select(row, *[F.col(quoted(name)).alias(mine) for mine, name in names.items()])
    for name in names:
        kinds = dict(events.dtypes)[name], dict(asks.dtypes)[name]
        if kinds[0] == kinds[1]:
            continue
        common = "bigint" if set(kinds) <= set(WHOLE_NUMBERS) else "double" if set(kinds) <= set(NUMBERS) else None
        if common is None:
            raise WindrowError(
                f"at=: column {names[name]!r} holds {kinds[1]}, and the events' {name!r} holds {kinds[0]}; "
                "make both of one type"
            )
        events, asks = (rows.withColumn(name, F.col(quoted(name)).cast(common)) for rows in (events, asks))
    marked = {ASKS: F.lit(False), TIE: F.monotonically_increasing_id()}
    return events.withColumns(marked), asks.withColumns({ASKS: F.lit(True), TIE: F.lit(0).cast("bigint")})
