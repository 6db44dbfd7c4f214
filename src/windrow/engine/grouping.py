"""Rows by key: keys as small integers, and the order that brings each key's rows together by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.placing import Places, by_key, extent, in_order
from windrow.engine.sorting import sorted_positions
from windrow.engine.table import grown
from windrow.engine.threads import ONE, Threads, ranges
from windrow.engine.walks import measured, ready
from windrow.errors import WindrowError

#: 2^64 / golden ratio: multiplied by it, neighbouring keys fall far apart
SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: rows of which a thread numbers the keys, at least
PART = 1 << 19
#: fewer rows are sorted by NumPy
FEW = 1 << 14
#: a table of this many slots is small enough to be indexed by the key itself
DIRECT = 1 << 16


def factorize(
    columns: Sequence[tuple[np.ndarray, np.ndarray | None]], threads: Threads = ONE
) -> tuple[np.ndarray, np.ndarray]:
    """(codes, representatives): each row's key as an int64 code, and the row in which each code is first seen.

    `columns` are pairs of values and mask (true where there is a value; None: everywhere). Codes count from 0 in the
    order in which keys appear. Null is a key of its own, NaN is one key, and -0.0 is 0.0.

    >>> codes, rows = factorize([(np.array(["b", "a", "b"], object), None), (np.array([1, 1, 1]), None)])
    >>> codes.tolist(), rows.tolist()
    ([0, 1, 0], [0, 1])
    """
    codes, rows = _one(*columns[0], threads)
    for values, mask in columns[1:]:
        others, kinds = _one(values, mask, threads)
        if len(others) != len(codes):
            raise WindrowError(f"key columns of one length are needed, not {len(codes)} and {len(others)}")
        codes *= len(kinds)
        codes += others
        codes, rows = _coded(codes, None, threads)
    return codes, rows


def _one(values: np.ndarray, mask: np.ndarray | None, threads: Threads) -> tuple[np.ndarray, np.ndarray]:
    """`factorize` for one column."""
    kind = values.dtype.kind
    if kind == "f":
        bits = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        bits[np.isnan(bits)] = np.nan
        return _coded(bits.view(np.int64), mask, threads)
    if kind in "mM":
        return _coded(values.view(np.int64), mask, threads)
    if kind in "biu":
        return _coded(values.astype(np.int64, copy=False), mask, threads)
    listed = values.tolist()
    if mask is not None:
        listed = [value if there else None for value, there in zip(listed, mask.tolist(), strict=True)]
    table: dict[Any, int] = {}
    try:
        codes = np.fromiter((table.setdefault(value, len(table)) for value in listed), np.int64, len(listed))
    except TypeError as error:
        raise WindrowError(f"row {_unhashable(listed)}: {error}; keys must be hashable values") from error
    nans = [code for value, code in table.items() if value != value]  # each NaN is another key to a dict
    if len(nans) > 1:
        merged = np.arange(len(table))
        merged[nans] = nans[0]
        codes = merged[codes]
    return _coded(codes, None, threads)


def _unhashable(listed: list) -> int:
    """The first row whose value has no hash."""
    for i, value in enumerate(listed):
        try:
            hash(value)
        except TypeError:
            return i
    return -1


def _coded(values: np.ndarray, mask: np.ndarray | None, threads: Threads) -> tuple[np.ndarray, np.ndarray]:
    """`factorize` for whole numbers: each thread numbers the keys of its rows, and these are then numbered for all."""
    values = ready(values, np.int64)
    there = ready(np.empty(0, bool) if mask is None else mask, bool)
    n = len(values)
    parts = ranges(n, max(PART, -(-n // threads.count)))
    codes = np.empty(n, np.int64)
    found = threads.map(lambda part: _numbered(values, there, part, codes), parts)
    if len(found) < 2:
        return codes, found[0] if found else np.empty(0, np.int64)
    rows = np.concatenate(found)
    new = np.empty(len(rows), np.int64)
    different = _numbered(values[rows], there[rows] if len(there) else there, (0, len(rows)), new)
    begin = np.cumsum([0] + [len(mine) for mine in found])
    threads.map(lambda j: _renumber(codes[slice(*parts[j])], new[begin[j] : begin[j + 1]]), range(len(parts)))
    return codes, rows[different]


def _numbered(values: np.ndarray, there: np.ndarray, part: tuple[int, int], codes: np.ndarray) -> np.ndarray:
    """Writes the codes of some rows, counted from 0; the row in which each is first seen."""
    a, z = part
    low, high = extent(values[a:z])
    mine = values[a:z], there[a:z], codes[a:z]
    if high - low < max(DIRECT, min(z - a, 1 << 22)):
        return _direct(*mine, np.int64(low), np.int64(high - low + 1)) + a
    return _hashed(*mine) + a


@cached
@whole("numpy")
def _renumber(codes, new):
    for i in range(np.uint64(len(codes))):
        codes[i] = new[codes[i]]


@cached
@whole("numpy")
def _direct(values, there, codes, low, size):
    """Codes by a table with a place for every key from `low` on; the last place is null's."""
    table = np.full(size + 1, -1, np.int64)
    rows = np.empty(size + 1, np.int64)
    masked = len(there) > 0
    count = 0
    for i in range(np.uint64(len(values))):
        at = np.uint64(values[i] - low)
        if masked and not there[i]:
            at = np.uint64(size)
        code = table[at]
        if code < 0:
            table[at] = code = count
            rows[count] = i
            count += 1
        codes[i] = code
    return rows[:count].copy()


