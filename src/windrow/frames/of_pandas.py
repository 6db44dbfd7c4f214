"""pandas, with NumPy's types, its own nullable ones and pyarrow's. NaN, NaT, None and NA all mean null."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from windrow.engine.inputs import Column, from_objects
from windrow.errors import WindrowError
from windrow.frames.of_libraries import LibraryFrame
from windrow.frames.outputs import fitted, listed
from windrow.frames.types import NULL, Order, Type, of_dtype


class PandasFrame(LibraryFrame):
    """A DataFrame; rows keep its index where there is one result a row."""

    def __init__(self, data: Any) -> None:
        if data.columns.nlevels > 1:
            raise WindrowError("column names of several levels are not read; flatten them first")
        super().__init__(data, list(data.columns), len(data))

    library = "pandas"

    def native(self) -> Any:
        return self.data

    def pick(self, positions: Any) -> PandasFrame:
        return PandasFrame(self.data.iloc[np.asarray(positions, np.int64)])

    def _elsewhere(self, name: str) -> str:
        return " (it is in the index: use reset_index())" if name in self.data.index.names else ""

    def _native(self, name: str) -> Any:
        return self.data[name]

    def _own_dtype(self, name: str) -> Any:
        return self.data[name].dtype

    def _type_of(self, name: str) -> Type:
        dtype = self.data[name].dtype
        if _objects(dtype):  # only values tell
            return Type("object", library="pandas", own=dtype) if not self.data[name].isna().all() else NULL
        return type_of(dtype)

    def _dtype_of(self, of: Type) -> Any:
        return dtype_of(of)

    def _fitted(self, native: Any, dtype: Any) -> Any:
        import pandas as pd

        if native.dtype == dtype:
            return native
        gone = native.isna()
        try:
            if _objects(dtype):
                return pd.Series(
                    [None if null else v for null, v in zip(gone, native.tolist(), strict=True)], dtype=object
                )
            if isinstance(dtype, np.dtype) and dtype.kind in "iub" and gone.any():
                return native  # NumPy has no null for it, and pandas only by another type
            found = native.astype(dtype)
            if (found.isna() == gone).all():
                return found
        except (TypeError, ValueError, OverflowError):
            pass
        raise WindrowError(f"the values are {native.dtype}, and do not fit {dtype}")

    def _series(self, native: Any) -> nw.Series:
        return super()._series(_arrow(native) if _in_arrow(native) else native)

    def _there(self, series: nw.Series) -> np.ndarray | None:
        dtype = getattr(series.to_native(), "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind in "biufmM":
            return None  # ints have no nulls; NaN and NaT are looked for when they are read
        return super()._there(series)

    def _decoded(self, series: nw.Series) -> nw.Series:
        import pandas as pd

        native = series.to_native()
        if not isinstance(native, pd.Series):
            from windrow.frames.of_arrow import decoded

            return nw.from_native(decoded(native), series_only=True)
        if not isinstance(native.dtype, pd.CategoricalDtype):
            return series
        return self._series(_take(pd.Series(native.cat.categories), native.cat.codes.to_numpy()))

    def _read(self, native: Any) -> Column:
        column = super()._read(native)
        if column.values.dtype == np.float64:
            with np.errstate(all="ignore"):
                clean = not np.isnan(column.values.sum())  # in one pass, nearly always
            if not clean:
                there = ~np.isnan(column.values)
                mask = there if column.mask is None else there & column.mask
                return Column(column.values, None if mask.all() else mask, column.dtype)
        return column

    def _codes(self, native: Any) -> np.ndarray | None:
        import pandas as pd

        if isinstance(native.dtype, pd.CategoricalDtype):
            return native.cat.codes.to_numpy().astype(np.int64)
        if _in_arrow(native):
            from windrow.frames.of_arrow import codes

            return codes(_arrow(native))
        try:
            return pd.factorize(native)[0].astype(np.int64, copy=False)
        except TypeError:  # lists and the like
            return None

    def _take(self, native: Any, positions: np.ndarray) -> Any:
        return _take(native, positions)

    def _make(self, array: np.ndarray, mask: np.ndarray | None, dtype: Any) -> Any:
        import pandas as pd

        if array.dtype == object:
            array, mask = from_objects(listed(array, mask))
        new = _plain(array, mask)
        if dtype is None or _objects(dtype) or new.dtype == dtype:
            return new
        if array.dtype == object and (mask is None or not mask.any()) and new.isna().all():
            return new  # nulls are of any type
        kind = _arrow_type(dtype)
        if kind is not None:
            from windrow.frames.of_arrow import made

            found = pd.Series(pd.arrays.ArrowExtensionArray(made(array, mask, kind)))
            return found.astype(dtype) if isinstance(dtype, pd.StringDtype) else found
        try:
            if isinstance(dtype, pd.DatetimeTZDtype):
                return _zoned(new, dtype.tz).astype(dtype)
            if isinstance(dtype, pd.CategoricalDtype):
                known = new.astype(dtype)
                return known if (known.isna() == new.isna()).all() else new
            if isinstance(dtype, np.dtype):
                return new if array.dtype == object else _plain(fitted(array, mask, dtype), mask)
            return new.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return new

    def _stamps(self, array: np.ndarray, mask: np.ndarray | None, native: Any, exact: bool) -> Any:
        import pandas as pd

        if isinstance(native.dtype, pd.ArrowDtype):
            from windrow.frames.of_arrow import stamped

            kind = native.dtype.pyarrow_dtype if exact else None
            return pd.Series(pd.arrays.ArrowExtensionArray(stamped(array, mask, kind, native.zone)))
        if native.kind == "integer":
            return self._make(array, mask, native.dtype)
        if native.kind == "date" and exact:
            return pd.Series(listed(array.astype(object), mask), dtype=object)
        return _zoned(_plain(array, mask), native.zone)

    def _together(self, columns: dict[str, Any]) -> Any:
        import pandas as pd

        return pd.DataFrame(columns)

    def _beside(self, columns: dict[str, Any]) -> Any:
        import pandas as pd

        index = self.data.index
        columns = {name: series.set_axis(index) for name, series in columns.items()}
        if len(columns) > 50:  # one by one would be a frame in fragments
            return pd.concat([self.data, pd.DataFrame(columns, index=index)], axis=1)
        extended = self.data.copy(deep=False)
        for name, series in columns.items():
            extended[name] = series
        return extended


def type_of(dtype: Any) -> Type:
    """What a pandas type holds that tells it by itself."""
    import pandas as pd

    mine: dict[str, Any] = {"library": "pandas", "own": dtype}
    if isinstance(dtype, pd.ArrowDtype):
        from windrow.frames.of_arrow import type_of as of_arrow

        return replace(of_arrow(dtype.pyarrow_dtype), dtypes={}, **mine)
    if isinstance(dtype, np.dtype):
        return of_dtype(dtype, null=dtype.kind not in "iub", **mine)
    if isinstance(dtype, pd.CategoricalDtype):
        return Type("text", order=Order(lambda: _categories(dtype)) if dtype.ordered else None, **mine)
    if isinstance(dtype, pd.StringDtype):
        return Type("text", **mine)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return Type("timestamp", unit=dtype.unit, zone=dtype.tz, **mine)
    if isinstance(dtype, pd.SparseDtype):
        return of_dtype(dtype.subtype, null=dtype.subtype.kind not in "iub", library="pandas", own=dtype.subtype)
    numpy = getattr(dtype, "numpy_dtype", None)
    return of_dtype(numpy, **mine) if numpy is not None else Type("object", library="pandas", own=np.dtype(object))


def _categories(dtype: Any) -> list:
    import pandas as pd

    return PandasFrame(pd.DataFrame({"categories": dtype.categories})).column("categories").objects()


def dtype_of(of: Type) -> Any:
    """The pandas type; None: the values tell it."""
    import pandas as pd

    if not of.told:
        return np.dtype(object)
    own = of.own if of.library == "pandas" else _numpy_dtype(of)
    if of.null and isinstance(own, np.dtype) and own.kind in "iub":
        return pd.array(
            [], {"i": "Int", "u": "UInt", "b": "boolean"}[own.kind] + f"{8 * own.itemsize}" * (own.kind != "b")
        ).dtype
    if of.library != "pandas" and of.name == "text":
        return pd.Series([""]).dtype if pd.Series([""]).dtype != object else np.dtype(object)
    if of.library != "pandas" and of.name == "timestamp" and of.zone is not None:
        return pd.DatetimeTZDtype(np.datetime_data(own)[0], of.zone)
    return own


def _numpy_dtype(of: Type) -> np.dtype:
    if of.name in ("int", "uint", "float"):
        return np.dtype(f"{of.name}{of.bits}")
    if of.name in ("timestamp", "duration"):
        unit = of.unit if of.unit in ("s", "ms", "us", "ns") else "s"
        return np.dtype(f"{'m' if of.name == 'duration' else 'M'}8[{unit}]")
    return np.dtype(bool if of.name == "bool" else object)


def _objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _arrow_type(dtype: Any) -> Any:
    """The pyarrow type of columns that are kept as pyarrow's; None: others."""
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        import pyarrow as pa

        return pa.large_string()
    return None


