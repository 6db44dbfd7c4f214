"""Rows out of order, where rows (not slices) are kept: the two arrangements of paper 2 §9, "Non-FIFO Windows".

`Disordered`: what is younger than the latency bound lies in a balanced tree by time, what is older in DABA. A row that
reaches the bound leaves the tree and enters DABA, in order by then. So most of a long window costs DABA's constant.

`Sources`: rows of independent sources are in order within each, however far the sources drift apart. Each has a DABA
of its own; a FlatFAT over the sources' aggregates gives the whole. The order between sources is lost, so the aggregate
must be commutative.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine import snapshot
from windrow.errors import SnapshotError, Unsupported, WindrowError
from windrow.sharing.chain import take
from windrow.swag.daba import DABA
from windrow.swag.fiba import FiBA
from windrow.swag.flat_fat import FlatFAT


class Disordered:
    """A window by time whose rows may come late by up to `lateness`; any associative aggregate.

    >>> from windrow import agg
    >>> w = Disordered(agg.concat(), lateness=5)
    >>> for time, letter in ((1, "a"), (4, "c"), (2, "b"), (9, "e"), (5, "d")): w.insert(time, letter)
    True
    True
    True
    True
    True
    >>> w.query(), len(w.old), len(w.young), w.insert(3, "late"), w.late
    ('abcde', 2, 3, False, 1)
    >>> w.evict_before(4); w.query()
    2
    'cde'
    """

    def __init__(self, aggregate: Aggregate, lateness: Any) -> None:
        if lateness < lateness * 0:
            raise WindrowError(f"lateness is 0 or more, not {lateness}")
        self.lateness = lateness
        self.young = FiBA(aggregate)
        self.old = DABA(aggregate)
        self.times: deque = deque()  # of the old rows
        self.newest: Any = None
        self.gone: Any = None  # rows before this were evicted
        self.late = 0

    def insert(self, time: Any, *row: Any) -> bool:
        """Adds a row; False, and counted, where it comes later than `lateness`. One exactly at the bound is in time.

        A row before what `evict_before` has dropped is in no window: it is taken, and nothing is kept of it.
        """
        if self.newest is not None and time < self.newest - self.lateness:
            self.late += 1
            return False
        newest = time if self.newest is None else max(self.newest, time)
        if self.gone is None or not time < self.gone:
            bound = newest - self.lateness
            if len(self.young) and self.young.oldest < bound:
                self._insert_and_move(time, row, bound)
            else:
                self.young.insert(*row, time=time)
        self.newest = newest
        return True

    def evict_before(self, time: Any) -> int:
        """Drops the rows before `time`; how many there were."""
        count = 0
        while self.times and self.times[0] < time:
            self.old.evict()
            self.times.popleft()
            count += 1
        self.gone = time if self.gone is None else max(self.gone, time)
        return count + self.young.evict_to(time)

    def query(self) -> Any:
        """The aggregate of all rows, in order of time; rows of one time in the order in which they came."""
        total = self.young._query()
        if len(self.old):
            older = self.old._query()
            total = self.old.form.combine(older, total) if len(self.young) else older
        return self.old._answer(total)

    def __len__(self) -> int:
        return len(self.old) + len(self.young)

    def check_invariants(self) -> None:
        """Both parts' own; old rows are in order and beyond the bound, young ones within it."""
        self.old.check_invariants()
        self.young.check_invariants()
        assert len(self.old) == len(self.times) and list(self.times) == sorted(self.times)
        if self.newest is not None:
            bound = self.newest - self.lateness
            assert not self.times or self.times[-1] < bound
            assert not len(self.young) or not self.young.oldest < bound

    def snapshot(self) -> bytes:
        """The whole state; `resume` goes on from there."""
        state = self.lateness, list(self.times), self.newest, self.gone, self.late
        return snapshot.sealed(("disordered", *state, self.young.snapshot(), self.old.snapshot()))

    @classmethod
    def resume(cls, aggregate: Aggregate, data: bytes) -> Disordered:
        """Goes on from a snapshot of the same aggregate; `SnapshotError` otherwise."""
        what, *state = snapshot.opened(data)
        if what != "disordered":
            raise SnapshotError("this is no snapshot of a disordered window")
        lateness, times, newest, gone, late, young, old = state
        w = cls(aggregate, lateness)
        w.times, w.newest, w.gone, w.late = deque(times), newest, gone, late
        w.young, w.old = FiBA.resume(aggregate, young), DABA.resume(aggregate, old)
        return w

    def _insert_and_move(self, time: Any, row: tuple, bound: Any) -> None:
        """The row into the tree, and what lies before the bound from there to DABA; neither, should a combine raise."""
        young, tree = self.young, self.young.s
        if young._sample is not None:
            young._try_laws(row)
        partial = young._lift(row)
        moved = []

        def change() -> None:
            tree.absorb([(time, partial)])
            while tree.left.times[0] < bound:  # the new row is not, so one is left
                moved.append(tree.left.times[0])
                take(self.old, tree.left.rows[0])
                tree.evict_oldest()

        with self.old._all_or_nothing():
            tree.edit(change)
        young._counted()
        self.times += moved


