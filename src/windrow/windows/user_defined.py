"""User-defined windows (paper 3 §3.2): a class says of each row how many windows begin with it and end before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.engine.table import Table
from windrow.engine.user_windows import discretize_rows
from windrow.engine.walking import (
    BASE,
    DONE,
    F0,
    NO_RING,
    OWN,
    SIZE,
    E,
    F,
    Runs,
    Walked,
    WalkState,
    walk,
    walker,
)
from windrow.engine.walks import HIGHEST
from windrow.errors import WindrowError
from windrow.windows.base import ROWS, TIME, Measure, StepRows, Window

#: slices that were cut; the ring holds for each open window (F to E) the slice and the value that it begins with
CUT = OWN


@dataclass(frozen=True)
class UserDefined(Window):
    """For each row, how many windows begin with it and how many of the oldest end before it."""

    kind: ClassVar[str] = "user_defined"
    described: ClassVar[str] = "deterministic: a row's content tells whether a window begins with it"
    by_content: ClassVar[bool] = True
    edges_in_time: ClassVar[bool] = True
    discretize: Any
    measure: Measure

    def __str__(self) -> str:
        made = self.discretize if isinstance(self.discretize, type) else type(self.discretize)
        return f"user-defined, {made.__name__}"

    @property
    def reads_any_column(self) -> bool:
        return True

    @property
    def held(self) -> str:
        return "as many slices as windows are open"

    def state(self, table: Table, dtype: Any) -> WalkState:
        return UserState(table, np.int64, words=[0])

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        assert isinstance(state, UserState)
        values = rows.measures.get(TIME, rows.measures[ROWS])
        begins, ends = state.asked(self.discretize, runs, rows)
        room = int(ends.sum()) + len(values) + len(runs.key)
        if closing and partial:
            room += int((state.word(runs.key, E) - state.word(runs.key, F)).sum()) + int(begins.sum())
        bad = np.full(1, -1, np.int64)
        found = walk(_walk, state, (closing and partial, bad), runs, (values, begins, ends), room)
        if bad[0] >= 0:
            raise WindrowError(f"row {rows.measures[ROWS][bad[0]]} of its key: it ends more windows than are open")
        return found

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.full(len(keys), HIGHEST)

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.zeros(len(keys), bool)  # the user's state goes on


class UserState(WalkState):
    """With what each key's own object holds."""

    def __init__(self, table: Table, dtype: Any, words: list[int]) -> None:
        super().__init__(table, dtype, words)
        self.objects: dict[int, dict[str, Any]] = {}
        self._before: dict[int, dict[str, Any] | None] = {}

    def asked(self, prototype: Any, runs: Runs, rows: StepRows) -> tuple[np.ndarray, np.ndarray]:
        """(begins, ends) for each row; the keys' objects go on."""
        keys = runs.key.tolist()
        before = [self.objects.get(k) for k in keys]
        seg = np.append(runs.begin, runs.end[-1] if len(runs.end) else 0)
        begins, ends, after = discretize_rows(prototype, rows.readable, seg, before)
        for k, old, new in zip(keys, before, after, strict=True):
            if new is not None:
                self._before[k] = old
                self.objects[k] = new
        return begins, ends

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
    values, begins, ends = rows
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
        while i < z:
            if e + begins[i] - (f if low < 0 else low) > m + 1:
                words[k, own + F], words[k, own + E], words[k, own + CUT] = f, e, cut
                at[0], at[1], at[2], at[3], at[4] = u, i, c, w, peak
                return NO_RING
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
