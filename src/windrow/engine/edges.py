"""Where windows begin and end: every kind of window as ranges of items.

Items are rows, or slices of rows, in order within each key's segment; `seg[k]` to `seg[k + 1]` is the stretch of key k.
Cuts are set in `flags` (a union over all windows of a query), windows come as `Windows` of item ranges. `after[k]` and
`until[k]` bound what is reported: windows with after < end <= until.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.landmarks import landmarks
from windrow.engine.periodic import last_rows, periodic, periodic_cuts
from windrow.engine.sessions import session_cuts, sessions
from windrow.engine.walks import HIGHEST, LOWEST, Windows, measured, ready

__all__ = [
    "Windows", "begins_ends", "landmarks", "last_rows", "periodic", "periodic_cuts", "session_cuts", "sessions",
    "trailing",
]  # fmt: skip


def begins_ends(begins: Any, ends: Any, seg: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Windows told item by item: before item i the `ends[i]` oldest open ones close, then `begins[i]` begin with it.

    Returns (segment, lo, hi, left, bad): the windows that closed, `left[i]` how many that begin at item i are still
    open, and the first item that closes more than there are, or -1 (nothing after it is looked at).

    >>> segment, lo, hi, left, bad = begins_ends([2, 0, 1, 0], [0, 1, 0, 1], [0, 4])
    >>> lo.tolist(), hi.tolist(), left.tolist(), bad
    ([0, 0], [1, 3], [0, 0, 1, 0], -1)
    """
    begins, ends, seg = (ready(array, np.int64) for array in (begins, ends, seg))
    count, bad = _count(begins, ends, seg)
    left = begins.copy()
    segment, lo, hi = (np.empty(count, np.int64) for _ in range(3))
    _pair(left, ends, seg, bad, segment, lo, hi)
    return segment, lo, hi, left, bad


@cached
@whole("numpy")
def _count(begins, ends, seg):
    """How many windows close, up to the first item that closes too many."""
    count = 0
    for s in range(len(seg) - 1):
        opened = 0
        for i in range(seg[s], seg[s + 1]):
            if ends[i] > opened:
                return count, i
            opened += begins[i] - ends[i]
            count += ends[i]
    return count, -1


@cached
@whole("numpy")
def _pair(left, ends, seg, bad, segment, lo, hi):
    """Takes the windows that close out of those `left` open, oldest first."""
    count = 0
    for s in range(len(seg) - 1):
        oldest = seg[s]
        for i in range(seg[s], seg[s + 1]):
            if i == bad:
                return
            for _ in range(ends[i]):
                while left[oldest] == 0:
                    oldest += 1
                left[oldest] -= 1
                segment[count], lo[count], hi[count] = s, oldest, i
                count += 1


def trailing(
    measure: Any, seg: Any, fresh: Any, range: Any, closed_left: bool, closed_right: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(lo, hi) for each item from position `fresh[k]` on in segment k: the items within `range` before its measure.

    Items with an equal measure are in together. Neither lo nor hi ever moves back, over segments too.

    >>> lo, hi = trailing([1, 2, 2, 5], [0, 4], [0], 3, False, True)
    >>> lo.tolist(), hi.tolist()
    ([0, 0, 0, 3], [1, 3, 3, 4])
    """
    measure, seg, fresh = measured(measure), ready(seg, np.int64), ready(fresh, np.int64)
    number = measure.dtype.type
    lowest = number(-np.inf if number is np.float64 else LOWEST)
    if number is np.int64:
        range = min(int(range), HIGHEST)
    lo, hi = (np.empty(int((seg[1:] - fresh).sum()), np.int64) for _ in "lh")
    _trail(measure, seg, fresh, number(range), lowest, bool(closed_left), bool(closed_right), lo, hi)
    return lo, hi


@cached
@whole("numpy")
def _trail(measure, seg, fresh, span, lowest, closed_left, closed_right, lo, hi):
    count = 0
    for s in range(len(seg) - 1):
        z = seg[s + 1]
        f = e = seg[s]
        for i in range(fresh[s], z):
            now = measure[i]
            if closed_right:
                e = max(e, i + 1)
                while e < z and measure[e] == now:
                    e += 1
            else:
                while measure[e] < now:  # it stops at i
                    e += 1
            if now >= lowest + span:  # else it reaches back beyond every number
                bound = now - span
                while f < e and (measure[f] < bound or (measure[f] == bound and not closed_left)):
                    f += 1
            lo[count], hi[count] = f, e
            count += 1
