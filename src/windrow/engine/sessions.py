"""Sessions: items that follow each other by less than a gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import Windows, check_room, measured, new_windows, python_numbers, ready


def session_cuts(first: Any, last: Any, seg: Any, gap: Any, flags: np.ndarray) -> None:
    """Sets `flags[i]` where item i begins a session."""
    first, last, seg, gap = _prepared(first, last, seg, gap)
    _cut(first, last, seg, gap, flags)


def sessions(first: Any, last: Any, seg: Any, gap: Any, after: Any, until: Any) -> Windows:
    """Sessions [first, last + gap) with after < end <= until.

    Items are sorted by `first`; the `last` value of one may lie beyond the `first` of those that follow.

    >>> found = sessions(np.array([0, 3, 9]), np.array([1, 4, 9]), [0, 3], 5, [-(2**63)], [2**63 - 1])
    >>> list(zip(found.start.tolist(), found.end.tolist()))
    [(0, 9), (9, 14)]
    """
    first, last, seg, gap = _prepared(first, last, seg, gap)
    number = first.dtype.type
    given = first, last, seg, gap, ready(after, number), ready(until, number)
    found = new_windows(_walk(*given, *new_windows(0, number)), number)
    if len(found.lo):
        _walk(*given, *found)
    return found


def _prepared(first: Any, last: Any, seg: Any, gap: Any) -> tuple:
    first = measured(first)
    last = ready(last, first.dtype)
    (gap,) = python_numbers(first, gap)
    if first.dtype == np.int64 and len(last):
        check_room(0, int(last.max()) + gap, f"sessions with a gap of {gap}")
    return first, last, ready(seg, np.int64), first.dtype.type(gap)


@cached
@whole("numpy")
def _cut(first, last, seg, gap, flags):
    for s in range(len(seg) - 1):
        a, z = seg[s], seg[s + 1]
        if a < z:
            flags[a] = True
            newest = last[a]
            for i in range(a + 1, z):
                if first[i] >= newest + gap:
                    flags[i] = True
                newest = max(newest, last[i])


@cached
@whole("numpy")
def _walk(first, last, seg, gap, after, until, segment, lo, hi, start, end):
    """Counts the sessions; where there is room for them, writes them."""
    fill = len(lo) > 0
    count = 0
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        while i < z:
            begin = i
            right = last[i] + gap
            i += 1
            while i < z and first[i] < right:
                right = max(right, last[i] + gap)
                i += 1
            if after[s] < right <= until[s]:
                if fill:
                    segment[count], lo[count], hi[count] = s, begin, i
                    start[count], end[count] = first[begin], right
                count += 1
    return count
