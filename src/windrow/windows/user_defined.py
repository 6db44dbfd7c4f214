"""User-defined windows (paper 3 §3.2): a class says of each row how many windows begin with it and end before it.

Where it also says when event time ends the oldest window (`ends_at`), windows end without a row, too. Where it says how
many of the oldest rows leave (`evict`), no row tells that a window begins with it: those are the paper's windows that
are not deterministic, and every row is a slice of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from windrow.engine.table import Table
from windrow.engine.user_windows import Asked, Clock, discretize_rows
from windrow.engine.walking import (
    BASE,
    DONE,
    F0,
    NO_RING,
    OWN,
    SIZE,
    E,
    Entries,
    F,
    Runs,
    Walked,
    WalkState,
    walk,
    walker,
)
from windrow.engine.walks import HIGHEST
from windrow.engine.window_states import first_state
from windrow.errors import WindrowError
from windrow.windows.base import ROWS, TIME, Measure, StepRows, Window

#: slices that were cut (where rows are evicted: windows that are open), and, if event time ends windows, when it ends
#: the oldest. The ring holds for each open window (F to E) the slice and the value that it begins with; or, for each
#: row that is held, its value
CUT, NEXT = OWN, OWN + 1
OPEN = CUT
#: what is saved has fewer open windows than these, and has cut fewer slices
MOST_OPEN, FARTHEST = 1 << 24, 1 << 62


@dataclass(frozen=True)
class UserDefined(Window):
    """For each row, how many windows begin with it and how many of the oldest end before it."""

    kind: ClassVar[str] = "user_defined"
    unique_start: ClassVar[bool] = False
    described: ClassVar[str] = "deterministic: a row's content tells whether a window begins with it"
    by_content: ClassVar[bool] = True
    edges_in_time: ClassVar[bool] = True
    discretize: Any
    measure: Measure
    #: units of the time column in a microsecond, which is what the class sees; the data's, so no part of a saved query
    tick: int = field(default=1, metadata={"identity": False})

    @property
    def made(self) -> type:
        """The user's class."""
        return self.discretize if isinstance(self.discretize, type) else type(self.discretize)

    def __str__(self) -> str:
        return f"user-defined, {self.made.__name__}{', ends by event time, too' if self.measure == TIME else ''}"

    @property
    def edge_lengths(self) -> tuple[int, ...]:
        return (1,) if self.measure == TIME else ()  # the class says when a window ends

    @property
    def may_be_empty(self) -> bool:
        return True  # where the class evicts rows

    @property
    def reads_any_column(self) -> bool:
        return True

    @property
    def numbers_rows(self) -> bool:
        return self.measure == ROWS

    @property
    def held(self) -> str:
        return "as many slices as windows are open"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return UserState(table, np.int64, words=[0, HIGHEST] if self.measure == TIME else [0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        assert isinstance(state, UserState)
        values = rows.measures[TIME] if TIME in rows.measures else rows.measures[ROWS]
        clock = Clock(values, runs.until, self._open(state, runs.key), self.tick) if self.measure == TIME else None
        asked = state.asked(self.discretize, runs, rows, clock)
        room = int(np.add.reduce(asked.ends)) + len(asked.when) + len(values) + len(runs.key)
        if closing and partial:
            room += int(self._open(state, runs.key).sum()) + int(asked.begins.sum())
        bad = np.array([-1])
        found = self._walked(state, runs, (closing and partial, bad), values, asked, room)
        if bad[0] >= 0:
            number = rows.measures.get(ROWS)
            where = f"row {number[bad[0]]} of its key" if number is not None else f"row at time {values[bad[0]]}"
            raise WindrowError(f"{where}: {self._wrong(asked, int(bad[0]))}")
        if self.measure == TIME:
            state.table.words[runs.key, state.first + NEXT] = asked.due
        return found

    def _open(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """How many windows of some keys are open."""
        return state.word(keys, E) - state.word(keys, F)

    def _walked(self, state: WalkState, runs: Runs, facts: tuple, values: Any, asked: Asked, room: int) -> Walked:
        rows = (values, asked.begins, asked.ends, asked.timed, asked.when)
        return walk(_walk, state, facts, runs, rows, room)

    def _wrong(self, asked: Asked, row: int) -> str:
        return "it ends more windows than are open"

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """Windows begin with slices that were cut, in order, and objects have the attributes of the class."""
        assert isinstance(state, UserState)
        slices, cut = state.ring.columns[0][entries.slot], state.word(keys, CUT)
        good = entries.rising(slices, equal=True) & (slices >= 0) & (slices < cut[entries.which])
        counted = state.in_rings(keys) & (cut >= 0) & (cut < FARTHEST)
        return counted & entries.each(len(keys), good) & self._objects_fit(state, keys)

    def _objects_fit(self, state: UserState, keys: np.ndarray) -> np.ndarray:
        """Whether objects have the attributes of a new one, of the same sorts where those are told."""
        first = first_state(self.discretize)

        def fits(found: dict[str, Any] | None) -> bool:
            if found is None:
                return True
            return found.keys() >= first.keys() and all(_alike(first[name], found[name]) for name in first)

        return np.array([fits(state.objects.get(k)) for k in keys.tolist()], bool)

    def slices(self, state: WalkState, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        entries, cut = state.entries(keys), state.word(keys, CUT)
        oldest = cut.copy()
        oldest[entries.which[::-1]] = state.ring.columns[0][entries.slot][::-1]
        return oldest, cut

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, NEXT) if self.measure == TIME else np.full(len(keys), HIGHEST)

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """Where no window is open, no row is held, and the user's object is what a new one would be."""
        assert isinstance(state, UserState)
        if self.measure == ROWS:
            return np.zeros(len(keys), bool)  # row numbers go on
        found = (state.word(keys, E) == state.word(keys, F)) & (self._open(state, keys) == 0)
        if found.any():
            first = first_state(self.discretize)
            found[found] = [state.objects.get(k, first) == first for k in keys[found].tolist()]
        return found


def _alike(one: Any, other: Any) -> bool:
    """Whether an attribute can have gone from one value to the other: None to anything, a number to a number."""
    if one is None or other is None or type(one) is type(other):
        return True
    return isinstance(one, (int, float, Decimal)) and isinstance(other, (int, float, Decimal))


@dataclass(frozen=True)
class Evicting(UserDefined):
    """The same, with rows that leave: a window has all rows that are held when it ends, those before it, too."""

    described: ClassVar[str] = "not deterministic: no row tells which windows it will be in (paper 3 §3.2)"
    sliced: ClassVar[str] = "falls back to one slice per row: the class evicts the oldest rows"
    row_slices: ClassVar[bool] = True

    @property
    def held(self) -> str:
        return "the rows that were not evicted"

    def _open(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, OPEN)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        assert isinstance(state, UserState)
        open_ = state.word(keys, OPEN)
        return state.in_rings(keys) & (open_ >= 0) & (open_ < MOST_OPEN) & self._objects_fit(state, keys)

    def slices(self, state: WalkState, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return state.word(keys, F), state.word(keys, E)

    def _walked(self, state: WalkState, runs: Runs, facts: tuple, values: Any, asked: Asked, room: int) -> Walked:
        rows = (values, asked.begins, asked.ends, asked.leaves, asked.timed, asked.when)
        return walk(_walk_rows, state, facts, runs, rows, room)

    def _wrong(self, asked: Asked, row: int) -> str:
        return f"it ends more windows than are open, or evicts more rows than are held ({asked.leaves[row]})"


class UserState(WalkState):
    """With what each key's own object holds."""

    def __init__(self, table: Table, dtype: Any, words: list[int]) -> None:
        super().__init__(table, dtype, words)
        self.objects: dict[int, dict[str, Any]] = {}
        self._before: dict[int, dict[str, Any] | None] = {}

    def asked(self, prototype: Any, runs: Runs, rows: StepRows, clock: Clock | None) -> Asked:
        """What the keys' objects say of the rows; they go on."""
        keys = runs.key.tolist()
        before = [self.objects.get(k) for k in keys]
        seg = np.zeros(len(keys) + 1, np.int64)
        seg[:-1] = runs.begin
        seg[-1] = runs.end[-1] if keys else 0
        asked = discretize_rows(prototype, rows.readable, seg, before, clock=clock, keep=rows.keep)
        for k, old, new in zip(keys, before, asked.states, strict=True):
            if new is not None and new is not old:
                self._before[k] = old
                self.objects[k] = new
        return asked

    def forget(self, keys: np.ndarray) -> None:
        for k in keys.tolist():
            self.objects.pop(k, None)
        super().forget(keys)

    def commit(self) -> None:
        self._before.clear()
        super().commit()

    def rollback(self) -> None:
        for k, old in self._before.items():
            if old is None:
                self.objects.pop(k, None)
            else:
                self.objects[k] = old
        self._before.clear()
        super().rollback()


@walker
def _walk(facts, runs, rows, known, out, at):
    partial, bad = facts
    values, begins, ends, timed, when = rows
    words, own, slices, starts = known.words, known.first, known.ring, known.values
    u, i, c, w, peak = at[0], at[1], at[2], at[3], at[4]
    while u < len(runs.key):
        k = runs.key[u]
        f, e, cut, low = words[k, own + F], words[k, own + E], words[k, own + CUT], words[k, own + F0]
        o, m, z = words[k, own + BASE], words[k, own + SIZE] - 1, runs.end[u]
        if i < 0:
            i = runs.begin[u]
            out.cuts[u], out.wins[u] = c, w
            peak = cut - slices[o + (f & m)] if f < e else 0
        while i <= z:
            if i < z and e + begins[i] - (f if low < 0 else low) > m + 1:
                words[k, own + F], words[k, own + E], words[k, own + CUT] = f, e, cut
                at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
                return NO_RING
            for j in range(timed[i + u], timed[i + u + 1]):  # ended by event time, before row i
                out.win_at[w], out.win_lo[w], out.whole[w] = i, slices[o + (f & m)], True
                out.start[w], out.end[w] = starts[o + (f & m)], when[j]
                w += 1
                f += 1
            if i == z:
                break
            if ends[i] > e - f:
                bad[0] = i
                return DONE
            for _ in range(ends[i]):
                out.win_at[w], out.win_lo[w], out.whole[w] = i, slices[o + (f & m)], True
                out.start[w], out.end[w] = starts[o + (f & m)], values[i]
                w += 1
                f += 1
            if begins[i] > 0:
                out.cut_at[c] = i
                out.cut_keep[c] = slices[o + (f & m)] if f < e else cut
                c += 1
                for _ in range(begins[i]):
                    slices[o + (e & m)] = cut
                    starts[o + (e & m)] = values[i]
                    e += 1
                cut += 1
                peak = max(peak, cut - slices[o + (f & m)])
            i += 1
        if partial:
            while f < e:
                out.win_at[w], out.win_lo[w], out.whole[w] = z, slices[o + (f & m)], False
                out.start[w], out.end[w] = starts[o + (f & m)], starts[o + (f & m)]
                w += 1
                f += 1
        words[k, own + F], words[k, own + E], words[k, own + CUT] = f, e, cut
        out.keep[u] = slices[o + (f & m)] if f < e else cut
        out.peak[u] = peak
        u += 1
        i = -1
    at[2], at[3] = c, w
    return DONE


@walker
def _walk_rows(facts, runs, rows, known, out, at):
    partial, bad = facts
    values, begins, ends, leaves, timed, when = rows
    words, own, starts = known.words, known.first, known.values
    u, i, c, w, peak = at[0], at[1], at[2], at[3], at[4]
    while u < len(runs.key):
        k = runs.key[u]
        f, e, left, low = words[k, own + F], words[k, own + E], words[k, own + OPEN], words[k, own + F0]
        o, m, z = words[k, own + BASE], words[k, own + SIZE] - 1, runs.end[u]
        if i < 0:
            i = runs.begin[u]
            out.cuts[u], out.wins[u] = c, w
            peak = e - f
        while i <= z:
            if i < z and e - (f if low < 0 else low) > m:
                words[k, own + F], words[k, own + E], words[k, own + OPEN] = f, e, left
                at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
                return NO_RING
            for j in range(timed[i + u], timed[i + u + 1]):
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = starts[o + (f & m)], when[j]
                w += 1
                left -= 1
            if i == z:
                break
            if ends[i] > left or leaves[i] > e - f:
                bad[0] = i
                return DONE
            for _ in range(ends[i]):
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = starts[o + (f & m)], values[i]
                w += 1
            left += begins[i] - ends[i]
            f += leaves[i]
            starts[o + (e & m)] = values[i]
            out.cut_at[c], out.cut_keep[c] = i, f
            c += 1
            e += 1
            peak = max(peak, e - f)
            i += 1
        if partial:
            for _ in range(left):
                out.win_at[w], out.win_lo[w], out.whole[w] = z, f, False
                out.start[w], out.end[w] = starts[o + (f & m)], starts[o + (f & m)]
                w += 1
            left = 0
        words[k, own + F], words[k, own + E], words[k, own + OPEN] = f, e, left
        out.keep[u], out.peak[u] = f, peak
        u += 1
        i = -1
    at[2], at[3] = c, w
    return DONE
