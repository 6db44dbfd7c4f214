"""Which columns a query's result has, and of which types: told from the input's types alone, before any row is read."""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from windrow import frames
from windrow.aggregates.base import Aggregate
from windrow.errors import WindrowError
from windrow.local.intake import take_in
from windrow.local.results import output, table
from windrow.query import Query
from windrow.step.groups import Answer, Arrangement, arrange
from windrow.step.results import Ended

EPOCH = datetime.datetime(1970, 1, 1)
#: rows that are made up: more than one, and different ones, since a single row has no deviation
SAMPLE = (1, 2, 4, 9)


def result_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The result's columns for input of this schema."""
    made_up = {f.name: pa.array([_made_up(f.type, i) for i in SAMPLE], f.type) for f in schema}
    frame = frames.read(pa.table(made_up, schema=schema))
    intake = take_in(query, frame)
    needed = {name: frame.column(name) for a in query.aggregates.values() for name in a.columns}
    answers = _answers(query, arrange(query.aggregates, needed, nullable=True), frame)
    if query.per_row:
        new = {name: aggregate for (_, aggregate), name in query.answer_names().items()}
        for name in new:
            if name in schema.names:
                raise WindrowError(f"the data has a column '{name}' already; give the aggregate another name")
        added = frames.build(frame, {name: output(answers[n]) for name, n in new.items()}).schema
        return pa.schema([*schema, *(_settled(field, query.aggregates[new[field.name]], schema) for field in added)])
    one = np.zeros(1, np.int64)
    found = []
    for name, window in query.windows.items():
        edge = one.astype(intake.measures[window.measure].dtype) if window.measure in intake.measures else one
        found.append(Ended(name, one, edge, edge, None, answers))

    def keys(code: np.ndarray) -> dict[str, frames.Output]:
        return {name: frames.Taken(name, code) for name in query.by}

    fields = frames.build(frame, table(query, found, keys, intake.times)).schema
    return pa.schema(
        schema.field(field.name)
        if field.name in query.by
        else _settled(field, query.aggregates.get(field.name), schema)
        for field in fields
    )


def _answers(query: Query, arrangement: Arrangement, frame: frames.Frame) -> dict[str, Answer]:
    """One answer of each aggregate, of the right type and without a meaning."""
    found: dict[str, Answer] = {}
    for group in arrangement.groups:
        if group.form.compiled:
            out, valid = group.room(1)
            for column in out:
                column[:] = 0
            found.update(group.answers(out, valid))
        else:
            columns = [frame.objects(name, range(len(SAMPLE))) for name in group.columns if name]
            rows = list(zip(*columns, strict=True)) or [()]
            try:
                lowered = group.of.monoid_lower(
                    reduce(group.of.monoid_combine, (group.of.monoid_lift(*r) for r in rows))
                )
            except Exception as error:
                names = ", ".join(group.names)
                error.add_note(f"while the type of {names} was found out with the made-up rows {rows}")
                raise
            one = np.empty(1, object)
            one[0] = lowered
            found.update(group._unzipped(one))
    return arrangement.finished(found)


def _settled(field: pa.Field, aggregate: Aggregate | None, schema: pa.Schema) -> pa.Field:
    """A field that any value of the column fits into, and that Spark knows."""
    kind = field.type
    returns = None if aggregate is None else aggregate.returns
    if returns is not None:
        return pa.field(field.name, pa.type_for_alias(returns) if isinstance(returns, str) else returns)
    if pa.types.is_null(kind):
        raise WindrowError(f"the type of '{field.name}' cannot be told from {aggregate!r}: give the aggregate returns=")
    if pa.types.is_decimal(kind) and aggregate is not None:
        own = schema.field(aggregate.columns[0]).type if aggregate.columns else kind
        digits, scale = (own.precision, own.scale) if pa.types.is_decimal(own) else (38, kind.scale)
        if aggregate.decimals == "sum":
            return pa.field(field.name, pa.decimal128(min(38, digits + 10), scale))
        if aggregate.decimals == "input":
            return pa.field(field.name, own if pa.types.is_decimal(own) else kind)
        return pa.field(field.name, pa.decimal128(38, min(38, scale + 4)))
    return pa.field(field.name, plain_type(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type by which Spark knows it."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", plain_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in kind])
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    return kind


def _made_up(kind: pa.DataType, i: int) -> Any:
    """A value of a type, another one for another i."""
    if pa.types.is_boolean(kind):
        return i % 2 == 0
    if pa.types.is_integer(kind):
        return i
    if pa.types.is_floating(kind):
        return float(i)
    if pa.types.is_decimal(kind):
        return Decimal(i).scaleb(-kind.scale)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "abcdefghij"[i]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes([i])
    if pa.types.is_date(kind):
        return EPOCH.date() + datetime.timedelta(days=i)
    if pa.types.is_timestamp(kind):
        return EPOCH + datetime.timedelta(days=i)
    if pa.types.is_duration(kind):
        return datetime.timedelta(days=i)
    if pa.types.is_map(kind):
        return [(_made_up(kind.key_type, i), _made_up(kind.item_type, i))]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_made_up(kind.value_type, i)]
    if pa.types.is_struct(kind):
        return {field.name: _made_up(field.type, i) for field in kind}
    return None
