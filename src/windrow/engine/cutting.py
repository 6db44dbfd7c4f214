"""Rows of a table cut into slices as they lie: no aggregate, so that it is compiled once for all queries.

A key's rows are in time order, however keys are mixed. So what is to be known of a key is its open slice: where the
next one begins, and the newest time. A slice is cut at every edge of every window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.walks import HIGHEST, LOWEST, ready, seek

#: compiled code adds a few lengths to a time, and takes times from each other: all that must stay within 64 bits
FAR = 2**62


#: the least and the greatest of some times, or what lies around them
Extent = tuple[int, int]


class Uneven(Protocol):
    """Edges that are not equally far apart, such as those of a calendar."""

    @property
    def unit(self) -> int:
        """What they are multiples of apart."""

    def around(self, low: int, high: int) -> np.ndarray:
        """In order: all from one that is not after `low` to one that is after `high`, and perhaps more."""

    def known(self) -> np.ndarray:
        """Those that were given so far."""


class Edges(NamedTuple):
    """Where slices begin at the latest: at first + k * every for each k, and after more than a gap without rows.

    And where windows begin or end whose lengths are not all equal.
    """

    every: tuple[int, ...] = ()
    first: tuple[int, ...] = ()
    gap: int = HIGHEST
    uneven: tuple[Uneven, ...] = ()

    @classmethod
    def union(cls, all_of: Iterable[Edges]) -> Edges:
        """The edges of several windows."""
        found = list(all_of)
        pairs = sorted({pair for edges in found for pair in zip(edges.every, edges.first, strict=True)})
        uneven = dict.fromkeys(each for edges in found for each in edges.uneven)
        return cls(
            tuple(e for e, _ in pairs), tuple(f for _, f in pairs), min(edges.gap for edges in found), tuple(uneven)
        )

    def far(self, low: int, high: int) -> bool:
        """Whether times from `low` to `high` and the edges around them are too far out for 64 bits."""
        return low <= -FAR or high >= FAR or max(self.every, default=0) >= FAR // 4

    @property
    def tell_slices(self) -> bool:
        """Whether a time tells its slice, whatever other times there are."""
        return bool(self.every or self.uneven) and self.gap == HIGHEST

    @property
    def unit(self) -> int:
        """What edges are multiples of apart."""
        even = zip(self.every, self.first, strict=True)
        apart = [n for every, first in even for n in (every, first if self.uneven else first - self.first[0])]
        return math.gcd(*apart, *(each.unit for each in self.uneven))

    def begin_of(self, time: int) -> int:
        """Where `tell_slices`: the last edge that is not after a time; of uneven ones, those around known times count.

        >>> Edges((60, 60), (0, 10)).begin_of(119)
        70
        """
        found = [first + (time - first) // every * every for every, first in zip(self.every, self.first, strict=True)]
        for each in self.uneven:
            table = each.known()
            at = int(np.searchsorted(table, time, "right"))
            found.append(int(table[at - 1]) if at else LOWEST)
        return max(found)

    def around(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where `tell_slices`: (begin, end) of the slice of each time, in whatever order. Nothing may overflow.

        >>> begin, end = Edges((60, 60), (0, 10)).around(np.array([-1, 0, 9, 10, 65]))
        >>> begin.tolist(), end.tolist()
        ([-50, 0, 0, 10, 60], [0, 10, 10, 60, 70])
        """
        begin, end = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
        every, first, table, _ = self.arrays(times, None)
        _around(ready(times, np.int64), every, first, table, begin, end)
        return begin, end

    def arrays(self, times: np.ndarray, extent: Extent | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.int64]:
        """As kernels take them, for these times; `extent` is known, or found out."""
        table = np.empty(0, np.int64)
        if self.uneven and len(times):
            low, high = extent or (int(times.min()), int(times.max()))
            tables = [each.around(low, high) for each in self.uneven]
            table = tables[0] if len(tables) == 1 else np.unique(np.concatenate(tables))
        return np.array(self.every, np.int64), np.array(self.first, np.int64), ready(table), np.int64(self.gap)


class Cut(NamedTuple):
    """The slices of some rows, in the order in which they begin."""

    #: where each begins, and last where the rows end (rows that are sorted by key); or each row's slice
    rows: np.ndarray
    key: np.ndarray
    first: np.ndarray  # the times of its first and its newest row
    last: np.ndarray


def sorted_cuts(codes: np.ndarray, times: np.ndarray, edges: Edges, extent: Extent | None = None) -> Cut:
    """The slices of rows that are sorted by key and time. `codes` may be empty: there is one key."""
    codes, times = ready(codes, np.int64), ready(times, np.int64)
    cuts = np.empty(len(times) + 1, np.int64)  # what is not needed is never touched
    count = _sorted_cuts(codes, times, *edges.arrays(times, extent), cuts)
    cuts = cuts[: count + 1].copy()
    begin = cuts[:-1]
    key = codes[begin] if len(codes) else np.zeros(count, np.int64)
    return Cut(cuts, key, times[begin], times[cuts[1:] - 1])


