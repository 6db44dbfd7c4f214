"""Trailing windows: one ends at each row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.asking import Asks, LiveAsks, Refused
from windrow.engine.kernel import whole
from windrow.engine.table import Table
from windrow.engine.walking import BASE, F0, OWN, SIZE, ByRow, E, Entries, F, Runs, WalkState, walker
from windrow.engine.walks import HIGHEST, LOWEST
from windrow.swag.mta_ranges import Clock
from windrow.windows.base import ROWS, TIME, Measure, StepRows, Trees, Window

BRACKETS = {"right": "(]", "left": "[)", "both": "[]", "none": "()"}
#: rows F to E are in the ring, by their values; of those, rows from HI on are in no window yet
HI = OWN


@dataclass(frozen=True)
class Trailing(Window):
    """Ends at each row."""

    kind: ClassVar[str] = "trailing"
    described: ClassVar[str] = "trailing: one window per row"
    row_slices: ClassVar[bool] = True
    per_row: ClassVar[bool] = True
    range: Any
    closed: str
    measure: Measure

    @property
    def may_vanish(self) -> bool:
        return self.measure.column is not None  # a row may turn out to go back along it

    @property
    def reach(self) -> int | None:
        return int(self.range) if self.measure in (ROWS, TIME) else None

    def __str__(self) -> str:
        return f"trailing, {self.measure.spelled(self.range)}, closed {self.closed}"

    def span(self, at: float) -> tuple[float, float, str] | None:
        if self.measure == ROWS:
            return None  # where a row before the first would be is nowhere
        return at - self.range, at, BRACKETS[self.closed]

    @property
    def waits(self) -> bool:
        """Whether a row is in no window before a later row comes."""
        return self.closed in ("left", "none")

    @property
    def may_be_empty(self) -> bool:
        return self.waits

    @property
    def last_rows(self) -> int | None:
        return int(self.range) if self.measure == ROWS and self.closed == "right" else None

    @property
    def peers(self) -> bool:
        """Whether rows of one value must be taken in together, because each is in the windows of all."""
        return not self.waits and self.measure != ROWS

    @property
    def held(self) -> str:
        return f"{self.range:,} rows" if self.measure == ROWS else "the rows in the window"

    @property
    def ring(self) -> Hashable:
        return self.measure, self.closed  # those end with the same row, whatever their range

    @property
    def length(self) -> float:
        return float(self.range)

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, dtype, words=[0])

    def bounds(self, state: WalkState, runs: Runs, rows: StepRows) -> ByRow:
        """For each row the rows of its window, by their numbers in the key."""
        values = rows.measures[self.measure]
        n = len(runs.key)
        lo, hi = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        by_run = np.empty((4, n), np.int64)
        left, right = self.closed in ("left", "both"), self.closed in ("right", "both")
        if self.measure == ROWS:
            words = state.table.words
            _by_rows(runs, words, state.first, min(int(self.range), HIGHEST), left, right, lo, hi, by_run)
            return ByRow(lo, hi, *by_run)
        wanted = np.empty(n, np.int64)
        if _wanted(runs, state.table.words, state.first, wanted):
            state.enlarge(runs.key, wanted)
        span, lowest = self._span(state.dtype)
        timed = self.measure == TIME and bool(n) and LOWEST // 2 < runs.until[0] < HIGHEST // 2
        facts = span, lowest, left, right, timed and self.range < HIGHEST // 4
        _by_values(facts, runs, values, self._starts(values), state.known(), lo, hi, by_run)
        return ByRow(lo, hi, *by_run)

    def asked(self, asks: Asks) -> tuple[np.ndarray, np.ndarray]:
        """An asking row takes no place: a window of n rows has n rows that count."""
        left, right = self.closed in ("left", "both"), self.closed in ("right", "both")
        hi, start = asks.passed(asks.now, right), asks.start
        if self.measure == ROWS:
            rows = int(self.range) - 1 + left + right
            return np.maximum(start, hi - rows), hi
        starts = self._starts(asks.now)
        if starts is not None:
            return np.minimum(asks.passed(starts, not left), hi), hi
        span, lowest = self._span(asks.values.dtype)
        reaches = asks.now >= lowest + span  # else it reaches back beyond every number
        lo = asks.passed(np.where(reaches, asks.now, lowest + span) - span, not left)
        return np.minimum(np.where(reaches, lo, start), hi), hi

    def asked_live(self, state: WalkState, asks: LiveAsks, rows: StepRows) -> tuple[np.ndarray, np.ndarray] | Refused:
        """Windows only move on: rows can ask from the newest one on that they have taken in."""
        left, right = self.closed in ("left", "both"), self.closed in ("right", "both")
        size, count = asks.last - asks.first, state.word(asks.key, E)
        if self.measure == ROWS:  # when its rows were is not known any more: not after `until`
            behind = np.flatnonzero(asks.now < asks.until if right else asks.now <= asks.until)
            for i in behind[np.repeat(count > 0, size)[behind]][:1].tolist():
                return Refused(i, asks.until + (not right))
            hi = np.repeat(count, size) + asks.passed(right)
            return np.maximum(0, hi - (int(self.range) - 1 + left + right)), hi
        lo, hi = np.empty(len(asks.now), np.int64), np.empty(len(asks.now), np.int64)
        span, lowest = self._span(state.dtype)
        until = asks.until if self.measure == TIME else lowest
        facts, oldest = (span, lowest, left, right, until), np.empty(1, state.dtype)
        bad = _asked(
            facts, tuple(asks[:5]), asks.now, self._starts(asks.now), asks.values, state.known(), lo, hi, oldest
        )
        return (lo, hi) if bad < 0 else Refused(bad, oldest[0])

    def _starts(self, values: np.ndarray) -> np.ndarray | None:
        """Where each row's window begins; None: `range` before it."""
        return None

    def _span(self, dtype: np.dtype) -> tuple[int | float, int | float]:
        """The range, and the lowest number, in the measure's type."""
        return (float(self.range), -np.inf) if dtype.kind == "f" else (min(int(self.range), HIGHEST), LOWEST)

    storable: ClassVar[bool] = True

    @property
    def places(self) -> Aggregate | None:
        return None if self.measure == ROWS else Clock.aggregate

    def stored_bounds(self, state: WalkState, runs: Runs, rows: StepRows, tree: Trees) -> ByRow:
        """The ring holds the newest row, and rows that are in no window yet. A `Clock` tells which rows are gone."""
        found = self.bounds(state, runs, rows)
        if self.measure == ROWS:
            return found
        values, inclusive = rows.measures[self.measure], self.closed in ("right", "none")
        span, lowest = self._span(state.dtype)
        first, end = state.word(runs.key, F), state.word(runs.key, E)
        keep = np.where(first < end, 0, end)
        for u in np.flatnonzero((runs.end > runs.begin) | (keep > 0)).tolist():
            mine = slice(runs.begin[u], runs.end[u])
            clock, now = Clock(tree(int(runs.key[u]))), values[mine]
            clock.insert(now)
            reaches = now >= lowest + span  # else it reaches back beyond every number
            starts = self._starts(now[reaches])
            found.lo[mine] = 0
            found.lo[mine][reaches] = clock.passed(now[reaches] - span if starts is None else starts, inclusive)
            if keep[u]:  # no row is needed any more
                clock.clear()
            else:
                keep[u] = found.lo[runs.end[u] - 1]
        state.trim(runs.key, np.maximum(first, np.minimum(state.word(runs.key, HI), end - 1)))
        return found._replace(keep=keep)

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """Nothing becomes final, but what is known of a key is of no use beyond its reach."""
        if self.measure != TIME:
            return np.full(len(keys), HIGHEST)
        when = np.empty(len(keys), np.int64)
        _due(state.known(), keys, min(int(self.range), HIGHEST - 1), when)
        return when

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """Rows in order; those that are in no window yet are the newest."""
        first, waits, end = (state.word(keys, word) for word in (F, HI, E))
        if self.measure == ROWS:
            return waits == end
        rising = entries.each(len(keys), entries.rising(state.ring.columns[1][entries.slot], equal=True))
        return state.in_rings(keys) & (first <= waits) & (waits <= end) & rising

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        if self.measure != TIME:
            return np.zeros(len(keys), bool)
        return state.word(keys, E) == state.word(keys, F)


