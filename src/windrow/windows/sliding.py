"""Sliding and tumbling windows: one begins at every multiple of `every`, and is `range` long."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.cutting import Edges
from windrow.engine.table import Table
from windrow.engine.walking import (
    BASE,
    DONE,
    F0,
    NO_RING,
    NO_ROOM,
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
from windrow.engine.walks import FLOAT_WINDOWS, HIGHEST, LOWEST, check_room, edge, end, next_edge, next_end, seek
from windrow.errors import WindrowError
from windrow.swag.mta_ranges import Clock
from windrow.windows.base import ROWS, TIME, Measure, StepRows, Trees, Window

#: windows for which room is made before they are counted
MANY = 1 << 24
#: sums of three of these fit into 64 bits
_FAR = 2**61
#: floats count so far without a gap
_EXACT = 2**53
#: the number of the next window to be reported; the ring holds the number of the window that each slice begins with
DUE = OWN


#: where more windows than these are open at once, they are counted before a step; and the most that it may report
DENSE, MOST_WINDOWS = 1000, 1 << 27


@dataclass(frozen=True)
class Periodic(Window):
    """[origin + k·every, origin + k·every + range) for each k."""

    kind: ClassVar[str] = "sliding"
    described: ClassVar[str] = "periodic: a row's place tells which windows begin with it"
    range: Any
    every: Any
    origin: Any
    measure: Measure

    #: all are equally long and equally far apart
    even: ClassVar[bool] = True

    @property
    def shift(self) -> int:
        """Ticks that edges lie behind those that are told: 1 where a row at the end is in, and one at the start not."""
        return 0

    @property
    def _first(self) -> Any:
        """Where the multiples are counted from."""
        return self.origin + self.shift

    @property
    def may_vanish(self) -> bool:
        return self.measure.column is not None  # a row may turn out to go back along it

    @property
    def reach(self) -> int | None:
        return int(self.range) if self.measure in (ROWS, TIME) else None

    @property
    def part(self) -> int:
        return max(int(self.range), 16 * int(self.every))

    def __str__(self) -> str:
        size = self.measure.spelled(self.range)
        if self.range == self.every:
            return f"tumbling, {size}"
        return f"sliding, {size} every {self.measure.spelled(self.every)}"

    @property
    def held(self) -> str:
        most = self._most_slices
        return f"at most {most:,} slice{'' if most == 1 else 's'}"

    @property
    def _most_slices(self) -> int:
        """As many as windows are open."""
        return math.ceil(Fraction(self.range) / Fraction(self.every))

    @property
    def most_open(self) -> int:
        """The most windows that are open after a step. One by rows has ended with its last row already."""
        size = self.range - 1 if self.measure == ROWS else self.range
        return math.ceil(Fraction(size) / Fraction(self.every))

    @property
    def ring(self) -> Hashable:
        return "slices"  # along whatever measure: a slice begins where any of them begins

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, dtype, words=[0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        return self._told(self._walked(state, runs, rows))

    def _told(self, found: Walked) -> Walked:
        """With edges as they are told."""
        return found._replace(start=found.start - self.shift, end=found.end - self.shift) if self.shift else found

    def _walked(self, state: WalkState, runs: Runs, rows: StepRows) -> Walked:
        values = rows.measures[self.measure]
        room = len(values)
        if self.range > DENSE * self.every:
            self._check_count(state, values, runs)
        if room > 1024:
            reach = values[runs.end - 1].astype(np.float64) - values[np.minimum(runs.begin, len(values) - 1)]
            reach = np.where(runs.end > runs.begin, np.maximum(reach, 0), 0)
            state.enlarge(runs.key, self._slices(state, runs, reach))
            room = self._windows(runs, reach)
        return walk(_walk, state, self._facts(state, runs.key, values), runs, (values,), room)

    storable: ClassVar[bool] = True

    @property
    def places(self) -> Aggregate:
        return Clock.aggregate

    def stored_walk(
        self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool, tree: Trees
    ) -> Walked:
        """The ring holds the newest slice alone.

        That is enough to know which windows have rows: those that are not reported yet end after all rows of the steps
        before, so one that has any of them has the newest. A `Clock` of where slices begin tells where windows do.
        """
        found = self._walked(state, runs, rows)
        values = rows.measures[self.measure]
        first, last = state.word(runs.key, F), state.word(runs.key, E)
        open_from = self._begins(state, runs.key, values)
        lo, keep = found.win_lo.copy(), np.zeros(len(last), np.int64)
        for u in np.flatnonzero((np.diff(found.cuts) > 0) | (np.diff(found.wins) > 0)).tolist():
            clock = Clock(tree(int(runs.key[u])))
            clock.insert(values[found.cut_at[found.cuts[u] : found.cuts[u + 1]]])
            wins = slice(found.wins[u], found.wins[u + 1])
            *lo[wins], keep[u] = clock.passed(np.append(found.start[wins], open_from[u]), inclusive=False)
        state.trim(runs.key, np.maximum(first, last - 1))
        return self._told(found._replace(win_lo=lo, keep=keep))

    def _begins(self, state: WalkState, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Where the next window to be reported of each key begins."""
        _, (every, origin, unit, _), _ = self._facts(state, keys, values)
        found = origin + state.word(keys, DUE) * every
        return found if unit is None else found / unit

    def _ends(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """Where it ends, about."""
        return state.word(keys, DUE) * float(self.every) + float(self._first) % float(self.every) + float(self.range)

    def _slices(self, state: WalkState, runs: Runs, reach: np.ndarray) -> np.ndarray:
        """The most slices that each key has during a step: those that it begins with stay until the step is over."""
        new = np.minimum(runs.end - runs.begin, reach // self.every + 2)
        held = state.word(runs.key, E) - state.word(runs.key, F)
        return np.where(held > 0, held + new, np.minimum(new, self.range // self.every + 2)).astype(np.int64)

    def _check_count(self, state: WalkState, values: np.ndarray, runs: Runs) -> None:
        """Refuses a step that would report more windows than fit into memory: they are counted first.

        Between a row and the next one, a window ends every so often, for as long as the range is.
        """
        every, span, until = float(self.every), float(self.range), runs.until.astype(np.float64)
        filled = runs.end > runs.begin
        gaps = np.diff(values.astype(np.float64), append=0.0)
        gaps[runs.end[filled] - 1] = until[filled] - values[runs.end[filled] - 1]
        before = until.copy()  # until when windows end that were open before
        before[filled] = values[runs.begin[filled]]
        before -= self._ends(state, runs.key)
        before = before[state.word(runs.key, E) > state.word(runs.key, F)]
        count = (np.clip(gaps, 0, span).sum() + np.clip(before, 0, span).sum()) / every
        if count > MOST_WINDOWS:
            raise WindrowError(
                f"about {int(count):,} windows would end in one step ({self}), and at most {MOST_WINDOWS:,} can: "
                "every= is very small for the range"
            )

    def _windows(self, runs: Runs, reach: np.ndarray) -> int:
        """How many windows a step reports, about: room for them is made at once, and touched where it is needed."""
        rows = (runs.end - runs.begin) * (self.range // self.every + 1.0)
        return int(min(np.minimum(rows, (reach + self.range) // self.every + 2).sum(), MANY))

    def _facts(self, state: WalkState, keys: np.ndarray, values: np.ndarray) -> tuple:
        """The span, the grid and the least window's number, as the walk takes them; an error where edges overflow."""
        return self._grid(state.dtype, values)

    def _grid(self, dtype: np.dtype, values: np.ndarray) -> tuple:
        number = dtype.type
        if number is np.float64:
            size, every, origin = float(self.range), float(self.every), float(self.origin)
            reach = float(np.abs(values).max(initial=0.0))
            if not (reach + abs(origin) + size) / every <= FLOAT_WINDOWS:
                raise WindrowError(
                    f"values up to {reach:g} are too far from 0 for windows of {size:g} every {every:g}: "
                    "floats do not tell their edges apart"
                )
            return *_float_grid(self.range, self.every, self.origin), np.int64(-HIGHEST)
        size, every = int(self.range), int(self.every)
        shift, origin = divmod(int(self._first), every)  # an origin near 0: no edge lies farther out than a value needs
        least = shift if self.measure == ROWS else -HIGHEST
        n = len(values)
        low = high = 0 if not n else int(values[0])
        if n > 1:
            low, high = int(values.min()), int(values.max())
        if self.measure == ROWS:
            low, high = min(low, origin + least * every), max(high, origin + least * every)
        reach = size + 2 * every
        if low - reach < LOWEST or high + reach > HIGHEST:
            check_room(low - reach, high + reach, f"windows of {size} every {every}")
        return (np.int64(0), number(size)), (number(every), number(origin), None, None), np.int64(least)

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        when = np.empty(len(keys), np.int64)
        _due(state.table.words, state.first, keys, int(self._first) % self.every + self.range, int(self.every), when)
        return when

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """Slices are numbered as windows are, and all begin within the oldest window that is open."""
        numbers, due = state.ring.columns[0][entries.slot], state.word(keys, DUE)
        oldest, newest = entries.ends(len(keys), numbers, 0)
        farthest = HIGHEST // max(1, int(self.every))
        if state.dtype == np.float64:
            farthest = int(FLOAT_WINDOWS)
        near = (np.abs(due) <= farthest) & (due <= oldest) & (newest - due <= self.range / self.every)
        open_ = state.word(keys, E) > state.word(keys, F)
        return state.in_rings(keys) & (~open_ | near) & entries.each(len(keys), entries.rising(numbers))

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, E) == state.word(keys, F)

    def evictions(self, state: WalkState, runs: Runs) -> np.ndarray | None:
        if state.dtype != np.int64:
            return None
        first, end = state.word(runs.key, F), state.word(runs.key, E)
        found = end - first
        # where neither side can overflow: slices go that begin before the oldest window that is open then
        near = (found > 0) & (np.abs(runs.until) < _FAR) & (max(self.range, self.every) < _FAR)
        oldest = state.ring.columns[0][state.slots_at(runs.key[near], first[near])]
        due = (runs.until[near] - self.range - self._first % self.every) // self.every + 1
        found[near] = np.clip(due - oldest, 0, found[near])
        return found

    @property
    def late_slices(self) -> bool:
        return self.measure == TIME

    @property
    def edges(self) -> Edges:
        """Windows begin and end there: Pairs."""
        every = int(self.every)
        first = {int(self._first) % every, (int(self._first) + int(self.range)) % every}
        return Edges((every,) * len(first), tuple(sorted(first)))

    def check_places(self, values: np.ndarray) -> None:
        self._grid(np.dtype(np.int64), values)


@dataclass(frozen=True)
class RightClosed(Periodic):
    """(start, end] instead: as [start, end) with edges one tick later."""

    brackets: ClassVar[str] = "(]"

    @property
    def shift(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"{super().__str__()}, closed right"


@walker
def _due(words, first, keys, end, every, when):
    """When the next window of each key ends: the first one ends at `end`."""
    for j in range(len(keys)):
        row = words[keys[j]]
        when[j] = end + row[first + DUE] * every if row[first + E] > row[first + F] else HIGHEST


@cache
def _float_grid(span: float, every: float, origin: float) -> tuple:
    """Span and grid over floats.

    They are counted in the unit in which all three are whole: 0.3 every 0.1 is 3 every 1 in tenths. So windows side by
    side share their edge, and a row at 0.3 begins the window that begins at 0.3. Where there is no such unit within
    what floats count exactly, as for 1 / 3, the unit is 1.

    >>> _float_grid(0.3, 0.1, 0.0)
    ((3, 0.0), (1.0, 0.0, 10.0, None))
    >>> _float_grid(0.75, 0.5, 0.0)
    ((1, 1.0), (2.0, 0.0, 4.0, None))
    """
    exact = [Fraction(repr(float(length))) for length in (span, every, origin)]
    unit = math.lcm(*(length.denominator for length in exact))
    whole = [length * unit for length in exact]
    if max(map(abs, (*whole, Fraction(unit)))) > _EXACT:
        whole, unit = exact, 1
    size, step, first = whole
    windows, rest = divmod(size, step)
    return (int(windows), float(rest)), (float(step), float(first), float(unit), None)


@walker
def _walk(facts, runs, rows, known, out, at):
    span, grid, least = facts
    values = rows[0]
    words, first, ring = known.words, known.first, known.ring
    room = len(out.cut_at)
    u, i, c, w, peak = at[0], at[1], at[2], at[3], at[4]
    while u < len(runs.key):
        k = runs.key[u]
        f, e, due = words[k, first + F], words[k, first + E], words[k, first + DUE]
        o, m, z = words[k, first + BASE], words[k, first + SIZE] - 1, runs.end[u]
        low = words[k, first + F0]
        if i < 0:
            i = runs.begin[u]
            out.cuts[u], out.wins[u] = c, w
            peak = e - f
        status = DONE
        more = True
        while more:
            now = values[i] if i < z else runs.until[u]
            # the windows that have ended here, each from the first slice that it begins with or before
            while f < e and end(due, span, grid) <= now and status == DONE:
                while f < e and ring[o + (f & m)] < due:
                    f += 1
                if f < e:
                    if w < room:
                        out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                        out.start[w], out.end[w] = edge(due, grid), end(due, span, grid)
                        w += 1
                        due += 1
                    else:
                        status = NO_ROOM
            while f < e and ring[o + (f & m)] < due:
                f += 1
            if status != DONE or i >= z:
                more = False
            else:
                number = ring[o + ((e - 1) & m)] if f < e else least
                begins = f == e or now >= edge(number + 1, grid)
                if begins:
                    number = next_edge(now, grid) - 1
                if f == e:  # no window is open: row i may lie between two
                    due = max(least, next_end(now, span, grid))
                    begins = number >= due
                if begins:  # row i begins a slice
                    if c == room:
                        status = NO_ROOM
                    elif e - (f if low < 0 else low) > m:
                        status = NO_RING
                    else:
                        out.cut_at[c], out.cut_keep[c] = i, f
                        c += 1
                        ring[o + (e & m)] = number
                        e += 1
                        peak = max(peak, e - f)
                if status == DONE:
                    i = seek(values, i + 1, z, min(edge(number + 1, grid), end(due, span, grid)))
                else:
                    more = False
        words[k, first + F], words[k, first + E], words[k, first + DUE] = f, e, due
        if status != DONE:
            at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
            return status
        out.keep[u], out.peak[u] = f, peak
        if f < e and edge(ring[o + ((e - 1) & m)] + 1, grid) <= runs.until[u]:
            out.closes[u] = 1
        u += 1
        i = -1
    at[0], at[1], at[2], at[3] = u, -1, c, w
    return DONE
