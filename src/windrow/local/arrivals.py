"""Rows as they arrive: which are late, which key they belong to, and which the watermark has passed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from windrow.engine.inputs import Column
from windrow.errors import WindrowError
from windrow.frames import Frame, Times
from windrow.local.intake import Intake, named_columns, reads_any_column, take_in
from windrow.query import Query
from windrow.sharing.slices import highest, lowest
from windrow.step.held import Held, coerced

FOREVER, NEVER = highest(np.int64), lowest(np.int64)


@dataclass(frozen=True)
class Arrived:
    """What became of the rows of a frame."""

    late: np.ndarray
    rejected: np.ndarray


class Arrivals:
    """The door: everything about rows that have come and have not been taken in yet."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.newest = self.watermark = NEVER  # the newest time seen; how far event time has come
        self.times: Times | None = None  # what the time column is like
        self.codes: dict[tuple, int] = {}  # the number of each key
        self.kinds: dict[str, tuple[str, np.dtype]] = {}  # of the columns, as the first rows had them
        self.held: Held | None = None

    @property
    def ticks(self) -> int:
        """How many ticks of the time column a microsecond has."""
        return 1000 if self.times is not None and self.times.unit == "ns" else 1

    def begin(self, frame: Frame) -> None:
        """Takes the types of the columns from an empty frame, before there are rows."""
        if self.query.time is not None:
            self.times = frame.time(self.query.time)
        for name in self._kept(frame):
            column = frame.column(name)
            self.kinds[name] = (column.kind, column.dtype)

    def take(self, frame: Frame) -> Arrived:
        """Holds the rows that are in time."""
        intake = take_in(self.query, frame)
        good = np.arange(frame.rows) if intake.good is None else intake.good
        times = self._in_unit(intake)[good]
        in_time, newest = self._in_time(times)
        at = good[in_time]
        if len(at):
            rows = self._plain(intake, at, times[in_time])
            self.held = rows if self.held is None else self.held.followed_by(rows)
        self.newest = newest
        if self.query.time is not None and newest != NEVER:
            self.watermark = max(self.watermark, newest - self.query.lateness * self.ticks)
        rejected = np.ones(frame.rows, bool)
        rejected[good] = False
        return Arrived(good[~in_time], np.flatnonzero(rejected))

    def release(self, everything: bool, at_the_mark: bool) -> Held | None:
        """The rows that are ready; `at_the_mark`: also those exactly at the watermark."""
        rows = self.held
        if rows is None or everything:
            self.held = None
            return rows
        ready = rows.times <= self.watermark if at_the_mark else rows.times < self.watermark
        if not ready.any():
            return None
        self.held = None if ready.all() else rows.at(np.flatnonzero(~ready))
        return rows.at(np.flatnonzero(ready))

    def nothing(self) -> Held:
        """No rows."""
        none = np.empty(0, np.int64)
        columns = {n: Column(np.empty(0, kind), None, dtype) for n, (kind, dtype) in self.kinds.items()}
        return Held(none, none, columns)

    def _in_unit(self, intake: Intake) -> np.ndarray:
        """Event times in the unit of the first rows; zeros where the query has none."""
        times = intake.times
        if times is None:
            return np.zeros(intake.frame.rows, np.int64)
        if self.times is None and intake.frame.rows:
            self.times = replace(times, values=times.values[:0], mask=None)
        if self.times is None or times.unit == self.times.unit:
            return times.values
        if self.times.unit == "ns":
            return times.values * 1000
        if (times.values % 1000).any():
            raise WindrowError(f"column '{self.query.time}' came in microseconds before, and has finer times now")
        return times.values // 1000

    def _in_time(self, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Which rows are not late, and the newest time seen: a row is late by what was seen before it."""
        if self.query.time is None:
            return np.ones(len(times), bool), NEVER
        seen = np.maximum.accumulate(np.concatenate([[self.newest], times]))
        lateness = self.query.lateness * self.ticks
        early = seen[:-1] < min(NEVER + lateness, FOREVER)  # less the lateness would be before all time
        limit = np.where(early, NEVER, seen[:-1] - np.where(early, 0, min(lateness, FOREVER)))
        return times >= np.maximum(limit, self.watermark), int(seen[-1])

    def _plain(self, intake: Intake, at: np.ndarray | slice, times: np.ndarray) -> Held:
        """Rows as plain columns, of the types that the first rows had."""
        columns = {}
        for name in self._kept(intake.frame):
            column = intake.frame.column(name)
            kind, dtype = self.kinds.setdefault(name, (column.kind, column.dtype))
            columns[name] = coerced(name, column, kind, dtype)
        codes = self._codes(intake)
        placed = Held(codes, codes, columns).at(at)
        return Held(placed.codes, times, placed.columns)

    def _codes(self, intake: Intake) -> np.ndarray:
        """The number of each row's key, the same in every batch."""
        n = intake.frame.rows
        if not self.query.by:
            self.codes.setdefault((), 0)
            return np.zeros(n, np.int64)
        values = [intake.frame.objects(name, intake.keys) for name in self.query.by]
        keys = [tuple(one_nan(part) for part in key) for key in zip(*values, strict=True)]
        return np.array([self.codes.setdefault(key, len(self.codes)) for key in keys], np.int64)[intake.codes]

    def _kept(self, frame: Frame) -> list[str]:
        """The columns that are held: all of them where results repeat them or a user's code may read them."""
        if self.query.per_row or reads_any_column(self.query):
            for name in self.kinds:
                frame.check(name)
            return list(self.kinds) or list(frame.names)
        return named_columns(self.query)


#: NaN is one key, and equal to itself only as one object
_NAN = float("nan")


def one_nan(part: object) -> object:
    return _NAN if part != part else part
