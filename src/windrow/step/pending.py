"""What waits for the watermark. Here: rows, in sorted runs, of which neighbours of about the same size are merged.

A row is merged O(log n) times while it waits, and what the watermark has passed is the beginning of each run. Runs are
never changed, so that to take a step back is to keep the old list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from windrow.engine.inputs import Column, all_true, object_array
from windrow.engine.loaded import check_array, require
from windrow.query import Query
from windrow.step.held import Held
from windrow.step.pending_slices import PendingSlices
from windrow.step.plan import Plan
from windrow.step.waiting import KeyIndex, Waiting

#: the kind of each column and its type
Kinds = Mapping[str, tuple[str, np.dtype]]
_NONE = np.empty(0, np.int64)


def folds_late_rows(query: Query) -> bool:
    """Whether rows wait as slices: each tells its slice by itself, their order does not count, and rows may wait.

    Trees in a store take rows.
    """
    places = all(window.late_slices and window.edges.tell_slices for window in query.windows.values())
    # a label is a row's own, so an aggregate that carries one has to know which row came first
    any_order = all(a.commutative and not a.carries_label for a in query.aggregates.values())
    return bool(query.lateness) and query.store is None and places and any_order


def pending_of(query: Query, plan: Plan) -> Pending | PendingSlices:
    """What keeps rows until the watermark has passed them."""
    return PendingSlices(plan) if folds_late_rows(query) else Pending()


@dataclass(frozen=True)
class Run:
    """Rows by time; equal times in the order in which they came."""

    rows: Held
    order: np.ndarray  # the number of each row among all that came
    start: int = 0  # rows before it were released
    index: KeyIndex = field(default_factory=KeyIndex)

    def __len__(self) -> int:
        return len(self.order) - self.start


class Pending:
    """Rows that wait."""

    def __init__(self) -> None:
        self.runs: tuple[Run, ...] = ()
        self.came = 0  # rows so far
        self.passed_numbers = _NONE  # of the rows that `passed` gave last
        self.waiting = Waiting()

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    @property
    def oldest(self) -> int | None:
        """The least time of a row that waits."""
        return min([int(run.rows.times[run.start]) for run in self.runs], default=None)

    def passed(self, rows: Held | None, until: int, inclusive: bool) -> Held | None:
        """Of these rows and those that wait, the ones before a time (or at it), in the order in which they came.

        The others wait. None: there are none.
        """
        found = self.release(until, inclusive) if self.runs else None
        before, self.passed_numbers = (None, _NONE) if found is None else found
        if rows is None:
            return before
        ready, first = rows.times <= until if inclusive else rows.times < until, self.came
        if all_true(ready):
            numbers = np.arange(first, first + rows.rows)
            self.came += rows.rows
        else:
            at = ready.nonzero()[0]
            self.add(rows, None if not len(at) else (~ready).nonzero()[0])
            if not len(at):
                return before
            rows, numbers = rows.at(at), first + at
        self.passed_numbers = numbers if before is None else np.concatenate([self.passed_numbers, numbers])
        return rows if before is None else before.followed_by(rows)

    def add(self, rows: Held, at: np.ndarray | None = None) -> None:
        """Rows in the order in which they come, or some of them. A user may use the arrays of a push again: a copy."""
        order = np.arange(self.came, self.came + rows.rows)
        self.came += rows.rows
        if at is None:
            self._insert(rows.copied(), order)
        else:
            self._insert(rows.at(at), order[at])

    def put_back(self, rows: Held, at: np.ndarray) -> None:
        """Some of the rows that `passed` gave last, with their places among those: they have to wait on."""
        self._insert(rows.at(at), self.passed_numbers[at])
        self.passed_numbers = np.delete(self.passed_numbers, at)

    def _insert(self, rows: Held, order: np.ndarray) -> None:
        if not rows.rows:
            return
        self.waiting.add(rows.codes)
        runs = [*self.runs, _sorted(rows, order)]
        while len(runs) > 1 and len(runs[-2]) <= 2 * len(runs[-1]):
            newer, older = runs.pop(), runs.pop()
            runs.append(_sorted(_rest(older).followed_by(_rest(newer)), _orders(older, newer)))
        self.runs = tuple(runs)

    def release(self, until: int, inclusive: bool) -> tuple[Held, np.ndarray] | None:
        """The rows before a time (or at it), in the order in which they came; None: there are none."""
        out: list[tuple[Held, np.ndarray]] = []
        left: list[Run] = []
        for run in self.runs:
            times = run.rows.times
            end = int(times.searchsorted(until, "right" if inclusive else "left"))
            if end > run.start:
                out.append((_part(run.rows, run.start, end), run.order[run.start : end]))
                self.waiting.add(out[-1][0].codes, -1)
            if max(end, run.start) < len(times):
                left.append(run if end <= run.start else replace(run, start=end))
        if not out:
            return None
        self.runs = tuple(left)
        return _as_they_came(out)

    def of_keys(self, keys: np.ndarray) -> tuple[Held, np.ndarray] | None:
        """The rows of some keys that wait, in the order in which they came, and their numbers; None: there are none."""
        parts = []
        for run in self.runs:
            at = run.index.find(run.rows.codes, keys)
            at = at[at >= run.start]
            if len(at):
                parts.append((run.rows.at(at), run.order[at]))
        return _as_they_came(parts) if parts else None

    def all(self) -> Held | None:
        """All rows that wait, in the order in which they came."""
        return _as_they_came([(_rest(run), run.order[run.start :]) for run in self.runs])[0] if self.runs else None

    def due(self) -> np.ndarray:
        """For each row of `all()` the time at which it enters the step."""
        rows = self.all()
        return _NONE if rows is None else rows.times

    # As plain values.

    def plain(self, rows: Held) -> tuple:
        """Rows as plain values."""
        return rows.codes, rows.times, [(name, _plain(column)) for name, column in rows.columns.items()]

    def load(self, values: tuple, keys: np.ndarray, kinds: Kinds) -> None:
        """Takes up what `plain` gave; the numbers in it are places among `keys`, and `kinds` tells the columns."""
        codes, times, columns = values
        check_array(codes, np.int64, None, "rows that wait")
        require((codes >= 0) & (codes < len(keys)), "rows that wait are of no key")
        check_array(times, np.int64, len(codes), "rows that wait")
        found = {name: _column(parts, kinds[name], len(codes)) for name, parts in columns}
        require(found.keys() == kinds.keys(), "rows that wait have other columns")
        self.add(Held(keys[codes], times, {name: found[name] for name in kinds}))

    # A step.

    def before(self) -> tuple:
        """What `rollback` wants to know."""
        return self.runs, self.came

    def commit(self) -> None:
        self.waiting.commit()

    def rollback(self, before: tuple) -> None:
        self.runs, self.came = before
        self.waiting.rollback()


def _as_they_came(parts: list[tuple[Held, np.ndarray]]) -> tuple[Held, np.ndarray]:
    rows, order = parts[0]
    for more, numbers in parts[1:]:
        rows, order = rows.followed_by(more), np.concatenate([order, numbers])
    if len(order) > 1 and (order[1:] < order[:-1]).any():
        at = np.argsort(order, kind="stable")
        rows, order = rows.at(at), order[at]
    return rows, order


def _plain(column: Column) -> tuple:
    values = column.values.tolist() if column.values.dtype == object else column.values
    return values, column.mask, column.dtype.str


def _column(parts: tuple, kind: tuple[str, np.dtype], rows: int) -> Column:
    values, mask, dtype = parts
    if isinstance(values, list):
        require(kind[0] == "object" and len(values) == rows, "rows that wait have other columns")
        values = object_array(values)
    else:
        check_array(values, kind[0], rows, "values of rows that wait")
    if mask is not None:
        check_array(mask, bool, rows, "nulls of rows that wait")
    require(np.dtype(dtype).kind == kind[1].kind, "rows that wait have other columns")
    return Column(values, mask, np.dtype(dtype))


def _sorted(rows: Held, order: np.ndarray) -> Run:
    times = rows.times
    if len(times) < 2 or not (times[1:] < times[:-1]).any():
        return Run(rows, order)
    at = np.argsort(times, kind="stable")
    return Run(rows.at(at), order[at])


def _part(rows: Held, start: int, end: int) -> Held:
    return rows if end - start == rows.rows else rows.at(slice(start, end))


def _rest(run: Run) -> Held:
    return _part(run.rows, run.start, run.rows.rows)


def _orders(older: Run, newer: Run) -> np.ndarray:
    return np.concatenate([older.order[older.start :], newer.order[newer.start :]])
