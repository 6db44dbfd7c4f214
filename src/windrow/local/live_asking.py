"""Rows that ask a live query (`live.at`): answered over all rows that have come, of which the query keeps no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow import frames
from windrow.engine.grouping import factorize, order_of
from windrow.engine.inputs import Column, object_array
from windrow.engine.same_types import coerced
from windrow.errors import Unsupported, WindrowError
from windrow.frames import Frame, Output, Type, Values, counted_in
from windrow.local.asking import check_askable, in_unit, place_along
from windrow.local.intake import column_measures
from windrow.local.ordering import OrderedRows, Readable
from windrow.local.schema import Schema
from windrow.step.along import along_columns
from windrow.step.asking import AskedTooEarly, ask
from windrow.step.decoding import ranks_of
from windrow.step.groups import Answer
from windrow.step.held import Held
from windrow.step.keys import are_integers
from windrow.step.state import State
from windrow.step.step import Given, Taken
from windrow.windows.base import ROWS, TIME, Measure, StepRows

if TYPE_CHECKING:
    from windrow.local.live import Live

#: so many asks are numbered one by one; of more, each different key is
FEW = 64


def asked(live: Live, frame: Frame) -> Any:
    """The asking rows with their answers."""
    query, state = live.query, live.state
    check_askable(query, None, live=True)
    if query.store is not None:
        raise Unsupported("live.at reads windows that are in memory, and this query has a store")
    for name in (*query.by, *(() if query.time is None else (query.time,)), *_columns(live)):
        try:
            frame.check(name)
        except WindrowError as error:
            raise WindrowError(f"live.at: {error}") from None
    columns = _nothing(live, frame.rows) if state is None else _answers(live, state, frame)
    return frames.extend(frame, columns, _types(live))


def _types(live: Live) -> dict[str, Type] | None:
    """The types of the answers, told once; None: no row has come."""
    if live.schema is None:
        return None
    if live.asked_types is None or live.asked_types[0] is not live.schema:
        told = Schema.of(live.query, live.door.types, live.door.times, asked=True)
        live.asked_types = live.schema, told.types
    return live.asked_types[1]


def _columns(live: Live) -> list[str]:
    return [measure.column or "" for measure in column_measures(live.query)]


def _nothing(live: Live, rows: int) -> dict[str, Output]:
    """No row has come: what the aggregates give for none."""
    empty = {name: aggregate.empty for name, aggregate in live.query.aggregates.items()}
    return {column: Values(object_array([empty[a]] * rows)) for (_, a), column in live.names.items()}


def _answers(live: Live, state: State, frame: Frame) -> dict[str, Output]:
    query, door = live.query, live.door
    places, there = _places(live, frame)
    labels = live.labels.lengths()
    try:
        codes = _codes(live, frame)
        state.grow(len(door.keys))
        waiting = _Waiting(live, state, codes)
        found: dict[str, dict[str, Answer]] = {}
        for along in dict.fromkeys(window.asked_along for window in query.windows.values()):
            if along == TIME and query.time is None:
                along = None
            now = np.ones(frame.rows, np.int64) if along is None else places[along]
            some = None if along is None else there[along]
            at = None if some is None else np.flatnonzero(some)
            key = codes if at is None else codes[at]
            now = now if at is None else now[at]
            by = order_of(key, now)
            if by is not None:
                key, now = key[by], now[by]
                at = by if at is None else at[by]
            try:
                answers = ask(state, along, key, now, waiting.rows)
            except AskedTooEarly as error:
                raise _too_early(live, error, now) from None
            for window, mine in answers.items():
                found[window] = {name: _back(answer, at, frame.rows) for name, answer in mine.items()}
        return {column: live.output(found[w][a]) for (w, a), column in live.names.items()}
    finally:
        door.keys.rollback()
        if live.labels.lengths() != labels:
            live.labels.cut(labels)


def _back(answer: Answer, at: np.ndarray | None, rows: int) -> Answer:
    return answer if at is None else answer.spread(at, rows)


def _too_early(live: Live, error: AskedTooEarly, now: np.ndarray) -> WindrowError:
    state = live.begun
    window = state.plan.windows[error.window]
    asked, oldest = (state.plan.told(window.asked_along, value) for value in (now[error.ask], error.oldest))
    called = f"window '{error.window}'" if live.query.named else str(live.query.windows[error.window])
    return WindrowError(
        f"live.at: {called} is asked at {asked}, and rows that it would need may be gone; the oldest that can be asked "
        f"of this key is {oldest}"
    )


def _places(live: Live, frame: Frame) -> tuple[dict[Measure, np.ndarray], dict[Measure, np.ndarray | None]]:
    """Where the rows are on each measure, and which have a place there; None: all."""
    query, door = live.query, live.door
    places: dict[Measure, np.ndarray] = {}
    there: dict[Measure, np.ndarray | None] = {}
    timed = None
    if query.time is not None:
        times = counted_in(query.time, frame.time(query.time), query.time_unit)
        assert door.times is not None
        places[TIME], timed = in_unit(query.time, times, door.times), times.mask
        there[TIME] = None if timed is None or timed.all() else timed
    for measure in column_measures(query):
        assert live.state is not None
        column = frame.column(measure.column or "")
        places[measure], there[measure] = place_along(query, measure, column, live.state.plan.dtypes[measure], timed)
    return places, there


def _codes(live: Live, frame: Frame) -> np.ndarray:
    """The number of each row's key. New keys are given up afterwards."""
    by, door = live.query.by, live.door
    if not by:
        return np.zeros(frame.rows, np.int64)
    codes: np.ndarray | slice = slice(None)
    if frame.rows > FEW:
        codes, rows = factorize(frame.keys(by))
        columns = [frame.some(name, rows) for name in by]
    else:
        columns = [frame.column(name) for name in by]
    known = [_like(name, column, door.kinds[name]) for name, column in zip(by, columns, strict=True)]
    numbers = door.keys.number(known) if are_integers(known) else door.keys.number_objects([c.objects() for c in known])
    return numbers[codes]


