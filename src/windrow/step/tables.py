"""A whole table: one step from an empty state to the end of all rows.

Keys are independent, so a step over many of them is cut into ranges of keys, one for each thread. No answer changes.
Windows by row start from nothing, so their answers may come from vector code (`engine.blocks`, `engine.short_windows`)
that a live query has no use for. They are cut into parts of rows, which are the same for any number of threads.

Where a part fails, all is done again in one piece: its error names what an error names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.asking import Asks
from windrow.engine.inputs import Column
from windrow.engine.table import Table
from windrow.engine.threads import ONE, Threads
from windrow.engine.walking import ByRow, Runs
from windrow.engine.walks import HIGHEST
from windrow.step import passes
from windrow.step.groups import Answer
from windrow.step.plan import Plan
from windrow.step.results import Ended, Results, Seen
from windrow.step.slices import Slices
from windrow.step.state import State
from windrow.step.step import Picked, step
from windrow.windows.base import ROWS, TIME, StepRows, Window

#: a thread's range of keys has so many rows at least
RANGE = 1 << 15
#: where keys have so many rows on average, each is looked up, which is faster than to go through all rows
LOOK_UP = 64


class AskingRows(NamedTuple):
    """Rows that ask: the numbers of their keys, and where they are on the measure that they ask along."""

    key: np.ndarray
    now: np.ndarray


def stepped(plan: Plan, rows: StepRows, columns: Mapping[str, Column], keys: int, threads: Threads) -> Results:
    """The windows of rows that are sorted by key, whose numbers count from 0 and are below `keys`."""

    def one(part: _Range) -> Results:
        a, z, first, last = part
        mine = {name: column.between(a, z) for name, column in columns.items()}
        return _one(plan, _rows_of(rows, a, z, first), mine, last - first, None)

    return _in_ranges(one, plan, rows.key, keys, threads)


def stepped_over(plan: Plan, slices: Slices, keys: int, threads: Threads) -> Results:
    """The same from slices that were folded before."""
    rows = StepRows(slices.key, {TIME: slices.first}, {}, {TIME: slices.last})

    def one(part: _Range) -> Results:
        a, z, first, last = part
        partials = [tuple(column[a:z] for column in slots) for slots in slices.partials]
        return _one(plan, _rows_of(rows, a, z, first), {}, last - first, partials)

    return _in_ranges(one, plan, slices.key, keys, threads)


#: rows from, to, keys from, to
_Range = tuple[int, int, int, int]


def _one(plan: Plan, rows: StepRows, columns: Mapping[str, Column], keys: int, slices: Any) -> Results:
    state = State(plan)
    state.grow(keys)
    every = np.arange(keys) if len(rows) else np.empty(0, np.int64)
    return step(state, rows, columns, HIGHEST, closing=True, keys=every, keep=False, slices=slices)


def _in_ranges(one: Callable[[_Range], Results], plan: Plan, key: np.ndarray, keys: int, threads: Threads) -> Results:
    parts = _ranges(key, keys, threads.count) if _compiled(plan) else [(0, len(key), 0, keys)]
    if len(parts) == 1:
        return one(parts[0])
    try:
        found = threads.map(one, parts)
    except Exception:
        return one((0, len(key), 0, keys))
    return _together(found, [part[2] for part in parts], threads)


def _compiled(plan: Plan) -> bool:
    """Whether nothing of the step is plain Python, which runs in one thread at a time."""
    return all(group.form.compiled for group in plan.arrangement.groups) and not any(
        window.in_python for window in plan.windows.values()
    )


def _ranges(key: np.ndarray, keys: int, threads: int) -> list[_Range]:
    """About as many rows in each, and whole keys."""
    n = len(key)
    count = min(threads, n // RANGE, keys)
    if count < 2:
        return [(0, n, 0, keys)]
    first = sorted({int(key[n * j // count]) for j in range(1, count)} - {0})
    at = np.searchsorted(key, first).tolist()
    return list(zip([0, *at], [*at, n], [0, *first], [*first, keys], strict=True))


def _rows_of(rows: StepRows, a: int, z: int, first: int) -> StepRows:
    """Some of the rows, with keys that count from `first`."""
    if a == 0 and z == len(rows):
        return rows
    measures = {m: values[a:z] for m, values in rows.measures.items()}
    last = {m: values[a:z] for m, values in rows.last.items()}
    return replace(
        rows, key=rows.key[a:z] - first, measures=measures, readable=Picked(rows.readable, slice(a, z)), last=last
    )


def _together(found: Sequence[Results], first: Sequence[int], threads: Threads) -> Results:
    """The results of ranges of keys below one another; `first` is the first key of each."""
    ended = [_stacked([f.ended[j] for f in found], first, threads) for j in range(len(found[0].ended))]
    seen = {}
    for name in found[0].seen:
        all_of = [f.seen[name] for f in found]
        seen[name] = Seen(sum(s.windows for s in all_of), sum(s.slices for s in all_of), max(s.held for s in all_of))
    return Results(np.concatenate([f.keys + k for f, k in zip(found, first, strict=True)]), {}, ended, seen)


def _stacked(parts: list[Ended], first: Sequence[int], threads: Threads) -> Ended:
    """Windows below one another."""
    sizes = [len(part.key) for part in parts]
    names = list(parts[0].answers)

    def mask(masks: list[np.ndarray | None]) -> np.ndarray | None:
        if all(m is None for m in masks):
            return None
        return np.concatenate([np.ones(n, bool) if m is None else m for m, n in zip(masks, sizes, strict=True)])

    columns = [[part.key + k for part, k in zip(parts, first, strict=True)]]
    columns += [[part.start for part in parts], [part.end for part in parts]]
    columns += [[part.answers[name].values for part in parts] for name in names]
    key, start, end, *values = threads.map(np.concatenate, columns)
    answers = {
        name: replace(parts[0].answers[name], values=mine, there=mask([part.answers[name].there for part in parts]))
        for name, mine in zip(names, values, strict=True)
    }
    return Ended(parts[0].window, key, start, end, mask([part.ended for part in parts]), answers)


def answers_by_row(
    plan: Plan, rows: StepRows, columns: Mapping[str, Column], threads: Threads = ONE
) -> dict[str, dict[str, Answer]]:
    """For each window by row an answer for each row. The rows are sorted by key, whose numbers count from 0."""
    found = {}
    begin, runs = _stretches(rows.key)
    for name, window in plan.windows.items():
        algorithm = plan.algorithms[name]
        answers: dict[str, Answer] = {}
        if window.last_rows is not None:
            for group in plan.arrangement.groups:
                mine = tuple(columns[column] for column in group.columns)
                answers.update(passes.slide_in_parts(group, algorithm, mine, begin, window.last_rows, threads))
        else:
            lo, hi = _bounds(plan, window, rows, runs, threads)
            answers = _between(plan, name, columns, begin, lo, hi, threads)
        found[name] = plan.arrangement.finished(answers)
    return found


def answers_asked(
    plan: Plan, rows: StepRows, columns: Mapping[str, Column], asks: Mapping[str, AskingRows], threads: Threads = ONE
) -> dict[str, dict[str, Answer]]:
    """For each window by row an answer for each row that asks. The rows are sorted by key.

    `asks`: for each window the rows that ask for it, sorted by key and along the measure that they ask along.
    """
    found = {}
    runs = _stretches(rows.key)[1]
    for name, window in plan.windows.items():
        mine, along = asks[name], window.asked_along
        assert along is not None
        bounds = partial(_bounds, plan, window, rows, runs, threads)
        placed = Asks.of(rows.key, rows.measures[along], mine.key, mine.now, bounds, threads)
        lo, hi = window.asked(placed)
        answers = _between(plan, name, columns, placed.first, lo, hi, threads)
        found[name] = plan.arrangement.finished(answers)
    return found


def _between(
    plan: Plan, window: str, columns: Mapping[str, Column], begin: np.ndarray, lo: np.ndarray, hi: np.ndarray,
    threads: Threads,
) -> dict[str, Answer]:  # fmt: skip
    """The answers of windows from rows lo to hi; those of a key begin at `begin`."""
    answers: dict[str, Answer] = {}
    cuts = passes.cut_windows(begin, lo, hi)
    for group in plan.arrangement.groups:
        mine = tuple(columns[column] for column in group.columns)
        answers.update(passes.between_in_parts(group, plan.algorithms[window], mine, lo, hi, cuts, threads))
    return answers


def _stretches(key: np.ndarray) -> tuple[np.ndarray, Runs]:
    """Where keys begin, and each key's stretch of rows."""
    n = len(key)
    keys = int(key[-1]) + 1 if n else 0
    if n >= LOOK_UP * keys:
        begin = np.unique(np.searchsorted(key, np.arange(keys)))
    else:
        begin = np.flatnonzero(np.concatenate([np.ones(1, bool), key[1:] != key[:-1]]))
    end = np.append(begin[1:], n) if n else begin
    return begin, Runs(key[begin], begin, end, np.full(len(begin), HIGHEST))


