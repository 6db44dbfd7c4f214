"""Columns as users have them, made into arrays of int64, float64, bool or objects, masked where there are nulls."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from windrow.engine.threads import ONE, Threads, ranges
from windrow.errors import WindrowError

ARROW_NUMBERS = ("bool", "float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


#: rows that one of several threads looks through at a time
PART = 1 << 18
#: NaT as a number, the least there is
NAT = -(2**63)
TIMES = (np.datetime64, np.timedelta64)
#: as many values as a small push has: making them anew takes longer than all else that is done with them
_TRUE = np.ones(1024, bool)
_TRUE.setflags(write=False)
#: NumPy takes its time to tell a type's name
KINDS = {"d": "float64", "l": "int64", "?": "bool", "O": "object"}


@dataclass(slots=True, eq=False)
class Column:
    """One input column; `mask` is true where there is a value, None where there is one everywhere."""

    values: np.ndarray
    mask: np.ndarray | None
    dtype: np.dtype  # as it came

    @property
    def kind(self) -> str:
        dtype = self.values.dtype
        return KINDS.get(dtype.char) or dtype.name

    def objects(self) -> list:
        """Python's own objects, None for null, as the plain engine wants them."""
        values = self.restored(self.values)
        listed = values.tolist() if values.dtype.kind not in "mM" else list(values)
        if self.mask is None:
            return listed
        return [value if there else None for value, there in zip(listed, self.mask.tolist(), strict=True)]

    def restored(self, answers: np.ndarray) -> np.ndarray:
        """Answers that are values of this column, in the type in which it came."""
        if self.dtype.kind in "mM":
            filled = answers.astype(np.int64) if answers.dtype != object else answers
            return filled.view(self.dtype) if filled.dtype != object else filled
        return answers if answers.dtype == self.dtype or self.dtype == object else answers.astype(self.dtype)

    def since(self, start: int) -> Column:
        return Column(self.values[start:], None if self.mask is None else self.mask[start:], self.dtype)

    def at(self, where: np.ndarray | slice) -> Column:
        """Some rows."""
        return Column(self.values[where], None if self.mask is None else self.mask[where], self.dtype)

    def between(self, a: int, z: int) -> Column:
        """Rows a to z."""
        return Column(self.values[a:z], None if self.mask is None else self.mask[a:z], self.dtype)

    def followed_by(self, other: Column) -> Column:
        """Two stretches of one column."""
        mask = None
        if self.mask is not None or other.mask is not None:
            mask = np.concatenate([np.ones(len(c.values), bool) if c.mask is None else c.mask for c in (self, other)])
        return Column(np.concatenate([self.values, other.values]), mask, other.dtype)


def all_there(n: int) -> np.ndarray:
    """The mask of n values without a null, not to be written to."""
    if n <= len(_TRUE):
        return _TRUE[:n]
    mask = np.ones(n, bool)
    mask.setflags(write=False)
    return mask


def all_true(mask: np.ndarray) -> bool:
    """`mask.all()`, which takes four times as long for a few values."""
    return not len(mask) or bool(mask[mask.argmin()])


def read_columns(values: Any) -> tuple[Column, ...]:
    """A tuple of arrays is several columns, anything else one."""
    columns = tuple(_column(part) for part in (values if isinstance(values, tuple) else (values,)))
    lengths = {len(column.values) for column in columns}
    if len(lengths) > 1:
        raise WindrowError(f"columns of one length are needed, not {sorted(lengths)}")
    return columns


def _column(given: Any) -> Column:
    return column_of(*_array(given))


def column_of(array: np.ndarray, mask: np.ndarray | None = None, threads: Threads = ONE) -> Column:
    """A column from an array of any type; NaT is null, NaN is not."""
    if array.ndim != 1:
        raise WindrowError(f"a column has one dimension, not {array.ndim}")
    dtype = array.dtype
    if dtype.char in "dl?" and array.flags.c_contiguous and dtype.isnative:
        return Column(array, mask, dtype)
    if dtype.kind in "mM":
        array = array.astype(dtype.newbyteorder("="), copy=False).view(np.int64)
        if NAT in threads.map(lambda part: int(array[slice(*part)].min()), ranges(len(array), PART)):
            there = array != NAT
            mask = there if mask is None else mask & there
    elif dtype.kind == "u" and dtype.itemsize == 8:
        array = array.astype(object) if len(array) and array.max() > np.uint64(2**63 - 1) else array.astype(np.int64)
    elif dtype.kind in "iu":
        array = array.astype(np.int64, copy=False)
    elif dtype.kind == "f" and dtype.itemsize <= 8:
        array = array.astype(np.float64, copy=False)
    elif dtype.kind != "b":
        array = array.astype(object, copy=False)
    return Column(np.ascontiguousarray(array), mask, dtype)