def _like(name: str, column: Column, kind: tuple[str, np.dtype]) -> Column:
    try:
        return coerced(f"column '{name}'", column, *kind)
    except WindrowError as error:
        raise WindrowError(f"live.at: {error}") from None


class _Waiting:
    """The rows that wait, in the order in which windows take them; read when asked for."""

    def __init__(self, live: Live, state: State, codes: np.ndarray) -> None:
        self.live, self.state, self.codes = live, state, codes
        self._taken: dict[Measure, Taken] = {}
        self._whole: tuple[Taken, dict[Measure, np.ndarray]] | None = None

    def rows(self, measure: Measure) -> Taken:
        """As windows along a measure take them."""
        if self._whole is None:
            self._whole = self._made()
        whole, absent = self._whole
        if measure not in absent:
            return whole
        if measure not in self._taken:
            self._taken[measure] = whole.without(absent[measure])
        return self._taken[measure]

    def _made(self) -> tuple[Taken, dict[Measure, np.ndarray]]:
        live, state = self.live, self.state
        rows = self._of_these_keys() or live.door.nothing()
        found = along_columns(rows, state, (), False)
        rows = found.rows
        numbers = state.plan.arrangement.row_numbers()
        labels = {name: live.labels.numbers(name, rows.column(name)) for name in numbers} if rows.rows else {}
        labels = labels or dict.fromkeys(numbers, np.empty(0, np.int64))
        ranks = ranks_of(state.plan.arrangement.ranked, rows, live.door.types)
        ordered = OrderedRows(rows, live.door.times is not None, labels, ranks)
        measures: dict[Measure, np.ndarray] = {} if live.door.times is None else {TIME: ordered.pick(rows.times)}
        for measure, dtype in state.plan.dtypes.items():
            measures[measure] = ordered.column(measure.column or "").values.astype(dtype, copy=False)
        measures[ROWS] = np.arange(len(ordered))
        step_rows = StepRows(ordered.key, measures, Readable(ordered, live.query.time, live.door.ticks))
        columns = {name: ordered.column(name) for name in state.plan.arrangement.columns()}
        none = np.empty(0, np.int64)
        absent = {measure: ordered.pick(mask) for measure, mask in found.absent.items()}
        return Taken(none, none, step_rows, Given(columns, None)), absent

    def _of_these_keys(self) -> Held | None:
        pending: Any = self.live.pending
        if not pending.runs:
            return None
        rows = pending.all()
        one = len(self.codes) == 1
        mine = rows.codes == self.codes[0] if one else np.isin(rows.codes, self.codes)
        return rows if mine.all() else rows.at(np.flatnonzero(mine))