class Sources:
    """One window over several sources, each in order in itself; commutative aggregates.

    >>> from windrow import agg
    >>> w = Sources(agg.max())
    >>> w.insert("a", 3, time=1); w.insert("b", 5, time=900); w.insert("a", 4, time=2)
    >>> w.query(), w.evict_before(100), w.query()
    (5, 2, 5)
    """

    def __init__(self, aggregate: Aggregate) -> None:
        if not aggregate.commutative:
            raise Unsupported(
                f"{aggregate.name} is not commutative, and the order of rows from different sources is not known; "
                "Disordered keeps them in order of time"
            )
        self.of = aggregate
        self.parts: dict[Any, DABA] = {}
        self.times: dict[Any, deque] = {}
        self.places: dict[Any, int] = {}  # of each source's leaf
        self.tree = FlatFAT(aggregate)
        self.changed: set = set()  # sources whose leaf waits for the next query

    def insert(self, source: Any, *row: Any, time: Any = None) -> None:
        """The newest row of a source; with times, none before the source's last."""
        times = self.times.get(source, ())
        if times and (time is None) != (times[-1] is None):
            raise WindrowError(f"source {source!r}: rows come with times, or without, not one so and one so")
        if times and time is not None and time < times[-1]:
            raise WindrowError(f"source {source!r}: time goes back from {times[-1]} to {time}")
        if source not in self.parts:
            part = DABA(self.of)
            part.insert(*row)
            self.parts[source], self.times[source] = part, deque()
        else:
            self.parts[source].insert(*row)
        self.times[source].append(time)
        self.changed.add(source)

    def evict(self, source: Any) -> None:
        """Drops the oldest row of a source; IndexError where there is none."""
        if source not in self.parts:
            raise IndexError(f"evict from source {source!r}, which has no rows")
        self.parts[source].evict()
        self.times[source].popleft()
        self.changed.add(source)

    def evict_before(self, time: Any) -> int:
        """Drops the rows before `time` of all sources; how many there were."""
        count = 0
        for source, times in self.times.items():
            while times and times[0] is not None and times[0] < time:
                self.evict(source)
                count += 1
        return count

    def query(self) -> Any:
        """All sources together: the changed ones' paths in the tree, then its root."""
        changes = {}
        for source in self.changed:
            part = self.parts[source]
            changes[source] = part._query() if len(part) else part.form.identity
        known = {self.places[source]: partial for source, partial in changes.items() if source in self.places}
        if known:
            self.tree._step(self.tree._rewrite, known)
        for source, partial in changes.items():
            if source not in self.places:
                take(self.tree, partial)
                self.places[source] = len(self.places)
            self.changed.discard(source)
        return self.tree.query()

    def snapshot(self) -> bytes:
        """The whole state; `resume` goes on from there. Sources are known by plain values."""
        parts = [(source, list(self.times[source]), part.snapshot()) for source, part in self.parts.items()]
        return snapshot.sealed(("sources", parts, list(self.places.items()), list(self.changed), self.tree.snapshot()))

    @classmethod
    def resume(cls, aggregate: Aggregate, data: bytes) -> Sources:
        """Goes on from a snapshot of the same aggregate; `SnapshotError` otherwise."""
        what, *state = snapshot.opened(data)
        if what != "sources":
            raise SnapshotError("this is no snapshot of a window over sources")
        parts, places, changed, tree = state
        w = cls(aggregate)
        for source, times, part in parts:
            w.parts[source], w.times[source] = DABA.resume(aggregate, part), deque(times)
        w.places, w.changed, w.tree = dict(places), set(changed), FlatFAT.resume(aggregate, tree)
        return w

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))

    def check_invariants(self) -> None:
        """All parts' own, the tree's, and each leaf is its source's aggregate, but for those that wait."""
        self.tree.check_invariants()
        for source, part in self.parts.items():
            part.check_invariants()
            assert len(part) == len(self.times[source])
            if source not in self.changed:
                leaf = self.tree.s.vals[self.tree.capacity + self.places[source]]
                self.tree._expect(leaf, part._query() if len(part) else None, f"source {source!r}")
