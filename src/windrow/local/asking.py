"""Rows of a second table that ask (`at=`): their keys, and where they ask, in the terms of the rows that count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.engine.grouping import factorize, order
from windrow.engine.inputs import Column
from windrow.engine.same_types import coerced, settled
from windrow.errors import Unsupported, WindrowError
from windrow.frames import Frame, Times, Type, counted_in, refuse_to_guess
from windrow.local.intake import Intake, column_measures, measure_dtype, numbers
from windrow.query import Query
from windrow.step.along import has_place
from windrow.step.groups import Answer
from windrow.step.tables import AskingRows
from windrow.windows.base import TIME, Measure


def check_askable(query: Query, at_time: str | None, live: bool = False) -> None:
    """Refuses a query whose windows no row can ask for. Live, rows may ask without a time: after all that have come."""
    at = "live.at" if live else "at="
    for name, window in query.windows.items():
        called = f"window '{name}' ({window})" if query.named else str(window)
        if not window.per_row:
            raise Unsupported(
                f"{at} asks windows that report with each row, such as win.trailing, and {called} reports once"
            )
        if window.asked_along is None:
            raise Unsupported(f"{at} cannot ask {called}; win.trailing and win.policy can be asked")
        if window.asked_along == TIME and query.time is None and not live:
            raise WindrowError(f"at= asks {called} by event time; name the column of the events, such as time='ts'")
    if query.changes_only and not live:
        raise WindrowError("at= gives a result for each row that asks, and changes_only=True leaves some out")
    if at_time is not None and query.time is None:
        raise WindrowError("at_time is about event time; name the column of the events, such as time='ts'")


@dataclass(frozen=True)
class Asking:
    """The rows that ask, in their own order: numbers of their keys, and where they are on each measure."""

    frame: Frame
    codes: np.ndarray  # of keys that no event has: numbers that no event's key has
    keys: int  # all numbers are below this one
    measures: Mapping[Measure, np.ndarray]
    there: Mapping[Measure, np.ndarray | None]  # which rows have a place on the measure; None: all
    rejected: int  # rows that lack one

    def sorted(self, along: Measure) -> tuple[AskingRows, np.ndarray | None]:
        """The rows that have a place, by key and along a measure, and which they are; None: all, as they lie."""
        codes, now, there = self.codes, self.measures[along], self.there[along]
        at = None if there is None else np.flatnonzero(there)
        if at is not None:
            codes, now = codes[at], now[at]
        by = order(codes, self.keys, now)
        if by is not None:
            codes, now = codes[by], now[by]
            at = by if at is None else at[by]
        return AskingRows(codes, now), at

    def unsorted(self, answer: Answer, at: np.ndarray | None) -> Answer:
        """The answers in the rows' own order; rows without a place have none."""
        if at is None:
            return answer
        if len(at) < self.frame.rows:
            return answer.spread(at, self.frame.rows)
        back = np.empty(len(at), np.int64)
        back[at] = np.arange(len(at))
        return answer.at(back)


def read_asking(query: Query, events: Intake, frame: Frame, at_time: str | None) -> Asking:
    """The rows of a frame that ask; an error where they lack a column, or hold what cannot be told in its terms."""
    time = query.time if at_time is None else at_time
    along = column_measures(query)
    needed = [*query.by, *(() if time is None else (time,)), *(m.column or "" for m in along)]
    for name in needed:
        try:
            frame.check(name)
        except WindrowError as error:
            raise WindrowError(f"at=: {error}") from None
    codes, keys = _keys(query.by, events, frame)
    measures: dict[Measure, np.ndarray] = {}
    there: dict[Measure, np.ndarray | None] = {}
    timed = None
    if time is not None:
        assert events.times is not None
        times = counted_in(time, frame.time(time), query.time_unit)
        measures[TIME], timed = in_unit(time, times, events.times), times.mask
        if query.guesses_unit and _apart(measures[TIME], events.times.values):
            refuse_to_guess(time, times)
        there[TIME] = timed
    for measure in along:
        dtype = events.measures[measure].dtype
        measures[measure], there[measure] = place_along(
            query, measure, frame.column(measure.column or ""), dtype, timed
        )
    there = {measure: None if mask is None or mask.all() else mask for measure, mask in there.items()}
    lacks = [~mask for mask in there.values() if mask is not None]
    rejected = np.logical_or.reduce(lacks) if lacks else np.zeros(0, bool)
    if query.strict and rejected.any():
        row = int(np.argmax(rejected))
        raise WindrowError(f"at=: row {row} has no time, or no place along a column; {int(rejected.sum())} rows in all")
    return Asking(frame, codes, keys, measures, there, int(rejected.sum()))


