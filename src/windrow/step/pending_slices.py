"""What waits for the watermark where every slice is known by its place: partials instead of rows.

A row folds at once into the slice of its key and time, whatever order rows come in, because all aggregates are
commutative. A slice enters the step once the watermark has passed its end: no row can fall into it any more.

Slices lie in sorted runs, of which neighbours of about the same size are merged, and slices of the same place are
combined then. Runs are never changed, so that to take a step back is to keep the old list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from windrow.engine.cutting import Edges
from windrow.engine.grouping import grouped, order_of
from windrow.engine.inputs import Column
from windrow.engine.kernel import CompilationFailed
from windrow.engine.loaded import Partials, check_array, check_columns, require
from windrow.step import passes
from windrow.step.groups import NOTHING, Group
from windrow.step.held import Held
from windrow.step.plan import Plan
from windrow.step.waiting import KeyIndex, Waiting

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Folded:
    """Slices: numbers of their keys, where they begin, and for each group of aggregates their partials."""

    codes: np.ndarray
    begin: np.ndarray
    partials: tuple[Any, ...]
    start: int = 0  # slices before it were released
    index: KeyIndex = field(default_factory=KeyIndex)

    def __len__(self) -> int:
        return len(self.codes) - self.start

    def at(self, where: np.ndarray | slice) -> Folded:
        """Some of the slices."""
        return Folded(self.codes[where], self.begin[where], tuple(_at(part, where) for part in self.partials))

    def rest(self) -> Folded:
        """Those that were not released."""
        return self.at(slice(self.start, None)) if self.start else self

    def coded(self, codes: np.ndarray) -> Folded:
        """The same with other numbers for the keys."""
        return replace(self, codes=codes, index=KeyIndex())


class PendingSlices:
    """Slices that wait."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.groups, self.windows, self.names = plan.arrangement.groups, list(plan.windows.values()), list(plan.windows)
        self.edges = Edges.union(window.edges for window in self.windows)
        none = {name: _empty(column) for name, column in plan.columns.items()}
        numbers = Column(_NONE, None, np.dtype(np.int64))  # none of the rows' columns: ranks, or nothing
        self._columns = [tuple(none.get(name, numbers) for name in group.columns) for group in self.groups]
        self.runs: tuple[Folded, ...] = ()
        self.waiting = Waiting()

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def add(self, rows: Held) -> None:
        """Rows in any order."""
        ends = np.array([rows.times.min(), rows.times.max()])
        self._check(ends)
        begin, _ = self.edges.around(rows.times)
        self._check(np.array([begin.min(), ends[1]]))
        source, cuts = grouped(rows.codes, begin, self.edges.unit)
        first = cuts[:-1] if source is None else source[cuts[:-1]]
        nothing = Column(np.zeros(rows.rows, np.int64), None, np.dtype(np.int64))

        def folded(g: int, group: Group) -> Any:
            columns = tuple(nothing if name == NOTHING else rows.column(name) for name in group.columns)
            return self._fold(group, columns, _NONE if source is None else source, None, cuts, begin[first])

        self._insert(Folded(rows.codes[first], begin[first], self._each(folded)))

    def release(self, until: int) -> Folded | None:
        """The slices that have ended by then, by key and begin; None: there are none."""
        edge = self.edges.begin_of(until)
        out, left = [], []
        for run in self.runs:
            end = int(np.searchsorted(run.begin, edge)) if edge > -(2**63) else 0
            if end > run.start:
                out.append(run.at(slice(run.start, end)))
                self.waiting.add(out[-1].codes, -1)
            if max(end, run.start) < len(run.codes):
                left.append(run if end <= run.start else replace(run, start=end))
        if not out:
            return None
        self.runs = tuple(left)
        return _by_key(_joined(out))

    def nothing(self) -> Folded:
        """No slices."""
        return Folded(_NONE, _NONE, self._each(lambda g, group: group.slots(0)))

    def of_keys(self, keys: np.ndarray) -> Folded | None:
        """The slices of some keys that wait, by key and begin; None: there are none."""
        found = [(run, run.index.find(run.codes, keys)) for run in self.runs]
        parts = [run.at(at[at >= run.start]) for run, at in found if len(at) and at.max() >= run.start]
        return _by_key(_joined(parts)) if parts else None

    def all(self) -> Folded | None:
        """All slices that wait, by key and begin."""
        return _by_key(_joined([run.rest() for run in self.runs])) if self.runs else None

    def due(self) -> np.ndarray:
        """For each slice of `all()` when it enters the step."""
        found = self.all()
        return _NONE if found is None else self.edges.around(found.begin)[1]

    # As plain values.

    def plain(self, slices: Folded) -> Any:
        """Slices as plain values."""
        dumped = [
            [None if p is None else group.of.dump(p) for p in part] if isinstance(part, list) else part
            for group, part in zip(self.groups, slices.partials, strict=True)
        ]
        return slices.codes, slices.begin, dumped

    def load(self, values: Any, keys: np.ndarray, kinds: Mapping[str, tuple[str, np.dtype]]) -> None:
        """Takes up what `plain` gave; the numbers in it are places among `keys`, and `kinds` tells the columns."""
        codes, begin, dumped = values
        check_array(codes, np.int64, None, "slices that wait")
        require((codes >= 0) & (codes < len(keys)), "slices that wait are of no key")
        check_array(begin, np.int64, len(codes), "slices that wait")
        if len(begin):
            self._check(np.array([begin.min(), begin.max()]))
            require(self.edges.around(begin)[0] == begin, "slices that wait begin where no slice does")
        partials = zip(self.groups, dumped, strict=True)
        loaded = tuple(_loaded(group, part, len(codes), kinds) for group, part in partials)
        self._insert(Folded(keys[codes], begin, loaded))

    # A step.

    def before(self) -> Any:
        """What `rollback` wants to know."""
        return self.runs

    def commit(self) -> None:
        self.waiting.commit()

    def rollback(self, before: Any) -> None:
        self.runs = before
        self.waiting.rollback()

    # Runs.

    def _check(self, ends: np.ndarray) -> None:
        for window in self.windows:
            window.check_places(ends)

    def _each(self, make: Callable[[int, Group], Any]) -> tuple[Any, ...]:
        return tuple(make(g, group) for g, group in enumerate(self.groups))

    def _fold(
        self,
        group: Group,
        columns: tuple[Column, ...],
        source: np.ndarray,
        kept: Any,
        cuts: np.ndarray,
        begin: np.ndarray,
    ) -> Any:
        """One partial for each slice; an error names the slice, which begins at `begin`."""
        try:
            return passes.fold(group, columns, source, kept, cuts, _NONE)[0]
        except CompilationFailed:
            raise
        except Exception as error:
            raised = error
        for j in range(len(begin)):  # once more, one by one, to know which
            try:
                passes.fold(group, columns, source, kept, cuts[j : j + 2], _NONE)
            except Exception as error:
                end = int(self.edges.around(begin[j : j + 1])[1][0])
                window = " or ".join(f"window '{name}'" for name in self.names)
                told = partial(self.plan.spelled, self.windows[0])
                where = f"{window}, in the slice from {told(begin[j])} to {told(end)}"
                if isinstance(error, OverflowError):
                    raise OverflowError(f"{error} ({where})") from error
                error.add_note(f"in {where}")
                raise
        raise raised  # it did not, when it was asked again

    def _insert(self, slices: Folded) -> None:
        if not len(slices):
            return
        self.waiting.add(slices.codes)
        runs = [*self.runs, slices.at(np.lexsort((slices.codes, slices.begin)))]
        while len(runs) > 1 and len(runs[-2]) <= 2 * len(runs[-1]):
            newer, older = runs.pop(), runs.pop()
            runs.append(self._merged(older.rest(), newer.rest()))
        self.runs = tuple(runs)

    def _merged(self, older: Folded, newer: Folded) -> Folded:
        """One run of two; slices of the same place become one."""
        both = _joined([older, newer])
        at = np.lexsort((both.codes, both.begin))
        codes, begin = both.codes[at], both.begin[at]
        same = (codes[1:] == codes[:-1]) & (begin[1:] == begin[:-1])
        if not same.any():
            return both.at(at)
        self.waiting.add(codes[1:][same], -1)
        first = np.flatnonzero(np.concatenate([[True], ~same]))
        cuts = np.append(first, len(codes))

        def combined(g: int, group: Group) -> Any:
            return self._fold(group, self._columns[g], ~at, both.partials[g], cuts, begin[first])

        return Folded(codes[first], begin[first], self._each(combined))


