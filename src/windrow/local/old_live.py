"""A query over rows as they come: held until the watermark has passed them, or taken into their slices at once."""

from __future__ import annotations

import contextlib
import secrets
from typing import Any

import numpy as np

from windrow import frames
from windrow.engine.inputs import object_array
from windrow.errors import StoreError, WindrowError
from windrow.frames import Frame, Output, Values
from windrow.local.arrivals import FOREVER, Arrivals
from windrow.local.intake import Ordered
from windrow.local.machine import Machine
from windrow.local.results import changed, edge_names, some, table
from windrow.local.saving import restore, saved
from windrow.local.undo import all_or_nothing
from windrow.query import Query, Report
from windrow.sharing.groups import Answer
from windrow.step.held import Held
from windrow.step.results import Ended
from windrow.windows.base import TIME
from windrow.windows.durations import instant


class OldLive:
    """Rows in, results out as they become final. Made by `Query.open()`.

    `late` and `rejected` are the rows of the last push that were not taken in, `report` counts all of them.

    >>> import windrow
    >>> from windrow import agg, win
    >>> live = windrow.Query(windows=win.sliding(3, every=1), aggregates={"total": agg.sum("x")}).open()
    >>> live.push({"x": [1, 2]})["total"].tolist(), live.push({"x": [3, 4]})["total"].tolist()
    ([], [6, 9])
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.report = Report()
        self.late: Any = None
        self.rejected: Any = None
        self.closed = False
        self.template: Frame = frames.read({})  # results are of its kind and types
        self.arrivals = Arrivals(query)
        self.machine = Machine(query)
        self.machine.called = f"query {secrets.token_hex(8)}"
        self.referred = False  # a snapshot refers to what is in the store
        self.last: dict[str, dict[int, tuple]] = {name: {} for name in query.windows}  # for changes_only

    def begin(self, frame: Frame) -> None:
        """Takes the types of the columns from an empty frame, before there are rows, for what is known beforehand."""
        self.template = frame
        self.arrivals.begin(frame)
        self.machine.begin(self.arrivals.nothing(), self.arrivals.ticks)

    def set_watermark(self, watermark: int) -> None:
        """Event time has come to `watermark` (in the time column's unit); results follow with the next push."""
        self.arrivals.watermark = max(self.arrivals.watermark, watermark)

    def push(self, rows: Any) -> Any:
        """Takes in rows; the results that became final come back, in the kind of the rows."""
        if self.closed:
            raise WindrowError("this query was closed; open() a new one")
        self.machine.tidy()
        with all_or_nothing(self):
            frame = frames.read(rows)
            arrived = self.arrivals.take(frame)
            self.template = frame.pick(np.empty(0, np.int64))
            self.late, self.rejected = frame.take(arrived.late), frame.take(arrived.rejected)
            self.report = self.report.plus(rows_in=frame.rows, late=len(arrived.late), rejected=len(arrived.rejected))
            return self._results()

    def advance(self, when: Any) -> Any:
        """Event time has come to `when`: no row before it will count. The results that this makes final."""
        if self.query.time is None:
            raise WindrowError("advance is about event time, and this query has none; name the column with time=")
        if self.closed:
            raise WindrowError("this query was closed; open() a new one")
        with all_or_nothing(self):
            self.arrivals.watermark = max(self.arrivals.watermark, instant(when) * self.arrivals.ticks)
            return self._results()

    def close(self) -> Any:
        """The end of the rows: the rest of the results.

        What the query has in its store stays there where a snapshot refers to it; `forget` deletes it.
        """
        if self.closed:
            raise WindrowError("this query was closed already")
        with all_or_nothing(self):
            self.closed = True
            results = self._results()
        with contextlib.suppress(StoreError):  # the results are worth more than the room
            for shelf in self.machine.shelves:
                shelf.close(forget=not self.referred)
        return results

    def forget(self) -> None:
        """Deletes all that the query has in its store. Its snapshots are of no use then, and it takes no more rows."""
        self.closed = True
        for shelf in self.machine.shelves:
            shelf.forget()

    def snapshot(self) -> bytes:
        """All of the state; `Query.resume` goes on from there, in another process, too.

        Of windows in a store it holds a reference to what is durable there when this returns. One can go on from the
        last snapshot, and, should that have been lost on its way, from the one before.
        """
        data = saved(self)
        self.referred = True
        return data

    @classmethod
    def resumed(cls, query: Query, data: bytes) -> OldLive:
        """A live query that goes on from a snapshot; `SnapshotError` where it is another query's or damaged."""
        live = cls(query)
        live.referred = True
        restore(live, data)
        return live

    def _results(self) -> Any:
        """Takes in the rows that are ready, and gives what that makes final."""
        arrivals, machine = self.arrivals, self.machine
        at_once = self.closed or self.query.time is None or machine.takes_late_rows
        ready = arrivals.release(at_once, TIME not in machine.peers)
        first = ready if ready is not None else arrivals.held
        if first is not None and not machine.begun:
            machine.begin(first, arrivals.ticks)
        if not machine.begun:  # nothing has come yet
            return frames.build(self.template, self._nothing())
        if ready is None:
            ready = arrivals.nothing()
        ready = self._in_measure(ready)
        intake = machine.intake(ready, len(arrivals.codes), arrivals.times)
        ordered = Ordered(intake, TIME if arrivals.times is not None else None)
        by_row, found = machine.step(ordered, self._until(), self.closed)
        columns = self._by_row(ready, ordered, by_row) if self.query.per_row else self._once(found)
        self.report = self.report.plus(rows_out=len(next(iter(columns.values()))))
        return frames.build(self.template, columns)

    def _until(self) -> int:
        """How far event time has come for the windows: rows that wait for peers are still to be taken in."""
        if self.closed:
            return FOREVER
        held, watermark = self.arrivals.held, self.arrivals.watermark
        return min(watermark, int(held.times.min())) if held is not None and self.machine.peers else watermark

    def _in_measure(self, rows: Held) -> Held:
        """Without rows that go back along a column behind their key's newest, and those that may yet get peers."""
        if not self.machine.dtypes:
            return rows
        rows, back, wait = self.machine.forward(rows, len(self.arrivals.codes), self.closed)
        self.report = self.report.plus(rejected=back)
        if wait is not None:
            self.arrivals.held = wait if self.arrivals.held is None else wait.followed_by(self.arrivals.held)
        return rows

    def _once(self, found: list[Any]) -> dict[str, Output]:
        """The windows that have ended, as columns."""
        by_name = {f.window: Ended(*vars(f).values()) for f in found}
        in_order = [by_name[name] for name in self.query.windows]
        if self.query.changes_only:
            news = [changed(f.key, self._told(f.answers), self.last[f.window]) for f in in_order]
            in_order = [some(f, np.flatnonzero(new)) for f, new in zip(in_order, news, strict=True)]
        return table(self.query, in_order, self._keys, self.arrivals.times, self._output)

    def _by_row(self, rows: Held, ordered: Ordered, by_row: dict[str, dict[str, Answer]]) -> dict[str, Output]:
        """The rows that were taken in, in the order in which they came, with their answers."""
        differs = np.zeros(rows.rows, bool)
        columns: dict[str, Output] = {name: self._column(rows, name) for name in rows.names}
        back = np.argsort(ordered.positions())
        for window, answers in by_row.items():
            if self.query.changes_only:
                differs[ordered.positions()] |= changed(ordered.key, self._told(answers), self.last[window])
            for name, answer in answers.items():
                column = f"{name}_{window}" if self.query.named else name
                if column in rows.names:
                    raise WindrowError(f"the data has a column '{column}' already; give the aggregate another name")
                columns[column] = self._output(answer.at(back))
        if not self.query.changes_only:
            return columns
        at = np.flatnonzero(differs)
        return {name: _at(column, at) for name, column in columns.items()}

    def _column(self, rows: Held, name: str) -> Output:
        column = rows.column(name)
        known = name in self.template.names
        return Values(column.restored(column.values), column.mask, name if known else None)

    def _output(self, answer: Answer) -> Output:
        """Answers that are numbers of labels become the labels."""
        if answer.rows_of is None:
            return Values(answer.values, answer.there, answer.like if answer.like in self.template.names else None)
        known = answer.rows_of in self.template.names
        values, there = self.machine.labels.taken(answer.rows_of, answer.values, answer.there)
        return Values(values, there, answer.rows_of if known else None)

    def _told(self, answers: dict[str, Answer]) -> dict[str, Answer]:
        """Answers that can be compared: labels instead of their numbers."""
        labels = self.machine.labels
        return {
            name: a if a.rows_of is None else Answer(*labels.taken(a.rows_of, a.values, a.there))
            for name, a in answers.items()
        }

    def _keys(self, code: np.ndarray) -> dict[str, Output]:
        """The key of each result; each different one is made into a value of the library's own once."""
        used, at = np.unique(code, return_inverse=True)
        keys = list(self.arrivals.codes)
        columns: dict[str, Output] = {}
        for i, name in enumerate(self.query.by):
            values = object_array([keys[c][i] for c in used.tolist()])
            different = Values(values, None, name if name in self.template.names else None)
            columns[name] = frames.repeated(self.template, name, different, at)
        return columns

    def _nothing(self) -> dict[str, Output]:
        """No results, as long as no row has told what they are made of."""
        none = Values(np.empty(0, object))
        if self.query.per_row:
            names = [f"{n}_{w}" if self.query.named else n for w in self.query.windows for n in self.query.aggregates]
            return dict.fromkeys([*self.template.names, *names], none)
        named = ["window"] if self.query.named else []
        edges = [name for pair in edge_names(self.query).values() for name in pair]
        return dict.fromkeys([*self.query.by, *named, *edges, *self.query.aggregates], none)


def _at(column: Output, at: np.ndarray) -> Output:
    assert isinstance(column, Values)
    return Values(column.array[at], None if column.mask is None else column.mask[at], column.like)
