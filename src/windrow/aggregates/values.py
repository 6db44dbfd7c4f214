"""What the families share: reading values and options, and binding a maker's columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.errors import OptionError, WindrowError, WrongType

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Expression(str):
    """What an aggregate takes instead of a column: the text of an expression. `windrow.expr` makes it."""

    def __repr__(self) -> str:
        return f"Expression({str(self)!r})"


def bind(aggregate: Aggregate, columns: Sequence[str | None], where: Any = None) -> Aggregate:
    """The aggregate over `columns`, or bare where there are none; of the rows where `where` holds."""
    named = [column for column in columns if column is not None]
    for column in named:
        if not isinstance(column, str):
            raise WindrowError(
                f"{aggregate.name} takes column names or windrow.expr(...), got {column!r}; "
                "options go by keyword where no column is named"
            )
    if named and len(named) < len(columns):
        raise WindrowError(f"{aggregate.name} takes {len(columns)} columns, got {len(named)}: {', '.join(named)}")
    return aggregate(*named, where=where) if named or where is not None else aggregate


def without_condition(aggregate: Aggregate, what: str) -> None:
    """Raises where an aggregate has a condition or an expression, which only a query reads."""
    if aggregate.where is not None or any(isinstance(column, Expression) for column in aggregate.columns):
        raise WindrowError(f"{what} takes no condition (where=) and no windrow.expr; {aggregate!r} has one")


def encodes(text: str) -> bool:
    r"""Whether UTF-8 can hold it: not where it has half of a surrogate pair.

    >>> encodes("\N{GRINNING FACE}"), encodes("\ud83d")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def at_least_one(name: str, option: str, value: Any) -> int:
    """An option that is a count: an int of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OptionError(f"{name}: {option} must be an integer of 1 or more, got {value!r}")
    return int(value)


def between(name: str, option: str, value: Any, low: float, high: float) -> float:
    """An option that is a number strictly between `low` and `high`."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not low < value < high:
        raise OptionError(f"{name}: {option} must be a number between {low} and {high}, got {value!r}")
    return float(value)


def one_of(name: str, option: str, value: Any, allowed: Sequence[Any]) -> Any:
    if value not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise OptionError(f"{name}: {option} must be one of {choices}, got {value!r}")
    return value


def where(defined: Callable[[Any], bool], value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The plain `lower` of a compiled pair: `value`, or None where it is not `defined`.

    The compiled form computes `value` where it is not defined too: there it must be NaN, not a division by zero.
    """

    def lower(p: Any) -> Any:
        return value(p) if defined(p) else None

    return lower


def native(x: Any) -> Any:
    """A number as Python's own, so that ints never wrap (NumPy's do) and True counts as 1."""
    if isinstance(x, (bool, np.bool_)):
        return int(x)
    if isinstance(x, (np.floating, np.integer)) and not isinstance(x, np.timedelta64):
        return x.item()
    if isinstance(x, (str, bytes, list, tuple)):  # "a" + "b" would be a sum of its own kind
        raise WrongType(f"a number is needed, not {x!r}")
    return x


def whole_number(x: Any) -> int:
    """A number of a window as an int of 64 bits; an error where it is none: `int(2.9)` would be 2."""
    if isinstance(x, float) and not x.is_integer():
        raise WindrowError(f"the window held {x!r} before, and integers come now; one type is needed")
    return int(x)


def real(x: Any) -> float:
    """A number as a float. `float("3")` would take text for a number."""
    if isinstance(x, (str, bytes)):
        raise WrongType(f"a number is needed, not {x!r}")
    return float(x)


def canonical(x: Any) -> Any:
    """One object for all values that Spark's grouping takes as equal: every NaN is `math.nan`, -0.0 is 0.0."""
    if isinstance(x, (float, np.floating)):
        if x != x:
            return math.nan  # a dict finds it by identity
        return 0.0 if x == 0 else float(x)
    return x