def _at(part: Any, where: np.ndarray | slice) -> Any:
    if not isinstance(part, list):
        return tuple(column[where] for column in part)
    return part[where] if isinstance(where, slice) else [part[i] for i in where.tolist()]


def _loaded(group: Group, part: Any, slices: int, kinds: Mapping[str, tuple[str, np.dtype]]) -> Any:
    if group.form.compiled:
        check_columns(group.form.dtypes or (), part)
        check_array(part[0], part[0].dtype, slices, "slices that wait")
        return part
    require(isinstance(part, list) and len(part) == slices, "slices that wait are missing")
    partials = Partials(group.of, [kinds[name][0] if name in kinds else None for name in group.columns])
    return [None if p is None else partials.load(p) for p in part]


def _joined(runs: Sequence[Folded]) -> Folded:
    if len(runs) == 1:
        return runs[0]
    parts: list[Any] = []
    for part in zip(*(run.partials for run in runs), strict=True):
        if isinstance(part[0], list):
            parts.append([p for mine in part for p in mine])
        else:
            parts.append(tuple(np.concatenate(columns) for columns in zip(*part, strict=True)))
    return Folded(
        np.concatenate([run.codes for run in runs]), np.concatenate([run.begin for run in runs]), tuple(parts)
    )


def _by_key(slices: Folded) -> Folded:
    at = order_of(slices.codes, slices.begin)
    return slices if at is None else slices.at(at)


def _empty(column: Column) -> Column:
    return Column(column.values[:0], None if column.mask is None else column.mask[:0], column.dtype)
