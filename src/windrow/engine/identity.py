"""What a window or an aggregate is, to the last digit and the last line of its functions: for saved state.

State may go on only where the same is computed. Built-in aggregates and windows are compared by name, options and
parts, so that their state outlives a change of windrow's own code. A user's functions are compared by their code: the
bytecode, constants, defaults, what they are closed over, and the globals that they read. The limits:

* Functions and classes that a user's function calls are followed within its own package; those of other packages, and
  everything in C, count by their names.
* An object of a user's class counts by the attributes it has now, a list or dict by what is in it now. So a function
  that counts its calls is another one after each call. What shows nothing of itself counts by its type.
* Bytecode belongs to a version of Python. `Described` says so, and leaves functions of two versions uncompared.
"""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from types import FunctionType, MethodType, ModuleType, NoneType
from typing import Any, NamedTuple

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.fingerprint import fingerprint, global_names

PLAIN = (bool, int, float, complex, str, bytes, NoneType)


def facts(thing: Any) -> str:
    """A short text, the same in every process, that differs where two things of a query do.

    >>> from windrow import agg, win
    >>> facts(win.last(3, every="5 s")) == facts(win.last(3, every="5 s", origin=1))
    False
    >>> facts(win.punctuated(lambda row: row.v > 1)) == facts(win.punctuated(lambda row: row.v > 2))
    False
    >>> facts(agg.join(agg.top_k(k=2), agg.max())) == facts(agg.join(agg.top_k(k=3), agg.max()))
    False
    """
    return fingerprint(repr(_Walk().parts(thing)))[:16]


class Described(NamedTuple):
    """An aggregate as saved state names it."""

    name: str  # for people, with columns and parts
    options: str  # all of it but the code of a user's functions
    python: str  # the version that compiled these
    code: str  # with their code

    def refuses(self, saved: Described) -> str | None:
        """Why state of the saved aggregate cannot go on as this one; None where it can."""
        if self.name != saved.name:
            return f"it is of {saved.name}, not of {self.name}"
        code = self.python == saved.python and self.code != saved.code
        if code or self.options != saved.options:
            return f"it is of another {saved.name}: its functions, options, parts or identity differ"
        return None


def described(aggregate: Aggregate) -> Described:
    """What is saved of an aggregate beside state of it.

    >>> from windrow import agg
    >>> described(agg.join(agg.sum("x"), agg.count())).name
    'join(sum(x), count())'
    """
    without_code = fingerprint(repr(_Walk(code=False).parts(aggregate)))[:16]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return Described(_name(aggregate), without_code, version, facts(aggregate))


def _name(aggregate: Aggregate) -> str:
    parts = getattr(aggregate, "parts", None)
    inner = [_name(part) for part, _ in parts] if parts else aggregate.columns
    return f"{aggregate.name}({', '.join(inner)})"


