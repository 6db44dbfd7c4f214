"""Rows of a live query whose windows lie along a column: such a column must not go back within a key."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np

from windrow.engine.forward import going_forward, hold_back
from windrow.step.held import Held
from windrow.step.state import State
from windrow.windows.base import TIME, Measure


class Forward(NamedTuple):
    """What becomes of some rows."""

    ready: Held  # they take the step
    wait: Held | None  # rows to come may have equal values, and belong into the same windows
    back: int  # how many rows went back behind their key's newest value: they are rejected


def going_on(state: State, rows: Held, peers: Set[Measure], closed: bool) -> Forward:
    """Sorts out rows that go back along a column, and those that may yet get `peers`; the others keep their order."""
    dtypes = state.plan.dtypes
    if not dtypes:
        return Forward(rows, None, 0)
    back, wait = 0, np.zeros(rows.rows, bool)
    at = np.argsort(rows.times, kind="stable")
    rows = rows.at(at)
    used, codes = np.unique(rows.codes, return_inverse=True)

    def along(measure: Measure) -> np.ndarray:
        if measure == TIME:
            return rows.times
        return rows.column(measure.column or "").values.astype(dtypes[measure], copy=False)

    for measure, dtype in dtypes.items():
        newest = state.table.words[used, state.newest[measure]].view(dtype)
        stays, last = going_forward(codes, along(measure), newest)
        if measure in peers and not closed:
            wait |= last
        if not stays.all():
            back += int((~stays).sum())
            where = np.flatnonzero(stays)
            rows, codes, at, wait = rows.at(where), codes[where], at[where], wait[where]
    if wait.any():
        hold_back(codes, [along(measure) for measure in peers], wait)
    as_they_came = np.argsort(at)
    rows, wait = rows.at(as_they_came), wait[as_they_came]
    if not wait.any():
        return Forward(rows, None, back)
    return Forward(rows.at(np.flatnonzero(~wait)), rows.at(np.flatnonzero(wait)), back)
