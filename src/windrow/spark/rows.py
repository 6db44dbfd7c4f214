"""The pass over rows that are sorted by key and time: every kind of window, by the engine that runs in one process."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow import frames
from windrow.errors import WindrowError
from windrow.local.batch import Local
from windrow.local.intake import column_measures, named_columns
from windrow.local.live import Live
from windrow.query import Query
from windrow.spark.chunks import by_key, conformed

#: marks rows that are only context for the rows after them
CONTEXT = "__windrow_context"


@dataclass(frozen=True)
class Place:
    """Which of its key's rows a part of time has, counted from 0."""

    first: int  # of its context
    begin: int  # of its own
    end: int  # where the next part begins
    last: bool  # there is none


#: of a key that is no part of time
WHOLE = Place(0, 0, 0, last=True)


@dataclass(frozen=True)
class SortedRows:
    """What a worker does with a partition's rows."""

    query: Query
    schema: pa.Schema  # of the result
    #: the key, with the part of time that a row is in where keys are split
    by: tuple[str, ...]
    #: for the parts of which it is known: which rows they have
    places: Mapping[int, Place] = field(default_factory=dict)

    #: a key that is larger than a chunk is taken in piece by piece
    streams: ClassVar[bool] = True

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # rows along a column may have to be sorted once more
        streams = self.streams and not column_measures(self.query)
        if self.places:
            batches = self._as_counted(batches)
        for table in by_key(batches, self.by, self._whole, self._streamed if streams else None):
            yield from conformed(table, self.schema).to_batches()

    def _as_counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; an error where parts have other rows than were counted: windows would lack some."""
        seen: Counter[int] = Counter()
        for batch in batches:
            parts = batch[self.by[-1]].filter(self._counts(batch))
            seen.update({count["values"]: count["counts"] for count in pc.value_counts(parts).to_pylist()})
            yield batch
        for part, rows in seen.items():
            place = self.places.get(part)
            if place is not None and rows != place.end - place.first:
                raise WindrowError(
                    f"a part of the table had {place.end - place.first:,} rows when they were counted and has {rows:,} "
                    "now: the table changes while it is read; cache() or checkpoint() it"
                )

    def _counts(self, batch: pa.RecordBatch) -> pa.Array:
        """Which rows were counted."""
        assert self.query.time is not None
        return pc.is_valid(batch[self.query.time])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the query reads, with those of the key."""
        return tuple(named_columns(self._keyed()))

    def _whole(self, rows: pa.Table) -> pa.Table:
        return Local().run(self._keyed(), rows.combine_chunks())[0]

    def _streamed(self) -> OneKey:
        return OneKey(self._keyed(), self.schema)

    def _keyed(self) -> Query:
        """The query over the keys as they were split; rows come in order here, so none is late."""
        query = copy.copy(self.query)
        query.by, query.lateness, query.store = self.by, 0, None
        query.threads = 1  # a core of Spark's is a task's
        query.guesses_unit = False  # a worker sees a part of the rows
        return query


@dataclass(frozen=True)
class CountedRows(SortedRows):
    """The same for windows that begin with every so manieth row of a key: where a part begins is told.

    A window is of the part in which its last row is; the part's context has all of its rows.
    """

    def _whole(self, rows: pa.Table) -> pa.Table:
        parts = rows[self.by[-1]].to_numpy()
        found = [super()._whole(rows.filter(parts < 0))] if (parts < 0).any() else []
        for part in np.unique(parts[parts >= 0]):
            one = self._streamed()
            found += [one.push(rows.filter(parts == part)), one.close()]
        return pa.concat_tables(conformed(table, self.schema) for table in found)

    def _streamed(self) -> OneKey:
        return OnePart(self)


@dataclass(frozen=True)
class Beside:
    """Answers as one column of structs, as many as there are rows and in their order.

    Only the columns that the query reads come here; the rows wait where they are.
    """

    rows: SortedRows
    columns: tuple[str, ...]

    def __call__(self, arrays: Iterable[pa.Array | tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        columns = (list(some) if isinstance(some, tuple) else [some] for some in arrays)
        batches = (pa.RecordBatch.from_arrays(some, names=list(self.columns)) for some in columns)
        for batch in self.rows(batches):
            yield batch.to_struct_array()


class OneKey:
    """One key that is larger than a chunk, as a live query: rows in order, so that all of them are in time.

    Answers that come with each row are as many as the rows, in their order: rows without a time, which have none, are
    the first of their key.
    """

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        self.query, self.schema = query, schema
        self.live = Live(query)

    def push(self, rows: pa.Table) -> pa.Table:
        if not self.query.per_row or self.query.changes_only or self.query.time is None:
            return self.live.push(rows)
        times = rows[self.query.time]
        answers = conformed(self.live.push(rows.filter(pc.is_valid(times))), self.schema)
        return pa.concat_tables([_nulls(self.schema, times.null_count), answers])

    def close(self) -> pa.Table:
        return self.live.close()


class OnePart(OneKey):
    """A part of a key, as a live query that is told how many rows there were before."""

    def __init__(self, of: CountedRows) -> None:
        super().__init__(of._keyed(), of.schema)
        self.of = of
        self.place: Place | None = None  # told by the first rows

    def push(self, rows: pa.Table) -> pa.Table:
        if self.place is None:
            self.place = self._begin(rows)
        return self._own(self.live.push(rows), self.place)

    def close(self) -> pa.Table:
        return self._own(self.live.close(), self.place or WHOLE)

    def _begin(self, rows: pa.Table) -> Place:
        place = self.of.places.get(rows[self.of.by[-1]][0].as_py(), WHOLE)
        self.live.begin(frames.read(rows.schema.empty_table()))
        self.live.start_at(place.first)
        return place

    @staticmethod
    def _own(results: pa.Table, place: Place) -> pa.Table:
        """Without windows that end in another part."""
        mine = pc.greater(results["end"], place.begin)
        if not place.last:
            mine = pc.and_(mine, pc.less_equal(results["end"], place.end))
        return results.filter(mine)


def _nulls(schema: pa.Schema, count: int) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(count, field.type) for field in schema], schema=schema)
