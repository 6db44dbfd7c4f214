"""Rows as they come to a live query: which are in time, and the numbers of their keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.engine.walks import LOWEST as NEVER
from windrow.errors import WindrowError
from windrow.frames import Frame, Times
from windrow.local.intake import column_measures, named_columns, placed, reads_any_column
from windrow.query import Query
from windrow.step.held import Held, coerced
from windrow.step.keys import Keys, are_integers

_NO_ROWS = np.empty(0, np.int64)


class Door:
    """What is known of rows that come: their types, how far event time has come, the numbers of their keys."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.newest = self.watermark = NEVER  # the newest time seen; how far event time has come
        self.times: Times | None = None  # what the time column is like
        self.kinds: dict[str, tuple[str, np.dtype]] = {}  # of the columns, as the first rows had them
        self.keys = Keys(len(query.by))
        self.named = tuple(named_columns(query))
        self._names: tuple[
            str, ...
        ] = ()  # that the columns of the last rows had: they need not be looked through again
        self.measures = column_measures(query)
        #: all columns are kept where results repeat them or a user's code may read them
        self.keeps_all = query.per_row or reads_any_column(query)

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

    def admit(self, frame: Frame) -> tuple[Held | None, np.ndarray, np.ndarray]:
        """(rows that are in time, which are late, which are rejected); event time goes on."""
        if frame.names != self._names:
            for name in self.named:
                frame.check(name)
            self._names = frame.names
        found = placed(self.query, frame, self.measures)
        times, good, rejected = self._in_unit(frame, found.times), found.good, _NO_ROWS
        if good is not None:
            times = times[good]
            missing = np.ones(frame.rows, bool)
            missing[good] = False
            rejected = np.flatnonzero(missing)
        at: np.ndarray | slice = slice(None) if good is None else good
        late, newest, watermark = _NO_ROWS, self.newest, self.watermark
        if self.query.time is not None and len(times):
            one = len(times) == 1
            newest = max(newest, int(times[0] if one else times.max()))
            watermark = max(watermark, newest - self.query.lateness * self.ticks)
            if (times[0] if one else times.min()) < watermark:  # it may be late: surely, had the newest come first
                in_time = self._in_time(times)
                rows = np.arange(frame.rows) if good is None else good
                at, late, times = rows[in_time], rows[~in_time], times[in_time]
        admitted = self._plain(frame, at, times) if len(times) else None
        self.newest, self.watermark = newest, watermark
        return admitted, late, rejected

    def nothing(self) -> Held:
        """No rows."""
        columns = {n: Column(np.empty(0, kind), None, dtype) for n, (kind, dtype) in self.kinds.items()}
        return Held(_NO_ROWS, _NO_ROWS, columns)

    def _in_unit(self, frame: Frame, times: Times | None) -> np.ndarray:
        """Event times in the unit of the first rows; zeros where the query has none."""
        if times is None:
            return np.zeros(frame.rows, np.int64)
        if self.times is None and frame.rows:
            self.times = replace(times, values=times.values[:0], mask=None)
        if self.times is None or times.unit == self.times.unit:
            return times.values
        if self.times.unit == "ns":
            return times.values * 1000
        if (times.values % 1000).any():
            raise WindrowError(f"column '{self.query.time}' came in microseconds before, and has finer times now")
        return times.values // 1000

    def _in_time(self, times: np.ndarray) -> np.ndarray:
        """Which rows are not late: a row is late by what was seen before it."""
        seen = np.maximum.accumulate(np.concatenate([[self.newest], times]))
        lateness = self.query.lateness * self.ticks
        early = seen[:-1] < min(NEVER + lateness, FOREVER)  # less the lateness would be before all time
        limit = np.where(early, NEVER, seen[:-1] - np.where(early, 0, min(lateness, FOREVER)))
        return times >= np.maximum(limit, self.watermark)

    def _plain(self, frame: Frame, at: np.ndarray | slice, times: np.ndarray) -> Held:
        """Rows as plain columns, of the types that the first rows had."""
        columns, kinds = {}, self.kinds
        for name in self._kept(frame):
            column = columns[name] = frame.column(name)
            known = kinds.get(name)
            if known is None:
                kinds[name] = column.kind, column.dtype
            elif column.dtype is not known[1] or column.kind != known[0]:
                columns[name] = coerced(name, column, *known)
        codes = self._codes(frame)
        if isinstance(at, slice):
            return Held(codes, times, columns)
        rows = Held(codes, codes, columns).at(at)
        return Held(rows.codes, times, rows.columns)

    def _codes(self, frame: Frame) -> np.ndarray:
        """The number of each row's key, the same in every push."""
        by = self.query.by
        if not by:
            return np.zeros(frame.rows, np.int64)
        outlines = [frame.outline(name) for name in by]
        if are_integers(outlines):
            return self.keys.number(outlines)
        codes, rows = factorize(frame.keys(by))
        return self.keys.number_objects([frame.objects(name, rows) for name in by])[codes]

    def _kept(self, frame: Frame) -> tuple[str, ...]:
        """The columns that are kept."""
        if not self.keeps_all:
            return self.named
        if not self.kinds:
            return frame.names
        kept = tuple(self.kinds)
        if kept != frame.names:
            for name in kept:
                frame.check(name)
        return kept
