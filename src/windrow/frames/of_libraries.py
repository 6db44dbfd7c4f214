"""Columns of pandas, Polars and pyarrow, read through narwhals alike."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from windrow.engine.inputs import Column, column_of, from_objects, object_array
from windrow.frames.base import Frame, Key
from windrow.frames.outputs import hashable

#: what would have to be made into objects to be read
OBJECTS = (nw.String, nw.Binary, nw.List, nw.Array, nw.Struct)


class LibraryFrame(Frame):
    """A frame of a library that narwhals knows; `data` is in the library's own form."""

    def __init__(self, data: Any, names: list, rows: int) -> None:
        super().__init__(names, rows)
        self.data = data
        self._dtypes: dict[str, Any] = {}  # by narwhals, which takes its time to wrap a column

    def _series(self, native: Any) -> nw.Series:
        return nw.from_native(native, series_only=True)

    def _there(self, series: nw.Series) -> np.ndarray | None:
        """Where there is a value; None: everywhere."""
        return ~series.is_null().to_numpy() if series.null_count() else None

    def _objects(self, series: nw.Series) -> np.ndarray:
        """Texts and the like, in an array that may be written to."""
        return np.array(series.to_numpy(), object)  # quicker than a list

    def _decoded(self, series: nw.Series) -> nw.Series:
        """Categories and dictionaries as the values they stand for."""
        return series

    def outline(self, name: str) -> Column:
        if name not in self._columns and self._kind(self._known(name)) in OBJECTS:
            return Column(np.empty(0, object), self._there(self._series(self._native(name))), np.dtype(object))
        return self.column(name)

    def _kind(self, name: str) -> Any:
        if name not in self._dtypes:
            self._dtypes[name] = self._series(self._native(name)).dtype
        return self._dtypes[name]

    def _read(self, native: Any) -> Column:
        series = self._decoded(self._series(native))
        dtype, there = series.dtype, self._there(series)
        if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
            if there is not None:  # to_numpy alone would make nulls NaN and ints floats
                series = series.fill_null(False if dtype == nw.Boolean else 0)
            array = series.to_numpy()
            if array.dtype != object:
                return column_of(array, there)
        elif dtype in (nw.Datetime, nw.Date, nw.Duration):
            return column_of(series.to_numpy(), there, self.threads)
        elif dtype in (nw.String, nw.Binary, nw.Decimal, nw.Time):
            objects = self._objects(series)
            if there is not None:
                objects[~there] = None
            return column_of(objects, there)
        elif there is None and dtype == nw.Unknown and len(series):  # sparse arrays and the like
            array = series.to_numpy()
            if array.ndim == 1 and array.dtype.kind in "biufmM":
                return column_of(array)
        listed = series.to_list()
        if there is not None:
            listed = [value if ok else None for value, ok in zip(listed, there.tolist(), strict=True)]
        if dtype in (nw.List, nw.Array, nw.Struct):
            return column_of(object_array(listed), there)
        return column_of(*from_objects(listed))

    def _type(self, name: str) -> tuple[Any, Any]:
        dtype = self._kind(name)
        return self._dtype(self._native(name)), dtype.time_zone if isinstance(dtype, nw.Datetime) else None

    def _dtype(self, native: Any) -> Any:
        return native.dtype

    def _key(self, name: str) -> Key:
        dtype = self._kind(name)
        if dtype.is_integer() or dtype.is_float() or dtype in (nw.Boolean, nw.Datetime, nw.Date, nw.Duration):
            column = self.column(name)
            if column.values.dtype != object:
                return Key(column.values, column.mask)
        codes = self._codes(self._native(name))
        if codes is not None:
            return Key(codes)
        column = self.column(name)
        values = column.values if column.values.dtype != object else hashable(column.values)
        return Key(values, column.mask)

    def ranks(self, name: str) -> Column:
        codes = self._codes(self._native(name))
        assert codes is not None
        there = codes >= 0
        return Column(codes, None if there.all() else there, codes.dtype)

    def _codes(self, native: Any) -> np.ndarray | None:
        """The library's own dictionary encoding, -1 for null; None where it has none for this type."""
        raise NotImplementedError
