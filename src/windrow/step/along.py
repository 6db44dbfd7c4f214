"""Rows along columns that windows are measured on: which go back, and which may yet get peers."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np

from windrow.engine.forward import going_forward, hold_back
from windrow.step.held import Held
from windrow.step.state import State
from windrow.windows.base import TIME, Measure


class Along(NamedTuple):
    """What becomes of rows."""

    rows: Held  # that a step can take
    waiting: Held | None  # that wait for rows of the same value
    back: int  # how many go back behind their key's newest


def along_columns(rows: Held, state: State, peers: Container[Measure]) -> Along:
    """The rows, all in the order in which they came. Along `peers`, a key's newest rows may yet get others."""
    dtypes = state.plan.dtypes
    if not dtypes:
        return Along(rows, None, 0)
    back, wait = 0, np.zeros(rows.rows, bool)
    at = np.argsort(rows.times, kind="stable")
    rows = rows.at(at)

    def along(measure: Measure) -> np.ndarray:
        if measure == TIME:
            return rows.times
        return rows.column(measure.column or "").values.astype(dtypes[measure], copy=False)

    used, codes = np.unique(rows.codes, return_inverse=True)
    for measure, dtype in dtypes.items():
        newest = state.table.words[used, state.newest[measure]].view(dtype)
        stays, last = going_forward(codes, along(measure), newest)
        if measure in peers:
            wait |= last
        if not stays.all():
            back += int((~stays).sum())
            where = np.flatnonzero(stays)
            rows, codes, at, wait = rows.at(where), codes[where], at[where], wait[where]
    if wait.any():
        hold_back(codes, [along(measure) for measure in (TIME, *dtypes) if measure in peers], wait)
    as_they_came = np.argsort(at)
    rows, wait = rows.at(as_they_came), wait[as_they_came]
    if not wait.any():
        return Along(rows, None, back)
    return Along(rows.at(np.flatnonzero(~wait)), rows.at(np.flatnonzero(wait)), back)
