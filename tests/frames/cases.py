"""One column of each type, as data of each kind, and results as lists that can be compared."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from windrow import frames
from windrow.frames import Frame, Instants, Key, Times

BERLIN = "Europe/Berlin"
DAY = dt.date(1969, 12, 30)
MOMENT = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)

#: one column of each type, with a null in the middle
TYPES = {
    "int8": pa.array([1, None, -3], pa.int8()),
    "int64": pa.array([2**62, None, -3], pa.int64()),
    "uint64": pa.array([2**63 + 5, None, 1], pa.uint64()),
    "float32": pa.array([1.5, None, -0.25], pa.float32()),
    "float64": pa.array([1.5, None, float("inf")]),
    "bool": pa.array([True, None, False]),
    "text": pa.array(["a", None, "ü"]),
    "large text": pa.array(["a", None, "ü"], pa.large_string()),
    "bytes": pa.array([b"a", None, b""]),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-3.00")]),
    "date": pa.array([DAY, None, dt.date(2000, 2, 29)]),
    "s": pa.array([-1, None, 3], pa.timestamp("s")),
    "ms": pa.array([-1, None, 3], pa.timestamp("ms")),
    "us": pa.array([-1, None, 3], pa.timestamp("us")),
    "ns": pa.array([-1, None, 3], pa.timestamp("ns")),
    "zoned": pa.array([-1, None, 3], pa.timestamp("us", BERLIN)),
    "duration": pa.array([-1, None, 3], pa.duration("us")),
    "clock": pa.array([dt.time(1), None, dt.time(2)]),
    "dictionary": pa.array(["a", None, "ü"]).dictionary_encode(),
    "list": pa.array([[1], None, [2, 3]]),
    "struct": pa.array([{"x": 1}, None, {"x": 2}]),
}
KINDS = ["table", "batch", "reader", "polars", "lazy", "pandas", "pandas nullable", "pandas pyarrow", "dict"]
NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
NULLABLE |= {pa.bool_(): pd.BooleanDtype(), pa.float64(): pd.Float64Dtype(), pa.float32(): pd.Float32Dtype()}


def array_of(column: pa.ChunkedArray) -> Any:
    """A column as somebody with NumPy only would have it."""
    kind, there = column.type, column.is_valid().to_numpy()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        array = column.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy()
        return array if there.all() else np.ma.array(array, mask=~there)
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind):
        return column.to_numpy()  # NaT for null
    return column.to_pylist()


def made(kind: str, table: pa.Table) -> Any:
    if kind in ("polars", "lazy"):
        frame = pl.DataFrame(pl.from_arrow(table))
        return frame.lazy() if kind == "lazy" else frame
    return {
        "table": lambda: table,
        "batch": lambda: pa.RecordBatch.from_arrays(
            [pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type) for c in table.columns],
            schema=table.schema,
        ),
        "reader": lambda: table.to_reader(),
        "pandas": lambda: table.to_pandas(),
        "pandas nullable": lambda: table.to_pandas(types_mapper=NULLABLE.get),
        "pandas pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "dict": lambda: {name: array_of(table[name]) for name in table.column_names},
    }[kind]()


def eager(data: Any) -> Any:
    """Lazy frames and readers (which can be read once) as what is in them."""
    return data.collect() if isinstance(data, pl.LazyFrame) else data.read_all() if hasattr(data, "read_all") else data


def build(*args: Any) -> Any:
    return eager(frames.build(*args))


def extend(*args: Any) -> Any:
    return eager(frames.extend(*args))


def listed(data: Any, name: str) -> list:
    """A column as Python's objects, None for null, times as datetime64 so that all kinds can be compared."""
    column = eager(data)[name]
    if isinstance(column, pd.Series):
        gone = column.isna()
        values = [None if null else v for null, v in zip(gone, column.tolist(), strict=True)]
    elif isinstance(column, pl.Series):
        values = list(column.to_numpy()) if column.dtype == pl.Datetime else column.to_list()
    else:
        values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [comparable(v) for v in values]


def comparable(value: Any) -> Any:
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, pd.Timestamp):
        return np.datetime64(value.value, value.unit) if value.unit == "ns" else comparable(value.to_pydatetime())
    if isinstance(value, dt.datetime) and value.tzinfo:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, (dt.date, np.datetime64)):
        return None if np.isnat(np.datetime64(value)) else np.datetime64(value)
    if isinstance(value, (dt.timedelta, np.timedelta64)):
        return None if np.isnat(np.timedelta64(value)) else np.timedelta64(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def objects_of(frame: Frame, name: str) -> list:
    return [comparable(v) for v in frame.column(name).objects()]


def instants(times: Times, later: int) -> Instants:
    return Instants(times.values + later, times.mask, times)


def types(data: Any) -> dict[str, Any]:
    """The type of each column, by name."""
    data = eager(data)
    if isinstance(data, dict):
        return {name: getattr(values, "dtype", type(values)) for name, values in data.items()}
    if isinstance(data, pd.DataFrame):
        return dict(data.dtypes)
    if isinstance(data, pl.DataFrame):
        return dict(data.schema)
    return dict(zip(data.schema.names, data.schema.types, strict=True))


def pattern(key: Key) -> list[int]:
    """For each row the first with the same key."""
    there = [True] * len(key.values) if key.mask is None else key.mask.tolist()
    names = [repr(v) if ok else "null" for v, ok in zip(key.values.tolist(), there, strict=True)]
    return [names.index(name) for name in names]
