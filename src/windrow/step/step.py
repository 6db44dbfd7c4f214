"""One step: rows in, results out, the state changed in place, all or nothing.

walk    where slices begin and windows end (`windows.*.walk`): no aggregate, no row but those that came
loop    rows into slices, slices into the algorithm, windows out of it (`engine.keyed_loops`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from windrow.engine.batch import arrays
from windrow.engine.columns import Slots
from windrow.engine.inputs import Column, all_true
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_loops import Cuts, Fused, RowRuns, Wins
from windrow.engine.keyed_loops import Runs as SliceRuns
from windrow.engine.table import number_rows
from windrow.engine.walking import ByRow, Runs, Walked
from windrow.engine.walks import HIGHEST, LOWEST, ready
from windrow.step.errors import named
from windrow.step.groups import Answer, Group
from windrow.step.results import Ended, Results, Seen
from windrow.step.sharing import SharedRing
from windrow.step.state import COUNT, GroupState, State
from windrow.windows.base import ROWS, TIME, Measure, StepRows


@dataclass(slots=True, eq=False)
class Given:
    """What is folded: columns of rows, or the partials of slices."""

    columns: Mapping[str, Column]
    slices: Sequence[Slots] | None

    def read(self, group: Group) -> tuple[Column, ...]:
        """The columns that a group of aggregates reads."""
        return tuple([self.columns[column] for column in group.columns])

    def data(self, windows: KeyedWindows, group: Group, g: int) -> tuple:
        """As a loop takes it: columns and masks."""
        if self.slices is not None:
            mine = self.slices[g]
            return (tuple(ready(column) for column in mine) if windows.form.compiled else mine), ()
        return arrays(windows.form, [self.columns[column] for column in group.columns])


@dataclass(slots=True, eq=False)
class Taken:
    """The rows of a step that windows along one measure take; of each run those from `begin` to `end`."""

    begin: np.ndarray
    end: np.ndarray
    rows: StepRows
    given: Given
    at: np.ndarray | slice = field(default_factory=lambda: slice(None))  # which of all rows they are

    def without(self, absent: np.ndarray) -> Taken:
        """Only rows that are not absent."""
        at, rows = np.flatnonzero(~absent), self.rows
        measures = {measure: values[at] for measure, values in rows.measures.items()}
        there = StepRows(rows.key[at], measures, Picked(rows.readable, at), rows.last, rows.keep)
        given = Given(Picked(self.given.columns, at), None)
        return Taken(np.searchsorted(at, self.begin), np.searchsorted(at, self.end), there, given, at)


class Picked(Mapping[str, Column]):
    """Some rows of columns, which are read when asked for."""

    def __init__(self, of: Mapping[str, Column], at: np.ndarray | slice) -> None:
        self.of, self.at = of, at

    def __getitem__(self, name: str) -> Column:
        return self.of[name].at(self.at)

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


def step(
    state: State,
    rows: StepRows,
    columns: Mapping[str, Column],
    until: int,
    closing: bool = False,
    keys: np.ndarray | None = None,
    keep: bool = True,
    slices: Sequence[Slots] | None = None,
    absent: Mapping[Measure, np.ndarray] | None = None,
    early: bool = False,
) -> Results:
    """Takes in rows; event time has come to `until`.

    Args:
        rows: sorted by key, in order within each.
        columns: what the aggregates read, in the rows' order.
        closing: no row comes any more.
        keys: all keys there are, ascending, where all are to be looked at.
        keep: the state is wanted afterwards, and the step can be taken back; not for a table that is one step.
        slices: the rows are slices that were folded elsewhere (`rows.last` has their newest values): for each group
            their partials. `columns` are not looked at then.
        absent: which rows have no place along a column. Windows along it do not take them, the others do.
        early: with `closing`, windows that the rows end inside are wanted in any case; the step will be taken back.

    The caller ends the step: `state.commit()` or `state.rollback()`.
    """
    plan, partial_too = state.plan, state.plan.partial or early
    begin, own = _stretches(rows.key)
    due = state.due_keys(until if keys is None else LOWEST)
    every = keys if keys is not None else own if not len(due) else _union(own, due)
    runs_begin, runs_end = _runs(own, begin, every, len(rows))
    if keep:
        state.begin(every)
    words, full = state.table.words, rows
    if state.counted or not keep:
        full = StepRows(rows.key, dict(rows.measures), rows.readable, rows.last, keep)
    if state.counted:
        numbers = full.measures[ROWS] = np.empty(len(rows), np.int64)
        number_rows(words, COUNT, every, runs_begin, runs_end, numbers)
    whole = Taken(runs_begin, runs_end, full, Given(columns, slices))
    some = {} if not absent else {measure: whole.without(mask) for measure, mask in absent.items()}
    newest = {}
    for measure, word in state.newest.items():
        taken = some.get(measure, whole)
        filled = taken.end > taken.begin
        newest[measure] = words[every, word].view(plan.dtypes[measure])
        newest[measure][filled] = taken.rows.measures[measure][taken.end[filled] - 1]
    by_row: dict[str, dict[str, Answer]] = {}
    ended: dict[str, Ended] = {}
    walked: dict[tuple[str, ...], dict[str, Walked]] = {}  # of windows that share a ring
    seen: dict[str, Seen] = {}
    for name, window in plan.windows.items():
        if window.measure == TIME:
            now = np.empty(len(every), np.int64)
            now.fill(until)
        elif window.measure == ROWS:
            now = np.full(len(every), HIGHEST) if closing and partial_too else words[every, COUNT]
        else:
            highest = np.inf if plan.dtype(window).kind == "f" else HIGHEST
            now = np.full_like(newest[window.measure], highest) if closing else newest[window.measure]
        taken = some.get(window.measure, whole)
        runs = Runs(every, taken.begin, taken.end, now)
        if state.chunks is not None:
            state.chunks.fetch(name, runs)
        if window.per_row:
            ring = plan.ring(name)
            if name == ring[0]:  # the others are answered with it
                by_row |= _by_row(state, ring, runs, taken.rows, taken.given, keep)
            continue
        if name in state.stored:
            found = state.stored[name].walked(runs, taken.rows, closing, partial_too)
        else:
            found = window.walk(state.walks[name], runs, taken.rows, closing, partial_too)
        most = int(found.peak[0]) if len(every) == 1 else int(found.peak.max(initial=0))
        seen[name] = Seen(len(found.win_at), len(found.cut_at), most)
        if plan.ring(name) != (name,):
            walked.setdefault(plan.ring(name), {})[name] = found
        else:
            ended[name] = _ended(state, name, runs, found, taken.given, keep)
    for ring, mine in walked.items():
        taken = some.get(plan.windows[ring[0]].measure, whole)
        runs = Runs(every, taken.begin, taken.end, every)  # how far the measure has come is known to the walks
        ended |= _shared(state, state.rings[ring], mine, runs, taken.given, keep, seen)
    for measure, word in state.newest.items():
        words[every, word] = newest[measure].view(np.int64)
    if keep:
        state.until = until
    rows_of = {name: some[w.measure].at for name, w in plan.windows.items() if w.measure in some}
    return Results(every, by_row, [ended[name] for name in plan.windows if name in ended], seen, rows_of)


def _stretches(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each key's rows begin, and the keys."""
    n = len(key)
    if not n or key[0] == key[n - 1]:
        return np.zeros(1 if n else 0, np.int64), key[:1]
    begin = np.flatnonzero(key[1:] != key[:-1]) + 1
    begin = np.concatenate([[0], begin])
    return begin, key[begin]


