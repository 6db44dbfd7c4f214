"""Landmark windows: from a landmark on, reported every so often, until the next landmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import Windows, check_room, extent, new_windows, ready, seek


def landmarks(
    mark: Any, measure: Any, last: Any, seg: Any, every: int, after: Any, until: Any, partial: bool, fresh: Any = None
) -> Windows:
    """For each landmark the windows [start, start + k * every) whose k-th step has a row in it, after < end <= until.

    Item i begins with a landmark where `mark[i]`; `measure` and `last` (int64) are its first and last values. An item
    of several rows may span steps: its first and its last row tell which of them have rows, so steps between, where
    any, must have ended by `after`. With `partial`, the step that a landmark cuts short is reported too, when that
    landmark comes: it is an item from `fresh[k]` on (None: all items are new). Its end is the landmark's value.

    >>> found = landmarks([1, 0, 0, 1], [5, 6, 17, 18], [5, 6, 17, 18], [0, 4], 4, [0], [100], True)
    >>> list(zip(found.lo.tolist(), found.hi.tolist(), found.start.tolist(), found.end.tolist()))
    [(0, 2, 5, 9), (0, 3, 5, 18), (3, 4, 18, 22)]
    """
    measure, last, seg = ready(measure, np.int64), ready(last, np.int64), ready(seg, np.int64)
    every = int(every)
    low, high = extent(measure, last, seg)
    if low is not None:
        check_room(low, high + every, f"landmark windows every {every}")
    given = (
        ready(mark, bool), measure, last, seg, np.int64(every), ready(after, np.int64), ready(until, np.int64),
        bool(partial), ready(seg[:-1] if fresh is None else fresh, np.int64),
    )  # fmt: skip
    found = new_windows(_walk(*given, *new_windows(0, np.int64)), np.int64)
    if len(found.lo):
        _walk(*given, *found)
    return found


@whole("numpy")
def _step_end(x, start, every):
    """The end of the step that x lies in. Unsigned: x may lie 2^64 from the landmark."""
    steps = (np.uint64(x) - np.uint64(start)) // np.uint64(every) + np.uint64(1)
    return np.int64(np.uint64(start) + steps * np.uint64(every))


@cached
@whole("numpy")
def _walk(mark, measure, last, seg, every, after, until, partial, fresh, segment, lo, hi, start, end):
    """Counts the windows; where there is room for them, writes them."""
    fill = len(lo) > 0
    count = 0
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        while i < z and not mark[i]:
            i += 1
        while i < z:
            a = i  # the landmark, and b the next one
            b = a + 1
            while b < z and not mark[b]:
                b += 1
            begin = x = measure[a]
            more = True
            while more:
                right = _step_end(x, begin, every)
                i = seek(measure, i, b, right)
                whole_step = b == z or right <= measure[b]
                if whole_step:
                    named, wanted = right, after[s] < right <= until[s]
                else:
                    named, wanted = measure[b], partial and b >= fresh[s]
                if wanted:
                    if fill:
                        segment[count], lo[count], hi[count] = s, a, i
                        start[count], end[count] = begin, named
                    count += 1
                if last[i - 1] >= right:  # the item reaches into a later step; those between have ended
                    x = last[i - 1]
                elif i < b:
                    x = measure[i]
                else:
                    more = False
            i = b
    return count
