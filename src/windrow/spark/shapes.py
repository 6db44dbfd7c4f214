"""Which columns a query's result has on Spark: `local.schema`, in types that Spark knows."""

from __future__ import annotations

import pyarrow as pa

from windrow.errors import WindrowError
from windrow.frames import Type
from windrow.frames.of_arrow import dtype_of
from windrow.local.derived import read_for
from windrow.local.intake import column_measures, event_times, measure_dtype, named_columns
from windrow.local.schema import Schema
from windrow.query import FINAL, Query
from windrow.step.groups import arrange


def asked_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The answers to rows that ask, for events of this schema."""
    told = _types(query, schema)
    return pa.schema([_field(query, name, told[name]) for name in query.answer_names().values()])


def _types(query: Query, schema: pa.Schema) -> dict[str, Type]:
    """The types of the result's columns; what does not go with the input is refused."""
    frame = read_for(query, schema.empty_table())
    for name in named_columns(query):
        frame.check(name)
    for measure in column_measures(query):
        measure_dtype(query, measure, frame.column(measure.column or ""))
    types = {name: frame.type(name) for name in (*schema.names, *frame.derived)}
    needed = {name: frame.column(name) for a in query.aggregates.values() for name in a.columns}
    arrange(query.aggregates, needed, nullable=True, types=types)
    return Schema.of(query, types, None if query.time is None else event_times(query, frame)).types


def result_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The result's columns for input of this schema; what does not go with it is refused."""
    told = _types(query, schema)
    new = [name for name in told if not (query.per_row and name in schema.names)]
    if query.per_row:
        if query.updates and FINAL in schema.names:
            raise WindrowError(f"the data has a column '{FINAL}' already, which emit='update' needs; rename it")
        clash = next((name for name in query.answer_names().values() if name in schema.names), None)
        if clash is not None:
            raise WindrowError(f"the data has a column '{clash}' already; give the aggregate another name")
    fields = [] if not query.per_row else list(schema)
    for name in new:
        if name in query.by:
            fields.append(schema.field(name))
            continue
        fields.append(_field(query, name, told[name]))
    return pa.schema(fields)


def _field(query: Query, name: str, told: Type) -> pa.Field:
    dtype = dtype_of(told)
    if dtype is None:
        of = query.aggregates.get(name)
        raise WindrowError(f"the type of '{name}' cannot be told from {of!r}: give the aggregate returns=")
    return pa.field(name, plain_type(dtype))


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
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    return kind
