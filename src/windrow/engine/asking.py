"""Rows that ask: where the windows of a second table's rows begin and end among the rows that count.

Both tables are sorted by key, and along a measure within each key. So one walk finds how many rows an asking row has
passed, in a time that depends on the rows of both and not on the windows. It needs no aggregate: it is compiled once
for all queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.threads import ONE, Threads, ranges
from windrow.engine.walking import walker
from windrow.engine.walks import measured

#: asking rows that a thread places at a time
PART = 1 << 18


@dataclass(slots=True, eq=False)
class Asks:
    """Asking rows beside the rows that count. Run u is a key's: rows begin[u] to end[u], asks first[u] to last[u]."""

    values: np.ndarray  # of rows that count, along the measure
    now: np.ndarray  # where on the measure rows ask
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray
    last: np.ndarray
    windows: Callable[[], tuple[np.ndarray, np.ndarray]]  # of rows that count: the first row of each one's, and the end
    threads: Threads = ONE

    @classmethod
    def of(
        cls, keys: np.ndarray, values: np.ndarray, asking: np.ndarray, now: np.ndarray,
        windows: Callable[[], tuple[np.ndarray, np.ndarray]], threads: Threads = ONE,
    ) -> Asks:  # fmt: skip
        """Of rows and asks that are sorted by key: `keys` are those of the rows, `asking` those of the asks."""
        first = np.flatnonzero(np.append(True, asking[1:] != asking[:-1])) if len(asking) else np.empty(0, np.int64)
        used = asking[first]
        begin, end = np.searchsorted(keys, used, "left"), np.searchsorted(keys, used, "right")
        return cls(values, now, begin, end, first, np.append(first[1:], len(asking)), windows, threads)

    @property
    def start(self) -> np.ndarray:
        """For each ask the first row of its key."""
        return np.repeat(self.begin, self.last - self.first)

    def passed(self, now: np.ndarray, inclusive: bool) -> np.ndarray:
        """For each ask the first row that is not before `now` (with `inclusive`, nor at it). `now` rises in a run."""
        values, stops, found = measured(self.values), measured(now), np.empty(len(now), np.int64)

        def part(runs: tuple[int, int]) -> None:
            mine = slice(*runs)
            runs_of_both = self.begin[mine], self.end[mine], self.first[mine], self.last[mine]
            _passed(values, stops, *runs_of_both, inclusive, found)

        size = -(-len(self.first) * PART // max(len(now), 1)) if self.threads.count > 1 else len(self.first)
        self.threads.map(part, ranges(len(self.first), max(size, 1)))
        return found


class LiveAsks(NamedTuple):
    """Asks of a live query: run u is key[u]'s, asks first[u] to last[u], and rows begin[u] to end[u] that wait."""

    key: np.ndarray
    first: np.ndarray
    last: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    now: np.ndarray  # where on the measure rows ask
    values: np.ndarray  # of rows that wait, along the measure
    until: Any  # how far the measure has come, as far as that is known of all keys

    def passed(self, inclusive: bool) -> np.ndarray:
        """For each ask how many of its key's rows that wait are before it (or at it)."""
        found = np.empty(len(self.now), np.int64)
        _passed(
            measured(self.values), measured(self.now), self.begin, self.end, self.first, self.last, inclusive, found
        )
        return found - np.repeat(self.begin, self.last - self.first)


class Refused(NamedTuple):
    """An ask that the state cannot answer any more, and the oldest place on the measure that it can be asked at."""

    ask: int
    oldest: Any


@walker
def _passed(values, now, begin, end, first, last, inclusive, found):
    for u in range(len(begin)):
        i, z = begin[u], end[u]
        for j in range(first[u], last[u]):
            stop = now[j]
            while i < z and (values[i] < stop or (inclusive and values[i] == stop)):
                i += 1
            found[j] = i


def slices_between(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(cuts, begin, end): rows cut at every edge of windows lo to hi, which are runs of slices begin to end.

    Neither edge moves back.

    >>> [found.tolist() for found in slices_between(np.array([0, 5, 5]), np.array([5, 5, 9]))]
    [[0, 5, 9], [0, 1, 1], [1, 1, 2]]
    """
    n = len(lo)
    cuts, begin, end = np.empty(2 * n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    return cuts[: _slices_between(lo, hi, cuts, begin, end)], begin, end


@walker
def _slices_between(lo, hi, cuts, begin, end):
    i = j = count = 0
    while j < len(hi):  # all windows begin before the last one ends
        edge = hi[j]
        if i < len(lo) and lo[i] < edge:
            edge = lo[i]
        cuts[count] = edge
        while i < len(lo) and lo[i] == edge:
            begin[i] = count
            i += 1
        while j < len(hi) and hi[j] == edge:
            end[j] = count
            j += 1
        count += 1
    return count
