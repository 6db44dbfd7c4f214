"""Polars: frames, and lazy frames (collected)."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from windrow.engine.inputs import object_array
from windrow.errors import WindrowError
from windrow.frames.of_libraries import LibraryFrame
from windrow.frames.outputs import listed
from windrow.frames.types import Order, Type


class PolarsFrame(LibraryFrame):
    """A DataFrame; from a LazyFrame, lazy again on the way out."""

    def __init__(self, data: Any, lazy: bool = False) -> None:
        if hasattr(data, "collect"):
            data, lazy = data.collect(), True
        self.lazy = lazy
        super().__init__(data, data.columns, data.height)

    library = "polars"

    @property
    def form(self) -> bool:
        return self.lazy

    def native(self) -> Any:
        return self._as_given(self.data)

    def _as_given(self, data: Any) -> Any:
        return data.lazy() if self.lazy else data

    def pick(self, positions: Any) -> PolarsFrame:
        return PolarsFrame(self.data[np.asarray(positions, np.int64)], self.lazy)

    def _native(self, name: str) -> Any:
        return self.data.get_column(name)

    def _own_dtype(self, name: str) -> Any:
        return self._native(name).dtype

    def _type_of(self, name: str) -> Type:
        return type_of(self._native(name).dtype)

    def _dtype_of(self, of: Type) -> Any:
        return dtype_of(of)

    def _fitted(self, native: Any, dtype: Any) -> Any:
        import polars as pl

        if native.dtype == dtype:
            return native
        try:
            if dtype == pl.Datetime and native.dtype == pl.Datetime and native.dtype.time_zone is None:
                native = _zoned(native, dtype.time_zone)
            return native.cast(dtype)
        except pl.exceptions.PolarsError:
            raise WindrowError(f"the values are {native.dtype}, and do not fit {dtype}") from None

    def _objects(self, series: nw.Series) -> np.ndarray:
        return object_array(series.to_list())  # NumPy's own texts, which to_numpy gives, end at their last NUL

    def _decoded(self, series: nw.Series) -> nw.Series:
        return series.cast(nw.String()) if series.dtype in (nw.Categorical, nw.Enum) else series

    def _codes(self, native: Any) -> np.ndarray | None:
        import polars as pl

        if native.dtype == pl.String:  # twice as quick as the general way below
            native = native.cast(pl.Categorical)
        if native.dtype in (pl.Categorical, pl.Enum):
            return native.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        try:  # the first row with the same value
            rows = native.alias("key").to_frame().with_row_index("row")
            found = rows.select(pl.col("row").first().over("key").cast(pl.Int64)).to_series()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None
        return np.where(native.is_null().to_numpy(), -1, found.to_numpy()) if native.null_count() else found.to_numpy()

    def _take(self, native: Any, positions: np.ndarray) -> Any:
        import polars as pl

        gone = positions < 0
        if not gone.any():
            return native.gather(positions)
        at = pl.Series(positions)
        return native.gather(at.set(pl.Series(gone), None)) if len(native) else native.clear(len(positions))

    def _make(self, array: np.ndarray, mask: np.ndarray | None, dtype: Any) -> Any:
        import polars as pl

        if array.dtype == object:
            return _from_objects(array, mask, dtype)
        new = _from_numbers(array, mask)
        if dtype is None or new.dtype == dtype or (new.dtype.is_temporal() and not dtype.is_temporal()):
            return new
        try:
            return _zoned(new, dtype.time_zone).cast(dtype) if dtype == pl.Datetime else new.cast(dtype)
        except pl.exceptions.PolarsError:
            return new

    def _stamps(self, array: np.ndarray, mask: np.ndarray | None, native: Any, exact: bool) -> Any:
        import polars as pl

        new = _zoned(_from_numbers(array, mask), native.zone)
        if not exact or native.dtype in (pl.Object, pl.Null):
            return new
        try:
            return new.cast(native.dtype)
        except pl.exceptions.PolarsError:
            if native.kind != "integer":
                raise
            return new  # integers that do not fit

    def _together(self, columns: dict[str, Any]) -> Any:
        import polars as pl

        return self._as_given(pl.DataFrame([series.alias(name) for name, series in columns.items()]))

    def _beside(self, columns: dict[str, Any]) -> Any:
        return self._as_given(self.data.with_columns([series.alias(name) for name, series in columns.items()]))


def type_of(kind: Any) -> Type:
    """What a Polars type holds."""
    import polars as pl

    mine: dict[str, Any] = {"library": "polars", "own": kind}
    if kind.is_integer():
        return Type("int" if kind.is_signed_integer() else "uint", int(str(kind).lstrip("UInt")), **mine)
    if kind.is_float():
        return Type("float", int(str(kind).lstrip("Float")), **mine)
    if kind == pl.Decimal:
        return Type("decimal", precision=kind.precision or 38, scale=kind.scale, **mine)
    if kind == pl.Datetime:
        return Type("timestamp", unit=kind.time_unit, zone=kind.time_zone, **mine)
    if kind == pl.Duration:
        return Type("duration", unit=kind.time_unit, **mine)
    if kind in (pl.List, pl.Array):
        return Type("list", item=type_of(kind.inner), **mine)
    if kind == pl.Struct:
        return Type("struct", fields=tuple((f.name, type_of(f.dtype)) for f in kind.fields), **mine)
    if kind == pl.Enum:
        return Type("text", order=Order(lambda: kind.categories.to_list()), **mine)
    plain: dict[Any, Any] = {
        pl.String: "text", pl.Categorical: "text", pl.Binary: "bytes", pl.Boolean: "bool",
        pl.Date: "date", pl.Time: "time", pl.Null: "null",
    }  # fmt: skip
    return Type(next((name for own, name in plain.items() if kind == own), "object"), **mine)


def dtype_of(of: Type) -> Any:
    """The Polars type; None: the values tell it."""
    import polars as pl

    if of.library == "polars":
        return of.own if of.told else None
    if of.name in ("object", "null"):
        return None
    if of.name == "list":
        item = None if of.item is None else dtype_of(of.item)
        return None if item is None else pl.List(item)
    if of.name == "struct":
        parts = {name: dtype_of(part) for name, part in of.fields}
        return None if None in parts.values() else pl.Struct(parts)
    if of.name in ("timestamp", "duration"):
        unit: Any = of.unit if of.unit in ("ms", "us", "ns") else "ms"
        return (
            pl.Duration(unit) if of.name == "duration" else pl.Datetime(unit, None if of.zone is None else str(of.zone))
        )
    if of.name == "decimal":
        return pl.Decimal(of.precision, of.scale)
    plain = {"text": pl.String, "bytes": pl.Binary, "bool": pl.Boolean, "date": pl.Date, "time": pl.Time}
    if of.name in plain:
        return plain[of.name]()
    return getattr(pl, f"{ {'int': 'Int', 'uint': 'UInt', 'float': 'Float'}[of.name] }{of.bits}")()


def _from_numbers(array: np.ndarray, mask: np.ndarray | None) -> Any:
    import polars as pl

    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "s":
        array = array.astype(f"{array.dtype.kind}8[ms]")
    new = pl.Series(np.ascontiguousarray(array))
    return new if mask is None else new.set(pl.Series(~mask), None)


def _zoned(series: Any, zone: Any) -> Any:
    """Moments of UTC in a zone."""
    return series if zone is None else series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))


def _from_objects(array: np.ndarray, mask: np.ndarray | None, kind: Any) -> Any:
    import polars as pl

    refused = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
    values = listed(array, mask)
    for attempt in ([] if kind is None else [kind]) + [None]:
        try:
            return pl.Series(values, dtype=attempt, strict=True)
        except refused as error:
            reason = error
    try:
        return pl.Series(listed(array, mask, mixed=True), strict=True)  # tuples of different types are structs
    except refused:
        pass
    try:
        return pl.Series(values, dtype=pl.Object)
    except refused:
        raise WindrowError(f"Polars has no type for these values: {reason}") from None
