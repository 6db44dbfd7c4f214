"""Where the window of each row begins and ends, as positions: from a row count, or from a sorted time column.

Positions count from the oldest row still in the window when the batch begins; both ends never move back.
"""

from __future__ import annotations

import numpy as np

from windrow.engine.kernel import cached, whole


@cached
@whole("numpy")
def row_bounds(starts, carried, begin, a, z, w, lo, hi):
    """Rows a..z of a batch that follows `carried` rows: the w rows up to each, within its key.

    `starts[i]` is true where row i is the first of a key, `begin` is where the key of row a-1 began. Returns where that
    of row z-1 did.
    """
    for i in range(a, z):
        if starts[i]:
            begin = carried + i
        hi[i - a] = carried + i + 1
        lo[i - a] = max(begin, carried + i + 1 - w)
    return begin


@cached
@whole("numpy")
def time_bounds(times, starts, carried, inserted, duration, closed_left, closed_right, lo, hi):
    """Rows of a batch whose `times` begin with those of the `carried` rows: all within `duration` of each, by key.

    The first `inserted` of the carried rows are in the window. Rows with an equal time are in together: `hi` runs
    ahead to the last of them. Returns the first row out of order, or -1.
    """
    n = len(times) - carried
    span = np.uint64(duration)
    f = 0
    e = inserted
    end = carried
    while end < len(times) and not starts[end - carried]:
        end += 1
    for i in range(n):
        at = carried + i
        if starts[i]:
            e = f = at
            end = at + 1
            while end < len(times) and not starts[end - carried]:
                end += 1
        elif at > 0 and times[at] < times[at - 1]:
            return i
        now = times[at]
        if closed_right:
            e = max(e, at + 1)
            while e < end and times[e] == now:
                e += 1
        else:
            while e < at and times[e] < now:
                e += 1
        while f < e:
            age = np.uint64(now) - np.uint64(times[f])  # unsigned: times may lie 2^64 apart
            if age < span or (age == span and closed_left):
                break
            f += 1
        lo[i] = f
        hi[i] = e
    return -1
