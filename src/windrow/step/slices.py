"""Slices of rows that may come in any order: what a task folds before rows of other tasks are known.

They are cut at every edge of every window, so that each window is a run of whole slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.engine.columns import Slots
from windrow.engine.grouping import segments
from windrow.engine.inputs import Column
from windrow.sharing import passes
from windrow.step.plan import Plan
from windrow.windows.base import TIME, StepRows


@dataclass(frozen=True)
class Slices:
    """Slices by key and time."""

    key: np.ndarray
    first: np.ndarray  # the times of the first and the newest row
    last: np.ndarray
    partials: list[Slots]  # for each group of aggregates


def folded(plan: Plan, rows: StepRows, columns: Mapping[str, Column]) -> Slices:
    """The slices of rows that are sorted by key and time, whose windows are all `late_slices`."""
    times, n = rows.measures[TIME], len(rows)
    flags = np.zeros(n, bool)
    if n:
        flags[0] = True
        flags[1:] = rows.key[1:] != rows.key[:-1]
    seg = segments(rows.key, int(rows.key.max(initial=-1)) + 1)
    for window in plan.windows.values():
        window.cut_anywhere(times, seg, flags)
    cuts = np.append(np.flatnonzero(flags), n)
    none = np.empty(0, np.int64)
    partials = []
    for group in plan.arrangement.groups:
        mine = tuple(columns[name] for name in group.columns)
        partials.append(passes.fold(group, mine, none, None, cuts, none)[0])
    begin = cuts[:-1]
    return Slices(rows.key[begin], times[begin], times[cuts[1:] - 1] if n else times, partials)
