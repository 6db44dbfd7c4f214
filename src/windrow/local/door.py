"""Rows as they come to a live query: which are in time, and the numbers of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column, object_array
from windrow.engine.same_types import coerced, settled
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.engine.walks import LOWEST as NEVER
from windrow.errors import WindrowError
from windrow.frames import Frame, Times, Type, refuse_to_guess
from windrow.frames.times import NANOS
from windrow.local.intake import column_measures, event_times, placed, reads_any_column, taken_columns
from windrow.query import Query
from windrow.step.held import Held
from windrow.step.keys import Keys, are_integers
from windrow.windows.durations import MOMENT, TIME_UNITS, instant

_NO_ROWS = np.empty(0, np.int64)


class Door:
    """What is known of rows that come: their types, how far event time has come, the numbers of their keys."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.newest = self.watermark = NEVER  # the newest time seen; how far event time has come
        self.times: Times | None = None  # what the time column is like
        self.types: Mapping[str, Type] = {}  # of the columns that are kept, as they were first seen
        self.kinds: dict[str, tuple[str, np.dtype]] = {}  # the same as the engine keeps them
        self._settled = False  # all of the types are known
        self._ordered: list[str] = []  # columns whose types put their categories in order
        self.keys = Keys(len(query.by))
        self.named = tuple(taken_columns(query))
        #: the columns of the last rows; where the next ones have the same, they are not looked through again
        self._names: tuple[str, ...] = ()
        self.measures = column_measures(query)
        #: all columns are kept where results repeat them, a user's code may read them, or a row may be given back later
        self.keeps_all = query.per_row or reads_any_column(query) or bool(self.measures)

    @property
    def ticks(self) -> int:
        """How many ticks of the time column a microsecond has."""
        return 1000 if self.query.time_unit == "ns" or (self.times is not None and self.times.unit == "ns") else 1

    @property
    def stamps(self) -> str | None:
        """What timestamps are counted in; None: times are integers, or not known."""
        return None if self.times is None else self.times.stamps

    def ticks_of(self, when: Any) -> int:
        """A point in time in ticks of the time column; an integer counts what the column's integers count."""
        if isinstance(when, int) and not isinstance(when, bool):
            if self.times is not None and self.times.native.kind != "integer":
                raise WindrowError(f"column '{self.query.time}' holds {self.times.native.kind}s: {MOMENT}, not {when}")
            return when * TIME_UNITS[self.query.time_unit or "us"] * self.ticks // 1000
        return instant(when, offset=False) * self.ticks

    def learn(self, frame: Frame) -> bool:
        """Takes the types of columns that are not known yet, with rows or without; whether there were any."""
        if self._settled:
            return False
        for name in self.named:
            frame.check(name)
        types = dict(self.types)
        for name in self._kept(frame):
            if name not in types or not types[name].told:
                types[name] = frame.type(name)
                if types[name].told and name not in self.kinds:
                    self.kinds[name] = settled(frame.column(name))
        if self.query.time is not None and self.times is None and types[self.query.time].told:
            before, self.times = self.ticks, like(event_times(self.query, frame))
            if self.watermark != NEVER:
                self.watermark *= self.ticks // before  # it was set before the unit was known
        self.settle(types)
        return True

    def settle(self, types: Mapping[str, Type]) -> None:
        """The types as they were before, or were saved."""
        self.types, self._settled = types, bool(types) and all(kind.told for kind in types.values())
        self._ordered = [name for name, kind in types.items() if kind.order is not None]

    def admit(self, frame: Frame) -> tuple[Held | None, np.ndarray, np.ndarray]:
        """(rows that are in time, which are late, which are rejected); event time goes on. After `learn`."""
        if frame.names != self._names:
            for name in self.named:
                frame.check(name)
            self._names = frame.names
        found = placed(self.query, frame, self.measures)
        times, good, rejected = self._in_unit(frame, found.times), found.good, found.rejected
        if good is not None:
            times = times[good]
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
                if len(rejected):  # a row is counted once
                    rejected = np.setdiff1d(rejected, late, assume_unique=True)
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
        if self.query.guesses_unit and self.newest == NEVER and frame.rows:
            refuse_to_guess(self.query.time or "", times)
        if self.times is None or not len(times.values) or times.native is self.times.native:
            return times.values
        return _converted(f"column '{self.query.time}'", times, self.times)

    def _in_time(self, times: np.ndarray) -> np.ndarray:
        """Which rows are not late: a row is late by what was seen before it."""
        seen = np.maximum.accumulate(np.concatenate([[self.newest], times]))
        lateness = self.query.lateness * self.ticks
        early = seen[:-1] < min(NEVER + lateness, FOREVER)  # less the lateness would be before all time
        limit = np.where(early, NEVER, seen[:-1] - np.where(early, 0, min(lateness, FOREVER)))
        return times >= np.maximum(limit, self.watermark)

    def given_back(self, frame: Frame, at: np.ndarray) -> Held:
        """Rows that were not admitted, as those that were are held."""
        return Held(at, at, {name: column.at(at) for name, column in self._columns(frame).items()})

    def _plain(self, frame: Frame, at: np.ndarray | slice, times: np.ndarray) -> Held:
        columns, codes = self._columns(frame), self._codes(frame)
        if isinstance(at, slice):
            return Held(codes, times, columns)
        rows = Held(codes, codes, columns).at(at)
        return Held(rows.codes, times, rows.columns)

    def _columns(self, frame: Frame) -> dict[str, Column]:
        """Plain columns, of the types that the first rows had."""
        columns, kinds = {}, self.kinds
        for name in self._kept(frame):
            column = columns[name] = frame.column(name)
            known = kinds.get(name)
            if known is None:
                known = kinds[name] = settled(column)
            if column.dtype is not known[1] or column.kind != known[0]:
                columns[name] = column = coerced(f"column '{name}'", column, *known)
            if column.dtype.kind == "M":
                _same_zone(f"column '{name}'", frame.type(name).zone, self.types[name].zone)
            elif column.kind == "object" and self.types[name].name == "decimal":
                _same_scale(name, column, frame.type(name).scale, self.types[name].scale)
        for name in self._ordered:
            _same_categories(name, columns[name], self.types[name])
        return columns

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
        if not self.types:
            return (*frame.names, *frame.derived)
        kept = tuple(self.types)
        if kept != (*frame.names, *frame.derived):
            for name in kept:
                frame.check(name)
        return kept


