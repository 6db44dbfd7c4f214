"""Slices of rows, folded before the step: what is left to sort and to walk through are slices, not rows.

They are cut at every edge of every window, so that each window is a run of whole slices. The rows of a task of Spark's
are folded so, and those of a whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.engine import cutting
from windrow.engine.batch import arrays
from windrow.engine.columns import Slots
from windrow.engine.cutting import Cut, Edges
from windrow.engine.inputs import Column
from windrow.engine.placing import by_key, extent, in_order, scattered, sorted_keys
from windrow.engine.threads import Threads, ranges
from windrow.errors import WindrowError
from windrow.step import passes
from windrow.step.plan import Plan
from windrow.windows.base import TIME, StepRows

#: rows of a table that are folded at a time, and, where keys are mixed, rows for each key: each part gives a slice for
#: each of its keys at least
PART, PER_KEY = 1 << 19, 64
#: tables of fewer rows are not: the kernels for it would take longer to load than to run
FEW = 1 << 15
#: mixed keys are folded as they lie where a key has so many rows on average; fewer are sorted faster
WORTH = 16
#: the most slices for a row that are worth folding
GAIN = 0.5
TOO_FAR = "event times are too far from 1970 for windows of these lengths: 64 bits do not hold both"


@dataclass(frozen=True)
class Slices:
    """Slices by key and time."""

    key: np.ndarray
    first: np.ndarray  # the times of the first and the newest row
    last: np.ndarray
    partials: Sequence[Slots]  # for each group of aggregates


def folded(plan: Plan, rows: StepRows, columns: Mapping[str, Column]) -> Slices:
    """The slices of rows that are sorted by key and time, whose windows are all `late_slices`."""
    edges, times = _edges(plan), rows.measures[TIME]
    if len(times) and edges.far(*extent(times)):
        raise WindrowError(TOO_FAR)
    cut = cutting.sorted_cuts(rows.key, times, edges)
    partials = []
    for group in plan.arrangement.groups:
        mine = tuple(columns[name] for name in group.columns)
        partials.append(passes.fold_sorted(group, arrays(group.form, mine), cut.rows))
    return Slices(cut.key, cut.first, cut.last, partials)


def of_table(
    plan: Plan, codes: np.ndarray, keys: int, times: np.ndarray, column: Callable[[str], Column], threads: Threads
) -> Slices | None:
    """The slices of a whole table, whose rows are not sorted for it; None where it is better to sort them.

    The rows of a key must be in time order, however keys are mixed.

    Args:
        codes: each row's key, below `keys`.
        column: gives a column that the aggregates read, in the table's order.
    """
    n = len(times)
    groups = plan.arrangement.groups
    if (
        n < max(FEW, 1)
        or not all(w.late_slices for w in plan.windows.values())
        or not all(g.form.compiled for g in groups)
    ):
        return None
    edges = _edges(plan)
    codes = codes if keys > 1 else codes[:0]
    is_sorted = in_order(codes, times, threads)
    if not is_sorted and (keys == 1 or n < WORTH * keys):
        return None
    low, high = (times[0], times[-1]) if is_sorted and keys == 1 else extent(times, threads)
    if edges.far(int(low), int(high)):  # the step says which window is too long
        return None
    data = [arrays(group.form, tuple(map(column, group.columns))) for group in groups]

    def cut(part: tuple[int, int]) -> Cut | None:
        a, z = part
        if is_sorted:
            return cutting.sorted_cuts(codes[a:z], times[a:z], edges, (int(low), int(high)))
        return cutting.mixed_cuts(codes[a:z], times[a:z], edges, keys, (int(low), int(high)))

    def fold(part: tuple[int, int]) -> Slices | None:
        (a, z), found = part, cut(part)
        if found is None:
            return None
        partials = []
        for group, (values, masks) in zip(groups, data, strict=True):
            mine = tuple(c[a:z] for c in values), tuple(m[a:z] for m in masks)
            if is_sorted:
                partials.append(passes.fold_sorted(group, mine, found.rows))
            else:
                partials.append(passes.fold_mixed(group, mine, found.rows, len(found.key)))
        return Slices(found.key, found.first, found.last, partials)

    parts = ranges(n, PART if is_sorted else max(PART, PER_KEY * keys))
    sample = cut((0, min(n, PART)))
    if sample is None or len(sample.key) > GAIN * min(n, PART):  # so many slices: nothing is gained
        return None
    try:
        found = threads.map(fold, parts)
    except Exception:  # an aggregate that raises: the step itself names the window
        return None
    slices = [part for part in found if part is not None]
    if len(slices) < len(found):
        return None
    stacked = _stacked(slices) if is_sorted else _by_key(slices, keys, threads)
    return None if cutting.gone_back(stacked.key, stacked.first, stacked.last) else stacked


def _edges(plan: Plan) -> Edges:
    return Edges.union(window.edges for window in plan.windows.values())


def _stacked(parts: list[Slices]) -> Slices:
    partials = [
        tuple(cutting.stacked(column) for column in zip(*group, strict=True))
        for group in zip(*(part.partials for part in parts), strict=True)
    ]
    key, first, last = ([getattr(part, name) for part in parts] for name in ("key", "first", "last"))
    return Slices(cutting.stacked(key), cutting.stacked(first), cutting.stacked(last), partials)


def _by_key(parts: list[Slices], keys: int, threads: Threads) -> Slices:
    """Slices of several parts, sorted by key; those of a key stay in order."""
    key = cutting.stacked([part.key for part in parts])
    place, begin = by_key(key, keys, threads)

    def column(pieces: tuple[np.ndarray, ...]) -> np.ndarray:
        return scattered(cutting.stacked(pieces), place)

    wanted = [tuple(part.first for part in parts), tuple(part.last for part in parts)]
    widths = [len(slots) for slots in parts[0].partials]
    for g, width in enumerate(widths):
        wanted += [tuple(part.partials[g][j] for part in parts) for j in range(width)]
    first, last, *numbers = threads.map(column, wanted)
    rest = iter(numbers)
    partials = [tuple(next(rest) for _ in range(width)) for width in widths]
    return Slices(sorted_keys(begin, threads), first, last, partials)
