"""min, max, min_count, max_count, value_range: in Spark's order, where NaN is larger than any number.

Values are only compared, so text, dates, Decimals and bytes are as good as numbers; categories that are in an order
come as their ranks. `|` instead of `or` keeps the compiled comparison free of branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.aggregates.arithmetic import the_first
from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import INT64_MAX, INT64_MIN, bind, whole_number

#: what loses against every value, by dtype. NaN is the top, so it is what min starts from
LOWEST = {"int64": INT64_MIN, "float64": float("-inf"), "bool": False}
HIGHEST = {"int64": INT64_MAX, "float64": float("nan"), "bool": True}


def lift_self(x):
    return (x,)


def combine_max(a, b):
    return b if (b[0] > a[0]) | (b[0] != b[0]) else a


def combine_min(a, b):
    return b if (b[0] < a[0]) | (a[0] != a[0]) else a


def lift_once(x):
    return (x, 1)


def combine_max_count(a, b):
    newer = (b[0] > a[0]) | ((b[0] != b[0]) & (a[0] == a[0]))
    older = (a[0] > b[0]) | ((a[0] != a[0]) & (b[0] == b[0]))
    return (b[0] if newer else a[0], (0 if newer else a[1]) + (0 if older else b[1]))


def combine_min_count(a, b):
    newer = (b[0] < a[0]) | ((a[0] != a[0]) & (b[0] == b[0]))
    older = (a[0] < b[0]) | ((b[0] != b[0]) & (a[0] == a[0]))
    return (b[0] if newer else a[0], (0 if newer else a[1]) + (0 if older else b[1]))


def the_second(p):
    return p[1]


def lift_both(x):
    return (x, x)


def lift_both_int(x):
    return (int(x), int(x))


def combine_range(a, b):
    return (
        b[0] if (b[0] < a[0]) | (a[0] != a[0]) else a[0],
        b[1] if (b[1] > a[1]) | (b[1] != b[1]) else a[1],
    )


def lower_range_plain(p):
    width = p[1] - p[0]
    if isinstance(width, int) and width > INT64_MAX:
        raise OverflowError(f"the range {width} does not fit a 64-bit integer")
    return width


def lower_range_float(p):
    return p[1] - p[0]


def lower_range_int(p):
    width = p[1] - p[0]
    if width < 0:  # it wrapped: max is never below min
        raise OverflowError("the range does not fit a 64-bit integer")
    return width


def numeric_max(dtypes: Sequence[str]) -> Numeric:
    return Numeric(
        lift_self, combine_max, the_first, (LOWEST[dtypes[0]],), answer=None, restores_input=True, sql=("max({0})",)
    )


def numeric_min(dtypes: Sequence[str]) -> Numeric:
    return Numeric(
        lift_self, combine_min, the_first, (HIGHEST[dtypes[0]],), answer=None, restores_input=True, sql=("min({0})",)
    )


def numeric_max_count(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_once, combine_max_count, the_second, (LOWEST[dtypes[0]], 0), answer="int64")


def numeric_min_count(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_once, combine_min_count, the_second, (HIGHEST[dtypes[0]], 0), answer="int64")


def numeric_range(dtypes: Sequence[str]) -> Numeric:
    if dtypes[0] == "float64":
        identity = (HIGHEST["float64"], LOWEST["float64"])
        return Numeric(lift_both, combine_range, lower_range_float, identity, sql=("min({0})", "max({0})"))
    return Numeric(
        lift_both_int,
        combine_range,
        lower_range_int,
        (INT64_MAX, INT64_MIN),
        answer="int64",
        freeze=lambda p: (whole_number(p[0]), whole_number(p[1])),
        total=False,
        sql=("min({0})", "max({0})"),
    )


MAX = Builtin(
    "max",
    lift_self,
    combine_max,
    the_first,
    commutative=True,
    selective=True,
    result="input",
    numeric=numeric_max,
    compares=(0,),
)
MIN = Builtin(
    "min",
    lift_self,
    combine_min,
    the_first,
    commutative=True,
    selective=True,
    result="input",
    numeric=numeric_min,
    compares=(0,),
)
MAX_COUNT = Builtin(
    "max_count",
    lift_once,
    combine_max_count,
    the_second,
    commutative=True,
    result="int64",
    numeric=numeric_max_count,
    compares=(0,),
)
MIN_COUNT = Builtin(
    "min_count",
    lift_once,
    combine_min_count,
    the_second,
    commutative=True,
    result="int64",
    numeric=numeric_min_count,
    compares=(0,),
)
VALUE_RANGE = Builtin(
    "value_range", lift_both, combine_range, lower_range_plain, commutative=True, result="range", numeric=numeric_range
)


def max_(*columns: str, where: Any = None) -> Aggregate:
    """The largest value. NaN is larger than any number; nulls are skipped.

    The partial is the value; commutative and selective.

    >>> from windrow import agg
    >>> a = agg.max(); a.lower(a.combine(a.lift(3), a.lift(5)))
    5
    """
    return bind(MAX, columns, where)


def min_(*columns: str, where: Any = None) -> Aggregate:
    """The smallest value; NaN only where all are NaN. Nulls are skipped.

    The partial is the value; commutative and selective.

    >>> from windrow import agg
    >>> a = agg.min(); a.lower(a.combine(a.lift(3), a.lift(5)))
    3
    """
    return bind(MIN, columns, where)


def max_count(*columns: str, where: Any = None) -> Aggregate:
    """How often the largest value occurs (NaNs are equal and the largest). Nulls are skipped.

    The partial is (value, count); commutative.

    >>> from windrow import agg
    >>> a = agg.max_count(); a.lower(a.combine(a.combine(a.lift(5), a.lift(3)), a.lift(5)))
    2
    """
    return bind(MAX_COUNT, columns, where)


def min_count(*columns: str, where: Any = None) -> Aggregate:
    """How often the smallest value occurs (NaNs are equal and the largest). Nulls are skipped.

    The partial is (value, count); commutative.

    >>> from windrow import agg
    >>> a = agg.min_count(); a.lower(a.combine(a.combine(a.lift(5), a.lift(3)), a.lift(5)))
    1
    """
    return bind(MIN_COUNT, columns, where)


def value_range(*columns: str, where: Any = None) -> Aggregate:
    """The largest value minus the smallest: numbers, dates, Decimals.

    The partial is (min, max); commutative. NaN gives NaN, and so does a window of one infinity only; nulls are skipped;
    ints that are further apart than 64 bits are an OverflowError.

    >>> from windrow import agg
    >>> a = agg.value_range(); a.lower(a.combine(a.lift(3), a.lift(5)))
    2
    """
    return bind(VALUE_RANGE, columns, where)
