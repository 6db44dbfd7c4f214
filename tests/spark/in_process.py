"""The passes that Spark's workers run, without Spark: partitions are cut, exchanged and sorted here."""

from __future__ import annotations

import random
from bisect import bisect_left

import numpy as np
import pyarrow as pa

from windrow import Query, frames
from windrow.engine.grouping import factorize
from windrow.local.intake import named_columns
from windrow.spark.partials import FIRST, Answered, Folded, in_any_order, partial_schema, sliceable
from windrow.spark.rows import Beside, SortedRows
from windrow.spark.shapes import plain_type, result_schema


def batches(rng: random.Random, table: pa.Table) -> list[pa.RecordBatch]:
    """The table in batches of a few rows, empty ones among them."""
    found, at = [], 0
    table = table.combine_chunks()
    while at < table.num_rows:
        size = rng.randint(0, 9)
        found += table.slice(at, size).to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        at += size
    return found


def by_key(table: pa.Table, by: tuple[str, ...], then: list[str]) -> pa.Table:
    """Sorted by key and further columns, nulls first, otherwise as it is."""
    codes = factorize(frames.read(table).keys(by))[0] if by else np.zeros(table.num_rows, np.int64)
    columns = [_ranks(table[name]) for name in then]
    return table.take(np.lexsort([np.arange(table.num_rows), *reversed(columns), codes]))


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    values = (column.cast(pa.int32()) if pa.types.is_date(column.type) else column).cast(pa.int64())
    return np.array([-(2**63) if v is None else v for v in values.to_pylist()], object)


def ran(query: Query, table: pa.Table, rng: random.Random) -> pa.Table:
    """The query over the table, cut into partitions."""
    table = table.cast(pa.schema([pa.field(f.name, plain_type(f.type)) for f in table.schema]))
    schema = result_schema(query, table.schema)
    if sliceable(query):
        partials = partial_schema(query, table.schema)
        rows = table.select(named_columns(query))
        if in_any_order(query):
            cut = rng.randint(0, table.num_rows)
            fold, parts = Folded(query, partials), (rows[cut:], rows[:cut])
        else:  # parts of time, each in order
            rows = by_key(rows, (), [query.time])
            times = _ranks(rows[query.time]).tolist()
            cut = bisect_left(times, rng.choice(times)) if times else 0
            fold = Folded(query, partials, (*query.by, query.time))
            parts = tuple(by_key(part, query.by, [query.time]) for part in (rows[cut:], rows[:cut]))
        folded = [pa.Table.from_batches(fold(iter(batches(rng, part))), partials) for part in parts]
        slices = pa.concat_tables(folded)
        mixed = rng.sample(range(slices.num_rows), slices.num_rows)  # an exchange keeps no order
        slices = by_key(slices.take(np.array(mixed, np.int64)), query.by, [FIRST])
        return pa.Table.from_batches(Answered(query, table.schema, schema)(iter(batches(rng, slices))), schema)
    rows = by_key(table, query.by, [] if query.time is None else [query.time])
    if not query.per_row or query.changes_only:
        return pa.Table.from_batches(SortedRows(query, schema, query.by)(iter(batches(rng, rows))), schema)
    added = pa.schema(list(schema)[table.num_columns :])
    work = SortedRows(query, added, query.by)
    columns = work.columns or (table.column_names[0],)
    arrays = [tuple(batch.columns) for batch in batches(rng, rows.select(columns))]
    structs = list(Beside(work, columns)(iter(arrays if len(columns) > 1 else [one for (one,) in arrays])))
    answers = pa.Table.from_batches([pa.RecordBatch.from_struct_array(some) for some in structs], added)
    for name in added.names:
        rows = rows.append_column(name, answers[name])
    return rows
