"""bool_and and bool_or."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.aggregates.arithmetic import the_first
from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import bind
from windrow.errors import WrongType


def lift_truth(x: Any) -> tuple[bool]:
    if not isinstance(x, (bool, int, np.bool_, np.integer)):
        raise WrongType(f"true or false is needed, not {x!r}")
    return (bool(x),)


def lift_nonzero(x):
    return (x != 0,)


def both(a, b):
    return (a[0] & b[0],)


def either(a, b):
    return (a[0] | b[0],)


def numeric_and(dtypes: Sequence[str]) -> Numeric | None:
    sql = ("bool_and(CAST({0} AS BOOLEAN))",)
    return None if dtypes[0] == "float64" else Numeric(lift_nonzero, both, the_first, (True,), answer="bool", sql=sql)


def numeric_or(dtypes: Sequence[str]) -> Numeric | None:
    sql = ("bool_or(CAST({0} AS BOOLEAN))",)
    return (
        None if dtypes[0] == "float64" else Numeric(lift_nonzero, either, the_first, (False,), answer="bool", sql=sql)
    )


BOOL_AND = Builtin(
    "bool_and", lift_truth, both, the_first, commutative=True, selective=True, result="bool", numeric=numeric_and
)
BOOL_OR = Builtin(
    "bool_or", lift_truth, either, the_first, commutative=True, selective=True, result="bool", numeric=numeric_or
)


def bool_and(*columns: str, where: Any = None) -> Aggregate:
    """True where every value is true (or an int other than 0). Nulls are skipped.

    The partial is one bool; commutative and selective.

    >>> from windrow import agg
    >>> a = agg.bool_and(); a.lower(a.combine(a.lift(True), a.lift(False)))
    False
    """
    return bind(BOOL_AND, columns, where)


def bool_or(*columns: str, where: Any = None) -> Aggregate:
    """True where some value is true (or an int other than 0). Nulls are skipped.

    The partial is one bool; commutative and selective.

    >>> from windrow import agg
    >>> a = agg.bool_or(); a.lower(a.combine(a.lift(True), a.lift(False)))
    True
    """
    return bind(BOOL_OR, columns, where)
