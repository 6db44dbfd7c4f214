"""Rows that wait for the watermark: sorted runs, of which neighbours of about the same size are merged.

A row is merged O(log n) times while it waits, and what the watermark has passed is the beginning of each run. Runs are
never changed, so that to take a step back is to keep the old list of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.step.held import Held


@dataclass(frozen=True)
class Run:
    """Rows by time; equal times in the order in which they came."""

    rows: Held
    order: np.ndarray  # the number of each row among all that came
    start: int = 0  # rows before it were released

    def __len__(self) -> int:
        return len(self.order) - self.start


class Pending:
    """Rows that wait."""

    def __init__(self) -> None:
        self.runs: tuple[Run, ...] = ()
        self.came = 0  # rows so far

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    @property
    def oldest(self) -> int | None:
        """The least time of a row that waits."""
        return min((int(run.rows.times[run.start]) for run in self.runs), default=None)

    def codes(self) -> np.ndarray:
        """The numbers of the keys of all rows that wait."""
        return np.concatenate([np.empty(0, np.int64), *(run.rows.codes[run.start :] for run in self.runs)])

    def add(self, rows: Held) -> None:
        """Rows in the order in which they come. They are copied: a user may use the arrays of a push again."""
        order = np.arange(self.came, self.came + rows.rows)
        self.came += rows.rows
        self._insert(rows.copied(), order)

    def put_back(self, rows: Held, order: np.ndarray) -> None:
        """Rows that were released and have to wait on."""
        self._insert(rows, order)

    def _insert(self, rows: Held, order: np.ndarray) -> None:
        if not rows.rows:
            return
        runs = [*self.runs, _sorted(rows, order)]
        while len(runs) > 1 and len(runs[-2]) <= 2 * len(runs[-1]):
            newer, older = runs.pop(), runs.pop()
            runs.append(_sorted(_rest(older).followed_by(_rest(newer)), _orders(older, newer)))
        self.runs = tuple(runs)

    def release(self, until: int, inclusive: bool) -> tuple[Held, np.ndarray] | None:
        """The rows before a time (or at it), in the order in which they came; None: there are none."""
        out: list[tuple[Held, np.ndarray]] = []
        left: list[Run] = []
        for run in self.runs:
            times = run.rows.times
            end = int(np.searchsorted(times, until, "right" if inclusive else "left"))
            if end > run.start:
                out.append((_part(run.rows, run.start, end), run.order[run.start : end]))
            if max(end, run.start) < len(times):
                left.append(run if end <= run.start else Run(run.rows, run.order, end))
        if not out:
            return None
        self.runs = tuple(left)
        rows, order = out[0]
        for more, numbers in out[1:]:
            rows, order = rows.followed_by(more), np.concatenate([order, numbers])
        if len(order) > 1 and (order[1:] < order[:-1]).any():
            at = np.argsort(order, kind="stable")
            rows, order = rows.at(at), order[at]
        return rows, order

    def all(self) -> Held | None:
        """All rows that wait, in the order in which they came."""
        before = self.runs
        released = self.release(2**63 - 1, True)
        self.runs = before
        return None if released is None else released[0]


def _sorted(rows: Held, order: np.ndarray) -> Run:
    times = rows.times
    if len(times) < 2 or not (times[1:] < times[:-1]).any():
        return Run(rows, order)
    at = np.argsort(times, kind="stable")
    return Run(rows.at(at), order[at])


def _part(rows: Held, start: int, end: int) -> Held:
    return rows if end - start == rows.rows else rows.at(slice(start, end))


def _rest(run: Run) -> Held:
    return _part(run.rows, run.start, run.rows.rows)


def _orders(older: Run, newer: Run) -> np.ndarray:
    return np.concatenate([older.order[older.start :], newer.order[newer.start :]])
