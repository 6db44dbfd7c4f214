"""The memory layers of paper 4 (§4.1.5, Fig. 3): a level's head and tail are here, the rest in a store.

    positions      H ....... E ................ A ............ T
    where          cache     pages in the store   tail ring

Level l keeps `cache` slots for its head and twice as many for its tail. A page is half a cache: positions kP to
(k+1)P. It is written once, when it leaves the tail ring, and never changed: what single evictions or `refresh` change
of a level is its head element only, which is computed anew from below wherever it is wanted.

Positions of a level are never used twice: a level that vanished begins again where it ended. So a page's key is its
own for the life of the window.

Between two visits to the store the kernel must not miss anything, in compiled code least of all. `room` counts the rows
that may still be inserted before a tail ring is full, `spare_evictions` those that may be evicted before a head leaves
the cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from windrow.engine.batch import form_for
from windrow.engine.columns import Store, allocate, read, write
from windrow.engine.forms import Form, plain_form
from windrow.engine.state import converter
from windrow.stores.base import is_remote
from windrow.swag.base import Algorithm, Monoid
from windrow.swag.mta_io import Pager, Place
from windrow.swag.mta_levels import LINKS, Layout, MonoidTree
from windrow.swag.mta_pages import Body, Partials, from_columns, from_objects, opened, sealed

A, E = LINKS, LINKS + 64  # links[A + l] and links[E + l]
ALL = LINKS + 128
SWEEP = 64  # pages of a level that are deleted at a time
NEVER = sys.maxsize


def layered(gap: int) -> Callable[[Monoid], Layout]:
    """Where positions lie when a window is kept in layers. `gap` is 1 where a level must begin with a left element."""

    def layout(m: Monoid) -> Layout:
        get_link = m.get_link

        @m.jit
        def slot(s, l, p):
            cache = s.mask + 1
            i = 3 * cache * l + (p & s.mask)
            if p >= get_link(s.links, A + l):
                i = 3 * cache * l + cache + (p & (2 * cache - 1))
            return i

        @m.jit
        def fresh(s, l):
            T = get_link(s.links, 2 * l + 1)
            return T + (T & gap)

        @m.jit
        def even(s, l):
            H, T = get_link(s.links, 2 * l), get_link(s.links, 2 * l + 1)
            p = H
            if H & 1:
                p = T + (T & 1)
            return p

        return Layout(slot, fresh, even)

    return layout


@cache
def in_layers(algorithm: Algorithm, cached: int) -> Algorithm:
    """The algorithm over stores that keep `cached` slots of each level's head, and twice as many of its tail."""

    def new_store(form: Form, capacity: int) -> Store:
        levels = capacity.bit_length() + 2
        links: Any = np.zeros(ALL, np.int64) if form.compiled else [0] * ALL
        slots = allocate(form.dtypes, 3 * cached * levels)
        return Store(slots, allocate(form.dtypes, levels), links, cached - 1)

    return replace(algorithm, new_store=new_store)


