"""DABA, the De-Amortized Banker's Aggregator: paper 2 §6, Fig. 14, and Fig. 17 with caching.

The flip of ABA is begun early and done one unit of work at each insert and evict, so that no operation ever takes
longer than three combines.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from typing import Any

from windrow.engine.algorithm import in_order
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: l_F = [F, B) holds l_L = [L, R), l_R = [R, A), l_A = [A, B); l_B = [B, E); cached is Σ_R ⊕ Σ_A since the last flip
Registers = namedtuple("Registers", "F L R A B E cached")


def make_kernel(m: Monoid, caching: bool) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0, 0, 0, 0, 0, identity)

    @m.jit
    def fixup(s, F, L, R, A, B, E, cached):  # Fig. 14 lines 20-32, Fig. 17 lines 15-27
        if F == B:
            return Registers(F, E, E, E, E, E, identity)
        if L == B:  # flip: the old l_F and l_B become l_L and l_R
            L = F
            A = E
            B = E
            cached = get(s.aggs, (A - 1) & s.mask)  # Fig. 17 line 30: Σ_R, and l_A is empty
        if L == R:  # free ride: l_L and l_R are empty
            A += 1
            R += 1
            L += 1
        else:  # shrink l_L and l_R
            sigma_a = identity
            if A != B:
                sigma_a = get(s.aggs, A & s.mask)
            right = cached
            if not caching:
                right = combine(get(s.aggs, (A - 1) & s.mask), sigma_a)
            left = combine(get(s.aggs, L & s.mask), right)
            last = combine(get(s.vals, (A - 1) & s.mask), sigma_a)
            put(s.aggs, L & s.mask, left)
            put(s.aggs, (A - 1) & s.mask, last)
            L += 1
            A -= 1
        return Registers(F, L, R, A, B, E, cached)

    @m.jit
    def insert(s, r, v):
        sigma_b = identity
        if r.B != r.E:
            sigma_b = get(s.aggs, (r.E - 1) & s.mask)
        agg = combine(sigma_b, v)
        put(s.vals, r.E & s.mask, v)
        put(s.aggs, r.E & s.mask, agg)
        return fixup(s, r.F, r.L, r.R, r.A, r.B, r.E + 1, r.cached)

    @m.jit
    def evict(s, r):
        return fixup(s, r.F + 1, r.L, r.R, r.A, r.B, r.E, r.cached)

    @m.jit
    def query(s, r):
        # loads come first, as everywhere in queries: numba counts references to arrays that a branch may load from
        sigma_f = get(s.aggs, r.F & s.mask)
        sigma_b = get(s.aggs, (r.E - 1) & s.mask)
        if r.F == r.B:
            sigma_f = identity
        if r.B == r.E:
            sigma_b = identity
        return combine(sigma_f, sigma_b)

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def kernel(m: Monoid) -> Kernel:
    return make_kernel(m, caching=True)


def uncached_kernel(m: Monoid) -> Kernel:
    return make_kernel(m, caching=False)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, capacity, 0


_ordered = in_order("F", "L", "R", "A", "B", "E")


def fits(r: Any, links: Any, capacity: Any) -> Any:
    """§6.3: the order of the pointers and the sizes of the sublists."""
    empty, shrinks = (r.F == r.B) & (r.B == r.E), (r.F < r.B) & (r.R - r.L == r.A - r.R)
    return _ordered(r, links, capacity) & (empty | shrinks & ((r.B - r.L) + 1 == (r.B - r.F) - (r.E - r.B)))


ALGORITHM = Algorithm(
    name="daba",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="worst O(1): 3 insert, 2 evict, 1 query",
        space="2n",
        paper="2 §6, Fig. 17",
        note="no row ever waits for a flip",
        insert=3,
        evict=2,
        query=1,
    ),
    partial_registers=("cached",),
    fits=fits,
)

UNCACHED = replace(
    ALGORITHM,
    name="daba_uncached",
    kernel=uncached_kernel,
    card=Card(
        order="FIFO",
        requires="associative",
        time="worst O(1): 4 insert, 3 evict, 1 query",
        space="2n",
        paper="2 §6, Fig. 14",
        insert=4,
        evict=3,
        query=1,
    ),
)


class DABA(Swag):
    """Worst-case O(1): at most 3 combines per insert, 2 per evict, 1 per query; 2 and 1 on average (Theorem 9).

    `DABA(aggregate, caching=False)` is the form without caching, Fig. 14, with one combine more a step.
    """

    algorithm = ALGORITHM

    def __new__(cls, aggregate: Any = None, *, caching: bool = True, capacity: int = 16) -> DABA:
        return super().__new__(cls if caching else DABAUncached)

    def __init__(self, aggregate: Any, *, caching: bool = True, capacity: int = 16) -> None:
        super().__init__(aggregate, capacity=capacity)

    def check_invariants(self) -> None:
        """§6.3: the order of the pointers, the contents of aggs, the sizes of the sublists."""
        F, L, R, A, B, E, cached = self.r
        assert F <= L <= R <= A <= B <= E <= F + self.capacity, self.r
        if F == B:
            assert B == E, self.r
        else:
            assert (R - L) + (A - R) + (B - A) + 1 == (B - F) - (E - B), self.r
            assert R - L == A - R, self.r
        self._expect_suffixes(F, L, B)
        self._expect_suffixes(L, R, R)
        self._expect_prefixes(R, A, R)
        self._expect_suffixes(A, B, B)
        self._expect_prefixes(B, E, B)
        if L != R:
            self._expect(cached, self._fold(self.s.vals, R, B), "cached = Σ_R ⊕ Σ_A")


class DABAUncached(DABA):
    """DABA as Fig. 14 has it: one combine more while l_L and l_R shrink, one partial less to keep."""

    algorithm = UNCACHED
