"""Keys that are integers, numbered by a hash table over columns: open addressing, linear probing.

A slot holds the number of a key, or -1. The key itself is a row of `words`, by number.
"""

from __future__ import annotations

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.table import grown

#: 2^64 / golden ratio: multiplied by it, neighbouring keys fall far apart
SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: entries of `counts`: numbers ever given, numbers that are free, numbers that are new
GIVEN, FREE, NEW = 0, 1, 2
_NONE = np.empty(0, np.int64)


class IntegerIndex:
    """Rows of integers -> number. A number that is freed is given to another key."""

    def __init__(self, width: int) -> None:
        self.words = np.zeros((16, width), np.int64)
        self.used = np.zeros(16, bool)
        self.free = np.zeros(16, np.int64)
        self.new = np.zeros(16, np.int64)
        self.counts = np.zeros(3, np.int64)
        self.slots = np.full(64, -1, np.int64)

    def number(self, keys: np.ndarray) -> np.ndarray:
        """The number of each key; a key that is not known gets one."""
        out, done = np.empty(len(keys), np.int64), 0
        while True:
            done = _number(keys, done, self.words, self.used, self.free, self.new, self.counts, self.slots, out)
            if done == len(keys):
                return out
            self._grow(2 * len(self.words))

    def fill(self, keys: np.ndarray, free: list[int], new: list[int]) -> None:
        """Takes over keys that have the numbers 0, 1, 2 ... already; the numbers in `free` are nobody's."""
        self._grow(max(len(keys), 16))
        self.words[: len(keys)], self.used[: len(keys)] = keys, True
        self.used[free] = False
        self.free[: len(free)], self.new[: len(new)] = free, new
        self.counts[:] = len(keys), len(free), len(new)
        _rebuild(self.words, self.used, self.counts, self.slots)

    def _grow(self, size: int) -> None:
        """Room for so many keys, and four slots for each: a power of two."""
        size = 1 << (size - 1).bit_length()
        self.words, self.used = grown(self.words, size), grown(self.used, size, False)
        self.free, self.new = grown(self.free, size), grown(self.new, size)
        self.slots = np.full(4 * size, -1, np.int64)
        _rebuild(self.words, self.used, self.counts, self.slots)

    def forget(self, numbers: np.ndarray) -> None:
        _forget(numbers, self.words, self.used, self.free, self.counts, self.slots)

    def take_new(self) -> np.ndarray:
        """The numbers that were given since this was last asked."""
        count = self.counts[NEW]
        if not count:
            return _NONE
        new = self.new[:count].copy()
        self.counts[NEW] = 0
        return new

    @property
    def given(self) -> int:
        """One more than the largest number that was ever given."""
        return int(self.counts[GIVEN])

    def __len__(self) -> int:
        """How many keys are known."""
        return int(self.counts[GIVEN] - self.counts[FREE])

    def numbers(self) -> np.ndarray:
        """The numbers of all keys, ascending."""
        return np.flatnonzero(self.used[: self.given])


@whole("numpy")
def _slot(words, slots, key):
    """The slot of a key, or the free one where it belongs."""
    last = np.uint64(len(slots) - 1)
    h = np.uint64(0)
    for j in range(len(key)):
        h = (h ^ np.uint64(key[j])) * SPREAD
        h ^= h >> np.uint64(32)
    h &= last
    while True:
        number = slots[h]
        if number < 0:
            return h
        same = True
        for j in range(len(key)):
            same &= words[number, j] == key[j]
        if same:
            return h
        h = (h + np.uint64(1)) & last


@cached
@whole("numpy")
def _number(keys, begin, words, used, free, new, counts, slots, out):
    """Numbers keys from `begin` on; where it stopped: at the end, or where there is no room for another key."""
    for i in range(begin, len(keys)):
        at = _slot(words, slots, keys[i])
        number = slots[at]
        if number < 0:
            if counts[FREE] > 0:
                if counts[NEW] == len(new):
                    return i
                counts[FREE] -= 1
                number = free[counts[FREE]]
            else:
                if counts[GIVEN] == len(words) or counts[NEW] == len(new):
                    return i
                number = counts[GIVEN]
                counts[GIVEN] += 1
            slots[at] = number
            words[number] = keys[i]
            used[number] = True
            new[counts[NEW]] = number
            counts[NEW] += 1
        out[i] = number
    return len(keys)


@cached
@whole("numpy")
def _rebuild(words, used, counts, slots):
    for number in range(counts[GIVEN]):
        if used[number]:
            slots[_slot(words, slots, words[number])] = number


@cached
@whole("numpy")
def _forget(numbers, words, used, free, counts, slots):
    last = len(slots) - 1
    for number in numbers:
        hole = np.int64(_slot(words, slots, words[number]))
        slots[hole] = -1
        used[number] = False
        free[counts[FREE]] = number
        counts[FREE] += 1
        at = (hole + 1) & last
        while slots[at] >= 0:  # the entries behind the hole move up, so that each is found from its own place on
            other = slots[at]
            slots[at] = -1
            slots[_slot(words, slots, words[other])] = other
            at = (at + 1) & last
