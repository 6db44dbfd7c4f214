"""Amortized MTA: a forest of level queues, a Result Pair and a Stack.

Paper 4 §4.2, Algorithms 3-7. Errata: Alg. 5 starts from the neutral element and leaves out the leftmost tree; §4.2.1
once pops the Stack "onto R_1" (it is R_0: Alg. 6, line 3), and its example makes R_1 = 3 + 1 = 4, not 6 + 1 = 7;
where the leftmost tree is gone (Alg. 6, line 18) R_0 and the Stack are computed anew as well as R_1, since line 3 finds
the Stack empty then.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from windrow.swag.base import Algorithm, Card, Monoid
from windrow.swag.mta_fits import levels_fit
from windrow.swag.mta_levels import Layout, MonoidTree, TreeKernel, grow, levels, rings, search

#: R0 ⊕ R1 is the window: the leftmost tree and the rest of the forest. aggs[0..S) is the Stack; h levels, n updates
Registers = namedtuple("Registers", "R0 R1 S h n")

RINGS = rings(0)


def kernel(m: Monoid, layout: Callable[[Monoid], Layout] = RINGS) -> TreeKernel:
    combine, identity, get, put, put_link = m.combine, m.identity, m.get, m.put, m.put_link
    get_link = m.get_link
    tools = levels(m, layout(m))
    slot, pair, begin, behead = tools.slot, tools.pair, tools.begin, tools.behead

    @m.jit
    def stack(s, S, l):
        """Alg. 7 from level l downwards: pushes e_1 ⊕ top for each head pair that is full; the Stack's new height."""
        top = identity
        if S > 0:
            top = get(s.aggs, S - 1)
        while l >= 0:
            H = get_link(s.links, 2 * l)
            if (H & 1) == 0 and get_link(s.links, 2 * l + 1) > H + 1:
                top = combine(get(s.vals, slot(s, l, H + 1)), top)
                put(s.aggs, S, top)
                S += 1
            l -= 1
        return S

    @m.whole  # called, not inlined: it is rare, and inlined twice it doubles the time to compile
    def recompute(s, h, n):
        """Algorithms 4 and 5: the Result Pair and the Stack from the forest."""
        R0 = identity
        R1 = identity
        S = 0
        if h > 0:
            S = stack(s, 0, h - 1)
            R0 = get(s.vals, slot(s, 0, get_link(s.links, 0)))
            if S > 0:
                R0 = combine(R0, get(s.aggs, S - 1))
            for l in range(h - 1):  # the tail pairs but the top level's, which is the leftmost tree
                R1 = combine(pair(s, l, get_link(s.links, 2 * l + 1) - 1), R1)
        return Registers(R0, R1, S, h, n)

    @m.jit
    def clear(s):
        return Registers(identity, identity, 0, 0, 0)

    @m.jit
    def insert(s, r, v):
        R0, R1, S, h, n = r
        agg = v
        l = 0
        rises = True  # agg ≠ ∅
        while rises and l < h:
            T = get_link(s.links, 2 * l + 1)
            above = agg
            if (T & 1) == 0:  # lines 7-9: the tail pair is full; it gets its parent, and a new tail follows
                above = pair(s, l, T - 1)
            else:
                rises = False
            put(s.vals, slot(s, l, T), agg)
            put_link(s.links, 2 * l + 1, T + 1)
            agg = above
            l += 1
        n += 1
        merges = l == h and (h == 0 or not rises)  # line 18: a tree has joined the leftmost one (or is it)
        if rises:  # line 16
            begin(s, h, agg)
            h += 1
        if merges:
            done = recompute(s, h, n)
        else:  # Alg. 3, line 3, but only where R1 is not computed from the forest
            done = Registers(R0, combine(R1, v), S, h, n)
        return done

    @m.jit
    def evict(s, r):
        R0, R1, S, h, n = r
        if S > 0:  # Alg. 6, line 3
            S -= 1
            R0 = get(s.aggs, S)
        left = behead(s, h, 1)
        done = Registers(R0, R1, S, left, n - 1)
        if left < h:  # line 18: the leftmost tree is gone
            done = recompute(s, left, n - 1)
        else:  # lines 9 and 17: a pair went on each level below the one where a head became <∅, *>
            l = 0
            while (get_link(s.links, 2 * l) & 1) == 0:
                l += 1
            done = Registers(R0, R1, stack(s, S, l - 1), left, n - 1)
        return done

    @m.jit
    def cut(s, r, k):
        """§4.2.4: Alg. 2's eviction from the forest. It leaves the leftmost branch stale, which nothing here reads.

        The Result Pair and the Stack are as k single evictions leave them, but computed once: for no more combines.
        """
        R0, R1, S, h, n = r
        l, pairs = 0, k
        while l < h and pairs > 0:  # the Stack's elements of the levels whose heads move are popped
            H = get_link(s.links, 2 * l)
            if (H & 1) == 0 and get_link(s.links, 2 * l + 1) > H + 1:
                S -= 1
            pairs = ((H + pairs) >> 1) - (H >> 1)
            l += 1
        left = behead(s, h, k)
        done = Registers(R0, R1, S, left, n - k)
        if left < h:  # the leftmost tree is gone
            done = recompute(s, left, n - k)
        else:  # on the last of these levels, the head was e_0 of a full pair, and is e_1 now
            R0 = get(s.aggs, S)  # all from that e_1 on
            whole = True
            for below in range(l - 1):
                whole = whole and (get_link(s.links, 2 * below) & 1) == 0
            S = stack(s, S, l - 2)
            if not whole:  # rows below that e_1 went, too
                R0 = get(s.vals, slot(s, 0, get_link(s.links, 0)))
                if S > 0:
                    R0 = combine(R0, get(s.aggs, S - 1))
            done = Registers(R0, R1, S, left, n - k)
        return done

    @m.jit
    def query(s, r):
        return combine(r.R0, r.R1)

    @m.jit
    def size(r):
        return r.n

    @m.jit
    def held(s, l, p):
        return get(s.vals, slot(s, l, p))

    def policed(goes: Callable) -> Callable:
        found, refresh = search(m, held, goes), tools.refresh

        @m.whole
        def enforce(s, r, asked):
            """§4.2.4: row by row at first; after log2 n of them by a search. Then all that goes is evicted at once."""
            singles, n = 1, r.n
            while n > 3:
                singles, n = singles + 1, n >> 1
            old = identity
            k = 0
            go = True
            while go and k < singles and k < r.n:
                old = combine(old, held(s, 0, get_link(s.links, 0) + k))
                go = goes(asked, old)
                if go:
                    k += 1
            if go and k < r.n:
                refresh(s, r.h)  # the values that evictions left stale
                k = found(s, r.h, asked)
            if k > 0:
                r = cut(s, r, k)
            return r

        return enforce

    return TreeKernel(clear, insert, evict, query, size, cut, policed, tools)