def like(times: Times) -> Times:
    """What a time column is like, without its values."""
    return replace(times, values=times.values[:0], mask=None)


def _converted(name: str, times: Times, known: Times) -> np.ndarray:
    """Event times as the first ones were counted; an error where these are of another kind, or finer."""
    was, now = known.native, times.native
    if (was.kind == "integer") != (now.kind == "integer"):
        kinds = [f"integers ({t.dtype})" if t.kind == "integer" else f"{t.kind}s ({t.dtype})" for t in (was, now)]
        raise WindrowError(f"{name} held {kinds[0]} before and holds {kinds[1]} now; a live query needs one type")
    _same_zone(name, now.zone, was.zone)
    values = times.values
    if times.unit != known.unit:
        if known.unit == "ns" and len(values) and max(-int(values.min()), int(values.max())) > (2**63 - 1) // 1000:
            raise WindrowError(f"{name} came in nanoseconds before, and has times beyond their range now")
        finer = known.unit == "us" and (values % 1000).any()
        values = values * 1000 if known.unit == "ns" else values // 1000
    else:
        finer = False
    if finer or (
        was.kind != "integer" and was.unit != now.unit and (values % (NANOS[was.unit] // NANOS[known.unit])).any()
    ):
        raise WindrowError(f"{name} came in the unit {was.unit} before, and has finer times now; give it one type")
    return values


def _same_zone(name: str, now: Any, was: Any) -> None:
    """Times of another zone are the same moments; those of no zone are not."""
    if (now is None) != (was is None):
        had, has = ("none", f"the zone {now}") if was is None else (f"the zone {was}", "none")
        raise WindrowError(f"{name} had times of {had} before and has {has} now: make them all zoned, or none")


def _same_scale(name: str, column: Column, now: int, was: int) -> None:
    """Decimals with more places than the first ones are refused, unless these are zeros."""
    if now > was and any(v is not None and round(v, was) != v for v in column.values.tolist()):
        raise WindrowError(f"column '{name}' held decimals of {was} places before and holds some of {now} now")


def _same_categories(name: str, column: Column, was: Type) -> None:
    """Values that are none of the first categories have no place in their order."""
    assert was.order is not None
    strange = was.order.stranger(column)
    if strange is not None:
        raise WindrowError(
            f"column '{name}' came with the categories {', '.join(map(str, was.order.categories[:20]))} in this order, "
            f"and holds {strange!r} now, which is none of them"
        )


def _objects(values: list) -> Column:
    return Column(object_array(values), None, np.dtype(object))


def as_columns(rows: Any) -> Any:
    """A dict of single values becomes one of lists of one value; anything else stays."""
    if not isinstance(rows, Mapping) or not rows:
        return rows
    for value in rows.values():
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
            return rows
    return {name: [value] for name, value in rows.items()}
