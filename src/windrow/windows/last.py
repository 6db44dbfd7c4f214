"""Every so often the last rows: which those are is not known when they come (paper 3 §3.2).

What triggers a report and what evicts rows are two policies (paper 1 §2.2), each by rows, by time or by how far a
column goes on (delta): every 5 seconds the last 100 rows, every 100 rows the last 10 minutes, every kilometre the last
minute. Where both are of one measure, the windows are periodic (`sliding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.table import Table
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
from windrow.engine.walks import HIGHEST, LOWEST, check_room, next_edge
from windrow.errors import WindrowError
from windrow.windows.base import ROWS, TIME, Measure, StepRows, Window

#: where the next window ends (by time: when; along a column: the number of the edge), and whether a row has come since
#: the one before (2: only rows that have no value in the column); behind the number of the newest row. The ring holds
#: the rows' times, and their values in the column that evicts
DUE, FILLED, NEWEST = OWN, OWN + 1, OWN + 2
#: how policies are told to the walk
BY_ROWS, BY_TIME, BY_COLUMN = 0, 1, 2
KINDS = {"rows": BY_ROWS, "time": BY_TIME, "column": BY_COLUMN}


@dataclass(frozen=True)
class Last(Window):
    """At every multiple of `every`, what the last `n` of `within` hold. Every row is a slice of its own."""

    kind: ClassVar[str] = "last"
    unique_start: ClassVar[bool] = False
    described: ClassVar[str] = "not deterministic: a row does not tell which windows it will be in (paper 3 §3.2)"
    sliced: ClassVar[str] = "every row is a slice of its own"
    row_slices: ClassVar[bool] = True
    n: Any
    every: Any
    origin: Any
    trigger: Measure = TIME  # of `every`
    within: Measure = ROWS  # of `n`

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """Of starts and ends: event time, where that triggers; otherwise row numbers."""
        return TIME if self.trigger == TIME else ROWS

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.trigger, self.within

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(measure.column for measure in self.measures if measure.column is not None)

    def __str__(self) -> str:
        return f"last {self.within.spelled(self.n)} every {self.trigger.spelled(self.every)}"

    @property
    def held(self) -> str:
        return f"{self.n:,} rows" if self.within == ROWS else f"the rows of the last {self.within.spelled(self.n)}"

    def scaled(self, factor: int) -> Last:
        by_time, within_time = (factor if measure == TIME else 1 for measure in self.measures)
        return replace(self, n=self.n * within_time, every=self.every * by_time, origin=self.origin * by_time)

    def state_over(self, table: Table, dtype: np.dtype, columns: Mapping[str, Column]) -> LastState:
        return LastState(
            table, _number(self.trigger, columns, self.every, self.origin), _number(self.within, columns, self.n)
        )

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        assert isinstance(state, LastState)
        none = np.zeros(len(rows), np.int64)
        times = rows.measures[TIME] if TIME in self.measures else none
        number = rows.measures[ROWS] if self.measure == ROWS else none
        by, evicted_by = _values(self.trigger, rows, state.by), _values(self.within, rows, state.evicted_by)
        self._check(times, evicted_by[0])
        origin = self.origin % self.every if self.trigger == TIME else self.origin
        span = (0, self.n) if self.within.kind == "column" else (self.n, 0)
        lowest = -np.inf if state.evicted_by.kind == "f" else LOWEST
        facts = (
            KINDS[self.trigger.kind], KINDS[self.within.kind], state.by.type(self.every), state.by.type(origin),
            np.int64(span[0]), state.evicted_by.type(span[1]), state.evicted_by.type(lowest), closing and partial,
        )  # fmt: skip
        return walk(_walk, state, facts, runs, (times, number, *by, *evicted_by), len(rows) + len(runs.key))

    def _check(self, times: np.ndarray, values: np.ndarray) -> None:
        """An error where an edge would be beyond 64 bits."""
        if self.trigger == TIME and len(times):
            every = int(self.every)
            check_room(int(times.min()) - 2 * every, int(times.max()) + 2 * every, f"windows every {every}")
        along = times if self.within == TIME else values
        if self.within != ROWS and len(along) and along.dtype == np.int64:
            check_room(int(along.min()) - int(self.n), 0, f"the last {self.n}")

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        if self.trigger != TIME:
            return np.full(len(keys), HIGHEST)
        return np.where(state.word(keys, FILLED) > 0, state.word(keys, DUE), HIGHEST)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """Rows in time order; by time, one that was not reported yet is before the end of the next window."""
        times, rows = state.ring.columns[0][entries.slot], state.word(keys, E) - state.word(keys, F)
        due, filled, newest = state.word(keys, DUE), state.word(keys, FILLED), state.word(keys, NEWEST)
        fits = state.in_rings(keys) & (newest >= 0) & entries.each(len(keys), entries.rising(times, equal=True))
        if self.within == ROWS:
            fits &= rows <= self.n
        if self.trigger == TIME:
            last = entries.ends(len(keys), times, 0)[1]
            return fits & ((filled == 0) | (filled == 1) & (rows > 0) & (due > last) & (due - int(self.every) <= last))
        return fits & (filled >= 0) & (filled <= 2) & ((filled == 0) | (rows > 0))

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, E) == state.word(keys, F)


class LastState(WalkState):
    """Beside the times, the ring has the values of the column that rows are evicted by."""

    def __init__(self, table: Table, by: np.dtype, evicted_by: np.dtype) -> None:
        """`by`, `evicted_by`: the types of numbers along the two columns; int64 where there is none."""
        super().__init__(table, np.int64, words=[0, 0, 0], values=evicted_by)
        self.by, self.evicted_by = by, evicted_by


def _number(measure: Measure, columns: Mapping[str, Column], *lengths: Any) -> np.dtype:
    """The type of numbers along a column: int64 where it and all lengths along it are whole, else float64."""
    if measure.column is None:
        return np.dtype(np.int64)
    column = columns[measure.column]
    if column.kind == "object" and all(value is None for value in column.values.tolist()):
        return np.dtype(np.float64)
    if column.kind not in ("int64", "float64") or column.dtype.kind in "mM":
        raise WindrowError(f"column '{measure.column}' holds {column.dtype}; a window on it needs numbers")
    whole = column.kind == "int64" and all(isinstance(length, int) for length in lengths)
    return np.dtype(np.int64 if whole else np.float64)


def _values(measure: Measure, rows: StepRows, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The values of a column as numbers of this type, and which rows have one."""
    if measure.column is None or not len(rows):
        return np.zeros(0, dtype), np.zeros(0, bool)
    column = rows.readable[measure.column]
    there = np.ones(len(column.values), bool) if column.mask is None else np.array(column.mask)
    if not there.any():
        return np.zeros(len(there), dtype), there
    if _number(measure, rows.readable) == np.float64:
        if dtype != np.float64:
            raise WindrowError(f"column '{measure.column}' held whole numbers so far, and now {column.dtype}")
        there &= np.isfinite(column.values)
    return np.where(there, column.values, 0).astype(dtype), there


