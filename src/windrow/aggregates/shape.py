"""skewness and kurtosis: the third and fourth central moments, merged by the pairwise formulas of Chan and Pébay."""

from __future__ import annotations

import math
from collections.abc import Sequence

from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import bind, real, where


def lift_three(x):
    x = 1.0 * x
    return (1.0, x, x - x, x - x)


def lift_four(x):
    x = 1.0 * x
    return (1.0, x, x - x, x - x, x - x)


def lift_three_plain(x):
    return lift_three(real(x))


def lift_four_plain(x):
    return lift_four(real(x))


# f and g are the shares of a and b in n, so that no power of n is formed and nothing overflows early. The guard of n is
# explained in moments.chan.


def combine_three(a, b):
    n = a[0] + b[0]
    m = n if n > 0.0 else 1.0
    f = a[0] / m
    g = b[0] / m
    d = b[1] - a[1]
    d2 = d * d * f * b[0]
    m3 = a[3] + b[3] + d2 * d * (f - g) + 3.0 * d * (f * b[2] - g * a[2])
    return (n, a[1] + d * g, a[2] + (b[2] + d2), m3)


def combine_four(a, b):
    n = a[0] + b[0]
    m = n if n > 0.0 else 1.0
    f = a[0] / m
    g = b[0] / m
    d = b[1] - a[1]
    d2 = d * d * f * b[0]
    m3 = a[3] + b[3] + d2 * d * (f - g) + 3.0 * d * (f * b[2] - g * a[2])
    m4 = (
        a[4]
        + b[4]
        + d2 * d * d * (f * f - f * g + g * g)
        + 6.0 * d * d * (f * f * b[2] + g * g * a[2])
        + 4.0 * d * (f * b[3] - g * a[3])
    )
    return (n, a[1] + d * g, a[2] + (b[2] + d2), m3, m4)


def has_skewness(p):
    m2 = p[2] / p[0]
    return m2 * math.sqrt(m2) != 0.0  # 0 also where it underflows: then there is nothing to divide by


def skewness_of(p):
    m2 = p[2] / p[0]
    spread = m2 * math.sqrt(m2)
    return (p[3] / p[0]) / (spread if spread != 0.0 else math.nan)


def has_kurtosis(p):
    m2 = p[2] / p[0]
    return m2 * m2 != 0.0


def kurtosis_of(p):
    m2 = p[2] / p[0]
    spread = m2 * m2
    return (p[4] / p[0]) / (spread if spread != 0.0 else math.nan) - 3.0


def numeric_skewness(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_three, combine_three, skewness_of, (0.0, 0.0, 0.0, 0.0), defined=has_skewness)


def numeric_kurtosis(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_four, combine_four, kurtosis_of, (0.0, 0.0, 0.0, 0.0, 0.0), defined=has_kurtosis)


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


def skewness(*columns: str) -> Aggregate:
    """The population skewness, √n·M3 / M2^1.5 as in Spark; null where all values are equal.

    The partial is (n, mean, M2, M3); commutative. Nulls are skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.skewness(); a.lower(a.combine(a.combine(a.lift(0), a.lift(0)), a.lift(3)))
    0.7071067811865475
    """
    return bind(SKEWNESS, columns)


def kurtosis(*columns: str) -> Aggregate:
    """The excess kurtosis of the population, n·M4 / M2² - 3 as in Spark; null where all values are equal.

    The partial is (n, mean, M2, M3, M4); commutative. Nulls are skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.kurtosis(); a.lower(a.combine(a.lift(1), a.lift(5)))
    -2.0
    """
    return bind(KURTOSIS, columns)
