"""A user's function of the row over columns: where it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.kernel import whole
from windrow.engine.row_kernels import arrays_of, compiled, key_of, kinds_of, row_source, scope_of, worth_compiling
from windrow.engine.row_views import views
from windrow.errors import WindrowError

_kernels: dict[Any, Any] = {}  # None: it does not compile


def holds(
    function: Callable[[Any], Any],
    columns: Mapping[str, Column],
    names: tuple[str, ...] | None,
    n: int,
    form: str = "auto",
) -> np.ndarray:
    """For each row whether the function gives something true; None is not.

    Args:
        names: the columns that it reads; None: all of them.
        form: "plain" or "compiled" instead of "auto", which begins plain and compiles what many rows go through.
    """
    chosen = _known(names, columns)
    if isinstance(function, FunctionType) and form != "plain" and (form == "compiled" or worth_compiling(function, n)):
        found = _run_compiled(function, columns, chosen, n)
        if found is not None:
            return found
        if form == "compiled":
            raise WindrowError(f"{function!r} does not compile for these columns")
    return _run_plain(function, columns, chosen, n)


def _known(names: tuple[str, ...] | None, columns: Mapping[str, Column]) -> tuple[str, ...]:
    if names is None:
        return tuple(columns)
    for name in names:
        if name not in columns:
            raise WindrowError(f"the function reads a column {name!r}; there are {', '.join(map(repr, columns))}")
    return names


def _run_plain(function: Callable, columns: Mapping[str, Column], names: tuple[str, ...], n: int) -> np.ndarray:
    found: list[bool] = []
    add = found.append
    try:
        for row in views(columns, names, 0, n):
            add(bool(function(row)))
    except Exception as error:
        error.add_note(f"in the predicate, at row {len(found)}")
        raise
    return np.array(found, bool)


def _run_compiled(function: Any, columns: Any, names: tuple, n: int) -> np.ndarray | None:
    """None where numba cannot do it, or something is raised: the plain form says it better, and names the row."""
    key, kinds = key_of(function), kinds_of(columns, names)
    if key is None or kinds is None:
        return None
    arguments = (*arrays_of(columns, names), np.empty(n, bool))
    if (key, names, kinds) not in _kernels:
        scope = {**scope_of(names), "function": whole("checked")(function)}
        source = (
            "def run(columns, masks, out):\n"
            "    for i in range(len(out)):\n"
            f"        out[i] = bool(function({row_source(kinds)}))\n"
        )
        _kernels[key, names, kinds] = compiled(source, "run", scope, arguments)
    run = _kernels[key, names, kinds]
    if run is None:
        return None
    try:
        run(*arguments)
    except Exception:
        return None
    return arguments[-1]