def _hashed(values: np.ndarray, there: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Codes by a hash table that grows: each loop ends where the table is full."""
    bits = 12
    at = np.array([0, 0, -1], np.int64)  # rows done, keys found, null's code
    rows = np.empty(0, np.int64)
    while at[0] < len(values):
        rows = grown(rows, 1 << bits)
        keys, taken = np.empty(1 << bits, np.int64), np.full(1 << bits, -1, np.int64)
        _hash(values, there, keys, taken, np.uint64(bits), rows, codes, at)
        bits += 2
    return rows[: at[1]].copy()


@cached
@whole("numpy")
def _hash(values, there, keys, taken, bits, rows, codes, at):
    """Open addressing, at most a third full. `taken` is a slot's code, -1 where it is free."""
    shift, last = np.uint64(64) - bits, np.uint64(len(keys) - 1)
    masked = len(there) > 0
    begin, count, null = at[0], at[1], at[2]
    for c in range(count):  # the keys of a smaller table
        if c != null:
            v = values[rows[c]]
            h = (np.uint64(v) * SPREAD) >> shift
            while taken[h] >= 0:
                h = (h + np.uint64(1)) & last
            keys[h], taken[h] = v, c
    most = len(rows) // 3 - 1  # room for null, too
    for i in range(np.uint64(begin), np.uint64(len(values))):
        if count >= most:
            at[0], at[1], at[2] = i, count, null
            return
        if masked and not there[i]:
            if null < 0:
                null = count
                rows[count] = i
                count += 1
            codes[i] = null
        else:
            v = values[i]
            h = (np.uint64(v) * SPREAD) >> shift
            code = taken[h]
            while code >= 0 and keys[h] != v:
                h = (h + np.uint64(1)) & last
                code = taken[h]
            if code < 0:
                code = count
                keys[h], taken[h] = v, code
                rows[count] = i
                count += 1
            codes[i] = code
    at[0], at[1], at[2] = len(values), count, null


def order(codes: np.ndarray, count: int, times: np.ndarray | None) -> np.ndarray | None:
    """The stable order of rows by (code, time), codes being below `count`; None where they have it already.

    Rows that are in time order within each key, however keys are mixed, take one pass; others are sorted by time first.
    (For several measures: order by the last one, then the rows so ordered by the one before it.)

    >>> order(np.array([1, 0, 1, 0]), 2, np.array([5, 5, 3, 6])).tolist()
    [1, 3, 2, 0]
    """
    codes = ready(codes, np.int64)
    stamps = ready(np.empty(0, np.int64)) if times is None else measured(times)
    if in_order(codes, stamps):
        return None
    at = segments(codes, count)
    placed = np.empty(len(codes), np.int64)
    if count > 1 and _scatter(codes, stamps, at, placed):
        return placed
    by_time = sorted_positions(stamps)
    if count == 1:
        return by_time
    _scatter_through(codes, by_time, segments(codes, count), placed)
    return placed


def order_of(codes: np.ndarray, times: np.ndarray | None) -> np.ndarray | None:
    """`order` at a cost that does not depend on how large codes are.

    >>> order_of(np.array([10**12, 0, 10**12]), np.array([5, 5, 3])).tolist()
    [1, 2, 0]
    """
    n = len(codes)
    if n < 2:
        return None
    if codes[0] == codes[-1] and (n < 3 or not (codes != codes[0]).any()):
        if times is None or not (times[1:] < times[:-1]).any():
            return None
        return np.argsort(times, kind="stable") if n < FEW else sorted_positions(measured(times))
    most = int(codes.max())
    if most < 4 * n:
        return order(codes, most + 1, times)
    local, rows = _coded(codes, None, ONE)
    used = codes[rows]
    rank = np.empty(len(used), np.int64)
    rank[np.argsort(used)] = np.arange(len(used))
    return order(rank[local], len(used), times)


def grouped(codes: np.ndarray, places: np.ndarray, unit: int = 1) -> tuple[np.ndarray | None, np.ndarray]:
    """(at, cuts): rows of one code and place side by side, each group from cuts[j] to cuts[j + 1] of the rows `at`.

    Nothing is sorted: groups are in the order in which they appear. `at` is None where rows are side by side already.
    Places are multiples of `unit` apart.

    >>> at, cuts = grouped(np.array([7, 7, 1, 7]), np.array([0, 60, 0, 0]))
    >>> at.tolist(), cuts.tolist()
    ([0, 3, 1, 2], [0, 2, 3, 4])
    """
    n = len(codes)
    new = (codes[1:] != codes[:-1]) | (places[1:] != places[:-1])
    begin = np.concatenate([[0], np.flatnonzero(new) + 1])
    if len(begin) == 1:
        return None, np.array([0, n])
    low, size = int(places.min()), int(codes.max()) + 1
    far = int(places.max()) - low
    if (far // unit + 1) * size < DIRECT:
        local, rows = _coded((places - low) // unit * size + codes, None, ONE)
    elif (far + 1) * size < 2**62:
        local, rows = _coded((places - low) * size + codes, None, ONE)
    else:
        local, rows = factorize([(codes, None), (places, None)])
    if len(rows) == len(begin):  # each group is one stretch
        return None, np.append(begin, n)
    return order(local, len(rows), None), segments(local, len(rows))


def places(codes: np.ndarray, count: int, times: np.ndarray | None, threads: Threads = ONE) -> Places | None:
    """The order of rows by (code, time), codes being below `count`; None where they have it already.

    >>> places(np.array([1, 0, 1, 0]), 2, np.array([5, 5, 3, 6])).place.tolist()
    [3, 0, 2, 1]
    """
    codes = ready(codes, np.int64)
    stamps = ready(np.empty(0, np.int64)) if times is None else measured(times)
    if in_order(codes if count > 1 else codes[:0], stamps, threads):
        return None
    if count > 1 and in_order(codes[:0], stamps, threads):
        return by_key(codes, count, threads)
    at = order(codes, count, times)
    assert at is not None
    place = np.empty(len(codes), np.int64)
    place[at] = np.arange(len(at))
    return Places(place, segments(codes, count))


def segments(codes: np.ndarray, count: int) -> np.ndarray:
    """Where the rows of each of `count` codes begin once sorted, and last where they end: count + 1 positions."""
    return _offsets(ready(codes, np.int64), count)


@cached
@whole("numpy")
def _offsets(codes, count):
    offsets = np.zeros(count + 1, np.int64)
    for i in range(len(codes)):
        offsets[codes[i] + 1] += 1
    for k in range(count):
        offsets[k + 1] += offsets[k]
    return offsets


@cached
@whole("numpy")
def _scatter(codes, times, at, placed):
    """Rows to their keys' places, from at[k] on; false, and half done, where a key's times are not in order."""
    timed = len(times) > 0
    begin = at.copy()
    for i in range(len(codes)):
        k = codes[i]
        j = at[k]
        if timed and j > begin[k] and times[i] < times[placed[j - 1]]:
            return False
        placed[j] = i
        at[k] = j + 1
    return True


@cached
@whole("numpy")
def _scatter_through(codes, by_time, at, placed):
    for row in by_time:
        k = codes[row]
        placed[at[k]] = row
        at[k] += 1
