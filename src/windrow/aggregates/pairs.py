"""corr, covar_samp, regr_slope: two columns beside each other.

One partial for all three: (n, mean x, mean y, Cxy, Mxx, Myy), merged like variances, each mean kept as one of the
values and the distance from it (`moments`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import bind, real, where


def lift_pair(x, y):
    x = 1.0 * x
    y = 1.0 * y
    zero = (x - x) + (y - y)  # NaN where one is NaN or inf
    return (1.0, x, 0.0, y, 0.0, zero, x - x, y - y)


def lift_pair_plain(x, y):
    return lift_pair(real(x), real(y))


def lift_slope_plain(y, x):  # Spark's order: the dependent one first
    return lift_pair(real(y), real(x))


def combine_pairs(a, b):
    n = a[0] + b[0]
    g = b[0] / (n if n > 0.0 else 1.0)  # the guard is explained in moments.chan
    dx = (b[1] - a[1]) + (b[2] - a[2])
    dy = (b[3] - a[3]) + (b[4] - a[4])
    gx = dx * g
    gy = dy * g
    some = a[0] > 0.0
    return (
        n,
        a[1] if some else b[1],
        a[2] + gx if some else b[2],
        a[3] if some else b[3],
        a[4] + gy if some else b[4],
        a[5] + (b[5] + gx * dy * a[0]),
        a[6] + (b[6] + gx * dx * a[0]),
        a[7] + (b[7] + gy * dy * a[0]),
    )


def has_corr(p):
    return (p[0] > 1.0) & (p[6] != 0.0) & (p[7] != 0.0)


def corr_of(p):
    # one root of the product rounds once less (a perfect line gives 1.0), two roots do not leave the range
    both = p[6] * p[7]
    spread = math.sqrt(both) if (both > 1e-290) & (both < 1e290) else math.sqrt(p[6]) * math.sqrt(p[7])
    return p[5] / (spread if spread != 0.0 else math.nan)


def several(p):
    return p[0] > 1.0


def covar_samp_of(p):
    return p[5] / (p[0] - 1.0 if p[0] > 1.0 else math.nan)


def has_slope(p):
    return p[7] != 0.0


def slope_of(p):
    return p[5] / (p[7] if p[7] != 0.0 else math.nan)


def build(name: str, lift: Callable, defined: Callable, value: Callable) -> Builtin:
    def numeric(dtypes: Sequence[str]) -> Numeric:
        return Numeric(lift_pair, combine_pairs, value, (0.0,) * 8, defined=defined)

    return Builtin(
        name, lift, combine_pairs, where(defined, value), commutative=True, result="float64", numeric=numeric
    )


CORR = build("corr", lift_pair_plain, has_corr, corr_of)
COVAR_SAMP = build("covar_samp", lift_pair_plain, several, covar_samp_of)
REGR_SLOPE = build("regr_slope", lift_slope_plain, has_slope, slope_of)


def corr(*columns: str, where: Any = None) -> Aggregate:
    """`corr(x, y)`: Pearson's correlation; null for one row and where a column does not vary.

    The partial is eight floats; commutative. A row with either null is skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.corr(); a.lower(a.combine(a.lift(1, 10), a.lift(2, 20)))
    1.0
    """
    return bind(CORR, columns, where)


def covar_samp(*columns: str, where: Any = None) -> Aggregate:
    """`covar_samp(x, y)`: the sample covariance; null for one row.

    The partial is eight floats; commutative. A row with either null is skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.covar_samp(); a.lower(a.combine(a.lift(1, 10), a.lift(3, 20)))
    10.0
    """
    return bind(COVAR_SAMP, columns, where)


def regr_slope(*columns: str, where: Any = None) -> Aggregate:
    """`regr_slope(y, x)`: the slope of the line fitted to y over x; null where x does not vary.

    The partial is eight floats; commutative. A row with either null is skipped; NaN and inf give NaN.

    >>> from windrow import agg
    >>> a = agg.regr_slope(); a.lower(a.combine(a.lift(10, 1), a.lift(20, 3)))
    5.0
    """
    return bind(REGR_SLOPE, columns, where)
