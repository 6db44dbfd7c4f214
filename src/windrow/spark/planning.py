"""From a query and a DataFrame to Spark's steps: which part Spark computes, which ours, what is exchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from windrow.errors import WindrowError
from windrow.local.intake import named_columns, reads_any_column
from windrow.query import Query
from windrow.spark import parts
from windrow.spark.partials import FIRST, Answered, Folded, partial_schema, sliceable
from windrow.spark.rows import SortedRows
from windrow.spark.shapes import result_schema

#: breaks ties of equal times: the input's own order
TIE = "__windrow_tie"


@dataclass
class Plan:
    """Steps over a DataFrame, the first one first."""

    query: Query
    data: Any
    steps: list[str] = field(default_factory=list)

    def result(self) -> Any:
        raise NotImplementedError  # pragma: no cover

    def explain(self) -> str:
        self.result()
        lines = [str(self.query), *(f"{i}. {step}" for i, step in enumerate(self.steps, 1))]
        return "\n".join(lines)


def planned(query: Query, data: Any) -> Plan:
    """The plan of a query over a DataFrame; what it cannot run is refused here, before any data is read."""
    names = data.columns
    for name in named_columns(query):
        if name not in names:
            raise WindrowError(f"there is no column {name!r}; the columns are: {', '.join(names)}")
    return BySlices(query, data) if sliceable(query) else ByRows(query, data)


def _arrow(data: Any) -> Any:
    return to_arrow_schema(data.schema, timezone="UTC")


class BySlices(Plan):
    """Windows by time, aggregates that do not ask for the rows' order: only partials are exchanged."""

    def result(self) -> Any:
        query, rows = self.query, _arrow(self.data)
        partials, answers = partial_schema(query, rows), result_schema(query, rows)
        self.steps = [f"Spark reads {', '.join(named_columns(query))}"]
        named = self.data.select(*[F.col(_quoted(name)) for name in named_columns(query)])
        folded = named.mapInArrow(Folded(query, partials), from_arrow_schema(partials))
        self.steps.append("ours, where the rows are: each (key, slice) is folded into one partial")
        placed = folded.repartition(*map(_quoted, query.by)) if query.by else folded.repartition(1)
        self.steps.append(f"exchange of the partials by {', '.join(query.by) or 'nothing: one task'}, sorted by time")
        placed = placed.sortWithinPartitions(*map(_quoted, query.by), FIRST)
        self.steps.append("ours: windows from slices, all keys of a partition in one kernel")
        return placed.mapInArrow(Answered(query, rows, answers), from_arrow_schema(answers))


class ByRows(Plan):
    """Everything else: rows sorted by key and time, one pass over each partition."""

    def result(self) -> Any:
        query, rows = self.query, _arrow(self.data)
        answers = result_schema(query, rows)
        whole = query.per_row or reads_any_column(query)
        data = self.data if whole else self.data.select(*[F.col(_quoted(n)) for n in named_columns(query)])
        data = data.withColumn(TIE, F.monotonically_increasing_id())
        self.steps = [f"Spark reads {'all columns' if whole else ', '.join(named_columns(query))}"]
        by = query.by
        if parts.splittable(query):
            data, by = parts.split(query, data), (*by, parts.PART)
            self.steps.append(f"Spark: {parts.told(query)}")
        if by:
            data = data.repartition(*map(_quoted, by))
            self.steps.append(f"exchange of the rows by {', '.join(by)}")
        else:
            data = data.repartition(1)
            self.steps.append("exchange of the rows to one task: without a key, these windows are sequential")
        order = [*by, *([query.time] if query.time is not None else []), TIE]
        data = data.sortWithinPartitions(*map(_quoted, order))
        self.steps.append(f"sorted by {', '.join(order)}")
        self.steps.append("ours: one pass over each partition, keys told apart inside the kernel")
        return data.mapInArrow(SortedRows(query, answers, by), from_arrow_schema(answers))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
