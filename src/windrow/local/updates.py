"""Results before the end (`emit="update"`): with each push, what has changed since it was last sent.

What was sent last need not be kept: it is the answer over the rows that had come before. So a push looks at the keys of
its rows twice, without the new rows and with them, each time as if no row came any more, and takes both steps back.
What differs is sent. Then the rows that the watermark has passed take the step for good, and the windows that have
ended are sent once more: they are final.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.aggregates.compare import alike
from windrow.engine.walks import HIGHEST, LOWEST
from windrow.errors import WindrowError
from windrow.frames import Output, Values
from windrow.local.results import comparable, some
from windrow.query import FINAL, Query
from windrow.step.along import along_columns
from windrow.step.groups import Answer
from windrow.step.held import Held
from windrow.step.pending import Pending
from windrow.step.pending_slices import PendingSlices
from windrow.step.results import Ended, Results
from windrow.step.state import State
from windrow.step.step import step
from windrow.windows.base import TIME, Measure, StepRows, Window

if TYPE_CHECKING:
    from windrow.local.live import Live
    from windrow.local.ordering import OrderedRows

#: an answer column of windows by row: the window, and the aggregate
RowAnswers = Mapping[tuple[str, str], Answer]


def updates(live: Live, admitted: Held | None) -> dict[str, Output]:
    """Takes in rows; the columns of all that is to be sent."""
    return _rows(live, admitted) if live.per_row else _windows(live, admitted)


def _early(live: Live, rows: StepRows, keys: np.ndarray, **given: Any) -> Results:
    """What a step gives if no row comes any more. It is taken back."""
    state = live.begun
    try:
        return step(state, rows, given.pop("columns", {}), HIGHEST, True, keys, early=True, **given)
    finally:
        state.rollback()


def _early_rows(live: Live, rows: Held, keys: np.ndarray) -> tuple[np.ndarray | slice, OrderedRows, Results]:
    """The same over rows in the order in which they came; and which of them some window takes."""
    state: State = live.begun
    absent: Mapping[Measure, np.ndarray] = {}
    places: np.ndarray | slice = slice(None)
    if state.plan.dtypes:
        found = along_columns(rows, state, (), live.query.strict)
        rows, absent, places = found.rows, found.absent, found.places
    ordered, taken, columns, absent = live.in_order(rows, absent, state)
    return places, ordered, _early(live, taken, keys, columns=columns, absent=absent)


# Windows that report once.


def _windows(live: Live, admitted: Held | None) -> dict[str, Output]:
    state, pending = live.begun, live.pending
    before: list[Ended] = []
    after: list[Ended] = []
    if isinstance(pending, PendingSlices):
        if admitted is not None:
            keys = np.unique(admitted.codes)
            before = _early_slices(live, pending, keys)
            live.fold(admitted, pending, state)
            after = _early_slices(live, pending, keys)
        final = live.step_slices(None, pending, state).ended
    else:
        if admitted is not None:
            keys = np.unique(admitted.codes)
            waits = pending.of_keys(keys)
            rows = live.door.nothing() if waits is None else waits[0]
            before = _early_rows(live, rows, keys)[2].ended
            after = _early_rows(live, rows.followed_by(admitted), keys)[2].ended
        final = live.step_rows(live.ready(admitted, pending), state)[2].ended
    withdrawn: list[Ended] = []
    changed: list[Ended] = []
    if admitted is not None:
        for old, new, ended in zip(before, after, final, strict=True):
            gone, news = _changes(live, state.plan.windows[new.window], old, new, ended, admitted)
            withdrawn += [gone] if len(gone.key) else []
            changed += [news] if len(news.key) else []
    sizes = [sum(len(f.key) for f in found) for found in (withdrawn, final, changed)]
    return {**live.tabled([*withdrawn, *final, *changed]), FINAL: _final(*sizes)}


def _final(withdrawn: int, final: int, early: int) -> Output:
    """The column for so many results: null where a window is withdrawn."""
    sizes = [withdrawn, final, early]
    return Values(np.repeat([False, True, False], sizes), np.repeat([False, True, True], sizes) if withdrawn else None)


def _early_slices(live: Live, pending: PendingSlices, keys: np.ndarray) -> list[Ended]:
    slices = pending.of_keys(keys) or pending.nothing()
    return _early(live, StepRows(slices.codes, {TIME: slices.begin}, {}), keys, slices=slices.partials).ended


def _changes(live: Live, window: Window, old: Ended, new: Ended, final: Ended, rows: Held) -> tuple[Ended, Ended]:
    """Of one window: those that are none any more, and those that are new or have changed and are not final."""
    mine, before = _told_apart(window, new), _told_apart(window, old)
    places = _places(mine, before)
    there = places >= 0
    changed = ~there
    maybe = np.flatnonzero(there & _may_differ(window, new, rows))
    changed[maybe] = _differ(live, old, new, places[maybe], maybe)
    gone = np.ones(len(old.key), bool)
    gone[places[there]] = False
    if not window.unique_start and gone.any():  # another one may begin and end at the same places
        gone &= _places(before[:-1], [column[mine[-1] == 0] for column in mine[:-1]]) < 0
    if len(final.key):
        changed &= _places(mine, _told_apart(window, final)) < 0
    return _withdrawn(live.query, some(old, np.flatnonzero(gone))), some(new, np.flatnonzero(changed))


def _told_apart(window: Window, found: Ended) -> list[np.ndarray]:
    """What tells windows apart: the key, the start, and where that is not enough, the end and which one it is.

    While an end is not known, it is null in the result.
    """
    if window.unique_start:
        return [found.key, found.start]
    ended = np.ones(len(found.key), bool) if found.ended is None else found.ended
    columns = [found.key, found.start, ended, np.where(ended, found.end, found.start)]
    at = np.lexsort(columns[::-1])
    first = np.ones(len(at), bool)
    for column in columns:
        first[1:] &= column[at[1:]] == column[at[:-1]]
    first[1:] = ~first[1:]
    number = np.empty(len(at), np.int64)
    numbers = np.arange(len(at))
    number[at] = numbers - np.maximum.accumulate(np.where(first, numbers, 0))
    return [*columns, number]


def _places(these: Sequence[np.ndarray], among: Sequence[np.ndarray]) -> np.ndarray:
    """Where each of these is among others, all different; -1: nowhere."""
    n, m = len(these[0]), len(among[0])
    if n == m and all((a == b).all() for a, b in zip(these, among, strict=True)):
        return np.arange(n)
    columns = [np.concatenate(pair) for pair in zip(among, these, strict=True)]
    at = np.lexsort((np.arange(n + m) >= m, *columns[::-1]))
    same = (at[1:] >= m) & np.logical_and.reduce([column[at[1:]] == column[at[:-1]] for column in columns])
    group = np.maximum.accumulate(np.where(np.append(True, ~same), np.arange(n + m), 0))
    first = at[group]  # the same window, where it was there
    places = np.full(n, -1)
    mine = at >= m
    places[at[mine] - m] = np.where(first[mine] < m, first[mine], -1)
    return places


def _may_differ(window: Window, found: Ended, rows: Held) -> np.ndarray:
    """Which windows a new row may have changed.

    A window by time without a new row is the same as before, even where its floats are added up in another order now.
    """
    if window.measure != TIME:
        return np.ones(len(found.key), bool)
    end = found.end if found.ended is None else np.where(found.ended, found.end, HIGHEST)
    return _any_between(found.key, found.start, end, rows)


def _any_between(key: np.ndarray, low: np.ndarray, high: np.ndarray, rows: Held) -> np.ndarray:
    """Whether one of the rows is of the key, and from `low` to `high` (included)."""
    n, m = len(key), rows.rows
    codes, times = np.concatenate([rows.codes, key, key]), np.concatenate([rows.times, low, high])
    side = np.repeat([1, 0, 2], [m, n, n])  # a row at `low` or `high` is between them
    at = np.lexsort((side, times, codes))
    ranks = np.empty(len(at), np.int64)
    ranks[at] = np.cumsum(at < m)
    return ranks[m + n :] > ranks[m : m + n]


def _differ(live: Live, old: Ended, new: Ended, was: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Which of the windows at these places differ."""
    ends = [f.end if f.ended is None else np.where(f.ended, f.end, f.start) for f in (old, new)]
    differs = ends[0][was] != ends[1][now]
    for f, at in ((old, was), (new, now)):
        if f.ended is not None:
            other = new.ended if f is old else old.ended
            across = True if other is None else other[now if f is old else was]
            differs |= f.ended[at] != across
    for name, answer in new.answers.items():
        differs |= _answers_differ(live, name, old.answers[name].at(was), answer.at(now))
    return differs


