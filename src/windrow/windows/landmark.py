"""Landmark windows: from a landmark row on, reported every so often, until the next landmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.engine.kernel import whole
from windrow.engine.table import Table
from windrow.engine.walking import DONE, OWN, E, Entries, F, Runs, Walked, WalkState, walk, walker
from windrow.engine.walks import HIGHEST, check_room, edge, next_edge
from windrow.windows.base import TIME, Measure, StepRows, Window
from windrow.windows.predicates import Predicate

#: of the landmark that is open (where E > F): its value, the end of the step that its newest row is in, and whether
#: that step has a row that was not reported yet
FIRST, STEP, ROWS_IN_STEP = OWN, OWN + 1, OWN + 2


@dataclass(frozen=True)
class Landmark(Window):
    """From a row where `begin` holds up to every multiple of `every` after it, until the next such row."""

    kind: ClassVar[str] = "landmark"
    unique_start: ClassVar[bool] = False
    described: ClassVar[str] = "deterministic: a row's content tells whether a window begins with it"
    by_content: ClassVar[bool] = True
    begin: Predicate
    every: Any
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(self.begin.columns or ()), *super().columns)

    @property
    def reads_any_column(self) -> bool:
        return self.begin.columns is None

    def __str__(self) -> str:
        return f"landmark, {self.begin.text}, every {self.measure.spelled(self.every)}"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, np.int64, words=[0, 0, 0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        values = rows.measures[self.measure]
        every = int(self.every)
        if len(values):
            check_room(int(values.min()), int(values.max()) + every, f"landmark windows every {every}")
        marks = self.begin.mask(rows.readable, len(rows))
        facts = np.int64(every), self._grid(values), partial
        return walk(_walk, state, facts, runs, (values, marks), len(values) + len(runs.key))

    def _grid(self, values: np.ndarray) -> tuple | None:
        """Where steps end, whatever the landmark; None: they are counted from it."""
        return None

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        if self.measure != TIME:
            return np.full(len(keys), HIGHEST)
        return np.where(state.word(keys, ROWS_IN_STEP) > 0, state.word(keys, STEP), HIGHEST)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        open_, filled = state.word(keys, E) - state.word(keys, F), state.word(keys, ROWS_IN_STEP)
        follows = (open_ == 1) & (state.word(keys, STEP) > state.word(keys, FIRST))
        return (open_ <= 1) & ((filled == 0) | ((filled == 1) & follows))

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """A landmark is open until the next one."""
        return (state.word(keys, E) == state.word(keys, F)) & (self.measure == TIME)


@whole("numpy")
def _step_end(x, start, every, grid):
    """The end of the step that x lies in. Unsigned: x may lie 2^64 from the landmark."""
    if grid is not None:
        return edge(next_edge(x, grid), grid)
    steps = (np.uint64(x) - np.uint64(start)) // np.uint64(every) + np.uint64(1)
    return np.int64(np.uint64(start) + steps * np.uint64(every))


@walker
def _walk(facts, runs, rows, known, out, at):
    every, grid, partial = facts
    values, marks = rows
    words, own = known.words, known.first
    c = w = 0
    for u in range(len(runs.key)):
        k = runs.key[u]
        f, e, first = words[k, own + F], words[k, own + E], words[k, own + FIRST]
        step, filled = words[k, own + STEP], words[k, own + ROWS_IN_STEP]
        out.cuts[u], out.wins[u] = c, w
        for i in range(runs.begin[u], runs.end[u]):
            x = values[i]
            if filled != 0 and step <= x:
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = first, step
                w += 1
                filled = 0
            if marks[i]:
                if partial and filled != 0:  # the landmark cuts the step short
                    out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                    out.start[w], out.end[w] = first, x
                    w += 1
                first = x
                filled = 0
                out.cut_at[c], out.cut_keep[c] = i, e
                c += 1
                f = e
                e += 1
            if f < e:
                if filled == 0:
                    step = _step_end(x, first, every, grid)
                filled = 1
        if filled != 0 and step <= runs.until[u]:
            out.win_at[w], out.win_lo[w], out.whole[w] = runs.end[u], f, True
            out.start[w], out.end[w] = first, step
            w += 1
            filled = 0
        words[k, own + F], words[k, own + E], words[k, own + FIRST] = f, e, first
        words[k, own + STEP], words[k, own + ROWS_IN_STEP] = step, filled
        out.keep[u] = f
        out.peak[u] = 1
    at[2], at[3] = c, w
    return DONE