def _apart(asked: np.ndarray, events: np.ndarray) -> bool:
    """Whether all asks are before all events, or after them: then they may count another unit."""
    if not len(asked) or not len(events):
        return True
    return bool(asked.max() < events.min() or asked.min() > events.max())


def _both(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _keys(by: Sequence[str], events: Intake, frame: Frame) -> tuple[np.ndarray, int]:
    """The number of each row's key, which is that of the events' where these have the key, and how many there are."""
    if not by:
        return np.zeros(frame.rows, np.int64), 1
    codes, rows = factorize(frame.keys(by))
    known = [events.frame.some(name, events.keys) for name in by]
    asked = [frame.some(name, rows) for name in by]
    joined = [
        had.followed_by(same_key(name, has, had, frame.type(name), events.frame.type(name)))
        for name, had, has in zip(by, known, asked, strict=True)
    ]
    # the events' keys are all different: they get their own numbers
    numbers, first = factorize([(column.values, column.mask) for column in joined])
    return numbers[len(events.keys) :][codes], max(len(first), 1)


def same_key(name: str, column: Column, had: Column, type_now: Type, type_then: Type) -> Column:
    """A key column of the asking rows as the events have it, every value as it is; an error where one does not fit."""
    if not len(had.values):  # no event: any key is as good
        return column
    if (type_now.zone is None) != (type_then.zone is None):
        raise WindrowError(f"at=: column '{name}' has times with a zone in one table and without in the other")
    try:
        return coerced(f"column '{name}'", column, *settled(had))
    except WindrowError:
        raise WindrowError(
            f"at=: column '{name}' holds {type_now.name} values, some of which cannot be {type_then.name} values as in "
            "the events; make both of one type"
        ) from None


def in_unit(name: str, times: Times, known: Times) -> np.ndarray:
    """Times as the events' are counted; an error where they are of another kind, or finer."""
    was, now = known.native, times.native
    if (was.kind == "integer") != (now.kind == "integer"):
        raise WindrowError(f"at=: column '{name}' holds {now.kind}s, and the events' times are {was.kind}s")
    if (was.zone is None) != (now.zone is None):
        has = "a zone, and the events' have none" if was.zone is None else "no zone, and the events' have one"
        raise WindrowError(f"at=: the times of column '{name}' have {has}")
    values = times.values
    if times.unit == known.unit or not len(values):
        return values
    if known.unit == "ns":
        most = (2**63 - 1) // 1000
        if values.min() < -most or values.max() > most:
            raise WindrowError(f"at=: column '{name}' has times beyond the range of nanoseconds, which the events have")
        return values * 1000
    if (values % 1000).any():
        raise WindrowError(
            f"at=: column '{name}' has nanoseconds, and the events' times are counted in microseconds; "
            "make both of one type"
        )
    return values // 1000


def place_along(
    query: Query, measure: Measure, column: Column, dtype: np.dtype, timed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Where rows are along a column, in the type of the events' values, and which have a place there and a time."""
    column = numbers(column)
    measure_dtype(query, measure, column)
    values, there = column.values, has_place(column)
    if dtype.kind == "i" and values.dtype.kind == "f":
        whole = np.where(True if there is None else there, values, 0.0)
        if (whole != np.floor(whole)).any() or (np.abs(whole) > 2**53).any():
            raise WindrowError(
                f"at=: column '{measure.column}' has fractions, and the events' values are whole; make both floats"
            )
        values = whole
    return values.astype(dtype, copy=False), _both(there, timed)
