"""From a query and a DataFrame to Spark's steps: which part Spark computes, which ours, what is exchanged."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from windrow import frames
from windrow.errors import WindrowError
from windrow.frames import refuse_to_guess
from windrow.local.intake import column_measures, named_columns
from windrow.query import FINAL, Query
from windrow.spark import counted_parts, native, parts, statistics
from windrow.spark.explaining import EXCHANGE, OURS, SORT, SPARK
from windrow.spark.partials import FIRST, Answered, Folded, in_any_order, partial_schema, sliceable
from windrow.spark.parts import quoted
from windrow.spark.plan import ANSWERS, Plan, arrow_schema, beside, mapped
from windrow.spark.rows import CONTEXT, Beside, CountedRows, Place, SortedRows
from windrow.spark.shapes import result_schema
from windrow.spark.stream_plan import AsStream, too_far_ahead
from windrow.windows.durations import spelled

#: breaks ties of equal times: the input's own order
TIE = "__windrow_tie"


def check_columns(query: Query, data: Any) -> None:
    """Every column that the query names must be there."""
    names = data.columns
    for name in named_columns(query):
        if name not in names:
            raise WindrowError(f"there is no column {name!r}; the columns are: {', '.join(names)}")


def check_unit(query: Query, data: Any) -> None:
    """What integer times count must be known; a table's first row tells whether it looks like another unit."""
    if query.time_unit == "ns":
        raise WindrowError("Spark counts time in microseconds: make the times timestamps, or time_unit='us'")
    integers = query.time is not None and dict(data.dtypes)[query.time] in ("bigint", "int", "smallint", "tinyint")
    if integers and query.guesses_unit and not data.isStreaming:
        first = data.select(quoted(query.time or "")).dropna().limit(1).toArrow()
        refuse_to_guess(query.time or "", frames.read(first).time(query.time or ""))


def streaming(query: Query, data: Any, **options: Any) -> AsStream:
    """The plan of a query over a streaming DataFrame, with options that only streams have."""
    if not data.isStreaming:
        raise WindrowError("this is for streaming DataFrames; a batch is answered whole by Query.run")
    check_columns(query, data)
    check_unit(query, data)
    if options.get("history") is not None:
        check_columns(query, options["history"])
    return AsStream(query, data, **options)


def planned(query: Query, data: Any, fold: str = "auto") -> Plan:
    """The plan of a query over a DataFrame; what it cannot run is refused here, before any data is read."""
    check_columns(query, data)
    check_unit(query, data)
    found = native.chosen(query, data, arrow_schema(data), fold)
    if data.isStreaming:
        return AsStream(query, data)
    if query.updates:
        return AllFinal(query, data)
    if isinstance(found, native.Native):
        return ByNativeSlices(query, data, native=found)
    if sliceable(query) and (in_any_order(query) or not query.by or statistics.large_keys(query, data)):
        return BySlices(query, data, why=found)
    return ByRows(query, data)


def rejected(query: Query, data: Any, ahead: Any = None) -> Any:
    """The rows without a place."""
    lost = F.lit(False) if ahead is None else F.coalesce(too_far_ahead(query, data, ahead), F.lit(False))
    if query.time is not None:
        lost = lost | F.col(quoted(query.time)).isNull()
    for measure in column_measures(query):
        value = F.col(quoted(measure.column or ""))
        lost = lost | value.isNull()
        if dict(data.dtypes)[measure.column] in ("float", "double"):
            lost = lost | F.isnan(value) | (F.abs(value) == F.lit(float("inf")))
    return data.filter(lost)


class AllFinal(Plan):
    """A batch of a query that sends updates: each window once, and final."""

    def result(self) -> Any:
        once = copy(self.query)
        once.emit = "final"
        if FINAL in self.data.columns and once.per_row:
            raise WindrowError(f"the data has a column '{FINAL}' already, which emit='update' needs; rename it")
        plan = planned(once, self.data)
        found = plan.result().withColumn(FINAL, F.lit(True))
        self.steps = [*plan.steps, (SPARK, f"a batch ends all windows: the column '{FINAL}' is true")]
        return found


@dataclass
class OfSlices(Plan):
    """Windows by time: rows are folded into slices, and only their partials go to where windows are made."""

    def result(self) -> Any:
        query, rows = self.query, arrow_schema(self.data)
        partials, answers = partial_schema(query, rows), result_schema(query, rows)
        data = self._folded(partials)
        data = data.repartition(*map(quoted, query.by)) if query.by else data.repartition(1)
        self._step(EXCHANGE, f"of the partials, {'by ' + ', '.join(query.by) if query.by else 'to one task'}")
        data = data.sortWithinPartitions(*map(quoted, query.by), FIRST)
        self._step(SORT, f"of the partials, by {', '.join((*query.by, query.time or ''))}")
        self._step(OURS, "windows from slices, all keys of a partition in one kernel")
        return mapped(data, Answered(query, rows, answers), answers)

    @abstractmethod
    def _folded(self, partials: pa.Schema) -> Any:
        """The partials of slices, several of one slice where tasks have folded their parts."""


