"""Where values lie between the edges of periodic windows: slices that a value tells by itself, in whatever order.

Edges are pairs (every, offset): one at each offset + k * every. Values are ints, and far enough from the ends of what
64 bits hold (`Window.check_places` looks after that).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import ready

#: (every, offset)
Edge = tuple[int, int]


class Places:
    """The slices between neighbouring edges."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        """
        >>> Places([(60, 0), (60, 70)]).begin_of(119)
        70
        """
        self.edges = sorted({(every, offset % every) for every, offset in edges})
        first = self.edges[0][1]
        #: slices are multiples of it long
        self.unit = math.gcd(*(n for every, offset in self.edges for n in (every, offset - first)))
        self._every, self._offset = (ready([edge[j] for edge in self.edges], np.int64) for j in range(2))

    def begin_of(self, value: int) -> int:
        """The last edge that is not after the value."""
        return max(offset + (value - offset) // every * every for every, offset in self.edges)

    def of(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(begin, end) of the slice of each value.

        >>> begin, end = Places([(60, 0), (60, 10)]).of(np.array([-1, 0, 9, 10, 65]))
        >>> begin.tolist(), end.tolist()
        ([-50, 0, 0, 10, 60], [0, 10, 10, 60, 70])
        """
        begin, end = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        _places(ready(values, np.int64), self._every, self._offset, begin, end)
        return begin, end


@cached
@whole("numpy")
def _places(values, every, offset, begin, end):
    low, high = np.int64(0), np.int64(0)  # neighbours are mostly in the same slice
    for i in range(len(values)):
        v = values[i]
        if v < low or v >= high:
            for j in range(len(every)):
                edge = offset[j] + (v - offset[j]) // every[j] * every[j]
                if j == 0:
                    low, high = edge, edge + every[j]
                else:
                    low, high = max(low, edge), min(high, edge + every[j])
        begin[i], end[i] = low, high
