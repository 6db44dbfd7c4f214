"""B-Int: base intervals, of Arasu and Widom (VLDB 2004), as papers 1 §6 and 5 §2.2 describe it.

Level l holds the aggregates of the dyadic intervals of 2^l rows that begin at a multiple of 2^l, as a ring. An
insertion writes only the intervals that END with the new row (paper 5 §2.2), amortised one combine; a query combines
the least set of intervals that covers the window. All levels lie in one array, level l in the slots n/2^l to 2n/2^l.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from windrow.engine.algorithm import Region, Regions, in_order
from windrow.engine.columns import Store, read
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: the rows are at positions F..E, counted on for ever; interval i of level l covers the positions i·2^l to (i+1)·2^l
Registers = namedtuple("Registers", "F E")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        size = s.mask + 1
        i = r.E
        begin = i  # of the interval that ends with the new row
        width = 1
        put(s.vals, size + (i & (size - 1)), v)
        a = get(s.vals, size + (i & (size - 1)))
        # An interval that began before F will never be asked for: rows that have gone are not combined again.
        while size > 1 and i & 1 == 1 and begin - width >= r.F:
            a = combine(get(s.vals, size + ((i - 1) & (size - 1))), a)
            begin -= width
            width <<= 1
            size >>= 1
            i >>= 1
            put(s.vals, size + (i & (size - 1)), a)
        return Registers(r.F, r.E + 1)

    @m.jit
    def evict(s, r):
        return Registers(r.F + 1, r.E)

    @m.jit
    def query(s, r):
        """From both ends inwards: an interval that is a right half begins, one that is a left half ends the cover."""
        older, newer = identity, identity
        i, j = r.F, r.E
        size = s.mask + 1
        while i < j:
            if i & 1:
                older = combine(older, get(s.vals, size + (i & (size - 1))))
                i += 1
            if j & 1:
                j -= 1
                newer = combine(get(s.vals, size + (j & (size - 1))), newer)
            if size == 1 and i < j:  # the one interval of the top level is the window
                older = combine(older, get(s.vals, 1))
                i = j
            i >>= 1
            j >>= 1
            size >>= 1
        return combine(older, newer)

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return 2 * capacity, 0, 0


def level_intervals(F: int, E: int, capacity: int) -> Iterator[tuple[int, int, range]]:
    """For each level: the width of its intervals, their number, and those that lie within F..E."""
    width, size = 1, capacity
    while size:
        yield width, size, range(-(-F // width), max(-(-F // width), E // width))
        width, size = 2 * width, size // 2


def regions(r: Registers, capacity: int) -> Regions:
    """A level's intervals. Levels that only a larger window has are wider than all rows there are."""
    levels = level_intervals(r.F, r.E, capacity)
    return [Region(size, size - 1, at.start, at.stop) for _, size, at in levels], [], []


def drop(s: Store, before: Registers, after: Registers) -> None:
    """Lets go of the intervals that begin before the window; on a level that loses none, nor do those above."""
    size, first, now = s.mask + 1, before.F, after.F
    while first < now and size:
        s.vals.forget_below(size + first, size + now)
        size, first, now = size >> 1, (first + 1) >> 1, (now + 1) >> 1


ALGORITHM = Algorithm(
    name="b_int",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="insert amortised O(1), evict none, query O(log n)",
        space="2n, n rounded up to a power of two",
        paper="Arasu & Widom 2004; 1 §6, 5 §2.2",
        insert=1,
        evict=0,
        amortised=("insert",),
    ),
    regions=regions,
    drop=drop,
    fits=in_order("F", "E"),
)


class BInt(Swag):
    """Insertion amortised O(1), eviction free, a query of at most 2 log n intervals."""

    algorithm = ALGORITHM

    def _oldest_first(self) -> Iterator[Any]:
        get, s = self.form.get, self.s
        return (get(s.vals, s.mask + 1 + (i & s.mask)) for i in range(self.r.F, self.r.E))

    def check_invariants(self) -> None:
        """Each interval within the window holds the aggregate of its rows."""
        F, E = self.r
        assert 0 <= E - F <= self.capacity
        rows = [read(self.s.vals, self.capacity + (i & self.s.mask)) for i in range(F, E)]
        for width, size, intervals in level_intervals(F, E, self.capacity):
            for i in intervals:
                true = self.m.identity
                for row in rows[i * width - F : (i + 1) * width - F]:
                    true = self.m.combine(true, row)
                claimed = read(self.s.vals, size + (i & (size - 1)))
                self._expect(claimed, true, f"interval {i} of {width} rows")
