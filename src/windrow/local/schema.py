"""Which columns a result has, and of which types: told by the query and the types of the input's columns alone.

A table, every push of a live query and a trigger on Spark have the same types then, whatever rows there are, and
whether there are any. `Schema` is made once, when the types of the columns are seen; result columns are made to fit it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.frames import Times, Type
from windrow.frames.times import NANOS
from windrow.frames.types import BOOL, DIGITS, FLOAT64, INT64, NAMED, NULL, OBJECT, TEXT, example, of_dtype, of_value
from windrow.local.intake import whole_lengths
from windrow.query import FINAL, Query
from windrow.step.groups import compiled_answer
from windrow.windows.base import ROWS, TIME, Measure

#: rows that are made up: more than one, and different ones, since a single row has no deviation
SAMPLE = (1, 2, 4, 9)


@dataclass(frozen=True)
class Schema:
    """The types of a result's columns, and how the edges of windows in event time are told."""

    types: dict[str, Type]
    times: Times | None

    @property
    def names(self) -> list[str]:
        """The result's columns."""
        return list(self.types)

    @classmethod
    def of(
        cls, query: Query, columns: Mapping[str, Type], times: Times | None, nullable: bool = True, asked: bool = False
    ) -> Schema:
        """The result's columns for input of these.

        Args:
            times: what the time column is like; None: there is none, or no row has told.
            nullable: the aggregates are compiled for columns with nulls.
            asked: the answers are those of rows that ask: a window may have no rows.
        """
        answers = {
            name: result_type(query, aggregate, columns, nullable, asked)
            for name, aggregate in query.aggregates.items()
        }
        final = {FINAL: BOOL.nullable(query.withdraws)} if query.updates and not asked else {}
        if query.per_row:
            new = {name: answers[aggregate] for (_, aggregate), name in query.answer_names().items()}
            own = {name: kind for name, kind in columns.items() if name not in query.inputs}
            return cls({**own, **new, **final}, times)
        types = {name: columns[name] for name in query.by}
        if query.named:
            types["window"] = TEXT
        edges = None if times is None else edge_times(query, times)
        measures = query.edge_names()
        for measure, (start, end) in measures.items():
            kind = _edge_type(query, measure, columns, times, edges)
            types[start] = kind.nullable(kind.null or len(measures) > 1)
            types[end] = kind.nullable(kind.null or len(measures) > 1 or query.partial or query.updates)
        return cls({**types, **answers, **final}, edges)


def edge_times(query: Query, times: Times) -> Times:
    """How starts and ends are told: in the time column's own type where windows of these lengths always fit it."""
    native = times.native
    if native.kind == "integer":
        return times
    unit = NANOS[native.unit]
    lengths = [length for w in query.windows.values() if query.measure(w) == TIME for length in w.edge_lengths]
    if all(length * NANOS["us"] % unit == 0 for length in lengths):
        return times
    return replace(times, native=replace(native, kind="timestamp", unit=times.unit, dtype=None))


def _edge_type(
    query: Query, measure: Measure, columns: Mapping[str, Type], times: Times | None, edges: Times | None
) -> Type:
    if measure == ROWS:
        return INT64.nullable(False)
    if measure != TIME:
        column = columns[measure.column or ""]
        return (INT64 if column.kind == "int64" and whole_lengths(query, measure) else FLOAT64).nullable(False)
    assert query.time is not None
    own = columns[query.time]
    if times is None or edges is None or not own.told:
        return NULL
    native = edges.native
    if native.kind == "integer" or (native is times.native and own.name in ("date", "timestamp")):
        return own
    return Type(native.kind, unit=native.unit, zone=native.zone)


