"""Types and frames without rows as plain values, and back: what a snapshot knows of the columns."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from windrow.engine.loaded import require
from windrow.frames.base import Frame
from windrow.frames.reading import read
from windrow.frames.times import NANOS, Times, TimeType
from windrow.frames.types import DIGITS, Name, Order, Type, of_dtype


def saved_type(of: Type) -> tuple:
    """A type as plain values."""
    item = None if of.item is None else saved_type(of.item)
    fields = [(name, saved_type(part)) for name, part in of.fields]
    own = None if of.own is None else _save_own(of.library, of.own)
    zone = _save_zone(of.zone)
    order = None if of.order is None else of.order.categories.tolist()
    return (of.name, of.bits, of.unit, zone, of.precision, of.scale, item, fields, of.null, of.library, own, order)


def loaded_type(saved: tuple) -> Type:
    """The inverse of `saved_type`."""
    name, bits, unit, zone, precision, scale, item, fields, null, library, own, categories = saved
    what = "the type of a column"
    require(name in get_args(Name) and bits in (8, 16, 32, 64) and unit in ("", *NANOS), what)
    require(library in ("", "arrays", "pandas", "polars", "arrow") and isinstance(null, bool), what)
    require([isinstance(number, int) and 0 <= number <= DIGITS for number in (precision, scale)], what)
    made = Type(
        name, bits, unit, _load_zone(zone), precision, scale, None if item is None else loaded_type(item),
        tuple((field, loaded_type(part)) for field, part in fields), null, library,
        None if own is None else _load_own(library, own), None if categories is None else _order(categories),
    )  # fmt: skip
    if library == "arrays" and own is not None:
        told = of_dtype(made.own)
        same = (told.name, told.bits, told.unit) == (name, bits, unit) or told.kind == made.kind == "object"
        require(same, what)
    return made


def saved_times(times: Times) -> tuple:
    """What a time column is like, as plain values; its own type is that of the column."""
    native = times.native
    return times.unit, native.kind, native.unit, _save_zone(native.zone)


def loaded_times(saved: tuple, dtype: Any) -> Times:
    """The inverse of `saved_times`."""
    unit, kind, own_unit, zone = saved
    require(unit in ("us", "ns") and kind in ("timestamp", "date", "integer") and own_unit in NANOS, "the unit of time")
    return Times(np.empty(0, np.int64), None, unit, TimeType(kind, own_unit, _load_zone(zone), dtype))


def emptied(library: str, form: Any, types: Mapping[str, Type]) -> Frame:
    """A frame without rows, of a library and of the form that its data came in (`Frame.form`)."""
    if library == "arrow":
        import pyarrow as pa

        from windrow.frames.of_arrow import ArrowFrame, dtype_of

        fields = [(name, dtype_of(kind) or pa.null()) for name, kind in types.items()]
        return ArrowFrame(pa.schema(fields).empty_table(), form)
    if library == "polars":
        import polars as pl

        from windrow.frames.of_polars import PolarsFrame, dtype_of

        return PolarsFrame(pl.DataFrame(schema={name: dtype_of(kind) or pl.Null for name, kind in types.items()}), form)
    if library == "pandas":
        import pandas as pd

        from windrow.frames.of_pandas import PandasFrame, dtype_of

        return PandasFrame(pd.DataFrame({name: pd.Series([], dtype=dtype_of(kind)) for name, kind in types.items()}))
    return read({name: np.empty(0, object) for name in types})


def _order(categories: list) -> Order:
    require(isinstance(categories, list) and len(set(categories)) == len(categories), "the categories of a column")
    return Order(lambda: categories)


def _save_own(library: str, own: Any) -> Any:
    if library == "arrays":
        return own.str
    if library == "arrow":
        import pyarrow as pa

        return pa.schema([("own", own)]).serialize().to_pybytes()
    if library == "polars":
        import io

        import polars as pl

        data = io.BytesIO()
        pl.DataFrame(schema={"own": own}).write_ipc(data)
        return data.getvalue()
    import pandas as pd

    if isinstance(own, pd.ArrowDtype):
        return "arrow", _save_own("arrow", own.pyarrow_dtype)
    if isinstance(own, pd.CategoricalDtype):
        return "category", None if own.categories is None else own.categories.tolist(), own.ordered
    return "name", str(own)


def _load_own(library: str, saved: Any) -> Any:
    if library == "arrays":
        return np.dtype(saved)
    if library == "arrow":
        import pyarrow as pa

        return pa.ipc.read_schema(pa.py_buffer(saved)).field("own").type
    if library == "polars":
        import io

        import polars as pl

        return pl.read_ipc(io.BytesIO(saved)).schema["own"]
    import pandas as pd

    if saved[0] == "arrow":
        return pd.ArrowDtype(_load_own("arrow", saved[1]))
    if saved[0] == "category":
        return pd.CategoricalDtype(saved[1], saved[2])
    return pd.Series([], dtype=saved[1]).dtype


def _save_zone(zone: Any) -> Any:
    """A zone's name; of one that is only so far from UTC, how far."""
    if isinstance(zone, datetime.timezone):
        return ("offset", zone.utcoffset(None).total_seconds())
    return None if zone is None else zone if isinstance(zone, str) else ("zone", str(zone))


def _load_zone(saved: Any) -> Any:
    if not isinstance(saved, tuple):
        return saved
    how, which = saved
    return datetime.timezone(datetime.timedelta(seconds=which)) if how == "offset" else zoneinfo.ZoneInfo(which)
