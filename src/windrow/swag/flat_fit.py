"""FlatFIT: a table of jumps over rows already aggregated.

Paper 5 §3, Alg. 1. Partials[i] is the aggregate of the rows from i to just before Pointers[i]; a query follows the
pointers from its first row and leaves each row that it visits pointing at the end.

What differs from the print:
- Errata: lines 38 and 43 put the newer aggregate on the left; here the older one is there. Line 42 pops from an empty
  stack where one index was visited; here that index's partial is the answer. The period is n+1 slides, and the "n-1"
  by which §4.1 divides should be that: 3(n-1) combines in n+1 slides, a little below 3.
- §4.1's n-1 combines for all ranges 1..n: lines 42-43 leave a query's own start index as it was, though §4.1 says that
  "all indices" are updated. The claim holds for Alg. 1 as printed if the queries go from the longest range to the
  shortest: then each index is combined once, either as an index passed by a longer query (and is up to date when its
  own turn comes) or as a start. From the shortest to the longest, an index can be combined as a start and then again by
  each longer query that passes it. So `query_many` sorts its ranges.
- Positions are counted on for ever, the arrays are rings of them: then a pointer never leads past the window's end (the
  end only moves on), an evicted index is never reached (pointers lead forward), and the window may be of any size.
- The stack Positions lies in Pointers: on its way forward a query turns the pointers round, on its way back it sets
  them to the end. That is 2n space in all cases, not only for one range (§4.2: up to 2.5n).
- §3.1 says that partials in the window can be updated. Partials holds most rows only as part of aggregates, so that
  needs the rows themselves: `FlatFIT(aggregate, updates=True)` keeps them in a third array, 3n in all. Non-FIFO windows
  (§3.1: rows that come and go out of step) overflow a ring of fixed size; here they do not.
- wReset (§3.3) is not due at a fixed period with windows of changing size. `fresh` says from which index on no pointer
  has ever been moved: a query that starts there visits every row, and needs neither pointers nor stack.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from windrow.engine import snapshot
from windrow.engine.algorithm import Region, Regions, drop_from_ring
from windrow.engine.columns import Store
from windrow.engine.kernel import cached, whole
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag

#: rows at positions F..E; E is Alg. 1's currInd. vals: Partials; links: Pointers, then `fresh`
Registers = namedtuple("Registers", "F E")


def traverse(m: Monoid) -> Callable:
    """`answer(s, start, E)`: lines 30-44 for one query, as long as there is a row."""
    combine, get, put, get_link, put_link = m.combine, m.get, m.put, m.get_link, m.put_link

    @m.jit
    def answer(s, start, E):
        mask = s.mask
        i = E - 1
        a = get(s.vals, i & mask)
        if start >= get_link(s.links, mask + 1):  # wReset, §3.3
            while i > start:
                i -= 1
                a = combine(get(s.vals, i & mask), a)
                if i > start:
                    put(s.vals, i & mask, a)
                    put_link(s.links, i & mask, E)
            if start < E - 2:
                put_link(s.links, mask + 1, E - 1)
        else:
            before = start
            i = start
            following = get_link(s.links, i & mask)
            second = following
            while following != E:  # lines 30-34; "push" is to turn the pointer round
                put_link(s.links, i & mask, before)
                before = i
                i = following
                following = get_link(s.links, i & mask)
            a = get(s.vals, i & mask)  # line 35
            if i != start and before != start and before >= get_link(s.links, mask + 1):
                put_link(s.links, mask + 1, before + 1)
            while i != start:  # lines 36-43
                i = before
                a = combine(get(s.vals, i & mask), a)
                if i != start:
                    before = get_link(s.links, i & mask)
                    put(s.vals, i & mask, a)  # line 39
                    put_link(s.links, i & mask, E)  # line 40
                else:
                    put_link(s.links, i & mask, second)
        return a

    return answer


#: of a row that goes; of one that goes and that the pointer of a row that stays leads to, perhaps over others
GOES, PASSED = -1, -2


def fusing(m: Monoid) -> Callable:
    """`fuse(s, r, places, first, count) -> r`: rows that no query begins with any more become one with those before.

    places[first + j] is the new place of the j-th oldest row among the `count` rows that stay, or GOES. A pointer to a
    row that goes is moved on to where that row's own pointer leads, for one combine. From the newest row to the oldest
    that happens once for each row at most, since pointers lead forward.
    """
    combine, get, put, get_link, put_link = m.combine, m.get, m.put, m.get_link, m.put_link

    @m.jit
    def fuse(s, r, places, first, count):
        F, E, mask, first, end = r.F, r.E, s.mask, first - r.F, r.F + count
        for i in range(F, E):
            following = get_link(s.links, i & mask)
            if places[first + i] != GOES and following < E and places[first + following] == GOES:
                places[first + following] = PASSED
        for i in range(E - 1, F - 1, -1):
            following = get_link(s.links, i & mask)
            if places[first + i] != GOES and following < E and places[first + following] == PASSED:
                put(s.vals, i & mask, combine(get(s.vals, i & mask), get(s.vals, following & mask)))
                put_link(s.links, i & mask, get_link(s.links, following & mask))
        for i in range(F, E):
            place = places[first + i]
            if place >= 0:
                following = get_link(s.links, i & mask)
                put(s.vals, (F + place) & mask, get(s.vals, i & mask))
                put_link(s.links, (F + place) & mask, F + places[first + following] if following < E else end)
        put_link(s.links, mask + 1, max(end - 1, 0))
        return Registers(F, end)

    return fuse


def make_kernel(m: Monoid, updates: bool) -> Kernel:
    put, put_link = m.put, m.put_link
    answer = traverse(m)

    @m.jit
    def clear(s):
        put_link(s.links, s.mask + 1, 0)
        return Registers(0, 0)

    @m.jit
    def insert(s, r, v):
        put(s.vals, r.E & s.mask, v)  # line 22
        if updates:
            put(s.aggs, r.E & s.mask, v)
        put_link(s.links, r.E & s.mask, r.E + 1)  # line 23
        return Registers(r.F, r.E + 1)

    @m.jit
    def evict(s, r):
        return Registers(r.F + 1, r.E)

    @m.jit
    def query(s, r):
        return answer(s, r.F, r.E)

    @m.jit
    def size(r):
        return r.E - r.F

    return Kernel(clear, insert, evict, query, size)


def kernel(m: Monoid) -> Kernel:
    return make_kernel(m, updates=False)


def updates_kernel(m: Monoid) -> Kernel:
    return make_kernel(m, updates=True)


def layout(capacity: int) -> tuple[int, int, int]:
    return capacity, 0, capacity + 1


def updates_layout(capacity: int) -> tuple[int, int, int]:
    return capacity, capacity, capacity + 1


def regions(r: Registers, capacity: int) -> Regions:
    """A ring of partials (and one of rows), a ring of pointers, and `fresh`."""
    entries = Region(0, capacity - 1, r.F, r.E)
    return [entries], [entries], [entries, Region(capacity, 0, 0, 1)]


def drop(s: Store, before: Registers, after: Registers) -> None:
    """Lets go of the oldest rows and their pointers."""
    drop_from_ring(s, before, after)
    s.links.forget_below(before.F, after.F)


def fits(r: Any, links: Any, capacity: int) -> bool:
    """Pointers lead forward to a row or to the end; from `fresh` on, which no row was moved behind, to the next row."""
    F, E = r
    if not 0 <= F <= E <= F + capacity or not 0 <= links[capacity] <= max(E - 1, 0):
        return False
    at = np.arange(F, E)
    pointers = np.asarray(links, np.int64)[at & (capacity - 1)]
    moved = at < links[capacity]
    return bool(((at < pointers) & (pointers <= E) & (moved | (pointers == at + 1))).all())


ALGORITHM = Algorithm(
    name="flat_fit",
    kernel=kernel,
    registers=Registers,
    layout=layout,
    card=Card(
        order="FIFO",
        requires="associative",
        time="insert and evict none, query amortised O(1), worst O(n)",
        space="n, and n pointers",
        paper="5 §3",
        note="many ranges of one stream share their work",
        insert=0,
        evict=0,
        query=3,  # of one range, with each slide
        amortised=("query",),
    ),
    regions=regions,
    drop=drop,
    fits=fits,
)


UPDATES = replace(
    ALGORITHM,
    name="flat_fit_updates",
    kernel=updates_kernel,
    layout=updates_layout,
    card=replace(ALGORITHM.card, order="FIFO; any row can be rewritten", space="2n, and n pointers"),
)


def combines(ranges: Iterable[int]) -> float:
    """How many combines FlatFIT takes per row, where windows of the last k rows are asked with each row, for all k.

    It is counted, without any partials, because there is no formula: 3 for one range and n - 1 for all of them, but
    ranges that lie far apart do not help each other, and can take more than one algorithm for each would.

    >>> combines([5]), combines([1, 2, 3, 4]), combines([1000, 1010]) < 4, combines([100, 10_000]) > 8
    (2.0, 3.0, True, True)
    """
    wanted = np.array(sorted(set(ranges), reverse=True), np.int64)
    rows, size = PERIODS * (int(wanted[0]) + 1), 1 << int(wanted[0]).bit_length()
    if rows <= FEW_ROWS:
        return _combines.py_func(wanted.tolist(), [0] * size, rows) / rows
    return _combines(wanted, np.zeros(size, np.int64), rows) / rows


#: windows of the longest range, one behind the other, that `combines` goes through
PERIODS = 64
#: so many rows are counted in plain Python, over lists, before the counting would be compiled
FEW_ROWS = 100_000


@cached
@whole("numpy")
def _combines(ranges, pointers, rows):
    """Alg. 1 with pointers alone."""
    mask, count = len(pointers) - 1, 0
    for E in range(1, rows + ranges[0] + 1):
        pointers[(E - 1) & mask] = E
        for k in ranges:
            i = pointers[max(0, E - k) & mask]
            while i != E:
                count += ranges[0] < E
                following = pointers[i & mask]
                if following != E:
                    pointers[i & mask] = E
                i = following
    return count


_combines.per_entry *= PERIODS  # it goes through its array so many times


class FlatFIT(Swag):
    """3 combines per slide for one range, n - 1 for all n ranges at once.

    >>> from windrow import agg
    >>> w = FlatFIT(agg.concat())
    >>> w.insert_many("abcde")
    >>> w.query(), w.query_range(2), w.query_many([1, 3])
    ('abcde', 'de', ['e', 'cde'])

    `FlatFIT(aggregate, updates=True)` keeps the rows, too, so that they can be rewritten:

    >>> w = FlatFIT(agg.concat(), updates=True)
    >>> w.insert_many("abcde")
    >>> w.update({2: "B"}); w.query()
    'aBcde'
    """

    algorithm = ALGORITHM
    rows_kept_by = "FlatFIT(aggregate, updates=True)"

    def __new__(cls, aggregate: Any = None, *, updates: bool = False, capacity: int = 16) -> FlatFIT:
        return super().__new__(UpdatableFlatFIT if updates else cls)

    def __init__(self, aggregate: Any, *, updates: bool = False, capacity: int = 16) -> None:
        super().__init__(aggregate, capacity=capacity)

    @classmethod
    def resume(cls, aggregate: Any, data: bytes, *, key: bytes | None = None) -> Any:
        """A window that goes on from a snapshot of the same aggregate; `SnapshotError` otherwise."""
        content = snapshot.opened(data, key)
        updates = isinstance(content, tuple) and content[:1] == (UPDATES.name,)
        return super(FlatFIT, UpdatableFlatFIT if updates else cls).resume(aggregate, data, key=key)

    def query_range(self, rows: int) -> Any:
        """The aggregate of the newest `rows` rows."""
        return self.query_many([rows])[0]

    def query_many(self, ranges: Iterable[int]) -> list:
        """The aggregates of the newest k rows for each k of `ranges`, in their order."""
        wanted = list(ranges)
        for k in wanted:
            if not 1 <= k <= len(self):
                raise IndexError(f"the newest {k} of {len(self)} rows")
        self._become(None)
        answer = traverse(self.form)

        def answers(s, r):
            return {k: answer(s, r.E - k, r.E) for k in sorted(set(wanted), reverse=True)}

        found = self._step(answers)
        return [self._answer(found[k]) for k in wanted]

    def check_invariants(self) -> None:
        """Pointers lead forward to a row or to the end, the newest to the end; from `fresh` on, to the next row."""
        F, E = self.r
        assert 0 <= E - F <= self.capacity
        pointers = {i: int(self.s.links[i & self.s.mask]) for i in range(F, E)}
        fresh = int(self.s.links[self.capacity])
        assert fresh <= max(E - 1, 0), (fresh, E)
        for i, pointer in pointers.items():
            assert i < pointer <= E, (i, pointer, E)
            assert i < fresh or pointer == i + 1, (i, pointer, fresh)
        assert E == F or pointers[E - 1] == E


class UpdatableFlatFIT(FlatFIT):
    """FlatFIT with its rows beside it, any of which can be rewritten: §3.1, "Arrival Order Assumptions"."""

    algorithm = UPDATES
    rows_kept_by = ""

    def update(self, changes: Mapping[int, Any] | Iterable[tuple[int, Any]]) -> None:
        """Rewrites the rows at these locations, 1 the oldest. No combine; the next query makes up for it.

        Each row that jumps over one of them points at the next row again: that is looked at row by row.
        """
        pairs = list(changes.items()) if isinstance(changes, Mapping) else list(changes)
        new: dict[int, Any] = {}
        for location, value in pairs:
            if not 1 <= location <= len(self):
                raise IndexError(f"location {location} of {len(self)} rows")
            position = self.r.F + location - 1
            if position in new:
                raise ValueError(f"location {location} is given twice")
            new[position] = self._lift(value if isinstance(value, tuple) else (value,))
        if new:
            self._step(self._rewrite, new)

    def _oldest_first(self) -> Iterator[Any]:
        get, s = self.form.get, self.s
        return (get(s.aggs, i & s.mask) for i in range(self.r.F, self.r.E))

    def _rewrite(self, s: Store, r: Registers, new: dict[int, Any]) -> None:
        get, put, put_link, mask = self.form.get, self.form.put, self.form.put_link, s.mask
        for position, partial in new.items():
            put(s.aggs, position & mask, partial)
        for before, position in pairwise([r.F - 1, *sorted(new)]):
            for i in range(before + 1, position + 1):
                if s.links[i & mask] > position:
                    put(s.vals, i & mask, get(s.aggs, i & mask))
                    put_link(s.links, i & mask, i + 1)
