"""A stable sort of positions by a column of numbers: by digits where there are many, in linear time."""

from __future__ import annotations

import numpy as np

from windrow.engine.kernel import cached, whole

#: bits a pass: 2048 counters stay in the first-level cache
DIGIT = 11
#: fewer rows than this are sorted by comparing
MANY = 1 << 13


def sorted_positions(values: np.ndarray) -> np.ndarray:
    """The positions of int64 or float64 values (no NaN) from the least to the greatest; equal ones keep their order.

    >>> sorted_positions(np.array([2.5, -1.0, 2.5, 0.0])).tolist()
    [1, 3, 0, 2]
    """
    if len(values) < MANY:
        return np.argsort(values, kind="stable")
    if values.dtype == np.float64:
        bits = np.add(values, 0.0).view(np.int64)  # -0.0 becomes 0.0
        bits = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)  # negative floats count down
    else:
        bits = values
    low, high = int(bits.min()), int(bits.max())
    keys = bits.view(np.uint64) - np.uint64(low % 2**64)  # wraps, and is right
    return _by_digits(keys, -(-(high - low).bit_length() // DIGIT))


@cached
@whole("numpy")
def _by_digits(keys, passes):
    n = len(keys)
    digit = np.uint64((1 << DIGIT) - 1)
    at = np.arange(n)
    other_keys, other_at = np.empty_like(keys), np.empty_like(at)
    for d in range(passes):
        shift = np.uint64(d * DIGIT)
        offsets = np.zeros((1 << DIGIT) + 1, np.int64)
        for i in range(n):
            offsets[((keys[i] >> shift) & digit) + np.uint64(1)] += 1
        for b in range(1 << DIGIT):
            offsets[b + 1] += offsets[b]
        for i in range(n):
            b = (keys[i] >> shift) & digit
            j = offsets[b]
            offsets[b] = j + 1
            other_keys[j], other_at[j] = keys[i], at[i]
        keys, other_keys = other_keys, keys
        at, other_at = other_at, at
    return at
