"""Users' functions of a row, compiled: rows are made inside one loop over columns, never one call a row.

A row is a named tuple (`row_views.row_class`) there, too. A field of a column with nulls is optional: None where the
value is missing. What numba cannot do runs in plain Python instead, with the same answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.inputs import Column, all_there
from windrow.engine.kernel import cached, inlined, mode_now, whole
from windrow.engine.row_views import numbers, row_class

#: rows that a user's code sees in plain Python before it is worth the second or two that compiling it takes
COMPILE_AFTER = 50_000
#: rows in one call below which plain Python is done before a compiled loop is found and called
SMALL = 1000
_seen: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def worth_compiling(code: Any, rows: int) -> bool:
    """Whether a user's function or class has seen enough rows, these included, and these are not too few."""
    _seen[code] = min(_seen.get(code, 0) + rows, COMPILE_AFTER)
    return rows >= SMALL and _seen[code] >= COMPILE_AFTER and mode_now() != "never"


def key_of(*code: Any) -> str | None:
    """A fingerprint of users' code and of all that it refers to (numba takes globals for constants), or None."""
    try:
        return fingerprint(*code)
    except (Unhashable, RecursionError):
        return None


def kinds_of(columns: Mapping[str, Column], names: Sequence[str]) -> tuple[tuple[str, bool], ...] | None:
    """The type of each column and whether it has nulls; None where one of them is of objects."""
    kinds = tuple((columns[name].kind, columns[name].mask is not None) for name in names)
    return None if any(kind == "object" for kind, _ in kinds) else kinds


def arrays_of(columns: Mapping[str, Column], names: Sequence[str], full: bool = False) -> tuple[tuple, tuple]:
    """Values and masks as kernels take them; `full`: masks where there are no nulls, too."""
    values, masks = [], []
    for name in names:
        column = columns[name]
        values.append(_read_only(numbers(column)))
        mask = column.mask
        masks.append(all_there(len(column.values) if full else 0) if mask is None else _read_only(mask))
    return tuple(values), tuple(masks)


def _read_only(array: Any) -> np.ndarray:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def row_source(kinds: Sequence[tuple[str, bool]], values: str = "columns", masks: str = "masks", at: str = "i") -> str:
    """The code that makes row `at` of columns of these kinds, with `Row` and `optional` in its scope."""
    fields = [
        f"optional({values}[{j}][{at}], {masks}[{j}][{at}])" if nulls else f"{values}[{j}][{at}]"
        for j, (_, nulls) in enumerate(kinds)
    ]
    return f"Row({', '.join(fields)})"


@inlined("numpy")
def optional(value, there):
    return value if there else None


def scope_of(names: tuple[str, ...]) -> dict[str, Any]:
    """What the code of `row_source` refers to."""
    return {"Row": row_class(names), "optional": optional}


def compiled(source: str, name: str, scope: dict[str, Any], arguments: tuple, on_disk: bool = True) -> Any:
    """The function `name` of `source`, compiled for these arguments; None where numba refuses it.

    Users' code in it that has no error model of its own, such as a class's methods, takes this one.
    """
    exec(source, scope)
    return compile_quietly(whole("checked")(scope[name]), arguments, on_disk)


def compile_quietly(kernel: Any, arguments: tuple, on_disk: bool = True) -> Any:
    """The kernel, compiled for these arguments; None where numba refuses it.

    Casts that lose something are refused, too: plain Python would not have made them.
    """
    from numba import typeof
    from numba.core.errors import NumbaTypeSafetyWarning

    from windrow.engine import row_overloads  # noqa: F401 - rows have fields by name

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", NumbaTypeSafetyWarning)
        try:
            compiled = (cached(kernel) if on_disk else kernel).dispatcher
            compiled.compile(tuple(typeof(argument) for argument in arguments))
        except Exception:  # whatever numba says to code that is not for it
            return None
    return compiled
