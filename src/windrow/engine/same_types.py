"""Batches of one column that come one after the other: each is made to be of the first one's type, exactly."""

from __future__ import annotations

import numpy as np

from windrow.engine.inputs import Column
from windrow.errors import WindrowError


def settled(column: Column) -> tuple[str, np.dtype]:
    """The kind and type that later batches of a column must fit. Texts of NumPy's have a width, which is no type."""
    return column.kind, np.dtype(object) if column.kind == "object" else column.dtype


def coerced(what: str, column: Column, kind: str, dtype: np.dtype) -> Column:
    """A column in the type that it had in the first batch: every value as it is, or an error."""
    if column.kind == kind and column.dtype == dtype:
        return column
    found = None if len(column.values) else Column(np.empty(0, kind), None, dtype)
    if column.mask is not None and not column.mask.any():  # nulls only, of whatever type
        n = len(column.values)
        found = Column(np.full(n, None, object) if kind == "object" else np.zeros(n, kind), column.mask, dtype)
    found = found or _exactly(column, kind, dtype)
    if found is None:
        raise WindrowError(
            f"{what} held {_spelled(kind, dtype)} before and holds {_spelled(column.kind, column.dtype)} now, "
            "with values that do not fit; one type is needed"
        )
    return found


def _exactly(column: Column, kind: str, dtype: np.dtype) -> Column | None:
    """The same values as another type; None: some of them are none of it."""
    values, mask = column.values, column.mask
    if kind == "object":
        if column.kind != "object":
            values = np.empty(len(values), object)
            values[:] = column.objects()
        return Column(values, mask, dtype)
    if column.kind == "object" or (column.kind == "bool") != (kind == "bool"):
        return None
    known = values if mask is None else np.where(mask, values, values.dtype.type(0))
    if column.dtype.kind in "mM" or dtype.kind in "mM":
        return _in_unit(known, mask, column.dtype, dtype)
    if column.kind != kind:
        if len(known) and not -(2**53) <= known.min() <= known.max() <= 2**53:
            return None  # beyond it, not every whole number is a float
        if kind == "int64" and not (known == np.floor(known)).all():
            return None
        known = known.astype(kind)
    if dtype != column.dtype and dtype.kind in "iuf" and dtype.itemsize < 8:  # a narrower type
        with np.errstate(over="ignore"):
            if not np.array_equal(known.astype(dtype).astype(kind), known, equal_nan=kind == "float64"):
                return None
    elif dtype.kind == "u" and len(known) and int(known.min()) < 0:
        return None
    return Column(known, mask, dtype)


def _in_unit(known: np.ndarray, mask: np.ndarray | None, now: np.dtype, was: np.dtype) -> Column | None:
    """Times or durations in another unit."""
    if now.kind != was.kind:
        return None
    times = known.astype(np.int64, copy=False).view(now)
    found = times.astype(was)
    if not (found.astype(now) == times).all():  # finer, or beyond what the other unit counts
        return None
    return Column(found.view(np.int64), mask, was)


def _spelled(kind: str, dtype: np.dtype) -> str:
    return kind if dtype.kind == "O" else str(dtype)
