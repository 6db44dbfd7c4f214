"""Rows as users' functions see them: `row.price`, `row["price"]`; times are int64 microseconds, null is None.

Only the columns that the code reads are looked at, where its bytecode tells which those are.
"""

from __future__ import annotations

import dis
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from windrow.engine.inputs import Column


def numbers(column: Column) -> np.ndarray:
    """The column's values; times and durations in microseconds, whatever unit they came in.

    >>> column = Column(np.array([1, -1]), None, np.dtype("M8[s]")); numbers(column).tolist()
    [1000000, -1000000]
    """
    if column.dtype.kind not in "mM" or column.values.dtype == object:
        return column.values
    unit, count = np.datetime_data(column.dtype)
    if (unit, count) == ("us", 1):
        return column.values
    if unit in ("ns", "ps", "fs", "as"):
        divisor = 1000 ** (("ns", "ps", "fs", "as").index(unit) + 1)
        return column.values * count // divisor
    return column.values.view(column.dtype).astype(f"{column.dtype.kind}8[us]").view(np.int64)


def objects(column: Column) -> list:
    """The column's values as Python's own objects, None for null."""
    listed = numbers(column).tolist()
    if column.mask is None:
        return listed
    return [value if there else None for value, there in zip(listed, column.mask.tolist(), strict=True)]


@cache
def row_class(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns: a named tuple whose items can be had by name, too.

    >>> row = row_class(("price", "odd name"))(3, 4); row.price, row["price"], row["odd name"]
    (3, 3, 4)
    """
    places = {name: place for place, name in enumerate(names)}
    base: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]

    def getitem(self: Any, key: Any) -> Any:
        if isinstance(key, str):
            try:
                key = places[key]
            except KeyError:
                raise KeyError(f"there is no column {key!r} (there are {', '.join(names)})") from None
        return tuple.__getitem__(self, key)

    def getattr_(self: Any, name: str) -> Any:  # called where there is no such field
        if name in places:  # a name that fields may not have, such as _x
            return tuple.__getitem__(self, places[name])
        raise AttributeError(f"there is no column {name!r} (there are {', '.join(names)})")

    members = {"__slots__": (), "__getitem__": getitem, "__getattr__": getattr_, "names": names}
    # the names are in its name, too, because kernels are kept on disk under it
    return type("Row", (base,), {**members, "__qualname__": f"Row{names!r}"})


def row_maker(names: tuple[str, ...]) -> Callable[[tuple], Any]:
    """Tuple -> row, without a call of Python code."""
    return partial(tuple.__new__, row_class(names))


def views(columns: Mapping[str, Column], names: tuple[str, ...], start: int, end: int) -> Iterator[Any]:
    """The rows from `start` to `end`, of these columns."""
    if not names:
        empty = row_class(())()
        return (empty for _ in range(start, end))
    cut = [_cut(columns[name], start, end) for name in names]
    return map(row_maker(names), zip(*map(objects, cut), strict=True))


def _cut(column: Column, start: int, end: int) -> Column:
    return Column(column.values[start:end], None if column.mask is None else column.mask[start:end], column.dtype)


def read_by(function: Any) -> tuple[str, ...] | None:
    """The columns that a function of the row reads, sorted; None: the code does not tell, it may be any.

    >>> read_by(lambda row: row.price < 10 and row["side"] == "buy")
    ('price', 'side')
    >>> read_by(lambda row: sum(row)) is None
    True
    """
    if not isinstance(function, FunctionType) or not function.__code__.co_argcount:
        return None
    return _read(function.__code__, 0)


def read_by_method(owner: type, name: str) -> tuple[str, ...] | None:
    """The same for a method `name(self, row)` of a class."""
    method = next((vars(each)[name] for each in owner.__mro__ if name in vars(each)), None)
    if not isinstance(method, FunctionType) or method.__code__.co_argcount < 2:
        return None
    return _read(method.__code__, 1)


@lru_cache(256)
def _read(code: CodeType, at: int) -> tuple[str, ...] | None:
    """What is read of argument `at`: each use must be `.name` or `["name"]`, else it gets out of sight."""
    row = code.co_varnames[at]
    if row in code.co_cellvars:
        return None
    found: set[str] = set()
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    for here, step in enumerate(steps):
        used = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if row not in used or "FAST" not in step.opname:
            continue
        if step.opname not in ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK") or here + 2 >= len(steps):
            return None
        name = _taken(steps[here + 1], steps[here + 2])
        if name is None or name in ("_asdict", "_fields", "_make", "_replace", "names"):
            return None
        found.add(name)
    return tuple(sorted(found))


def _taken(first: dis.Instruction, second: dis.Instruction) -> str | None:
    """The name in `.name` or `["name"]`."""
    if first.opname == "LOAD_ATTR" and isinstance(first.argval, str):
        return first.argval
    subscript = second.opname == "BINARY_SUBSCR" or (second.opname == "BINARY_OP" and second.argrepr == "[]")
    if first.opname == "LOAD_CONST" and subscript and isinstance(first.argval, str):
        return first.argval
    return None


def mentioned(functions: Sequence[Any]) -> set[str]:
    """Every name and text in the code of these functions, and of those within them."""
    found: set[str] = set()
    codes = [function.__code__ for function in functions if isinstance(function, FunctionType)]
    while codes:
        code = codes.pop()
        found.update(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes.append(constant)
            elif isinstance(constant, str):
                found.add(constant)
    return found
