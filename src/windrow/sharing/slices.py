"""Slices: runs of rows between two cuts, each with one partial. What a query that reports once keeps of its rows.

A step takes the slices that are kept and the rows that are new, cuts them where windows begin, folds each slice, and
answers the windows that have ended from ranges of slices (paper 3, Alg. 1, for whole batches and many keys at once).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.engine.columns import allocate, move, room
from windrow.engine.grouping import order, segments
from windrow.engine.inputs import Column
from windrow.engine.walks import Extent, extent_of
from windrow.windows.base import ROWS, Measure


@dataclass(frozen=True)
class Rows:
    """New rows, sorted by key and in order within each."""

    key: np.ndarray
    measures: Mapping[Measure, np.ndarray]  # time and columns
    columns: Mapping[str, Column]
    begins: Mapping[str, np.ndarray]  # for windows that the rows' content decides: how many begin with a row
    ends: Mapping[str, np.ndarray]  # and how many end before it

    def __len__(self) -> int:
        return len(self.key)


@dataclass
class Slices:
    """The slices that are kept, sorted by key and in order within each."""

    key: np.ndarray
    pos: np.ndarray  # of the first row, among the key's rows
    rows: np.ndarray  # how many
    first: dict[Measure, np.ndarray]
    last: dict[Measure, np.ndarray]
    open: dict[str, np.ndarray]  # for windows by content: how many of those that began here are open
    partials: list[Any]  # slots, one for each group

    def __len__(self) -> int:
        return len(self.key)


@dataclass
class Keys:
    """What is known of each key."""

    count: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # rows so far
    newest: dict[Measure, np.ndarray] = field(default_factory=dict)  # the largest value of a column so far

    def grow(self, size: int, measures: Mapping[Measure, np.dtype]) -> None:
        """Room for more keys."""
        self.count = np.concatenate([self.count, np.zeros(size - len(self.count), np.int64)])
        for measure, dtype in measures.items():
            old = self.newest.get(measure, np.empty(0, dtype))
            self.newest[measure] = np.concatenate([old, np.full(size - len(old), lowest(dtype), dtype)])


@dataclass(frozen=True)
class Items:
    """Kept slices and new rows in one sequence."""

    seg: np.ndarray  # where each key's items begin, and the end
    key: np.ndarray
    source: np.ndarray  # a row's index, or ~ that of a kept slice; empty: item i is row i
    kept: np.ndarray  # which items are kept slices
    pos: np.ndarray
    rows: np.ndarray
    first: dict[Measure, np.ndarray]
    last: dict[Measure, np.ndarray]
    begins: dict[str, np.ndarray]
    ends: dict[str, np.ndarray]
    extents: dict[Measure, Extent] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.key)

    def extent(self, measure: Measure) -> Extent:
        """How far the items reach, found once for all windows."""
        if measure not in self.extents:
            self.extents[measure] = extent_of(self.first[measure], self.seg)
        return self.extents[measure]


def lowest(dtype: Any) -> Any:
    """Before everything."""
    return -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(np.int64).min


def highest(dtype: Any) -> Any:
    """After everything."""
    return np.inf if np.dtype(dtype).kind == "f" else np.iinfo(np.int64).max


def merged(slices: Slices | None, rows: Rows, keys: Keys, along: Measure | None, counted: bool) -> Items:
    """The items of a step.

    Args:
        along: rows may be older than slices, and are sorted in by this measure.
        counted: somebody asks for positions.
    """
    size = len(keys.count)
    seg = segments(rows.key, size)
    pos = np.broadcast_to(np.int64(0), len(rows))
    if counted:
        pos = np.arange(len(rows), dtype=np.int64) - np.repeat(seg[:-1] - keys.count, np.diff(seg))
    measures = {**rows.measures, ROWS: pos}
    if slices is None or not len(slices):
        ones = np.broadcast_to(np.int64(1), len(rows))
        none = np.broadcast_to(np.False_, len(rows))
        empty = np.empty(0, np.int64)
        return Items(seg, rows.key, empty, none, pos, ones, measures, measures, dict(rows.begins), dict(rows.ends))
    n = len(slices)
    key = np.concatenate([slices.key, rows.key])
    first = {m: np.concatenate([_measure(slices.first, slices.pos, m), values]) for m, values in measures.items()}
    last = {
        m: np.concatenate([_measure(slices.last, slices.pos + slices.rows - 1, m), values])
        for m, values in measures.items()
    }
    source = np.concatenate([~np.arange(n, dtype=np.int64), np.arange(len(rows), dtype=np.int64)])
    sizes = np.concatenate([slices.rows, np.ones(len(rows), np.int64)])
    begins = {w: np.concatenate([slices.open[w], values]) for w, values in rows.begins.items()}
    ends = {w: np.concatenate([np.zeros(n, np.int64), values]) for w, values in rows.ends.items()}
    at = order(key, size, None if along is None else first[along])
    if at is None:
        at = np.arange(len(key))
    pick = {"begins": begins, "ends": ends}
    return Items(
        segments(key[at], size), key[at], source[at], source[at] < 0, first[ROWS][at], sizes[at],
        {m: v[at] for m, v in first.items()}, {m: v[at] for m, v in last.items()},
        {w: v[at] for w, v in pick["begins"].items()}, {w: v[at] for w, v in pick["ends"].items()},
    )  # fmt: skip


def _measure(values: Mapping[Measure, np.ndarray], pos: np.ndarray, measure: Measure) -> np.ndarray:
    return pos if measure == ROWS else values[measure]


def kept(
    items: Items, cuts: np.ndarray, since: np.ndarray, left: Mapping[str, np.ndarray], folded: list[Any]
) -> Slices:
    """The slices that begin at or after each key's item `since`."""
    at = np.flatnonzero(cuts[:-1] >= since[items.key[cuts[:-1]]]) if len(items) else np.empty(0, np.int64)
    begin = cuts[at]
    partials = []
    for slots in folded:
        some = allocate(None if isinstance(slots, list) else [c.dtype for c in slots], len(at))
        if room(slots):
            move(slots, at, some, np.arange(len(at)))
        partials.append(some)

    def reduced(how: Any, values: np.ndarray) -> np.ndarray:
        return how.reduceat(values, cuts[:-1])[at] if len(items) else values[:0]

    return Slices(
        items.key[begin], items.pos[begin], reduced(np.add, items.rows),
        {m: reduced(np.minimum, v) for m, v in items.first.items() if m != ROWS},
        {m: reduced(np.maximum, v) for m, v in items.last.items() if m != ROWS},
        {w: values[begin] for w, values in left.items()}, partials,
    )  # fmt: skip
