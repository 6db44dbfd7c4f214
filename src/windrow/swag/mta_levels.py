"""The Monoid Tree Aggregators' list of level queues (paper 4 §4.1.1), as rings in one array of slots.

Level 0 holds the window's updates, level l+1 one element for each pair of level l. Every level numbers its elements
for itself: position p is side p & 1 of pair p >> 1, and the k-th pair of a level belongs to the k-th element of the
level above (Theorem 1). A level that vanished and is made anew begins at position 0, so the tree stays as high as the
window needs however long it slides. ∅ in a pair is a position before the head or past the tail, never a value: a null
row's partial is the monoid's neutral element too.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import Any, NamedTuple

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine import batch, snapshot
from windrow.engine.columns import move
from windrow.engine.forms import Form
from windrow.engine.state import WindowState, new_store
from windrow.errors import SnapshotError
from windrow.stores.base import Batch
from windrow.stores.keys import all_of
from windrow.swag.base import Monoid, Swag
from windrow.swag.mta_hand import by_hand

#: links[2l] is the head of level l (its first position in use), links[2l+1] its tail (the first one past the end)
LINKS = 2 * 64

#: what the levels do for both algorithms, closed over one aggregate
Levels = namedtuple("Levels", "slot pair begin realign behead refresh")


class Layout(NamedTuple):
    """Where a level's positions lie. In memory they are rings (below); over a store, see `mta_paging`."""

    slot: Callable  # (s, l, p) -> index: where position p of level l lies
    fresh: Callable  # (s, l) -> position: where a level that is made anew begins
    even: Callable  # (s, l) -> position: where a level's only pair is put, so that e_0 is on the left


def rings(spare: int) -> Callable[[Monoid], Layout]:
    """Rings of (capacity << spare) >> l slots in one array. A level begins at position 0."""

    def layout(m: Monoid) -> Layout:
        @m.jit
        def slot(s, l, p):
            """Level l fills the slots [room, 2 room)."""
            room = ((s.mask + 1) << spare) >> l
            return room | (p & (room - 1))

        @m.jit
        def fresh(s, l):
            return 0

        return Layout(slot, fresh, fresh)

    return layout


class TreeKernel(NamedTuple):
    """`Kernel` with the bulk operations beside it."""

    clear: Callable  # (s) -> r
    insert: Callable  # (s, r, partial) -> r
    evict: Callable  # (s, r) -> r
    query: Callable  # (s, r) -> partial
    size: Callable  # (r) -> int
    cut: Callable  # (s, r, k) -> r: bulk eviction of the k oldest
    #: (goes) -> enforce: (s, r, asked) -> r, the slide policy of which `goes(asked, old)` says whether `old` goes
    policed: Callable[[Callable], Callable]
    levels: Levels