def _in_arrow(native: Any) -> bool:
    return _arrow_type(native.dtype) is not None


def _arrow(native: Any) -> Any:
    import pyarrow as pa

    array = native.array.__arrow_array__()
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _take(native: Any, positions: np.ndarray) -> Any:
    """A series by position, null for -1."""
    import pandas as pd

    gone = positions < 0
    if not gone.any():
        return native.take(positions).reset_index(drop=True)
    if len(native) == 0:
        native = native.reindex([0])
    if native.dtype == object:
        taken = native.to_numpy()[positions]
        taken[gone] = None
        return pd.Series(taken, dtype=object)
    if isinstance(native.dtype, np.dtype):
        return _plain(native.to_numpy()[positions], ~gone)
    return pd.Series(native.array.take(positions, allow_fill=True))


def _plain(array: np.ndarray, mask: np.ndarray | None) -> Any:
    """A series without regard to any input column: nullable where ints or bools have nulls."""
    import pandas as pd

    if array.dtype == object:
        kinds = {type(value) for value in array if value is not None}
        scalar = bool(kinds) and all(issubclass(kind, (str, datetime.datetime)) for kind in kinds)
        try:
            return pd.Series(array.tolist(), dtype=None if scalar else object)
        except (TypeError, ValueError):  # times of several zones
            return pd.Series(array, dtype=object)
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] == "D":
        array = array.astype("M8[s]")
    if mask is not None and array.dtype.kind in "biu":
        kind = pd.arrays.BooleanArray if array.dtype.kind == "b" else pd.arrays.IntegerArray
        return pd.Series(kind(np.array(array), ~mask))
    if mask is not None:
        array = np.where(mask, array, np.array("NaT" if array.dtype.kind in "mM" else np.nan, array.dtype))
    return pd.Series(array)


def _zoned(series: Any, zone: Any) -> Any:
    """Moments of UTC in a zone."""
    return series if zone is None else series.dt.tz_localize("UTC").dt.tz_convert(zone)
