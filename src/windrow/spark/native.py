"""Slices that Spark itself folds: `groupBy(key, slice)` with its own functions, before the exchange, without Python.

What comes out are the very partials that `partials.Folded` makes of rows, so that windows are made of them in the same
way. An aggregate says how its partial is written in SQL (`Numeric.sql`); a query of which one does not is folded in
Python as a whole, since its rows have to go there anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from windrow.engine.cutting import FAR, Edges
from windrow.engine.walks import HIGHEST
from windrow.errors import WindrowError
from windrow.query import Query
from windrow.spark.partials import FIRST, LAST, PARTIAL, in_any_order, outlines, sliceable
from windrow.spark.parts import EPOCH_NTZ, micros_in, micros_of, quoted
from windrow.step.groups import NOTHING, Group

FOLDS = ("auto", "spark", "python")
#: how the engine counts a column of Spark's types
_NUMBER = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "CAST({} AS BIGINT)"),
    **dict.fromkeys(("float", "double"), "CAST({} AS DOUBLE)"),
    "boolean": "CAST({} AS BIGINT)",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": f"timestampdiff(MICROSECOND, {EPOCH_NTZ}, {{}})",
    "date": "CAST(unix_date({}) AS BIGINT)",
}
#: the types whose values Spark and the engine take for equal in the same cases
_KEYS = (*_NUMBER, "string", "binary")
_TYPES = {"int64": "bigint", "float64": "double", "bool": "boolean"}


@dataclass(frozen=True)
class Native:
    """How Spark folds a query's rows: for each number of a partial its expression, and where slices are cut."""

    query: Query
    edges: Edges
    numbers: dict[str, tuple[str, Any, str]]  # name -> the expression, what stands for no rows, Spark's type

    @classmethod
    def of(cls, query: Query, data: Any, schema: pa.Schema) -> Native | str:
        """The way for a DataFrame; a text that says why there is none."""
        if not sliceable(query):
            return "these windows are no runs of slices that a row's time tells"
        if not in_any_order(query):
            return "an aggregate asks for the order of rows"
        if query.inputs:
            return "conditions and expressions are worked out in Python"
        found = Edges.union(window.edges for window in query.windows.values())
        if getattr(found, "uneven", ()):
            return "windows are not all of one length"
        edges = _cut(found)
        if edges.far(0, 0):
            return "windows are too long"
        kinds = dict(data.dtypes)
        for name in query.by:
            if kinds[name] not in _KEYS and not kinds[name].startswith("decimal"):
                return f"keys of the type {kinds[name]} ({name}) may be equal for Spark and not for us"
        numbers: dict[str, tuple[str, Any, str]] = {}
        for g, group in enumerate(outlines(query, schema).groups):
            written = _written(group, kinds)
            if isinstance(written, str):
                return f"{written} has no form in Spark's functions"
            numbers |= {f"{PARTIAL}_{g}_{j}": number for j, number in enumerate(written)}
        return cls(query, edges, numbers)

    @property
    def functions(self) -> str:
        """The functions of Spark's that are used, as a person reads them."""
        return ", ".join(dict.fromkeys(repr(a) for a in self.query.aggregates.values()))

    def folded(self, data: Any, schema: pa.Schema) -> Any:
        """A DataFrame of partials, one for each (key, slice)."""
        query = self.query
        time = quoted(query.time or "")
        if not query.strict:  # with it, such a row is found where windows are made
            data = data.filter(F.col(time).isNotNull())
        data = data.withColumn(FIRST, self._begin(data))
        by_rows = self.edges.gap < HIGHEST  # sessions are told by the rows in a slice, others by the slice
        numbers = [
            F.coalesce(F.expr(sql).cast(kind), F.lit(empty)).alias(name)
            for name, (sql, empty, kind) in self.numbers.items()
        ]
        if by_rows:
            micros = micros_of(query, data)
            numbers += [F.min(micros).alias(f"{FIRST}_row"), F.max(micros).alias(f"{LAST}_row")]
        data = data.groupBy(*map(quoted, query.by), FIRST).agg(*numbers)
        if by_rows:
            # a slice without a time, or too far out, is told by its place
            placed = F.abs(F.col(FIRST)) < F.lit(FAR)
            first, last = (F.when(placed, F.col(f"{name}_row")).otherwise(F.col(FIRST)) for name in (FIRST, LAST))
        else:
            first = last = F.col(FIRST)
        ends = {FIRST: first.alias(FIRST), LAST: last.alias(LAST)}
        return data.select(*[ends.get(name, F.col(quoted(name))) for name in schema.names])

    def _begin(self, data: Any) -> Any:
        """Where a row's slice begins; `FAR` where its time is farther out than can be counted with."""
        micros = micros_of(self.query, data)
        pairs = list(zip(self.edges.every, self.edges.first, strict=True))
        begins = [micros - F.pmod(micros - F.lit(first), F.lit(every)) for every, first in pairs]
        begin = begins[0] if len(begins) == 1 else F.greatest(*begins)
        near = F.col(quoted(self.query.time or ""))
        if dict(data.dtypes)[self.query.time] in ("tinyint", "smallint", "int", "bigint"):
            most = F.lit(FAR // micros_in(self.query.time_unit))
            near = near.cast("long")
        else:
            most, near = F.lit(FAR), micros
        return F.when(near.isNull(), F.lit(None)).when((near > -most) & (near < most), begin).otherwise(F.lit(FAR))


def chosen(query: Query, data: Any, schema: pa.Schema, fold: str) -> Native | str:
    """How Spark folds, or why it does not."""
    if fold not in FOLDS:
        raise WindrowError(f"fold is one of {', '.join(map(repr, FOLDS))}, not {fold!r}")
    if fold == "python":
        return "fold='python' asks for it"
    found: Native | str = "rows of a stream are folded in its buckets"
    if not data.isStreaming:
        found = Native.of(query, data, schema)
    if fold == "spark" and isinstance(found, str):
        raise WindrowError(f"fold='spark' is not possible: {found}; fold='auto' takes ours there")
    return found


def _cut(edges: Edges) -> Edges:
    """Edges at which a time alone tells the slice: rows that lie within a gap of each other are of one session."""
    pairs = list(zip(edges.every, edges.first, strict=True))
    if edges.gap < HIGHEST:
        pairs.append((max(edges.gap, 1), 0))
    cut = Edges(tuple(every for every, _ in pairs), tuple(first for _, first in pairs), edges.gap)
    if len(pairs) > 1 and cut.unit == min(cut.every):  # one grid has them all
        return Edges((cut.unit,), (cut.first[0] % cut.unit,), edges.gap)
    return cut


def _written(group: Group, kinds: dict[str, str]) -> list[tuple[str, Any, str]] | str:
    """For each number of a group's partial its SQL, what stands for no rows, and Spark's type; or who has none."""
    parts = group.of.parts
    if group.form.dtypes is None:
        return ", ".join(repr(aggregate) for aggregate, _ in parts)
    found: list[str] = []
    for (aggregate, own), (masked, _) in zip(parts, group.form.parts, strict=True):
        columns = [group.columns[i] for i in own]
        named = [name for name in columns if name != NOTHING]
        numeric = aggregate.numeric([group.form.signature[0][i] for i in own])
        conditional = getattr(aggregate, "where", None) is not None
        if (
            numeric is None
            or numeric.sql is None
            or conditional
            or any(kinds.get(name) not in _NUMBER for name in named)
        ):
            return repr(aggregate)
        read = [_NUMBER[kinds[name]].format(quoted(name)) for name in named] or ["1"]
        if len(set(columns)) > 1:  # a row counts where none of them is null
            there = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in dict.fromkeys(columns))
            read = [f"(CASE WHEN {there} THEN {number} END)" for number in read]
        if masked:
            found.append(f"count({read[0]})")
        floats = dict(zip("xy", (f"CAST({number} AS DOUBLE)" for number in read), strict=False))
        found += [sql.format(*read, **floats) for sql in numeric.sql]
    dtypes, empty = group.form.dtypes, group.form.identity
    return [
        (sql, none.item() if hasattr(none, "item") else none, _TYPES[dtype.name])
        for sql, none, dtype in zip(found, empty, dtypes, strict=True)
    ]
