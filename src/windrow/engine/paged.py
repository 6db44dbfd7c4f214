"""A window that is used by hand: its slots are pages, made when they are needed and thrown away when they are not.

A ring that doubles copies the whole window for one row. Here a slot's number never changes: positions count on for
ever, and the page that a number lies on is found through two dicts. So no insert ever moves a partial, a window that
shrinks gives its pages back, and what was evicted is let go of at once.

A window of columns (`slide` makes them) becomes one of pages without being read. Its columns are the `Source`: a page
is converted when it is first looked at. Back to columns, all that nobody has looked at is copied by vector code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windrow.engine.algorithm import ENDLESS, Region
from windrow.engine.columns import Store, write
from windrow.engine.forms import Form
from windrow.engine.state import (
    WindowState,
    converted_registers,
    converter,
    empty,
    new_store,
    plain_of,
    recast,
    regions_of,
)

#: a page has 64 slots; the pages of 65,536 slots are in one dict, so that none of them ever grows large
PAGE, BOOK = 6, 16
SIZE, LAST = 1 << PAGE, (1 << PAGE) - 1


class Paged:
    """Slots for objects by number, from 0 on without an end. One that was never written to holds `fill`."""

    __slots__ = ("books", "fill", "source")
    __iter__ = None  # it has no end

    def __init__(self, fill: Any = None, source: Source | None = None) -> None:
        self.books: dict[int, dict[int, list]] = {}
        self.fill, self.source = fill, source

    def __getitem__(self, i: int) -> Any:
        try:
            return self.books[i >> BOOK][i >> PAGE][i & LAST]
        except KeyError:
            return self._page(i)[i & LAST]

    def __setitem__(self, i: int, value: Any) -> None:
        try:
            self.books[i >> BOOK][i >> PAGE][i & LAST] = value
        except KeyError:
            self._page(i)[i & LAST] = value

    def _page(self, i: int) -> list:
        """The page of slot i, which is new."""
        page = [self.fill] * SIZE
        if self.source is not None:
            self.source.copy_to(page, i >> PAGE << PAGE)
        self.books.setdefault(i >> BOOK, {})[i >> PAGE] = page
        return page

    def __len__(self) -> int:
        """How many slots there is something in, or a little more."""
        return SIZE * sum(map(len, self.books.values())) + (0 if self.source is None else self.source.end)

    def pages(self) -> Iterator[tuple[int, list]]:
        """(the number of its first slot, the page) for each page that there is."""
        for book in self.books.values():
            for number, page in book.items():
                yield number << PAGE, page

    def forget_below(self, a: int, z: int) -> None:
        """Slots a to z, z excluded, are needed no more, and none below them is."""
        if z == a + 1 and z & LAST:  # a single row, which is not the last one of its page
            page = self.books.get(a >> BOOK, {}).get(a >> PAGE)
            if page is not None:
                page[a & LAST] = self.fill
            return
        for number in range(a >> PAGE, z >> PAGE):
            self._throw(number)
        self._clear(max(a, z >> PAGE << PAGE), z)
        if self.source is not None and z >= self.source.end:
            self.source = None

    def forget_above(self, a: int, z: int) -> None:
        """Slots a to z, z excluded, are needed no more, and none above them is."""
        whole = -(-a >> PAGE)
        for number in range(whole, -(-z >> PAGE)):
            self._throw(number)
        self._clear(a, min(z, whole << PAGE))

    def _throw(self, number: int) -> None:
        book = self.books.get(number >> (BOOK - PAGE))
        if book is not None:
            book.pop(number, None)
            if not book:
                del self.books[number >> (BOOK - PAGE)]

    def _clear(self, a: int, z: int) -> None:
        """Slots of one page."""
        page = self.books.get(a >> BOOK, {}).get(a >> PAGE)
        if page is not None:
            page[a & LAST : (a & LAST) + z - a] = [self.fill] * (z - a)

    def copy(self) -> Paged:
        """The same slots in pages of their own."""
        made = Paged(self.fill, self.source)
        made.books = {n: {number: list(page) for number, page in book.items()} for n, book in self.books.items()}
        return made


class Source:
    """Columns of which pages are made.

    `pairs` tell for each region where its entries lie in the columns, and where as slots of a `Paged`.
    """

    def __init__(
        self, columns: tuple[np.ndarray, ...], pairs: Sequence[tuple[Region, Region]], convert: Callable, form: Form
    ) -> None:
        self.columns, self.pairs, self.convert, self.form = columns, pairs, convert, form
        self.end = max((new.base + new.stop for _, new in pairs), default=0)

    def copy_to(self, page: list, start: int) -> None:
        """Fills the page that begins with slot `start`."""
        for old, new in self.pairs:
            a, z = max(start, new.base + new.first), min(start + SIZE, new.base + new.stop)
            if a < z:
                at = old.slots(a - new.base, z - new.base)
                rows = zip(*(column[at].tolist() for column in self.columns), strict=True)
                page[a - start : z - start] = map(self.convert, rows)


def opened(state: WindowState) -> WindowState:
    """The window as objects in pages. Columns are not read yet; the window that they were must not be written to."""
    algorithm, r = state.algorithm, state.registers
    if is_open(state):
        return state
    if not len(state):
        state = empty(algorithm, state.aggregate, None, 4 if algorithm.endless else state.capacity)
        r = state.registers
    plain = plain_of(state) if state.form.compiled else state.form
    capacity = ENDLESS if algorithm.endless else state.capacity
    convert = converter(algorithm, state.form, plain)
    before, after = (regions_of(algorithm, r, size, state.store) for size in (state.capacity, capacity))

    def paged(slots: Any, old: Sequence[Region], new: Sequence[Region]) -> Paged:
        pairs = list(zip(old, new, strict=False))
        if isinstance(slots, tuple):
            return Paged(None, Source(slots, pairs, convert, state.form) if slots else None)
        return _in_pages(slots, pairs, None)

    s = state.store
    links = _in_pages(s.links, list(zip(before[2], after[2], strict=False)), 0)
    store = Store(paged(s.vals, before[0], after[0]), paged(s.aggs, before[1], after[1]), links, capacity - 1)
    made = replace(state, form=plain, store=store, registers=converted_registers(state, plain), capacity=capacity)
    return algorithm.rebuild(made) if algorithm.rebuild is not None and state.form.compiled else made


def _in_pages(slots: Any, pairs: Sequence[tuple[Region, Region]], fill: Any) -> Paged:
    """Slots that are objects already, or ints."""
    made, listed = Paged(fill), slots if isinstance(slots, list) else slots.tolist()
    for old, new in pairs:
        for i in range(old.first, old.stop):
            made[new.base + (i & new.mask)] = listed[old.base + (i & old.mask)]
    return made


def is_open(state: WindowState) -> bool:
    """Whether the window's slots are pages."""
    return isinstance(getattr(state.store, "vals", None), Paged)