class Paged(MonoidTree):
    """A monoid tree whose pages come and go. What they hold and where they go is `pager`'s and `epochs`' affair."""

    pager: Pager
    store: Any
    epochs: list[tuple[int, list[int]]]  # (epoch, the first page of each level that is of it), the newest last
    kept: list[int] | None  # each level's first page that the last checkpoint needs; None: there is no checkpoint
    cache: int
    page: int  # P
    window: str
    swept: list[int]  # each level's first page that is not deleted yet
    pinned = 0  # above 0: nothing is deleted, for the window may have to step back
    room = spare_evictions = 0
    _staged: dict[Place, Any]  # pages read during one operation
    _dump: Callable[[Any], Any]  # partials to what a page can hold, and back
    _load_partial: Callable[[Any], Any]

    def _key(self, level: int, page: int) -> bytes:
        raise NotImplementedError

    def _inserts(self, free: int, l: int) -> int:
        """How many rows may come, for all that level l must take in with `free` slots of its tail left."""
        raise NotImplementedError

    def _keep_slots(self) -> None:
        """Slots that are in use are about to be overwritten: who may step back keeps them as they are."""
        raise NotImplementedError

    # The store of slots.

    def _start(self, form: Form | None, capacity: int) -> None:
        """An empty window; positions go on from where they were."""
        before = list(map(int, self.s.links)) if hasattr(self, "s") else None
        super()._start(form, capacity)
        if before is not None:
            self.s.links[:] = before
        self.room = self.spare_evictions = 0

    def _grow(self, capacity: int) -> None:
        """More levels; those that are there stay where they are."""
        old, self.s = self.s, self._new_store(capacity)
        self.capacity = capacity
        self.s.links[:] = old.links
        for before, after in ((old.vals, self.s.vals), (old.aggs, self.s.aggs)):
            pairs = [(before, after)] if isinstance(before, list) else zip(before, after, strict=True)
            for source, target in pairs:
                target[: len(source)] = source
        self.room = 0

    def _become(self, form: Form | None) -> None:
        """Only what is in use is carried over into another form."""
        self._check_not_asking()
        if form is self.form or (form is None and not self.form.compiled):
            return
        if not len(self):
            self._start(form, self.capacity)
            return
        before, old = self.form, self.s
        self._use(form or plain_form(self.of))
        convert = converter(self.algorithm, before, self.form)
        self.s = self._new_store(self.capacity)
        self.s.links[:] = [int(i) for i in old.links]
        for i in self._live():
            write(self.s.vals, i, convert(read(old.vals, i)))
        for i in range(getattr(self.r, "S", 0)):
            write(self.s.aggs, i, convert(read(old.aggs, i)))
        self.r = self._registers(self.r, convert)
        self._staged.clear()

    def _live(self) -> list[int]:
        """The slots in use."""
        slots = []
        for l in range(self.r.h):
            H, T, a, e = self._marks(l)
            base = 3 * self.cache * l
            slots += [base + (p & (self.cache - 1)) for p in range(H, min(e, a))]
            slots += [base + self.cache + (p & (2 * self.cache - 1)) for p in range(max(H, a), T)]
        return slots

    def _marks(self, l: int) -> tuple[int, int, int, int]:
        """H, T, A, E of a level."""
        links = self.s.links
        return int(links[2 * l]), int(links[2 * l + 1]), int(links[A + l]), int(links[E + l])

    def _all_marks(self, levels: int) -> Iterator[tuple[int, int, int, int]]:
        """The same of the lowest levels, at once: reading an array number by number takes most of a visit's time."""
        links = self.s.links if isinstance(self.s.links, list) else self.s.links.tolist()
        heads, tails = links[: 2 * levels : 2], links[1 : 2 * levels : 2]
        return zip(heads, tails, links[A : A + levels], links[E : E + levels], strict=True)

    @property
    def levels(self) -> int:
        """How many levels there is room for."""
        return self.capacity.bit_length() + 2

    # Out: pages leave the tails.

    def _flush(self) -> None:
        """Makes room in every tail. Nothing has changed if it raises."""
        self.pager.ready()
        P, C, h, links = self.page, self.cache, self.r.h, self.s.links
        leaving: list[tuple[int, int, Body]] = []
        moved: list[tuple[int, int, int, int, list[tuple[int, int]]]] = []
        for l, (H, T, a, e) in enumerate(self._all_marks(self.levels)):
            if l >= h:  # the level has vanished; what it left behind is nobody's
                if H != T or a + P <= T or e != a:
                    moved.append((l, T, T // P * P, T // P * P, []))
                continue
            if a + P > T - 2:  # the tail pair stays
                continue
            e, copies = (e if a > H else a), list[tuple[int, int]]()
            while a + P <= T - 2:
                if a + P > H:
                    leaving.append((l, a // P, self._encoded(3 * C * l + C + a % (2 * C), P)))
                if a + P <= H:
                    e = a + P
                elif e == a and a + P - H // P * P <= C:  # room in the cache, which saves reading it back
                    e = a + P
                    copies.append((3 * C * l + C + a % (2 * C), 3 * C * l + a % C))
                a += P
            moved.append((l, H, a, e, copies))
        for l, page, body in leaving:
            self.pager.put(l, page, sealed(self._key(l, page), self._epoch(l, page), body))
        if moved:
            self._keep_slots()
        for l, H, a, e, copies in moved:
            for start, to in copies:
                self._copy(start, to)
            links[2 * l], links[A + l], links[E + l] = H, a, e
        self._measure()

    def _copy(self, start: int, to: int) -> None:
        columns = (self.s.vals,) if isinstance(self.s.vals, list) else self.s.vals
        for column in columns:
            column[to : to + self.page] = column[start : start + self.page]

    def _encoded(self, start: int, count: int) -> Body:
        return self._body(self._part(self.s.vals, start, count))

    def _body(self, slots: Any) -> Body:
        if isinstance(slots, list):
            return from_objects(slots, self._dump)
        return from_columns(slots, self.form.signature)

    @staticmethod
    def _part(slots: Any, start: int, count: int) -> Any:
        end = start + count
        return slots[start:end] if isinstance(slots, list) else tuple(column[start:end] for column in slots)

    # In: pages come to the heads.

    def _refill(self) -> None:
        """Brings the next page of every head whose cache is half empty. Nothing has changed if it raises."""
        P, wanted = self.page, []
        for l, (H, _, a, e) in enumerate(self._all_marks(self.r.h)):
            if a > H and e < a and e - H <= P:
                wanted.append((l, e // P))
        for (l, page), slots in zip(wanted, self._load(wanted), strict=True):
            self._install(l, page, slots)
        self._staged.clear()
        self._measure()
        if is_remote(self.store):
            marks = enumerate(self._all_marks(self.r.h))
            self.pager.read_ahead([(l, e // P) for l, (H, _, a, e) in marks if a > H and e < a])
        self._sweep()

    def _install(self, l: int, page: int, slots: Any) -> None:
        self._keep_slots()
        to = 3 * self.cache * l + page * self.page % self.cache
        if isinstance(slots, list):
            self.s.vals[to : to + self.page] = slots
        else:
            for column, numbers in zip(self.s.vals, slots, strict=True):
                column[to : to + self.page] = numbers
        self.s.links[E + l] = (page + 1) * self.page

    def _load(self, places: list[Place]) -> list[Any]:
        """Pages as slots of the window's form; `DamagedPage` names one that is not what was written."""
        missing = [place for place in places if place not in self._staged]
        for (l, page), value in zip(missing, self.pager.fetch(missing) if missing else [], strict=True):
            what = f"page {page} of level {l} of window {self.window!r}"
            partials = opened(self._key(l, page), self._epoch(l, page), value, what)
            self._staged[l, page] = self._slots(partials)
        found = [self._staged[place] for place in places]
        if len(self._staged) > 256:
            self._staged.clear()
        return found

    def _slots(self, partials: Partials) -> Any:
        """Decoded partials in the form that the window has now."""
        if partials.objects is None:
            if self.form.compiled and partials.signature == self.form.signature:
                return partials.columns
            form = form_for(self.of, *partials.signature)
            assert form is not None and form.thaw is not None
            objects = list(map(form.thaw, zip(*(column.tolist() for column in partials.columns), strict=True)))
        else:
            load = self._load_partial
            objects = [None if p is None else load(p) for p in partials.objects]
        if not self.form.compiled:
            return objects
        slots = allocate(self.form.dtypes, len(objects))
        for i, partial in enumerate(objects):
            write(slots, i, self.form.freeze(partial))  # type: ignore[misc]
        return slots

    def _measure(self) -> None:
        """How far the kernel may go on by itself."""
        room, spare, h, tail = NEVER, NEVER, self.r.h, 2 * self.cache
        for l, (H, T, a, e) in enumerate(self._all_marks(self.levels)):
            room = min(room, self._inserts(tail - T + a, l))
            if a > H and e < a and l < h:
                spare = min(spare, max(e - 2 - H, 0) << l)
        self.room, self.spare_evictions = room, spare

    # Pages that nobody needs.

    def _sweep(self, least: int = SWEEP) -> None:
        """Has evicted pages deleted, but none that the last checkpoint needs."""
        if self.pinned:
            return
        self.swept += [0] * (self.levels - len(self.swept))
        for l, (H, T, _, _) in enumerate(self._all_marks(self.levels)):
            end = (H if l < self.r.h else T) // self.page
            if end - self.swept[l] < least:
                continue
            if self.kept is not None:
                end = min(end, self.kept[l] if l < len(self.kept) else 0)
            if end - self.swept[l] >= least:
                self.pager.drop(l, self.swept[l], end)
                self.swept[l] = end

    def _epoch(self, l: int, page: int) -> int:
        """The epoch that wrote this page."""
        for epoch, first in reversed(self.epochs):
            if page >= (first[l] if l < len(first) else 0):
                return epoch
        raise AssertionError((l, page))
