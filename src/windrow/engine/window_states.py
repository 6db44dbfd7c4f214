"""The states of a user's window, one a key: plain values, and columns that go into a compiled loop and back."""

from __future__ import annotations

import datetime
import types as python_types
import typing
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from windrow.errors import WindrowError

State = dict[str, Any]
PLAIN = (type(None), bool, int, float, str, bytes, Decimal, datetime.date, datetime.datetime, datetime.timedelta)
#: from the narrowest to the widest
RANKS = ("bool", "int64", "float64")
KIND_OF = {bool: "bool", int: "int64", float: "float64"}


def first_state(prototype: Any) -> State:
    """What a key's window begins with."""
    return state_of(prototype() if isinstance(prototype, type) else prototype)


def state_of(window: Any) -> State:
    """What the attributes of an instance hold; `WindrowError` where a snapshot could not."""
    state = dict(getattr(window, "__dict__", ()))
    made: Any = type(window)
    for name in _slots(made):
        if hasattr(window, name):
            state[name] = getattr(window, name)
    try:
        return {name: _plain(value) for name, value in state.items()}
    except TypeError:
        for name, value in state.items():
            try:
                _plain(value)
            except TypeError as error:
                raise WindrowError(
                    f"{type(window).__name__}.{name} holds a {error}; the state of a window is numbers, texts, None, "
                    "and lists and tuples of them"
                ) from None
        raise


@lru_cache(256)
def _slots(made: type) -> tuple[str, ...]:
    """The attributes that a class and its bases have slots for."""
    names = (name for owner in made.__mro__ for name in vars(owner).get("__slots__", ()))
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _plain(value: Any) -> Any:
    """A value as a snapshot holds it, sharing nothing with the window."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_plain(part) for part in value]
    if kind is tuple:
        return tuple(_plain(part) for part in value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    raise TypeError(kind.__name__)


def revived(made: type, state: State) -> Any:
    """An instance with this state, without a call of its __init__."""
    window: Any = object.__new__(made)
    attributes = getattr(window, "__dict__", None)
    for name, value in state.items():
        if attributes is None or name in getattr(made, "__slots__", ()):
            object.__setattr__(window, name, _plain(value))
        else:
            attributes[name] = _plain(value)
    return window


class Field(NamedTuple):
    """One attribute of the state: a column of `kind`, one value a key, a value or None (optional), or a list a key."""

    name: str
    kind: str
    shape: str  # one, optional, list


def fields_of(made: type, state: Mapping[str, Any]) -> tuple[Field, ...] | None:
    """The columns for a state like this one, by its values and the class's annotations; None where it has none."""
    try:
        hints = typing.get_type_hints(made)
    except Exception:  # an annotation that does not resolve says nothing
        hints = {}
    fields = []
    for name, value in state.items():
        field = _field(name, value, hints.get(name))
        if field is None or name.startswith("__"):
            return None
        fields.append(field)
    return tuple(fields)


def _field(name: str, value: Any, hint: Any) -> Field | None:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    optional = origin in (typing.Union, python_types.UnionType) and len(inner) == 2 and type(None) in inner
    if optional:
        hint = next(part for part in inner if part is not type(None))
    if isinstance(value, list):
        hinted = inner[0] if origin is list and inner else None
        found = {type(item) for item in value} | ({hinted} if hinted in KIND_OF else set())
        kinds = {KIND_OF.get(kind) for kind in found}
        return Field(name, str(max(kinds, key=RANKS.index)), "list") if kinds and None not in kinds else None
    found = {type(value)} - {type(None)} | ({hint} if hint in KIND_OF else set())
    if not found or any(kind not in KIND_OF for kind in found):
        return None
    kind = max((KIND_OF[kind] for kind in found), key=RANKS.index)
    return Field(name, kind, "optional" if optional or value is None else "one")


def columns_of(fields: Sequence[Field], states: Sequence[Mapping[str, Any]]) -> list[np.ndarray] | None:
    """Two arrays a field: values, and which there are (optional) or where each list begins.

    None where a state does not fit.
    """
    arrays: list[np.ndarray] = []
    names = {field.name for field in fields}
    if any(state.keys() != names for state in states):
        return None
    for field in fields:
        held = [state[field.name] for state in states]
        flat = [item for part in held for item in part] if field.shape == "list" else held
        fitting = {kind for kind, name in KIND_OF.items() if RANKS.index(name) <= RANKS.index(field.kind)}
        if field.shape == "list" and any(type(part) is not list for part in held):
            return None
        if not {type(value) for value in flat} <= fitting | ({type(None)} if field.shape == "optional" else set()):
            return None
        second = np.array([value is not None for value in held] if field.shape == "optional" else [], bool)
        if field.shape == "list":
            second = np.cumsum([0, *map(len, held)], dtype=np.int64)
        try:
            arrays += [np.array([0 if value is None else value for value in flat], field.kind), second]
        except OverflowError:
            return None
    return arrays


def repeated(fields: Sequence[Field], arrays: Sequence[np.ndarray], times: int) -> list[np.ndarray]:
    """The columns of one state for many keys."""
    many = []
    for j, field in enumerate(fields):
        values, second = arrays[2 * j], arrays[2 * j + 1]
        many.append(np.tile(values, times))
        many.append(np.arange(times + 1) * len(values) if field.shape == "list" else np.tile(second, times))
    return many


def states_from(fields: Sequence[Field], arrays: Sequence[np.ndarray], lists: Sequence[np.ndarray], keys: int) -> list:
    """The inverse of `columns_of`, after a run."""
    if not fields:
        return [{} for _ in range(keys)]
    columns: list[list] = []
    grown = iter(lists)
    for j, field in enumerate(fields):
        values, second = arrays[2 * j], arrays[2 * j + 1]
        if field.shape == "list":
            items, ends = next(grown).tolist(), second.tolist()
            columns.append([items[a:z] for a, z in pairwise(ends)])
        elif field.shape == "optional":
            columns.append([v if there else None for v, there in zip(values.tolist(), second.tolist(), strict=True)])
        else:
            columns.append(values.tolist())
    names = [field.name for field in fields]
    return [dict(zip(names, state, strict=True)) for state in zip(*columns, strict=True)]
