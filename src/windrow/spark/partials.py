"""Windows by time from partials of slices: each task folds its own rows, and only the slices' partials are exchanged.

A slice lies between two edges of windows, so that each window is a run of whole slices, whatever order the rows are in.
Both sides run the lane that a live query runs: the first takes rows in and keeps slices, the second takes these slices
as if it had kept them itself, and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa

from windrow import frames
from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column, object_array
from windrow.engine.snapshot import packed, unpacked
from windrow.local.batch import FOREVER
from windrow.local.intake import Ordered, take_in
from windrow.local.results import changed, output, some, table
from windrow.query import Query
from windrow.sharing.choice import choose
from windrow.sharing.groups import ROW_OF, VALID_ROW_OF, Answer, Arrangement, Group, arrange
from windrow.sharing.lane import Found, Lane
from windrow.sharing.slices import Rows, Slices, lowest
from windrow.spark.chunks import by_key, conformed, gathered
from windrow.windows.base import TIME
from windrow.windows.kinds import Periodic, Session

FIRST, LAST, PARTIAL, LABEL = "__windrow_first", "__windrow_last", "__windrow_partial", "__windrow_label"
NEVER = lowest(np.int64)


def sliceable(query: Query) -> bool:
    """Whether windows are runs of slices whose edges are known before any row is."""
    return all(isinstance(w, (Periodic, Session)) and w.measure == TIME for w in query.windows.values())


def in_any_order(query: Query) -> bool:
    """Whether rows may be folded as they come; otherwise, each slice's in order."""
    return all(aggregate.commutative for aggregate in query.aggregates.values())


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
        fields += [pa.field(f"{LABEL}_{g}_{j}", schema.field(of).type) for j, (_, of) in group.labels().items()]
    return pa.schema(fields)


def _lane(query: Query, arrangement: Arrangement) -> Lane:
    algorithms = {n: c.algorithm for n, c in choose(query.windows, query.algorithm, query.favor).items()}
    return Lane(query.windows, arrangement, {}, query.slicing, query.partial, False, algorithms)


@dataclass(frozen=True)
class Folded:
    """What a worker does with rows, in whatever order they are."""

    query: Query
    schema: pa.Schema  # of the partials
    #: the rows are sorted by these, the key and the time; none: they are in no order
    order: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # rows of one time stay together: it is by their first row's time that a slice's partials are put in order
        tables = by_key(batches, self.order, lambda rows: rows) if self.order else gathered(batches)
        for chunk in tables:
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
            columns += [rows[of].take(_row_numbers(slots[j], rows)) for j, (_, of) in group.labels().items()]
        return conformed(pa.table(columns, names=self.schema.names), self.schema)


def _written(group: Group, slots: Any) -> list[pa.Array]:
    if not isinstance(slots, list):
        return [pa.array(column) for column in slots]
    return [pa.array([None if p is None else msgpack.packb(packed(group.of.dump(p))) for p in slots], pa.binary())]


def _row_numbers(numbers: np.ndarray, rows: pa.Table) -> pa.Array:
    """Row numbers to take labels by; a partial of no rows has one that means nothing."""
    return pa.array(np.clip(numbers, 0, rows.num_rows - 1))


def _read(group: Group, columns: list[pa.ChunkedArray]) -> Any:
    if group.form.dtypes is not None:
        arrays = [c.to_numpy().astype(d, copy=False) for c, d in zip(columns, group.form.dtypes, strict=True)]
        for j in group.labels():  # labels are numbered by their place among the slices
            arrays[j] = np.arange(len(arrays[j]))
        return tuple(arrays)
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
        labels = {
            name: f"{LABEL}_{g}_{j}" for g, gr in enumerate(arrangement.groups) for j, (name, _) in gr.labels().items()
        }
        in_order = [_labelled(found[name], labels) for name in query.windows]
        if query.changes_only:
            in_order = [some(f, np.flatnonzero(changed(f.key, _told(f.answers, frame), {}))) for f in in_order]
        assert query.time is not None

        def key_columns(code: np.ndarray) -> dict[str, frames.Output]:
            return {name: frames.Taken(name, keys[code]) for name in query.by}

        return frames.build(frame, table(query, in_order, key_columns, empty.time(query.time), _typed_later))


def _typed_later(answer: Answer) -> frames.Output:
    """The input column that an answer is like is not here; the result's schema knows its type."""
    return output(replace(answer, like=None))


def _labelled(found: Found, labels: Mapping[str, str]) -> Found:
    """Answers that are row numbers are of the columns in which their labels came."""
    answers = {n: replace(a, rows_of=labels[n]) if n in labels else a for n, a in found.answers.items()}
    return replace(found, answers=answers)


def _told(answers: Mapping[str, Answer], frame: frames.Frame) -> dict[str, Answer]:
    """Answers that can be compared: labels instead of their numbers."""

    def told(answer: Answer) -> Answer:
        if answer.rows_of is None:
            return answer
        values = object_array(frame.objects(answer.rows_of, answer.values))
        there = np.fromiter((value is not None for value in values), bool, len(values))
        return Answer(values, there if answer.there is None else there & answer.there)

    return {name: told(answer) for name, answer in answers.items()}


def _no_rows(frame: frames.Frame, name: str) -> Column:
    """A column without rows; row numbers and nothing at all are numbers."""
    if not name or name.startswith((ROW_OF, VALID_ROW_OF)):
        return Column(np.empty(0, np.int64), None, np.dtype(np.int64))
    return frame.column(name)
