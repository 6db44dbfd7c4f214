"""Windows by time from partials of slices: each task folds its own rows, and only the slices' partials are exchanged.

A slice lies between two edges of windows, so that each window is a run of whole slices, whatever order the rows are in.
Both sides run the lane that a live query runs: the first takes rows in and keeps slices, the second takes these slices
as if it had kept them itself, and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa

from windrow import frames
from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column
from windrow.engine.snapshot import packed, unpacked
from windrow.local.batch import FOREVER
from windrow.local.intake import Ordered, take_in
from windrow.local.machine import Machine
from windrow.local.results import changed, some, table
from windrow.query import Query
from windrow.sharing.choice import choose
from windrow.sharing.groups import Answer, Arrangement, Group, arrange
from windrow.sharing.lane import Lane
from windrow.sharing.slices import Rows, Slices, lowest
from windrow.spark.chunks import by_key, conformed, gathered
from windrow.windows.base import TIME

FIRST, LAST, PARTIAL = "__windrow_first", "__windrow_last", "__windrow_partial"
NEVER = lowest(np.int64)


def sliceable(query: Query) -> bool:
    """Whether rows may be folded before they are in order."""
    return Machine(query).takes_late_rows


def outlines(query: Query, schema: pa.Schema) -> Arrangement:
    """The aggregates over columns of these types."""
    frame = frames.read(schema.empty_table())
    return arrange(query.aggregates, {n: frame.column(n) for a in query.aggregates.values() for n in a.columns}, True)


def partial_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """What is exchanged: keys, the times of each slice's first and last row, its partials."""
    fields = [schema.field(name) for name in query.by]
    fields += [pa.field(FIRST, pa.int64()), pa.field(LAST, pa.int64())]
    for g, group in enumerate(outlines(query, schema).groups):
        kinds = [pa.binary()] if group.form.dtypes is None else [pa.from_numpy_dtype(d) for d in group.form.dtypes]
        fields += [pa.field(f"{PARTIAL}_{g}_{j}", kind) for j, kind in enumerate(kinds)]
    return pa.schema(fields)


def _lane(query: Query, arrangement: Arrangement) -> Lane:
    algorithms = {n: c.algorithm for n, c in choose(query.windows, query.algorithm, query.favor).items()}
    return Lane(query.windows, arrangement, {}, query.slicing, query.partial, False, algorithms)


@dataclass(frozen=True)
class Folded:
    """What a worker does with rows, in whatever order they are."""

    query: Query
    schema: pa.Schema  # of the partials

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in gathered(batches):
            yield from self._slices(chunk.combine_chunks()).to_batches()

    def _slices(self, rows: pa.Table) -> pa.Table:
        query = self.query
        frame = frames.read(rows)
        intake = take_in(query, frame)
        arrangement = arrange(
            query.aggregates, {n: frame.column(n) for a in query.aggregates.values() for n in a.columns}, True
        )
        lane = _lane(query, arrangement)
        ordered = Ordered(intake, TIME)
        lane.step(ordered.rows(query.windows, arrangement.columns()), ordered.size, NEVER)
        slices = lane.slices
        assert slices is not None
        at = intake.keys[slices.key]
        columns: list[Any] = [rows[name].take(pa.array(at)) for name in query.by]
        columns += [pa.array(slices.first[TIME]), pa.array(slices.last[TIME])]
        for group, slots in zip(arrangement.groups, slices.partials, strict=True):
            columns += _written(group, slots)
        return conformed(pa.table(columns, names=self.schema.names), self.schema)


def _written(group: Group, slots: Any) -> list[pa.Array]:
    if not isinstance(slots, list):
        return [pa.array(column) for column in slots]
    return [pa.array([None if p is None else msgpack.packb(packed(group.of.dump(p))) for p in slots], pa.binary())]


def _read(group: Group, columns: list[pa.ChunkedArray]) -> Any:
    if group.form.dtypes is not None:
        return tuple(
            column.to_numpy().astype(dtype, copy=False)
            for column, dtype in zip(columns, group.form.dtypes, strict=True)
        )
    return [None if p is None else group.of.load(unpacked(msgpack.unpackb(p))) for p in columns[0].to_pylist()]


@dataclass(frozen=True)
class Answered:
    """What a worker does with slices that are sorted by key and time."""

    query: Query
    rows: pa.Schema  # of the input's rows
    schema: pa.Schema  # of the result

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in by_key(batches, self.query.by, self._whole):
            yield from conformed(result, self.schema).to_batches()

    def _whole(self, slices: pa.Table) -> pa.Table:
        query = self.query
        frame = frames.read(slices.combine_chunks())
        codes, keys = np.zeros(frame.rows, np.int64), np.zeros(1, np.int64)
        if query.by:
            codes, keys = factorize(frame.keys(query.by))
        arrangement = outlines(query, self.rows)
        lane = _lane(query, arrangement)
        lane.keys.grow(len(keys), {})
        first, last = (slices[name].to_numpy() for name in (FIRST, LAST))
        partials = []
        for g, group in enumerate(arrangement.groups):
            mine = [slices[name] for name in slices.column_names if name.startswith(f"{PARTIAL}_{g}_")]
            partials.append(_read(group, mine))
        zeros = np.zeros(len(codes), np.int64)
        lane.slices = Slices(codes, zeros, zeros + 1, {TIME: first}, {TIME: last}, {}, partials)
        nothing = np.empty(0, np.int64)
        empty = frames.read(self.rows.empty_table())
        columns: dict[str, Column] = {c: _no_rows(empty, c) for c in arrangement.columns()}
        found = {
            f.window: f
            for f in lane.step(Rows(nothing, {TIME: nothing}, columns, {}, {}), len(keys), FOREVER, closing=True)
        }
        in_order = [found[name] for name in query.windows]
        if query.changes_only:
            in_order = [some(f, np.flatnonzero(changed(f.key, f.answers, {}))) for f in in_order]
        assert query.time is not None

        def key_columns(code: np.ndarray) -> dict[str, frames.Output]:
            return {name: frames.Taken(name, keys[code]) for name in query.by}

        return frames.build(frame, table(query, in_order, key_columns, empty.time(query.time), _typed_later))


def _typed_later(answer: Answer) -> frames.Output:
    """The input column that an answer is like is not here; the result's schema knows its type."""
    return frames.Values(answer.values, answer.there)


def _no_rows(frame: frames.Frame, name: str) -> Column:
    return frame.column(name) if name else Column(np.empty(0, np.int64), None, np.dtype(np.int64))
