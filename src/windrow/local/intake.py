"""From a frame to rows in order: keys numbered, times read, rows that cannot be placed set aside."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.grouping import factorize, places
from windrow.engine.inputs import Column
from windrow.engine.placing import gathered, scattered, sorted_keys
from windrow.engine.threads import ONE, Threads
from windrow.errors import WindrowError
from windrow.frames import Frame, Times, counted_in
from windrow.query import Query
from windrow.step.along import has_place
from windrow.step.decoding import RANK_OF
from windrow.step.groups import NOTHING, ROW_OF, VALID_ROW_OF
from windrow.windows.base import TIME, Measure

NO_ROWS = np.empty(0, np.int64)
_MICROS = np.dtype("M8[us]")
NOWHERE: Mapping[Measure, np.ndarray] = {}


def check_columns(query: Query, frame: Frame) -> None:
    """Every column that the query names must be there."""
    for name in named_columns(query):
        frame.check(name)


def named_columns(query: Query) -> list[str]:
    """The columns of the data that the query names."""
    return list(dict.fromkeys(source for name in taken_columns(query) for source in query.sources(name)))


def taken_columns(query: Query) -> list[str]:
    """The columns that windows and aggregates take, derived ones among them."""
    names = [*query.by, *(() if query.time is None else (query.time,))]
    for window in query.windows.values():
        names += window.columns
    for aggregate in query.aggregates.values():
        names += aggregate.columns
    return list(dict.fromkeys(names))


def reads_any_column(query: Query) -> bool:
    """Whether a window or a condition is a user's code that does not say which columns it reads."""
    conditions = any(given.columns is None for given in query.inputs.values())
    return conditions or any(window.reads_any_column for window in query.windows.values())


def event_times(query: Query, frame: Frame) -> Times:
    """The time column of a query that has one."""
    assert query.time is not None
    return counted_in(query.time, frame.time(query.time), query.time_unit)


def column_measures(query: Query) -> list[Measure]:
    """The columns along which windows are measured."""
    found = [w.measure for w in query.windows.values()]
    return list(dict.fromkeys(m for m in found if m.kind == "column"))


def numbers(column: Column) -> Column:
    """The column; where it holds no value that could tell its type, as floats."""
    if column.kind == "object" and all(value is None for value in column.values.tolist()):
        return Column(np.zeros(len(column.values)), np.zeros(len(column.values), bool), np.dtype(np.float64))
    return column


def measure_dtype(query: Query, measure: Measure, column: Column) -> np.dtype:
    """int64 where the column and all lengths along it are whole, else float64."""
    if column.kind not in ("int64", "float64") or column.dtype.kind in "mM":
        raise WindrowError(
            f"column '{measure.column}' holds {column.dtype}; a window on it needs numbers"
            + (" (a duration with time= is for times)" if column.dtype.kind in "mM" else "")
        )
    return np.dtype(np.int64 if column.kind == "int64" and whole_lengths(query, measure) else np.float64)


def whole_lengths(query: Query, measure: Measure) -> bool:
    """Whether the windows along a column have lengths of whole numbers."""
    lengths = [length for w in query.windows.values() if w.measure == measure for length in w.lengths]
    return all(isinstance(length, int) for length in lengths)


@dataclass(frozen=True)
class Intake:
    """A frame's rows: keys by number, times and measures, all in the frame's own order."""

    frame: Any  # a Frame, or rows that are held
    codes: np.ndarray
    keys: np.ndarray  # a row of each key
    times: Times | None
    measures: dict[Measure, np.ndarray]
    good: np.ndarray | None = None  # the rows that have a place in any window; None: all
    absent: Mapping[Measure, np.ndarray] = field(default_factory=dict)  # as in `Placed`
    rejected: int = 0
    time: str | None = None  # the name of the time column

    def present(self, measure: Measure) -> np.ndarray | None:
        """The rows that have a place along a column; None: all that have one in any window."""
        mask = self.absent.get(measure)
        if mask is None:
            return None
        present = ~mask
        if self.good is not None:
            if not mask[self.good].any():
                return None
            some = np.zeros(self.frame.rows, bool)
            some[self.good] = True
            present &= some
        return np.flatnonzero(present)


class Placed(NamedTuple):
    """What orders the rows of a frame, and which of them have a place."""

    times: Times | None
    measures: dict[Measure, np.ndarray]
    good: np.ndarray | None = None  # the rows that have a place in any window; None: all
    absent: Mapping[Measure, np.ndarray] = NOWHERE  # which rows have none along a column, where any has none
    rejected: np.ndarray = NO_ROWS  # the rows that have no place in some window


def placed(query: Query, frame: Frame, along: Sequence[Measure]) -> Placed:
    """Reads event time and the columns `along`.

    A row without a time has no place in any window, one without a value along a column none in windows along it. With
    `strict`, either is an error.
    """
    timeless: np.ndarray | None = None
    times, measures, absent = None, {}, {}
    if query.time is not None:
        times = event_times(query, frame)
        measures[TIME] = times.values
        if times.mask is not None:
            timeless = ~times.mask
    for measure in along:
        assert measure.column is not None
        column = numbers(frame.column(measure.column))
        measures[measure] = column.values.astype(measure_dtype(query, measure, column), copy=False)
        there = has_place(column)
        if there is not None:
            absent[measure] = ~there
    lacks = [mask for mask in (timeless, *absent.values()) if mask is not None]
    bad = np.logical_or.reduce(lacks) if lacks else None
    if bad is None or not bad.any():
        return Placed(times, measures)
    if query.strict:
        row = int(np.argmax(bad))
        raise WindrowError(f"row {row} has no {_what_lacks(query, times, row)}; {int(bad.sum())} rows in all")
    nowhere = np.zeros(frame.rows, bool) if timeless is None else timeless
    if len(absent) == len(along) and all(window.measure in absent for window in query.windows.values()):
        nowhere = nowhere | np.logical_and.reduce(list(absent.values()))
    return Placed(times, measures, np.flatnonzero(~nowhere) if nowhere.any() else None, absent, np.flatnonzero(bad))


