"""Steps of a window by row (trailing, policy) whose rows are in a store.

Memory holds O(log n) pages of each tree, and the rows of the newest time where those are no part of the windows of
later rows of the same time. How many rows are gone is told by a `Clock`, or by a tree of what the policy sees.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from windrow.aggregates import join
from windrow.aggregates.base import Aggregate
from windrow.engine.grouping import segments
from windrow.engine.inputs import Column
from windrow.engine.row_views import numbers, row_maker
from windrow.sharing import passes
from windrow.sharing.groups import Answer
from windrow.sharing.lane import Found
from windrow.sharing.rowwise import RowLane, some_rows
from windrow.sharing.shelf import CLOCK, Shelf, answered, part_of
from windrow.sharing.slices import Rows, lowest
from windrow.swag import mta_batch, mta_ranges
from windrow.windows.base import ROWS
from windrow.windows.kinds import Policy, Trailing


class StoredRowLane(RowLane):
    """One window by row."""

    def __init__(self, shelf: Shelf, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.shelf = shelf
        ((self.name, self.window),) = self.windows.items()
        self.compiles = True  # the policy, as long as the compiler has not said no

    def aggregate(self, part: str) -> Aggregate:
        """What a part of the shelf is a tree of."""
        if part != CLOCK:
            return self.arrangement.groups[int(part)].of
        return _over(self.window) if isinstance(self.window, Policy) else mta_ranges.Clock.aggregate

    def step(
        self, rows: Rows, size: int, until: int, closing: bool = False, keep: bool = True
    ) -> tuple[dict[str, dict[str, Answer]], list[Found]]:
        self.keys.grow(size, self.dtypes)
        items, fresh = self._items(rows, size)  # those that are kept are the rows of the newest time
        seg = segments(items.key, size)
        work = np.flatnonzero(seg[1:] > fresh).tolist()
        waits = {k: self._waiting(items, seg, k) for k in work}
        ranges = {k: self._ranges(items, seg, int(fresh[k]), k, waits[k]) for k in work}
        found: dict[str, Answer] = {}
        for g, group in enumerate(self.arrangement.groups):
            columns = tuple(items.columns[column] for column in group.columns)
            cuts, none = np.arange(len(items) + 1), np.empty(0, np.int64)
            slots, prefixes = passes.fold(group, columns, none, None, cuts, none)
            out, valid = group.room(len(rows))
            begin = 0
            for k in work:
                lo, hi = ranges[k]
                count = len(lo) - 1
                own = part_of(slots, int(seg[k]), int(seg[k + 1]))
                tail = np.full(len(lo), -1)
                try:
                    given, there = answered(self.shelf, group, str(g), k, own, lo, hi, tail, prefixes, begin)
                except passes.Failed as failed:
                    raise _named(failed, begin, lo, hi) from failed.__cause__
                for whole, mine in ((out, given), (valid, there)):
                    for column, part in zip(whole, mine, strict=True):
                        column[begin : begin + count] = part[:count]
                begin += count
            found.update(group.answers(out, valid))
        self._count(rows, size)
        self.until = until
        last = np.zeros(len(items), bool)
        for k in work if keep and not closing else ():
            last[seg[k + 1] - waits[k] : seg[k + 1]] = True
        for k in np.flatnonzero((seg[1:] == fresh) & (np.diff(seg) > 0)).tolist() if keep and not closing else ():
            last[seg[k] : seg[k + 1]] = True  # no new rows of this key: what waits goes on waiting
        self.rows = some_rows(items, np.flatnonzero(last)) if last.any() else None
        return {self.name: self.arrangement.finished(found)}, []

    def _waiting(self, items: Rows, seg: np.ndarray, k: int) -> int:
        """How many of a key's last rows may be no part of the next row's window: those of one time, closed left."""
        window = self.window
        if not isinstance(window, Trailing) or window.measure == ROWS or window.closed in ("right", "both"):
            return 0
        measure = items.measures[window.measure][seg[k] : seg[k + 1]]
        return len(measure) - int(np.searchsorted(measure, measure[-1]))

    def _ranges(self, items: Rows, seg: np.ndarray, fresh: int, k: int, waits: int) -> tuple[np.ndarray, np.ndarray]:
        """The windows of a key's new rows, 0 being the first row that is not in the trees yet; then what stays."""
        window, a, z = self.window, int(seg[k]), int(seg[k + 1])
        new = np.arange(fresh - a, z - a)
        if isinstance(window, Policy):
            lo, hi = self._by_policy(items, k, a, z), new + 1
        else:
            assert isinstance(window, Trailing)
            right, left = window.closed in ("right", "both"), window.closed in ("left", "both")
            if window.measure == ROWS:
                hi = new + right
                lo = np.maximum(new - window.range + (not left), self._gone(k))
            else:
                measure = items.measures[window.measure][a:z]
                now = measure[fresh - a :]
                hi = np.searchsorted(measure, now, "right" if right else "left")
                lo = self._by_clock(k, measure[: len(measure) - waits], now, window.range, not left)
        lo = np.minimum(lo, hi)
        return np.append(lo, lo[-1]), np.append(hi, z - a - waits)

    def _gone(self, k: int) -> int:
        """The first row that is in the trees, as a number below 0."""
        return -len(self.shelf.tree(k, "0", self.arrangement.groups[0].of))

    def _by_clock(self, k: int, comes: np.ndarray, now: np.ndarray, span: Any, inclusive: bool) -> np.ndarray:
        clock = mta_ranges.Clock(self.shelf.tree(k, CLOCK, mta_ranges.Clock.aggregate))
        before = clock.window.inserted
        clock.insert(comes)
        bottom = lowest(now.dtype)
        if now.dtype == np.int64:
            span = min(int(span), np.iinfo(np.int64).max)
        number = now.dtype.type
        reaches = now >= number(bottom) + number(span)  # else it reaches back beyond every number
        lo = np.full(len(now), -len(clock.window) + len(comes))
        if reaches.any():
            lo[reaches] = clock.passed(now[reaches] - number(span), inclusive) - before
        return lo

    def _by_policy(self, items: Rows, k: int, a: int, z: int) -> np.ndarray:
        window = self.window
        assert isinstance(window, Policy)
        over = _over(window)
        tree = self.shelf.tree(k, CLOCK, over)
        columns = tuple(_plain(items.columns[name], a, z) for name in over.columns)
        if not columns:  # aggregates that count rows still want a column
            columns = (Column(np.zeros(z - a, bool), None, np.dtype(bool)),)
        fields, evict = tuple(name for name, _ in window.over), window.evict
        make = row_maker(fields)
        compiles = self.compiles and isinstance(evict, FunctionType) and hasattr(over.empty, "_fields")

        def policy(total: Any, old: Any) -> bool:
            return bool(evict(make(total), make(old)))

        sizes, self.compiles = mta_batch.sized_by_policy(tree, columns, evict, policy, compiles)
        return np.arange(1, z - a + 1) - sizes


def _over(window: Policy) -> Aggregate:
    """The aggregates that a policy sees, as one."""
    over = dict(window.over)
    try:
        return join(**over)
    except ValueError:  # names that no field of a tuple may have
        return join(*over.values())


def _plain(column: Column, a: int, z: int) -> Column:
    """Some of a column, times as microseconds."""
    mask = None if column.mask is None else column.mask[a:z]
    some = Column(column.values[a:z], mask, column.dtype)
    values = numbers(some)
    return Column(values, mask, column.dtype if column.dtype.kind not in "mM" else values.dtype)


def _named(failed: passes.Failed, begin: int, lo: np.ndarray, hi: np.ndarray) -> Exception:
    """The error that an aggregate raised, with the window in which it did."""
    error, i = failed.__cause__, failed.at - begin
    assert error is not None
    where = f"the window of row {failed.at}: {hi[i] - lo[i]} rows"
    if isinstance(error, OverflowError):
        return OverflowError(f"{error} ({where})")
    error.add_note(f"in {where}")
    return error  # type: ignore[return-value]
