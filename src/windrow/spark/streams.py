"""Queries over streaming DataFrames: a live query for each bucket of keys, in Spark's own state.

    rows ── Packed ──> (bucket, newest time, rows as bytes) ── by bucket, Running ──> results ── Unpacked ──> columns

Every call of Spark into Python with state costs a fixed time, so keys are put into buckets by their hash, and a bucket
is one live query: rows wait until the watermark has passed them, are taken in time order, and each window is sent
once. Rows travel as Arrow bytes, one row a bucket and batch: nothing is converted to pandas and back, no type is
lost.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.local.live import Live
from windrow.query import Query
from windrow.spark.chunks import conformed, gathered

BUCKET, WHEN, ROWS = "__windrow_bucket", "__windrow_when", "__windrow_rows"
#: how many live queries the keys are put into; part of the state's layout
BUCKETS = 64
#: rows are late by Spark's watermark alone, which all buckets share
UNHURRIED = 2**61
EPOCH = datetime.datetime(1970, 1, 1)

PACKED = pa.schema([(BUCKET, pa.int32()), (WHEN, pa.timestamp("us", "UTC")), (ROWS, pa.binary())])
RESULTS = "rows binary"
STATE = "live binary"


@dataclass(frozen=True)
class Packed:
    """What a worker does with new rows: those of each bucket become one row."""

    time: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in gathered(batches):
            buckets = chunk[BUCKET].to_numpy()
            at = np.argsort(buckets, kind="stable")
            rows = chunk.drop([BUCKET]).take(at)
            found, begins = np.unique(buckets[at], return_index=True)
            packed: list[dict[str, Any]] = []
            for bucket, begin, end in zip(found.tolist(), begins, [*begins[1:], len(at)], strict=True):
                mine = rows.slice(begin, end - begin)
                packed.append({BUCKET: bucket, WHEN: self._newest(mine), ROWS: written(mine)})
            yield pa.RecordBatch.from_pylist(packed, PACKED)

    def _newest(self, rows: pa.Table) -> Any:
        newest = None
        if self.time is not None:
            newest = pc.max(rows[self.time].cast(pa.int64())).as_py()
        return EPOCH + datetime.timedelta(microseconds=newest or 0)


@dataclass(frozen=True)
class Running:
    """What a worker does with a bucket: its live query goes on from where Spark's state has it."""

    query: Query
    schema: pa.Schema  # of the results

    def __call__(self, key: tuple, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas as pd

        query = copy.copy(self.query)
        query.lateness = UNHURRIED
        live = query.resume(state.get[0]) if state.exists else Live(query)
        found = []
        watermark = 0
        if query.time is not None:
            watermark = state.getCurrentWatermarkMs()
            found.append(live.advance(EPOCH + datetime.timedelta(milliseconds=watermark)))
        for frame in frames:
            found += [live.push(read(data)) for data in frame[ROWS]]
        state.update((live.snapshot(),))
        if query.time is not None:
            state.setTimeoutTimestamp(watermark + 1)  # as soon as it has moved on: windows may have ended
        tables = [table for table in found if isinstance(table, pa.Table) and table.num_rows]
        if tables:
            results = pa.concat_tables([conformed(table, self.schema) for table in tables])
            yield pd.DataFrame({"rows": [written(results)]})


@dataclass(frozen=True)
class Unpacked:
    """What a worker does with results: bytes become columns."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                yield from conformed(read(data.as_py()), self.schema).to_batches()


def written(table: pa.Table) -> bytes:
    """A table as Arrow bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def read(data: bytes) -> pa.Table:
    """The table of Arrow bytes."""
    return pa.ipc.open_stream(data).read_all()
