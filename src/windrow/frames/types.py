"""What a column holds, in words that are no library's: the language in which a result's columns are told.

A library's frame reads the types of its columns (`Frame.type`) and knows its own type for each of these
(`Frame.dtype_of`). A type that came from a column keeps the library's own, so that what is like a column has its width,
its zone and its categories.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np

from windrow.engine.inputs import Column, object_array
from windrow.errors import WindrowError

Name = Literal[
    "int", "uint", "float", "bool", "text", "bytes", "decimal", "date", "timestamp", "duration", "time", "list",
    "struct", "object", "null",
]  # fmt: skip
#: how the engine keeps columns; all others are objects
KINDS = {"int": "int64", "uint": "int64", "date": "int64", "timestamp": "int64", "duration": "int64"}
KINDS |= {"float": "float64", "bool": "bool"}
#: digits of a decimal, at most
DIGITS = 38
_WIDE = Context(prec=2 * DIGITS)


class Order:
    """The categories of a column whose type puts them in order, the lowest first. A rank is a place among them."""

    def __init__(self, read: Callable[[], Sequence[Any]]) -> None:
        """`read` gives the categories as the column's values are read; it is called when they are needed."""
        self._read = read

    @cached_property
    def categories(self) -> np.ndarray:
        """As Python's objects."""
        return object_array(list(self._read()))

    @cached_property
    def _ranks(self) -> dict[Any, int]:
        return {category: rank for rank, category in enumerate(self.categories.tolist())}

    def stranger(self, column: Column) -> Any:
        """A value that is no category; None: there is none."""
        return next((value for value in set(column.objects()) - {None} if value not in self._ranks), None)

    def ranks(self, column: Column) -> Column:
        """The ranks of a column's values, all of which are categories."""
        ranks = self._ranks
        try:
            found = np.fromiter((0 if value is None else ranks[value] for value in column.objects()), np.int64)
        except KeyError as error:
            raise WindrowError(f"{error.args[0]!r} is none of the categories") from None
        return Column(found, column.mask, found.dtype)

    def read(self, ranks: np.ndarray, there: np.ndarray | None) -> np.ndarray:
        """The categories of ranks, or lists of them for lists."""
        if ranks.dtype == object:
            return object_array([self._category(rank) for rank in ranks.tolist()])
        known = ranks if there is None else ranks[there]
        if len(known) and not 0 <= known.min() <= known.max() < len(self.categories):
            raise WindrowError(f"there are {len(self.categories)} categories, and a rank beyond them")
        found = np.full(len(ranks), None, object)
        found[slice(None) if there is None else there] = self.categories[known]
        return found

    def _category(self, rank: Any) -> Any:
        if isinstance(rank, list):
            return [self._category(each) for each in rank]
        return None if rank is None else self.categories[rank]


@dataclass(frozen=True, eq=False)
class Type:
    """The type of a column.

    "object": Python's objects, of which nothing else is told. "null": no value has told anything yet.
    """

    name: Name
    bits: int = 64  # of int, uint and float
    unit: str = ""  # of timestamp and duration, as NumPy's
    zone: Any = None  # of timestamp
    precision: int = DIGITS  # of decimal
    scale: int = 0
    item: Type | None = None  # of list
    fields: tuple[tuple[str, Type], ...] = ()  # of struct
    null: bool = True  # a null may be among the values
    library: str = ""  # whose type this is: "" where it was not read from a column
    own: Any = None  # that library's own type
    order: Order | None = None  # of categories that are compared by their places
    dtypes: dict[str, Any] = field(default_factory=dict, repr=False)  # for each library its type, found out once

    @property
    def kind(self) -> str:
        """How the engine keeps such a column."""
        return KINDS.get(self.name, "object")

    @property
    def told(self) -> bool:
        """Whether anything is known of the values."""
        return self.name != "null"

    def but(self, **changes: Any) -> Type:
        """The same type with some changes; other than `null`, they make it no library's own."""
        if set(changes) != {"null"}:
            changes |= {"library": "", "own": None, "order": None}
        return replace(self, dtypes={}, **changes)

    def nullable(self, null: bool) -> Type:
        """The same type, with nulls among the values or without."""
        return self if null == self.null else self.but(null=null)


