"""FlatFAT: a perfect binary tree of partials in one flat array.

Paper 1 §4 (Alg. 1 new, Alg. 2 update, Alg. 3 prefix), and the window on it as a circular buffer with the FIFO short
cut of §5.2. Slot 1 is the root, the children of slot v are 2v and 2v+1, leaf(i) is slot n + i - 1 (§4.3).

On the level of `size` nodes, a node is known by its place 0..size-1; the row at place p lies below place p >> level.
The short cut: unused slots hold no ⊥, they are never read. While the buffer is normal (front at or before back), what
is in use lies between the leaf-to-root paths of the front and of the back, and every node above a row holds the
aggregate of the rows below it. While it is inverted, suffix(front) and prefix(back) read only nodes all of whose leaves
are rows, so only those are kept, an eviction changes nothing, and an insertion only ends the nodes it fills. That is
how a full window of constant size pays once, not twice, for the slot that a row leaves to the next one.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine.algorithm import in_order
from windrow.engine.columns import Store, read, write
from windrow.engine.state import WindowState, new_store
from windrow.errors import OptionError
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: the rows are at positions F..E of the ring: front = F mod n, back = (E - 1) mod n
Registers = namedtuple("Registers", "F E")
Walks = namedtuple("Walks", "prefix suffix between")


def walks(m: Monoid) -> Walks:
    """Alg. 3 and its mirror image, with places from 0, and the walk up from both ends of a range."""
    combine, get = m.combine, m.get

    @m.jit
    def prefix(tree, n, i, first):
        """a[first] ⊕ ... ⊕ a[i], where nothing before `first` is in use."""
        a = get(tree, n + i)  # Alg. 3, line 1
        while n > 1:  # line 2
            if i & 1 and first < i:  # line 4: a right child, and there are rows below its sibling
                a = combine(get(tree, n + i - 1), a)
            i >>= 1
            first >>= 1
            n >>= 1
        return a

    @m.jit
    def suffix(tree, n, j, last):
        """a[j] ⊕ ... ⊕ a[last], where nothing after `last` is in use."""
        a = get(tree, n + j)
        while n > 1:
            if j & 1 == 0 and j < last:
                a = combine(a, get(tree, n + j + 1))
            j >>= 1
            last >>= 1
            n >>= 1
        return a

    @m.jit
    def between(tree, n, i, j):
        """a[i] ⊕ ... ⊕ a[j] for i < j from nodes within that range only."""
        a, b = get(tree, n + i), get(tree, n + j)
        while i >> 1 != j >> 1:
            if i & 1 == 0:
                a = combine(a, get(tree, n + i + 1))
            if j & 1:
                b = combine(get(tree, n + j - 1), b)
            i >>= 1
            j >>= 1
            n >>= 1
        return combine(a, b)

    return Walks(prefix, suffix, between)


def kernel(m: Monoid) -> Kernel:
    combine, get, put = m.combine, m.get, m.put
    prefix, suffix, _ = walks(m)

    @m.jit
    def clear(s):
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        size = s.mask + 1
        b = r.E & s.mask
        put(s.vals, size + b, v)
        f = r.F & s.mask
        inverted = b < f
        if inverted:
            f = 0  # where the back's part of the ring begins
        a = get(s.vals, size + b)
        while size > 1 and (b & 1 == 1 or not inverted):
            if b & 1 and f < b:
                a = combine(get(s.vals, size + b - 1), a)
            size >>= 1
            b >>= 1
            f >>= 1
            put(s.vals, size + b, a)
        return Registers(r.F, r.E + 1)

    @m.jit
    def evict(s, r):
        F = r.F + 1
        size = s.mask + 1
        f, b = F & s.mask, (r.E - 1) & s.mask
        if F < r.E and f == 0:  # no longer inverted: the nodes above the back, which nobody has kept
            a = get(s.vals, size + b)
            while size > 1:
                if b & 1:
                    a = combine(get(s.vals, size + b - 1), a)
                size >>= 1
                b >>= 1
                put(s.vals, size + b, a)
        elif F < r.E and f <= b:
            while f & 1 == 0:  # nodes that were not above the row that went
                size >>= 1
                f >>= 1
                b >>= 1
            a = get(s.vals, size + f)
            while size > 1:
                if f & 1 == 0 and f < b:
                    a = combine(a, get(s.vals, size + f + 1))
                size >>= 1
                f >>= 1
                b >>= 1
                put(s.vals, size + f, a)
        return Registers(F, r.E)

    @m.jit
    def query(s, r):
        n = s.mask + 1
        f, b = r.F & s.mask, (r.E - 1) & s.mask
        a = get(s.vals, 1)
        if b < f:  # §5.1.2: the buffer is inverted
            a = combine(suffix(s.vals, n, f, n - 1), prefix(s.vals, n, b, 0))
        return a

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return 2 * capacity, 0, 0


def laid(state: WindowState, capacity: int, rows: list) -> WindowState:
    """A new tree with these rows at the places 0, 1, ... (Alg. 1): one combine less than rows."""
    combine, s = state.monoid.combine, new_store(state.algorithm, state.form, capacity)
    level, size = rows, capacity
    while size:
        for place, partial in enumerate(level):
            write(s.vals, size + place, partial)
        level = [combine(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
        size >>= 1
    return replace(state, store=s, registers=Registers(0, len(rows)), capacity=capacity)


def grow(state: WindowState, capacity: int) -> WindowState:
    """The rows in a larger tree."""
    (F, E), s = state.registers, state.store
    return laid(state, capacity, [read(s.vals, state.capacity + (i & s.mask)) for i in range(F, E)])


ALGORITHM = Algorithm(
    name="flat_fat",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO; any row can be rewritten",
        requires="associative",
        time="O(log n); m changes at once: m(1 + ⌈log(n/m)⌉)",
        space="2n, n rounded up to a power of two",
        paper="1 §4, §5.2",
    ),
    grow=grow,
    fits=in_order("F", "E"),
)


class FlatFAT(Swag):
    """O(log n) per operation, 2n partials; any prefix, suffix and range of rows, any row rewritten.

    >>> from windrow import agg
    >>> fat = FlatFAT.new(agg.concat(), "abcdefgh")
    >>> fat.update({1: "A", 7: "G"}); fat.aggregate(), fat.prefix(2), fat.suffix(7)
    ('AbcdefGh', 'Ab', 'Gh')
    """

    algorithm = ALGORITHM

    @classmethod
    def new(cls, aggregate: Aggregate, values: Iterable[Any]) -> FlatFAT:
        """A tree over these values (a tuple is a row of several): n - 1 combines (Alg. 1, Theorem 4.2 i)."""
        rows = [row if isinstance(row, tuple) else (row,) for row in values]
        fat = cls(aggregate, capacity=max(1, len(rows)))
        for row in rows:
            if fat._sample is not None:
                fat._try_laws(row)
        fat._take(laid(fat.state, fat.capacity, [fat._lift(row) for row in rows]))
        return fat

    def update(self, changes: Mapping[int, Any] | Iterable[tuple[int, Any]]) -> None:
        """Rewrites the rows at these locations, 1 the oldest: at most m(1 + ⌈log(n/m)⌉) combines for m of them."""
        pairs = list(changes.items()) if isinstance(changes, Mapping) else list(changes)
        self._become(None)
        places = {}
        for location, value in pairs:
            place = (self.r.F + self._location(location) - 1) & self.s.mask
            if place in places:
                raise OptionError(f"location {location} is given twice")
            places[place] = self._lift(value if isinstance(value, tuple) else (value,))
        self._step(self._rewrite, places)

    def aggregate(self) -> Any:
        """All rows: no combine as long as the buffer is not inverted, as after `new`."""
        return self.query()

    def prefix(self, i: int) -> Any:
        """Rows 1 to i, 1 the oldest: at most log n combines (twice that where the buffer is inverted)."""
        return self._range(self.r.F, self.r.F + self._location(i))

    def suffix(self, j: int) -> Any:
        """Rows j to the newest: at most log n combines (twice that where the buffer is inverted)."""
        return self._range(self.r.F + self._location(j) - 1, self.r.E)

    def range(self, i: int, j: int) -> Any:
        """Rows i to j, 1 the oldest: at most 2 log n combines.

        >>> from windrow import agg
        >>> FlatFAT.new(agg.concat(), "abcdefgh").range(3, 6)
        'cdef'
        """
        if i > j:
            raise IndexError(f"rows {i} to {j}: the older one first")
        return self._range(self.r.F + self._location(i) - 1, self.r.F + self._location(j))

    def check_invariants(self) -> None:
        """Each node that may be read holds the aggregate of its rows, (4.2)."""
        F, E = self.r
        assert 0 <= E - F <= self.capacity
        rows = {i & self.s.mask: read(self.s.vals, self.capacity + (i & self.s.mask)) for i in range(F, E)}
        inverted = E > F and (E - 1) & self.s.mask < F & self.s.mask
        width, combine = 1, self.m.combine
        while width <= self.capacity:
            for place in range(self.capacity // width):
                below = range(place * width, (place + 1) * width)
                used = [p for p in below if p in rows]
                whole = len(used) == width and not (inverted and below[0] < F & self.s.mask <= below[-1])
                if whole or (used and not inverted):
                    true = self.m.identity
                    for p in used:
                        true = combine(true, rows[p])
                    slot = self.capacity // width + place
                    self._expect(read(self.s.vals, slot), true, f"T({slot}) = Σ of its rows")
            width *= 2

    # Within.

    def _oldest_first(self) -> Iterator[Any]:
        get, s = self.form.get, self.s
        return (get(s.vals, s.mask + 1 + (i & s.mask)) for i in range(self.r.F, self.r.E))

    def _location(self, location: int) -> int:
        if not 1 <= location <= len(self):
            raise IndexError(f"location {location} of {len(self)} rows")
        return location

    def _range(self, start: int, end: int) -> Any:
        """The answer for the ring's positions start to end."""
        self._become(None)
        return self._answer(self._step(self._walk, start, end))

    def _use(self, form: Monoid) -> None:
        super()._use(form)
        self._walks = walks(self.m)

    def _walk(self, s: Store, r: Any, start: int, end: int) -> Any:
        """The nodes that the state of the buffer lets one read."""
        prefix, suffix, between = self._walks
        n, f, b = self.capacity, r.F & s.mask, (r.E - 1) & s.mask
        i, j = start & s.mask, (end - 1) & s.mask
        if i == j:
            return read(s.vals, n + i)
        if f <= b and start == r.F:
            return prefix(s.vals, n, j, f)
        if f <= b and end == r.E:
            return suffix(s.vals, n, i, b)
        if i > j:
            return self.form.combine(suffix(s.vals, n, i, n - 1), prefix(s.vals, n, j, 0))
        return between(s.vals, n, i, j)

    def _rewrite(self, s: Store, r: Any, places: dict[int, Any]) -> None:
        """Alg. 2, level by level, each node once; W are the places above a change."""
        combine, get, put = self.form.combine, self.form.get, self.form.put
        f, b = r.F & s.mask, (r.E - 1) & s.mask
        inverted = b < f
        for place, partial in places.items():  # lines 1-2
            put(s.vals, self.capacity + place, partial)
        size, width, W = self.capacity // 2, 2, {place >> 1 for place in places}  # line 3
        while size and W:  # line 4
            if inverted:  # only nodes all of whose leaves are rows in the window's order
                W = {i for i in W if (i + 1) * width - 1 <= b or i * width >= f}
            first, last = (0, 2 * size - 1) if inverted else (f * 2 // width, b * 2 // width)
            for v in sorted(size + i for i in W):  # lines 5-6, an unused child left out
                left, right = 2 * v, 2 * v + 1
                if left < 2 * size + first:
                    put(s.vals, v, get(s.vals, right))
                elif right > 2 * size + last:
                    put(s.vals, v, get(s.vals, left))
                else:
                    put(s.vals, v, combine(get(s.vals, left), get(s.vals, right)))
            size, width, W = size // 2, width * 2, {i >> 1 for i in W}  # lines 7-9
