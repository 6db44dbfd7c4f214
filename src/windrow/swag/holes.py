"""Which places of a ring rows have left out of order: the k-th row that is still there is found in O(log n)."""

from __future__ import annotations

from collections.abc import Iterable


class Holes:
    """A Fenwick tree over the places 0 to capacity - 1 of a ring. It has an entry only where there are holes.

    >>> holes = Holes(8, [1, 2])
    >>> holes.place(6, 1), holes.place(6, 2), holes.place(6, 3)  # the rows at 6, 7, 0, 3, ...
    (7, 0, 3)
    """

    def __init__(self, capacity: int, places: Iterable[int] = ()) -> None:
        self.capacity, self.total = capacity, 0
        self.counts: dict[int, int] = {}
        for place in places:
            self.add(place)

    def add(self, place: int, count: int = 1) -> None:
        """A hole more at this place; with a count of -1, one less."""
        self.total += count
        i = place + 1
        while i <= self.capacity:
            self.counts[i] = self.counts.get(i, 0) + count
            i += i & -i

    def place(self, front: int, k: int) -> int:
        """Where the row lies that has `k` others from the place `front` on, round the ring."""
        k += front - self._before(front)
        size = self.capacity - self.total
        return self._nth(k if k < size else k - size)

    def _before(self, place: int) -> int:
        """Holes at smaller places."""
        found, i = 0, place
        while i:
            found += self.counts.get(i, 0)
            i -= i & -i
        return found

    def _nth(self, k: int) -> int:
        """The place that has `k` smaller ones without a hole, and none itself."""
        at, step = 0, self.capacity
        while step:
            there = step - self.counts.get(at + step, 0)
            if at + step <= self.capacity and there <= k:
                at, k = at + step, k - there
            step >>= 1
        return at
