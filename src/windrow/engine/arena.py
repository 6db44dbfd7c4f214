"""Rings of many keys in one set of columns: each key has a block of slots, a power of two of them, or none.

A block that has become too small is given up for a larger one; a key that is forgotten gives its block back. Blocks
that are given up keep their content until the step is over (`commit`), so that the step can be taken back (`rollback`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

#: slots of the smallest block
SMALLEST = 4


class Mark(NamedTuple):
    """The blocks that some keys had when a step began."""

    keys: np.ndarray
    base: np.ndarray
    size: np.ndarray


def grown(array: np.ndarray, size: int, fill: Any = 0) -> np.ndarray:
    """The array with room for `size` entries at least; new entries hold `fill`."""
    if len(array) >= size:
        return array
    larger = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    larger[len(array) :] = fill
    return larger


class Blocks:
    """Which block of slots each key has: `base[k]` to `base[k] + size[k]`."""

    def __init__(self) -> None:
        self.base = np.zeros(0, np.int64)
        self.size = np.zeros(0, np.int64)
        self.used = 0  # slots that were ever given out
        self._free: dict[int, list[int]] = {}  # blocks by size, to be given out again
        self._given_up: list[tuple[int, int]] = []  # (base, size), not to be used before the step is over

    def grow(self, keys: int) -> None:
        """Room for more keys, which have no block yet."""
        self.base, self.size = grown(self.base, keys), grown(self.size, keys)

    def enlarge(self, keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Gives keys (all different) blocks of at least the sizes wanted; the places of those that have moved."""
        small = np.flatnonzero(wanted > self.size[keys])
        if not len(small):
            return small
        sizes = powers_of_two(wanted[small])
        for size in np.unique(sizes).tolist():
            mine = keys[small[sizes == size]]
            before = zip(self.base[mine].tolist(), self.size[mine].tolist(), strict=True)
            self._given_up += [block for block in before if block[1]]
            free = self._free.get(size, [])
            again = [free.pop() for _ in range(min(len(free), len(mine)))]
            fresh = len(mine) - len(again)
            self.base[mine] = np.append(np.array(again, np.int64), self.used + size * np.arange(fresh, dtype=np.int64))
            self.size[mine] = size
            self.used += size * fresh
        return small

    def release(self, keys: np.ndarray) -> None:
        """The keys give their blocks back."""
        there = keys[self.size[keys] > 0]
        self._given_up += zip(self.base[there].tolist(), self.size[there].tolist(), strict=True)
        self.size[there] = 0

    def commit(self) -> None:
        """Blocks that were given up may be used again."""
        for base, size in self._given_up:
            self._free.setdefault(size, []).append(base)
        self._given_up.clear()

    def mark(self, keys: np.ndarray) -> Mark:
        """What `rollback` needs; a step changes the blocks of these keys only."""
        return Mark(keys, self.base[keys], self.size[keys])

    def rollback(self, mark: Mark) -> None:
        """The blocks as they were; those that were given out since are free."""
        before = set(zip(mark.base.tolist(), mark.size.tolist(), strict=True))
        now = zip(self.base[mark.keys].tolist(), self.size[mark.keys].tolist(), strict=True)
        for base, size in {*now, *self._given_up} - before:
            if size:
                self._free.setdefault(size, []).append(base)
        self._given_up.clear()
        self.base[mark.keys], self.size[mark.keys] = mark.base, mark.size


def powers_of_two(sizes: np.ndarray) -> np.ndarray:
    """The block size for each number of slots.

    >>> powers_of_two(np.array([1, 4, 5, 64, 65])).tolist()
    [4, 4, 8, 64, 128]
    """
    return np.int64(1) << np.ceil(np.log2(np.maximum(sizes, SMALLEST))).astype(np.int64)


def stretches(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(which, at): for each stretch of `count` numbers from `first` on, the stretch and the number.

    >>> which, at = stretches(np.array([5, 2]), np.array([2, 3]))
    >>> which.tolist(), at.tolist()
    ([0, 0, 1, 1, 1], [5, 6, 2, 3, 4])
    """
    which = np.repeat(np.arange(len(count)), count)
    begin = np.cumsum(count) - count
    return which, np.arange(len(which)) - begin[which] + first[which]


class Rings:
    """Rings of numbers: entry p of a key lies at p & (size - 1) of its block; entries F to E are in use."""

    def __init__(self, dtypes: Sequence[Any]) -> None:
        self.blocks = Blocks()
        self.columns = tuple(np.zeros(0, dtype) for dtype in dtypes)

    def enlarge(self, keys: np.ndarray, first: np.ndarray, end: np.ndarray, wanted: np.ndarray) -> None:
        """Larger blocks where they are wanted; the entries first to end go along."""
        blocks = self.blocks
        old_base, old_size = blocks.base[keys], blocks.size[keys]
        moved = blocks.enlarge(keys, wanted)
        if not len(moved):
            return
        self.columns = tuple(grown(column, blocks.used) for column in self.columns)
        moved = moved[old_size[moved] > 0]
        which, at = stretches(first[moved], end[moved] - first[moved])
        i = moved[which]
        source = old_base[i] + (at & (old_size[i] - 1))
        target = blocks.base[keys[i]] + (at & (blocks.size[keys[i]] - 1))
        for column in self.columns:
            column[target] = column[source]

    def entries(self, keys: np.ndarray, first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, ...]:
        """The entries first to end of each key, key by key."""
        which, at = stretches(first, end - first)
        k = keys[which]
        slot = self.blocks.base[k] + (at & (self.blocks.size[k] - 1))
        return tuple(column[slot] for column in self.columns)

    def put(self, keys: np.ndarray, first: np.ndarray, end: np.ndarray, entries: Sequence[np.ndarray]) -> None:
        """The inverse of `entries`, for keys that have none."""
        self.blocks.enlarge(keys, end - first)
        self.columns = tuple(grown(column, self.blocks.used) for column in self.columns)
        which, at = stretches(first, end - first)
        k = keys[which]
        slot = self.blocks.base[k] + (at & (self.blocks.size[k] - 1))
        for column, values in zip(self.columns, entries, strict=True):
            column[slot] = values
