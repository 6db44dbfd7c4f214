"""Windows by row over a whole table, from an empty state: the walks of a step, and loops over whole arrays.

A table has no window to go on from, so the answers may come from vector code (`engine.blocks`, `engine.short_windows`)
that a live query has no use for. The answers are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.table import Table
from windrow.engine.walking import ByRow, Runs
from windrow.engine.walks import HIGHEST
from windrow.sharing import passes
from windrow.sharing.groups import Answer
from windrow.step.plan import Plan
from windrow.windows.base import ROWS, StepRows, Window


def answers_by_row(plan: Plan, rows: StepRows, columns: Mapping[str, Column]) -> dict[str, dict[str, Answer]]:
    """For each window by row an answer for each row. The rows are sorted by key, whose numbers count from 0."""
    n = len(rows)
    begin = np.flatnonzero(np.concatenate([np.ones(min(n, 1), bool), rows.key[1:] != rows.key[:-1]]))
    key, end = rows.key[begin], np.append(begin[1:], n) if n else begin
    counts = end - begin
    measures = {**rows.measures, ROWS: np.arange(n) - np.repeat(begin, counts)}
    full = StepRows(rows.key, measures, rows.readable, rows.last, keep=False)
    found = {}
    for name, window in plan.windows.items():
        algorithm = plan.algorithms[name]
        if window.last_rows is not None:
            answers = _slid(plan, algorithm, rows.key, window.last_rows, columns)
        else:
            runs = Runs(key, begin, end, np.full(len(key), HIGHEST))
            bounds = _bounds(plan, window, runs, full)
            shift = np.repeat(begin, counts)
            answers = _between(plan, algorithm, bounds.lo + shift, bounds.hi + shift, columns)
        found[name] = plan.arrangement.finished(answers)
    return found


def _bounds(plan: Plan, window: Window, runs: Runs, rows: StepRows) -> ByRow:
    table = Table()
    walk = window.state_over(table, plan.dtype(window), plan.columns)
    table.grow(int(runs.key.max(initial=-1)) + 1)
    for part, _ in walk.kept:
        part.grow(len(table.words))
    return window.bounds(walk, runs, rows)


def _slid(plan: Plan, algorithm: str, key: np.ndarray, rows: int, columns: Mapping[str, Column]) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for group in plan.arrangement.groups:
        mine = tuple(columns[name] for name in group.columns)
        answers.update(passes.slide(group, algorithm, mine, key, rows))
    return answers


def _between(
    plan: Plan, algorithm: str, lo: np.ndarray, hi: np.ndarray, columns: Mapping[str, Column]
) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for group in plan.arrangement.groups:
        mine = tuple(columns[name] for name in group.columns)
        answers.update(passes.between(group, algorithm, mine, lo, hi))
    return answers
