"""Which keys are due: a heap of (event time, key), so that nobody looks through all keys.

An entry counts as long as its key is still due at that time; what it was due at before stays in the heap until its time
comes, and is passed over then.

Entries that a step takes out stay behind the heap until the step is over, so that it can be taken back at any moment.
"""

from __future__ import annotations

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.table import grown
from windrow.engine.walks import HIGHEST

_NONE = np.empty(0, np.int64)


class Due:
    """Keys by the event time at which they have to be looked at."""

    def __init__(self) -> None:
        self.times = np.zeros(16, np.int64)
        self.keys = np.zeros(16, np.int64)
        self.size = np.zeros(2, np.int64)  # entries of the heap; those behind it that the step took out

    def push(self, keys: np.ndarray, times: np.ndarray) -> None:
        """Keys that are due at these times."""
        n = int(self.size[0]) + len(keys)
        self.times, self.keys = grown(self.times, n), grown(self.keys, n)
        _push(self.times, self.keys, self.size, keys, times)

    def schedule(self, words: np.ndarray, column: int, keys: np.ndarray, times: np.ndarray) -> bool:
        """Keys are due at these times, which the table has in a column; those for which that is news are pushed.

        Whether some of them are due at no time.
        """
        n = int(self.size[0]) + len(keys)
        if n > len(self.times):
            self.times, self.keys = grown(self.times, n), grown(self.keys, n)
        return _schedule(self.times, self.keys, self.size, words, column, keys, times)

    def pop(self, words: np.ndarray, column: int, until: int) -> np.ndarray:
        """The keys that are due by this time, ascending: entries that the table's column does not know do not count."""
        if not self.size[0] or self.times[0] > until:
            return _NONE
        _pop(self.times, self.keys, self.size, until)
        first, count = self.size.tolist()
        keys = self.keys[first : first + count].copy()
        n = _counting(words, column, keys, self.times[first : first + count])
        return keys[:n] if n < 2 else np.unique(keys[:n])

    def commit(self) -> None:
        """What was taken out stays out."""
        self.size[1] = 0

    def rollback(self) -> None:
        """What was taken out since `commit` is put back."""
        first, count = self.size.tolist()
        if count:
            self.push(self.keys[first : first + count].copy(), self.times[first : first + count].copy())
            self.size[1] = 0


@whole("numpy")
def _sift_up(times, keys, i, t, k):
    while i > 0 and times[(i - 1) >> 1] > t:
        up = (i - 1) >> 1
        times[i], keys[i] = times[up], keys[up]
        i = up
    times[i], keys[i] = t, k


@cached
@whole("numpy")
def _push(times, keys, size, new_keys, new_times):
    for j in range(len(new_keys)):
        _sift_up(times, keys, size[0], new_times[j], new_keys[j])
        size[0] += 1


@cached
@whole("numpy")
def _schedule(times, keys, size, words, column, new_keys, new_times):
    never = False
    for j in range(len(new_keys)):
        t, k = new_times[j], new_keys[j]
        never |= t == HIGHEST
        if words[k, column] != t:
            words[k, column] = t
            if t < HIGHEST:
                _sift_up(times, keys, size[0], t, k)
                size[0] += 1
    return never


@cached
@whole("numpy")
def _counting(words, column, keys, times):
    """Moves the keys whose entries count to the front; how many there are."""
    n = 0
    for j in range(len(keys)):
        if words[keys[j], column] == times[j]:
            keys[n] = keys[j]
            n += 1
    return n


@cached
@whole("numpy")
def _pop(times, keys, size, until):
    n = size[0]
    while n > 0 and times[0] <= until:
        n -= 1
        t, k = times[n], keys[n]
        times[n], keys[n] = times[0], keys[0]
        i = 0
        while 2 * i + 1 < n:
            down = 2 * i + 1
            if down + 1 < n and times[down + 1] < times[down]:
                down += 1
            if times[down] >= t:
                break
            times[i], keys[i] = times[down], keys[down]
            i = down
        if n > 0:
            times[i], keys[i] = t, k
    size[1] += size[0] - n
    size[0] = n
