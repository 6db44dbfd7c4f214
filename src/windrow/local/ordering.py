"""Rows of a live query in the order in which windows take them: by key, and by time within each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from windrow.engine.grouping import order_of
from windrow.engine.inputs import Column
from windrow.step.decoding import RANK_OF
from windrow.step.groups import NOTHING, ROW_OF, VALID_ROW_OF
from windrow.step.held import Held


class OrderedRows:
    """Rows by key and time. Columns are put in order when they are asked for."""

    def __init__(self, rows: Held, timed: bool, labels: Mapping[str, np.ndarray], ranks: Mapping[str, Column]) -> None:
        """What aggregates read beside the columns.

        Args:
            labels: for columns of which they hand on a value, the number of each row's label.
            ranks: for columns of which they take the rank, as they name it.
        """
        self.rows, self.labels, self.ranks = rows, labels, ranks
        self.at = order_of(rows.codes, rows.times if timed else None)  # None: they are in order
        self.key = self.pick(rows.codes)
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.key)

    def pick(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows in this order."""
        return values if self.at is None else values[self.at]

    def back(self) -> np.ndarray | slice:
        """Where each row's answer is."""
        if self.at is None:
            return slice(None)
        places = np.empty(len(self.at), np.int64)
        places[self.at] = np.arange(len(self.at))
        return places

    def column(self, name: str) -> Column:
        """A column in this order; the special ones of `step.groups`, too."""
        if name not in self._columns:
            self._columns[name] = self._made(name)
        return self._columns[name]

    def _made(self, name: str) -> Column:
        if name == NOTHING:
            return Column(np.zeros(len(self), np.int64), None, np.dtype(np.int64))
        if name.startswith((ROW_OF, VALID_ROW_OF)):
            numbers = self.pick(self.labels[name[1:]])
            mask = self.rows.column(name[1:]).mask if name.startswith(VALID_ROW_OF) else None
            return Column(numbers, None if mask is None else self.pick(mask), numbers.dtype)
        column = self.ranks[name] if name.startswith(RANK_OF) else self.rows.column(name)
        if self.at is None:
            return column
        return Column(self.pick(column.values), None if column.mask is None else self.pick(column.mask), column.dtype)


class Readable(Mapping[str, Column]):
    """What predicates and user-defined windows see of rows: all columns, times in microseconds."""

    def __init__(self, rows: OrderedRows, time: str | None, ticks: int) -> None:
        """`time`: the time column, which has so many ticks a microsecond."""
        self.ordered, self.time, self.ticks = rows, time, ticks

    def __getitem__(self, name: str) -> Column:
        if name not in self.ordered.rows.columns:
            raise KeyError(name)
        if name == self.time:
            times = self.ordered.pick(self.ordered.rows.times)
            stamps = self.ordered.rows.column(name).dtype.kind == "M"
            dtype = np.dtype("M8[us]" if stamps else "i8")
            return Column(times if self.ticks == 1 else times // self.ticks, None, dtype)
        column = self.ordered.column(name)
        if column.dtype.kind == "M":
            micros = column.values.view(column.dtype).astype("M8[us]")
            return Column(micros.view(np.int64), column.mask, micros.dtype)
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self.ordered.rows.columns)

    def __len__(self) -> int:
        return len(self.ordered.rows.columns)