@dataclass
class ByNativeSlices(OfSlices):
    """Spark folds."""

    native: native.Native = field(kw_only=True)

    def _folded(self, partials: pa.Schema) -> Any:
        data = self.native.folded(self._read(), partials)
        self._step(SPARK, f"folds the rows of each (key, slice) into one partial: {self.native.functions}")
        self._step(EXCHANGE, f"of the partials, by {', '.join((*self.query.by, 'slice'))}")
        return data


@dataclass
class BySlices(OfSlices):
    """Each task folds its rows in Python."""

    why: str = ""  # Spark does not

    def _folded(self, partials: pa.Schema) -> Any:
        query = self.query
        data = self._read()
        order: tuple[str, ...] = ()
        if not in_any_order(query):
            order = (*query.by, query.time or "")
            data = parts.alone(query, data.withColumn(TIE, F.monotonically_increasing_id()))
            data = data.repartition(*map(quoted, query.by), parts.PART).drop(parts.PART)
            data = data.sortWithinPartitions(*map(quoted, order), TIE).drop(TIE)
            by = "".join(f"{name}, " for name in query.by)
            large = ": a sample has shown keys that are too large for a task" if by else ""
            self._step(EXCHANGE, f"of the rows, by {by}parts of {spelled(parts.length(query))}{large}")
            self._step(SORT, f"of the rows, by {', '.join(order)}: an aggregate here needs their order")
        data = mapped(data, Folded(query, partials, order), partials)
        why = f" (not by Spark itself: {self.why})" if self.why else ""
        self._step(OURS, f"in each task, the rows of each (key, slice) are folded into one partial{why}")
        return data


class ByRows(Plan):
    """Everything else: rows sorted by key and time, one pass over each partition."""

    def result(self) -> Any:
        query, rows = self.query, arrow_schema(self.data)
        answers = result_schema(query, rows)
        data = self._read().withColumn(TIE, F.monotonically_increasing_id())
        by = query.by
        places: dict[int, Place] = {}
        if parts.reaching(query):
            data, by = parts.with_context(query, data), (*by, parts.PART)
            self._step(
                SPARK,
                f"puts rows into parts of {spelled(parts.length(query))}, each with the "
                f"{spelled(parts.reach(query))} before it as context, so that a large key is no task of its own",
            )
        elif counted_parts.counting(query) and (found := self._counted_parts()):
            data, by = counted_parts.with_context(query, data, found), (*by, parts.PART)
            places = counted_parts.places(found)
            self._step(SPARK, counted_parts.told(query, found))
        if by:
            data = data.repartition(*map(quoted, by))
            whole = "" if parts.PART in by else ", each key to one task"
            self._step(EXCHANGE, f"of the rows, by {', '.join(map(_plainly, by))}{whole}")
        else:
            data = data.repartition(1)
            cut = "rows are too few, or their times too alike, to be cut"
            why = cut if counted_parts.counting(query) else "these windows are sequential"
            self._step(EXCHANGE, f"of the rows, to one task: there is no key, and {why}")
        order = [*by, *([query.time] if query.time is not None else []), TIE]
        data = data.sortWithinPartitions(*map(quoted, order)).drop(TIE)
        self._step(SORT, f"of the rows, by {', '.join(map(_plainly, order))}")
        if query.per_row and not query.changes_only:
            added = pa.schema(list(answers)[len(rows) :])
            return self._beside(data, SortedRows(query, added, by, places), rows.names)
        self._step(OURS, "one pass over each partition, keys told apart inside the kernel")
        work = CountedRows if places else SortedRows
        return mapped(data.drop(CONTEXT), work(query, answers, by, places), answers)

    def _counted_parts(self) -> dict[statistics.Steps, counted_parts.Cuts]:
        """What is cut into parts of about so many rows: large keys, or without a key all rows."""
        steps = statistics.steps_of_large_keys if self.query.by else statistics.steps_of_all
        return counted_parts.cut_up(self.query, self.data, steps(self.query, self.data))

    def _beside(self, data: Any, work: SortedRows, names: list[str]) -> Any:
        """The rows with their answers; context has done its work then."""
        columns = work.columns or (names[0],)
        what = ", ".join(map(_plainly, columns))
        told = f"one pass over {what} of each partition, keys told apart inside the kernel"
        self._step(OURS, f"{told}; the answers go beside the rows, which stay in Spark")
        data = beside(data, Beside(work, columns), columns, work.schema)
        if CONTEXT in data.columns:
            data = data.filter(~F.col(CONTEXT))
        answers = F.col(ANSWERS)
        return data.select(*map(quoted, names), *[answers.getField(name).alias(name) for name in work.schema.names])


def _plainly(name: str) -> str:
    return {parts.PART: "part", TIE: "the input's own order"}.get(name, name)
