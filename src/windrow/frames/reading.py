"""Which frame for which data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.errors import WindrowError
from windrow.frames.base import Frame
from windrow.frames.of_arrays import ArrayFrame

WANTED = "pandas or Polars frames, pyarrow Tables, RecordBatches and RecordBatchReaders, or a dict of arrays"


def read(data: Any) -> Frame:
    """A frame from pandas, Polars, pyarrow or a dict of arrays; a library is imported only where its data comes."""
    if isinstance(data, (dict, Mapping)):  # a dict is told at once
        return ArrayFrame(data)
    if isinstance(data, Frame):
        return data
    import narwhals.stable.v2 as nw  # not above: a dict of arrays needs none of it

    if nw.dependencies.is_pandas_dataframe(data):
        from windrow.frames.of_pandas import PandasFrame

        return PandasFrame(data)
    if nw.dependencies.is_polars_lazyframe(data) or nw.dependencies.is_polars_dataframe(data):
        from windrow.frames.of_polars import PolarsFrame

        return PolarsFrame(data)
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow and isinstance(data, (pyarrow.Table, pyarrow.RecordBatch, pyarrow.RecordBatchReader)):
        from windrow.frames.of_arrow import ArrowFrame

        return ArrowFrame(data)
    hint = "; make it a frame: .to_frame()" if hasattr(data, "to_frame") else ""
    raise WindrowError(f"windrow reads {WANTED}, not {type(data).__module__}.{type(data).__qualname__}{hint}")


def outlined(frame: Frame) -> tuple:
    """What a frame without rows is made from again by `from_outline`: plain values, to be saved."""
    return frame.library, frame._outline()


def from_outline(outline: tuple) -> Frame:
    """A frame without rows, of the kind and types that `outlined` told."""
    library, content = outline
    if library == "arrow":
        import pyarrow as pa

        kind, schema = content
        from windrow.frames.of_arrow import ArrowFrame

        return ArrowFrame(pa.ipc.read_schema(pa.py_buffer(schema)).empty_table(), kind)
    if library == "polars":
        import io

        import polars as pl

        from windrow.frames.of_polars import PolarsFrame

        lazy, data = content
        return PolarsFrame(pl.read_ipc(io.BytesIO(data)), lazy)
    if library == "pandas":
        import pandas as pd

        from windrow.frames.of_pandas import PandasFrame

        return PandasFrame(pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in content}))
    return read({name: np.empty(0, dtype) for name, dtype in content})