def levels(m: Monoid, layout: Layout) -> Levels:
    """The level queues over a layout."""
    combine, get, put, get_link, put_link = m.combine, m.get, m.put, m.get_link, m.put_link
    slot, fresh, even = layout

    @m.jit
    def pair(s, l, p):
        """e_0 ⊕ e_1 of the pair that position p is in, an ∅ left out."""
        first = max(p - (p & 1), get_link(s.links, 2 * l))
        last = min(p | 1, get_link(s.links, 2 * l + 1) - 1)
        v = get(s.vals, slot(s, l, first))
        if first < last:
            v = combine(v, get(s.vals, slot(s, l, last)))
        return v

    @m.jit
    def begin(s, l, v):
        """A new level with v in its only pair: <v, ∅>."""
        p = fresh(s, l)
        put(s.vals, slot(s, l, p), v)
        put_link(s.links, 2 * l, p)
        put_link(s.links, 2 * l + 1, p + 1)

    @m.jit
    def realign(s, l):
        """A level of one or two elements becomes a pair of its own: <*, *> or <*, ∅>."""
        H, T = get_link(s.links, 2 * l), get_link(s.links, 2 * l + 1)
        p = even(s, l)
        e0 = get(s.vals, slot(s, l, H))
        e1 = e0
        if T - H > 1:
            e1 = get(s.vals, slot(s, l, H + 1))
        put(s.vals, slot(s, l, p), e0)
        put(s.vals, slot(s, l, p + 1), e1)
        put_link(s.links, 2 * l, p)
        put_link(s.links, 2 * l + 1, p + T - H)

    @m.jit
    def behead(s, h, k):
        """remove_pairs: moves the heads past k leaves and past all that stood above them; how many levels are left."""
        l = 0
        while l < h and k > 0:
            H = get_link(s.links, 2 * l)
            put_link(s.links, 2 * l, H + k)
            if H + k == get_link(s.links, 2 * l + 1):
                h = l  # nothing is left here, so nothing above
            k = ((H + k) >> 1) - (H >> 1)  # the pairs that went are the elements to go above
            l += 1
        return h

    @m.jit
    def refresh(s, h):
        """Alg. 2, lines 21-27: recomputes the leftmost branch bottom-up."""
        for l in range(1, h):
            v = pair(s, l - 1, get_link(s.links, 2 * l - 2))
            put(s.vals, slot(s, l, get_link(s.links, 2 * l)), v)

    return Levels(slot, pair, begin, realign, behead, refresh)


def search(m: Monoid, held: Callable, goes: Callable) -> Callable:
    """`found(s, h, asked)`: Alg. 2, lines 1-20: how many of the oldest go, by a search from the root to a leaf.

    `held(s, l, p)` is the partial at position p of level l. `goes(asked, old)` says whether an oldest part goes.
    The root pair is checked whole. Below, a pair whose parent stays need not be checked whole again,
    and one that has no parent (AMTA's tail pairs, each the root of a tree: §4.2.4) is what comes next where all above
    goes.
    """
    combine, identity, get_link = m.combine, m.identity, m.get_link

    @m.whole
    def found(s, h, asked):
        sub = identity  # what goes by what was found so far
        above = 0  # how many elements of the level above go
        stays = False  # an element of the level above does
        l = h - 1
        while l >= 0:
            H, T = get_link(s.links, 2 * l), get_link(s.links, 2 * l + 1)
            start = H
            if l < h - 1:
                start = 2 * ((H >> 1) + above)  # Theorem 1: the children of the first that stays
                stays = above < get_link(s.links, 2 * l + 3) - get_link(s.links, 2 * l + 2)
            p = min(max(start, H), T)
            end = T
            if stays:
                end = start + 1
            go = True
            while go and p < end:
                old = combine(sub, held(s, l, p))
                go = goes(asked, old)
                if go:
                    sub = old
                    p += 1
            above = p - H
            l -= 1
        return above

    return found


def grow(state: WindowState, capacity: int) -> WindowState:
    """Bigger rings with the same elements at the same positions; the Stack as it was."""
    old, new, r = state.store, new_store(state.algorithm, state.form, capacity), state.registers
    kernel: Any = state.kernel  # a TreeKernel
    slot = kernel.levels.slot
    for l in range(r.h):
        for end in (2 * l, 2 * l + 1):
            new.links[end] = old.links[end]
        positions = np.arange(old.links[2 * l], old.links[2 * l + 1])
        move(old.vals, slot(old, l, positions), new.vals, slot(new, l, positions))
    if len(old.aggs):
        stack = np.arange(getattr(r, "S", 0))
        move(old.aggs, stack, new.aggs, stack)
    return replace(state, store=new, capacity=capacity)