INT64, FLOAT64, BOOL = Type("int"), Type("float"), Type("bool")
TEXT, BYTES, DATE, CLOCK = Type("text"), Type("bytes"), Type("date", unit="D"), Type("time")
OBJECT, NULL = Type("object"), Type("null")
#: by the names that `returns=` takes where pyarrow is not at hand
NAMED = {"int64": INT64, "float64": FLOAT64, "double": FLOAT64, "bool": BOOL, "string": TEXT, "binary": BYTES}


def of_dtype(dtype: np.dtype, **more: Any) -> Type:
    """The type of NumPy's arrays of numbers, bools and times; OBJECT for all others."""
    kind, bits = dtype.kind, 8 * dtype.itemsize
    if kind in "iu":
        return Type("int" if kind == "i" else "uint", bits, **more)
    if kind == "f" and bits <= 64:
        return Type("float", bits, **more)
    if kind == "b":
        return Type("bool", **more)
    if kind in "mM":
        unit, count = np.datetime_data(dtype)
        if kind == "M" and unit == "D" and count == 1:
            return Type("date", unit="D", **more)
        return Type("timestamp" if kind == "M" else "duration", unit=unit, **more)
    return Type("text" if kind in "UT" else "bytes" if kind == "S" else "object", **more)


def of_value(value: Any) -> Type:
    """The type of one of Python's values; NULL where it tells none."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    for python, kind in _PYTHON:
        if isinstance(value, python):
            return kind
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return Type("decimal", scale=max(0, -exponent) if isinstance(exponent, int) else 0)
    if isinstance(value, datetime.datetime):
        return Type("timestamp", unit="us", zone=value.tzinfo)
    if isinstance(value, datetime.date):
        return DATE
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return of_dtype(value.dtype)
    if isinstance(value, dict):
        return Type("struct", fields=tuple((str(name), of_value(part)) for name, part in value.items()))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return of_value(dict(zip(value._fields, value, strict=True)))
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)) and len(value):
        items = [of_value(part) for part in value]
        if len({item.name for item in items}) == 1:
            return Type("list", item=items[0]) if items[0].told else NULL
        if isinstance(value, tuple):
            return Type("struct", fields=tuple((f"_{i}", item) for i, item in enumerate(items, 1)))
    return NULL


_PYTHON: tuple[tuple[type, Type], ...] = (
    (bool, BOOL), (int, INT64), (float, FLOAT64), (str, TEXT), (bytes, BYTES), (datetime.time, CLOCK),
    (datetime.timedelta, Type("duration", unit="us")),
)  # fmt: skip

_EXAMPLES: dict[str, Callable[[Type, int], Any]] = {
    "int": lambda t, i: i,
    "uint": lambda t, i: i,
    "float": lambda t, i: float(i),
    "bool": lambda t, i: i % 2 == 0,
    "text": lambda t, i: "abcdefghij"[i % 10],
    "bytes": lambda t, i: bytes([i]),
    "decimal": lambda t, i: Decimal(i).scaleb(-t.scale),
    "date": lambda t, i: np.datetime64(i, "D"),
    "timestamp": lambda t, i: np.datetime64(i, "D").astype(f"M8[{t.unit}]"),
    "duration": lambda t, i: np.timedelta64(i, "D").astype(f"m8[{t.unit}]"),
    "time": lambda t, i: datetime.time(i % 24),
    "list": lambda t, i: [None if t.item is None else example(t.item, i)],
    "struct": lambda t, i: {name: example(part, i) for name, part in t.fields},
}


def example(of: Type, i: int) -> Any:
    """A value of the type as the plain engine sees it, another one for another i below 10; None: nothing is known."""
    made = _EXAMPLES.get(of.name)
    return None if made is None else made(of, i)


def fitting(array: np.ndarray, mask: np.ndarray | None, to: Type) -> np.ndarray:
    """Objects as a type wants them: decimals have its scale. A quotient of decimals has digits without end."""
    if to.name != "decimal" or array.dtype != object or to.library == "pandas":
        return array
    one = Decimal(1).scaleb(-to.scale)
    found = array.copy()
    for i, value in enumerate(array.tolist()):
        if isinstance(value, Decimal) and value.is_finite():
            exponent = value.as_tuple().exponent
            if isinstance(exponent, int) and exponent < -to.scale:
                found[i] = value.quantize(one, ROUND_HALF_UP, _WIDE)
    return found
