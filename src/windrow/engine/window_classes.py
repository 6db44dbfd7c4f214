"""What a user's window class consists of: its code, its constants, and what it says about its windows."""

from __future__ import annotations

import dis
import types as python_types
from typing import Any, NamedTuple

from windrow.engine.walks import HIGHEST
from windrow.engine.window_states import KIND_OF, Field

#: times that a window may end at are nearer than this; none ends at HIGHEST, which means that no time ends it
LIMIT = HIGHEST


def ends_by_time(made: type) -> bool:
    """Whether its windows end by event time, too: it says at which (`ends_at`)."""
    return callable(getattr(made, "ends_at", None))


def evicts(made: type) -> bool:
    """Whether it says of rows that they leave (`evict`)."""
    return callable(getattr(made, "evict", None))


class WindowClass(NamedTuple):
    """What `compile_class` makes."""

    run: Any
    fields: tuple[Field, ...]
    constants: tuple[str, ...]


def code_of(made: type) -> dict[str, Any]:
    """The methods, properties and static methods of a class, of its bases, too."""
    found: dict[str, Any] = {}
    for owner in reversed(made.__mro__[:-1]):
        for name, thing in vars(owner).items():
            if name.startswith("__"):
                continue
            if isinstance(thing, (python_types.FunctionType, property, staticmethod)):
                found[name] = thing
            else:
                found.pop(name, None)
    return found


def functions_of(made: type) -> list[Any]:
    """All functions in `code_of`, bare."""
    found: list[Any] = []
    for thing in code_of(made).values():
        if isinstance(thing, property):
            found += [part for part in (thing.fget, thing.fset) if part is not None]
        else:
            found.append(getattr(thing, "__func__", thing))
    return found


def assigned_in(made: type) -> set[str]:
    """The attributes that the code of a class sets, of whatever object."""
    return {
        step.argval
        for function in functions_of(made)
        for step in dis.get_instructions(function)
        if step.opname == "STORE_ATTR"
    }


def constants_of(made: type) -> dict[str, Any]:
    """The numbers that stand in the class and that its code does not set."""
    assigned = assigned_in(made)
    found: dict[str, Any] = {}
    for owner in reversed(made.__mro__[:-1]):
        numbers = {name: value for name, value in vars(owner).items() if type(value) in KIND_OF}
        found |= {name: value for name, value in numbers.items() if not name.startswith("__") and name not in assigned}
    return found
