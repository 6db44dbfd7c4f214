"""Log MTA: the Monoid Tree Aggregator with the whole tree kept up to date.

Paper 4 §4.1, Algorithms 1 and 2. Errata: Alg. 2 names the removed subsequence in two ways (`sub`, `rm_subseq`); its
line 7 must subtract 1 where e_0 = ∅ (the first of the removed pairs has one element then, not two), not where e_0 ≠ ∅;
its line 12 calls the policy with (old, total), where §4.1.3 and Listing 1 define it as wsp(total, old). Alg. 1 keeps
`agg` after enqueuing it (line 9), where the pair's parent is what goes up, and its new root lacks the old one.
Theorem 1 counts pairs from 1 and the sides of a pair from 0; then both of its indices are one too high: the children
are pair 2j+k-2 where the level begins with <∅, *>, and pair 2j+k-1 otherwise.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from windrow.swag.base import Algorithm, Card, Monoid
from windrow.swag.mta_fits import levels_fit
from windrow.swag.mta_levels import LINKS, Layout, MonoidTree, TreeKernel, grow, levels, rings, search

#: h levels over n updates. The top level is one pair: <*, *>, or <*, ∅> while n = 1
Registers = namedtuple("Registers", "h n")

SPARE = 1  # every pair has a parent, <∅, *> and <*, ∅> too: level l holds up to (capacity >> l) + 1
RINGS = rings(SPARE)


def kernel(m: Monoid, layout: Callable[[Monoid], Layout] = RINGS) -> TreeKernel:
    identity, get, put, get_link, put_link = m.identity, m.get, m.put, m.get_link, m.put_link
    tools = levels(m, layout(m))
    slot, pair, begin, realign, behead, refresh = tools

    @m.jit
    def clear(s):
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        h, n = r
        if h == 0:
            begin(s, 0, v)
            h = 1
        else:
            agg = v
            added = True  # agg is a new element of level l; else it takes the place of the last (lines 12-14)
            for l in range(h):
                T = get_link(s.links, 2 * l + 1)
                if added:
                    put(s.vals, slot(s, l, T), agg)
                    put_link(s.links, 2 * l + 1, T + 1)
                else:
                    put(s.vals, slot(s, l, T - 1), agg)
                added = added and (T & 1) == 0  # line 9: a new pair, which has no parent yet
                if l < h - 1 or added:
                    agg = pair(s, l, get_link(s.links, 2 * l + 1) - 1)
            if added:  # line 17: two pairs at the top, so a new root above them
                begin(s, h, pair(s, h - 1, get_link(s.links, 2 * h - 2)))
                T = get_link(s.links, 2 * h + 1)
                put(s.vals, slot(s, h, T), agg)
                put_link(s.links, 2 * h + 1, T + 1)
                h += 1
        return Registers(h, n + 1)

    @m.jit
    def cut(s, r, k):
        h = behead(s, r.h, k)
        # Line 13 drops a root of one element. Dropped here is also what stands above a level of two elements: such a
        # level can be a pair of its own, <*, *> for <∅, *><*, ∅>, so that h <= log2 n + 2 whatever was evicted.
        while h > 1 and get_link(s.links, 2 * h - 3) - get_link(s.links, 2 * h - 4) <= 2:
            h -= 1
        if h > 0:
            realign(s, h - 1)
        refresh(s, h)
        return Registers(h, r.n - k)

    @m.jit
    def evict(s, r):
        return cut(s, r, 1)

    @m.jit
    def query(s, r):
        v = identity
        if r.h > 0:
            v = pair(s, r.h - 1, get_link(s.links, 2 * r.h - 2))
        return v

    @m.jit
    def size(r):
        return r.n

    @m.jit
    def held(s, l, p):
        return get(s.vals, slot(s, l, p))

    def policed(goes: Callable) -> Callable:
        found = search(m, held, goes)

        @m.whole
        def enforce(s, r, asked):
            """Alg. 2."""
            k = found(s, r.h, asked)
            if k > 0:
                r = cut(s, r, k)
            return r

        return enforce

    return TreeKernel(clear, insert, evict, query, size, cut, policed, tools)


def slots(capacity: int) -> tuple[int, int, int]:
    return 4 * capacity, 0, LINKS


def fits(r: Any, links: Any, capacity: int) -> bool:
    """The levels hang together, and the top one is a pair that begins at its left side."""
    if not levels_fit(r, links, capacity << SPARE, orphans=0):
        return False
    return r.h == 0 or (links[2 * r.h - 2] % 2 == 0 and links[2 * r.h - 1] - links[2 * r.h - 2] == min(r.n, 2))


ALGORITHM = Algorithm(
    name="log_mta",
    kernel=kernel,
    registers=Registers,
    layout=slots,
    card=Card(
        order="FIFO",
        requires="associative",
        time="O(log n), bulk eviction O(log n)",
        space="2n",
        paper="4 §4.1",
        note="evicts by a policy on the aggregate",
    ),
    grow=grow,
    fits=fits,
)


class LogMTA(MonoidTree):
    """A tree of pairs, always up to date: every operation takes log2 n combines, eviction of any number included."""

    algorithm = ALGORITHM
    spare = SPARE

    def _enforce(self, s: Any, r: Any, goes: Callable[[Any], bool]) -> Any:
        """Alg. 2."""
        k = self._search(s, r.h, goes)
        return self._cut(s, r, k) if k else r

    def check_invariants(self) -> None:
        """Invariants 1 and 2; every element is the fold of its leaves; the height is that of the window."""
        self._check_levels(orphans=0, stale=0)
        h, n = self.r
        if h:
            H, T = self._level(h - 1)
            assert not H & 1 and min(n, 2) == T - H, (H, T)
        for l in range(h - 1):
            H, T = self._level(l)
            assert T - H > 2, f"level {l} could be the top"
        assert h <= max(n, 1).bit_length() + 1
