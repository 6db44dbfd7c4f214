"""The Reactive Aggregator: a window of any size on FlatFAT, from which rows may leave in any order.

Paper 1 §5. The leaves of FlatFAT are a circular buffer; a slot not in use holds ⊥ (here: the aggregate's identity), so
that a row that leaves out of order leaves a hole. Insertions and evictions change leaves only; the next query makes
one `update` (Alg. 2) of the m slots that changed since the one before, m(1 + ⌈log(n/m)⌉) combines, as RA does when its
window triggers (§2.3, §5). So a slot that a row leaves and the next one takes, as in each slide of a window as large as
the buffer, is updated once, and resizing makes no combine of its own. That holds for rows that leave out of order, too:
their slots wait in a set (`_left`), and where they are is found among the holes (`holes`) in O(log n).

§5.2 for FIFO windows: there are no holes, nothing is compacted, and the slots to update are two stretches of the ring
(`settle`), never a list of places. ⊥ is kept all the same: to evict is one write, which the update needs anyway to know
what to leave out, and rows may go out of order at any time. FlatFAT, as a window, does without.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.aggregates.compare import alike
from windrow.engine.columns import Store, allocate, read, write
from windrow.engine.forms import Form
from windrow.engine.state import WindowState
from windrow.errors import SnapshotError
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag
from windrow.swag.flat_fat import walks
from windrow.swag.holes import Holes

#: rows (and holes) at positions F..E of the ring: front = F mod n, back = (E - 1) mod n; both hold a row.
#: links: for each slot 1 if it holds a row, then F and E at the last update, and E
Registers = namedtuple("Registers", "F E tuples")


def settle_with(m: Monoid) -> Callable:
    """`settle(s, F, E)`: Alg. 2 for all slots that changed since it last ran: rows that went and rows that came.

    While the buffer is inverted, the nodes above both its back and its front are left out: they would combine newer
    rows with older ones, in that order, and nobody reads them. Once they are not above both any more, the front has
    gone past a row below them, so they are among the nodes to update.
    """
    combine, get, put, get_link, put_link = m.combine, m.get, m.put, m.get_link, m.put_link

    @m.jit
    def settle(s, F, E):
        size = s.mask + 1
        a1, a2 = get_link(s.links, size), get_link(s.links, size + 1)
        z1, z2 = F - 1, E - 1
        put_link(s.links, size, F)
        put_link(s.links, size + 1, E)
        gone, come = a1 <= z1, a2 <= z2
        if not gone:
            a1, z1 = a2, z2
        if not come:
            a2, z2 = a1, z1
        if not (gone or come):
            size = 1
        f, b = F & s.mask, (E - 1) & s.mask
        inverted = F < E and b < f
        while size > 1:  # a level: the nodes above [a1, z1], then those above [a2, z2] that were not among them
            size >>= 1
            a1 >>= 1
            z1 >>= 1
            a2 >>= 1
            z2 >>= 1
            f >>= 1
            b >>= 1
            seam = size + f if inverted and f == b else 0
            last = min(z1, a1 + size - 1)
            first = max(a2, last + 1)
            skipped = first - last - 1
            for i in range(a1, max(last, min(z2, a1 + size - 1) - skipped) + 1):
                v = size + ((i if i <= last else i + skipped) & (size - 1))
                if v != seam:
                    put(s.vals, v, combine(get(s.vals, 2 * v), get(s.vals, 2 * v + 1)))

    return settle


def kernel(m: Monoid) -> Kernel:
    combine, identity, get, put, put_link = m.combine, m.identity, m.get, m.put, m.put_link
    get_link = m.get_link
    prefix, suffix, _ = walks(m)
    settle = settle_with(m)

    @m.jit
    def clear(s):
        """⊥ in what is in use, and in nothing else: a key of few rows costs few writes."""
        n = s.mask + 1
        size = n
        a, z = get_link(s.links, n), get_link(s.links, n + 2) - 1
        for i in range(a, min(z, a + size - 1) + 1):
            put_link(s.links, i & s.mask, 0)
        while size > 0 and a <= z:
            for i in range(a, min(z, a + size - 1) + 1):
                put(s.vals, size + (i & (size - 1)), identity)
            size >>= 1
            a >>= 1
            z >>= 1
        put_link(s.links, n, 0)
        put_link(s.links, n + 1, 0)
        put_link(s.links, n + 2, 0)
        return Registers(0, 0, 0)

    @m.jit
    def insert(s, r, v):
        n = s.mask + 1
        place = r.E & s.mask
        put(s.vals, n + place, v)
        put_link(s.links, place, 1)
        put_link(s.links, n + 2, r.E + 1)
        return Registers(r.F, r.E + 1, r.tuples + 1)

    @m.jit
    def evict(s, r):
        place = r.F & s.mask
        put(s.vals, s.mask + 1 + place, identity)
        put_link(s.links, place, 0)
        F = r.F + 1
        while F < r.E and get_link(s.links, F & s.mask) == 0:  # holes
            F += 1
        return Registers(F, r.E, r.tuples - 1)

    @m.jit
    def query(s, r):
        settle(s, r.F, r.E)
        n = s.mask + 1
        f, b = r.F & s.mask, (r.E - 1) & s.mask
        a = get(s.vals, 1)
        if b < f:  # §5.1.2: the buffer is inverted
            a = combine(suffix(s.vals, n, f, n - 1), prefix(s.vals, n, b, 0))
        return a

    @m.jit
    def size(r):
        return r.tuples

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return 2 * capacity, 0, capacity + 3


def new_store(form: Form, capacity: int) -> Store:
    """A store with ⊥ everywhere."""
    vals, aggs, links = layout(capacity)
    slots, places = allocate(form.dtypes, vals), np.zeros(links, np.int64) if form.compiled else [0] * links
    if form.compiled:  # objects are None already, which is their identity
        for column, number in zip(slots, form.identity, strict=True):
            column[:] = number
    return Store(slots, allocate(form.dtypes, aggs), places, capacity - 1)


def positions(state: WindowState) -> list[int]:
    """Where the ring holds a row, and not a hole."""
    r, s = state.registers, state.store
    return [i for i in range(r.F, r.E) if s.links[i & s.mask]]


def grow(state: WindowState, capacity: int) -> WindowState:
    """Resize and compact: the rows without holes in a new buffer, its inner nodes left to the next update."""
    old, s = state.store, new_store(state.form, capacity)
    rows = [read(old.vals, state.capacity + (i & old.mask)) for i in positions(state)]
    for place, partial in enumerate(rows):
        write(s.vals, capacity + place, partial)
        s.links[place] = 1
    s.links[capacity + 2] = len(rows)
    return replace(state, store=s, registers=Registers(0, len(rows), len(rows)), capacity=capacity)


def rebuild(state: WindowState) -> WindowState:
    """The same rows in a new buffer: ⊥ is another value now."""
    return grow(state, state.capacity)


def fits(r: Any, links: Any, capacity: int) -> bool:
    """The ring holds a row at its ends, and as many as are counted; what was updated last lies before."""
    (F, E, tuples), flags = r, np.asarray(links, np.int64)
    first, last, end = flags[capacity:].tolist()
    if not (0 <= F <= E <= F + capacity and 0 <= first <= F and first <= last <= E == end):
        return False
    at = np.arange(F, E)
    used = flags[at & (capacity - 1)]
    whole = not len(at) or bool(used[0] and used[-1])
    return whole and bool(np.isin(flags[:capacity], (0, 1)).all()) and used.sum() == tuples == flags[:capacity].sum()


ALGORITHM = Algorithm(
    name="reactive_aggregator",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="in order in, any order out",
        requires="associative",
        time="O(log n); m changes at once: m(1 + ⌈log(n/m)⌉)",
        space="2n, n between the rows and 4 times as many",
        paper="1 §5",
    ),
    new_store=new_store,
    grow=grow,
    rebuild=rebuild,
    fits=fits,
)


class ReactiveAggregator(Swag):
    """m changes between two queries cost m(1 + ⌈log(n/m)⌉) combines; rows leave in any order.

    >>> from windrow import agg
    >>> w = ReactiveAggregator(agg.concat())
    >>> w.insert_many("abcde")
    >>> w.evict_at(2); w.query()
    'abde'
    """

    algorithm = ALGORITHM
    _left: set[int]  # places that rows have left out of order since the last update
    _holes: Holes

    def __init__(self, aggregate: Aggregate, *, capacity: int = 16) -> None:
        super().__init__(aggregate, capacity=capacity)
        self.minimum = self.capacity

    def insert(self, *row: Any) -> None:
        self._ready(1)
        super().insert(*row)

    def insert_many(self, rows: Iterable[Any]) -> None:
        partials = []
        for row in rows:
            values = row if isinstance(row, tuple) else (row,)
            if self._sample is not None:
                self._try_laws(values)
            partials.append(self._lift(values))
        self._ready(len(partials))
        for partial in partials:
            self.r = self._step(self.k.insert, partial)

    def evict(self) -> None:
        self._become(None)
        front = self.r.F
        super().evict()
        self._passed(front + 1, self.r.F)
        self._shrink()

    def evict_many(self, count: int) -> None:
        if not 0 <= count <= len(self):
            raise IndexError(f"cannot evict {count} of {len(self)} rows")
        self._become(None)
        for _ in range(count):
            front = self.r.F
            self.r = self._step(self.k.evict)
            self._passed(front + 1, self.r.F)
        self._shrink()

    def evict_at(self, k: int) -> None:
        """Drops the row that has `k` older ones, in O(log n) and without a combine; it may leave a hole."""
        if not 0 <= k < len(self):
            raise IndexError(f"row {k} of {len(self)}")
        if k == 0:
            self.evict()
            return
        self._become(None)
        if self._holes.total != self.r.E - self.r.F - len(self):  # an interrupt came before a hole was counted
            self._holes = self._found_holes()
        place, back = self._holes.place(self.r.F & self.s.mask, k), self.r.E
        self._left.add(place)  # first: an entry too many does no harm
        self.r = self._step(self._drop, place)
        if back > self.r.E:
            self._passed(self.r.E, back - 1)
        else:
            self._holes.add(place)
        self._shrink()

    def compact(self) -> None:
        """Closes all holes."""
        self._grow(self.capacity)

    def slide(self, values: Any, window: Any, **options: Any) -> Any:
        self._close_holes()
        return super().slide(values, window, **options)

    slide.__doc__ = Swag.slide.__doc__

    def slide_between(self, values: Any, lo: Any, hi: Any) -> Any:
        self._close_holes()
        return super().slide_between(values, lo, hi)

    slide_between.__doc__ = Swag.slide_between.__doc__

    def check_invariants(self) -> None:
        """Rows and holes as counted, ⊥ in every slot not in use, and (4.1) but for nodes that wait for the update."""
        (F, E, tuples), n, mask, m = self.r, self.capacity, self.s.mask, self.m
        F0, E0, end = (int(i) for i in self.s.links[n:])
        rows = positions(self.state)
        assert F <= E <= F + n and end == E and F0 <= F and E0 <= E
        assert len(rows) == tuples == sum(self.s.links[:n])
        assert not rows or (rows[0], rows[-1]) == (F, E - 1)
        for place in range(n):
            kept = read(self.s.vals, n + place)
            assert self.s.links[place] or alike(kept, m.identity, 0.0), f"a[{place + 1}] is not ⊥: {kept}"
        changed = {i & mask for i in (*range(F0, F), *range(E0, E))} | self._left
        waiting = {(n + place) >> level for place in changed for level in range(n.bit_length())}
        for v in range(1, n):
            if v not in waiting and v not in self._seam(self.r):
                true = m.combine(m.get(self.s.vals, 2 * v), m.get(self.s.vals, 2 * v + 1))
                self._expect(m.get(self.s.vals, v), true, f"T({v}) = T({2 * v}) ⊕ T({2 * v + 1})")
        assert {i: c for i, c in self._holes.counts.items() if c} == self._found_holes().counts

    # Within.

    def _oldest_first(self) -> Iterator[Any]:
        get, s = self.form.get, self.s
        places = (i & s.mask for i in range(self.r.F, self.r.E))
        return (get(s.vals, self.capacity + place) for place in places if s.links[place])

    def _take(self, state: WindowState) -> None:
        """A new buffer has no holes, and no slot of it waits for an update but those of new rows."""
        super()._take(state)
        self._left, self._holes = set(), Holes(self.capacity)

    def _state(self) -> tuple:
        return *super()._state(), self.minimum, sorted(self._left)

    def _set_state(self, *state: Any) -> None:
        *rest, self.minimum, left = state
        super()._set_state(*rest)
        fits = isinstance(self.minimum, int) and self.minimum > 0
        if not fits or not all(isinstance(place, int) and 0 <= place < self.capacity for place in left):
            raise SnapshotError("the saved state does not fit together: places that rows have left")
        self._left, self._holes = set(left), self._found_holes()

    def _found_holes(self) -> Holes:
        """The holes, looked for."""
        places = (i & self.s.mask for i in range(self.r.F, self.r.E))
        return Holes(self.capacity, (place for place in places if not self.s.links[place]))

    def _close_holes(self) -> None:
        """Before a batch: its driver makes room for rows, not for holes, and knows nothing of what waits."""
        if self._left or len(self) < self.r.E - self.r.F:
            self.compact()

    def _passed(self, start: int, end: int) -> None:
        """The positions from start to end are outside of the window now; they were holes."""
        for position in range(start, end):
            self._holes.add(position & self.s.mask, -1)

    def _drop(self, s: Store, r: Any, place: int) -> Any:
        """One row out of order: ⊥ in its leaf."""
        form, n = self.form, self.capacity
        form.put(s.vals, n + place, form.identity)
        form.put_link(s.links, place, 0)
        E = r.E
        while not s.links[(E - 1) & s.mask]:  # holes at the back are room again
            E -= 1
        form.put_link(s.links, n + 1, min(E, s.links[n + 1]))
        form.put_link(s.links, n + 2, E)
        return Registers(r.F, E, r.tuples - 1)

    def _query(self) -> Any:
        if not self._left or not len(self):
            return super()._query()
        self._become(None)
        answer = self._step(self._settled)
        self._left.clear()
        return answer

    def _settled(self, s: Store, r: Any) -> Any:
        """Alg. 2, level by level, each node once, for rows that left out of order and all others that came or went."""
        form, n = self.form, self.capacity
        (F, E, _), (F0, E0) = r, s.links[n : n + 2]
        changed = (*range(max(F0, F - n), F), *range(max(E0, E - n), E))
        nodes, seam = {n + (i & s.mask) for i in changed} | {n + place for place in self._left}, self._seam(r)
        while nodes := {v >> 1 for v in nodes if v > 1}:
            for v in sorted(nodes - seam):
                form.put(s.vals, v, form.combine(form.get(s.vals, 2 * v), form.get(s.vals, 2 * v + 1)))
        form.put_link(s.links, n, F)
        form.put_link(s.links, n + 1, E)
        return self.k.query(s, r)

    def _seam(self, r: Any) -> set[int]:
        """The nodes above both the back and the front while the buffer is inverted."""
        v, w = self.capacity + (r.F & self.s.mask), self.capacity + ((r.E - 1) & self.s.mask)
        if r.F == r.E or v <= w:
            return set()
        return {v >> level for level in range(1, self.capacity.bit_length()) if v >> level == w >> level}

    def _ready(self, more: int) -> None:
        """Room for `more` rows at the back, §5.1.1: compact if at most 3/4 of the slots hold rows, else resize."""
        if self.r.E - self.r.F + more > self.capacity:
            capacity = self.capacity
            if 4 * len(self) > 3 * capacity:
                capacity *= 2
            while len(self) + more > capacity:
                capacity *= 2
            self._grow(capacity)

    def _shrink(self) -> None:
        """Half the slots as long as less than 1/4 of them hold rows, §5.1.1."""
        capacity = self.capacity
        while 4 * len(self) < capacity > self.minimum:
            capacity //= 2
        if capacity < self.capacity:
            self._grow(capacity)
