"""max_by, min_by, first, last: the value of one row out of all.

Partials carry a flag "there is a row" at the end. In plain Python it is always True (None is the identity); compiled,
it tells the identity from a row, which no number could: an `ord` of -inf is a row's as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


# Compiled by a float: `ord` becomes an int64 of the same order (NaN the largest), below which there is room for the
# identity, and x its bits. So both are selected by integer arithmetic, without a branch that nobody can predict.

TOP = 0x7FFFFFFFFFFFFFFF
NAN_KEY = TOP - 1  # above the key of inf; no number has it


def lift_keyed(x, ord):
    bits = np.float64(ord + 0.0).view(np.int64)  # + 0.0: -0.0 is 0.0
    return (bits ^ ((bits >> 63) & TOP) if ord == ord else NAN_KEY, int(x))


def lift_keyed_float(x, ord):
    bits = np.float64(ord + 0.0).view(np.int64)
    return (bits ^ ((bits >> 63) & TOP) if ord == ord else NAN_KEY, np.float64(x).view(np.int64))


def lift_min_keyed(x, ord):
    bits = np.float64(ord + 0.0).view(np.int64)
    return (~(bits ^ ((bits >> 63) & TOP)) if ord == ord else ~NAN_KEY, int(x))


def lift_min_keyed_float(x, ord):
    bits = np.float64(ord + 0.0).view(np.int64)
    return (~(bits ^ ((bits >> 63) & TOP)) if ord == ord else ~NAN_KEY, np.float64(x).view(np.int64))


def combine_keyed(a, b):
    newer = -np.int64(b[0] > a[0])  # all bits or none
    return (a[0] ^ ((a[0] ^ b[0]) & newer), a[1] ^ ((a[1] ^ b[1]) & newer))


def lower_bits(p):
    return np.int64(p[1]).view(np.float64)


def lower_flag(p):
    return p[1] != 0


def unkeyed(key: int) -> float:
    """The float of a key."""
    return math.nan if key == NAN_KEY else float(np.int64(key ^ ((key >> 63) & TOP)).view(np.float64))


def keyed(lift_ints, lift_floats, sign) -> Callable[[str], Numeric]:
    """The keyed form for x of either type; `sign` turns keys round for min_by."""

    def form(x_dtype: str) -> Numeric:
        lower = {"float64": lower_bits, "int64": the_second, "bool": lower_flag}[x_dtype]
        lift = lift_floats if x_dtype == "float64" else lift_ints
        native = {"float64": float, "int64": int, "bool": bool}[x_dtype]
        return Numeric(
            lift,
            combine_keyed,
            lower,
            (-TOP - 1, 0),
            answer=x_dtype,
            restores_input=True,
            carries=None if x_dtype == "float64" else 1,
            freeze=lambda p: tuple(int(v) for v in lift(p[1], p[0])),
            thaw=lambda p: (unkeyed(sign(int(p[0]))), native(lower(p)), True),
        )

    return form


MAX_KEYED = keyed(lift_keyed, lift_keyed_float, lambda key: key)
MIN_KEYED = keyed(lift_min_keyed, lift_min_keyed_float, lambda key: ~key)


def numeric_max_by(dtypes: Sequence[str]) -> Numeric:
    if dtypes[1] == "float64":
        return MAX_KEYED(dtypes[0])
    identity = (LOWEST[dtypes[1]], ZERO[dtypes[0]], False)
    return Numeric(lift_by, combine_max_by, the_second, identity, answer=None, restores_input=True, carries=1)


def numeric_min_by(dtypes: Sequence[str]) -> Numeric:
    if dtypes[1] == "float64":
        return MIN_KEYED(dtypes[0])
    identity = (HIGHEST[dtypes[1]], ZERO[dtypes[0]], False)
    return Numeric(lift_by, combine_min_by, the_second, identity, answer=None, restores_input=True, carries=1)


def numeric_first(dtypes: Sequence[str]) -> Numeric:
    identity = (ZERO[dtypes[0]], False)
    return Numeric(lift_present, combine_first, the_first, identity, answer=None, restores_input=True, carries=0)


def numeric_last(dtypes: Sequence[str]) -> Numeric:
    identity = (ZERO[dtypes[0]], False)
    return Numeric(lift_present, combine_last, the_first, identity, answer=None, restores_input=True, carries=0)


def pick_by(name: str, combine: Callable, numeric: Callable) -> Builtin:
    return Builtin(
        name,
        lift_by,
        combine,
        the_second,
        selective=True,
        needs=(1,),
        carries_label=True,
        compares=(1,),
        numeric=numeric,
    )


MAX_BY = pick_by("max_by", combine_max_by, numeric_max_by)
MIN_BY = pick_by("min_by", combine_min_by, numeric_min_by)


def pick(name: str, combine: Callable, numeric: Callable, needs: tuple[int, ...] | None) -> Builtin:
    return Builtin(
        name, lift_present, combine, the_first, selective=True, needs=needs, carries_label=True, numeric=numeric
    )


FIRST = {
    True: pick("first", combine_first, numeric_first, None),
    False: pick("first", combine_first, numeric_first, ()),
}
LAST = {True: pick("last", combine_last, numeric_last, None), False: pick("last", combine_last, numeric_last, ())}


def max_by(*columns: str, where: Any = None) -> Aggregate:
    """`max_by(x, ord)`: x of the row with the largest `ord`, the first of them in arrival order.

    The partial is (ord, x); selective, not commutative (ties). Rows whose `ord` is null are skipped, a null x is an
    answer, as in Spark; NaN is the largest `ord`.

    >>> from windrow import agg
    >>> a = agg.max_by(); a.lower(a.combine(a.lift("ann", 3), a.lift("bob", 5)))
    'bob'
    """
    return bind(MAX_BY, columns, where)


def min_by(*columns: str, where: Any = None) -> Aggregate:
    """`min_by(x, ord)`: x of the row with the smallest `ord`, the first of them in arrival order.

    The partial is (ord, x); selective, not commutative (ties). Rows whose `ord` is null are skipped, a null x is an
    answer, as in Spark; NaN is the largest `ord`.

    >>> from windrow import agg
    >>> a = agg.min_by(); a.lower(a.combine(a.lift("ann", 3), a.lift("bob", 5)))
    'ann'
    """
    return bind(MIN_BY, columns, where)


def first(*columns: str, ignorenulls: bool = True, where: Any = None) -> Aggregate:
    """The first value that is not null; with `ignorenulls=False` (what Spark's `first` does unasked) the first row's.

    The partial is the value; selective, not commutative.

    >>> from windrow import agg
    >>> a = agg.first(); a.lower(a.combine(a.lift(3), a.lift(5)))
    3
    """
    return bind(FIRST[bool(ignorenulls)], columns, where)


def last(*columns: str, ignorenulls: bool = True, where: Any = None) -> Aggregate:
    """The last value that is not null; with `ignorenulls=False` (what Spark's `last` does unasked) the last row's.

    The partial is the value; selective, not commutative.

    >>> from windrow import agg
    >>> a = agg.last(); a.lower(a.combine(a.lift(3), a.lift(5)))
    5
    """
    return bind(LAST[bool(ignorenulls)], columns, where)
