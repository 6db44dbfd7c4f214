"""A query over rows as they come: they wait until the watermark has passed them, then they take one step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np

from windrow import frames
from windrow.engine.inputs import Column, object_array
from windrow.engine.kernel import compiling
from windrow.errors import StoreError, WindrowError
from windrow.frames import Frame, Output, Type, Values
from windrow.local.derived import read_for, with_inputs
from windrow.local.door import FOREVER, Door, as_columns
from windrow.local.intake import column_measures, measure_dtype
from windrow.local.labels import Labels
from windrow.local.live_asking import asked
from windrow.local.ordering import OrderedRows, Readable
from windrow.local.results import LastAnswers, changed, nothing, result_names, some, table
from windrow.local.schema import Schema
from windrow.local.snapshots import restore, saved
from windrow.local.turns import in_turn
from windrow.local.updates import updates
from windrow.query import Query, Report
from windrow.step.along import along_columns
from windrow.step.choosing import planned
from windrow.step.decoding import check_ranked, ranks_of
from windrow.step.groups import Answer, arrange
from windrow.step.held import Held
from windrow.step.pending import Pending, pending_of
from windrow.step.pending_slices import PendingSlices
from windrow.step.results import Ended, Results
from windrow.step.saving import label_columns
from windrow.step.state import State
from windrow.step.step import step
from windrow.windows.base import TIME, Measure, StepRows

_NO_KEYS = np.empty(0, np.int64)


class Live:
    """Rows in, results out as they become final. Made by `Query.open()`.

    `late` has the late rows of the last push, `rejected` the rows that some window could not place.
    `report` counts all of them. Threads may share a live query: their calls take turns.

    >>> import windrow
    >>> from windrow import agg, win
    >>> live = windrow.Query(windows=win.sliding(3, every=1), aggregates={"total": agg.sum("x")}).open()
    >>> live.push({"x": [1, 2]})["total"].tolist(), live.push({"x": [3, 4]})["total"].tolist()
    ([], [6, 9])
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.turn = RLock()
        self._counts = [0, 0, 0, 0]  # as in a `Report`
        self.closed = False
        self.template: Frame = frames.read({})  # the frame of the last push: results are of its kind
        self.schema: Schema | None = None  # their types, told by the query and the types of the first columns
        self.asked_types: tuple[Schema, dict[str, Type]] | None = None  # of answers to rows that ask
        self._out: tuple[Frame, np.ndarray, np.ndarray] | None = None  # its rows that were late, or rejected
        self._back: Held | None = None  # rows that the last step rejected, some of which may have waited for it
        self.door = Door(query)
        self.pending: Pending | PendingSlices = Pending()
        self.labels = Labels()
        self.state: State | None = None  # begun with the first rows, which tell the types
        self.last = {name: LastAnswers() for name in query.windows}  # for changes_only
        self.per_row = query.per_row
        self.peers = {w.measure for w in query.windows.values() if getattr(w, "peers", False)}
        self.names = query.answer_names()
        self.watched: Any = None  # a `local.watched.Watched`, as long as a page shows this
        self._done: np.ndarray | None = None  # the keys of a step that is over and has not been committed yet

    @property
    def report(self) -> Report:
        """Counts of all rows so far."""
        return Report(*self._counts)

    @report.setter
    def report(self, report: Report) -> None:
        self._counts = [report.rows_in, report.rows_out, report.late, report.rejected]

    @property
    def late(self) -> Any:
        """The rows of the last push that came too late."""
        return None if self._out is None else self._out[0].take(self._out[1])

    @property
    def rejected(self) -> Any:
        """The rows of the last call without a time, or without a place along a column: other windows take those.

        Whether a row goes back along a column shows when the watermark has passed it: then it is here.
        """
        if self._out is None or self._back is None:
            return None if self._out is None else self._out[0].take(self._out[2])
        frame, _, at = self._out
        rows = self.door.given_back(frame, at).followed_by(self._back)
        return frames.build(frame, {name: self.column(rows, name) for name in self._own(rows)})

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.closed:
            self.close()

    def __repr__(self) -> str:
        windows, report = "; ".join(map(repr, self.query.windows.values())), self.report
        return (
            f"<Live {windows}: {report.rows_in:,} rows in, {report.rows_out:,} out{', closed' if self.closed else ''}>"
        )

    def serve(self, port: int = 0, *, host: str = "127.0.0.1") -> Any:
        """A page that shows this query while it runs: rows and results per second, watermark, state, newest windows.

        Args:
            port: 0 takes a free one; the `address` of what comes back tells which.
            host: only this machine by default. The page has no password: who reaches the port sees it.
        """
        from windrow.local.watched import LivePage  # few need it

        return LivePage(self, host, port)

    @in_turn
    def push(self, rows: Any) -> Any:
        """Takes in rows and returns the results that became final, in the type of the rows.

        A dict of single values is one row.
        """
        self._check_open()
        self._tidy()
        return self._all_or_nothing(self._push, read_for(self.query, as_columns(rows)))

    def _push(self, frame: Frame) -> Any:
        self._learn(frame)
        admitted, late, rejected = self.door.admit(frame)
        self.template, self._out = frame, (frame, late, rejected)
        self._counts[0] += frame.rows
        self._counts[2] += len(late)
        self._counts[3] += len(rejected)
        return self._results(admitted)

    @in_turn
    def at(self, rows: Any) -> Any:
        """Answers rows that ask, over all rows that have come, those that wait included. Nothing changes.

        They have the columns `by` and a time (or what windows are measured on). They come back with all their columns,
        then the aggregates. A dict of single values is one row. Windows only move on: a key can be asked from its
        newest row on that the watermark has passed, or from the watermark on.

        >>> import windrow
        >>> from windrow import agg, win
        >>> live = windrow.Query(time="t", by="k", windows=win.trailing("5 us"), aggregates={"n": agg.count()}).open()
        >>> _ = live.push({"t": [1, 4], "k": ["a", "a"]})
        >>> live.at({"t": [6, 8, 6], "k": ["a", "a", "b"]})["n"].tolist()
        [1, 1, 0]
        """
        self._check_open()
        self._commit()
        return compiling(self.query.compile, asked, self, frames.read(as_columns(rows)))

    @in_turn
    def advance(self, when: Any) -> Any:
        """Raises the watermark to `when`: earlier rows are late from now on. Returns the results that became final."""
        if self.query.time is None:
            raise WindrowError("advance is about event time, and this query has none; name the column with time=")
        self._check_open()
        return self._all_or_nothing(self._advance, self.door.ticks_of(when))

    def _advance(self, when: int) -> Any:
        self.set_watermark(when)
        self._out = self._out and (*self._out[:2], _NO_KEYS)
        return self._results(None)

    @in_turn
    def close(self) -> Any:
        """Ends the query and returns the remaining results.

        State in a store stays there if a snapshot refers to it; `forget` deletes it.
        """
        if self.closed:
            raise WindrowError("this query was closed already")
        results = self._all_or_nothing(self._close)
        if self.state is not None:
            with contextlib.suppress(StoreError):  # the results are worth more than the room
                self.state.close()
        return results

    def _close(self) -> Any:
        self.closed = True
        self._out = self._out and (*self._out[:2], _NO_KEYS)
        return self._results(None)

    @in_turn
    def forget(self) -> None:
        """Deletes the query's state from its store. Its snapshots are useless then, and it takes no more rows."""
        self.closed = True
        if self.state is not None:
            self.state.delete()

    @in_turn
    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """All of the state; `Query.resume` goes on from there, in another process, too.

        With a key, a secret of 16 bytes or more, the snapshot is signed: who does not have the key cannot change it.

        Of windows in a store it holds a reference to what is durable there when this returns. One can go on from the
        last snapshot, and, should that have been lost on its way, from the one before.
        """
        self._commit()
        return saved(self, key)

    @classmethod
    def resumed(cls, query: Query, data: bytes, key: bytes | None = None) -> Live:
        """A live query that goes on from a snapshot; `SnapshotError` where it is another query's or damaged."""
        live = cls(query)
        restore(live, data, key)
        return live

    def begin(self, frame: Frame) -> None:
        """Takes the types of the columns from an empty frame, before there are rows."""
        self.template = with_inputs(self.query, frame)
        self._learn(frame)
        self._begin(self.door.nothing())

    def _learn(self, frame: Frame) -> None:
        """Takes the types of columns that are not known yet."""
        if self.door.learn(frame):
            self.type_results()
            if self.state is not None:
                check_ranked(self.query.aggregates.values(), self.door.types, self.state.plan.arrangement.ranked)

    def type_results(self) -> None:
        """Tells the types of the results from those of the columns."""
        self.schema = Schema.of(self.query, self.door.types, self.door.times)

    @property
    def begun(self) -> State:
        """The state; there is one from `begin` on, or from the first rows on."""
        assert self.state is not None
        return self.state

    def start_at(self, row: int) -> None:
        """Keys begin with this row number, because somebody else had the rows before; after `begin`, before rows."""
        self.begun.start_at(row)

    def set_watermark(self, watermark: int) -> None:
        """Event time has come to `watermark` (in the time column's unit); results follow with the next push."""
        self.door.watermark = max(self.door.watermark, watermark)

    def _tidy(self) -> None:
        """Forgets labels that nothing refers to, where there are twice as many as were needed last."""
        state = self.state
        if self.labels.values and state is not None and not state.stored:  # what a store refers to is not known here
            self.labels.tidy_columns(lambda: label_columns(state))

    def _check_open(self) -> None:
        if self.closed:
            raise WindrowError("this query was closed; open() a new one")

    def _all_or_nothing(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """What the action does happens as a whole, or not at all."""
        self._commit()  # of an action before, where an interrupt came between
        door, pending, labels = self.door, self.pending, self.labels
        mine = self._counts.copy(), self._out, self._back, self.closed, self.template, self.state, self.schema
        at_door = door.newest, door.watermark, door.times, len(door.kinds), door.types
        waiting = pending.before()
        lengths = labels.lengths()
        try:
            result = compiling(self.query.compile, action, *arguments)
            self._done = _NO_KEYS if self.state is None else self.state.touched
        except BaseException:
            self._done = None
            if self.state is not None:
                self.state.rollback()
            door.keys.rollback()
            self._counts, self._out, self._back, self.closed, self.template, self.state, self.schema = mine
            door.newest, door.watermark, door.times, kinds, types = at_door
            door.settle(types)
            while len(door.kinds) > kinds:
                door.kinds.popitem()
            self.pending = pending
            pending.rollback(waiting)
            labels.cut(lengths)
            for last in self.last.values():
                last.rollback()
            raise
        touched, new, some_rest = self._commit()
        if self.state is not None and not self.closed and (some_rest or len(new)):
            self._forget(self.state, touched, new)
        if self.watched is not None:
            self.watched.done()
        return result

    def _commit(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """The step stays, and its keys are due anew. Can be done twice.

        Which keys it touched, which of them are new, and whether some are due at no time.
        """
        touched, some_rest = self._done, False
        if touched is None:
            return _NO_KEYS, _NO_KEYS, False
        if self.query.changes_only:
            for last in self.last.values():
                last.commit()
        new = self.door.keys.commit()
        self.pending.commit()
        if self.state is not None:
            self.state.commit()
            if not self.closed:
                some_rest = self.state.schedule(touched) and not self.query.changes_only
        self._done = None
        return touched, new, some_rest

    def _forget(self, state: State, touched: np.ndarray, unused: np.ndarray) -> None:
        """Forgets keys about which nothing is left to know: of the new ones those whose rows were all late."""
        keys = self.door.keys
        idle = touched[:0] if self.query.changes_only else state.idle(touched)
        if len(unused):
            unused = np.setdiff1d(unused, touched, assume_unique=True)
        if (len(idle) or len(unused)) and self.pending.runs:
            waits = self.pending.waiting.any
            idle, unused = idle[~waits(idle)], unused[~waits(unused)]
        if len(idle):
            state.forget(idle)
        if len(idle) or len(unused):
            keys.forget(np.concatenate([idle, unused]))

    def _begin(self, rows: Held) -> State:
        query = self.query
        arrangement = arrange(query.aggregates, rows.columns, nullable=True, types=self.door.types)
        windows = {name: window.scaled(self.door.ticks) for name, window in query.windows.items()}
        dtypes: dict[Measure, np.dtype] = {
            m: measure_dtype(query, m, rows.column(m.column or "")) for m in column_measures(query)
        }
        plan = planned(query, windows, arrangement, dtypes, rows.columns, query.store, self.door.stamps)
        self.state, self.pending = State(plan), pending_of(query, plan)
        return self.state

    def ready(self, admitted: Held | None, pending: Pending) -> Held | None:
        """The rows that the watermark has passed, in the order in which they came; the others wait."""
        if self.closed or self.query.time is None:  # rows that wait for peers along a column have waited long enough
            return pending.passed(admitted, FOREVER, True)
        return pending.passed(admitted, self.door.watermark, TIME not in self.peers)

    def _results(self, admitted: Held | None) -> Any:
        """Takes what is ready through a step, and gives what that makes final."""
        if self.state is None:
            if admitted is None:  # nothing has come yet
                return self._built(nothing(self._names()))
            self._begin(admitted)
        state = self.begun
        state.grow(len(self.door.keys))
        if self.query.updates:
            made = updates(self, admitted)
        elif isinstance(self.pending, PendingSlices):
            made = self._once(self.step_slices(admitted, self.pending, state).ended)
        else:
            rows, ordered, results = self.step_rows(self.ready(admitted, self.pending), state)
            made = self.by_row(rows, ordered, results) if self.per_row else self._once(results.ended)
        self._counts[1] += len(next(iter(made.values())))
        if self.watched is not None:
            self.watched.made = made
        return self._built(made)

    def _built(self, columns: dict[str, Output]) -> Any:
        return frames.build(self.template, columns, None if self.schema is None else self.schema.types)

    def _names(self) -> list[str]:
        """The result's columns."""
        return result_names(self.query) if self.schema is None else self.schema.names

    def fold(self, admitted: Held | None, pending: PendingSlices, state: State) -> None:
        """Rows fold into slices that wait."""
        if admitted is not None:
            pending.add(replace(admitted, columns={**admitted.columns, **self._ranks(admitted, state)}))

    def step_slices(self, admitted: Held | None, pending: PendingSlices, state: State) -> Results:
        """Rows fold into slices that wait; those that the watermark has passed take the step."""
        self.fold(admitted, pending, state)
        slices = pending.release(self._until()) or pending.nothing()
        rows = StepRows(slices.codes, {TIME: slices.begin}, {})
        keys = self.door.keys.all() if self.closed else None
        return step(state, rows, {}, self._until(), self.closed, keys, slices=slices.partials)

    def step_rows(self, ready: Held | None, state: State) -> tuple[Held, OrderedRows, Results]:
        """Rows that are ready take the step, except for those that wait for peers along a column."""
        rows, absent = self._in_measure(self.door.nothing() if ready is None else ready, state)
        keys = self.door.keys.all() if self.closed else None
        ordered, step_rows, columns, absent = self.in_order(rows, absent, state)
        return rows, ordered, step(state, step_rows, columns, self._until(), self.closed, keys, absent=absent)

    def in_order(
        self, ready: Held, absent: Mapping[Measure, np.ndarray], state: State
    ) -> tuple[OrderedRows, StepRows, dict[str, Column], Mapping[Measure, np.ndarray]]:
        """Rows as the step takes them, with what the aggregates read."""
        door = self.door
        labels = {name: self.labels.numbers(name, ready.column(name)) for name in state.plan.arrangement.row_numbers()}
        ordered = OrderedRows(ready, door.times is not None, labels, self._ranks(ready, state))
        measures: dict[Measure, np.ndarray] = {} if door.times is None else {TIME: ordered.pick(ready.times)}
        for measure, dtype in state.plan.dtypes.items():
            measures[measure] = ordered.column(measure.column or "").values.astype(dtype, copy=False)
        rows = StepRows(ordered.key, measures, Readable(ordered, self.query.time, door.ticks))
        columns = {name: ordered.column(name) for name in state.plan.arrangement.columns()}
        return ordered, rows, columns, {measure: ordered.pick(mask) for measure, mask in absent.items()}

    def _ranks(self, rows: Held, state: State) -> dict[str, Column]:
        """The ranks of columns whose type puts their categories in order, as aggregates name them."""
        return ranks_of(state.plan.arrangement.ranked, rows, self.door.types)

    def _until(self) -> int:
        """How far event time has come for the windows: rows that wait for peers are still to be taken in."""
        if self.closed:
            return FOREVER
        oldest = self.pending.oldest if self.peers and isinstance(self.pending, Pending) else None
        return self.door.watermark if oldest is None else min(self.door.watermark, oldest)

    def _in_measure(self, rows: Held, state: State) -> tuple[Held, Mapping[Measure, np.ndarray]]:
        """Rows for the step, and which have no place along a column. Those that may yet get peers wait."""
        if not state.plan.dtypes:
            return rows, {}
        found = along_columns(rows, state, () if self.closed else self.peers, self.query.strict)
        self._back = found.back
        if found.back is not None:
            self._counts[3] += found.back.rows
        if found.waiting is not None:
            assert isinstance(self.pending, Pending)
            self.pending.put_back(rows, found.waiting)
        return found.rows, found.absent

    def _once(self, ended: list[Ended]) -> dict[str, Output]:
        """The windows that have ended, as columns."""
        if self.query.changes_only:
            news = [changed(self.query, f.key, self._told(f.answers), self.last[f.window]) for f in ended]
            ended = [some(f, np.flatnonzero(new)) for f, new in zip(ended, news, strict=True)]
        return self.tabled(ended)

    def tabled(self, windows: list[Ended]) -> dict[str, Output]:
        """Windows below one another, as columns."""
        assert self.schema is not None
        return table(self.query, windows, self._keys, self.schema.times, self.output)

    def by_row(self, rows: Held, ordered: OrderedRows, results: Results) -> dict[str, Output]:
        """The rows that were taken in, in the order in which they came, with their answers."""
        differs = np.zeros(rows.rows if self.query.changes_only else 0, bool)
        columns: dict[str, Output] = {name: self.column(rows, name) for name in self._own(rows)}
        back = ordered.back()
        for window, answers in results.by_row.items():
            taken = results.rows_of.get(window, slice(None))
            if self.query.changes_only:
                new = np.zeros(rows.rows, bool)
                new[taken] = changed(self.query, ordered.key[taken], self._told(answers), self.last[window])
                differs |= new[back]
            for name, answer in answers.items():
                if isinstance(taken, np.ndarray):
                    answer = answer.spread(taken, rows.rows)
                column = self.names[window, name]
                if column in rows.names:
                    raise WindrowError(f"the data has a column '{column}' already; give the aggregate another name")
                columns[column] = self.output(answer if ordered.at is None else answer.at(back))
        if not self.query.changes_only:
            return columns
        at = np.flatnonzero(differs)
        return {name: _at(column, at) for name, column in columns.items()}

    def _own(self, rows: Held) -> list[str]:
        """The columns of rows that are the data's own."""
        return [name for name in rows.names if name not in self.query.inputs]

    def column(self, rows: Held, name: str) -> Output:
        column = rows.column(name)
        return Values(column.restored(column.values), column.mask)

    def output(self, answer: Answer) -> Output:
        """Answers that are numbers of labels become the labels."""
        answer = self.told(answer)
        return Values(answer.values, answer.there)

    def told(self, answer: Answer) -> Answer:
        """Answers that can be compared: labels instead of their numbers."""
        if answer.rows_of is None:
            return answer
        return Answer(*self.labels.taken(answer.rows_of, answer.values, answer.there))

    def _told(self, answers: dict[str, Answer]) -> dict[str, Answer]:
        return {name: self.told(answer) for name, answer in answers.items()}

    def _keys(self, code: np.ndarray) -> dict[str, Output]:
        """The key of each result; each different one is made into a value of the library's own once."""
        if not self.query.by:
            return {}
        used, at = (code, code) if len(code) <= 1 else np.unique(code, return_inverse=True)
        columns: dict[str, Output] = {}
        for name, values in zip(self.query.by, self.door.keys.columns(used), strict=True):
            array = values if isinstance(values, np.ndarray) else object_array(values)
            different = Values(array)
            if len(code) > 1:
                columns[name] = frames.repeated(self.template, name, different, at, self.door.types[name])
            else:
                columns[name] = different
        return columns


def _at(column: Output, at: np.ndarray) -> Output:
    assert isinstance(column, Values)
    return Values(column.array[at], None if column.mask is None else column.mask[at])
