"""Sums of floats in exact arithmetic: what `sum`, `mean` and `weighted_mean` are subtracted in.

Float addition rounds, so taking the oldest value off a float sum leaves its rounding errors (or NaN) behind. Here a
finite float is an integer multiple of 2^-1074 (the smallest one), the rest is counted by kind, and every step
back is exact; `lower` rounds once. The price is integers of about 1,100 bits and more.

A partial is (rows, ints, floats, n_floats, nan, +inf, -inf, other): the number of rows, the sum of the ints, the scaled
sum of the finite floats, how many floats there were at all and of each special kind, and the sum of Decimals
or timedeltas (None if there was none).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windrow.aggregates.base import Builtin, Numeric
from windrow.aggregates.halves import INT_MEAN, INT_SUM, whole
from windrow.aggregates.values import INT64_MAX, INT64_MIN, native

UNIT = 1074  # 2^-1074 is the smallest positive float
#: exact or an error: decimals that need more digits than this cannot be subtracted exactly
DECIMALS = decimal.Context(prec=500, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


def scaled(x: float, unit: int = UNIT) -> int:
    """A finite float as a multiple of 2^-unit."""
    numerator, denominator = x.as_integer_ratio()
    return numerator << (unit + 1 - denominator.bit_length())


def unscaled(number: int, unit: int = UNIT) -> float:
    """The float nearest to number·2^-unit, infinite where it is too large."""
    try:
        return number / (1 << unit)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def lift(x: Any) -> tuple:
    x = native(x)
    if isinstance(x, int):
        return (1, x, 0, 0, 0, 0, 0, None)
    if not isinstance(x, float):
        return (1, 0, 0, 0, 0, 0, 0, x)
    if math.isfinite(x):
        return (1, 0, scaled(x), 1, 0, 0, 0, None)
    return (1, 0, 0, 1, int(x != x), int(x == math.inf), int(x == -math.inf), None)


def plus(a: Any, b: Any) -> Any:
    """The sum of two `other` values."""
    if a is None or b is None:
        return b if a is None else a
    return DECIMALS.add(a, b) if isinstance(a, decimal.Decimal) else a + b


def minus(a: Any, b: Any) -> Any:
    if b is None:
        return a
    return DECIMALS.subtract(a, b) if isinstance(a, decimal.Decimal) else a - b


def combine(a: tuple, b: tuple) -> tuple:
    return (*(x + y for x, y in zip(a[:-1], b[:-1], strict=True)), plus(a[-1], b[-1]))


def inverse(total: tuple, oldest: tuple) -> tuple:
    return (*(x - y for x, y in zip(total[:-1], oldest[:-1], strict=True)), minus(total[-1], oldest[-1]))


def special(nan: int, positive: int, negative: int) -> float | None:
    """NaN or an infinity, where the sum is one."""
    if nan or (positive and negative):
        return math.nan
    return math.inf if positive else -math.inf if negative else None


def total_of(p: tuple) -> Any:
    """The sum, rounded once: an int where all were ints, a float where one was."""
    _, ints, floats, n_floats, nan, positive, negative, other = p
    if other is not None:
        if n_floats:
            raise TypeError(f"floats and {type(other).__name__}s do not add up")
        return other + ints if ints else other
    if not n_floats:
        return ints
    odd = special(nan, positive, negative)
    return unscaled((ints << UNIT) + floats) if odd is None else odd


def lower_sum(p: tuple) -> Any:
    if not p[0]:
        return None
    total = total_of(p)
    if isinstance(total, int) and not INT64_MIN <= total <= INT64_MAX:
        raise OverflowError(f"the sum {total} does not fit a 64-bit integer")
    return total


def lower_mean(p: tuple) -> Any:
    if not p[0]:
        return None
    total = total_of(p)
    if isinstance(total, float) and math.isfinite(total):  # divide before rounding
        rows, ints, floats = p[:3]
        return ((ints << UNIT) + floats) / (rows << UNIT)
    return (float(total) if isinstance(total, int) else total) / p[0]


# weighted_mean: the sum of weights and the sum of products, both of the kind above. Products of two floats are
# multiples of 2^-2148, so the product of x and weight is brought to integers of that unit by hand.


def lift_weighted(x: Any, weight: Any) -> tuple:
    x, weight = native(x), native(weight)
    finite = all(isinstance(v, int) or (isinstance(v, float) and math.isfinite(v)) for v in (x, weight))
    if not finite:
        return (lift(weight), 0, lift(x * weight))
    product = _units(x) * _units(weight)
    return (lift(weight), product, lift(0.0))


def _units(v: int | float) -> int:
    return v << UNIT if isinstance(v, int) else scaled(v)


def combine_weighted(a: tuple, b: tuple) -> tuple:
    return (combine(a[0], b[0]), a[1] + b[1], combine(a[2], b[2]))


def inverse_weighted(total: tuple, oldest: tuple) -> tuple:
    return (inverse(total[0], oldest[0]), total[1] - oldest[1], inverse(total[2], oldest[2]))


def lower_weighted(p: tuple) -> Any:
    weights, products, odd = p
    if not weights[0]:
        return None
    if odd[7] is not None:  # Decimals
        return None if total_of(weights) == 0 else odd[7] / total_of(weights)
    if special(*odd[4:7]) is not None or special(*weights[4:7]) is not None:
        return total_of(odd) / total_of(weights) if total_of(weights) else None
    divisor = ((weights[1] << UNIT) + weights[2]) << UNIT
    if divisor == 0:
        return None
    try:
        return products / divisor
    except OverflowError:
        return math.inf if (products > 0) == (divisor > 0) else -math.inf


# Over ints the compiled form is exact as it is. Each slot is one row, which tells how to take it back.


def numeric_sum(dtypes: Sequence[str]) -> Numeric | None:
    return replace(INT_SUM, thaw=lambda p: lift(whole(*p))) if dtypes[0] != "float64" else None


def numeric_mean(dtypes: Sequence[str]) -> Numeric | None:
    return replace(INT_MEAN, thaw=lambda p: lift(whole(p[1], p[2]))) if dtypes[0] != "float64" else None


EXACT_SUM = Builtin("sum", lift, combine, lower_sum, inverse=inverse, commutative=True, numeric=numeric_sum)
EXACT_MEAN = Builtin("mean", lift, combine, lower_mean, inverse=inverse, commutative=True, numeric=numeric_mean)
EXACT_WEIGHTED_MEAN = Builtin(
    "weighted_mean", lift_weighted, combine_weighted, lower_weighted, inverse=inverse_weighted, commutative=True
)