@walker
def _due(known, keys, span, when):
    """When the newest row of each key has left every window."""
    words, own, values = known.words, known.first, known.values
    for j in range(len(keys)):
        row = words[keys[j]]
        when[j] = HIGHEST
        if row[own + E] > row[own + F]:
            newest = values[row[own + BASE] + ((row[own + E] - 1) & (row[own + SIZE] - 1))]
            if newest <= HIGHEST - span - 1:
                when[j] = newest + span + 1


@walker
def _wanted(runs, words, own, wanted):
    """A step begins: how many rows each ring has to hold during it; whether a ring is too small for that."""
    small = False
    for u in range(len(runs.key)):
        row = words[runs.key[u]]
        row[own + F0] = row[own + F] if row[own + F] < row[own + E] else -1
        wanted[u] = row[own + E] - row[own + F] + runs.end[u] - runs.begin[u]
        small |= wanted[u] > row[own + SIZE]
    return small


@walker
def _by_rows(runs, words, own, n, closed_left, closed_right, lo, hi, by_run):
    for u in range(len(runs.key)):
        k = runs.key[u]
        before = e = words[k, own + E]
        peak = 0
        for i in range(runs.begin[u], runs.end[u]):
            hi[i] = e + 1 if closed_right else e
            lo[i] = max(0, e - n + (0 if closed_left else 1))
            peak = max(peak, hi[i] - lo[i])
            e += 1
        words[k, own + E] = e
        words[k, own + F] = max(0, e - n)
        words[k, own + HI] = e
        by_run[0, u], by_run[1, u], by_run[2, u] = before, peak, 0 if closed_right else 1
        by_run[3, u] = max(0, e - n)


