"""max_by, min_by, first, last: the value of one row out of all.

Partials carry a flag "there is a row" at the end. In plain Python it is always True (None is the identity); compiled,
it tells the identity from a row, which no number could: an `ord` of -inf is a row's as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.aggregates.arithmetic import the_first
from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.extremes import HIGHEST, LOWEST, the_second
from windrow.aggregates.values import bind

ZERO = {"int64": 0, "float64": 0.0, "bool": False}


def lift_by(x, ord):
    return (ord, x, True)


def combine_max_by(a, b):
    """The older row stays where the two tie; NaN is the largest, and ties with NaN."""
    larger = (b[0] > a[0]) | ((b[0] != b[0]) & (a[0] == a[0]))
    return b if larger | (b[2] > a[2]) else a


def combine_min_by(a, b):
    smaller = (b[0] < a[0]) | ((a[0] != a[0]) & (b[0] == b[0]))
    return b if smaller | (b[2] > a[2]) else a


def lift_present(x):
    return (x, True)


def combine_first(a, b):
    return a if a[1] else b


def combine_last(a, b):
    return b if b[1] else a


def numeric_max_by(dtypes: Sequence[str]) -> Numeric:
    identity = (LOWEST[dtypes[1]], ZERO[dtypes[0]], False)
    return Numeric(lift_by, combine_max_by, the_second, identity, answer=None, restores_input=True)


def numeric_min_by(dtypes: Sequence[str]) -> Numeric:
    identity = (HIGHEST[dtypes[1]], ZERO[dtypes[0]], False)
    return Numeric(lift_by, combine_min_by, the_second, identity, answer=None, restores_input=True)


def numeric_first(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_present, combine_first, the_first, (ZERO[dtypes[0]], False), answer=None, restores_input=True)


def numeric_last(dtypes: Sequence[str]) -> Numeric:
    return Numeric(lift_present, combine_last, the_first, (ZERO[dtypes[0]], False), answer=None, restores_input=True)


MAX_BY = Builtin("max_by", lift_by, combine_max_by, the_second, selective=True, needs=(1,), numeric=numeric_max_by)
MIN_BY = Builtin("min_by", lift_by, combine_min_by, the_second, selective=True, needs=(1,), numeric=numeric_min_by)


def pick(name: str, combine, numeric, needs: tuple[int, ...] | None) -> Builtin:
    return Builtin(name, lift_present, combine, the_first, selective=True, needs=needs, numeric=numeric)


FIRST = {
    True: pick("first", combine_first, numeric_first, None),
    False: pick("first", combine_first, numeric_first, ()),
}
LAST = {True: pick("last", combine_last, numeric_last, None), False: pick("last", combine_last, numeric_last, ())}


def max_by(*columns: str) -> Aggregate:
    """`max_by(x, ord)`: x of the row with the largest `ord`, the first of them in arrival order.

    The partial is (ord, x); selective, not commutative (ties). Rows whose `ord` is null are skipped, a null x is an
    answer, as in Spark; NaN is the largest `ord`.

    >>> from windrow import agg
    >>> a = agg.max_by(); a.lower(a.combine(a.lift("ann", 3), a.lift("bob", 5)))
    'bob'
    """
    return bind(MAX_BY, columns)


def min_by(*columns: str) -> Aggregate:
    """`min_by(x, ord)`: x of the row with the smallest `ord`, the first of them in arrival order.

    The partial is (ord, x); selective, not commutative (ties). Rows whose `ord` is null are skipped, a null x is an
    answer, as in Spark; NaN is the largest `ord`.

    >>> from windrow import agg
    >>> a = agg.min_by(); a.lower(a.combine(a.lift("ann", 3), a.lift("bob", 5)))
    'ann'
    """
    return bind(MIN_BY, columns)


def first(*columns: str, ignorenulls: bool = True) -> Aggregate:
    """The first value that is not null; with `ignorenulls=False` (what Spark's `first` does unasked) the first row's.

    The partial is the value; selective, not commutative.

    >>> from windrow import agg
    >>> a = agg.first(); a.lower(a.combine(a.lift(3), a.lift(5)))
    3
    """
    return bind(FIRST[bool(ignorenulls)], columns)


def last(*columns: str, ignorenulls: bool = True) -> Aggregate:
    """The last value that is not null; with `ignorenulls=False` (what Spark's `last` does unasked) the last row's.

    The partial is the value; selective, not commutative.

    >>> from windrow import agg
    >>> a = agg.last(); a.lower(a.combine(a.lift(3), a.lift(5)))
    5
    """
    return bind(LAST[bool(ignorenulls)], columns)
