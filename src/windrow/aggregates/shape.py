"""skewness and kurtosis: the third and fourth central moments, merged by the pairwise formulas of Chan and Pébay.

The mean is kept in two floats, their sum unrounded: beside a spread of few steps of a float (1e8 ± 1e-7) one float's
rounding would be as large as the distances between means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import bind, real, where


def lift_three(x):
    x = 1.0 * x
    return (1.0, x, x - x, x - x, x - x)


def lift_four(x):
    x = 1.0 * x
    return (1.0, x, x - x, x - x, x - x, x - x)


def lift_three_plain(x):
    return lift_three(real(x))


def lift_four_plain(x):
    return lift_four(real(x))


# f and g are the distance of the means times the shares of a and b, so that no power of n is formed. Each product
# begins with a factor that is 0 where a or b is the identity: inf * 0 would be NaN. The guard of n is explained in
# moments.chan. The new mean is the larger side's mean and a step: beside the identity it stays what it is, to the last
# bit. `high` and `low` are the sum without an error (Knuth's two-sum), spelled out in both functions: the compiler
# would have to be told of a helper.


def combine_three(a, b):
    n = a[0] + b[0]
    m = n if n > 0.0 else 1.0
    d = (b[1] - a[1]) + (b[2] - a[2])
    f = d * (a[0] / m)
    g = d * (b[0] / m)
    d2 = f * (b[0] * d)
    m3 = a[4] + b[4] + d2 * (f - g) + 3.0 * (f * b[3] - g * a[3])
    base = a[1] if a[0] >= b[0] else b[1]
    step = a[2] + g if a[0] >= b[0] else b[2] - f
    high = base + step
    back = high - base
    low = (base - (high - back)) + (step - back)
    return (n, high, low, a[3] + (b[3] + d2), m3)


def combine_four(a, b):
    n = a[0] + b[0]
    m = n if n > 0.0 else 1.0
    d = (b[1] - a[1]) + (b[2] - a[2])
    f = d * (a[0] / m)
    g = d * (b[0] / m)
    d2 = f * (b[0] * d)
    m3 = a[4] + b[4] + d2 * (f - g) + 3.0 * (f * b[3] - g * a[3])
    m4 = (
        a[5]
        + b[5]
        + (d2 * f * f - d2 * f * g + d2 * g * g)
        + 6.0 * (f * (f * b[3]) + g * (g * a[3]))
        + 4.0 * (f * b[4] - g * a[4])
    )
    base = a[1] if a[0] >= b[0] else b[1]
    step = a[2] + g if a[0] >= b[0] else b[2] - f
    high = base + step
    back = high - base
    low = (base - (high - back)) + (step - back)
    return (n, high, low, a[3] + (b[3] + d2), m3, m4)


def has_skewness(p):
    m2 = p[3] / p[0]
    return m2 * math.sqrt(m2) != 0.0  # 0 also where it underflows: then there is nothing to divide by


def skewness_of(p):
    m2 = p[3] / p[0]
    spread = m2 * math.sqrt(m2)
    return (p[4] / p[0]) / (spread if spread != 0.0 else math.nan)


def has_kurtosis(p):
    m2 = p[3] / p[0]
    return m2 * m2 != 0.0


def kurtosis_of(p):
    m2 = p[3] / p[0]
    spread = m2 * m2
    return (p[5] / p[0]) / (spread if spread != 0.0 else math.nan) - 3.0


def numeric_skewness(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_three, combine_three, skewness_of, (0.0, 0.0, 0.0, 0.0, 0.0), defined=has_skewness)


def numeric_kurtosis(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_four, combine_four, kurtosis_of, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), defined=has_kurtosis)


SKEWNESS = Builtin(
    "skewness",
    lift_three_plain,
    combine_three,
    where(has_skewness, skewness_of),
    commutative=True,
    result="float64",
    numeric=numeric_skewness,
)
KURTOSIS = Builtin(
    "kurtosis",
    lift_four_plain,
    combine_four,
    where(has_kurtosis, kurtosis_of),
    commutative=True,
    result="float64",
    numeric=numeric_kurtosis,
)


def skewness(*columns: str, where: Any = None) -> Aggregate:
    """The population skewness, √n·M3 / M2^1.5 as in Spark; null where all values are equal.

    The partial is (n, mean, M2, M3), the mean in two floats; commutative. Nulls are skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.skewness(); a.lower(a.combine(a.combine(a.lift(0), a.lift(0)), a.lift(3)))
    0.7071067811865475
    """
    return bind(SKEWNESS, columns, where)


def kurtosis(*columns: str, where: Any = None) -> Aggregate:
    """The excess kurtosis of the population, n·M4 / M2² - 3 as in Spark; null where all values are equal.

    The partial is (n, mean, M2, M3, M4), the mean in two floats; commutative. Nulls are skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.kurtosis(); a.lower(a.combine(a.lift(1), a.lift(5)))
    -2.0
    """
    return bind(KURTOSIS, columns, where)
