"""Subtract on evict: paper 2, Fig. 19. One running aggregate, from which the oldest partial is taken out again.

Only where that is exact: an inverse in floats would leave the rounding of every row that ever passed in the answer
(1e300 in and out again, and nothing else is left). So floats run in the aggregate's exact form, where it has one.
"""

from __future__ import annotations

from collections import namedtuple

from windrow.aggregates.base import Aggregate
from windrow.engine.algorithm import in_order
from windrow.engine.state import WindowState
from windrow.errors import Unsupported
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: agg = slots[F] ⊕ ... ⊕ slots[E-1]
Registers = namedtuple("Registers", "F E agg")


def kernel(m: Monoid) -> Kernel:
    combine, identity, inverse, get, put = m.combine, m.identity, m.inverse, m.get, m.put
    assert inverse is not None

    @m.jit
    def clear(s):
        return Registers(0, 0, identity)

    @m.jit
    def insert(s, r, v):
        agg = combine(r.agg, v)
        put(s.vals, r.E & s.mask, v)
        return Registers(r.F, r.E + 1, agg)

    @m.jit
    def evict(s, r):
        return Registers(r.F + 1, r.E, inverse(r.agg, get(s.vals, r.F & s.mask)))

    @m.jit
    def query(s, r):
        return r.agg

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, 0, 0


def rebuild(state: WindowState) -> WindowState:
    """The running aggregate anew: converted, it would lack the number of its rows."""
    m, r, s = state.monoid, state.registers, state.store
    agg = m.identity
    for i in range(r.F, r.E):
        agg = m.combine(agg, m.get(s.vals, i & s.mask))
    return state.after(r._replace(agg=agg))


ALGORITHM = Algorithm(
    name="subtract_on_evict",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative, exactly invertible",
        time="worst O(1)",
        space="n + 1",
        paper="2 Fig. 19",
        insert=1,
        evict=1,
        query=0,
    ),
    partial_registers=("agg",),
    counted=True,
    rebuild=rebuild,
    fits=in_order("F", "E"),
)


class SubtractOnEvict(Swag):
    """O(1) in the worst case and the least work of all, for aggregates with an exact inverse."""

    algorithm = ALGORITHM

    def accept(self, aggregate: Aggregate) -> Aggregate:
        if aggregate.exact is not None:
            return aggregate.exact
        if aggregate.core_inverse is None:
            raise Unsupported(
                f"SubtractOnEvict needs an inverse, and {aggregate.name} has none; TwoStacksLite does without"
            )
        return aggregate

    def check_invariants(self) -> None:
        """The running aggregate is what a fold of the slots gives."""
        F, E, agg = self.r
        assert 0 <= E - F <= self.capacity, self.r
        self._expect(agg, self._fold(self.s.vals, F, E), "agg = Σ slots[F..E)")
