"""What every store of partials shares: a ring of slots, and ids mapped to places (paper 3 §5.4).

A partial is known by an id, and ids grow. In Alg. 1 the id of a slice is the number of the row *before which it ends*:
`append(i, partial)` stores what came before row i. So `merge(i)` is all that was stored after the edge i, the aggregate
from row i on, and `remove_up_to(i)` drops what lies before it.

Partials lie in a ring of slots, positions counted on for ever; `places` is the paper's h(partial id) -> slot. The ring
doubles when it is full and halves when a third of it is used.

Several windows of different lengths share a store, so an edge in the middle may be one that nobody will ask for again.
`fuse` makes one slice of the two beside it. That is what keeps the stored slices no more than the open windows (§3.1):
without it the claim holds for windows that end in the order in which they began, not for a long one beside short ones.
A fused slice keeps its slots but the first as holes; a full ring with enough holes is compacted instead of doubled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from windrow.aggregates.base import Aggregate, same
from windrow.aggregates.compare import alike
from windrow.engine.columns import Store
from windrow.engine.forms import plain_form
from windrow.errors import WindrowError
from windrow.sharing.undo import Undo


class Partials:
    """Partials in order, by id. An operation in which a combine raises leaves no trace.

    >>> from windrow import agg
    >>> from windrow.sharing.partials import Eager
    >>> store = Eager(agg.concat())
    >>> for edge, text in ((3, "abc"), (4, "d"), (7, "efg")): store.append(edge, text)
    >>> store.merge(3), store.merge(0, 4), len(store)
    ('defg', 'abcd', 3)
    >>> store.remove_up_to(4); store.merge(4)
    'efg'
    """

    name: ClassVar[str]

    def __init__(self, aggregate: Aggregate, *, capacity: int = 4) -> None:
        self.of = aggregate
        self.form = plain_form(aggregate)
        self.minimum = self.capacity = 1 << max(2, (capacity - 1).bit_length())
        self.F = self.E = 0  # the positions in use
        self.places: dict[int, tuple[int, int]] = {}  # id -> its slice's positions, the end excluded; ids ascend
        self.begun: dict[int, int] = {}  # the position where a slice begins -> its id
        self.s = self._slots(self.capacity)
        self.undo = Undo()
        self._holding = False

    def __len__(self) -> int:
        """How many partials there are."""
        return len(self.places)

    @property
    def slots(self) -> int:
        """How many partials there is room for, higher-order ones and holes included."""
        return len(self.s.vals) + len(self.s.aggs)

    def append(self, id: int, partial: Any) -> None:
        """Adds the newest partial."""
        self._check_order(id)
        self._make_room()
        self._step(self._put, self.E, partial)
        self._place(id, self.E, self.E + 1)
        self.E += 1

    def extend(self, id: int, partial: Any) -> None:
        """The newest slice goes on up to the edge `id`: as `append`, then `fuse` of the edge between the two."""
        self._check_order(id)
        if not self.places:
            self.append(id, partial)
            return
        edge = next(reversed(self.places))
        first, end = self.places[edge]
        if self._step(self._grow, first, partial):
            self.undo.drop(self.places, edge)
            self._place(id, first, end)
        else:
            self.append(id, partial)
            self.fuse(edge)

    def merge(self, start: int, stop: int | None = None) -> Any:
        """The aggregate from the edge `start` on, up to the edge `stop`; the identity where nothing lies there."""
        first = self._after(start)
        end = self.E if stop is None else self._after(stop)
        return self._step(self._merge, first, end) if first < end else self.form.identity

    def remove_up_to(self, id: int) -> None:
        """Drops all partials up to `id`, itself included."""
        gone = []
        for edge in self.places:
            if edge > id:
                break
            gone.append(edge)
        if not gone:
            return
        F = self.places[gone[-1]][1]
        self._step(self._remove, F)
        for edge in gone:
            self.undo.drop(self.begun, self.undo.drop(self.places, edge)[0])
        self.F = F
        capacity = self._shrunk(self.E - self.F)
        if capacity < self.capacity:
            self._lay(capacity)

    def fuse(self, id: int) -> None:
        """The slices before and after the edge `id` become one; not for the newest, after which there is none."""
        if id not in self.places or self.places[id][1] == self.E:
            raise WindrowError(f"no two slices meet at {id}")
        older, newer = self.places[id]
        self._step(self._fuse, older, newer)
        other = self.undo.drop(self.begun, newer)
        self._place(other, older, self.places[other][1])
        self.undo.drop(self.places, id)

    def check_invariants(self) -> None:
        """Ids and positions ascend together without gaps, and the ring is neither too full nor too empty."""
        at = self.F
        for id, (first, end) in self.places.items():
            assert first == at < end and self.begun[first] == id, (id, first, end, at)
            at = end
        assert at == self.E <= self.F + self.capacity and len(self.begun) == len(self.places)
        assert list(self.places) == sorted(self.places)
        assert self.capacity == self._shrunk(self.E - self.F), "it should have shrunk"

    # Saving.

    def state(self) -> tuple:
        """All of it, as plain values."""
        dump = getattr(self.of, "dump", same)
        vals, aggs = ([None if p is None else dump(p) for p in slots] for slots in (self.s.vals, self.s.aggs))
        places = [(id, *at) for id, at in self.places.items()]
        return self.name, self.capacity, self.minimum, self.F, self.E, places, vals, aggs, self.s.links

    def resume(self, state: tuple) -> None:
        """Goes on from the state of such a store."""
        load = getattr(self.of, "load", same)
        _, self.capacity, self.minimum, self.F, self.E, places, vals, aggs, links = state
        self.places, self.begun = {}, {}
        for id, first, end in places:
            self._place(id, first, end)
        vals, aggs = ([None if p is None else load(p) for p in slots] for slots in (vals, aggs))
        self.s = Store(vals, aggs, list(links), self.capacity - 1)

    # What a store says of itself. A slice's partial lies in the first of its slots.

    def _slots(self, capacity: int) -> Store:
        raise NotImplementedError

    def _put(self, at: int, partial: Any) -> None:
        """A partial into the new position `at`."""
        raise NotImplementedError

    def _merge(self, first: int, end: int) -> Any:
        """The aggregate of the slices that begin at these positions, of which there is at least one."""
        raise NotImplementedError

    def _remove(self, F: int) -> None:
        """The positions before F go."""

    def _fuse(self, older: int, newer: int) -> None:
        """One slice of those that begin at these positions."""
        raise NotImplementedError

    def _grow(self, at: int, partial: Any) -> bool:
        """The newest slice, which begins at `at`, goes on by `partial`; False where the store cannot do that."""
        return False

    def _whole(self, first: int, end: int) -> Any:
        """The partial of one slice."""
        return self.form.get(self.s.vals, first & self.s.mask)

    def _fill(self, partials: list) -> None:
        """These partials into new slots."""
        for at, partial in enumerate(partials):
            self._put(at, partial)

    # Within.

    def _check_order(self, id: int) -> None:
        if self.places and id <= next(reversed(self.places)):
            raise WindrowError(f"partials come in order: {id} after {next(reversed(self.places))}")

    def _place(self, id: int, first: int, end: int) -> None:
        self.undo.put(self.places, id, (first, end))
        self.undo.put(self.begun, first, id)

    def _after(self, edge: int) -> int:
        """The position at which what comes after an edge begins."""
        if edge in self.places:
            return self.places[edge][1]
        if not self.places or edge < next(iter(self.places)):
            return self.F
        raise WindrowError(f"no partial ends at {edge}")

    def _shrunk(self, used: int) -> int:
        """Half the slots as long as a third of them is enough."""
        capacity = self.capacity
        while capacity > self.minimum and 3 * used <= capacity:
            capacity //= 2
        return capacity

    def _make_room(self) -> None:
        """In a full ring: double it, or compact it if a quarter of it are holes."""
        used = self.E - self.F
        if used == self.capacity:
            holes = 4 * len(self) <= 3 * self.capacity
            self._lay(self._shrunk(len(self)) if holes else 2 * self.capacity)

    def _lay(self, capacity: int) -> None:
        """All slices into new slots, without holes."""
        partials = [self._whole(first, end) for first, end in self.places.values()]
        before = self.s, self.F, self.E, self.capacity
        self.s, self.capacity, self.F, self.E = self._slots(capacity), capacity, 0, len(partials)
        try:
            self._fill(partials)
        except BaseException:
            self.s, self.F, self.E, self.capacity = before
            raise
        ids, self.places, self.begun = list(self.places), {}, {}
        for place, id in enumerate(ids):
            self._place(id, place, place + 1)

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Several operations, of which none has happened if something raises meanwhile."""
        journal = self.form.journal
        assert journal is not None
        journal.undo.clear()
        self.undo.steps.clear()
        before = self.s, self.F, self.E, self.capacity, self.places, self.begun
        self._holding = True
        try:
            yield
        except BaseException:
            journal.rollback()
            self.undo.rollback()
            self.s, self.F, self.E, self.capacity, places, self.begun = before
            self.places = dict(sorted(places.items()))
            raise
        finally:
            self._holding = False

    def _step(self, operation: Callable, *arguments: Any) -> Any:
        """One operation; one that raises leaves no trace."""
        journal = self.form.journal
        assert journal is not None
        if not self._holding:
            journal.undo.clear()
            self.undo.steps.clear()
        start = len(journal.undo)
        try:
            return operation(*arguments)
        except BaseException:
            journal.rollback(start)
            raise

    def _expect(self, claimed: Any, true: Any, what: str) -> None:
        assert alike(self.of.monoid_lower(claimed), self.of.monoid_lower(true)), f"{what}: {claimed!r}, not {true!r}"