def _answers_differ(live: Live, name: str, old: Answer, new: Answer) -> np.ndarray:
    """Which answers of an aggregate differ."""
    n, old, new = len(new.values), live.told(old), live.told(new)
    there = [np.ones(n, bool) if a.there is None else a.there for a in (old, new)]
    if live.query.aggregates[name].unordered:
        old, new = comparable(old), comparable(new)
    if old.values.dtype == object or new.values.dtype == object:
        pairs = zip(old.values.tolist(), new.values.tolist(), strict=True)
        values = np.fromiter((not alike(a, b, 0.0) for a, b in pairs), bool, n)
    else:
        values = old.values != new.values
        if values.any() and new.values.dtype.kind == "f":
            values &= ~(np.isnan(old.values) & np.isnan(new.values))
    return (there[0] != there[1]) | (there[0] & there[1] & values)


def _withdrawn(query: Query, gone: Ended) -> Ended:
    """Windows that are none any more, as they are sent: without rows."""
    return replace(gone, answers={name: _of_no_rows(query, name, answer) for name, answer in gone.answers.items()})


def _of_no_rows(query: Query, name: str, like: Answer) -> Answer:
    """What an aggregate gives for no rows, as often as there are answers."""
    empty = query.aggregates[name].empty
    if empty is None:
        return replace(like, there=np.zeros(len(like.values), bool))
    values = like.values.copy()
    for i in range(len(values)):
        values[i] = empty
    return replace(like, values=values, there=None)


