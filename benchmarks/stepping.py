"""A query of one key, step by step, with what a step tells: the slices that it began and held."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import windrow
from benchmarks.slicing import Counts
from windrow.engine.inputs import column_of
from windrow.engine.walks import HIGHEST, LOWEST
from windrow.sharing.groups import arrange
from windrow.step.choosing import planned
from windrow.step.state import State
from windrow.step.step import Results, step
from windrow.windows.base import TIME, StepRows


class Stepping:
    """What `open()` and `push` do with rows that come in order, of an aggregate whose combines are counted."""

    def __init__(self, query: windrow.Query, data: Mapping[str, np.ndarray]) -> None:
        """`data` are all rows; a step takes some of them."""
        self.query = query
        self.columns = {name: column_of(values) for name, values in data.items()}
        arrangement = arrange(query.aggregates, self.columns, nullable=True)
        dtypes = {
            w.measure: self.columns[w.measure.column].values.dtype for w in query.windows.values() if w.measure.column
        }
        self.plan = planned(query, query.windows, arrangement, dtypes, self.columns)
        self.state = State(self.plan)
        self.state.grow(1)
        self.of = next(iter(query.aggregates.values()))
        self.counts = Counts()
        self.at = 0

    def step(self, rows: int, closing: bool = False) -> Results:
        """The next rows."""
        here = {n: column_of(c.values[self.at : self.at + rows]) for n, c in self.columns.items()}
        measures = {m: here[m.column].values for m in self.plan.dtypes if m.column}
        until = LOWEST
        if self.query.time is not None:
            measures[TIME] = here[self.query.time].values
            until = int(measures[TIME][-1]) if rows else until
        given = StepRows(np.zeros(rows, np.int64), measures, here)
        combines = self.of.combines or 0
        keys = np.zeros(1, np.int64) if closing else None
        results = step(self.state, given, here, HIGHEST if closing else until, closing, keys)
        self.state.commit()
        self.at += rows
        self._count(rows, (self.of.combines or 0) - combines, results)
        return results

    def _count(self, rows: int, combines: int, results: Results) -> None:
        counts = self.counts
        rings = [seen for name, seen in results.seen.items() if name == self.plan.ring(name)[0]]  # all that share agree
        slices = sum(seen.slices for seen in rings)
        fill = rows * len(rings) - slices
        counts.rows += rows
        counts.slices += slices
        counts.fill += fill
        counts.merge += combines - fill
        counts.windows += sum(len(ended.key) for ended in results.ended)
        counts.most = max(counts.most, sum(max(1, seen.held) for seen in rings))


def stepped(query: windrow.Query, data: Mapping[str, np.ndarray], warm: int = 0, rows_a_step: int = 1) -> Counts:
    """What a query takes after its first `warm` rows; `most` is of all rows."""
    stepping = Stepping(query, data)
    number = len(next(iter(data.values())))
    for begin, end in ((0, warm), (warm, number)):
        stepping.counts = Counts(most=stepping.counts.most)
        for at in range(begin, end, rows_a_step):
            stepping.step(min(rows_a_step, end - at))
    return stepping.counts
