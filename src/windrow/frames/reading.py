"""Which frame for which data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

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
