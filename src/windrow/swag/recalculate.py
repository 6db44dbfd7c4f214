"""Recalculate from scratch: paper 2, Fig. 20. The oracle that every other algorithm is compared with."""

from __future__ import annotations

from collections import namedtuple

from windrow.engine.algorithm import in_order
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: slots[F..E) hold the window's partials
Registers = namedtuple("Registers", "F E")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        put(s.vals, r.E & s.mask, v)
        return Registers(r.F, r.E + 1)

    @m.jit
    def evict(s, r):
        return Registers(r.F + 1, r.E)

    @m.jit
    def query(s, r):
        agg = identity
        for i in range(r.F, r.E):
            agg = combine(agg, get(s.vals, i & s.mask))
        return agg

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, 0, 0


ALGORITHM = Algorithm(
    name="recalculate",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="query O(n), else none",
        space="n",
        paper="2 Fig. 20",
        insert=0,
        evict=0,
    ),
    fits=in_order("F", "E"),
)


class Recalculate(Swag):
    """O(n) per query, nothing else to do: the fastest for windows of a few rows, and always right."""

    algorithm = ALGORITHM

    def check_invariants(self) -> None:
        """Only the pointers' order."""
        assert 0 <= self.r.E - self.r.F <= self.capacity, self.r
