"""What the walks of window kinds share. A walk goes through a step's rows and says where slices begin and windows end.

A walk needs no aggregate, so it is compiled once for all queries. It keeps what it knows of a key in some words of the
key's row and, where it must know every open slice or window, in a ring. Where it runs out of room it returns, is given
more, and goes on from there.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.table import Pool, Table, blocks_of, grown, stretches

if TYPE_CHECKING:
    from windrow.aggregates.joins import Join
    from windrow.engine.keyed import KeyedWindows

#: words that every kind has: slices (or rows) F to E are in use; F when the step began, which must be found again
#: if it is taken back (-1: nothing was there); the ring's block
F, E, F0, BASE, SIZE = range(5)
OWN = 5
#: how a walk ends
DONE, NO_ROOM, NO_RING = 0, 1, 2

#: what a walk writes. Cut c is before row cut_at[c], and slices from number cut_keep[c] on are needed there. Window w
#: is answered before row win_at[w] from slice win_lo[w] on; whole[w] is false where its end is not known yet.
#: For run u: where its cuts and windows begin, from which slice on it needs them, the most it had at once, and whether
#: its open slice is complete (1): the next row begins another
Out = namedtuple("Out", "cut_at cut_keep win_at win_lo start end whole cuts wins keep peak closes")
#: what a walk knows: rows of words, the same as numbers of the measure's type, its first word, the ring's columns
Known = namedtuple("Known", "words numbers first ring values")
#: stretches of rows by key; each run's measure has come to `until`
Runs = namedtuple("Runs", "key begin end until")


def walker(function: Callable) -> Callable:
    """The jit of a walk."""
    return cached(whole("numpy")(function))


class Walked(NamedTuple):
    """What a walk found: see `Out`."""

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
    closes: np.ndarray


class Entries(NamedTuple):
    """What is in the rings of some keys, from the oldest on: which of the keys, its number, and where it lies."""

    which: np.ndarray
    number: np.ndarray
    slot: np.ndarray

    def rising(self, values: np.ndarray, equal: bool = False) -> np.ndarray:
        """Whether each value is above the one before it in its ring (or equal to it)."""
        found = np.ones(len(values), bool)
        same = self.which[1:] == self.which[:-1]
        found[1:] = ~same | (values[1:] > values[:-1]) | (equal & (values[1:] == values[:-1]))
        return found

    def each(self, keys: int, holds: np.ndarray) -> np.ndarray:
        """For each key whether something holds for all of its entries."""
        found = np.ones(keys, bool)
        found[self.which[~holds]] = False
        return found

    def ends(self, keys: int, values: np.ndarray, none: Any) -> tuple[np.ndarray, np.ndarray]:
        """For each key the value of its oldest entry and of its newest; `none` where there is no entry."""
        first, last = np.full(keys, none, values.dtype), np.full(keys, none, values.dtype)
        first[self.which[::-1]] = values[::-1]
        last[self.which] = values
        return first, last


class WalkState:
    """What a walk knows of each key, from step to step: words of a table, and a ring of (number, value) a key."""

    def __init__(self, table: Table, dtype: Any, words: Sequence[int] = (), values: Any = None) -> None:
        """`words`: what the kind's own words begin with, after those that every kind has.

        `values`: of which type the ring's values are, where that is not the measure's.
        """
        self.table, self.dtype = table, np.dtype(dtype)
        self.first = table.add([0] * OWN + list(words))
        self.width = OWN + len(words)
        self.ring = Pool([np.int64, self.dtype if values is None else np.dtype(values)])
        self._changed: list[tuple[np.ndarray, np.ndarray]] = []  # values that this step has changed, by slot
        self._known: Known | None = None

    @property
    def kept(self) -> list[tuple[KeyedWindows, Join]]:
        """The windows that the kind itself keeps, and of which aggregate."""
        return []

    def word(self, keys: np.ndarray, word: int) -> np.ndarray:
        """A word of some keys."""
        return self.table.words[keys, self.first + word]

    def number(self, keys: np.ndarray, word: int) -> np.ndarray:
        """A word of some keys that is a number of the measure's type."""
        return self.word(keys, word).view(self.dtype)

    def slots_at(self, keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Where slices of these keys lie in the ring's columns."""
        return self.word(keys, BASE) + (numbers & (self.word(keys, SIZE) - 1))

    def entries(self, keys: np.ndarray, apart: tuple[np.ndarray, np.ndarray] | None = None) -> Entries:
        """What is in the rings of these keys; `apart`: from which number on to which one it is not in memory."""
        sized = np.flatnonzero(self.word(keys, SIZE) > 0)
        mine = keys[sized]
        which, number = stretches(self.word(mine, F), self.word(mine, E) - self.word(mine, F))
        which = sized[which]
        if apart is not None:
            here = (number < apart[0][which]) | (number >= apart[1][which])
            which, number = which[here], number[here]
        return Entries(which, number, self.slots_at(keys[which], number))

    def in_rings(self, keys: np.ndarray) -> np.ndarray:
        """For each key whether all that it counts has a place in its ring."""
        return self.word(keys, E) - self.word(keys, F) <= self.word(keys, SIZE)

    def known(self) -> Known:
        """As the walk takes it."""
        words, columns = self.table.words, self.ring.columns
        if self._known is None or self._known.words is not words or self._known[3] is not columns[0]:
            self._known = Known(words, words.view(self.dtype), self.first, *columns)
        return self._known

    def enlarge(self, keys: np.ndarray, wanted: np.ndarray) -> None:
        """Rings of at least the sizes wanted, with what is in them."""
        words, at = self.table.words, self.first
        small = wanted > words[keys, at + SIZE]
        if not small.any():
            return
        keys, new = keys[small], blocks_of(wanted[small])
        first = words[keys, at + F0]
        self._move(keys, np.where(first < 0, words[keys, at + F], first), new)

    def trim(self, keys: np.ndarray, first: np.ndarray) -> None:
        """After a walk: what comes before `first` leaves the rings, and they give back most room that is not needed."""
        words, at = self.table.words, self.first
        words[keys, at + F] = first
        wanted = blocks_of(words[keys, at + E] - first)
        large = words[keys, at + SIZE] > 16 * wanted
        if large.any():
            self._move(keys[large], first[large], wanted[large])

    def _move(self, keys: np.ndarray, first: np.ndarray, new: np.ndarray) -> None:
        """Rings of other sizes, with what is in them from `first` on."""
        words, at = self.table.words, self.first
        base, size = words[keys, at + BASE], words[keys, at + SIZE]
        words[keys, at + BASE] = begin = self.ring.take(new)
        words[keys, at + SIZE] = new
        self.ring.give_up(base, size)
        which, entry = stretches(first, words[keys, at + E] - first)
        for column in self.ring.columns:
            column[begin[which] + (entry & (new[which] - 1))] = column[base[which] + (entry & (size[which] - 1))]

    def change(self, slots: np.ndarray, values: np.ndarray) -> None:
        """Other values beside slices that may have been there before the step; it can be taken back."""
        column = self.ring.columns[1]
        self._changed.append((slots, column[slots]))
        column[slots] = values

    def begin(self, keys: np.ndarray) -> None:
        """A step begins: what is in the rings must be found again if it is taken back."""
        _begin(self.table.words, self.first, keys)

    def commit(self) -> None:
        """The step stays."""
        self._changed = []
        self.ring.commit()

    def rollback(self) -> None:
        """The step is taken back; the table's words are its owner's to write back."""
        for slots, values in reversed(self._changed):
            self.ring.columns[1][slots] = values
        self._changed = []
        self.ring.rollback()

    def forget(self, keys: np.ndarray) -> None:
        """The keys give their rings back; their words are the table's to clear."""
        self.ring.give_up(self.word(keys, BASE), self.word(keys, SIZE))


@walker
def _begin(words, first, keys):
    for k in keys:
        words[k, first + F0] = words[k, first + F] if words[k, first + F] < words[k, first + E] else -1


def walk(step: Callable, state: WalkState, facts: tuple, runs: Runs, rows: tuple, cuts: int) -> Walked:
    """Runs a walk to its end. `cuts` is a guess of how many cuts, or windows, there are."""
    n, room = len(runs.key), cuts + 64
    state.begin(runs.key)
    by_run = np.zeros((5, n + 1), np.int64)
    places, edges = np.empty((4, room), np.int64), np.empty((2, room), state.dtype)
    out = Out._make([*places, *edges, np.empty(room, bool), *by_run])
    at = np.array([0, -1, 0, 0, 0])  # run, row, cuts, windows, peak of the run
    while (how := step(facts, runs, rows, state.known(), out, at)) != DONE:
        if how == NO_ROOM:
            out = Out._make([*(grown(column, 4 * len(out.cut_at)) for column in out[:7]), *by_run])
        else:
            key = runs.key[at[0] : at[0] + 1]
            state.enlarge(key, 2 * np.maximum(state.word(key, SIZE), 2))
    c, w = int(at[2]), int(at[3])
    out.cuts[n], out.wins[n] = c, w
    return Walked(
        out.cut_at[:c], out.cut_keep[:c], out.win_at[:w], out.win_lo[:w], out.start[:w], out.end[:w], out.whole[:w],
        out.cuts, out.wins, out.keep[:n], out.peak[:n], out.closes[:n],
    )  # fmt: skip


class ByRow(NamedTuple):
    """The windows of windows by row: row i has rows lo[i] to hi[i], counted within its key."""

    lo: np.ndarray
    hi: np.ndarray
    #: for each run: the number of its first row, the most rows of a window, the most that wait, the first still needed
    first: np.ndarray
    peak: np.ndarray
    waiting: np.ndarray
    keep: np.ndarray
