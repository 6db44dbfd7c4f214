"""Windows by time from partials of slices: each task folds its own rows, and only the slices' partials are exchanged.

A slice lies between two edges of windows, so that each window is a run of whole slices, whatever order the rows are in.
Both sides run the step that a live query runs: the first takes rows in and keeps slices, the second takes these slices
as if it had kept them itself, and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow import frames
from windrow.engine.cutting import Edges
from windrow.engine.grouping import factorize, order
from windrow.engine.inputs import object_array
from windrow.engine.snapshot import from_bytes, to_bytes
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.errors import WindrowError
from windrow.frames.of_arrow import type_of
from windrow.local.derived import read_for
from windrow.local.intake import Ordered, event_times, take_in
from windrow.local.results import changed, some, table
from windrow.local.schema import edge_times
from windrow.query import Query
from windrow.spark.chunks import by_key, conformed, gathered
from windrow.step.choosing import planned
from windrow.step.groups import Answer, Arrangement, Group, arrange
from windrow.step.plan import Plan
from windrow.step.results import Ended
from windrow.step.slices import TOO_FAR, folded
from windrow.step.state import State
from windrow.step.step import step
from windrow.windows.base import TIME, StepRows

FIRST, LAST, PARTIAL, LABEL = "__windrow_first", "__windrow_last", "__windrow_partial", "__windrow_label"


def sliceable(query: Query) -> bool:
    """Whether windows are runs of slices whose edges are known before any row is."""
    return all(window.late_slices for window in query.windows.values())


def in_any_order(query: Query) -> bool:
    """Whether rows may be folded as they come; otherwise, each slice's in order."""
    return all(aggregate.commutative for aggregate in query.aggregates.values())


def outlines(query: Query, schema: pa.Schema) -> Arrangement:
    """The aggregates over columns of these types."""
    frame = read_for(query, schema.empty_table())
    return _arranged(query, frame)


def _arranged(query: Query, frame: frames.Frame) -> Arrangement:
    needed = {name: frame.column(name) for a in query.aggregates.values() for name in a.columns}
    return arrange(query.aggregates, needed, nullable=True, types={name: frame.type(name) for name in needed})


def partial_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """What is exchanged: keys, the times of each slice's first and last row, its partials."""
    fields = [schema.field(name) for name in query.by]
    fields += [pa.field(FIRST, pa.int64()), pa.field(LAST, pa.int64())]
    frame = read_for(query, schema.empty_table())
    for g, group in enumerate(_arranged(query, frame).groups):
        kinds = [pa.binary()] if group.form.dtypes is None else [pa.from_numpy_dtype(d) for d in group.form.dtypes]
        fields += [pa.field(f"{PARTIAL}_{g}_{j}", kind) for j, kind in enumerate(kinds)]
        fields += [pa.field(f"{LABEL}_{g}_{j}", frame.labels(of).native.type) for j, (_, of) in group.labels().items()]
    return pa.schema(fields)


def _plan(query: Query, arrangement: Arrangement) -> Plan:
    return planned(query, query.windows, arrangement, {}, {})


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
        frame = read_for(query, rows)
        intake = take_in(query, frame)
        arrangement = _arranged(query, frame)
        ordered = Ordered(intake, TIME)
        folded_rows = StepRows(ordered.key, {TIME: ordered.pick(intake.measures[TIME])}, ordered.readable())
        read = {name: ordered.column(name) for name in arrangement.columns()}
        slices = folded(_plan(query, arrangement), folded_rows, read)
        at = intake.keys[slices.key]
        columns: list[Any] = [rows[name].take(pa.array(at)) for name in query.by]
        columns += [pa.array(slices.first), pa.array(slices.last)]
        for group, slots in zip(arrangement.groups, slices.partials, strict=True):
            columns += _written(group, slots)
            labels = {j: frame.labels(of).native for j, (_, of) in group.labels().items()}
            columns += [values.take(_row_numbers(slots[j], rows)) for j, values in labels.items()]
        return conformed(pa.table(columns, names=self.schema.names), self.schema)


def _written(group: Group, slots: Any) -> list[pa.Array]:
    if not isinstance(slots, list):
        return [pa.array(column) for column in slots]
    return [pa.array([None if p is None else to_bytes(group.of.dump(p)) for p in slots], pa.binary())]


def _row_numbers(numbers: np.ndarray, rows: pa.Table) -> pa.Array:
    """Row numbers to take labels by; a partial of no rows has one that means nothing."""
    return pa.array(np.clip(numbers, 0, rows.num_rows - 1))


def _read(group: Group, columns: list[pa.ChunkedArray]) -> Any:
    if group.form.dtypes is not None:
        arrays = [c.to_numpy().astype(d, copy=False) for c, d in zip(columns, group.form.dtypes, strict=True)]
        for j in group.labels():  # labels are numbered by their place among the slices
            arrays[j] = np.arange(len(arrays[j]))
        return tuple(arrays)
    return [None if p is None else group.of.load(from_bytes(p)) for p in columns[0].to_pylist()]


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
        self._check_times(slices[FIRST])
        codes, keys = np.zeros(frame.rows, np.int64), np.zeros(1, np.int64)
        if query.by:
            codes, keys = factorize(frame.keys(query.by))
        arrangement = outlines(query, self.rows)
        first, last = (slices[name].to_numpy() for name in (FIRST, LAST))
        partials = []
        for g, group in enumerate(arrangement.groups):
            mine = [slices[name] for name in slices.column_names if name.startswith(f"{PARTIAL}_{g}_")]
            partials.append(_read(group, mine))
        state = State(_plan(query, arrangement))
        state.grow(len(keys))
        at = order(codes, len(keys), first)  # slices of several tasks may lie side by side
        if at is not None:
            codes, first, last = codes[at], first[at], last[at]
            partials = [
                [p[i] for i in at.tolist()] if isinstance(p, list) else tuple(c[at] for c in p) for p in partials
            ]
        rows = StepRows(codes, {TIME: first}, {}, {TIME: last})
        results = step(state, rows, {}, FOREVER, True, np.arange(len(keys)), keep=False, slices=partials)
        found = {f.window: f for f in results.ended}
        empty = frames.read(self.rows.empty_table())
        labels = {
            name: f"{LABEL}_{g}_{j}" for g, gr in enumerate(arrangement.groups) for j, (name, _) in gr.labels().items()
        }
        in_order = [_labelled(found[name], labels) for name in query.windows]
        if query.changes_only:
            in_order = [some(f, np.flatnonzero(changed(query, f.key, _told(f.answers, frame), {}))) for f in in_order]
        assert query.time is not None

        def key_columns(code: np.ndarray) -> dict[str, frames.Output]:
            return {name: frames.Taken(name, keys[code]) for name in query.by}

        times = edge_times(query, event_times(query, empty))
        types = {field.name: type_of(field.type) for field in self.schema}
        return frames.build(frame, table(query, in_order, key_columns, times), types)

    def _check_times(self, first: pa.ChunkedArray) -> None:
        """Slices that Spark has folded may have no time, or one that is too far out: it leaves that to us."""
        if first.null_count:
            raise WindrowError(f"there are rows without a time in '{self.query.time}', and strict=True takes none")
        ends = pc.min_max(first).as_py()
        if Edges().far(ends["min"], ends["max"]):
            raise WindrowError(TOO_FAR)


def _labelled(found: Ended, labels: Mapping[str, str]) -> Ended:
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
