"""Compiled sums of ints: kept as high and low halves, each an int64, neither of which overflows before 2^31 rows.

So a sum is exact whatever the order of its rows, has an exact inverse, and is known to be too large only where it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from windrow.aggregates.arithmetic import add_three, add_two, subtract_three, subtract_two
from windrow.aggregates.base import Numeric
from windrow.aggregates.values import whole_number

LOW = 0xFFFFFFFF


def lift(x):
    x = int(x)
    return (x >> 32, x & LOW)


def lift_counted(x):
    x = int(x)
    return (1.0, x >> 32, x & LOW)


def lower_sum(p):
    high = p[0] + (p[1] >> 32)
    if high < -(1 << 31) or high >= 1 << 31:
        raise OverflowError("the sum does not fit a 64-bit integer")
    return (high << 32) | (p[1] & LOW)


def lower_mean(p):
    # both parts are exact as floats, so this rounds once, as float(total) does
    total = (p[1] + (p[2] >> 32)) * 4294967296.0 + (p[2] & LOW)
    return total / p[0]


def lower_mean_of_times(units: int) -> Callable:
    """The mean of ints that count `units` units of the answer each, to the nearest one, a half up."""
    most = (2**63 - 1) // units - 1

    def lower(p):
        n = max(int(p[0]), 1)  # of no rows there is no answer, but the loop divides all the same
        high = p[1] + (p[2] >> 32)
        first = high // n  # division by hand, of 96 bits by 31
        rest = ((high - first * n) << 32) | (p[2] & LOW)
        second = rest // n
        mean = (first << 32) + second
        if mean > most or mean < -most:
            raise OverflowError("the mean is too far from 1970 to be counted in finer units")
        left = rest - second * n
        return mean * units + math.floor(left / n * units + 0.5)

    return lower


def whole(high: int, low: int) -> int:
    """The number whose halves these are."""
    return (int(high) << 32) + int(low)


#: the sums of both halves, in SQL
SQL_HALVES = ("sum(shiftright({0}, 32))", "sum({0} & 4294967295)")

INT_SUM = Numeric(
    lift,
    add_two,
    lower_sum,
    (0, 0),
    inverse=subtract_two,
    answer="int64",
    total=False,
    freeze=lambda p: lift(whole_number(p[0])),
    thaw=lambda p: (whole(*p),),
    sql=SQL_HALVES,
)
INT_MEAN = Numeric(
    lift_counted,
    add_three,
    lower_mean,
    (0.0, 0, 0),
    inverse=subtract_three,
    freeze=lambda p: (float(p[0]), *lift(whole_number(p[1]))),
    thaw=lambda p: (int(p[0]), whole(p[1], p[2])),
    sql=("count({0})", *SQL_HALVES),
)