def take_in(query: Query, frame: Frame, threads: Threads = ONE) -> Intake:
    """Reads what orders the rows. Rows without a place in any window are left out."""
    check_columns(query, frame)
    n = frame.rows
    found = placed(query, frame, column_measures(query))
    if query.by:
        codes, keys = factorize(frame.keys(query.by), threads)
    else:
        codes, keys = np.zeros(n, np.int64), np.zeros(min(n, 1), np.int64)
    return Intake(
        frame, codes, keys, found.times, found.measures, found.good, found.absent, len(found.rejected), query.time
    )


def _what_lacks(query: Query, times: Times | None, row: int) -> str:
    if times is not None and times.mask is not None and not times.mask[row]:
        return f"time in column '{query.time}'"
    return "value in " + " or ".join(f"column '{m.column}'" for m in column_measures(query))


class Ordered:
    """A frame's rows in the order in which windows take them."""

    def __init__(
        self, intake: Intake, along: Measure | None, threads: Threads = ONE, rows_of: np.ndarray | None = None
    ) -> None:
        self.intake, self.threads, self.size = intake, threads, max(len(intake.keys), 1)
        self.rows_of = intake.good if rows_of is None else rows_of  # rows of the frame; None: all
        codes = self._taken(intake.codes)
        values = None if along is None else self._taken(intake.measures[along])
        found = places(codes, self.size, values, threads)
        self.place = None if found is None else found.place  # of each row; None: as they lie
        self.key = codes if found is None else sorted_keys(found.begin, threads)
        self._columns: dict[str, Column] = {}

    @classmethod
    def as_they_lie(cls, intake: Intake) -> Ordered:
        """The rows in the frame's own order, keys mixed."""
        ordered = cls.__new__(cls)
        ordered.intake, ordered.threads, ordered.size = intake, ONE, max(len(intake.keys), 1)
        ordered.rows_of, ordered.place, ordered._columns = intake.good, None, {}
        ordered.key = ordered._taken(intake.codes)
        return ordered

    def __len__(self) -> int:
        return len(self.key)

    def resorted(self, measure: Measure) -> Ordered:
        """The same rows by key and this measure; where that is equal, in the order they have here."""
        again = copy.copy(self)
        found = places(self.key, self.size, self.pick(self.intake.measures[measure]), self.threads)
        if found is not None:
            again.place = found.place if self.place is None else found.place[self.place]
        again._columns = {}
        return again

    def positions(self) -> np.ndarray:
        """Which rows of the frame these are."""
        return self.pick(np.arange(self.intake.frame.rows, dtype=np.int64))

    def sorted_by(self, measure: Measure) -> bool:
        """Whether a measure does not go back within a key."""
        values = self.pick(self.intake.measures[measure])
        return bool(((values[1:] >= values[:-1]) | (self.key[1:] != self.key[:-1])).all())

    def _taken(self, values: np.ndarray) -> np.ndarray:
        return values if self.rows_of is None else values[self.rows_of]

    def pick(self, values: np.ndarray) -> np.ndarray:
        """Values of the frame's rows in this order."""
        mine = self._taken(values)
        return mine if self.place is None else scattered(mine, self.place, self.threads)

    def back(self, values: np.ndarray, none: Any) -> np.ndarray:
        """Values in this order as the frame's rows lie; `none` for rows that are not among them."""
        mine = values if self.place is None else gathered(values, self.place, self.threads)
        if self.rows_of is None:
            return mine
        found = np.full(self.intake.frame.rows, none, values.dtype)
        found[self.rows_of] = mine
        return found

    def column(self, name: str) -> Column:
        """A column in this order; the special ones of `step.groups`, too."""
        if name not in self._columns:
            self._columns[name] = self._made(name)
        return self._columns[name]

    def _made(self, name: str) -> Column:
        if name == NOTHING:
            return Column(np.zeros(len(self), np.int64), None, np.dtype(np.int64))
        if name.startswith((ROW_OF, VALID_ROW_OF)):
            rows = self.positions()
            mask = self.intake.frame.outline(name[1:]).mask if name.startswith(VALID_ROW_OF) else None
            return Column(rows, None if mask is None else self.pick(mask), rows.dtype)
        frame = self.intake.frame
        column = frame.ranks(name[1:]) if name.startswith(RANK_OF) else frame.column(name)
        if self.place is None and self.rows_of is None:
            return column
        return Column(self.pick(column.values), None if column.mask is None else self.pick(column.mask), column.dtype)

    def readable(self) -> Mapping[str, Column]:
        """All columns, read when asked for; times in microseconds: what predicates and user-defined windows see."""
        return _Readable(self)


class _Readable(Mapping[str, Column]):
    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered

    def __getitem__(self, name: str) -> Column:
        frame = self.ordered.intake.frame
        if name not in frame.names:
            raise KeyError(name)
        if name == self.ordered.intake.time:
            times = self.ordered.intake.times
            assert times is not None
            return Column(self.ordered.pick(times.micros), None, _MICROS if times.stamps else np.dtype("i8"))
        column = self.ordered.column(name)
        if column.dtype.kind == "M":
            return Column(column.values.view(column.dtype).astype("M8[us]").view(np.int64), column.mask, _MICROS)
        return column

    def __iter__(self) -> Any:
        return iter(self.ordered.intake.frame.names)

    def __len__(self) -> int:
        return len(self.ordered.intake.frame.names)