@walker
def _walk(facts, runs, rows, known, out, at):
    by, within, every, origin, span, delta, lowest, partial = facts
    times, number, marks, marked, values, valued = rows
    words, own, ring, held = known.words, known.first, known.ring, known.values
    u, i, c, w, peak = at[0], at[1], at[2], at[3], at[4]
    while u < len(runs.key):
        k = runs.key[u]
        f, e = words[k, own + F], words[k, own + E]
        due, filled, low = words[k, own + DUE], words[k, own + FILLED], words[k, own + F0]
        o, m, z = words[k, own + BASE], words[k, own + SIZE] - 1, runs.end[u]
        if i < 0:
            i = runs.begin[u]
            out.cuts[u], out.wins[u] = c, w
            peak = e - f
        while i <= z:
            # what has triggered before this row, or before event time went on
            if by == BY_TIME:
                now = times[i] if i < z else runs.until[u]
                if filled != 0 and due <= now:
                    out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                    out.start[w], out.end[w] = ring[o + (f & m)], due
                    w += 1
                    filled = 0
            elif by == BY_COLUMN and i < z and filled == 1 and marked[i] and marks[i] >= origin + due * every:
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = number[i] - (e - f), number[i]
                w += 1
                filled = 0
            if i == z:
                if by != BY_TIME and partial and filled != 0:
                    out.win_at[w], out.win_lo[w], out.whole[w] = i, f, False
                    out.start[w], out.end[w] = words[k, own + NEWEST] - (e - f), words[k, own + NEWEST]
                    w += 1
                    filled = 0
                break
            if e - (f if low < 0 else low) > m:
                words[k, own + F], words[k, own + E] = f, e
                words[k, own + DUE], words[k, own + FILLED] = due, filled
                at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
                return NO_RING
            # the row comes, and others go
            if by == BY_TIME and filled == 0:
                due = origin + next_edge(times[i], (every, origin, None, None)) * every
            elif by == BY_COLUMN and marked[i] and filled != 1:
                due = next_edge(marks[i], (every, origin, None, None))
            if by != BY_COLUMN or marked[i]:
                filled = 1
            elif filled == 0:
                filled = 2
            ring[o + (e & m)] = times[i]
            if within == BY_COLUMN:  # a row without a value stands where the one before it stands
                before = held[o + ((e - 1) & m)] if f < e else lowest
                held[o + (e & m)] = values[i] if valued[i] else before
            e += 1
            if within == BY_ROWS:
                f = max(f, e - span)
            elif within == BY_TIME:
                while ring[o + (f & m)] <= times[i] - span:
                    f += 1
            elif held[o + ((e - 1) & m)] > lowest:
                while held[o + (f & m)] <= held[o + ((e - 1) & m)] - delta:
                    f += 1
            out.cut_at[c], out.cut_keep[c] = i, min(f, e - 1)
            c += 1
            peak = max(peak, e - f)
            words[k, own + NEWEST] = number[i] + 1
            i += 1
            if by == BY_ROWS and number[i - 1] >= origin and (number[i - 1] + 1 - origin) % every == 0:
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = number[i - 1] + 1 - (e - f), number[i - 1] + 1
                w += 1
                filled = 0
        words[k, own + F], words[k, own + E] = f, e
        words[k, own + DUE], words[k, own + FILLED] = due, filled
        out.keep[u], out.peak[u] = f, peak
        u += 1
        i = -1
    at[2], at[3] = c, w
    return DONE