class MonoidTree(Swag):
    """What LogMTA and AMTA share beyond the kernel: growth, bulk evictions, the shape of the levels.

    Args:
        aggregate: of `windrow.agg`, or one's own `windrow.Aggregate`.
        capacity: rows to make room for at once; the window grows beyond it by doubling.
        store: one of `windrow.stores`: all but O(log n) pages of the window live there (`windrow.swag.mta_store`).
        buffer: with a store, how many partials wait before they are written in the background.
        cache: with a store, how many partials of each level's head are kept here; refilled below half of it.
        name: with a store, which of its windows this is.
    """

    spare = 0  # the rings' share of slots beyond capacity >> l
    singles_first = False  # a policy evicts row by row before it evicts in bulk (§4.2.4): these steps compile
    k: Any  # a TreeKernel

    def __new__(cls, aggregate: Any = None, *, store: Any = None, **options: Any) -> Any:
        if store is not None:
            from windrow.swag.mta_store import stored  # built on this class, so it cannot be imported above

            cls = stored(cls)
        return object.__new__(cls)

    def __init__(
        self,
        aggregate: Aggregate,
        *,
        capacity: int = 16,
        store: Any = None,
        buffer: int = 512,
        cache: int = 512,
        name: str = "window",
    ) -> None:
        super().__init__(aggregate, capacity=capacity)

    @classmethod
    def open(cls, aggregate: Aggregate, store: Any, *, name: str = "window", buffer: int = 512) -> Any:
        """The window as its last checkpoint in the store left it; see `checkpoint`."""
        from windrow.swag.mta_store import opened

        return opened(cls, aggregate, store, name, buffer)

    @staticmethod
    def forget(store: Any, name: str = "window") -> None:
        """Deletes a window and its checkpoint from a store."""
        store.write(Batch(ranges=(all_of(name),)), durable=True)

    @classmethod
    def resume(cls, aggregate: Aggregate, data: bytes, *, key: bytes | None = None, store: Any = None) -> Any:
        """A window that goes on from a snapshot; with the store it refers to, where it was taken of a stored window."""
        content = snapshot.opened(data, key)
        reference = content[2:5] if isinstance(content, tuple) and len(content) > 4 else ("",)
        if not isinstance(reference[0], str) or reference[0] != "stored":
            return super().resume(aggregate, data, key=key)
        if store is None:
            raise SnapshotError(f"the snapshot refers to window {reference[1]!r} in a store: give store=")
        from windrow.swag.mta_store import opened

        return opened(cls, aggregate, store, reference[1], 512, number=reference[2])

    # By hand, whichever form the window has: `hand` and `hk` see plain partials, in lists or in columns of numbers.

    def _use(self, form: Form) -> None:
        super()._use(form)
        self.hand = by_hand(form, self.of)
        self.hk = type(self).kernel(self.hand) if form.compiled else self.k

    def evict(self) -> None:
        """Drops the oldest row; IndexError where there is none."""
        if not len(self):
            raise IndexError("evict from an empty window")
        self.r = self._step(self.hk.evict)

    def _shown(self, partial: Any) -> Any:
        return self.of.monoid_lower(partial)

    def evict_many(self, count: int) -> None:
        """Bulk eviction of the `count` oldest rows: O(log n) combines; IndexError where there are fewer."""
        if not 0 <= count <= len(self):
            raise IndexError(f"cannot evict {count} of {len(self)} rows")
        if count:
            self.r = self._step(self._evict_many, index(count))

    def enforce(self, policy: Callable[[Any, Any], bool]) -> int:
        before = len(self)
        if before:
            self.r = self._step(self._enforce, self._goes(policy, self.query()))
        return before - len(self)

    enforce.__doc__ = Swag.enforce.__doc__

    def slide_policy(self, values: Any, policy: Callable[[Any, Any], bool]) -> Any:
        """One answer for each row: it is inserted, the policy enforced, the window queried. Compiled where it can be.

        >>> from windrow import agg, swag
        >>> w = swag.AMTA(agg.join(total=agg.sum(), rows=agg.count()))
        >>> w.slide_policy([2, 2, 3, 3, 4], lambda total, old: total.rows - old.rows >= 3)[0].tolist()
        [2, 4, 7, 8, 10]
        """
        from windrow.swag.mta_batch import policed

        return policed(self, batch.read_columns(values), policy)

    def _combined(self) -> Any:
        return self._step(self.hk.query) if len(self) else None

    def _step(self, operation: Callable, *arguments: Any) -> Any:
        if not self.form.compiled:
            return super()._step(operation, *arguments)
        self._check_not_asking()
        journal, before = self.hand.journal, self.form
        assert journal is not None
        journal.undo.clear()
        self._known = None
        try:
            done = operation(self.s, self._registers(self.r, before.thaw), *arguments)
        except BaseException:
            journal.rollback()
            raise
        return self._registers(done, before.freeze) if isinstance(done, self.registers) else done

    def _registers(self, r: Any, convert: Any) -> Any:
        return r._replace(**{name: convert(getattr(r, name)) for name in self.partial_registers})

    def _singles(self, n: int) -> int:
        """How many rows are evicted one by one before the rest goes in bulk (§4.2.4)."""
        return max(n.bit_length() - 1, 1)

    def _cut(self, s: Any, r: Any, count: int) -> Any:
        return self.hk.cut(s, r, count)

    def _evict_many(self, s: Any, r: Any, count: int) -> Any:
        return self._cut(s, r, count)

    def _enforce(self, s: Any, r: Any, goes: Callable[[Any], bool]) -> Any:
        raise NotImplementedError

    def _search(self, s: Any, h: int, goes: Callable[[Any], bool]) -> int:
        """How many of the oldest go."""

        def held(s: Any, l: int, p: int) -> Any:
            return self._held(l, int(p), self.hand)

        return int(search(self.hand, held, lambda asked, old: asked(old))(s, h, goes))

    def _held(self, l: int, p: int, m: Monoid | None = None) -> Any:
        return (m or self.m).get(self.s.vals, self.k.levels.slot(self.s, l, p))

    # For check_invariants.

    def _level(self, l: int) -> tuple[int, int]:
        return int(self.s.links[2 * l]), int(self.s.links[2 * l + 1])

    def _leaves(self, l: int, p: int) -> tuple[int, int]:
        """The positions of the leaves below position p of level l (Theorem 1)."""
        a, z = p, p + 1
        for below in range(l - 1, -1, -1):
            (H, T), (above, _) = self._level(below), self._level(below + 1)
            a = max(2 * ((H >> 1) + a - above), H)
            z = min(2 * ((H >> 1) + z - above), T)
        return a, z

    def _sum(self, start: int, end: int) -> Any:
        """The leaves at positions start to end, combined from the left."""
        total = self.m.identity
        for p in range(start, end):
            total = self.m.combine(total, self._held(0, p))
        return total

    def _check_levels(self, orphans: int, stale: int) -> None:
        """Invariants 1 and 2, the ties between levels, and each element that is up to date.

        `orphans`: how many last pairs of a level have no parent; `stale`: how many first elements of a level may be it.
        """
        h, n = self.r.h, self.r.n
        assert (h == 0) == (n == 0), (h, n)
        for l in range(h):
            H, T = self._level(l)
            assert 0 <= H < T, f"level {l} is empty: {H}..{T}"  # Invariant 2
            assert (self.capacity << self.spare) >> l >= T - H, f"level {l} is fuller than its ring"
            pairs = ((T - 1) >> 1) - (H >> 1) + 1
            # Invariant 1 holds by the numbering: only a first e_0 and a last e_1 can be ∅
            if l == 0:
                assert n == T - H, (H, T, n)
            if l == h - 1:
                assert pairs == 1, f"the top level has {pairs} pairs"
            else:
                above = self._level(l + 1)
                assert above[1] - above[0] == pairs - orphans, f"{pairs} pairs of level {l}, but {above} above"
            for p in range(H + stale if l else H, T):
                self._expect(self._held(l, p), self._sum(*self._leaves(l, p)), f"position {p} of level {l}")
