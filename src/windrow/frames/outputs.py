"""What result columns are made of, before they become columns of a library's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from windrow.engine.inputs import object_array

if TYPE_CHECKING:
    from windrow.frames.times import Times


@dataclass(frozen=True)
class Labels:
    """A column of a frame in its library's own form, to be taken from by position."""

    native: Any


@dataclass(slots=True, eq=False)
class Values:
    """Answers as an array of numbers, bools, datetime64, timedelta64 or objects (masked arrays too).

    `mask` is true where there is an answer. `like` names an input column whose own type the answers have (its zone,
    its categories, its width); where they do not fit into it, they keep the type they come in.
    """

    array: np.ndarray
    mask: np.ndarray | None = None
    like: str | None = None
    texts: bool = False  # objects that are all texts: no null is looked for

    def __len__(self) -> int:
        return len(self.array)

    def split(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Plain array and mask (None: no nulls), in types that every library knows."""
        array, mask = self.array, self.mask
        if isinstance(array, np.ma.MaskedArray):
            there = ~np.ma.getmaskarray(array)
            array, mask = array.data, there if mask is None else mask & there
        if array.dtype.kind in "USTO" and not self.texts:
            array = array.astype(object)
            there = np.fromiter((value is not None for value in array), bool, len(array))
            mask = there if mask is None else mask & there
            if mask.any() and all(isinstance(value, (np.datetime64, np.timedelta64)) for value in array[mask]):
                kind = array[mask][0].dtype.kind
                array = np.where(mask, array, np.array("NaT", f"{kind}8")).astype(np.array(array[mask].tolist()).dtype)
        if array.dtype.kind in "mM":
            unit = np.datetime_data(array.dtype)[0]
            if unit not in ("s", "ms", "us", "ns") and not (unit == "D" and array.dtype.kind == "M"):
                array = array.astype(f"{array.dtype.kind}8[{'s' if unit in 'WDhm' else 'D' if unit in 'YM' else 'ns'}]")
            there = ~np.isnat(array)
            mask = there if mask is None else mask & there
        return array, None if mask is None or mask.all() else mask


@dataclass(slots=True, eq=False)
class Taken:
    """Values of an input column, of any type, by position; -1 is null."""

    source: str | Labels
    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(slots=True, eq=False)
class Instants:
    """Moments, counted in `like.unit`, to become a column of the type in which the time column `like` came."""

    values: np.ndarray
    mask: np.ndarray | None
    like: Times

    def __len__(self) -> int:
        return len(self.values)


Output: TypeAlias = Values | Taken | Instants


def fitted(array: np.ndarray, mask: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """The array as another type of NumPy's, or as it is where that would lose something."""
    if array.dtype == dtype:
        return array
    filled = array if mask is None else np.where(mask, array, np.zeros(1, array.dtype))
    try:
        with np.errstate(all="ignore"):
            other = filled.astype(dtype)
            back = other.astype(array.dtype)
    except (TypeError, ValueError, OverflowError):
        return array
    if array.dtype.kind in "iu" and other.dtype.kind in "iu" and ((filled < 0) != (other < 0)).any():
        return array  # uint64 and int64 wrap both ways
    if array.dtype == object:  # of which NumPy does not know that two NaN are alike
        same = all(a == b or a != a for a, b in zip(filled.tolist(), back.tolist(), strict=True))
        return other if same else array
    return other if np.array_equal(back, filled, equal_nan=array.dtype.kind == "f") else array


def listed(array: np.ndarray, mask: np.ndarray | None, mixed: bool = False) -> list:
    """Objects as libraries take them: None for null, sets as lists, named tuples as dicts; `mixed`: all tuples."""
    if mask is None and set(map(type, values := array.tolist())) <= {str, int, float, bool}:
        return values
    there = np.ones(len(array), bool) if mask is None else mask
    return [_plain(value, mixed) if ok else None for value, ok in zip(array.tolist(), there.tolist(), strict=True)]


def _plain(value: Any, mixed: bool) -> Any:
    if isinstance(value, (str, bytes)) or value is None:
        return value
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None) or ([f"_{i}" for i in range(1, len(value) + 1)] if mixed else None)
        parts = [_plain(part, mixed) for part in value]
        return parts if fields is None else dict(zip(fields, parts, strict=True))
    if isinstance(value, (set, frozenset)):
        value = _in_order(value)
    if isinstance(value, (list, np.ndarray)):
        return [_plain(part, mixed) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part, mixed) for name, part in value.items()}
    return value


def _in_order(value: set | frozenset) -> list:
    """The same list for the same set in every process, where its elements can be sorted."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)


def hashable(values: np.ndarray) -> np.ndarray:
    """Objects as keys: lists, sets and dicts frozen."""
    if set(map(type, values)) <= {str, bytes, int, float, bool, type(None)}:
        return values
    return object_array([_frozen(value) for value in values])


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(part) for part in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(_frozen(part) for part in value)
    if isinstance(value, dict):
        return tuple((name, _frozen(part)) for name, part in value.items())
    return value
