"""DABA Lite: DABA with one partial a slot, from the journal version of paper 2 (VLDB Journal 2021).

l_R and l_B hold bare partials; what DABA keeps as their aggregates is in two registers.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np

from windrow.engine.algorithm import Stretches
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag
from windrow.swag.daba import fits

#: as DABA's; agg_ra = Σ of [R, B) since the last flip, agg_b = Σ of [B, E)
Registers = namedtuple("Registers", "F L R A B E agg_ra agg_b")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0, 0, 0, 0, 0, identity, identity)

    @m.jit
    def fixup(s, F, L, R, A, B, E, agg_ra, agg_b):
        if F == B:  # a single row, or none: it is its own aggregate
            return Registers(F, E, E, E, E, E, identity, identity)
        if L == B:  # flip
            L = F
            A = E
            B = E
            agg_ra = agg_b
            agg_b = identity
        if L == R:  # free ride
            A += 1
            R += 1
            L += 1
        else:  # shrink
            sigma_a = identity
            if A != B:
                sigma_a = get(s.vals, A & s.mask)
            left = combine(get(s.vals, L & s.mask), agg_ra)
            last = combine(get(s.vals, (A - 1) & s.mask), sigma_a)
            put(s.vals, L & s.mask, left)
            put(s.vals, (A - 1) & s.mask, last)
            L += 1
            A -= 1
        return Registers(F, L, R, A, B, E, agg_ra, agg_b)

    @m.jit
    def insert(s, r, v):
        agg_b = combine(r.agg_b, v)
        put(s.vals, r.E & s.mask, v)
        return fixup(s, r.F, r.L, r.R, r.A, r.B, r.E + 1, r.agg_ra, agg_b)

    @m.jit
    def evict(s, r):
        return fixup(s, r.F + 1, r.L, r.R, r.A, r.B, r.E, r.agg_ra, r.agg_b)

    @m.jit
    def query(s, r):
        sigma_f = get(s.vals, r.F & s.mask)
        if r.F == r.B:
            sigma_f = identity
        return combine(sigma_f, r.agg_b)

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, 0, 0


def touches(register: Callable[[str], np.ndarray], evictions: np.ndarray, inserts: np.ndarray) -> Stretches:
    """Each operation moves L and A by at most one place. After a flip, which is one of them, L is at F and A at E."""
    n = evictions + inserts
    first, left, accumulated, last = (register(name) for name in "FLAE")
    return [
        (first, first + evictions + n + 1),
        (left, left + n + 1),
        (accumulated - n - 1, accumulated + n + 1),
        (last - n - 1, last),
    ]


ALGORITHM = Algorithm(
    name="daba_lite",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="worst O(1): 3 insert, 2 evict, 1 query",
        space="n + 2",
        paper="2 (journal version)",
        insert=3,
        evict=2,
        query=1,
    ),
    partial_registers=("agg_ra", "agg_b"),
    touches=touches,
    fits=fits,
)


class DABALite(Swag):
    """Worst-case O(1) like DABA, with half of its space."""

    algorithm = ALGORITHM
    rows_kept_by = "DABA"

    def check_invariants(self) -> None:
        """DABA's size invariants, and what can be told of the aggregates without the bare partials."""
        F, L, R, A, B, E, agg_ra, agg_b = self.r
        assert F <= L <= R <= A <= B <= E <= F + self.capacity, self.r
        if F == B:
            assert B == E, self.r
        else:
            assert (R - L) + (A - R) + (B - A) + 1 == (B - F) - (E - B), self.r
            assert R - L == A - R, self.r
        self._expect(agg_b, self._fold(self.s.vals, B, E), "agg_b = Σ l_B")
        if L != R:
            sigma_a = self.m.get(self.s.vals, A & self.s.mask) if A != B else self.m.identity
            self._expect(agg_ra, self.m.combine(self._fold(self.s.vals, R, A), sigma_a), "agg_ra = Σ l_R ⊕ Σ l_A")