def _array(given: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """A NumPy array, and which of its rows are not null."""
    if isinstance(given, np.ma.MaskedArray):
        there = ~np.ma.getmaskarray(given)
        return given.filled(np.zeros(1, given.dtype)[0]), None if there.all() else there
    if isinstance(given, np.ndarray) and given.dtype != object:
        return given, None
    if hasattr(given, "null_count") and hasattr(given, "is_valid"):  # pyarrow, chunked or not
        given = given.combine_chunks() if hasattr(given, "combine_chunks") else given
        if given.null_count == 0:
            return given.to_numpy(zero_copy_only=False), None
        there = given.is_valid().to_numpy(zero_copy_only=False)
        if str(given.type) in ARROW_NUMBERS:  # to_numpy alone would make nulls NaN and ints floats
            return given.fill_null(False if str(given.type) == "bool" else 0).to_numpy(zero_copy_only=False), there
        if str(given.type).startswith(("timestamp", "duration", "date32")):
            return given.to_numpy(zero_copy_only=False), there
        given = given.to_pylist()
    elif hasattr(given, "is_not_null") and given.null_count() and (given.dtype.is_numeric() or given.dtype == bool):
        there = given.is_not_null().to_numpy()  # Polars: likewise
        filled = given.fill_null(False if given.dtype == bool else 0).to_numpy()
        if filled.dtype != object:
            return filled, there
        given = given.to_list()
    elif (
        hasattr(given, "isna") and not isinstance(given.dtype, np.dtype) and given.isna().any()
    ):  # pandas: nullable types
        gone = given.isna().tolist()
        given = [None if null else value for null, value in zip(gone, given.tolist(), strict=True)]
    elif hasattr(given, "to_numpy"):  # a pandas or Polars series
        array = given.to_numpy()
        if array.dtype != object:
            return array, None
        given = array.tolist()
    elif not isinstance(given, (list, np.ndarray)):
        given = list(given)
    return from_objects(given)


def from_objects(given: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Python's objects, None for null, as numbers where all of them are."""
    listed = python_values(given)
    there = np.fromiter((value is not None for value in listed), bool, len(listed))
    types = {type(value) for value in listed if value is not None}
    mask = None if there.all() else there
    if types and types <= {int}:
        if all(-(2**63) <= v < 2**63 for v in listed if v is not None):
            return np.array([0 if v is None else v for v in listed], np.int64), mask
    elif types and types <= {float, int}:
        if all(type(v) is float or abs(v) <= 2**53 for v in listed if v is not None):
            return np.array([0.0 if v is None else v for v in listed], np.float64), mask
    elif types == {bool}:
        return np.array([bool(v) for v in listed], bool), mask
    return object_array(listed), mask


#: types of values that are Python's own already
_PYTHONS = frozenset((float, int, str, bool, NoneType))


def python_values(values: Sequence[Any]) -> Sequence[Any]:
    """NumPy's numbers as Python's own, which do not wrap; times and durations stay NumPy's, as in columns."""
    if type(values) is tuple and len(values) == 1 and type(values[0]) in _PYTHONS:  # the usual row by hand
        return values
    return [
        value.item() if isinstance(value, np.generic) and not isinstance(value, TIMES) else value for value in values
    ]


def object_array(listed: Any) -> np.ndarray:
    """One object a place, lists and tuples too (which `np.array` would make a second dimension of)."""
    return np.fromiter(listed, object, len(listed))


def read_keys(keys: Any, n: int, last: Any) -> tuple[np.ndarray, Any]:
    """Where a new key begins, and the last row's key."""
    starts = np.zeros(n, bool)
    if keys is None or n == 0:
        return starts, None
    columns = keys if isinstance(keys, tuple) else (keys,)
    read = [_array(column) for column in columns]
    for i, (array, mask) in enumerate(read):
        if len(array) != n:
            raise WindrowError(f"a key column of {len(array)} rows for {n} rows of values")
        if i == 0 and mask is None and array.dtype != object:
            np.not_equal(array[1:], array[:-1], out=starts[1:])
            changed = starts[1:]
        else:
            changed = array[1:] != array[:-1]
        if array.dtype.kind == "f":  # NaN is one key
            changed &= ~(np.isnan(array[1:]) & np.isnan(array[:-1]))
        if mask is not None:  # and so is null
            changed &= mask[1:] & mask[:-1]
            changed |= mask[1:] != mask[:-1]
        starts[1:] |= changed
    first, final = (
        tuple(
            None if mask is not None and not mask[i] else array[i].item() if hasattr(array[i], "item") else array[i]
            for array, mask in read
        )
        for i in (0, -1)
    )
    starts[0] = last is not None and first != last
    return starts, final


def read_times(times: Any, window: Any, n: int) -> tuple[np.ndarray, int]:
    """Times as int64 and the window's length in their unit."""
    array, mask = _array(times)
    if mask is not None:
        raise WindrowError(f"row {int(np.argmin(mask))} has no time")
    if len(array) != n:
        raise WindrowError(f"a time column of {len(array)} rows for {n} rows of values")
    if array.dtype.kind == "M":
        nat = np.isnat(array)
        if nat.any():
            raise WindrowError(f"row {int(np.argmax(nat))} has no time")
        unit = np.datetime_data(array.dtype)[0]
        if isinstance(window, (np.timedelta64, datetime.timedelta)):
            length = np.timedelta64(window)
            window = int(length.astype(f"m8[{unit}]").astype(np.int64))
            if np.array(window).astype(f"m8[{unit}]") != length:
                raise WindrowError(f"the duration {length} is not a whole number of the times' unit, {unit}")
        array = array.view(np.int64)
    if array.dtype.kind not in "iu":
        raise WindrowError(f"times are int64 or datetime64, not {array.dtype}")
    if isinstance(window, (bool, float)) or not hasattr(window, "__index__"):
        raise WindrowError(f"the length of a window by time is a whole number in the times' unit, not {window!r}")
    if window < 0:
        raise WindrowError(f"a window's length is not negative: {window}")
    return array.astype(np.int64, copy=False), int(window)
