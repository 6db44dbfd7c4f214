"""Every so often the last n rows: which those are is not known when they come (paper 3 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

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
from windrow.engine.walks import HIGHEST, check_room, next_edge
from windrow.windows.base import TIME, Measure, StepRows, Window
from windrow.windows.durations import spelled

#: where the next window ends, and whether a row has come since the one before; the ring holds the rows' times
DUE, FILLED = OWN, OWN + 1


@dataclass(frozen=True)
class Last(Window):
    """At every multiple of `every`, the last n rows. Every row is a slice of its own."""

    kind: ClassVar[str] = "last"
    described: ClassVar[str] = "not deterministic: a row does not tell which windows it will be in (paper 3 §3.2)"
    sliced: ClassVar[str] = "every row is a slice of its own"
    row_slices: ClassVar[bool] = True
    n: int
    every: int
    origin: int
    measure: Measure = TIME

    def __str__(self) -> str:
        return f"last {self.n:,} rows every {spelled(self.every)}"

    @property
    def held(self) -> str:
        return f"{self.n:,} rows"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, np.int64, words=[0, 0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        values = rows.measures[TIME]
        every, origin = int(self.every), int(self.origin) % int(self.every)
        if len(values):
            check_room(int(values.min()) - 2 * every, int(values.max()) + 2 * every, f"windows every {every}")
        facts = np.int64(self.n), np.int64(every), np.int64(origin)
        return walk(_walk, state, facts, runs, (values,), len(values) + len(runs.key))

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.where(state.word(keys, FILLED) > 0, state.word(keys, DUE), HIGHEST)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        """Rows in time order; one that was not reported yet is before the end of the next window."""
        times, rows = state.ring.columns[1][entries.slot], state.word(keys, E) - state.word(keys, F)
        newest = entries.ends(len(keys), times, 0)[1]
        due, filled = state.word(keys, DUE), state.word(keys, FILLED)
        waits = (filled == 1) & (rows > 0) & (due > newest) & (due - int(self.every) <= newest)
        rising = entries.each(len(keys), entries.rising(times, equal=True))
        return state.in_rings(keys) & (rows <= self.n) & ((filled == 0) | waits) & rising

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return state.word(keys, E) == state.word(keys, F)


@walker
def _walk(facts, runs, rows, known, out, at):
    n, every, origin = facts
    values = rows[0]
    words, own, times = known.words, known.first, known.values
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
            now = values[i] if i < z else runs.until[u]
            if filled != 0 and due <= now:
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = times[o + (f & m)], due
                w += 1
                filled = 0
            if i == z:
                break
            if e - (f if low < 0 else low) > m:
                words[k, own + F], words[k, own + E] = f, e
                words[k, own + DUE], words[k, own + FILLED] = due, filled
                at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
                return NO_RING
            if filled == 0:
                due = origin + next_edge(now, 0 * every, every, origin) * every
                filled = 1
            times[o + (e & m)] = now
            e += 1
            if e - f > n:
                f = e - n
            out.cut_at[c], out.cut_keep[c] = i, min(f, e - 1)
            c += 1
            peak = max(peak, e - f)
            i += 1
        words[k, own + F], words[k, own + E] = f, e
        words[k, own + DUE], words[k, own + FILLED] = due, filled
        out.keep[u], out.peak[u] = f, peak
        u += 1
        i = -1
    at[2], at[3] = c, w
    return DONE
