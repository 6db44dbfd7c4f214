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
        columns = {
            name: Column(c.values.copy(), None if c.mask is None else c.mask.copy(), c.dtype)
            for name, c in self.columns.items()
        }
        return Held(self.codes.copy(), self.times.copy(), columns)

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
    """A column in the type that it had in the first batch."""
    if column.kind == kind:
        if column.dtype == dtype:
            return column
        return Column(column.values, column.mask, dtype if column.dtype.kind == dtype.kind else column.dtype)
    n = len(column.values)
    if column.mask is not None and not column.mask.any():  # nulls only, of whatever type
        values = np.full(n, None, object) if kind == "object" else np.zeros(n, kind)
        return Column(values, column.mask, dtype)
    if kind == "object":
        values = np.empty(n, object)
        values[:] = column.objects()
        return Column(values, column.mask, dtype)
    if kind == "float64" and column.kind == "int64":
        return Column(column.values.astype(np.float64), column.mask, dtype)
    if kind == "int64" and column.kind == "float64":
        whole = column.values if column.mask is None else np.where(column.mask, column.values, 0.0)
        if (np.abs(whole) < 2**53).all() and (whole == np.floor(whole)).all():
            return Column(whole.astype(np.int64), column.mask, dtype)
    raise WindrowError(f"column '{name}' held {kind} before and holds {column.kind} now; a live query needs one type")
