"""The discretizer (paper 3 §5.1): several windows multiplexed, each row marked with those that begin and end there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from windrow.engine.row_views import row_class
from windrow.errors import WindrowError
from windrow.sharing.machines import machine
from windrow.sharing.marks import Begin, Emit, End, Machine, Marks
from windrow.windows.base import ROWS, TIME, Measure, Window


class Marked(NamedTuple):
    """What the windows say of a row: WID_begin (inclusive), WID_end (exclusive); for those that are not deterministic,
    which are to be reported and how many of their oldest rows expire with this one."""

    begins: tuple[Begin, ...] = ()
    ends: tuple[End, ...] = ()
    emits: tuple[Emit, ...] = ()
    expired: Mapping[str, int] = {}


NOTHING = Marked()


class Discretizer:
    """Consults every window for every row. Ids are given in the order in which windows begin, from 1.

    Rows come in the order of every measure that a window uses. One that has none (a null time, a null or NaN in an `on`
    column) is in no window: `row` gives None for it.

    >>> from windrow import win
    >>> two = Discretizer({"a": win.sliding(4, every=2), "b": win.sliding(5, every=3)})  # Fig. 5
    >>> for i in range(5):
    ...     marked = two.row({})
    ...     print(i, [begin.id for begin in marked.begins], [end.id for end in marked.ends])
    0 [1, 2] []
    1 [] []
    2 [3] []
    3 [4] []
    4 [5] [1]
    """

    def __init__(self, windows: Mapping[str, Window], *, partial: bool = False, timed: bool = False) -> None:
        self.machines = [machine(name, window, partial) for name, window in windows.items()]
        self.measures: list[Measure] = list(dict.fromkeys(m.window.measure for m in self.machines))
        self.timed = timed or TIME in self.measures
        if timed and TIME not in self.measures:
            self.measures.append(TIME)
        self.reads = any(m.reads for m in self.machines)
        self.at = [(m, self.measures.index(m.window.measure)) for m in self.machines]
        self.next_id = 1
        self.rows = 0  # in windows or not, but not rejected
        self.newest: list[Any] = [None] * len(self.measures)  # where the newest row lies on each measure
        self.previous = self.newest  # and the one before
        self.due: list[Any] = []
        self._before: tuple
        self._plan()
        self._remember(None)

    def row(self, row: Any, time: Any = None) -> Marked | None:
        """The marks of the next row; None where it is rejected. `row` gives columns by name (a dict, a named tuple)."""
        places = self._places(row, time)
        self._remember(None)
        if places is None:
            return None
        look, marked = self.always, NOTHING
        for at, due in zip(places, self.due, strict=True):
            if at >= due:
                look = self.at
        if look:
            marks = Marks(self.next_id)
            self._ask(look, places, row, time if self.timed else self.rows, marks)
            self._remember(marks)
            self.next_id = marks.next_id
            marked = _marked(marks)
            if look is self.at:
                self._plan()
        self.rows += 1
        self.previous, self.newest = self.newest, places
        return marked

    def advance(self, when: Any) -> Marked:
        """Event time has come to `when`: windows that end by then end now."""
        marks = Marks(self.next_id)
        self._remember(marks)
        if self.timed:
            time = self.measures.index(TIME)
            if self.newest[time] is None or not when < self.newest[time]:
                for each, measure in self.at:
                    if measure == time:
                        each.advance(when, marks)
                self.previous, self.newest = self.newest, [*self.newest[:time], when, *self.newest[time + 1 :]]
        return _marked(marks)

    def close(self) -> Marked:
        """Nothing more will come."""
        marks = Marks(self.next_id)
        self._remember(marks)
        self.previous = self.newest
        for each in self.machines:
            each.close(self.rows, marks)
        return _marked(marks)

    def quiet(self) -> int:
        """How many of the next rows will not be marked, as far as that is known: where all windows count rows."""
        return max(0, self.due[0] - self.rows) if self.measures == [ROWS] and not self.always else 0

    def pass_by(self, rows: int) -> None:
        """These rows have come, and were not marked."""
        self.rows += rows
        if rows:
            self.previous = self.newest = [self.rows - 1]
        self._remember(None)

    def undo(self) -> None:
        """The last call of `row`, `advance` or `close` has never been."""
        marks, self.rows, self.next_id, self.newest, self.due = self._before
        if marks is not None:
            marks.undo.rollback()
        self._remember(None)

    def state(self) -> tuple:
        """All of it, as plain values."""
        return self.next_id, self.rows, self.newest, [each.state() for each in self.machines]

    def resume(self, state: tuple) -> None:
        """Goes on from the state of the same windows."""
        self.next_id, self.rows, self.newest, machines = state
        for each, own in zip(self.machines, machines, strict=True):
            each.resume(own)
        self._plan()

    # Within.

    def _places(self, row: Any, time: Any) -> list[Any] | None:
        """Where the row lies on each measure; None where on one it lies nowhere."""
        places: list[Any] = []
        for measure, newest in zip(self.measures, self.newest, strict=True):
            try:
                kind = measure.kind
                at = self.rows if kind == "rows" else time if kind == "time" else row[measure.column]
            except (KeyError, TypeError, IndexError):
                raise WindrowError(f"row {self.rows} has no column {measure.column!r}") from None
            if at is None or at - at != at - at:  # NaN, or infinity, whose difference is NaN
                return None
            if newest is not None and at < newest:
                raise WindrowError(
                    f"row {self.rows} comes at {at} on {measure}, after {newest}: rows come in order here; "
                    "windrow.sharing.disorder takes them as they come"
                )
            places.append(at)
        return places

    def _ask(self, look: list[tuple[Machine, int]], places: list[Any], row: Any, place: Any, marks: Marks) -> None:
        if self.reads and isinstance(row, Mapping):
            row = row_class(tuple(row))(*row.values())
        try:
            for each, measure in look:
                at = places[measure]
                if each.due is None or at >= each.due:
                    each.row(at, row, place, marks)
        except BaseException as error:
            marks.undo.rollback()
            if isinstance(error, WindrowError):
                raise WindrowError(f"row {self.rows}: {error}") from error
            error.add_note(f"at row {self.rows}")
            raise

    def _plan(self) -> None:
        """Which machines are asked for each row, and before which place on each measure the others need not be."""
        self.always = [(each, measure) for each, measure in self.at if each.due is None]
        self.due = [math.inf] * len(self.measures)
        for each, measure in self.at:
            if each.due is not None and each.due < self.due[measure]:
                self.due[measure] = each.due

    def _remember(self, marks: Marks | None) -> None:
        """What `undo` goes back to."""
        self._before = marks, self.rows, self.next_id, self.newest, self.due


def _marked(marks: Marks) -> Marked:
    return Marked(tuple(marks.begins), tuple(marks.ends), tuple(marks.emits), marks.expired)
