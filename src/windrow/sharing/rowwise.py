"""One step of the windows over rows: those that report with each row (trailing, policy), and the last n rows.

Where a row's arrival does not tell which windows it will be in, there are no slices to share: rows are kept, and an
algorithm of `windrow.swag` slides over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.engine import edges
from windrow.engine.grouping import order, segments
from windrow.engine.inputs import Column
from windrow.sharing import passes
from windrow.sharing.groups import Answer, Arrangement
from windrow.sharing.lane import Found
from windrow.sharing.slices import Keys, Rows, highest, lowest
from windrow.windows.base import ROWS, TIME, Measure, Window
from windrow.windows.kinds import Last, Policy, Trailing


@dataclass
class RowLane:
    """Windows over rows that are taken in the same order."""

    windows: Mapping[str, Window]
    arrangement: Arrangement
    dtypes: Mapping[Measure, np.dtype]
    algorithms: Mapping[str, str]  # for each window, how it is kept

    def __post_init__(self) -> None:
        self.rows: Rows | None = None
        self.keys = Keys()
        self.until = lowest(np.int64)
        self.counted = any(w.measure == ROWS for w in self.windows.values())

    def columns(self) -> tuple[str, ...]:
        """The columns of the rows that the lane needs."""
        own = (c for w in self.windows.values() if isinstance(w, Policy) for c in w.columns)
        return tuple(dict.fromkeys((*self.arrangement.columns(), *own)))

    def step(
        self, rows: Rows, size: int, until: int, closing: bool = False, keep: bool = True
    ) -> tuple[dict[str, dict[str, Answer]], list[Found]]:
        """Takes in new rows. For each window by row their answers, in their order; and the windows that ended."""
        self.keys.grow(size, self.dtypes)
        new = len(rows)
        items, fresh = self._items(rows, size)
        seg = segments(items.key, size)
        pos = np.arange(len(items), dtype=np.int64) - np.repeat(seg[:-1], np.diff(seg))
        if self.rows is not None and self.counted:
            kept_before = np.diff(seg) - np.bincount(rows.key, minlength=size)
            pos += np.repeat(self.keys.count - kept_before, np.diff(seg))
        measures = {**items.measures, ROWS: pos}
        by_row, ended = {}, []
        since = seg[1:].copy()
        for name, window in self.windows.items():
            if isinstance(window, Last):
                found = edges.last_rows(
                    items.measures[TIME], seg, window.n, window.every, window.origin,
                    np.full(size, self.until), np.full(size, until),
                )  # fmt: skip
                key, lo, hi, start, end = found
                answers = self._between(items, self.algorithms[name], lo, hi)
                ended.append(Found(name, key, start, end, None, answers))
                needed = np.maximum(seg[:-1], seg[1:] - window.n)
            else:
                by_row[name], needed = self._by_row(name, window, items, measures, seg, fresh, new, until)
            np.minimum(since, needed, out=since)
        self._count(rows, size)
        self.until = until
        if keep and not closing:
            stays = np.flatnonzero(np.arange(len(items)) >= np.repeat(since, np.diff(seg)))
            self.rows = some_rows(items, stays)
        else:
            self.rows = None
        return by_row, ended

    def _count(self, rows: Rows, size: int) -> None:
        """Rows and largest values so far, for each key; the arrays that were there are left as they were."""
        self.keys.count = self.keys.count + np.bincount(rows.key, minlength=size)
        for measure in self.keys.newest:
            self.keys.newest[measure] = newest = self.keys.newest[measure].copy()
            np.maximum.at(newest, rows.key, rows.measures[measure])

    def _items(self, rows: Rows, size: int) -> tuple[Rows, np.ndarray]:
        """Kept and new rows by key, the kept ones first; where each key's new ones begin."""
        if self.rows is None or not len(self.rows):
            return rows, segments(rows.key, size)[:-1]
        old = self.rows
        key = np.concatenate([old.key, rows.key])
        both = Rows(
            key,
            {m: np.concatenate([old.measures[m], v]) for m, v in rows.measures.items()},
            {c: old.columns[c].followed_by(v) for c, v in rows.columns.items()},
            {},
            {},
        )
        at = order(key, size, None)
        items = both if at is None else some_rows(both, at)
        seg = segments(items.key, size)
        fresh = seg[:-1] + np.bincount(old.key, minlength=size)
        return items, fresh

    def _by_row(
        self,
        name: str,
        window: Window,
        items: Rows,
        measures: Mapping[Measure, np.ndarray],
        seg: np.ndarray,
        fresh: np.ndarray,
        new: int,
        until: int,
    ) -> tuple[dict[str, Answer], np.ndarray]:
        """The answers for the new rows, and the first row of each key that rows to come may need."""
        if isinstance(window, Policy):
            first = window.first_rows(items.columns, seg, fresh)
            at = np.flatnonzero(np.arange(len(items)) >= np.repeat(fresh, np.diff(seg)))
            lo, hi = first[at], at + 1
            answers = self._between(items, self.algorithms[name], lo, hi)
            needed = seg[:-1].copy()
            touched = seg[1:] > fresh
            needed[touched] = first[seg[1:][touched] - 1]
            return answers, needed
        assert isinstance(window, Trailing)
        measure = measures[window.measure]
        if window.measure == ROWS and window.closed == "right" and new == len(items):
            answers = self._slide(items, self.algorithms[name], window.range)
        else:
            closed = window.closed
            size = measure.dtype.type(window.range)
            lo, hi = edges.trailing(measure, seg, fresh, size, closed in ("left", "both"), closed in ("right", "both"))
            answers = self._between(items, self.algorithms[name], lo, hi)
        return answers, self._needed(window, measure, seg, until)

    def _needed(self, window: Trailing, measure: np.ndarray, seg: np.ndarray, until: int) -> np.ndarray:
        if window.measure == ROWS:
            return np.maximum(seg[:-1], seg[1:] - window.range)
        if window.measure == TIME:
            floor = np.full(
                len(seg) - 1, until if until in (highest(np.int64), lowest(np.int64)) else until - window.range
            )
        else:
            filled = np.diff(seg) > 0
            floor = np.zeros(len(seg) - 1, measure.dtype)
            floor[filled] = measure[seg[1:][filled] - 1] - window.range
        early = np.concatenate([[0], np.cumsum(measure < np.repeat(floor, np.diff(seg)))])
        return seg[:-1] + (early[seg[1:]] - early[seg[:-1]])

    def _between(self, items: Rows, algorithm: str, lo: np.ndarray, hi: np.ndarray) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for group in self.arrangement.groups:
            columns = tuple(items.columns[column] for column in group.columns)
            found.update(passes.between(group, algorithm, columns, lo, hi))
        return self.arrangement.finished(found)

    def _slide(self, items: Rows, algorithm: str, rows: int) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for group in self.arrangement.groups:
            columns = tuple(items.columns[column] for column in group.columns)
            found.update(passes.slide(group, algorithm, columns, items.key, rows))
        return self.arrangement.finished(found)


def some_rows(rows: Rows, at: np.ndarray) -> Rows:
    """Some of the rows."""

    def column(c: Column) -> Column:
        return Column(c.values[at], None if c.mask is None else c.mask[at], c.dtype)

    return Rows(
        rows.key[at],
        {m: v[at] for m, v in rows.measures.items()},
        {n: column(c) for n, c in rows.columns.items()},
        {},
        {},
    )