# Windows that report with each row.


def _rows(live: Live, admitted: Held | None) -> dict[str, Output]:
    pending, state = live.pending, live.begun
    assert isinstance(pending, Pending)
    waits = _remaining(live, admitted, pending)
    if waits is not None:
        rows, numbers, known = waits
        keys = np.unique(rows.codes)
        before = _row_answers(live, rows.at(slice(known)), keys)
        has, answers = _row_answers(live, rows, keys)
    taken, ordered, results = live.step_rows(live.ready(admitted, pending), state)
    columns = live.by_row(taken, ordered, results)
    if FINAL in columns:
        raise WindrowError(f"the data has a column '{FINAL}' already, which emit='update' needs; give it another name")
    if waits is None:
        return {**columns, FINAL: _final(0, taken.rows, 0)}
    changed = _changed_rows(live, rows, known, before, (has, answers)) & ~np.isin(numbers, pending.passed_numbers)
    gone, news = np.flatnonzero(changed & ~has), np.flatnonzero(changed & has)
    answered = {live.names[which]: answer for which, answer in answers.items()}
    made: dict[str, Output] = {}
    for name, column in columns.items():
        of = answered.get(name)
        early = [live.column(rows.at(at), name) if of is None else live.output(of.at(at)) for at in (gone, news)]
        made[name] = _below([early[0], column, early[1]])
    return {**made, FINAL: _final(len(gone), taken.rows, len(news))}


def _remaining(live: Live, admitted: Held | None, pending: Pending) -> tuple[Held, np.ndarray, int] | None:
    """The rows of the keys that get new ones: those that wait, then the new ones; their numbers; how many wait.

    None: all of them become final now, or none has come.
    """
    if admitted is None:
        return None
    waits = pending.of_keys(np.unique(admitted.codes))
    numbers = np.arange(pending.came, pending.came + admitted.rows)
    every, known = admitted, 0
    if waits is not None:
        every, known = waits[0].followed_by(admitted), waits[0].rows
        numbers = np.concatenate([waits[1], numbers])
    if not live.peers and (live.query.time is None or every.times.max() <= live.door.watermark):
        return None
    return every, numbers, known


def _row_answers(live: Live, rows: Held, keys: np.ndarray) -> tuple[np.ndarray, RowAnswers]:
    """Which rows some window takes, and the answers of all of them, in the order in which they came."""
    places, ordered, results = _early_rows(live, rows, keys)
    back, n = ordered.back(), len(ordered)
    found = {}
    for window, answers in results.by_row.items():
        taken = results.rows_of.get(window)
        for name, answer in answers.items():
            if isinstance(taken, np.ndarray):
                answer = answer.spread(taken, n)
            answer = answer if ordered.at is None else answer.at(back)
            found[window, name] = answer if isinstance(places, slice) else answer.spread(places, rows.rows)
    has = np.zeros(rows.rows, bool)
    has[places] = True
    return has, found


def _changed_rows(
    live: Live, rows: Held, known: int, before: tuple[np.ndarray, RowAnswers], after: tuple[np.ndarray, RowAnswers]
) -> np.ndarray:
    """Which rows are new, or have another answer than before; the first `known` are not new."""
    changed = after[0].copy()  # a row that no window takes is not sent, unless it was before
    changed[:known] = before[0] != after[0][:known]
    new = rows.at(slice(known, None))
    for (window, name), answer in after[1].items():
        reached = _reached(live.begun.plan.windows[window], rows, known, new)
        at = np.flatnonzero(reached & ~changed[:known])
        old = before[1][window, name].at(at)
        changed[at] = _answers_differ(live, name, old, answer.at(at))
    return changed


def _reached(window: Window, rows: Held, known: int, new: Held) -> np.ndarray:
    """Which of the first rows have windows that may hold one of the new ones."""
    if window.measure != TIME or window.reach is None:
        return np.ones(known, bool)
    times = rows.times[:known]
    low = np.where(times < LOWEST + window.reach, LOWEST, times - window.reach)
    return _any_between(rows.codes[:known], low, times, new)


def _below(columns: Sequence[Output]) -> Output:
    """Columns below one another."""
    parts = [column for column in columns if isinstance(column, Values) and len(column.array)]
    if len(parts) < 2:
        return parts[0] if parts else columns[0]
    mask = None
    if any(part.mask is not None for part in parts):
        mask = np.concatenate([np.ones(len(p.array), bool) if p.mask is None else p.mask for p in parts])
    return Values(np.concatenate([part.array for part in parts]), mask)
