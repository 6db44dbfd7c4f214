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
from windrow.engine.algorithm import Algorithm, Monoid, Operations
from windrow.engine.columns import Store, allocate, copied, move, read, room, write
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
    return (state.algorithm.grow or grown_ring)(state, capacity)


def grown_ring(state: WindowState, capacity: int) -> WindowState:
    """A bigger ring with the same rows at the same positions."""
    old, new = state.store, new_store(state.algorithm, state.form, capacity)
    positions = np.arange(state.registers.F, state.registers.E)
    for before, after in ((old.vals, new.vals), (old.aggs, new.aggs)):
        if room(before):
            move(before, positions & old.mask, after, positions & new.mask)
    return replace(state, store=new, capacity=capacity)


def converted(state: WindowState, form: Form | None) -> WindowState:
    """The window in another form of the aggregate, in a store of its own; None: objects."""
    if form is state.form or (form is None and not state.form.compiled):
        return state
    algorithm = state.algorithm
    after = _plain(algorithm, state.aggregate) if form is None else form
    if not len(state):
        return empty(algorithm, state.aggregate, after, state.capacity)
    convert, old, r = converter(algorithm, state.form, after), state.store, state.registers

    def slots(before: Any) -> Any:
        new = allocate(after.dtypes, room(before))
        for i in range(room(before)):
            write(new, i, convert(read(before, i)))
        return new

    links = np.array(old.links, np.int64) if after.compiled else [int(i) for i in old.links]
    made = replace(
        state,
        form=after,
        store=Store(slots(old.vals), slots(old.aggs), links, old.mask),
        registers=r._replace(**{name: convert(getattr(r, name)) for name in algorithm.partial_registers}),
    )
    return made if algorithm.rebuild is None else algorithm.rebuild(made)


def converter(algorithm: Algorithm, before: Form, after: Form) -> Callable[[Any], Any]:
    """Partials of one form -> partials of another."""
    thaw, freeze = before.thaw or same, after.freeze or same

    def convert(partial: Any) -> Any:
        return freeze(thaw(partial))

    def convert_counted(partial: Any) -> Any:  # plain partials carry the number of their rows, columns do not
        bare = partial if before.compiled else partial and partial[1]
        made = convert(bare)
        return made if after.compiled or made is None else (1, made)

    return convert_counted if algorithm.counted else convert


def duplicate(state: WindowState) -> WindowState:
    """The same window in a store of its own, to come back to."""
    store = state.store
    return replace(state, store=copied(store) if isinstance(store, Store) else store.copy())


def _plain(algorithm: Algorithm, aggregate: Aggregate) -> Form:
    return plain_form(aggregate, counted=algorithm.counted)
