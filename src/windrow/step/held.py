"""Rows that a live query holds: plain columns, so that they can be cut, joined and saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.engine.inputs import Column


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
        return Held(self.codes[where], self.times[where], {n: c.at(where) for n, c in self.columns.items()})

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
