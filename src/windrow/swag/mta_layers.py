"""Evictions from a window in layers (`mta_paging`): the pages that are wanted come first, then all happens at once.

An eviction that needs the store half-way could be left half done where the store is gone. So what a bulk eviction will
want is known and fetched before anything is changed: O(log n) pages, in one round trip (paper 4 §4.2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.stores.base import is_remote
from windrow.swag.base import Monoid
from windrow.swag.mta_io import Place
from windrow.swag.mta_levels import MonoidTree
from windrow.swag.mta_paging import E, Paged


class Layered(Paged):
    """A monoid tree in layers, with its evictions."""

    def evict(self) -> None:
        """Drops the oldest row; IndexError where there is none."""
        self._check_not_asking()
        if not self.spare_evictions and len(self):
            self._refill()
        super().evict()
        self.spare_evictions -= 1

    def evict_many(self, count: int) -> None:
        """Bulk eviction of the `count` oldest rows: O(log n) combines and pages; IndexError where there are fewer."""
        self._check_not_asking()
        try:
            super().evict_many(count)
        finally:
            self._measured()

    def enforce(self, policy: Callable[[Any, Any], bool]) -> int:
        self._check_not_asking()
        try:
            return super().enforce(policy)
        finally:
            self._measured()

    enforce.__doc__ = MonoidTree.enforce.__doc__

    def _measured(self) -> None:
        self._staged.clear()
        self._measure()
        self._sweep()

    def _singles(self, n: int) -> int:
        """Only as many as can be done without the store half-way: an eviction happens wholly or not at all."""
        many = super()._singles(n)
        if self.spare_evictions < many:
            self._refill()
        return min(many, self.spare_evictions)

    def _cut(self, s: Any, r: Any, count: int) -> Any:
        """Bulk eviction: the pages that hold the new heads come first, in one round trip."""
        wanted = self._heads(r.h, count)
        loaded = self._load(wanted)
        journal = self.hand.journal
        assert journal is not None
        mark, before = len(journal.undo), {}
        for (l, page), slots in zip(wanted, loaded, strict=True):
            if l not in before:
                region = self._part(s.vals, 3 * self.cache * l, self.cache)
                copy = list(region) if isinstance(region, list) else tuple(column.copy() for column in region)
                before[l] = copy, int(s.links[E + l])
            self._install(l, page, slots)
        try:
            return self.hk.cut(s, r, count)
        except BaseException:
            journal.rollback(mark)  # first what was done to the new pages, then the pages themselves
            for l, (copy, e) in before.items():
                start, s.links[E + l] = 3 * self.cache * l, e
                if isinstance(copy, list):
                    s.vals[start : start + self.cache] = copy
                else:
                    for column, numbers in zip(s.vals, copy, strict=True):
                        column[start : start + self.cache] = numbers
            raise

    def _heads(self, h: int, count: int) -> list[Place]:
        """The pages with the heads as they will be when `count` rows are gone (`behead`), where they are not here."""
        places = []
        for l in range(h):
            H, T, a, e = self._marks(l)
            if H + count >= T:
                break
            for p in (H + count, H + count + 1):  # LogMTA may move both to a pair of their own
                if e <= p < min(a, T) and (l, p // self.page) not in places:
                    places.append((l, p // self.page))
            count = ((H + count) >> 1) - (H >> 1)
        return places

    def _held(self, l: int, p: int, m: Monoid | None = None) -> Any:
        """One partial, from the store if need be; the layers stay as they are."""
        _, _, a, e = self._marks(l)
        if e <= p < a:
            place = l, p // self.page
            if is_remote(self.store) and place not in self._staged:
                self._load(self._below(l, p))
            [slots] = self._load([place])
            return (m or self.m).get(slots, p % self.page)
        return super()._held(l, p, m)

    def _below(self, l: int, p: int) -> list[Place]:
        """The pages that a search from position p downwards may want next, to be read in one round trip.

        The search goes to the children of p or of its neighbour (Theorem 1): two elements here, four a level below, and
        so on. As long as these are no more than a page holds, they lie in two pages at most.
        """
        places, first, last = list[Place](), p, p + 1
        while True:
            H, T, a, e = self._marks(l)
            low, high = max(first, e, H), min(last, a - 1, T - 1)
            if low <= high:
                places += [(l, page) for page in range(low // self.page, high // self.page + 1)]
            if l == 0 or last - first >= self.page // 2:
                return places
            below = self._marks(l - 1)[0] >> 1
            first, last, l = 2 * (below + first - H), 2 * (below + last - H) + 1, l - 1

    # For check_invariants.

    def check_layers(self) -> None:
        """What `_measure` promises holds: rings are not over-full, heads are here, marks lie on pages."""
        for l in range(self.r.h):
            H, T, a, e = self._marks(l)
            assert a % self.page == e % self.page == 0, (a, e)
            assert T - a <= 2 * self.cache, f"level {l}: {T - a} elements in a tail ring of {2 * self.cache}"
            assert a <= max(T - 2, 0) or a <= H, f"level {l}: the tail pair has left"
            if a > H:
                assert H < e <= a and e - H <= self.cache, (
                    f"level {l}: the head {H} is not in the cache, which ends at {e}"
                )
