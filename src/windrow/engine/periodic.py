"""Windows that begin every so often: where rows in any order are cut for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import check_room, next_edge, ready, seek


def periodic_cuts(times: Any, seg: Any, range: int, every: int, origin: int, flags: np.ndarray) -> None:
    """Sets `flags[i]` where item i begins a slice: first of its segment, or beyond an edge that the one before is not.

    Slices are cut where windows begin and where they end ("pairs").

    >>> flags = np.zeros(8, bool)
    >>> periodic_cuts(np.arange(8), [0, 8], 5, 3, 0, flags)
    >>> np.flatnonzero(flags).tolist()
    [0, 2, 3, 5, 6]
    """
    times, seg = ready(times, np.int64), ready(seg, np.int64)
    range, every = int(range), int(every)
    origin = int(origin) % every  # near 0: no edge lies farther out than a value needs
    if len(times):
        reach = range + 2 * every
        check_room(int(times.min()) - reach, int(times.max()) + reach, f"windows of {range} every {every}")
    for offset in [0] if range % every == 0 else [0, range]:
        _cut(times, seg, np.int64(offset), np.int64(every), np.int64(origin), flags)


@cached
@whole("numpy")
def _cut(times, seg, offset, every, origin, flags):
    for s in range(len(seg) - 1):
        i, z = seg[s], seg[s + 1]
        if i < z:
            flags[i] = True
            k = next_edge(times[i], offset, every, origin)
            i = seek(times, i + 1, z, (origin + k * every) + offset)
            while i < z:
                flags[i] = True
                k += 1
                edge = (origin + k * every) + offset
                if times[i] >= edge:
                    k = next_edge(times[i], offset, every, origin)
                    edge = (origin + k * every) + offset
                i = seek(times, i + 1, z, edge)
