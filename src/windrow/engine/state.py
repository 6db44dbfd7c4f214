"""The state of one window, and what is done to it as a whole: begin, grow, convert to another form, copy.

Partials are objects or columns of numbers (`forms`). A window goes from one form to the other with its rows: single
steps by hand want objects, a batch wants columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate, same
from windrow.engine.algorithm import Algorithm, Monoid, Operations, Region, Regions
from windrow.engine.columns import Store, allocate, copied, move, room, write
from windrow.engine.forms import Form, interpreted, plain_form
from windrow.engine.kernel import once


@dataclass(slots=True, eq=False)
class WindowState:
    """A window of one algorithm and one aggregate. The store is written in place; for all else there is a new state.

    Not frozen only because that costs three times as long to make, and every call of `slide` makes some.
    """

    algorithm: Algorithm
    aggregate: Aggregate
    form: Form
    store: Any  # a Store; where the algorithm is `plain_only`, an object of its own that has `copy`
    registers: Any  # the algorithm's namedtuple
    capacity: int  # rows that there is room for, a power of two

    def __len__(self) -> int:
        return by_hand(self.algorithm, self.form)[1].size(self.registers)

    def after(self, registers: Any) -> WindowState:
        """The same store with the registers that a kernel gave."""
        return WindowState(self.algorithm, self.aggregate, self.form, self.store, registers, self.capacity)

    @property
    def monoid(self) -> Monoid:
        """The form for single steps, not compiled."""
        return by_hand(self.algorithm, self.form)[0]

    @property
    def kernel(self) -> Operations:
        """The algorithm for single steps, not compiled."""
        return by_hand(self.algorithm, self.form)[1]


def by_hand(algorithm: Algorithm, form: Form) -> tuple[Monoid, Operations]:
    """The form and the algorithm over it with nothing compiled, made once for each form."""

    def make() -> tuple[Monoid, Operations]:
        monoid = interpreted(form)
        return monoid, algorithm.kernel(monoid)

    return once(form.memo, (algorithm, "by hand"), make)


def new_store(algorithm: Algorithm, form: Form, capacity: int) -> Any:
    """A store with room for `capacity` rows and nothing in it."""
    if algorithm.new_store is not None:
        return algorithm.new_store(form, capacity)
    vals, aggs, links = algorithm.layout(capacity)
    numbers = np.zeros(links, np.int64) if form.compiled else [0] * links
    return Store(allocate(form.dtypes, vals), allocate(form.dtypes, aggs), numbers, capacity - 1)


def empty(algorithm: Algorithm, aggregate: Aggregate, form: Form | None, capacity: int) -> WindowState:
    """A window without rows, in this form of the aggregate; None: as objects."""
    form = _plain(algorithm, aggregate) if form is None else form
    capacity = 1 << max(2, (capacity - 1).bit_length())
    store = new_store(algorithm, form, capacity)
    return WindowState(algorithm, aggregate, form, store, by_hand(algorithm, form)[1].clear(store), capacity)


def grown(state: WindowState, capacity: int) -> WindowState:
    """The same rows with room for more."""
    return (state.algorithm.grow or moved)(state, capacity)


def moved(state: WindowState, capacity: int) -> WindowState:
    """A larger store, with the same entries in their places there."""
    algorithm, old, new = state.algorithm, state.store, new_store(state.algorithm, state.form, capacity)
    before, after = (regions_of(algorithm, state.registers, size, old) for size in (state.capacity, capacity))
    for j, (source, target) in enumerate(zip(old[:3], new[:3], strict=True)):
        for here, there in zip(before[j], after[j], strict=False):
            positions = here.slots(here.first, here.stop), there.slots(here.first, here.stop)
            if isinstance(source, np.ndarray):  # links
                target[positions[1]] = source[positions[0]]
            else:
                move(source, positions[0], target, positions[1])
    return replace(state, store=new, capacity=capacity)


def regions_of(algorithm: Algorithm, r: Any, capacity: int, store: Store) -> Regions:
    """Where the window lies; where its algorithm does not say so, that is all of its store."""
    if algorithm.endless:
        regions, sizes = algorithm.regions(r, capacity), algorithm.layout(capacity)
        return tuple(some if size else [] for some, size in zip(regions, sizes, strict=True))  # type: ignore[return-value]
    vals, aggs, links = ([Region(0, -1, 0, size)] for size in (room(store.vals), room(store.aggs), len(store.links)))
    return vals, aggs, links


def converted(state: WindowState, form: Form | None) -> WindowState:
    """The window in another form of the aggregate, in a store of its own; None: objects."""
    if form is state.form or (form is None and not state.form.compiled):
        return state
    algorithm = state.algorithm
    after = plain_of(state) if form is None else form
    if not len(state):
        return empty(algorithm, state.aggregate, after, state.capacity)
    convert, old = converter(algorithm, state.form, after), state.store

    def slots(before: Any) -> Any:
        columns = recast(before, state.form, after)
        if columns is not None:
            return tuple(column.copy() for column in columns)
        new = allocate(after.dtypes, room(before))
        rows = zip(*(c.tolist() for c in before), strict=True) if isinstance(before, tuple) else before
        for i, partial in enumerate(rows):
            write(new, i, convert(partial))
        return new

    links = np.array(old.links, np.int64) if after.compiled else [int(i) for i in old.links]
    store = Store(slots(old.vals), slots(old.aggs), links, old.mask)
    made = replace(state, form=after, store=store, registers=converted_registers(state, after))
    return made if algorithm.rebuild is None else algorithm.rebuild(made)


def converted_registers(state: WindowState, after: Form) -> Any:
    """The registers, their partials in another form. A partial there stands for the rows of the whole window."""
    convert = converter(state.algorithm, state.form, after, rows=len(state))
    return state.registers._replace(
        **{name: convert(getattr(state.registers, name)) for name in state.algorithm.partial_registers}
    )


def converter(algorithm: Algorithm, before: Form, after: Form, rows: int = 1) -> Callable[[Any], Any]:
    """Partials of one form -> partials of another. `rows`: how many rows a partial stands for, nulls included."""
    thaw, freeze = before.thaw or same, after.freeze or same
    if before is after:
        return same

    def convert(partial: Any) -> Any:
        return freeze(thaw(partial))

    def count(partial: Any) -> Any:  # plain partials carry the numbers of their rows, columns do not
        made = thaw(partial)
        numbers, at = [], 0
        for masked, width in before.parts:
            numbers.append(partial[at] if masked else rows)
            at += masked + width
        if not before.joined:
            return None if made is None else (numbers[0], made)
        return tuple(None if p is None else (n, p) for n, p in zip(numbers, made, strict=True))

    def bare(partial: Any) -> Any:
        if partial is None or not after.joined:
            return freeze(None if partial is None else partial[1])
        return freeze(tuple(None if p is None else p[1] for p in partial))

    if not algorithm.counted or before.compiled == after.compiled:
        return convert
    return count if before.compiled else bare


def recast(columns: Any, before: Form, after: Form) -> tuple[np.ndarray, ...] | None:
    """Columns of one compiled form as those of another, by vector code; None where the forms differ in more than that
    one has a place for nulls."""
    if not (before.compiled and after.compiled) or len(before.parts) != len(after.parts):
        return None
    made: list[np.ndarray] = []
    at = 0
    for (had, width), (has, wanted) in zip(before.parts, after.parts, strict=True):
        if width != wanted or (had and not has):
            return None
        made += [np.ones(len(columns[0]), np.int64)] * (has and not had) + list(columns[at : at + had + width])
        at += had + width
    return tuple(made) if [column.dtype for column in made] == list(after.dtypes or ()) else None


def duplicate(state: WindowState) -> WindowState:
    """The same window in a store of its own, to come back to."""
    store = state.store
    return replace(state, store=copied(store) if isinstance(store, Store) else store.copy())


def _plain(algorithm: Algorithm, aggregate: Aggregate) -> Form:
    return plain_form(aggregate, counted=algorithm.counted)


def plain_of(state: WindowState) -> Form:
    """A form in which the window's partials are objects."""
    return _plain(state.algorithm, state.aggregate)
