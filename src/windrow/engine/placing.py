"""Rows to their places: whether they are in order, the place of each by its key, and columns moved there and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.threads import ONE, Threads, ranges
from windrow.engine.walks import measured, ready

#: rows that a thread moves at a time
PART = 1 << 19
#: rows that are looked at before a look is given up
BLOCK = 4096


class Places(NamedTuple):
    """The stable order of rows by key and time."""

    place: np.ndarray  # of each row
    begin: np.ndarray  # where the rows of each key begin, and last where they end


def in_order(codes: np.ndarray, times: np.ndarray, threads: Threads = ONE) -> bool:
    """Whether rows are sorted by code and time. Either may be empty: then the other alone counts."""
    codes, times = ready(codes, np.int64), measured(times)

    def part(bounds: tuple[int, int]) -> bool:
        a, z = bounds
        return _sorted(codes[a : z + 1], times[a : z + 1])  # with the next part's first row

    n = max(len(codes), len(times))
    return part((0, min(n, BLOCK))) and all(threads.map(part, ranges(n, PART)))


def extent(values: np.ndarray, threads: Threads = ONE) -> tuple[int, int]:
    """The least and the greatest of some int64 values, of which there is one at least."""
    values = ready(values, np.int64)
    found = threads.map(lambda part: _extent(values[slice(*part)]), _parts(values))
    return int(min(low for low, _ in found)), int(max(high for _, high in found))


def _parts(array: np.ndarray) -> list[tuple[int, int]]:
    return ranges(len(array), PART)


def by_key(codes: np.ndarray, count: int, threads: Threads = ONE) -> Places:
    """The stable order of rows by key alone."""
    codes = ready(codes, np.int64)
    parts = ranges(len(codes), max(PART, count, -(-len(codes) // threads.count)))
    counts = threads.map(lambda part: _counts(codes[slice(*part)], count), parts)
    begin = np.zeros(count + 1, np.int64)
    for mine in counts:
        begin[1:] += mine
    np.cumsum(begin, out=begin)
    place = np.empty(len(codes), np.int64)
    first = begin[:-1]
    given = []
    for part, mine in zip(parts, counts, strict=True):
        given.append((part, first.copy()))
        first = first + mine
    threads.map(lambda g: _place(codes[slice(*g[0])], g[1], place[slice(*g[0])]), given)
    return Places(place, begin)


def sorted_keys(begin: np.ndarray, threads: Threads = ONE) -> np.ndarray:
    """The keys of rows that are sorted by key, from where each key's rows begin.

    >>> sorted_keys(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    key = np.empty(begin[-1], np.int64)
    threads.map(lambda part: _fill(begin, np.int64(part[0]), key[slice(*part)]), _parts(key))
    return key


def scattered(values: np.ndarray, place: np.ndarray, threads: Threads = ONE) -> np.ndarray:
    """Values in the order that `place` says: out[place[i]] = values[i].

    Writes go to as many places side by side as there are keys. A gather would read from everywhere.
    """
    out = np.empty(len(values), values.dtype)
    if values.dtype == object:
        out[place] = values
    else:
        values = ready(values)
        threads.map(lambda p: _scatter_to(values[slice(*p)], place[slice(*p)], out), _parts(place))
    return out


def gathered(values: np.ndarray, place: np.ndarray, threads: Threads = ONE) -> np.ndarray:
    """The way back: out[i] = values[place[i]]."""
    if values.dtype.kind not in "biuf":
        return values[place]
    out = np.empty(len(place), values.dtype)
    values = ready(values)
    threads.map(lambda p: _gather_from(values, place[slice(*p)], out[slice(*p)]), _parts(place))
    return out


@cached
@whole("numpy")
def _extent(values):
    low = high = values[0]
    for i in range(np.uint64(len(values))):
        low, high = min(low, values[i]), max(high, values[i])
    return low, high


@cached
@whole("numpy")
def _sorted(codes, times):
    """Whether rows are sorted by code and time; either may be empty."""
    n = max(len(codes), len(times))
    keyed, timed = len(codes) > 0, len(times) > 0
    i, one = 1, np.uint64(1)
    while i < n:
        z = min(n, i + BLOCK)
        wrong = False  # vector code, as it does not stop before the end of a block
        if keyed and timed:
            for j in range(np.uint64(i), np.uint64(z)):
                same = codes[j] == codes[j - one]
                wrong |= (codes[j] < codes[j - one]) | (same & (times[j] < times[j - one]))
        elif keyed:
            for j in range(np.uint64(i), np.uint64(z)):
                wrong |= codes[j] < codes[j - one]
        else:
            for j in range(np.uint64(i), np.uint64(z)):
                wrong |= times[j] < times[j - one]
        if wrong:
            return False
        i = z
    return True


@cached
@whole("numpy")
def _counts(codes, count):
    found = np.zeros(count, np.int64)
    for i in range(np.uint64(len(codes))):
        found[codes[i]] += 1
    return found


@cached
@whole("numpy")
def _place(codes, at, place):
    for i in range(np.uint64(len(codes))):
        k = np.uint64(codes[i])
        j = at[k]
        place[i] = j
        at[k] = j + 1


@cached
@whole("numpy")
def _fill(begin, first, key):
    k = np.searchsorted(begin, first, "right") - 1
    i = 0
    while i < len(key):
        z = min(len(key), begin[k + 1] - first)
        for j in range(np.uint64(i), np.uint64(z)):
            key[j] = k
        i = z
        k += 1


@cached
@whole("numpy")
def _scatter_to(values, place, out):
    for i in range(np.uint64(len(values))):
        out[np.uint64(place[i])] = values[i]


@cached
@whole("numpy")
def _gather_from(values, place, out):
    for i in range(np.uint64(len(place))):
        out[i] = values[np.uint64(place[i])]
