"""A few window sizes over one stream: a young DABA hands what it evicts to an old one (paper 2 §9, "Sharing").

For a window of one day and one of two days: new rows go into `young`; a row that is a day old is evicted there and
inserted into `old`. The longer window is old ⊕ young. Each row is kept once, and each size costs a DABA's constant
number of combines a row, whatever the sizes are; n sizes that were kept apart would keep each row n times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine import snapshot
from windrow.engine.columns import read
from windrow.errors import SnapshotError, WindrowError
from windrow.sharing.undo import Undo
from windrow.swag.base import Swag
from windrow.swag.daba import DABA


def take(part: Swag, partial: Any) -> None:
    """Inserts a partial instead of a row."""
    if len(part) == part.capacity:
        part._grow(2 * part.capacity)
    part.r = part._step(part.k.insert, partial)


def give(part: DABA) -> Any:
    """Evicts the oldest row: its partial."""
    oldest = read(part.s.vals, part.r.F & part.s.mask)
    part.evict()
    return oldest


class Chain:
    """The newest n rows for each n of `sizes`, or the rows of the last d for each duration d.

    >>> from windrow import agg
    >>> chain = Chain(agg.concat(), [2, 5])
    >>> for letter in "abcdefg": chain.insert(letter)
    >>> chain.query(2), chain.query(5), chain.answers()
    ('fg', 'cdefg', {2: 'fg', 5: 'cdefg'})

    Args:
        sizes: numbers of rows; with `timed`, lengths of time: a row at time t is in the window of size d at time now as
            long as now - t < d.
        timed: rows come with times, which never go back.
    """

    def __init__(self, aggregate: Aggregate, sizes: Iterable[Any], *, timed: bool = False) -> None:
        self.sizes = sorted(set(sizes))
        if not self.sizes or not self.sizes[0] > self.sizes[0] * 0:
            raise WindrowError(f"sizes are one or more numbers above 0, not {self.sizes}")
        self.timed = timed
        self.parts = [DABA(aggregate) for _ in self.sizes]  # the youngest first
        self.times: list[deque] = [deque() for _ in self.sizes if timed]
        self.now: Any = None

    def insert(self, *row: Any, time: Any = None) -> None:
        """The newest row; older ones move on, those beyond the largest size go."""
        if self.timed != (time is not None):
            raise WindrowError("rows come with times where sizes are lengths of time (timed=True), else without")
        with self._moving(time) as undo:
            self.parts[0].insert(*row)
            if self.timed:
                self._append(0, time, undo)

    def advance(self, time: Any) -> None:
        """Time has come to `time`, without a row."""
        if not self.timed:
            raise WindrowError("these sizes are numbers of rows; time changes nothing (timed=True: lengths of time)")
        with self._moving(time):
            pass

    def query(self, size: Any) -> Any:
        """The aggregate of the window of this size: one combine more for each smaller size."""
        if size not in self.sizes:
            raise WindrowError(f"the sizes are {', '.join(map(str, self.sizes))}, not {size}")
        return self._answers(self.sizes.index(size) + 1)[-1]

    def answers(self) -> dict[Any, Any]:
        """All sizes at once: one combine for each but the smallest."""
        return dict(zip(self.sizes, self._answers(len(self.sizes)), strict=True))

    def __len__(self) -> int:
        """How many rows are kept: those of the largest window, once."""
        return sum(map(len, self.parts))

    def check_invariants(self) -> None:
        """Each part's own, and its rows are of the ages between two sizes."""
        before, rest = 0, len(self)
        for k, (size, part) in enumerate(zip(self.sizes, self.parts, strict=True)):
            part.check_invariants()
            rest -= len(part)
            if self.timed:
                ages = [self.now - time for time in self.times[k]]
                assert len(ages) == len(part) and all(age < size for age in ages)
                assert not k or all(age >= before for age in ages)
            else:
                assert len(part) <= size - before and (len(part) == size - before or not rest)
            before = size

    def snapshot(self) -> bytes:
        """The whole state; `resume` goes on from there."""
        parts = [part.snapshot() for part in self.parts]
        return snapshot.sealed(
            ("chain", self.sizes, self.timed, self.now, [list(times) for times in self.times], parts)
        )

    @classmethod
    def resume(cls, aggregate: Aggregate, data: bytes) -> Chain:
        """Goes on from a snapshot of the same aggregate; `SnapshotError` otherwise."""
        what, *state = snapshot.opened(data)
        if what != "chain":
            raise SnapshotError("this is no snapshot of a chain")
        sizes, timed, now, times, parts = state
        chain = cls(aggregate, sizes, timed=timed)
        chain.now, chain.times = now, [deque(some) for some in times]
        chain.parts = [DABA.resume(aggregate, part) for part in parts]
        return chain

    # Within.

    @contextmanager
    def _moving(self, time: Any) -> Iterator[Undo]:
        """What happens meanwhile, and then rows move on; nothing of it, should a combine raise."""
        if self.timed and self.now is not None and time < self.now:
            raise WindrowError(f"time goes back from {self.now} to {time}")
        undo = Undo()
        with ExitStack() as stack:
            stack.push(lambda kind, error, trace: undo.rollback() if kind is not None else None)
            for part in self.parts:
                stack.enter_context(part._all_or_nothing())
            undo.set(self, "now", time)
            yield undo
            for k in range(len(self.parts)):
                while self._too_old(k):
                    self._hand_on(k, undo)

    def _too_old(self, k: int) -> bool:
        """Whether the oldest row of part k is none of its size any more."""
        if self.timed:
            return bool(self.times[k]) and self.now - self.times[k][0] >= self.sizes[k]
        return len(self.parts[k]) > self.sizes[k] - (self.sizes[k - 1] if k else 0)

    def _hand_on(self, k: int, undo: Undo) -> None:
        oldest, time = give(self.parts[k]), None
        if self.timed:
            time = self.times[k].popleft()
            undo.later(self.times[k].appendleft, time)
        if k + 1 < len(self.parts):
            take(self.parts[k + 1], oldest)
            if self.timed:
                self._append(k + 1, time, undo)

    def _append(self, k: int, time: Any, undo: Undo) -> None:
        self.times[k].append(time)
        undo.later(self.times[k].pop)

    def _answers(self, count: int) -> list:
        """Of the `count` smallest windows, the smallest first."""
        found: list = []
        total = self.parts[0].form.identity
        for part in self.parts[:count]:
            if len(part):
                own = part._query()
                total = part.form.combine(own, total) if found else own
            found.append(part._answer(total))
        return found
