"""What a window or an aggregate is, to the last digit and the last line of its functions: for saved state."""

from __future__ import annotations

import dataclasses
from types import FunctionType, NoneType
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.windows.base import Measure


def facts(thing: Any) -> str:
    """A short text, the same in every process, that differs where two things of a query do.

    A user's functions count to the last line (as Python's version compiles it), windrow's own by their names.

    >>> from windrow import win
    >>> facts(win.last(3, every="5 s")) == facts(win.last(3, every="5 s", origin=1))
    False
    >>> facts(win.punctuated(lambda row: row.v > 1)) == facts(win.punctuated(lambda row: row.v > 2))
    False
    """
    return fingerprint(repr(_parts(thing)))[:16]


def _parts(thing: Any) -> Any:
    if isinstance(thing, Aggregate):
        functions = (thing.core_lift, thing.core_combine, thing.core_lower)
        return [thing.name, thing.columns, thing.needs, [_function(function) for function in functions]]
    if isinstance(thing, type):
        return [thing.__qualname__, [(n, _parts(v)) for n, v in sorted(vars(thing).items()) if _matters(n, v)]]
    if isinstance(thing, FunctionType):
        return _code(thing)
    if isinstance(thing, Measure):
        return [type(thing).__name__, [(name, _parts(value)) for name, value in thing._asdict().items()]]
    if isinstance(thing, (tuple, list)):
        return [_parts(part) for part in thing]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = (f for f in dataclasses.fields(thing) if f.metadata.get("identity", True))
        values = [(f.name, _parts(getattr(thing, f.name))) for f in fields]
        return [
            _parts(type(thing)) if not type(thing).__module__.startswith("windrow.") else type(thing).__name__,
            values,
        ]
    if hasattr(thing, "__dict__"):
        return [_parts(type(thing)), [(name, _parts(value)) for name, value in sorted(vars(thing).items())]]
    return repr(thing)


def _matters(name: str, value: Any) -> bool:
    if isinstance(value, FunctionType):
        return not name.startswith("__")
    return isinstance(value, (int, float, str, tuple)) and name not in ("__module__", "__doc__", "__qualname__")


def _function(function: Any) -> Any:
    """One of windrow's own by its name and what it was made with: state outlives a change of its code."""
    if not isinstance(function, FunctionType) or not function.__module__.startswith("windrow."):
        return _code(function)
    made_with = [cell.cell_contents for cell in function.__closure__ or ()]
    return [function.__qualname__, [_option(value) for value in made_with], function.__defaults__]


def _option(value: Any) -> Any:
    """What an aggregate was made with: plain values by what they are, anything else by what it is called."""
    if isinstance(value, (int, float, str, bytes, tuple, list, dict, NoneType)):
        return repr(value)
    return _function(value) if callable(value) else getattr(value, "__name__", type(value).__qualname__)


def _code(function: Any) -> str:
    try:
        return fingerprint(function)
    except Unhashable:
        return getattr(function, "__qualname__", "")