def result_type(
    query: Query, aggregate: Aggregate, columns: Mapping[str, Type], nullable: bool = True, asked: bool = False
) -> Type:
    """The type of an aggregate's answers."""
    own = [columns[name] for name in aggregate.columns]
    found = type_of(aggregate, own, nullable)
    if aggregate.empty is not None:
        return found.nullable(False)
    needed = own if aggregate.needs is None else [own[i] for i in aggregate.needs]
    picks_null = aggregate.result == "input" and own[0].null
    may_be_empty = asked or query.withdraws or any(window.may_be_empty for window in query.windows.values())
    return found.nullable(may_be_empty or picks_null or any(t.null for t in needed) or not aggregate.builtin)


def type_of(aggregate: Aggregate, own: Sequence[Type], nullable: bool = True) -> Type:
    """The type of an aggregate's answers over columns of these types, nulls left aside."""
    if aggregate.returns is not None:
        return _returned(aggregate.returns)
    result, first = aggregate.result, own[0] if own else NULL
    if result in _BY_NAME:
        return _BY_NAME[result]
    if result == "input":
        return first
    if result == "list":
        return Type("list", item=first) if first.told else NULL
    if result is not None:
        return _ARITHMETIC[result](first)
    compiled = compiled_answer(aggregate, tuple(t.kind for t in own), nullable)
    return _made_up(aggregate, own) if compiled is None else of_dtype(compiled)


_BY_NAME: dict[Any, Type] = {
    "int64": INT64, "float64": FLOAT64, "bool": BOOL, "text": TEXT, "int64 list": Type("list", item=INT64),
    "float64 list": Type("list", item=FLOAT64),
}  # fmt: skip


def _sum(of: Type) -> Type:
    if of.name == "decimal":
        return of.but(precision=min(DIGITS, of.precision + 10))
    return _number(of) or (of if of.name == "duration" else OBJECT)


def _mean(of: Type) -> Type:
    if of.name in ("timestamp", "duration", "date"):
        unit = finer(of.unit)
        return Type("duration", unit=unit) if of.name == "duration" else Type("timestamp", unit=unit, zone=of.zone)
    return _quotient(of)


def _quotient(of: Type) -> Type:
    if of.name == "decimal":
        return of.but(precision=DIGITS, scale=min(DIGITS, of.scale + 4))
    return FLOAT64 if _number(of) is not None else OBJECT


def _product(of: Type) -> Type:
    return _number(of) or _quotient(of)


def _range(of: Type) -> Type:
    if of.name == "decimal":
        return of.but(precision=min(DIGITS, of.precision + 1))
    if of.name in ("timestamp", "duration", "date"):
        return of if of.name == "duration" else Type("duration", unit=of.unit)
    return _number(of) or OBJECT


def _number(of: Type) -> Type | None:
    """The type of whole numbers, of floats; None: it is no number."""
    return INT64 if of.name in ("int", "uint", "bool") else FLOAT64 if of.name == "float" else None


def finer(unit: str) -> str:
    """The unit in which a mean of times is told: a mean of seconds is rarely whole seconds."""
    return "ns" if unit == "ns" else "us"


_ARITHMETIC: dict[str, Any] = {"sum": _sum, "mean": _mean, "product": _product, "range": _range}


def _returned(returns: Any) -> Type:
    if isinstance(returns, str) and returns in NAMED:
        return NAMED[returns]
    import pyarrow as pa

    from windrow.frames.of_arrow import type_of as of_arrow

    return of_arrow(pa.type_for_alias(returns) if isinstance(returns, str) else returns)


def _made_up(aggregate: Aggregate, own: Sequence[Type]) -> Type:
    """The type of a user's aggregate, by its answer for rows that are made up; NULL where that does not tell it."""
    rows = [tuple(example(kind, i) for kind in own) for i in SAMPLE] if own else [()]
    if any(value is None for row in rows for value in row):
        return NULL  # nothing is known of a column
    try:
        lifted = [aggregate.monoid_lift(*row) for row in rows]
        return of_value(aggregate.monoid_lower(reduce(aggregate.monoid_combine, lifted)))
    except Exception:  # whatever a user's code says to rows that are none of its own
        return NULL
