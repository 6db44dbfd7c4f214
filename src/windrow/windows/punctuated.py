"""Punctuated windows: a new one begins at each row where a predicate holds, and ends the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.engine.table import Table
from windrow.engine.walking import DONE, OWN, E, Entries, F, Runs, Walked, WalkState, walk, walker
from windrow.engine.walks import HIGHEST
from windrow.windows.base import ROWS, Measure, StepRows, Window
from windrow.windows.predicates import Predicate

#: the row number of the first row of the window that is open (where E > F)
FIRST = OWN


@dataclass(frozen=True)
class Punctuated(Window):
    """From one row where the predicate holds to the next."""

    kind: ClassVar[str] = "punctuated"
    described: ClassVar[str] = "deterministic: a row's content tells whether a window begins with it"
    by_content: ClassVar[bool] = True
    predicate: Predicate
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return self.predicate.columns or ()

    @property
    def reads_any_column(self) -> bool:
        return self.predicate.columns is None

    def __str__(self) -> str:
        return f"punctuated, {self.predicate.text}"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, np.int64, words=[0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        at = np.flatnonzero(self.predicate.mask(rows.readable, len(rows)))
        return walk(_walk, state, (closing and partial,), runs, (at, rows.measures[ROWS]), len(at) + len(runs.key))

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.full(len(keys), HIGHEST)

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray:
        return (state.word(keys, E) - state.word(keys, F) <= 1) & (state.word(keys, FIRST) >= 0)

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.zeros(len(keys), bool)  # row numbers go on


@walker
def _walk(facts, runs, rows, known, out, at):
    partial = facts[0]
    marks, number = rows
    words, own = known.words, known.first
    j = c = w = 0
    for u in range(len(runs.key)):
        k = runs.key[u]
        f, e, first = words[k, own + F], words[k, own + E], words[k, own + FIRST]
        out.cuts[u], out.wins[u] = c, w
        while j < len(marks) and marks[j] < runs.end[u]:
            i = marks[j]
            if f < e:
                out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                out.start[w], out.end[w] = first, number[i]
                w += 1
                f = e
            first = number[i]
            out.cut_at[c], out.cut_keep[c] = i, e
            c += 1
            e += 1
            j += 1
        if partial and f < e:
            out.win_at[w], out.win_lo[w], out.whole[w] = runs.end[u], f, False
            out.start[w], out.end[w] = first, first
            w += 1
            f = e
        words[k, own + F], words[k, own + E], words[k, own + FIRST] = f, e, first
        out.keep[u] = f
    at[2], at[3] = c, w
    return DONE
