"""From a query and a DataFrame to Spark's steps: which part Spark computes, which ours, what is exchanged."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from windrow.errors import WindrowError
from windrow.local.intake import column_measures, named_columns, reads_any_column
from windrow.query import Query
from windrow.spark import counted_parts, parts, streams
from windrow.spark.buckets import BUCKETS, HASH
from windrow.spark.checking import check_state_store
from windrow.spark.explaining import EXCHANGE, OURS, SORT, SPARK, explained
from windrow.spark.partials import FIRST, Answered, Folded, in_any_order, partial_schema, sliceable
from windrow.spark.parts import quoted
from windrow.spark.rows import SortedRows
from windrow.spark.shapes import result_schema

#: breaks ties of equal times: the input's own order
TIE = "__windrow_tie"
#: the name under which a stream's counts are among Spark's observed metrics
OBSERVED = "windrow"


@dataclass
class Plan(ABC):
    """Steps over a DataFrame, the first one first: who or what, and what it does."""

    query: Query
    data: Any
    steps: list[tuple[str, str]] = field(default_factory=list)

    @abstractmethod
    def result(self) -> Any:
        """The DataFrame; `steps` tells afterwards how it comes about."""

    def explain(self) -> str:
        self.result()
        return explained(self.query, self.steps)

    def _read(self) -> Any:
        """The first step: the columns that are needed, which are all where rows come back whole."""
        whole = self.query.per_row or reads_any_column(self.query)
        names = named_columns(self.query)
        self.steps = [(SPARK, f"reads {'all columns' if whole else ', '.join(names)}")]
        return self.data if whole else self.data.select(*[F.col(quoted(name)) for name in names])

    def _step(self, who: str, what: str) -> None:
        self.steps.append((who, what))


def planned(query: Query, data: Any) -> Plan:
    """The plan of a query over a DataFrame; what it cannot run is refused here, before any data is read."""
    names = data.columns
    for name in named_columns(query):
        if name not in names:
            raise WindrowError(f"there is no column {name!r}; the columns are: {', '.join(names)}")
    if data.isStreaming:
        return AsStream(query, data)
    if sliceable(query) and (in_any_order(query) or not query.by):
        return BySlices(query, data)
    return ByRows(query, data)


def rejected(query: Query, data: Any) -> Any:
    """The rows without a place."""
    lost = F.lit(False)
    if query.time is not None:
        lost = lost | F.col(quoted(query.time)).isNull()
    for measure in column_measures(query):
        value = F.col(quoted(measure.column or ""))
        lost = lost | value.isNull()
        if dict(data.dtypes)[measure.column] in ("float", "double"):
            lost = lost | F.isnan(value) | (F.abs(value) == F.lit(float("inf")))
    return data.filter(lost)


def _arrow(data: Any) -> Any:
    return to_arrow_schema(data.schema, timezone="UTC")


class BySlices(Plan):
    """Windows by time: each task folds its rows into slices, and only their partials go to where windows are made."""

    def result(self) -> Any:
        query, rows = self.query, _arrow(self.data)
        partials, answers = partial_schema(query, rows), result_schema(query, rows)
        data = self._read()
        part = None
        if not in_any_order(query):
            part = parts.PART
            data = parts.alone(query, data.withColumn(TIE, F.monotonically_increasing_id()))
            data = data.repartition(part).sortWithinPartitions(part, quoted(query.time or ""), TIE).drop(TIE)
            self._step(EXCHANGE, f"of the rows, by parts of {parts.length(query) / 1e6:g} s")
            self._step(SORT, f"of the rows, by {query.time} in each part: an aggregate here needs their order")
        data = _mapped(data, Folded(query, partials, part), partials)
        self._step(OURS, "in each task, the rows of each (key, slice) are folded into one partial")
        data = data.repartition(*map(quoted, query.by)) if query.by else data.repartition(1)
        self._step(EXCHANGE, f"of the partials, {'by ' + ', '.join(query.by) if query.by else 'to one task'}")
        data = data.sortWithinPartitions(*map(quoted, query.by), FIRST)
        self._step(SORT, f"of the partials, by {', '.join((*query.by, query.time or ''))}")
        self._step(OURS, "windows from slices, all keys of a partition in one kernel")
        return _mapped(data, Answered(query, rows, answers), answers)


class ByRows(Plan):
    """Everything else: rows sorted by key and time, one pass over each partition."""

    def result(self) -> Any:
        query, rows = self.query, _arrow(self.data)
        answers = result_schema(query, rows)
        data = self._read().withColumn(TIE, F.monotonically_increasing_id())
        by = query.by
        if parts.reaching(query):
            data, by = parts.with_context(query, data), (*by, parts.PART)
            self._step(
                SPARK,
                f"puts rows into parts of {parts.length(query) / 1e6:g} s, each with the "
                f"{parts.reach(query) / 1e6:g} s before it as context, so that a large key is no task of its own",
            )
        elif counted_parts.counting(query) and (counted := counted_parts.with_context(query, data)) is not None:
            (data, number), by = counted, (parts.PART,)
            self._step(
                SPARK,
                f"puts rows into {number} parts of time, each with the {counted_parts.reach(query):,} rows before it "
                "as context; two small jobs have counted rows, so that parts are even",
            )
        if by:
            data = data.repartition(*map(quoted, by))
            self._step(EXCHANGE, f"of the rows, by {', '.join(map(_plainly, by))}")
        else:
            data = data.repartition(1)
            self._step(EXCHANGE, "of the rows, to one task: without a key, these windows are sequential")
        order = [*by, *([query.time] if query.time is not None else []), TIE]
        data = data.sortWithinPartitions(*map(quoted, order)).drop(TIE)
        self._step(SORT, f"of the rows, by {', '.join(map(_plainly, order))}")
        self._step(OURS, "one pass over each partition, keys told apart inside the kernel")
        return _mapped(data, SortedRows(query, answers, by), answers)


class AsStream(Plan):
    """A streaming DataFrame: buckets of keys, with their state in pages in Spark's store. Append mode."""

    def result(self) -> Any:
        query, rows = self.query, _arrow(self.data)
        answers = result_schema(query, rows)
        data, given = self._by_bucket()
        running = streams.Running(query, given, answers)
        data = self._with_state(data, running, streams.SENT)
        data = data.observe(OBSERVED, *[F.sum(name).alias(name) for name in streams.COUNTS])
        self._step(EXCHANGE, f"of the bytes by bucket, of which there are {BUCKETS if query.by else 1}")
        self._step(OURS, "in each bucket, rows in time order, each window sent once; state in pages of some keys each")
        return _mapped(data.select("rows"), streams.Unpacked(answers), answers)

    def late(self) -> Any:
        """The rows that came behind the watermark."""
        if self.query.time is None:
            raise WindrowError("late rows are behind event time, and this query has none; name the column with time=")
        rows = _arrow(self.data)
        data, _ = self._by_bucket(whole=True)
        data = self._with_state(data, streams.Late(self.query.time, rows), "rows binary")
        return _mapped(data, streams.Unpacked(rows), rows)

    def _by_bucket(self, whole: bool = False) -> tuple[Any, Any]:
        """New rows, packed; and the schema of what is in a pack."""
        query = self.query
        check_state_store(self.data)
        data = self.data if whole else self._read()
        data = data.withColumn(HASH, _hash(query, data))
        given = _arrow(data)
        data = _mapped(data, streams.Packed(query.time), streams.PACKED)
        self._step(OURS, "the rows of each bucket of keys become one row of Arrow bytes")
        if query.time is not None:
            data = data.withWatermark(streams.WHEN, f"{query.lateness} microseconds")
            self._step(SPARK, f"watermark: {query.lateness / 1e6:g} s behind the newest row, or the DataFrame's own")
        # without the column that has the watermark Spark drops nothing: which rows are late is told row by row
        return data.select(streams.BUCKET, streams.PLACE, streams.ROWS), given

    def _with_state(self, data: Any, processor: Any, schema: str) -> Any:
        mode = "None" if self.query.time is None else "EventTime"
        with _quiet():
            return data.groupBy(streams.BUCKET).transformWithStateInPandas(processor, schema, "append", mode)


def _hash(query: Query, data: Any) -> Any:
    """A hash of the key, the same for keys that are equal."""
    if not query.by:
        return F.lit(0).cast("long")
    kinds = dict(data.dtypes)
    parts = [F.col(quoted(name)) for name in query.by]
    # -0.0 is 0.0
    parts = [p + F.lit(0.0) if kinds[n] in ("float", "double") else p for n, p in zip(query.by, parts, strict=True)]
    return F.xxhash64(*parts)


def _mapped(data: Any, work: Any, schema: Any) -> Any:
    with _quiet():
        return data.mapInArrow(work, from_arrow_schema(schema))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Spark's warning of pandas 3, on which nothing here depends."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _plainly(name: str) -> str:
    return {parts.PART: "part", TIE: "the input's own order"}.get(name, name)
