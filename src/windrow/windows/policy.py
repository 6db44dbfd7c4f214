"""Policy windows: after each row, a user's function says how much of the oldest part goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from windrow.aggregates import join
from windrow.aggregates.base import Aggregate
from windrow.engine.asking import Asks, LiveAsks, Refused
from windrow.engine.inputs import Column
from windrow.engine.keyed_loops import PolicyRuns
from windrow.engine.policy_state import PolicyState
from windrow.engine.row_views import numbers, row_maker
from windrow.engine.table import Table
from windrow.engine.walking import ByRow, Runs, WalkState, walker
from windrow.engine.walks import HIGHEST
from windrow.swag.amta import ALGORITHM
from windrow.swag.mta_batch import sized_by_policy
from windrow.windows.base import ROWS, Measure, StepRows, Trees, Window


@dataclass(frozen=True)
class Policy(Window):
    """After each row, `evict(total, old)` says how much of the oldest part goes."""

    kind: ClassVar[str] = "policy"
    described: ClassVar[str] = "not deterministic: the policy tells after each row which of the oldest go (paper 4)"
    row_slices: ClassVar[bool] = True
    per_row: ClassVar[bool] = True
    evict: Callable[[Any, Any], bool]
    over: tuple[tuple[str, Aggregate], ...]
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, aggregate in self.over for name in aggregate.columns))

    def __str__(self) -> str:
        return f"policy over {', '.join(f'{name}={aggregate!r}' for name, aggregate in self.over)}"

    @property
    def may_be_empty(self) -> bool:
        return True

    @property
    def in_python(self) -> bool:
        return True

    @property
    def held(self) -> str:
        return "the rows in the window, and their Monoid Tree,"

    def state_over(self, table: Table, dtype: Any, columns: Mapping[str, Column]) -> WalkState:
        return PolicyState(table, ALGORITHM, self.evict, self.over, columns)

    def bounds(self, state: WalkState, runs: Runs, rows: StepRows) -> ByRow:
        """For each row the rows of its window, by their numbers in the key."""
        assert isinstance(state, PolicyState)
        number = rows.measures[ROWS]
        stretches = PolicyRuns(runs.key, runs.begin, runs.end, runs.begin)
        lo, hi = state.bounds(stretches, rows.readable, len(rows), number, rows.keep), number + 1
        by_run = np.zeros((4, len(runs.key)), np.int64)
        _by_run(runs, lo, hi, by_run)
        return ByRow(lo, hi, *by_run)

    def asked(self, asks: Asks) -> tuple[np.ndarray, np.ndarray]:
        """The window as the policy left it after the last row at or before the asking one."""
        lo = hi = asks.passed(asks.now, True)
        some = hi > asks.start
        if some.any():
            lo = hi.copy()
            lo[some] = asks.windows()[0][hi[some] - 1]
        return lo, hi

    def asked_live(self, state: WalkState, asks: LiveAsks, rows: StepRows) -> tuple[np.ndarray, np.ndarray] | Refused:
        """The same: the policy runs over the rows that wait."""
        assert isinstance(state, PolicyState)
        size, count = asks.last - asks.first, state.rows(asks.key)
        behind = np.flatnonzero(asks.now < asks.until)
        for i in behind[np.repeat(count > 0, size)[behind]][:1].tolist():
            return Refused(i, asks.until)
        first, passed = np.repeat(count - state.sizes(asks.key), size), asks.passed(True)
        if passed.any():
            runs = PolicyRuns(asks.key, asks.begin, asks.end, asks.begin)
            lo = state.bounds(runs, rows.readable, len(rows), np.arange(len(rows)), keep=True)
            some = passed > 0
            first[some] = lo[(np.repeat(asks.begin, size) + passed - 1)[some]]
        return first, np.repeat(count, size) + passed

    storable: ClassVar[bool] = True

    @property
    def places(self) -> Aggregate:
        """What the policy sees."""
        over = dict(self.over)
        try:
            return join(**over)
        except ValueError:  # names that no field of a tuple may have
            return join(*over.values())

    def stored_state(self, table: Table, dtype: Any) -> WalkState:
        return WalkState(table, dtype)

    def stored_bounds(self, state: WalkState, runs: Runs, rows: StepRows, tree: Trees) -> ByRow:
        number = rows.measures[ROWS]
        lo, hi = np.empty(len(number), np.int64), number + 1
        first, keep = np.zeros((2, len(runs.key)), np.int64)
        columns = [rows.readable[name] for name in self.places.columns]
        for u in np.flatnonzero(runs.end > runs.begin).tolist():
            mine = slice(runs.begin[u], runs.end[u])
            given = [_numbers(column, mine) for column in columns]
            lo[mine] = hi[mine] - self._sizes(tree(int(runs.key[u])), given, mine.stop - mine.start)
            first[u], keep[u] = number[mine.start], lo[mine.stop - 1]
        return ByRow(lo, hi, first, first, first, keep)

    def _sizes(self, tree: Any, columns: list[Column], rows: int) -> np.ndarray:
        """How many rows the window of each row has."""
        evict, make = self.evict, row_maker(tuple(name for name, _ in self.over))
        # aggregates that count rows still want a column
        given = tuple(columns) or (Column(np.zeros(rows, bool), None, np.dtype(bool)),)

        def plain(total: Any, old: Any) -> bool:
            return bool(evict(make(total), make(old)))

        return sized_by_policy(tree, given, evict, plain)

    def first_rows(self, columns: Mapping[str, Column], seg: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        """For each item of a table the first item of its window.

        Args:
            seg: where each key's items begin; the last entry is the number of items.
            fresh: for each key its first new item. Items before it are in the window already: no policy runs on them.

        >>> from windrow import agg, win
        >>> three_rows = win.policy(lambda total, old: total.n - old.n >= 3, over={"n": agg.count()})
        >>> three_rows.first_rows({}, np.array([0, 5]), np.array([0])).tolist()
        [0, 0, 0, 1, 2]
        """
        table, keys, n = Table(), np.arange(len(seg) - 1), int(seg[-1])
        state = PolicyState(table, ALGORITHM, self.evict, self.over, columns, nullable=False)
        table.grow(len(keys))
        for trees, _ in state.kept:
            trees.grow(len(keys))
        begin = np.repeat(seg[:-1], np.diff(seg))
        runs = PolicyRuns(keys, np.asarray(seg[:-1]), np.asarray(seg[1:]), np.asarray(fresh))
        return begin + state.bounds(runs, columns, n, np.arange(n) - begin, keep=False)

    def slices(self, state: WalkState, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(state, PolicyState)
        return np.zeros(len(keys), np.int64), state.rows(keys)

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """A window goes on whatever the time is."""
        return np.full(len(keys), HIGHEST)

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        return np.zeros(len(keys), bool)  # the next row's window may have all that is there


def _numbers(column: Column, mine: slice) -> Column:
    """Some of a column, times as microseconds."""
    mask = None if column.mask is None else column.mask[mine]
    values = numbers(Column(column.values[mine], mask, column.dtype))
    return Column(values, mask, column.dtype if column.dtype.kind not in "mM" else values.dtype)


@walker
def _by_run(runs, lo, hi, by_run):
    """For each run that has rows what `ByRow` tells of it."""
    for u in range(len(runs.key)):
        if runs.begin[u] < runs.end[u]:
            by_run[0, u], by_run[3, u] = hi[runs.begin[u]] - 1, lo[runs.end[u] - 1]
            for i in range(runs.begin[u], runs.end[u]):
                by_run[1, u] = max(by_run[1, u], hi[i] - lo[i])
