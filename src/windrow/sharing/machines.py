"""One window's own state: what each kind makes of a row (paper 3 §3.2). The discretizer multiplexes them."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

from windrow.engine.inputs import read_columns
from windrow.engine.user_windows import revived, state_of
from windrow.engine.walks import FLOAT_WINDOWS
from windrow.errors import Unsupported, WindrowError
from windrow.sharing.marks import Emit, End, Machine, Marks
from windrow.windows.base import ROWS, TIME, Window
from windrow.windows.kinds import Landmark, Last, Periodic, Punctuated, Session, UserDefined
from windrow.windows.predicates import Predicate


class PeriodicMachine(Machine):
    """[origin + k·every, ... + range); keeps the numbers k."""

    window: Periodic
    fields = ("next",)

    def __init__(self, name: str, window: Periodic, partial: bool) -> None:
        super().__init__(name, window, partial)
        self.next: int | None = 0 if window.measure == ROWS else None  # the first that has not begun
        self.due = -math.inf

    def start(self, k: int) -> Any:
        return self.window.origin + k * self.window.every

    def stop(self, k: int) -> Any:
        return self.start(k) + self.window.range

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        self.advance(at, marks)
        w = self.window
        newest = self.number(at, 0, self.start)
        first = self.number(at, w.range, self.stop) + 1  # those before are empty, however many
        if self.next is not None:
            first = max(first, self.next)
        for k in range(first, newest + 1):
            self.begin(marks, self.start(k), k)
        coming = newest + 1 if w.measure != ROWS else max(newest + 1, 0)
        self.set(marks, "next", coming)
        due = self.start(coming)
        self.set(marks, "due", min(due, self.stop(self.open[0][1])) if self.open else due)

    def number(self, at: Any, span: Any, edge: Callable[[int], Any]) -> int:
        """The largest k whose edge lies at or before `at`: where that is computed in floats, by these floats."""
        w = self.window
        if not isinstance(at, float) and not isinstance(w.every, float):
            return (at - w.origin - span) // w.every
        if not (abs(at) + abs(w.origin) + w.range) / w.every <= FLOAT_WINDOWS:
            raise WindrowError(f"{at:g} is too far from 0 for windows of {w.range:g} every {w.every:g}")
        k = math.floor((at - w.origin - span) / w.every)
        while edge(k) > at:
            k -= 1
        while edge(k + 1) <= at:
            k += 1
        return k

    def advance(self, until: Any, marks: Marks) -> None:
        while self.open and self.stop(self.open[0][1]) <= until:
            k = self.open[0][1]
            self.end(marks, self.start(k), self.stop(k))

    def close(self, rows: int, marks: Marks) -> None:
        while self.open:
            k = self.open[0][1]
            if self.window.measure == ROWS and self.stop(k) > rows and not self.partial:
                break
            self.end(marks, self.start(k), self.stop(k))


class SessionMachine(Machine):
    """From a row to `gap` after the last that followed in time."""

    window: Session
    fields = ("last",)

    def __init__(self, name: str, window: Session, partial: bool) -> None:
        super().__init__(name, window, partial)
        self.last: Any = None

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        self.advance(at, marks)
        if not self.open:
            self.begin(marks, at)
        self.set(marks, "last", at)

    def advance(self, until: Any, marks: Marks) -> None:
        if self.open and self.last + self.window.gap <= until:
            self.close(0, marks)

    def close(self, rows: int, marks: Marks) -> None:
        if self.open:
            self.end(marks, self.open[0][1], self.last + self.window.gap)


class PunctuatedMachine(Machine):
    """From one row where the predicate holds to the next."""

    window: Punctuated
    reads = True

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        if holds(self.window.predicate, row):
            if self.open:
                self.end(marks, self.open[0][1], at)
            self.begin(marks, at)

    def close(self, rows: int, marks: Marks) -> None:
        if self.open and self.partial:
            self.end(marks, self.open[0][1], None)


class LandmarkMachine(Machine):
    """From a landmark on, reported at the end of each step of `every` that has a row in it."""

    window: Landmark
    fields = ("step",)
    reads = True

    def __init__(self, name: str, window: Landmark, partial: bool) -> None:
        super().__init__(name, window, partial)
        self.step: Any = None  # the end of the step that the newest row is in, as long as it is not reported

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        self.advance(at, marks)
        if holds(self.window.begin, row):
            if self.open:  # its last step is cut short, or was reported
                self.end(marks, self.open[0][1], at, told=self.step is not None and self.partial)
            self.begin(marks, at)
        if self.open:
            start, every = self.open[0][1], self.window.every
            self.set(marks, "step", start + ((at - start) // every + 1) * every)

    def advance(self, until: Any, marks: Marks) -> None:
        if self.step is not None and self.step <= until:
            self.report(marks)

    def close(self, rows: int, marks: Marks) -> None:
        if self.step is not None and (self.window.measure == TIME or self.step <= rows or self.partial):
            self.report(marks)

    def report(self, marks: Marks) -> None:
        id, start = self.open[0]
        marks.ends.append(End(id, self.name, start, self.step, stays=True))
        self.set(marks, "step", None)


class UserDefinedMachine(Machine):
    """Whatever `discretize` says."""

    window: UserDefined
    reads = True

    def __init__(self, name: str, window: UserDefined, partial: bool) -> None:
        super().__init__(name, window, partial)
        given = window.discretize
        self.user = given() if isinstance(given, type) else revived(type(given), state_of(given))

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        marks.undo.later(setattr, self, "user", revived(type(self.user), state_of(self.user)))
        pair = self.user.discretize(row)
        said = f"{type(self.user).__name__}.discretize gave {pair!r}"
        try:
            begins, ends = map(operator.index, pair)
        except (TypeError, ValueError):
            begins = ends = -1
        if begins < 0 or ends < 0:
            raise WindrowError(f"{said}; it gives two ints of 0 or more, how many windows begin and how many end")
        if ends > len(self.open):
            raise WindrowError(f"{said}, but {len(self.open)} windows are open")
        for _ in range(ends):
            self.end(marks, self.open[0][1], place)
        for _ in range(begins):
            self.begin(marks, place)

    def close(self, rows: int, marks: Marks) -> None:
        while self.open and self.partial:
            self.end(marks, self.open[0][1], None)

    def state(self) -> tuple:
        return (*super().state(), list(state_of(self.user).items()))

    def resume(self, state: tuple) -> None:
        *rest, user = state
        super().resume(tuple(rest))
        self.user = revived(type(self.user), dict(user))


class LastMachine(Machine):
    """At each multiple of `every` that a row came before, the last n rows: not deterministic."""

    window: Last
    fields = ("times", "when")

    def __init__(self, name: str, window: Last, partial: bool) -> None:
        super().__init__(name, window, partial)
        self.times: deque[Any] = deque()  # of the last n rows
        self.when: Any = None  # the next report

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        self.advance(at, marks)
        w = self.window
        self.set(marks, "when", w.origin + ((at - w.origin) // w.every + 1) * w.every)
        self.times.append(at)
        marks.undo.later(self.times.pop)
        if len(self.times) > w.n:
            marks.undo.later(self.times.appendleft, self.times.popleft())
            marks.expired[self.name] = 1

    def advance(self, until: Any, marks: Marks) -> None:
        if self.when is not None and self.when <= until:
            self.close(0, marks)

    def close(self, rows: int, marks: Marks) -> None:
        if self.when is not None:
            marks.emits.append(Emit(self.name, self.times[0], self.when))
            self.set(marks, "when", None)

    def state(self) -> tuple:
        return tuple(self.open), (list(self.times), self.when), self.due

    def resume(self, state: tuple) -> None:
        super().resume(state)
        self.times = deque(self.times)


def holds(predicate: Predicate, row: Any) -> bool:
    """Whether a predicate holds for one row; null: it does not."""
    if predicate.function is not None:
        return bool(predicate.function(row))
    assert predicate.tree is not None and predicate.columns is not None
    if predicate.tree.kind == "column":
        value = row[predicate.columns[0]]
        if value is None or isinstance(value, bool):
            return bool(value)
    columns = read_columns(tuple([row[name]] for name in predicate.columns))
    return bool(predicate.mask(dict(zip(predicate.columns, columns, strict=True)), 1)[0])


MACHINES: dict[type[Window], type[Machine]] = {
    Periodic: PeriodicMachine,
    Session: SessionMachine,
    Punctuated: PunctuatedMachine,
    Landmark: LandmarkMachine,
    UserDefined: UserDefinedMachine,
    Last: LastMachine,
}


def machine(name: str, window: Window, partial: bool) -> Machine:
    """The machine of a window; `Unsupported` for those that report with each row."""
    made = MACHINES.get(type(window))
    if made is None:
        raise Unsupported(
            f"{name}: {window} reports with each row and has no slices; windrow.swag and windrow.Query can"
        )
    return made(name, window, partial)
