"""Sliding, tumbling, trailing, landmark and session windows by the calendar of a time zone.

They are walked as those of fixed lengths are. What differs is where an edge is: it is looked up in a table. The lengths
that a window has beside it are bounds: `range` is as long as it can be, `every` as windows are apart at least, usually.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from windrow.engine.cutting import Edges
from windrow.engine.walking import E, Entries, F, Runs, WalkState
from windrow.engine.walks import HIGHEST
from windrow.windows.base import TIME
from windrow.windows.calendar import Calendar, Shift, Step
from windrow.windows.durations import spelled
from windrow.windows.landmark import Landmark
from windrow.windows.predicates import Predicate
from windrow.windows.session import LAST, Session
from windrow.windows.sliding import DUE, Periodic
from windrow.windows.trailing import BRACKETS, Trailing
from windrow.windows.zones import DAY, SECOND


def periodic(calendar: Calendar) -> ZonedPeriodic:
    """Windows of a calendar."""
    return ZonedPeriodic(calendar.longest, calendar.usual, 0, TIME, calendar)


@dataclass(frozen=True)
class ZonedPeriodic(Periodic):
    """From the beginning of each so many local days or months on."""

    described: ClassVar[str] = "periodic: a row's place tells which windows begin with it; edges are in a table"
    even: ClassVar[bool] = False
    calendar: Calendar

    def __str__(self) -> str:
        span, every = self.calendar.range, self.calendar.every
        closed = ", closed right" if self.shift else ""
        if span == every:
            return f"tumbling, {self.calendar}{closed}"
        size = span if isinstance(span, Step) else spelled(span // self.calendar.ticks)
        return f"sliding, {size} every {self.calendar}{closed}"

    @property
    def shift(self) -> int:
        return self.calendar.shift

    def scaled(self, factor: int) -> ZonedPeriodic:
        return periodic(self.calendar.scaled(factor))

    @property
    def _most_slices(self) -> int:
        return self.calendar.most_open

    @property
    def most_open(self) -> int:
        return self.calendar.most_open

    @property
    def edge_lengths(self) -> tuple[int, ...]:
        return (replace(self.calendar, shift=0).unit // self.calendar.ticks,)

    def _facts(self, state: WalkState, keys: np.ndarray, values: np.ndarray) -> tuple:
        """The table reaches around the rows, and around the windows that are open."""
        found = [(int(values.min()), int(values.max()))] if len(values) else []
        numbers = state.word(keys, DUE)[state.word(keys, E) > state.word(keys, F)]
        if len(numbers):
            ends = np.array([numbers.min(), numbers.max()])
            found.append((int(self.calendar.begins(ends)[0]), int(self.calendar.ends(ends)[1])))
        low, high = (min(a for a, _ in found), max(z for _, z in found)) if found else (0, 0)
        first, table = self.calendar.table(low, high)
        return (np.int64(1), np.int64(0)), (np.int64(self.every), np.int64(first), None, table), np.int64(-HIGHEST)

    def _begins(self, state: WalkState, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        return self._known(state, keys, self.calendar.begins)

    def _ends(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return self._known(state, keys, self.calendar.ends)

    def _known(self, state: WalkState, keys: np.ndarray, edges: Any) -> np.ndarray:
        """An edge of the next window to be reported; the highest number for keys that have none."""
        found = np.full(len(keys), HIGHEST)
        there = state.word(keys, E) > state.word(keys, F)
        found[there] = edges(state.word(keys[there], DUE))
        return found

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return self._ends(state, keys)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """As for fixed lengths, within the years that the calendar has."""
        numbers, due = state.ring.columns[0][entries.slot], state.word(keys, DUE)
        oldest, newest = entries.ends(len(keys), numbers, 0)
        least, most = self.calendar.reach
        near = (due >= least + self.calendar.most_open + 4) & (due <= oldest)
        near &= (newest - due <= self.calendar.most_open + 2) & (newest <= most - 4)
        open_ = state.word(keys, E) > state.word(keys, F)
        return state.in_rings(keys) & (~open_ | near) & entries.each(len(keys), entries.rising(numbers))

    def evictions(self, state: WalkState, runs: Runs) -> np.ndarray | None:
        first, end = state.word(runs.key, F), state.word(runs.key, E)
        found = end - first
        held = found > 0
        oldest = state.ring.columns[0][state.slots_at(runs.key[held], first[held])]
        self._facts(state, runs.key, runs.key[:0])
        found[held] = np.clip(self.calendar.open_at(runs.until[held]) - oldest, 0, found[held])
        return found

    @property
    def edges(self) -> Edges:
        return Edges(uneven=(self.calendar,))

    def check_places(self, values: np.ndarray) -> None:
        if len(values):
            self.calendar.table(int(values.min()), int(values.max()))


@dataclass(frozen=True)
class ZonedTrailing(Trailing):
    """Reaches back so many local days or months."""

    shift: Shift

    def __str__(self) -> str:
        return f"trailing, {self.shift.step} of {self.shift.zone}, closed {self.closed}"

    @property
    def ring(self) -> Hashable:
        return self.measure, self.closed, self.shift  # which of two windows reaches back farther is not always the same

    def scaled(self, factor: int) -> ZonedTrailing:
        return replace(self, range=self.range * factor, shift=self.shift.scaled(factor))

    def span(self, at: float) -> tuple[float, float, str] | None:
        start = float(self.shift.of(np.array([at], np.int64))[0])
        return start, at, BRACKETS[self.closed]

    def _starts(self, values: np.ndarray) -> np.ndarray | None:
        return self.shift.of(values)


def trailing(shift: Shift, closed: str) -> ZonedTrailing:
    """The window before each row, by a calendar."""
    return ZonedTrailing(shift.longest, closed, TIME, shift)


@dataclass(frozen=True)
class ZonedLandmark(Landmark):
    """Reported where so many local days or months end."""

    calendar: Calendar

    def __str__(self) -> str:
        return f"landmark, {self.begin.text}, every {self.calendar}"

    def scaled(self, factor: int) -> ZonedLandmark:
        return replace(self, every=self.every * factor, calendar=self.calendar.scaled(factor))

    @property
    def edge_lengths(self) -> tuple[int, ...]:
        return (self.calendar.unit // self.calendar.ticks,)

    def _grid(self, values: np.ndarray) -> tuple | None:
        low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        first, table = self.calendar.table(low, high)
        return np.int64(self.calendar.usual), np.int64(first), None, table


def landmark(begin: Predicate, calendar: Calendar) -> ZonedLandmark:
    """From a landmark on, by a calendar."""
    return ZonedLandmark(begin, calendar.longest, TIME, calendar)


@dataclass(frozen=True)
class ZonedSession(Session):
    """Ends after more than so many local days or months without rows."""

    shift: Shift

    def __str__(self) -> str:
        return f"session, gap {self.shift.step} of {self.shift.zone}"

    def scaled(self, factor: int) -> ZonedSession:
        return session(self.shift.scaled(factor))

    @property
    def edge_lengths(self) -> tuple[int, ...]:
        return (SECOND,)

    def _ends(self, last: np.ndarray) -> np.ndarray | None:
        return self.shift.of(last)

    def _held_ends(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        found = np.full(len(keys), HIGHEST - 1)
        there = state.word(keys, E) > state.word(keys, F)
        found[there] = self.shift.of(state.word(keys[there], LAST))
        return found

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return self._held_ends(state, keys) + 1

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        last, (least, most) = state.word(keys, LAST) // (DAY * self.shift.ticks), self.shift.reach
        near = (last - 2 >= least) & (last + 2 <= most)
        return super().fits(state, keys, entries) & ((state.word(keys, E) == state.word(keys, F)) | near)

    @property
    def late_slices(self) -> bool:
        return False  # how long a gap is depends on when it begins


def session(shift: Shift) -> ZonedSession:
    """Sessions by a calendar."""
    return ZonedSession(shift.longest, TIME, shift)
