"""The store of partials, in three forms (paper 3 §5.2, §5.4; paper 5): `STORES` is the one list.

| store | append | merge | fuse | slots for n partials |
|---|---|---|---|---|
| `Lazy` | 0 | n - 1 | 1 | n |
| `Eager` | log2 n - 1 | log2 n | 2.5 on average for neighbours, at most 2 log2 n | 2n |
| `Fit` | 0 | amortised O(1) for one window, few for many | 0 | 2n, and n pointers |
"""

from __future__ import annotations

from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine.columns import Store
from windrow.sharing.ring import Partials
from windrow.swag.flat_fat import walks
from windrow.swag.flat_fit import traverse


class Lazy(Partials):
    """No higher-order partials: append is free, merge folds (§5.4, "Lazy Implementation")."""

    name = "lazy"

    def _slots(self, capacity: int) -> Store:
        return Store([None] * capacity, [], [0] * capacity, capacity - 1)  # links: where the next slice begins

    def _put(self, at: int, partial: Any) -> None:
        self.form.put(self.s.vals, at & self.s.mask, partial)
        self.form.put_link(self.s.links, at & self.s.mask, at + 1)

    def _merge(self, first: int, end: int) -> Any:
        vals, links, mask, combine = self.s.vals, self.s.links, self.s.mask, self.form.combine
        total, at = vals[first & mask], links[first & mask]
        while at < end:
            total = combine(total, vals[at & mask])
            at = links[at & mask]
        return total

    def _fuse(self, older: int, newer: int) -> None:
        vals, links, mask = self.s.vals, self.s.links, self.s.mask
        self.form.put(vals, older & mask, self.form.combine(vals[older & mask], vals[newer & mask]))
        self.form.put_link(links, older & mask, links[newer & mask])

    def _grow(self, at: int, partial: Any) -> bool:
        vals, place = self.s.vals, at & self.s.mask
        self.form.put(vals, place, self.form.combine(vals[place], partial))
        return True

    def check_invariants(self) -> None:
        """Each slice leads to the next."""
        super().check_invariants()
        for first, end in self.places.values():
            assert self.s.links[first & self.s.mask] == end, (first, end)


class Eager(Partials):
    """A FlatFAT whose leaves are the partials: append and merge cost the height of the tree (§5.4).

    As in paper 1 §5.1 a slot that is not in use holds ⊥, here the identity, and every node is the aggregate of its two
    children (Alg. 2), but for the root, which no walk from a leaf reads; nodes above both ends of an inverted ring are
    not read, either. Holes are ⊥, too. To fuse two slices changes no aggregate above both, so it costs what lies below
    their lowest common ancestor.
    """

    name = "eager"

    def __init__(self, aggregate: Aggregate, *, capacity: int = 4) -> None:
        super().__init__(aggregate, capacity=capacity)
        self.walks = walks(self.form)

    def _slots(self, capacity: int) -> Store:
        return Store([self.form.identity] * (2 * capacity), [], [], capacity - 1)

    def _put(self, at: int, partial: Any) -> None:
        v = self.capacity + (at & self.s.mask)
        self.form.put(self.s.vals, v, partial)
        self._update(v >> 1, 1)

    def _merge(self, first: int, end: int) -> Any:
        tree, n, mask = self.s.vals, self.capacity, self.s.mask
        i, j = first & mask, (end - 1) & mask
        if i == j:
            return tree[n + i]
        if i > j:  # the ring is wrapped between them
            height = j.bit_length()  # of the lowest node above 0 to j
            newer = tree[n >> height] if self._alone(end, j, height) else self.walks.prefix(tree, n, j, 0)
            return self.form.combine(self.walks.suffix(tree, n, i, n - 1), newer)
        height = (i ^ j).bit_length() - 1  # of the largest node that a walk from i would read, the one above j
        return self.walks.suffix(tree, n, i, j) if self._alone(end, j, height) else self.walks.between(tree, n, i, j)

    def _alone(self, end: int, j: int, height: int) -> bool:
        """Whether after the newest leaf j there is nothing but ⊥ below its ancestor of this height."""
        return end == self.E and not j < self.F & self.s.mask <= j | (1 << height) - 1

    def _remove(self, F: int) -> None:
        n, mask = self.capacity, self.s.mask
        a, z = self.F & mask, (F - 1) & mask
        for first, last in [(a, z)] if a <= z else [(a, n - 1), (0, z)]:
            self._clear(first, last)

    def _clear(self, a: int, z: int) -> None:
        """⊥ in the leaves a to z and above them; on each level the first and the last have other leaves, too."""
        tree, put, bottom, size = self.s.vals, self.form.put, self.form.identity, self.capacity
        left, right = (size + a) >> 1, (size + z) >> 1
        while size:
            for v in range(size + a, size + z + 1):
                put(tree, v, bottom)
            size, a, z = size >> 1, a >> 1, z >> 1
        while right > 1:
            for v in {left, right}:
                left_child, right_child = tree[2 * v], tree[2 * v + 1]
                empty = left_child is bottom and right_child is bottom
                put(tree, v, bottom if empty else self.form.combine(left_child, right_child))
            left, right = left >> 1, right >> 1

    def _fuse(self, older: int, newer: int) -> None:
        tree, n, mask, put = self.s.vals, self.capacity, self.s.mask, self.form.put
        v, w = n + (older & mask), n + (newer & mask)
        above = v >> (v ^ w).bit_length() if v < w else 1  # their lowest common ancestor, if it is in order
        siblings = above == v >> 1
        put(tree, v, tree[above] if siblings else self.form.combine(tree[v], tree[w]))
        put(tree, w, self.form.identity)
        self._update(v >> 1, above)
        self._update(w >> 1, above)

    def _grow(self, at: int, partial: Any) -> bool:
        v = self.capacity + (at & self.s.mask)
        self._put(at, self.form.combine(self.s.vals[v], partial))
        return True

    def _whole(self, first: int, end: int) -> Any:
        return self.s.vals[self.capacity + (first & self.s.mask)]

    def _update(self, v: int, above: int) -> None:
        """Alg. 2 of paper 1 for one path, from v to below the node `above`."""
        tree, combine, put = self.s.vals, self.form.combine, self.form.put
        while v > above:
            put(tree, v, combine(tree[2 * v], tree[2 * v + 1]))
            v >>= 1

    def _fill(self, partials: list) -> None:
        """Alg. 1 of paper 1: one combine less than partials."""
        tree, level, size, combine = self.s.vals, partials, self.capacity, self.form.combine
        while size:
            tree[size : size + len(level)] = level
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            size >>= 1

    def check_invariants(self) -> None:
        """Every node is the aggregate of its children, and ⊥ where no slice begins below it."""
        super().check_invariants()
        tree, n, mask = self.s.vals, self.capacity, self.s.mask
        used = {first & mask for first in self.begun}
        for place in range(n):
            assert place in used or tree[n + place] is self.form.identity, f"slot {place} is not ⊥"
        for v in range(2, n):
            self._expect(tree[v], self.of.monoid_combine(tree[2 * v], tree[2 * v + 1]), f"node {v}")


