"""Rows that must not go back along a column behind the newest value of their key."""

from __future__ import annotations

import numpy as np

from windrow.engine.kernel import cached, whole
from windrow.engine.walks import measured, ready


def going_forward(codes: np.ndarray, values: np.ndarray, newest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows do not go back, and which of these are at their key's newest value, so that equal ones may follow.

    `newest[k]` is the largest value of key k before these rows, which are in order.

    >>> stays, last = going_forward(np.array([0, 1, 0, 0]), np.array([3, 1, 2, 3]), np.array([2, 0]))
    >>> stays.tolist(), last.tolist()
    ([True, True, False, True], [True, True, False, True])
    """
    values = measured(values)
    stays, last = np.empty(len(values), bool), np.empty(len(values), bool)
    _forward(ready(codes, np.int64), values, newest.astype(values.dtype), stays, last)
    return stays, last


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
def _forward(codes, values, newest, stays, last):
    for i in range(len(values)):
        stays[i] = values[i] >= newest[codes[i]]
        if stays[i]:
            newest[codes[i]] = values[i]
    for i in range(len(values)):
        last[i] = stays[i] and values[i] == newest[codes[i]]