def closed(state: WindowState, form: Form) -> WindowState:
    """A window of pages as a ring of lists or columns in this form, in memory of its own."""
    algorithm, r, s = state.algorithm, state.registers, state.store
    capacity = 1 << max(2, (len(state) - 1).bit_length()) if algorithm.endless else state.capacity
    new = new_store(algorithm, form, capacity)
    convert = converter(algorithm, state.form, form)
    before, after = (regions_of(algorithm, r, size, new) for size in (state.capacity, capacity))
    for slots, target, pages, ring in zip(s[:2], new[:2], before[:2], after[:2], strict=True):
        _copy(slots, target, list(zip(pages, ring, strict=False)), convert, form)
    _copy(s.links, new.links, list(zip(before[2], after[2], strict=False)), int, None)
    return replace(state, form=form, store=new, registers=converted_registers(state, form), capacity=capacity)


def _copy(
    slots: Paged, target: Any, pairs: Sequence[tuple[Region, Region]], convert: Callable, form: Form | None
) -> None:
    """What the regions of `slots` hold, into the slots that they have in `target`."""
    source = slots.source
    columns = None if source is None or form is None else recast(source.columns, source.form, form)
    if source is not None and columns is not None:
        for (origin, _), (_, ring) in zip(source.pairs, pairs, strict=False):
            first, stop = max(origin.first, ring.first), min(origin.stop, ring.stop)
            for column, other in zip(columns, target, strict=True):
                other[ring.slots(first, stop)] = column[origin.slots(first, stop)]
    elif source is not None:
        for old, _ in pairs:
            for i in range(old.base + old.first, old.base + old.stop, SIZE):
                slots[i]  # makes its page
            if old.stop > old.first:
                slots[old.base + old.stop - 1]
    for start, page in slots.pages():
        for old, ring in pairs:
            a, z = max(start, old.base + old.first), min(start + SIZE, old.base + old.stop)
            for i in range(a, z):
                write(target, ring.base + ((i - old.base) & ring.mask), convert(page[i - start]))
