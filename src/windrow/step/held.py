"""Rows that a live query holds: plain columns, so that they can be cut, joined and saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.engine.inputs import Column
from windrow.errors import WindrowError


@dataclass(slots=True, eq=False)
class Held:
    """Rows in the order in which they came: numbers of their keys, times (microseconds), columns."""

    codes: np.ndarray
    times: np.ndarray
    columns: Mapping[str, Column]

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def column(self, name: str) -> Column:
        return self.columns[name]

    def outline(self, name: str) -> Column:
        return self.columns[name]

    def at(self, where: np.ndarray | slice) -> Held:
        """Some of the rows."""
        return Held(self.codes[where], self.times[where], {n: _at(c, where) for n, c in self.columns.items()})

    def coded(self, codes: np.ndarray) -> Held:
        """The same with other numbers for the keys."""
        return Held(codes, self.times, self.columns)

    def copied(self) -> Held:
        """The same rows in memory of their own."""
        return self.at(np.arange(self.rows))

    def followed_by(self, other: Held) -> Held:
        """These rows, then those."""
        if not self.rows:
            return other
        return Held(
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.times, other.times]),
            {n: c.followed_by(other.columns[n]) for n, c in self.columns.items()},
        )


def _at(column: Column, where: np.ndarray | slice) -> Column:
    return Column(column.values[where], None if column.mask is None else column.mask[where], column.dtype)


def coerced(name: str, column: Column, kind: str, dtype: np.dtype) -> Column:
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
            f"column '{name}' held {_spelled(kind, dtype)} before and holds {_spelled(column.kind, column.dtype)} now, "
            "with values that are no such; a live query needs one type"
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
        if len(known) and float(np.abs(known.astype(np.float64)).max()) > 2**53:
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
    return kind if dtype == object else str(dtype)
