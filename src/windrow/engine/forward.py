"""Rows that must not go back along a column behind the newest value of their key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.walks import measured, ready


class Forward(NamedTuple):
    """Rows along a column."""

    stays: np.ndarray  # which rows have a value and do not go back
    #: which rows are at their key's newest value or behind such a row: equal values may follow. They are a key's last
    last: np.ndarray
    filled: np.ndarray  # the newest value of the key at each row: of a row that stays its own


def going_forward(codes: np.ndarray, values: np.ndarray, there: np.ndarray, newest: np.ndarray) -> Forward:
    """`newest[k]` is the largest value of key k before these rows, which are in order.

    >>> codes, there = np.array([0, 1, 0, 0]), np.array([True, True, True, True])
    >>> stays, last, filled = going_forward(codes, np.array([3, 1, 2, 3]), there, np.array([2, 0]))
    >>> stays.tolist(), last.tolist(), filled.tolist()
    ([True, True, False, True], [True, True, True, True], [3, 1, 3, 3])
    """
    values = measured(values)
    stays, last, filled = np.empty(len(values), bool), np.empty(len(values), bool), np.empty_like(values)
    waits = np.zeros(len(newest), bool)
    _forward(ready(codes, np.int64), values, ready(there), newest.astype(values.dtype), stays, last, filled, waits)
    return Forward(stays, last, filled)


def hold_back(codes: np.ndarray, measures: list[np.ndarray], wait: np.ndarray) -> None:
    """Lets rows wait, too, that are peers of one that waits, along any of the measures.

    The rows are in order, and those of a key that wait are its last ones.

    >>> wait = np.array([False, False, False, True])
    >>> hold_back(np.zeros(4, int), [np.array([1, 2, 2, 5]), np.array([0, 1, 3, 3])], wait)
    >>> wait.tolist()
    [False, True, True, True]
    """
    codes, before = ready(codes, np.int64), -1
    while before != (before := int(wait.sum())):
        for values in measures:
            _hold_back(codes, measured(values), wait, np.full(int(codes.max(initial=-1)) + 1, -1))


@cached
@whole("numpy")
def _hold_back(codes, values, wait, first):
    for i in range(len(values) - 1, -1, -1):
        waiting = first[codes[i]]
        if waiting >= 0 and values[i] == values[waiting]:
            wait[i] = True
        if wait[i]:
            first[codes[i]] = i


@cached
@whole("numpy")
def _forward(codes, values, there, newest, stays, last, filled, waits):
    for i in range(len(values)):
        k = codes[i]
        stays[i] = there[i] and values[i] >= newest[k]
        if stays[i]:
            newest[k] = values[i]
        filled[i] = newest[k]
    for i in range(len(values)):
        k = codes[i]
        if stays[i] and values[i] == newest[k]:
            waits[k] = True
        last[i] = waits[k]