def mixed_cuts(
    codes: np.ndarray, times: np.ndarray, edges: Edges, keys: int, extent: Extent | None = None
) -> Cut | None:
    """The slices of rows whose keys are mixed; None where the times of a key go back."""
    codes, times, n = ready(codes, np.int64), ready(times, np.int64), len(codes)
    slice_of, key = np.empty(n, np.int32), np.empty(n, np.int32)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    known = np.full((keys, 2), -1, np.int64)
    count = _mixed_cuts(codes, times, *edges.arrays(times, extent), known, slice_of, key, first, last)
    if count < 0:
        return None
    return Cut(slice_of, key[:count].astype(np.int64), first[:count].copy(), last[:count].copy())


@whole("numpy")
def _next_edge(t, every, first, table):
    """The first edge after t."""
    found = np.int64(HIGHEST)
    for j in range(len(every)):
        found = min(found, first[j] + ((t - first[j]) // every[j] + 1) * every[j])
    if len(table) > 0:
        found = min(found, table[_after(table, t)])
    return found


@whole("numpy")
def _after(table, t):
    """The place of the first edge after t. There is one, and one before it. They are about equally far apart."""
    last = len(table) - 1
    j = min(max((t - table[0]) // ((table[last] - table[0]) // last + 1), 1), last)
    while table[j] <= t:
        j += 1
    while table[j - 1] > t:
        j -= 1
    return j


@cached
@whole("numpy")
def _around(times, every, first, table, begin, end):
    low, high = np.int64(0), np.int64(0)  # neighbours are mostly in the same slice
    for i in range(len(times)):
        t = times[i]
        if t < low or t >= high:
            for j in range(len(every)):
                edge = first[j] + (t - first[j]) // every[j] * every[j]
                if j == 0:
                    low, high = edge, edge + every[j]
                else:
                    low, high = max(low, edge), min(high, edge + every[j])
            if len(table) > 0:
                j = _after(table, t)
                if len(every) == 0:
                    low, high = table[j - 1], table[j]
                else:
                    low, high = max(low, table[j - 1]), min(high, table[j])
        begin[i], end[i] = low, high


@whole("numpy")
def _before_gap(times, i, end, gap):
    """The first row from i to `end` that comes more than `gap` after the one before it, or `end`."""
    j, stop, one = np.uint64(i), np.uint64(end), np.uint64(1)
    near = True
    while near and j < stop:  # a few rows at a time, in vector code
        ahead = min(stop, j + np.uint64(32))
        for q in range(j, ahead):
            near &= times[q] - times[q - one] <= gap
        if near:
            j = ahead
    while j < stop and times[j] - times[j - one] <= gap:
        j += one
    return np.int64(j)


@cached
@whole("numpy")
def _sorted_cuts(codes, times, every, first, table, gap, cuts):
    n = len(times)
    i = count = 0
    while i < n:
        z = n
        if len(codes) > 0:
            z = seek(codes, i, n, codes[i] + 1)
        while i < z:
            cuts[count] = i
            count += 1
            end = z
            if len(every) + len(table) > 0:
                end = seek(times, i + 1, z, _next_edge(times[i], every, first, table))
            i += 1
            i = _before_gap(times, i, end, gap) if gap < HIGHEST else end
    cuts[count] = n
    return count


@cached
@whole("numpy")
def _mixed_cuts(codes, times, every, first, table, gap, known, slice_of, key, begin, last):
    """known[k] is the slice of key k that is open (-1: none), and where the next one begins."""
    count = 0
    for i in range(np.uint64(len(codes))):
        k, t = codes[i], times[i]
        j = known[k, 0]
        if j >= 0:
            before = last[j]
            if t < before:
                return -1
            if t >= known[k, 1] or t - before > gap:
                j = -1
        if j < 0:
            j = count
            count += 1
            known[k, 0], known[k, 1] = j, _next_edge(t, every, first, table)
            key[j], begin[j] = k, t
        last[j] = t
        slice_of[i] = j
    return count


def gone_back(key: np.ndarray, first: np.ndarray, last: np.ndarray) -> bool:
    """Whether a slice of a key begins before the one before it has ended."""
    return bool(((key[1:] == key[:-1]) & (first[1:] < last[:-1])).any())


def stacked(cuts: Sequence[np.ndarray]) -> np.ndarray:
    """Columns of several parts below one another."""
    return cuts[0] if len(cuts) == 1 else np.concatenate(cuts)
