"""A dict of arrays: NumPy's, masked ones, lists, whatever `engine.inputs` reads."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.engine.inputs import Column, column_of, object_array, read_columns
from windrow.errors import WindrowError
from windrow.frames.base import Frame, Key
from windrow.frames.outputs import Instants, Output, Values, fitted, hashable, listed
from windrow.frames.times import EPOCH_UTC
from windrow.frames.types import NULL, Order, Type, of_dtype


class ArrayFrame(Frame):
    """Columns as they were given; new ones are NumPy arrays, masked where there are nulls."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        lengths = {}
        for name, values in data.items():
            if type(values) is not np.ndarray:
                if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__") or np.isscalar(values):
                    raise WindrowError(f"column {name!r} is not an array or a list but {type(values).__name__}")
            elif values.ndim != 1:
                raise WindrowError(f"column {name!r} has {values.ndim} dimensions; a column has one")
            lengths[name] = len(values)
        if len(set(lengths.values())) > 1:
            raise WindrowError(f"columns of one length are needed, not {lengths}")
        super().__init__(list(data), next(iter(lengths.values()), 0))

    library = "arrays"

    def native(self) -> Any:
        return self.data

    def pick(self, positions: Any) -> ArrayFrame:
        at = np.asarray(positions, np.int64)
        return ArrayFrame({name: self._rows(values, at) for name, values in self.data.items()})

    def _rows(self, values: Any, at: np.ndarray) -> Any:
        if isinstance(values, (list, tuple)):
            return [values[i] for i in at.tolist()]
        return values[at] if isinstance(values, np.ndarray) else self._take(values, at)

    def _native(self, name: str) -> Any:
        return self.data[name]

    def _read(self, native: Any) -> Column:
        if type(native) is np.ndarray and native.dtype != object:
            return column_of(native, None, self.threads)
        return read_columns((native,))[0]

    def _own_dtype(self, name: str) -> np.dtype:
        return self.column(name).dtype

    def _type_of(self, name: str) -> Type:
        column, given = self.column(name), self.data[name]
        own: dict[str, Any] = {"library": "arrays", "own": column.dtype, "null": True}
        order = _order(given)
        if order is not None:
            return Type("text", order=order, **own)
        values_tell = column.dtype == object or not isinstance(given, np.ndarray)
        if values_tell and (not len(column.values) or (column.mask is not None and not column.mask.any())):
            return NULL
        return of_dtype(column.dtype, **own)

    def _dtype_of(self, of: Type) -> np.dtype | None:
        if of.name in ("text", "bytes", "null"):
            return None  # NumPy's texts have a width, which is no matter of type
        if of.library == "arrays":
            return of.own
        if of.name in ("int", "uint", "float"):
            return np.dtype(f"{of.name}{of.bits}")
        if of.name == "bool":
            return np.dtype(bool)
        if of.name in ("timestamp", "duration", "date") and of.zone is None:
            return np.dtype(f"{'m' if of.name == 'duration' else 'M'}8[{of.unit}]")
        return np.dtype(object)

    def _fitted(self, native: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if native.dtype == dtype:
            return native
        if dtype.kind == "O":
            return native.astype(object)
        if native.dtype == object and not len(native):
            return native.astype(dtype)
        masked = isinstance(native, np.ma.MaskedArray)
        mask = ~np.ma.getmaskarray(native) if masked else None
        if mask is not None and not mask.any():
            return np.ma.masked_array(np.zeros(len(native), dtype), True)
        found = fitted(np.ma.getdata(native), mask, dtype)
        if found.dtype != dtype:
            raise WindrowError(f"the values are {native.dtype}, and do not fit {dtype}")
        return _finished(found, mask)

    def _type(self, name: str) -> tuple[Any, Any]:
        return self.column(name).dtype, None

    def _key(self, name: str) -> Key:
        column = self.column(name)
        return Key(column.values if column.values.dtype != object else hashable(column.values), column.mask)

    def _made(self, name: str, output: Output, to: Type | None = None) -> Any:
        """Numbers that are of the wanted type already are the column, at no cost."""
        if isinstance(output, Instants):
            array, native = output.values, output.like.native
            wanted = native.dtype if native.kind == "integer" and native.unit == output.like.unit else None
        elif isinstance(output, Values) and (to is not None or output.like is None):
            array = output.array
            wanted = array.dtype if to is None else self.dtype_of(to)
        else:
            return super()._made(name, output, to)
        if output.mask is None and type(array) is np.ndarray and array.dtype.char in "dl?" and array.dtype is wanted:
            return array
        return super()._made(name, output, to)

    def _take(self, native: Any, positions: np.ndarray) -> np.ndarray:
        if isinstance(native, np.ndarray) and not isinstance(native, np.ma.MaskedArray):
            array, mask = native, None
        else:
            column = self._read(native)
            array, mask = column.restored(column.values), column.mask
        gone = positions < 0
        if len(array) == 0:  # nothing to point at: all are null
            array = np.zeros(1, array.dtype)
        there = ~gone if mask is None else ~gone & mask[positions]
        return _finished(array[positions], None if there.all() else there)

    def _make(self, array: np.ndarray, mask: np.ndarray | None, dtype: Any) -> np.ndarray:
        if array.dtype == object:
            array = object_array(listed(array, mask))
        dtype = array.dtype if dtype is None else dtype
        return _finished(array if dtype.kind == "O" else fitted(array, mask, dtype), mask)

    def _stamps(self, array: np.ndarray, mask: np.ndarray | None, native: Any, exact: bool) -> np.ndarray:
        if native.kind == "integer":
            return _finished(fitted(array, mask, native.dtype), mask)
        if native.zone is not None:  # Python's own datetimes: NumPy has no zones
            micros = array.astype("M8[us]").view(np.int64).tolist()
            moments = [(EPOCH_UTC + datetime.timedelta(microseconds=m)).astimezone(native.zone) for m in micros]
            return _finished(object_array(moments), mask)
        return _finished(array, mask)

    def _together(self, columns: dict[str, Any]) -> dict[str, Any]:
        return columns

    def _beside(self, columns: dict[str, Any]) -> dict[str, Any]:
        return {**self.data, **columns}


def _order(given: Any) -> Order | None:
    """The order of a series' categories, where its library puts them in order."""
    dtype: Any = getattr(given, "dtype", None)
    if not getattr(dtype, "ordered", type(dtype).__name__ == "Enum"):
        return None
    return Order(lambda: read_columns((dtype.categories,))[0].objects())


def _finished(array: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """Masked where there are nulls."""
    if mask is None:
        return array
    if array.dtype == object:
        array = object_array([value if ok else None for value, ok in zip(array, mask.tolist(), strict=True)])
    return np.ma.masked_array(array, ~mask)
