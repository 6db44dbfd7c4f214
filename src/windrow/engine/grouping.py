"""Rows by key: keys as small integers, and the order that brings each key's rows together by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.sorting import sorted_positions
from windrow.engine.walks import measured, ready
from windrow.errors import WindrowError

#: 2^64 / golden ratio: multiplied by it, neighbouring keys fall far apart
SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: a table of this many slots is small enough to be indexed by the key itself
DIRECT = 1 << 16


def factorize(columns: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> tuple[np.ndarray, np.ndarray]:
    """(codes, representatives): each row's key as an int64 code, and the row in which each code is first seen.

    `columns` are pairs of values and mask (true where there is a value; None: everywhere). Codes count from 0 in the
    order in which keys appear. Null is a key of its own, NaN is one key, and -0.0 is 0.0.

    >>> codes, rows = factorize([(np.array(["b", "a", "b"], object), None), (np.array([1, 1, 1]), None)])
    >>> codes.tolist(), rows.tolist()
    ([0, 1, 0], [0, 1])
    """
    codes, rows = _one(*columns[0])
    for values, mask in columns[1:]:
        others, kinds = _one(values, mask)
        if len(others) != len(codes):
            raise WindrowError(f"key columns of one length are needed, not {len(codes)} and {len(others)}")
        codes, rows = _coded(codes * len(kinds) + others, None)
    return codes, rows


def _one(values: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """`factorize` for one column."""
    kind = values.dtype.kind
    if kind == "f":
        bits = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        bits[np.isnan(bits)] = np.nan
        return _coded(bits.view(np.int64), mask)
    if kind in "mM":
        return _coded(values.view(np.int64), mask)
    if kind in "biu":
        return _coded(values.astype(np.int64, copy=False), mask)
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
    return _coded(codes, None)


def _unhashable(listed: list) -> int:
    """The first row whose value has no hash."""
    for i, value in enumerate(listed):
        try:
            hash(value)
        except TypeError:
            return i
    return -1


def _coded(values: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    values = ready(values, np.int64)
    there = ready(np.empty(0, bool) if mask is None else mask, bool)
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < max(DIRECT, min(len(values), 1 << 22)):
        return _direct(values, there, np.int64(low), np.int64(high - low + 1))
    return _hashed(values, there)


@cached
@whole("numpy")
def _direct(values, there, low, size):
    """Codes by a table with a place for every key from `low` on; the last place is null's."""
    table = np.full(size + 1, -1, np.int64)
    rows = np.empty(size + 1, np.int64)
    codes = np.empty(len(values), np.int64)
    masked = len(there) > 0
    count = 0
    for i in range(len(values)):
        at = size if masked and not there[i] else values[i] - low
        if table[at] < 0:
            table[at] = count
            rows[count] = i
            count += 1
        codes[i] = table[at]
    return codes, rows[:count].copy()


@cached
@whole("numpy")
def _hashed(values, there):
    """Codes by a hash table: open addressing, at most a third full, each key beside its code."""
    bits = 11
    table = np.full((1 << bits, 2), -1, np.int64)
    rows = np.empty(1 << bits, np.int64)
    codes = np.empty(len(values), np.int64)
    masked = len(there) > 0
    null = -1
    count = 0
    for i in range(len(values)):
        if masked and not there[i]:
            if null < 0:
                null = count
                rows[count] = i
                count += 1
            codes[i] = null
            continue
        v = values[i]
        h = _find(table, bits, v)
        code = table[h, 1]
        if code < 0:
            code = count
            table[h, 0], table[h, 1] = v, code
            rows[count] = i
            count += 1
            if 3 * count > len(rows) - 3:  # room for null, too
                bits += 2
                table = np.full((1 << bits, 2), -1, np.int64)
                more = np.empty(1 << bits, np.int64)
                more[:count] = rows[:count]
                rows = more
                for c in range(count):
                    if c != null:
                        h = _find(table, bits, values[rows[c]])
                        table[h, 0], table[h, 1] = values[rows[c]], c
        codes[i] = code
    return codes, rows[:count].copy()


@whole("numpy")
def _find(table, bits, v):
    """The slot of a key, or the free one where it belongs."""
    last = np.uint64(len(table) - 1)
    h = (np.uint64(v) * SPREAD) >> np.uint64(64 - bits)
    while table[h, 1] >= 0 and table[h, 0] != v:
        h = (h + np.uint64(1)) & last
    return h


def order(codes: np.ndarray, count: int, times: np.ndarray | None) -> np.ndarray | None:
    """The stable order of rows by (code, time), codes being below `count`; None where they have it already.

    Rows that are in time order within each key, however keys are mixed, take one pass; others are sorted by time first.
    (For several measures: order by the last one, then the rows so ordered by the one before it.)

    >>> order(np.array([1, 0, 1, 0]), 2, np.array([5, 5, 3, 6])).tolist()
    [1, 3, 2, 0]
    """
    codes = ready(codes, np.int64)
    stamps = ready(np.empty(0, np.int64)) if times is None else measured(times)
    if _ordered(codes, stamps):
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
        return np.argsort(times, kind="stable")
    most = int(codes.max())
    if most < 4 * n:
        return order(codes, most + 1, times)
    local, rows = _coded(codes, None)
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
        local, rows = _coded((places - low) // unit * size + codes, None)
    elif (far + 1) * size < 2**62:
        local, rows = _coded((places - low) * size + codes, None)
    else:
        local, rows = factorize([(codes, None), (places, None)])
    if len(rows) == len(begin):  # each group is one stretch
        return None, np.append(begin, n)
    return order(local, len(rows), None), segments(local, len(rows))


def segments(codes: np.ndarray, count: int) -> np.ndarray:
    """Where the rows of each of `count` codes begin once sorted, and last where they end: count + 1 positions."""
    return _offsets(ready(codes, np.int64), count)


@cached
@whole("numpy")
def _ordered(codes, times):
    timed = len(times) > 0
    for i in range(1, len(codes)):
        if codes[i] < codes[i - 1] or (timed and codes[i] == codes[i - 1] and times[i] < times[i - 1]):
            return False
    return True


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