class Fit(Partials):
    """FlatFIT (paper 5): append is free, a merge follows pointers and leaves the way shorter for the next.

    FlatFIT overwrites partials by aggregates up to the end; `aggs` keeps the partials themselves, for merges that stop
    earlier and for compaction. No merge begins at a hole, so to fuse is nothing but to forget an edge.
    """

    name = "fit"

    def __init__(self, aggregate: Aggregate, *, capacity: int = 4) -> None:
        super().__init__(aggregate, capacity=capacity)
        self.answer = traverse(self.form)

    def _slots(self, capacity: int) -> Store:
        return Store([None] * capacity, [None] * capacity, [0] * (capacity + 1), capacity - 1)

    def _put(self, at: int, partial: Any) -> None:
        place = at & self.s.mask
        self.form.put(self.s.vals, place, partial)  # Alg. 1 of paper 5, line 22
        self.form.put(self.s.aggs, place, partial)
        self.form.put_link(self.s.links, place, at + 1)  # line 23

    def _merge(self, first: int, end: int) -> Any:
        return self.answer(self.s, first, end) if end == self.E else self._fold(first, end)

    def _fold(self, first: int, end: int) -> Any:
        """By pointers as far as they do not lead beyond the end."""
        vals, own, links, mask = self.s.vals, self.s.aggs, self.s.links, self.s.mask
        total, at = self.form.identity, first
        while at < end:
            place = at & mask
            beyond = links[place] > end
            part = own[place] if beyond else vals[place]
            total = part if at == first else self.form.combine(total, part)
            at = at + 1 if beyond else links[place]
        return total

    def _fuse(self, older: int, newer: int) -> None:
        pass

    def _whole(self, first: int, end: int) -> Any:
        return self._fold(first, end)

    def check_invariants(self) -> None:
        """Pointers lead forward, and Partials[i] is the aggregate of the partials from i to where they lead."""
        super().check_invariants()
        own, mask = self.s.aggs, self.s.mask
        for i in range(self.F, self.E):
            pointer = self.s.links[i & mask]
            assert i < pointer <= self.E, (i, pointer, self.E)
            true = own[i & mask]
            for j in range(i + 1, pointer):
                true = self.of.monoid_combine(true, own[j & mask])
            self._expect(self.s.vals[i & mask], true, f"Partials[{i}]")


STORES: dict[str, type[Partials]] = {store.name: store for store in (Lazy, Eager, Fit)}
