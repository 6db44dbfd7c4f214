"""Two-Stacks: paper 2 §4, Fig. 5. A queue of two stacks, each element with the aggregate of its stack so far."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from itertools import chain
from typing import Any

from windrow.engine.algorithm import Region, Regions
from windrow.engine.columns import Store
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: |s_F| and |s_B|; s_F lies in the lower half of vals and aggs, s_B in the upper, both bottom first
Registers = namedtuple("Registers", "front back")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        top = s.mask + 1 + r.back
        below = identity
        if r.back > 0:
            below = get(s.aggs, top - 1)  # Σ_B
        agg = combine(below, v)  # line 4: v is younger, on the right
        put(s.vals, top, v)
        put(s.aggs, top, agg)
        return Registers(r.front, r.back + 1)

    @m.jit
    def evict(s, r):
        front, back = r
        if front == 0:  # flip (lines 13-17): the youngest goes to the bottom of s_F
            agg = identity
            while back > 0:
                back -= 1
                v = get(s.vals, s.mask + 1 + back)
                agg = combine(v, agg)  # line 17: v is older, on the left
                put(s.vals, front, v)
                put(s.aggs, front, agg)
                front += 1
        return Registers(front - 1, back)

    @m.jit
    def query(s, r):
        older = get(s.aggs, max(r.front - 1, 0))  # Σ_F
        younger = get(s.aggs, s.mask + max(r.back, 1))  # Σ_B
        if r.front == 0:
            older = identity
        if r.back == 0:
            younger = identity
        return combine(older, younger)

    @m.jit
    def size(r):
        return r.front + r.back

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return 2 * capacity, 2 * capacity, 0


def regions(r: Registers, capacity: int) -> Regions:
    """Each stack from the beginning of its half on."""
    stacks = [Region(0, capacity - 1, 0, r.front), Region(capacity, capacity - 1, 0, r.back)]
    return stacks, stacks, []


def drop(s: Store, before: Registers, after: Registers) -> None:
    """Lets go of what was popped; a flip has emptied the back."""
    went = sum(before) - sum(after)
    for slots in (s.vals, s.aggs):
        slots.forget_above(after.front, max(before.front, after.front + went))
        if after.back < before.back:
            slots.forget_above(s.mask + 1 + after.back, s.mask + 1 + before.back)
            slots.source = None  # the flip has written all there is


def fits(r: Any, links: Any, capacity: Any) -> Any:
    return (r.front >= 0) & (r.back >= 0) & (r.front + r.back <= capacity)


ALGORITHM = Algorithm(
    name="two_stacks",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="amortised O(1), worst O(n)",
        space="2n",
        paper="2 §4, Fig. 5",
        insert=1,
        evict=1,
        query=1,
        amortised=("evict",),
    ),
    regions=regions,
    drop=drop,
    fits=fits,
)


class TwoStacks(Swag):
    """Amortised O(1), simple; a flip copies the whole window."""

    algorithm = ALGORITHM

    def _oldest_first(self) -> Iterator[Any]:
        (front, back), s, get = self.r, self.s, self.form.get
        places = chain(range(front - 1, -1, -1), range(s.mask + 1, s.mask + 1 + back))
        return (get(s.vals, i) for i in places)

    def check_invariants(self) -> None:
        """§4: the aggregates are cumulative from the bottom, in opposite orders."""
        m = self.m
        front, back = self.r
        assert front >= 0 <= back and front + back <= self.capacity
        total = m.identity
        for i in range(front):
            total = m.combine(m.get(self.s.vals, i), total)
            self._expect(m.get(self.s.aggs, i), total, f"s_F[{i}].agg")
        total = m.identity
        for i in range(self.capacity, self.capacity + back):
            total = m.combine(total, m.get(self.s.vals, i))
            self._expect(m.get(self.s.aggs, i), total, f"s_B[{i - self.capacity}].agg")
