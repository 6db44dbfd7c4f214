"""From which item on a key's items are still needed: by windows that have not been reported yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import HIGHEST, LOWEST, measured, ready


def periodic_since(first: Any, seg: Any, range: Any, every: Any, origin: Any, until: Any) -> np.ndarray:
    """For each segment the first item that a window with an end beyond `until` can hold, or the segment's end.

    >>> periodic_since(np.arange(10), [0, 10], 4, 2, 0, [7]).tolist()  # [4, 8) is the first that is open
    [4]
    """
    first, seg = measured(first), ready(seg, np.int64)
    until = np.asarray(until, first.dtype)
    since = np.empty(len(seg) - 1, np.int64)
    number = first.dtype.type
    known = np.isfinite(until) if first.dtype == np.float64 else (until > LOWEST // 2) & (until < HIGHEST // 2)
    starts = until.copy()  # nothing is over: all is needed; all is over: nothing is
    over = (until[known] - number(range) - number(origin)) // number(every)
    if first.dtype == np.float64:
        over -= 1  # rounding may put it one too far; one too early is safe
    starts[known] = number(origin) + (over + 1) * number(every)
    _back(first, seg, starts, since)
    return since


@cached
@whole("numpy")
def _back(first, seg, starts, since):
    for k in range(len(seg) - 1):
        i = seg[k + 1]
        while i > seg[k] and first[i - 1] >= starts[k]:
            i -= 1
        since[k] = i


def sessions_since(first: Any, last: Any, seg: Any, gap: Any, until: Any) -> np.ndarray:
    """For each segment the first item of a session that ends beyond `until`, or the segment's end.

    >>> sessions_since(np.array([1, 2, 9]), np.array([1, 2, 9]), [0, 3], 3, [6]).tolist()
    [2]
    """
    first, last, seg = measured(first), measured(last), ready(seg, np.int64)
    since = np.empty(len(seg) - 1, np.int64)
    _open_session(first, last, seg, first.dtype.type(gap), ready(until, first.dtype), since)
    return since


@cached
@whole("numpy")
def _open_session(first, last, seg, gap, until, since):
    for k in range(len(seg) - 1):
        since[k] = seg[k + 1]
        begin = seg[k]
        newest = last[begin] if begin < seg[k + 1] else until[k]
        for i in range(seg[k], seg[k + 1]):
            if first[i] - newest >= gap:
                if newest + gap > until[k]:
                    break
                begin = i
            newest = max(newest, last[i])
        if begin < seg[k + 1] and newest + gap > until[k]:
            since[k] = begin


def marks_since(marks: Any, seg: Any, *, newest: bool) -> np.ndarray:
    """For each segment its newest (or oldest) marked item, or its end where none is marked.

    >>> marks_since(np.array([True, False, True, False]), [0, 3, 4], newest=True).tolist()
    [2, 4]
    """
    seg = np.asarray(seg, np.int64)
    since = seg[1:].copy()
    at = np.flatnonzero(marks)
    segment = np.searchsorted(seg, at, side="right") - 1
    if newest:
        since[segment] = at  # the last assignment stays
    else:
        since[segment[::-1]] = at[::-1]
    return since