def _bounds(plan: Plan, window: Window, rows: StepRows, runs: Runs, threads: Threads) -> tuple[np.ndarray, np.ndarray]:
    """For each row the rows of its window, by their positions."""
    n = len(rows)
    measures = {**rows.measures, ROWS: np.arange(n) - np.repeat(runs.begin, runs.end - runs.begin)}
    full = StepRows(rows.key, measures, rows.readable, rows.last, keep=False)
    lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)

    def one(part: _Range) -> None:
        a, z, first, _ = part
        i, j = np.searchsorted(runs.begin, (a, z))
        mine = Runs(runs.key[i:j] - first, runs.begin[i:j] - a, runs.end[i:j] - a, runs.until[i:j])
        bounds = _bounds_from_nothing(plan, window, mine, _rows_of(full, a, z, first))
        shift = np.repeat(runs.begin[i:j], runs.end[i:j] - runs.begin[i:j])
        np.add(bounds.lo, shift, out=lo[a:z])
        np.add(bounds.hi, shift, out=hi[a:z])

    keys = int(runs.key.max(initial=-1)) + 1
    parts = _ranges(rows.key, keys, 1 if window.in_python else threads.count)
    try:
        threads.map(one, parts)
    except Exception:
        if len(parts) == 1:
            raise
        one((0, n, 0, keys))
    return lo, hi


def _bounds_from_nothing(plan: Plan, window: Window, runs: Runs, rows: StepRows) -> ByRow:
    table = Table()
    walk = window.state_over(table, plan.dtype(window), plan.columns)
    table.grow(int(runs.key.max(initial=-1)) + 1)
    for part, _ in walk.kept:
        part.grow(len(table.words))
    return window.bounds(walk, runs, rows)