class _Walk:
    """Takes things apart into plain lists."""

    def __init__(self, code: bool = True) -> None:
        self.code = code
        self.path: list[int] = []  # what is being taken apart, so that a circle ends

    def parts(self, thing: Any) -> Any:
        if isinstance(thing, PLAIN):
            return repr(thing)
        if id(thing) in self.path:
            return "above"
        self.path.append(id(thing))
        try:
            return self._parts(thing)
        finally:
            self.path.pop()

    def _parts(self, thing: Any) -> Any:
        if isinstance(thing, Aggregate):
            return self._aggregate(thing)
        if isinstance(thing, type):
            return [thing.__qualname__, [(n, self.parts(v)) for n, v in sorted(vars(thing).items()) if _matters(n, v)]]
        if isinstance(thing, (staticmethod, classmethod, property)):
            return self.parts(thing.fget if isinstance(thing, property) else thing.__func__)
        if callable(thing) and not dataclasses.is_dataclass(thing):
            return self._code(thing)
        if isinstance(thing, (tuple, list)):
            return [self.parts(part) for part in thing]
        if isinstance(thing, dict):
            return [[self.parts(key), self.parts(value)] for key, value in thing.items()]
        if isinstance(thing, (set, frozenset)):
            return sorted(repr(self.parts(part)) for part in thing)
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            return [thing.dtype.str, thing.shape, fingerprint(thing.tobytes())]
        if dataclasses.is_dataclass(thing):
            fields = (f for f in dataclasses.fields(thing) if f.metadata.get("identity", True))
            values = [(f.name, self.parts(getattr(thing, f.name))) for f in fields]
            return [type(thing).__name__ if _ours(type(thing)) else self.parts(type(thing)), values]
        return self._object(thing)

    def _object(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return thing.__name__
        if hasattr(thing, "__dict__"):
            known = _ours(type(thing)) or _package(type(thing)) in sys.stdlib_module_names - {"__main__"}
            kind = type(thing).__qualname__ if known else self.parts(type(thing))
            return [kind, [(name, self.parts(value)) for name, value in sorted(vars(thing).items())]]
        shows = type(thing).__repr__ is not object.__repr__
        return repr(thing) if shows else f"{type(thing).__module__}.{type(thing).__qualname__}"

    def _aggregate(self, thing: Aggregate) -> Any:
        parts = getattr(thing, "parts", None)
        if parts:
            names = getattr(type(thing.empty), "_fields", ())
            return [thing.name, thing.columns, [[self.parts(part), at] for part, at in parts], names]
        functions = [self._function(f) for f in (thing.core_lift, thing.core_combine, thing.core_lower)]
        found = [thing.name, thing.columns, thing.needs, functions]
        return found if thing.builtin else [*found, self.parts(thing.identity), self.parts(thing.empty)]

    def _function(self, function: Any) -> Any:
        """One of windrow's own by its name and what it was made with: state outlives a change of its code."""
        if isinstance(function, FunctionType) and _ours(function):
            made_with = [cell.cell_contents for cell in function.__closure__ or ()]
            return [function.__qualname__, [self._option(value) for value in made_with], function.__defaults__]
        return self._code(function)

    def _option(self, value: Any) -> Any:
        """What an aggregate was made with."""
        if isinstance(value, (tuple, list)) and all(isinstance(part, PLAIN) for part in value):
            return repr(value)
        return self._function(value) if isinstance(value, FunctionType) else self.parts(value)

    def _code(self, function: Any) -> Any:
        """A user's function."""
        if not self.code:
            return ""
        function = getattr(function, "py_func", function)
        if isinstance(function, MethodType):
            return [self.parts(function.__func__), self.parts(function.__self__)]
        if isinstance(function, partial):
            return [self.parts(part) for part in (function.func, function.args, function.keywords)]
        if not isinstance(function, FunctionType):
            named = getattr(function, "__qualname__", None)
            return f"{function.__module__}.{named}" if named else self._object(function)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        found, package = function.__globals__, _package(function)
        names = [name for name in sorted(global_names(function.__code__)) if name in found]
        return [
            fingerprint(function.__code__),
            self.parts(function.__defaults__),
            self.parts(function.__kwdefaults__),
            [self._used(value, package) for value in cells],
            [[name, self._used(found[name], package)] for name in names],
        ]

    def _used(self, value: Any, package: str) -> Any:
        """What a user's function reads: functions and classes of other packages by their names."""
        if isinstance(value, (type, FunctionType)) and _package(value) != package:
            return f"{value.__module__}.{value.__qualname__}"
        return self.parts(value)


def _package(thing: Any) -> str:
    return (getattr(thing, "__module__", None) or "").partition(".")[0]


def _ours(thing: Any) -> bool:
    return _package(thing) == "windrow"


def _matters(name: str, value: Any) -> bool:
    """Whether an attribute of a class says what its objects do."""
    if name.startswith("__"):
        return name in ("__call__", "__init__")
    return isinstance(value, (FunctionType, staticmethod, classmethod, property, int, float, str, tuple))