def slots(capacity: int) -> tuple[int, int, int]:
    levels_at_most = capacity.bit_length() + 1
    return 2 * capacity, capacity.bit_length(), 2 * levels_at_most


def fits(r: Any, links: Any, capacity: int) -> bool:
    """The levels hang together, and the Stack has an element for each head pair that is full."""
    heads = [(int(links[2 * l]), int(links[2 * l + 1])) for l in range(r.h)] if 2 * r.h <= len(links) else []
    full = sum(1 for H, T in heads if not H & 1 and H + 1 < T)
    return levels_fit(r, links, capacity, orphans=1) and r.S == full <= capacity.bit_length()


ALGORITHM = Algorithm(
    name="amta",
    kernel=kernel,
    registers=Registers,
    layout=slots,
    card=Card(
        order="FIFO",
        requires="associative",
        time="amortised O(1), worst O(log n), bulk eviction O(log n)",
        space="2n + log n",
        paper="4 §4.2",
        note="evicts by a policy on the aggregate",
        query=1,
    ),
    partial_registers=("R0", "R1"),
    grow=grow,
    fits=fits,
)


class AMTA(MonoidTree):
    """Amortised O(1) per row, O(log n) at worst, and O(log n) to evict any number of rows at once."""

    algorithm = ALGORITHM
    singles_first = True

    def _enforce(self, s: Any, r: Any, goes: Callable[[Any], bool]) -> Any:
        """§4.2.4: row by row at first; after log2 n of them by a search. Then all that goes is evicted at once."""
        old, k, singles = None, 0, min(self._singles(r.n), r.n)
        while k < singles:
            old = self.hand.combine(old, self._held(0, int(s.links[0]) + k, self.hand))
            if not goes(old):
                break
            k += 1
        if k == singles < r.n:
            k = self._sought(s, r, goes)
        return self._cut(s, r, k) if k else r

    def _sought(self, s: Any, r: Any, goes: Callable[[Any], bool]) -> int:
        """How many go, by a search from the root."""
        self.hk.levels.refresh(s, r.h)  # the values that evictions left stale
        return self._search(s, r.h, goes)

    def check_invariants(self) -> None:
        """Invariants 1, 2 and 3, and what R0, R1 and each element of the Stack are defined to be."""
        R0, R1, S, h, n = self.r
        self._check_levels(orphans=1, stale=1)  # a level's tail pair has no parent: it is a root (Invariant 3)
        assert h <= max(n, 1).bit_length() + 1, f"{h} levels for {n} rows"
        if not h:
            assert S == 0
            return
        first, end = self._level(0)
        top = self._level(h - 1)
        middle = self._leaves(h - 1, top[1] - 1)[1]  # past the leftmost tree's last leaf
        self._expect(R0, self._sum(first, middle), "R0 = the leftmost tree")
        self._expect(R1, self._sum(middle, end), "R1 = the rest of the forest")
        full = 0
        for l in range(h - 1, -1, -1):
            H, T = self._level(l)
            if not H & 1 and H + 1 < T:
                rest = self._sum(self._leaves(l, H)[1], middle)
                self._expect(self.m.get(self.s.aggs, full), rest, f"Stack[{full}] = R0 without level {l}'s head")
                full += 1
        assert full == S, f"the Stack holds {S}, and {full} head pairs are full"