def _union(own: np.ndarray, due: np.ndarray) -> np.ndarray:
    """Keys of both, ascending, as each of the two is."""
    if len(own) == len(due) == 1 and own[0] == due[0]:
        return own
    return due if not len(own) else np.union1d(own, due)


def _runs(own: np.ndarray, begin: np.ndarray, every: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The stretch of rows of each key; empty where a key has none."""
    if len(own) == len(every) == 1:
        return begin, np.array([n])
    ends = np.concatenate([begin[1:], [n]]) if len(begin) else begin
    if len(own) == len(every):
        return begin, ends
    at = np.searchsorted(own, every)
    there = at < len(own)
    there[there] = own[at[there]] == every[there]
    first = np.append(begin, n)[at]  # of a key without rows: where the next one's begin
    last = first.copy()
    last[there] = ends[at[there]]
    return first, last


def _ended(state: State, name: str, runs: Runs, found: Walked, given: Given, keep: bool) -> Ended:
    """The windows that one window's walk found, answered from its own ring."""
    slices = SliceRuns(runs.key, runs.begin, runs.end, found.cuts, found.wins, found.keep, found.closes)
    cuts, wins = Cuts(found.cut_at, found.cut_keep), Wins(found.win_at, found.win_lo)

    def where(w: int) -> str:
        told = partial(state.plan.spelled, state.plan.windows[name])
        known = f" from {told(found.start[w])} to {told(found.end[w])}" if 0 <= w < len(found.start) else ""
        return f"window '{name}'{known}"

    if name in state.stored:
        answers = state.stored[name].ended(runs, found, given.read, where)
    else:
        answers = _answers(state, (name,), (slices, cuts, wins), found.peak, given, keep, where)
    return _told(name, runs, found, state.plan.arrangement.finished(answers))


def _shared(
    state: State, ring: SharedRing, walked: Mapping[str, Walked], runs: Runs, given: Given, keep: bool,
    seen: dict[str, Seen],
) -> dict[str, Ended]:  # fmt: skip
    """The windows that several walks found, answered from the ring that they share."""
    merged = ring.merged(list(walked.values()), runs, keep)
    for name in walked:
        seen[name] = Seen(seen[name].windows, len(merged.cuts.at), int(merged.peak.max(initial=0)))
    sizes = np.cumsum([0] + [len(found.win_at) for found in walked.values()])

    def where(w: int) -> str:
        if w >= len(merged.order):
            return f"windows {', '.join(walked)}"
        place = int(merged.order[w])
        j = int(np.searchsorted(sizes, place, "right")) - 1
        name = list(walked)[j]
        told, at = partial(state.plan.spelled, state.plan.windows[name]), place - sizes[j]
        return f"window '{name}' from {told(walked[name].start[at])} to {told(walked[name].end[at])}"

    positions = merged.runs, merged.cuts, merged.wins, merged.fused
    answers = _answers(state, tuple(walked), positions, merged.peak, given, keep, where)
    if len(merged.fused.place):
        keys, slices = ring.fused_keys(merged)
        for kept in state.groups[tuple(walked)]:
            kept.windows.shrink(keys, slices)
    back = np.empty(len(merged.order), np.int64)
    back[merged.order] = np.arange(len(back))
    ended = {}
    for j, (name, found) in enumerate(walked.items()):
        mine = {n: answer.at(back[sizes[j] : sizes[j + 1]]) for n, answer in answers.items()}
        ended[name] = _told(name, runs, found, state.plan.arrangement.finished(mine))
    return ended


def _told(name: str, runs: Runs, found: Walked, answers: dict[str, Answer]) -> Ended:
    windows = len(found.win_at)
    key = runs.key.repeat(windows if len(runs.key) == 1 else np.diff(found.wins))
    whole = None if all_true(found.whole) else found.whole
    return Ended(name, key, found.start, found.end, whole, answers)


def _answers(
    state: State, ring: tuple[str, ...], positions: tuple[SliceRuns, Cuts, Wins] | tuple[SliceRuns, Cuts, Wins, Fused],
    peak: np.ndarray, given: Given, keep: bool, where: Callable[[int], str],
) -> dict[str, Answer]:  # fmt: skip
    """Takes the rows through the ring of each group of aggregates."""
    runs, wins = positions[0], positions[2]
    answers: dict[str, Answer] = {}
    for g, (group, kept) in enumerate(zip(state.plan.arrangement.groups, state.groups[ring], strict=True)):
        kept.windows.begin(runs.key, peak, keep)
        out, valid = group.room(len(wins.at))
        data = given.data(kept.windows, group, g)
        loop = kept.loop(given.slices is not None)
        all_given = (*given_arrays(kept.windows, *positions), *data, out, valid)
        looped(kept, loop, all_given, np.array([0, -1, 0, 0]), where, group)
        answers.update(group.answers(out, valid))
    return answers


def _by_row(
    state: State, ring: tuple[str, ...], runs: Runs, rows: StepRows, given: Given, keep: bool
) -> dict[str, dict[str, Answer]]:
    """Windows by row: one, or several that share a ring of rows. They differ in where they begin, not in their end."""
    plan, n = state.plan, len(rows)

    def where(found: ByRow, i: int) -> str:
        return f"the window of row {i}: {found.hi[i] - found.lo[i]} rows" if i >= 0 else f"window '{ring[0]}'"

    if ring[0] in state.stored:
        return {ring[0]: plan.arrangement.finished(state.stored[ring[0]].by_row(runs, rows, given.read, where))}
    bounds: list[ByRow] = [plan.windows[name].bounds(state.walks[name], runs, rows) for name in ring]
    first = bounds[0]
    lo = first.lo if len(ring) == 1 else np.concatenate([found.lo for found in bounds])
    stretches = RowRuns(runs.key, runs.begin, runs.end, first.first, first.keep)
    answers: dict[str, Answer] = {}
    for g, (group, kept) in enumerate(zip(plan.arrangement.groups, state.groups[ring], strict=True)):
        kept.windows.begin(runs.key, first.peak, keep)
        if kept.queue is not None:
            kept.queue.begin(runs.key, first.waiting + 1, keep)
        out, valid = group.room(len(lo))
        ranges = given_arrays(kept.windows, stretches, lo, first.hi)
        all_given = (*ranges, *given.data(kept.windows, group, g), out, valid)
        looped(kept, kept.loop(False), all_given, np.array([0, -1]), lambda i: where(first, i), group)
        answers.update(group.answers(out, valid))
    if len(ring) == 1:
        return {ring[0]: plan.arrangement.finished(answers)}
    return {
        name: plan.arrangement.finished({a: answer.at(slice(j * n, (j + 1) * n)) for a, answer in answers.items()})
        for j, name in enumerate(ring)
    }


def given_arrays(windows: KeyedWindows, *arrays: np.ndarray | tuple[np.ndarray, ...]) -> tuple:
    """Arrays as the loop takes them: plain Python wants lists."""
    if windows.form.compiled:
        return arrays
    return tuple(type(a)(*(column.tolist() for column in a)) if isinstance(a, tuple) else a.tolist() for a in arrays)


def looped(
    kept: GroupState, loop: Callable, given: tuple, at: np.ndarray, where: Callable[[int], str], of: Group
) -> None:
    """Runs a loop to its end, with more log where it asks for it; an error names the window, and what was read."""
    try:
        while not loop(*[part.cells() for part in kept.parts], *given, at):
            for part in kept.parts:
                part.more_log(1024)
    except Exception as error:
        named(error, where(int(at[-1])), of.columns)
        raise
