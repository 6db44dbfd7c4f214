"""Sessions: rows that follow each other by a gap at most, as in Spark and Flink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.engine.cutting import Edges
from windrow.engine.kernel import whole
from windrow.engine.table import Table
from windrow.engine.walking import DONE, OWN, E, Entries, F, Runs, Walked, WalkState, walk, walker
from windrow.engine.walks import HIGHEST, check_room
from windrow.windows.base import TIME, Measure, StepRows, Window

#: numbers: the first and the newest value of the session that is open (where E > F)
FIRST, LAST = OWN, OWN + 1


@dataclass(frozen=True)
class Session(Window):
    """Ends after more than a gap without rows."""

    kind: ClassVar[str] = "session"
    described: ClassVar[str] = "deterministic: the rows before tell whether a window begins with a row"
    gap: Any
    measure: Measure

    @property
    def part(self) -> int:
        return 64 * int(self.gap)

    def __str__(self) -> str:
        return f"session, gap {self.measure.spelled(self.gap)}"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, dtype, words=[0, 0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        values = rows.measures[self.measure]
        last = rows.last.get(self.measure, values)
        if state.dtype == np.int64 and len(last):
            check_room(0, int(last.max()) + int(self.gap) + 1, f"sessions with a gap of {self.gap}")
        facts = state.dtype.type(self.gap), self._at_most(state.dtype, values), self._held_ends(state, runs.key)
        return walk(_walk, state, facts, runs, (values, last, self._ends(last)), len(values) + len(runs.key))

    def _ends(self, last: np.ndarray) -> np.ndarray | None:
        """For each newest row of a session where this ends; None: `gap` after it."""
        return None

    def _held_ends(self, state: WalkState, keys: np.ndarray) -> np.ndarray | None:
        """The same for the sessions that are open."""
        return None

    def _at_most(self, dtype: np.dtype, values: np.ndarray) -> Any:
        """How long a session may be; None: as long as it goes on."""
        return None

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """A row at `last + gap` joins, so a session is final behind it."""
        there = state.word(keys, E) > state.word(keys, F)
        return np.where(there, state.word(keys, LAST) + int(self.gap) + 1, HIGHEST)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        first, last = state.number(keys, FIRST), state.number(keys, LAST)
        open_ = state.word(keys, E) - state.word(keys, F)
        highest = np.inf if state.dtype == np.float64 else HIGHEST - int(self.gap)
        return (open_ == 0) | ((open_ == 1) & (first <= last) & (last <= highest))

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, E) == state.word(keys, F)

    @property
    def late_slices(self) -> bool:
        return self.measure == TIME

    @property
    def edges(self) -> Edges:
        return Edges(gap=int(self.gap))


@dataclass(frozen=True)
class LimitedSession(Session):
    """Ends after more than a gap without rows, or when it is `at_most` long: the next row begins another."""

    at_most: Any

    def __str__(self) -> str:
        return f"{super().__str__()}, at most {self.measure.spelled(self.at_most)}"

    def _at_most(self, dtype: np.dtype, values: np.ndarray) -> Any:
        if dtype == np.int64 and len(values):
            check_room(0, int(values.max()) + int(self.at_most), f"sessions of at most {self.at_most}")
        return dtype.type(self.at_most)

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """A row at `first + at_most` begins another session."""
        when, there = super().due(state, keys), state.word(keys, E) > state.word(keys, F)
        return np.where(there, np.minimum(when, state.word(keys, FIRST) + int(self.at_most)), when)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        first, last = state.number(keys, FIRST), state.number(keys, LAST)
        highest = np.inf if state.dtype == np.float64 else HIGHEST - int(self.at_most)
        short = (first <= highest) & (last < np.minimum(first, highest) + self.at_most)
        return super().fits(state, keys, entries) & ((state.word(keys, E) == state.word(keys, F)) | short)

    @property
    def late_slices(self) -> bool:
        """Where it ends depends on where it began, so on rows that may come later."""
        return False


@whole("numpy")
def _right(last, gap, ends, i):
    if ends is None:
        return last + gap
    return ends[i]


@whole("numpy")
def _full(now, first, at_most):
    """Whether a session that began at `first` is over by now, however close its rows are."""
    if at_most is None:
        return False
    return now >= first + at_most


@whole("numpy")
def _end(right, first, at_most):
    if at_most is None:
        return right
    return min(right, first + at_most)


@walker
def _walk(facts, runs, rows, known, out, at):
    gap, at_most, held = facts
    values, lasts, ends = rows
    words, numbers, own = known.words, known.numbers, known.first
    c = w = 0
    for u in range(len(runs.key)):
        k = runs.key[u]
        f, e, first, last = words[k, own + F], words[k, own + E], numbers[k, own + FIRST], numbers[k, own + LAST]
        i, z = runs.begin[u], runs.end[u]
        out.cuts[u], out.wins[u] = c, w
        right = _right(last, gap, held, u)
        more = True
        while more:
            if f < e:
                while i < z and values[i] <= right and not _full(values[i], first, at_most):
                    last = max(last, lasts[i])
                    right = max(right, _right(lasts[i], gap, ends, i))
                    i += 1
                if i < z or right < runs.until[u] or _full(runs.until[u], first, at_most):
                    out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                    out.start[w], out.end[w] = first, _end(right, first, at_most)
                    w += 1
                    f = e
            if i == z:
                more = False
            else:
                first, last = values[i], lasts[i]
                right = _right(last, gap, ends, i)
                out.cut_at[c], out.cut_keep[c] = i, e
                c += 1
                e += 1
                i += 1
        words[k, own + F], words[k, own + E] = f, e
        numbers[k, own + FIRST], numbers[k, own + LAST] = first, last
        out.keep[u] = f
    at[2], at[3] = c, w
    return DONE
