"""Marks: what windows say of a row, and what all machines that make them have in common (paper 3 §5.1).

A machine changes itself only by `set`, `begin` and `end`, which log how to undo it, so that a row that fails further
on has never been there. Its open windows are a queue, since windows of one kind end in the order in which they began
(§2.1: FIFO).
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, NamedTuple

from windrow.sharing.undo import Undo


class Begin(NamedTuple):
    """A window that begins with the row."""

    id: int
    window: str
    start: Any


class End(NamedTuple):
    """A window that ends before the row. A landmark's is reported and `stays`, and may go without being `told`."""

    id: int
    window: str
    start: Any
    end: Any
    stays: bool = False
    told: bool = True


class Emit(NamedTuple):
    """A window that is not deterministic is to be reported, without the row."""

    window: str
    start: Any
    end: Any


class Marks:
    """What the machines say of one row, and how to undo what they did to themselves meanwhile."""

    def __init__(self, next_id: int) -> None:
        self.next_id = next_id
        self.begins: list[Begin] = []
        self.ends: list[End] = []
        self.emits: list[Emit] = []
        self.expired: dict[str, int] = {}
        self.undo = Undo()


class Machine:
    """A window and its state.

    Args:
        partial: windows that the data ends inside are reported, too.
    """

    #: its own attributes, beside the open windows
    fields: ClassVar[tuple[str, ...]] = ()
    #: it wants the row itself
    reads: ClassVar[bool] = False

    def __init__(self, name: str, window: Any, partial: bool) -> None:
        self.name, self.window, self.partial = name, window, partial
        self.open: deque[tuple[int, Any]] = deque()  # id and start (or number) of each open window
        self.due: Any = None  # rows before this place on the measure change nothing; None: look at each

    def row(self, at: Any, row: Any, place: Any, marks: Marks) -> None:
        """A row at `at` on the measure; `place` is its time, or its position where there are no times."""
        raise NotImplementedError

    def advance(self, until: Any, marks: Marks) -> None:
        """Nothing will come before `until` on the measure."""

    def close(self, rows: int, marks: Marks) -> None:
        """Nothing will come, after `rows` rows."""

    def state(self) -> tuple:
        return tuple(self.open), tuple(getattr(self, name) for name in self.fields), self.due

    def resume(self, state: tuple) -> None:
        opened, own, self.due = state
        self.open = deque(map(tuple, opened))
        for name, value in zip(self.fields, own, strict=True):
            setattr(self, name, value)

    # Changes.

    def set(self, marks: Marks, name: str, value: Any) -> None:
        marks.undo.set(self, name, value)

    def begin(self, marks: Marks, start: Any, kept: Any = None) -> None:
        """A window begins; `kept` is what is kept of it instead of its start."""
        id, marks.next_id = marks.next_id, marks.next_id + 1
        self.open.append((id, start if kept is None else kept))
        marks.undo.later(self.open.pop)
        marks.begins.append(Begin(id, self.name, start))

    def end(self, marks: Marks, start: Any, end: Any, told: bool = True) -> None:
        """The oldest open window ends."""
        oldest = self.open.popleft()
        marks.undo.later(self.open.appendleft, oldest)
        marks.ends.append(End(oldest[0], self.name, start, end, told=told))
