"""Rows that must not go back along a column behind the newest value of their key."""

from __future__ import annotations

import numpy as np

from windrow.engine.compiler import cached, whole
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


@cached
@whole("numpy")
def _forward(codes, values, newest, stays, last):
    for i in range(len(values)):
        stays[i] = values[i] >= newest[codes[i]]
        if stays[i]:
            newest[codes[i]] = values[i]
    for i in range(len(values)):
        last[i] = stays[i] and values[i] == newest[codes[i]]