@whole("numpy")
def _begin(now, i, span, starts):
    if starts is None:
        return now - span
    return starts[i]


@walker
def _by_values(facts, runs, values, starts, known, lo, hi, by_run):
    span, lowest, closed_left, closed_right, timed = facts
    words, own, ring = known.words, known.first, known.values
    for u in range(len(runs.key)):
        k = runs.key[u]
        f, before, h = words[k, own + F], words[k, own + E], words[k, own + HI]
        o, m = words[k, own + BASE], words[k, own + SIZE] - 1
        begin, z = runs.begin[u], runs.end[u]
        e = before
        for i in range(begin, z):
            ring[o + (e & m)] = values[i]
            e += 1
        peak, waiting = 0, before - h  # those that wait already are in the queue beside the first new row
        for i in range(begin, z):
            now = values[i]
            row = before + i - begin
            if closed_right:
                h = max(h, row + 1)
                while h < e and ring[o + (h & m)] == now:
                    h += 1
            else:
                while ring[o + (h & m)] < now:  # it stops at the row itself
                    h += 1
            if now >= lowest + span:  # else it reaches back beyond every number
                bound = _begin(now, i, span, starts)
                while f < h and (ring[o + (f & m)] < bound or (ring[o + (f & m)] == bound and not closed_left)):
                    f += 1
            lo[i], hi[i] = f, h
            peak = max(peak, h - f)
            waiting = max(waiting, row + 1 - h)
        if timed and f < e and ring[o + ((e - 1) & m)] < runs.until[u] - span:  # no row to come reaches back to any
            f = h = e
        words[k, own + F], words[k, own + E], words[k, own + HI] = f, e, h
        by_run[0, u], by_run[1, u], by_run[2, u], by_run[3, u] = before, peak, waiting, f


@walker
def _asked(facts, runs, now, starts, values, known, lo, hi, oldest):
    """The rows of each ask's window: first those of the ring, then those that wait. An ask that is too old, or -1."""
    span, lowest, closed_left, closed_right, until = facts
    key, first, last, begin, end = runs
    words, own, ring = known.words, known.first, known.values
    for u in range(len(key)):
        k = key[u]
        f, e, h = words[k, own + F], words[k, own + E], words[k, own + HI]
        o, m = words[k, own + BASE], words[k, own + SIZE] - 1
        oldest[0] = ring[o + ((e - 1) & m)] if f < e else until
        w = begin[u]
        for j in range(first[u], last[u]):
            t = now[j]
            if t < oldest[0]:
                return j
            while h < e and (ring[o + (h & m)] < t or (closed_right and ring[o + (h & m)] == t)):
                h += 1
            if h == e:
                while w < end[u] and (values[w] < t or (closed_right and values[w] == t)):
                    w += 1
            g = h + w - begin[u]
            if t >= lowest + span:
                bound = _begin(t, j, span, starts)
                while f < h and (ring[o + (f & m)] < bound or (ring[o + (f & m)] == bound and not closed_left)):
                    f += 1
                if f >= e:
                    i = begin[u] + f - e
                    while f < g and (values[i] < bound or (values[i] == bound and not closed_left)):
                        f += 1
                        i += 1
            lo[j], hi[j] = f, g
    return -1
