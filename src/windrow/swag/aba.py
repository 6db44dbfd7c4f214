"""ABA, the Amortized Banker's Aggregator: paper 2 §5, Fig. 7. The two stacks lie bottom to bottom in one queue."""

from __future__ import annotations

from collections import namedtuple

from windrow.engine.algorithm import in_order
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: l_F = [F, B) with aggregates up to B, l_B = [B, E) with aggregates from B on
Registers = namedtuple("Registers", "F B E")


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put = m.combine, m.identity, m.get, m.put

    @m.jit
    def clear(s):
        return Registers(0, 0, 0)

    @m.jit
    def insert(s, r, v):
        sigma_b = identity
        if r.B != r.E:
            sigma_b = get(s.aggs, (r.E - 1) & s.mask)
        agg = combine(sigma_b, v)  # line 5
        put(s.vals, r.E & s.mask, v)
        put(s.aggs, r.E & s.mask, agg)
        return Registers(r.F, r.B, r.E + 1)

    @m.jit
    def evict(s, r):
        F, B, E = r
        if F == B and B != E:  # flip, lines 14-20
            i = E - 1
            agg = get(s.vals, i & s.mask)
            put(s.aggs, i & s.mask, agg)
            while i != F:
                i -= 1
                agg = combine(get(s.vals, i & s.mask), agg)  # line 19
                put(s.aggs, i & s.mask, agg)
            B = E
        return Registers(F + 1, B, E)

    @m.jit
    def query(s, r):
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


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, capacity, 0


ALGORITHM = Algorithm(
    name="aba",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="amortised O(1), worst O(n)",
        space="2n",
        paper="2 §5, Fig. 7",
        insert=1,
        evict=1,
        query=1,
        amortised=("evict",),
    ),
    fits=in_order("F", "B", "E"),
)


class ABA(Swag):
    """Amortised O(1) in place: Two-Stacks without its copies."""

    algorithm = ALGORITHM

    def check_invariants(self) -> None:
        """§5: F <= B <= E; aggs[i] reaches from i to B in l_F and from B to i in l_B."""
        F, B, E = self.r
        assert F <= B <= E <= F + self.capacity, self.r
        self._expect_suffixes(F, B, B)
        self._expect_prefixes(B, E, B)
