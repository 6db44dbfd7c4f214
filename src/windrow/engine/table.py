"""What is known of each key: a row of 8-byte words. And pools of slots, of which a key has blocks.

Walks, window algorithms and counters each have some columns of the one table. To keep the state of the keys that a step
touches is to copy their rows, and to take the step back is to write them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.engine.kernel import cached, whole

#: slots of the smallest block
SMALLEST = 4


def grown(array: np.ndarray, size: int, fill: Any = 0) -> np.ndarray:
    """The array with room for `size` entries at least; new entries hold `fill`."""
    if len(array) >= size:
        return array
    shape = max(size, 2 * len(array)), *array.shape[1:]
    if isinstance(fill, int) and fill == 0:
        larger = np.zeros(shape, array.dtype)  # memory that nobody writes to costs nothing
    else:
        larger = np.empty(shape, array.dtype)
        larger[len(array) :] = fill
    larger[: len(array)] = array
    return larger


class Table:
    """Rows of words by key. A key that is new, or forgotten, has the row `first`."""

    def __init__(self) -> None:
        self.first = np.zeros(0, np.int64)
        self.words = np.zeros((0, 0), np.int64)

    def add(self, words: Sequence[int]) -> int:
        """More columns, which begin with these words; the first one's number. Only as long as there are no keys."""
        assert not len(self.words)
        self.first = np.append(self.first, np.array(words, np.int64))
        self.words = np.zeros((0, len(self.first)), np.int64)
        return len(self.first) - len(words)

    def grow(self, keys: int) -> None:
        """Room for so many keys."""
        if keys > len(self.words):
            self.words = grown(self.words, keys, self.first)

    def forget(self, keys: np.ndarray) -> None:
        self.words[keys] = self.first


def bits(numbers: Sequence[Any], dtypes: Sequence[np.dtype]) -> list[int]:
    """Numbers as words: floats by their bits.

    >>> bits((1.0, 2, True), [np.dtype(d) for d in ("float64", "int64", "bool")])
    [4607182418800017408, 2, 1]
    """
    return [
        int(np.array(number, np.float64).view(np.int64)) if dtype.kind == "f" else int(number)
        for number, dtype in zip(numbers, dtypes, strict=True)
    ]


@cached
@whole("numpy")
def number_rows(words, column, keys, begin, end, numbers):
    """Numbers the rows of each key from the word in `column` on, which counts them."""
    for u in range(len(keys)):
        row = words[keys[u]]
        for i in range(begin[u], end[u]):
            numbers[i] = row[column]
            row[column] += 1


@cached
@whole("numpy")
def count_keys(counts, keys, by):
    """Counts `by` more for each key, which may come several times; False: there was no room, and none is counted."""
    if len(keys) and keys.max() >= len(counts):
        return False
    for k in keys:
        counts[k] += by
    return True


def blocks_of(sizes: np.ndarray) -> np.ndarray:
    """The size of a block for each number of slots: a power of two.

    >>> blocks_of(np.array([1, 4, 5, 64, 65])).tolist()
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


class Pool:
    """Columns of slots, given out in blocks.

    Blocks that a step gives up keep their content until it is over: then (`commit`) they are free. If it is taken back,
    those are free that it was given.
    """

    def __init__(self, dtypes: Sequence[Any]) -> None:
        self.columns = tuple(np.zeros(0, dtype) for dtype in dtypes)
        self.used = 0  # slots that were ever given out
        self._free: dict[int, list[int]] = {}  # blocks by size
        self._taken: list[tuple[int, int]] = []  # (base, size) of this step
        self._given_up: list[tuple[int, int]] = []

    def take(self, sizes: np.ndarray) -> np.ndarray:
        """Blocks of these sizes; where they begin. Few sizes should differ: a block is used again for its size only."""
        bases = np.empty(len(sizes), np.int64)
        for size in np.unique(sizes).tolist():
            at = np.flatnonzero(sizes == size)
            free = self._free.get(size, [])
            again = [free.pop() for _ in range(min(len(free), len(at)))]
            fresh = len(at) - len(again)
            bases[at] = np.append(np.array(again, np.int64), self.used + size * np.arange(fresh, dtype=np.int64))
            self.used += size * fresh
        self._taken += zip(bases.tolist(), sizes.tolist(), strict=True)
        self.columns = tuple(grown(column, self.used) for column in self.columns)
        return bases

    def give_up(self, bases: np.ndarray, sizes: np.ndarray) -> None:
        """Blocks that are needed no more, if the step stays; those of size 0 are none."""
        self._given_up += [block for block in zip(bases.tolist(), sizes.tolist(), strict=True) if block[1]]

    def commit(self) -> None:
        """The step stays."""
        if self._taken or self._given_up:
            self._release(self._given_up)
            self._taken, self._given_up = [], []

    def rollback(self) -> None:
        """The step is taken back."""
        self._release(self._taken)
        self._taken, self._given_up = [], []

    def _release(self, blocks: list[tuple[int, int]]) -> None:
        for base, size in blocks:
            self._free.setdefault(size, []).append(base)
