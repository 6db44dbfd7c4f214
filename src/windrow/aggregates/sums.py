"""count, sum, mean, weighted_mean: the plain sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from windrow.aggregates.arithmetic import add, add_sized, add_two, lift_float, subtract, the_first
from windrow.aggregates.base import Aggregate, Builtin, Derivation, Numeric, Sized
from windrow.aggregates.exact import EXACT_MEAN, EXACT_SUM, EXACT_WEIGHTED_MEAN
from windrow.aggregates.halves import INT_MEAN, INT_SUM, lower_mean_of_times
from windrow.aggregates.values import INT64_MAX, INT64_MIN, bind, native, where


def lift_one(*row):
    return (1,)


def lift_value(x):
    return (native(x),)


def lift_counted(x):
    return (1, native(x))


def lift_weighted(x, weight):
    weight = native(weight)
    return (weight, native(x) * weight)


def lower_sum(p):
    """The sum; an int must fit int64, as in Spark's ANSI mode."""
    total = p[0]
    if isinstance(total, int) and not INT64_MIN <= total <= INT64_MAX:
        raise OverflowError(f"the sum {total} does not fit a 64-bit integer")
    return total


def lower_mean(p):
    """An int total is rounded to a float first, so that plain and compiled means are the same to the last bit."""
    total = float(p[1]) if isinstance(p[1], int) else p[1]
    return total / p[0]


def read_mean(totals: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Means off sums and counts."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals / rows, None if rows.all() else rows > 0


def has_weight(p):
    return p[0] != 0


def weighted(p):
    return p[1] / (p[0] if p[0] != 0 else math.nan)


# Compiled: floats as they are.


def lift_float_counted(x):
    return (1.0, x)


def lower_float_mean(p):
    return p[1] / p[0]


def lower_sized_mean(p, rows):
    return p[0] / rows


def with_rows(p, rows):
    return (rows, p[0])


def without_rows(p):
    return (p[1],)


SIZED_MEAN = Sized(lift_float, add_sized, lower_sized_mean, (0.0,), with_rows, without_rows)


def lift_floats_weighted(x, weight):
    return (1.0 * weight, (1.0 * x) * weight)


# One function for each number of columns: numba does not inline `*row`.
ONES = (lambda: (1,), lambda x: (1,), lambda x, y: (1,), lambda x, y, z: (1,))


def numeric_count(dtypes: Sequence[str]) -> Numeric | None:
    if len(dtypes) >= len(ONES):
        return None
    sql = ("count({0})",)
    return Numeric(ONES[len(dtypes)], add, the_first, (0,), inverse=subtract, answer="int64", sql=sql)


def numeric_sum(dtypes: Sequence[str]) -> Numeric:
    if dtypes[0] == "float64":
        return Numeric(lift_float, add, the_first, (0.0,), freeze=lambda p: (float(p[0]),), sql=("sum({0})",))
    return INT_SUM


def numeric_mean(dtypes: Sequence[str]) -> Numeric:
    if dtypes[0] == "float64":
        return Numeric(
            lift_float_counted,
            add_two,
            lower_float_mean,
            (0.0, 0.0),
            freeze=lambda p: (float(p[0]), float(p[1])),
            thaw=lambda p: (int(p[0]), float(p[1])),
            sized=SIZED_MEAN,
            sql=("count({0})", "sum({0})"),
        )
    return INT_MEAN


def numeric_weighted(dtypes: Sequence[str]) -> Numeric:
    return Numeric(
        lift_floats_weighted,
        add_two,
        weighted,
        (0.0, 0.0),
        defined=has_weight,
        freeze=lambda p: (float(p[0]), float(p[1])),
        sql=("sum({y})", "sum({x} * {y})"),
    )


# Over times, which are integers in the engine: the mean to the nearest unit of the answer, a half up.


@lru_cache(maxsize=64)
def mean_of_times(units: int) -> Builtin:
    """The mean of times or durations that count `units` units of the answer each."""

    def lower(p):
        return (2 * p[1] * units + p[0]) // (2 * p[0])

    numeric = replace(INT_MEAN, lower=lower_mean_of_times(units), answer="int64", total=False)
    return Builtin("mean", lift_time_counted, add_two, lower, commutative=True, numeric=lambda dtypes: numeric)


def lift_time_counted(x):
    return (1, int(x.astype(np.int64)) if isinstance(x, (np.datetime64, np.timedelta64)) else x)


COUNT = Builtin(
    "count",
    lift_one,
    add,
    the_first,
    inverse=subtract,
    commutative=True,
    empty=0,
    result="int64",
    numeric=numeric_count,
)
SUM = Builtin("sum", lift_value, add, lower_sum, commutative=True, exact=EXACT_SUM, result="sum", numeric=numeric_sum)
MEAN = Builtin(
    "mean",
    lift_counted,
    add_two,
    lower_mean,
    commutative=True,
    exact=EXACT_MEAN,
    result="mean",
    over_times=mean_of_times,
    numeric=numeric_mean,
    derived_from=Derivation((SUM, COUNT), read_mean, kinds=("float64",)),  # a sum of ints may overflow, a mean not
)
WEIGHTED_MEAN = Builtin(
    "weighted_mean",
    lift_weighted,
    add_two,
    where(has_weight, weighted),
    commutative=True,
    exact=EXACT_WEIGHTED_MEAN,
    result="mean",
    numeric=numeric_weighted,
)


def count(*columns: str, where: Any = None) -> Aggregate:
    """How many rows there are; of named columns, how many rows have none of them null.

    The partial is one int; commutative, with an exact inverse. NaN counts; no rows give 0.

    >>> from windrow import agg
    >>> a = agg.count(); a.lower(a.combine(a.lift(3), a.lift(5)))
    2
    """
    return bind(COUNT, columns, where)


def sum_(*columns: str, where: Any = None) -> Aggregate:
    """The sum of a column.

    The partial is one number (compiled ints: two halves); commutative. Floats round, so the inverse is in `exact`.
    Nulls are skipped, NaN and inf follow IEEE 754; an int sum beyond 64 bits is an OverflowError; Decimals and
    timedeltas stay what they are.

    >>> from windrow import agg
    >>> a = agg.sum(); a.lower(a.combine(a.lift(3), a.lift(5)))
    8
    """
    return bind(SUM, columns, where)


def mean(*columns: str, where: Any = None) -> Aggregate:
    """The arithmetic mean: a float for ints and floats, a Decimal or timedelta for those.

    The partial is (count, sum); commutative, the inverse in `exact`. Nulls are skipped, NaN poisons.

    >>> from windrow import agg
    >>> a = agg.mean(); a.lower(a.combine(a.lift(3), a.lift(6)))
    4.5
    """
    return bind(MEAN, columns, where)


def weighted_mean(*columns: str, where: Any = None) -> Aggregate:
    """`weighted_mean(x, weight)`: the sum of x·weight over the sum of the weights.

    The partial is (sum of weights, sum of products); commutative, the inverse in `exact`. A row with either null is
    skipped; weights that sum to 0 give null; NaN poisons.

    >>> from windrow import agg
    >>> a = agg.weighted_mean(); a.lower(a.combine(a.lift(10.0, 1), a.lift(20.0, 3)))
    17.5
    """
    return bind(WEIGHTED_MEAN, columns, where)
