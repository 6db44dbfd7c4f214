"""The pass over rows that are sorted by key and time: every kind of window, by the engine that runs in one process."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from windrow.local.batch import Local
from windrow.local.intake import column_measures, named_columns
from windrow.local.live import Live
from windrow.query import Query
from windrow.spark.chunks import by_key, conformed

#: marks rows that are only context for the rows after them
CONTEXT = "__windrow_context"


@dataclass(frozen=True)
class SortedRows:
    """What a worker does with a partition's rows."""

    query: Query
    schema: pa.Schema  # of the result
    #: the key, with the part of time that a row is in where keys are split
    by: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        streams = not column_measures(self.query)  # rows along a column may have to be sorted once more
        for table in by_key(batches, self.by, self._whole, self._streamed if streams else None):
            yield from conformed(self._wanted(table), self.schema).to_batches()

    def _whole(self, rows: pa.Table) -> pa.Table:
        return Local().run(self._keyed(), rows.combine_chunks())[0]

    def _streamed(self) -> OneKey:
        return OneKey(self._keyed())

    def _keyed(self) -> Query:
        """The query over the keys as they were split; rows come in order here, so none is late."""
        query = copy.copy(self.query)
        query.by, query.lateness = self.by, 0
        return query

    def _wanted(self, table: pa.Table) -> pa.Table:
        if CONTEXT not in table.column_names:
            return table
        return table.filter(pc.invert(table[CONTEXT]))


class OneKey:
    """One key that is larger than a chunk, as a live query: rows in order, so that all of them are in time."""

    def __init__(self, query: Query) -> None:
        self.query, self.live = query, Live(query)
        self.waiting: list[pa.Table] = []  # rows whose answers are not there yet

    def push(self, rows: pa.Table) -> pa.Table:
        if not self.query.per_row or self.query.changes_only:
            return self.live.push(rows)  # without the rows' own columns, or with those that are to be compared
        if self.query.time is not None:
            placed = pc.is_valid(rows[self.query.time])
            lost, rows = rows.filter(pc.invert(placed)), rows.filter(placed)
            return self._beside(self.live.push(self._needed(rows)), lost, rows)
        return self._beside(self.live.push(self._needed(rows)), rows.slice(0, 0), rows)

    def close(self) -> pa.Table:
        rest = self.live.close()
        if not self.query.per_row or self.query.changes_only:
            return rest
        none = self.waiting[0].slice(0, 0)
        return self._beside(rest, none, none)

    def _needed(self, rows: pa.Table) -> pa.Table:
        """The columns that the query reads: the others wait as they are."""
        names = named_columns(self.query)
        return rows.select(names or rows.column_names[:1])

    def _beside(self, answers: pa.Table, lost: pa.Table, rows: pa.Table) -> pa.Table:
        """The oldest rows beside their answers, after rows without a time, which have none."""
        both = pa.concat_tables([*self.waiting, rows])
        done = both.slice(0, answers.num_rows)
        self.waiting = [both.slice(answers.num_rows)]
        for name in answers.column_names:
            if name not in both.column_names:
                done = done.append_column(name, answers[name])
                lost = lost.append_column(name, pa.nulls(lost.num_rows, answers[name].type))
        return pa.concat_tables([lost, done])
