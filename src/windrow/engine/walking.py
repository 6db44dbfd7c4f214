"""What the walks of window kinds share: they go through a step's rows by key and say where slices begin and windows end.

A walk needs no aggregate, so it is compiled once for all queries. It keeps what it knows of a key in a row of registers
(`ints`, `nums`: numbers of the measure's own type) and, where it must know every open slice or window, in a ring. Where
it runs out of room it returns, is given more, and goes on from there.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.arena import Mark, Rings, grown
from windrow.engine.compiler import cached, whole

#: registers that every kind has: slices (or rows) F to E are in use, and F when the step began
F, E, F0 = 0, 1, 2
OWN = 3
#: how a walk ends
DONE, NO_ROOM, NO_RING = 0, 1, 2

#: what a walk writes. Cut c is before row cut_at[c], and slices from number cut_keep[c] on are needed there. Window w is
#: answered before row win_at[w] from slice win_lo[w] on; whole[w] is false where its end is not known yet.
#: For run u: where its cuts and windows begin, from which slice on it needs them, and the most it had at once
Out = namedtuple("Out", "cut_at cut_keep win_at win_lo start end whole cuts wins keep peak")
#: what a walk knows: registers by key, and the ring of each key
Known = namedtuple("Known", "ints nums base size ring")
#: stretches of rows by key; each run's measure has come to `until`
Walked = namedtuple("Walked", "key begin end until")


def walker(function: Callable) -> Callable:
    """The jit of a walk."""
    return cached(whole("numpy")(function))


class Found(NamedTuple):
    """What a walk found: see `Out`; `key` is the key of each window."""

    cut_at: np.ndarray
    cut_keep: np.ndarray
    win_at: np.ndarray
    win_lo: np.ndarray
    start: np.ndarray
    end: np.ndarray
    whole: np.ndarray
    cuts: np.ndarray
    wins: np.ndarray
    keep: np.ndarray
    peak: np.ndarray


class WalkState:
    """What a walk knows of each key, from step to step."""

    def __init__(self, dtype: Any, ints: int, nums: int, ring: int, first: int = 0) -> None:
        """`ints` and `nums` registers; a ring of `ring` columns of the measure's type beside one of ints, 0: none."""
        self.dtype = np.dtype(dtype)
        self.ints = np.zeros((0, OWN + ints), np.int64)
        self.nums = np.zeros((0, max(nums, 1)), self.dtype)
        self.rings = Rings([np.int64, self.dtype]) if ring else Rings([np.int64, self.dtype])
        self.size = 0
        self.first = first
        self._saved: tuple[np.ndarray, np.ndarray, np.ndarray, Mark] | None = None

    def grow(self, keys: int) -> None:
        if keys <= self.size:
            return
        self.ints, self.nums = grown(self.ints, keys), grown(self.nums, keys)
        self.rings.blocks.grow(len(self.ints))
        self.size = keys

    def known(self) -> Known:
        blocks = self.rings.blocks
        return Known(self.ints, self.nums, blocks.base, blocks.size, self.rings.columns)

    def begin(self, keys: np.ndarray) -> None:
        """What takes the step back is kept."""
        self._saved = (keys, self.ints[keys], self.nums[keys], self.rings.blocks.mark(keys))
        self.ints[keys, F0] = self.ints[keys, F]

    def rollback(self) -> None:
        if self._saved is not None:
            keys, ints, nums, mark = self._saved
            self.ints[keys], self.nums[keys] = ints, nums
            self.rings.blocks.rollback(mark)
            self._saved = None

    def commit(self) -> None:
        self._saved = None
        self.rings.blocks.commit()

    def forget(self, keys: np.ndarray) -> None:
        """The keys begin anew."""
        self.ints[keys], self.nums[keys] = 0, 0
        self.rings.blocks.release(keys)


def walk(
    step: Callable, state: WalkState, facts: tuple, runs: Walked, rows: tuple, closing: bool, cuts: int
) -> Found:
    """Runs a walk to its end. `cuts` is a guess of how many cuts there are."""
    n = len(runs.key)
    dtype = state.dtype
    room = cuts + n + 16
    per_run = [np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)]
    out = Out(
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64),
        np.empty(room, dtype), np.empty(room, dtype), np.empty(room, bool), *per_run,
    )  # fmt: skip
    at = np.array([0, -1, 0, 0, 0], np.int64)  # run, row, cuts, windows, peak of the run
    while True:
        how = step(facts, runs, rows, closing, state.known(), out, at)
        if how == DONE:
            break
        if how == NO_ROOM:
            size = 2 * len(out.cut_at)
            out = Out(*(grown(column, size) for column in out[:7]), *out[7:])
        else:
            key = runs.key[at[0] : at[0] + 1]
            first, end = state.ints[key, F0], state.ints[key, E]
            state.rings.enlarge(key, first, end, np.maximum(2 * (end - first), 4))
    c, w = int(at[2]), int(at[3])
    out.cuts[n], out.wins[n] = c, w
    return Found(
        out.cut_at[:c], out.cut_keep[:c], out.win_at[:w], out.win_lo[:w], out.start[:w], out.end[:w], out.whole[:w],
        *per_run,
    )  # fmt: skip
