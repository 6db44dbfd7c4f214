"""Rows along columns that windows are measured on: which have a place there, and which may yet get peers.

A row without a place along one column is in no window along it, and in all others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from windrow.engine.forward import going_forward, hold_back
from windrow.engine.inputs import Column
from windrow.errors import WindrowError
from windrow.step.held import Held
from windrow.step.state import State
from windrow.windows.base import TIME, Measure


def has_place(column: Column) -> np.ndarray | None:
    """Which rows have a place along a column; None: all. Infinity has none: edges beside it would not be numbers."""
    finite = None
    if column.kind == "float64" and not (finite := np.isfinite(column.values)).all():
        return finite if column.mask is None else finite & column.mask
    return None if column.mask is None or column.mask.all() else column.mask


class Along(NamedTuple):
    """What becomes of rows."""

    rows: Held  # that a step can take
    absent: Mapping[Measure, np.ndarray]  # which of those have no place along a column, where any has none
    waiting: np.ndarray | None  # the places of rows that wait for others of the same value
    back: Held | None  # of the rows that a step can take, and those that no window takes: which go back along a column
    places: np.ndarray | slice = slice(None)  # of `rows` among all


def along_columns(rows: Held, state: State, peers: Container[Measure], strict: bool) -> Along:
    """The rows, all in the order in which they came. Along `peers`, a key's newest rows may yet get others.

    `strict`: a row that goes back is an error.
    """
    dtypes = state.plan.dtypes
    if not dtypes or not rows.rows:
        return Along(rows, {}, None, None)
    n = rows.rows
    at = np.argsort(rows.times, kind="stable")
    used, codes = np.unique(rows.codes[at], return_inverse=True)
    absent: dict[Measure, np.ndarray] = {}
    wait, back, counted = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    along = [rows.times[at]] if TIME in peers else []
    for measure, dtype in dtypes.items():
        column = rows.column(measure.column or "")
        there = has_place(column)
        there = np.ones(n, bool) if there is None else there[at]
        newest = state.table.words[used, state.newest[measure]].view(dtype)
        values = column.values[at].astype(dtype, copy=False)
        found = going_forward(codes, values, there, newest)
        if measure in peers:
            wait |= found.last
            along.append(found.filled)
        counted |= ~there  # when it came
        if not found.stays.all():
            absent[measure] = ~found.stays
            goes_back = there & ~found.stays
            if strict and goes_back.any():
                i = int(np.argmax(goes_back))
                raise WindrowError(
                    f"a row with {measure.column} = {values[i]} goes back along that column, which has come to "
                    f"{found.filled[i]}; {int(goes_back.sum())} rows in all"
                )
            back |= goes_back
    if wait.any():
        hold_back(codes, along, wait)
    if not absent and not wait.any():
        return Along(rows, {}, None, None)
    place = np.empty(n, np.int64)
    place[at] = np.arange(n)
    absent = {measure: mask[place] for measure, mask in absent.items()}
    wait, back = wait[place], (back & ~counted & ~wait)[place]
    taken = ~wait
    if len(absent) == len(dtypes) and all(window.measure in dtypes for window in state.plan.windows.values()):
        taken &= ~np.logical_and.reduce(list(absent.values()))
    ready = np.flatnonzero(taken)
    return Along(
        rows if len(ready) == n else rows.at(ready),
        {measure: mask[ready] for measure, mask in absent.items() if mask[ready].any()},
        np.flatnonzero(wait) if wait.any() else None,
        rows.at(np.flatnonzero(back)) if back.any() else None,
        ready,
    )
