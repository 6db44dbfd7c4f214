"""product and geometric_mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from windrow.aggregates.arithmetic import add_two, lift_float, the_first
from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import INT64_MAX, INT64_MIN, bind, native, one_of, real

#: an int product beyond this stays here: it can only become 0 or an overflow, and its digits would cost time
HUGE = 1 << 1100


def lift_number(x):
    return (native(x),)


def multiply(a, b):
    return (a[0] * b[0],)


def multiply_clamped(a, b):
    product = a[0] * b[0]
    if isinstance(product, int) and not -HUGE < product < HUGE:
        product = HUGE if product > 0 else -HUGE
    return (product,)


def lower_product(p):
    if isinstance(p[0], int) and not INT64_MIN <= p[0] <= INT64_MAX:
        raise OverflowError("the product does not fit a 64-bit integer")
    return p[0]


def numeric_product(dtypes: Sequence[str]) -> Numeric | None:
    if dtypes[0] == "float64":
        return Numeric(lift_float, multiply, the_first, (1.0,), freeze=lambda p: (float(p[0]),))
    return None  # ints overflow soon, and the error must name the window: plain ints know


def lift_log(x):
    x = 1.0 * x
    # of 0 it is -inf, of a negative number NaN (math.log raises)
    return (1.0, math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan))


def lift_log_plain(x):
    return lift_log(real(x))


def lower_log(p):
    # the square of the half: math.exp raises where the result rounds past the largest float
    half = math.exp(0.5 * (p[1] / p[0]))
    return half * half


#: NaN is above 0 in SQL, and its logarithm NaN
SQL_LOGS = "sum(CASE WHEN {x} > 0 THEN ln({x}) WHEN {x} = 0 THEN DOUBLE('-Infinity') ELSE DOUBLE('NaN') END)"


def numeric_geometric(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_log, add_two, lower_log, (0.0, 0.0), sql=("count({x})", SQL_LOGS))


def lift_factor(x):
    return (1.0, 1.0 * x)


def lift_factor_plain(x):
    return (1.0, real(x))


def combine_factors(a, b):
    return (a[0] + b[0], a[1] * b[1])


def lower_factors(p):
    return p[1] ** (1.0 / p[0]) if p[1] >= 0.0 else math.nan


def numeric_factors(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_factor, combine_factors, lower_factors, (0.0, 1.0))


PRODUCT = Builtin(
    "product", lift_number, multiply_clamped, lower_product, commutative=True, result="product", numeric=numeric_product
)
GEOMETRIC_MEAN = {
    "logs": Builtin(
        "geometric_mean",
        lift_log_plain,
        add_two,
        lower_log,
        commutative=True,
        result="float64",
        numeric=numeric_geometric,
    ),
    "paper": Builtin(
        "geometric_mean",
        lift_factor_plain,
        combine_factors,
        lower_factors,
        commutative=True,
        result="float64",
        numeric=numeric_factors,
    ),
}


def product(*columns: str, where: Any = None) -> Aggregate:
    """The product of a column.

    The partial is one number; commutative. Division would not undo a 0, so there is no inverse. Nulls are skipped,
    NaN and inf follow IEEE 754; an int product beyond 64 bits is an OverflowError.

    >>> from windrow import agg
    >>> a = agg.product(); a.lower(a.combine(a.lift(3), a.lift(5)))
    15
    """
    return bind(PRODUCT, columns, where)


def geometric_mean(*columns: str, form: str = "logs", where: Any = None) -> Aggregate:
    """The n-th root of the product of n numbers: 0 where one is 0, NaN where one is negative.

    The partial is (n, sum of logarithms); commutative. `form="paper"` keeps (n, product) as in paper 1, Table 1, for
    the experiments: the product leaves the range of a float after a few hundred rows, and two negative numbers pass.
    Nulls are skipped, NaN poisons.

    >>> from windrow import agg
    >>> a = agg.geometric_mean(); round(a.lower(a.combine(a.lift(2), a.lift(8))), 9)
    4.0
    """
    return bind(GEOMETRIC_MEAN[one_of("geometric_mean", "form", form, tuple(GEOMETRIC_MEAN))], columns, where)
