"""A tenth kind of window, defined in a file of its own: a new window begins when a row is `jump` above the one before.

It has its own walk in plain Python; a walk of the library's would be compiled (`engine.walking.walker`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.engine.table import Table
from windrow.engine.walking import DONE, OWN, E, F, Runs, Walked, WalkState, walk
from windrow.engine.walks import HIGHEST
from windrow.windows.base import ROWS, Measure, StepRows, Window

#: the number of the first row of the window that is open, and the newest value
FIRST, NEWEST = OWN, OWN + 1


@dataclass(frozen=True)
class Jumps(Window):
    """Ends where the next row is more than `jump` above the newest one."""

    kind: ClassVar[str] = "jumps"
    described: ClassVar[str] = "deterministic: a row's content tells whether a window begins with it"
    by_content: ClassVar[bool] = True
    column: str
    jump: int
    measure: Measure = ROWS

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __str__(self) -> str:
        return f"jumps of {self.column} by more than {self.jump}"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, np.int64, words=[0, 0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        values = rows.readable[self.column].values
        return walk(_walk, state, (self.jump,), runs, (values, rows.measures[ROWS]), len(values) + len(runs.key))

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.full(len(keys), HIGHEST)

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.zeros(len(keys), bool)


def _walk(facts, runs, rows, known, out, at):
    values, number = rows
    words, own = known.words, known.first
    c = w = 0
    for u, k in enumerate(runs.key):
        f, e, first, newest = (words[k, own + word] for word in (F, E, FIRST, NEWEST))
        out.cuts[u], out.wins[u] = c, w
        for i in range(runs.begin[u], runs.end[u]):
            if f == e or values[i] > newest + facts[0]:
                if f < e:
                    out.win_at[w], out.win_lo[w], out.whole[w] = i, f, True
                    out.start[w], out.end[w] = first, number[i]
                    w += 1
                    f = e
                out.cut_at[c], out.cut_keep[c] = i, e
                c += 1
                e += 1
                first = number[i]
            newest = values[i]
        for word, value in ((F, f), (E, e), (FIRST, first), (NEWEST, newest)):
            words[k, own + word] = value
        out.keep[u], out.peak[u] = f, 1
    at[2], at[3] = c, w
    return DONE
