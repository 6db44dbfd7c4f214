"""Windows that begin every so often: where they cut, and which items each holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import (
    ANY,
    FLOAT_WINDOWS,
    LOWEST,
    Extent,
    Windows,
    check_room,
    extent_of,
    measured,
    new_windows,
    next_edge,
    python_numbers,
    ready,
    seek,
)
from windrow.errors import WindrowError

#: windows for which room is made at once; the pages of it that are not needed are never touched
MANY = 1_000_000


def periodic_cuts(
    first: Any,
    seg: Any,
    range: Any,
    every: Any,
    origin: Any,
    slicing: str,
    flags: np.ndarray,
    least: int = ANY,
    extent: Extent | None = None,
) -> None:
    """Sets `flags[i]` where item i begins a slice: first of its segment, or beyond an edge that the one before is not.

    "cutty" cuts where windows begin (paper 3), "pairs" also where they end, "panes" at every multiple of gcd(range,
    every) (floats have no such thing: pairs). Windows before number `least` do not cut. Where the
    `extent` is known it may be given.

    >>> flags = np.zeros(8, bool)
    >>> periodic_cuts(np.arange(8), [0, 8], 5, 3, 0, "pairs", flags)
    >>> np.flatnonzero(flags).tolist()
    [0, 2, 3, 5, 6]
    """
    first, seg = measured(first), ready(seg, np.int64)
    range, every, origin = python_numbers(first, range, every, origin)
    floats = first.dtype == np.float64
    offsets = [0]
    if slicing == "panes" and not floats:
        every = math.gcd(range, every)
        least = ANY  # panes are cut from the beginning
    elif slicing in ("pairs", "panes"):
        if floats or range % every:
            offsets.append(range)
    elif slicing != "cutty":
        raise WindrowError(f"slicing is cutty, pairs or panes, not {slicing!r}")
    origin, least = _placed(extent or extent_of(first, seg), first.dtype, range, every, origin, least)
    number = first.dtype.type
    for offset in offsets:
        _cut(first, seg, number(offset), number(every), number(origin), np.int64(least), flags)


def periodic(
    first: Any,
    seg: Any,
    range: Any,
    every: Any,
    origin: Any,
    after: Any,
    until: Any,
    least: int = ANY,
    extent: Extent | None = None,
) -> Windows:
    """All windows [origin + k * every, ... + range) with an item in them, k >= least, after < end <= until.

    An item is in the windows that hold its `first` value. Sorted by segment, then by start.

    >>> found = periodic(np.array([1, 2, 10**12]), [0, 3], 4, 2, 0, [-(2**63)], [2**63 - 1])
    >>> found.start.tolist()
    [-2, 0, 2, 999999999998, 1000000000000]
    >>> found.lo.tolist(), found.hi.tolist()
    ([0, 0, 1, 2, 2], [1, 2, 2, 3, 3])
    """
    first, seg = measured(first), ready(seg, np.int64)
    range, every, origin = python_numbers(first, range, every, origin)
    extent = extent or extent_of(first, seg)
    origin, least = _placed(extent, first.dtype, range, every, origin, least)
    number = first.dtype.type
    given = (
        first, seg, number(range), number(every), number(origin), ready(after, number), ready(until, number),
        np.int64(least),
    )  # fmt: skip
    room = float(((extent.reach + range) // every + 3).sum())  # for as many as there can be
    found = new_windows(int(room) if room <= MANY else 0, number)
    count = _walk(*given, *found)
    if count > len(found.lo):  # so many that they are counted first
        found = new_windows(count, number)
        _walk(*given, *found)
    return found if count == len(found.lo) else Windows(*(array[:count].copy() for array in found))


def last_rows(times: Any, seg: Any, n: int, every: int, origin: int, after: Any, until: Any) -> Windows:
    """At each T = origin + k * every with a row in [T - every, T), after < T <= until: the last n rows before T.

    `end` is T, `start` the time of the oldest of these rows.
    """
    times, seg = measured(times), ready(seg, np.int64)
    every, origin = python_numbers(times, every, origin)
    origin, _ = _placed(extent_of(times, seg), times.dtype, 0, every, origin, ANY)
    number = times.dtype.type
    given = times, seg, np.int64(n), number(every), number(origin), ready(after, number), ready(until, number)
    found = new_windows(_walk_last(*given, *new_windows(0, number)), number)
    if len(found.lo):
        _walk_last(*given, *found)
    return found


def _placed(extent: Extent, dtype: np.dtype, range: Any, every: Any, origin: Any, least: int) -> tuple[Any, int]:
    """Origin and `least` as the kernels want them; raises where edges could not be computed."""
    low, high, _ = extent
    if dtype == np.float64:
        reach = 0.0 if low is None else max(abs(low), abs(high))
        if not (reach + abs(origin) + range) / every <= FLOAT_WINDOWS:
            raise WindrowError(
                f"values up to {reach:g} are too far from 0 for windows of {range:g} every {every:g}: "
                "floats do not tell their edges apart"
            )
        return origin, least if least > ANY else LOWEST
    shift, origin = divmod(origin, every)  # an origin near 0: no edge lies farther out than a value needs
    least = least + shift if least > ANY else LOWEST
    bounds = [0] if low is None else [low, high]
    if least > LOWEST:
        bounds.append(origin + least * every)
    check_room(min(bounds) - range - 2 * every, max(bounds) + range + 2 * every, f"windows of {range} every {every}")
    return origin, least


@cached
@whole("numpy")
def _cut(first, seg, offset, every, origin, least, flags):
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        if i < z:
            flags[i] = True
            k = max(least, next_edge(first[i], offset, every, origin))
            i = seek(first, i + 1, z, (origin + k * every) + offset)
            while i < z:
                flags[i] = True
                k += 1
                edge = (origin + k * every) + offset
                if first[i] >= edge:
                    k = next_edge(first[i], offset, every, origin)
                    edge = (origin + k * every) + offset
                i = seek(first, i + 1, z, edge)


@cached
@whole("numpy")
def _walk(first, seg, span, every, origin, after, until, least, segment, lo, hi, start, end):
    """Counts the windows; those for which there is room are written."""
    room = len(lo)
    count = 0
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        if i == z or after[s] >= first[z - 1] + span:
            continue
        k = max(least, next_edge(max(first[i], after[s]), span, every, origin))
        j = i
        while i < z:
            left = origin + k * every
            right = left + span
            if right > until[s]:
                break
            i = seek(first, i, z, left)
            j = seek(first, max(i, j), z, right)
            if i < j:
                if count < room:
                    segment[count], lo[count], hi[count] = s, i, j
                    start[count], end[count] = left, right
                count += 1
                k += 1
            elif i < z:  # nothing in it: on to the first window that holds item i or ends after it
                k = next_edge(first[i], span, every, origin)
    return count


@cached
@whole("numpy")
def _walk_last(times, seg, n, every, origin, after, until, segment, lo, hi, start, end):
    """Counts the windows; where there is room for them, writes them."""
    fill = len(lo) > 0
    count = 0
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        while i < z:
            edge = origin + next_edge(times[i], 0 * every, every, origin) * every
            if edge > until[s]:
                break
            i = seek(times, i, z, edge)
            if edge > after[s]:
                if fill:
                    oldest = max(seg[s], i - n)
                    segment[count], lo[count], hi[count] = s, oldest, i
                    start[count], end[count] = times[oldest], edge
                count += 1
    return count
