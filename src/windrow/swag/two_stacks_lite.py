"""Two-Stacks Lite: both stacks in one queue, the back one as a single running aggregate.

Paper 2 §4 (Two-Stacks) with one aggregate a slot; the space-saving form is from the journal version of paper 2.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np

from windrow.engine.algorithm import Stretches, in_order
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: slots[F..B) hold aggregates up to B, slots[B..E) bare partials; back = slots[B] ⊕ ... ⊕ slots[E-1]
Registers = namedtuple("Registers", "F B E back")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0, 0, identity)

    @m.jit
    def insert(s, r, v):
        back = combine(r.back, v)
        put(s.vals, r.E & s.mask, v)
        return Registers(r.F, r.B, r.E + 1, back)

    @m.jit
    def evict(s, r):
        F, B, E, back = r
        if F == B:  # flip: the bare partials become aggregates up to E, the older one on the left
            i = E - 1
            acc = get(s.vals, i & s.mask)
            while i > F:
                i -= 1
                acc = combine(get(s.vals, i & s.mask), acc)
                put(s.vals, i & s.mask, acc)
            B = E
            back = identity
        return Registers(F + 1, B, E, back)

    @m.jit
    def query(s, r):
        if r.F == r.B:
            return r.back
        return combine(get(s.vals, r.F & s.mask), r.back)

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, 0, 0


def touches(register: Callable[[str], np.ndarray], evictions: np.ndarray, inserts: np.ndarray) -> Stretches:
    """A query reads the oldest slot. Nothing else is read until the front is empty; then all slots are, and written."""
    first, last = register("F"), register("E")
    flips = first + evictions > register("B")
    return [(first, np.where(flips, last, first + evictions + 1))]


ALGORITHM = Algorithm(
    name="two_stacks_lite",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="amortised O(1), worst O(n)",
        space="n + 1",
        paper="2 §4 (lite form)",
        insert=1,
        evict=1,
        query=1,
        amortised=("evict",),
    ),
    partial_registers=("back",),
    fused=True,
    touches=touches,
    fits=in_order("F", "B", "E"),
)


class TwoStacksLite(Swag):
    """Amortised O(1), n+1 partials: the fastest on average, with a flip of n combines now and then."""

    algorithm = ALGORITHM
    rows_kept_by = "TwoStacks"

    def check_invariants(self) -> None:
        """The queue's order of pointers; what the back claims is what its partials give."""
        F, B, E, back = self.r
        assert F <= B <= E, (F, B, E)
        assert self.capacity >= E - F
        self._expect(back, self._fold(self.s.vals, B, E), "back = Σ slots[B..E)")
