"""Queries over streaming DataFrames: buckets of keys, each with its state in Spark's own store.

    rows ── Packed ──> (bucket, rows as bytes) ── by bucket, Running ──> results as bytes ── Unpacked ──> columns

Every call of Spark into Python with state costs a fixed time, so keys are put into buckets by their hash. In a bucket,
rows wait until the watermark has passed them, are taken in time order, and each window is sent once (`buckets`). Rows
travel as Arrow bytes, one row a bucket and batch: nothing is converted to pandas and back, no type is lost.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from windrow.engine.walks import HIGHEST as FOREVER
from windrow.engine.walks import LOWEST as NEVER
from windrow.query import Query
from windrow.spark.buckets import BUCKETS, HASH, HEAD, Bucket, Outcome
from windrow.spark.chunks import conformed, gathered
from windrow.spark.trees import TreeBucket

BUCKET, WHEN, PLACE, ROWS = "__windrow_bucket", "__windrow_when", "__windrow_place", "__windrow_rows"
#: the names of the state in Spark's store; with `large` there are Monoid Trees instead of chunks
VARIABLE, CHUNKS, TREES = "pages", "chunks", "trees"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

PACKED = pa.schema([(BUCKET, pa.int32()), (WHEN, pa.timestamp("us", "UTC")), (PLACE, pa.int64()), (ROWS, pa.binary())])
#: what `windrow.spark.listen` tells of each trigger
COUNTS = ("rows_in", "rows_out", "late", "rejected", "combines", "pages_read", "pages_written", "page_bytes")
SENT = "rows binary, " + ", ".join(f"{name} bigint" for name in COUNTS)


@dataclass(frozen=True)
class Packed:
    """What a worker does with new rows: those of each bucket become one row."""

    time: str | None
    micros: int = 1  # in what integer times count

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        place = 0 if context is None else context.partitionId() << 40  # the input's own order, from here on
        for chunk in gathered(batches):
            buckets = chunk[HASH].to_numpy() % BUCKETS
            at = np.argsort(buckets, kind="stable")
            rows = chunk.take(at)
            found, begins = np.unique(buckets[at], return_index=True)
            packed: list[dict[str, Any]] = []
            for bucket, begin, end in zip(found.tolist(), begins, [*begins[1:], len(at)], strict=True):
                mine = rows.slice(begin, end - begin)
                packed.append({BUCKET: bucket, WHEN: self._newest(mine), PLACE: place, ROWS: written(mine)})
                place += 1
            yield pa.RecordBatch.from_pylist(packed, PACKED)

    def _newest(self, rows: pa.Table) -> Any:
        newest = None
        if self.time is not None:
            newest = pc.max(rows[self.time].cast(pa.int64())).as_py()
        return EPOCH + datetime.timedelta(microseconds=(newest or 0) * self.micros)


class Running:
    """What a worker does with a bucket: takes in rows, and what event time makes final goes out."""

    def __init__(
        self,
        query: Query,
        takes: pa.Schema,
        schema: pa.Schema,
        begun: int | None = None,
        large: bool = False,
        key: bytes | None = None,
    ) -> None:
        """
        Args:
            takes: the input's columns, and the hash.
            schema: of the results.
            begun: event time at which the stream begins, after its history.
            large: windows are Monoid Trees.
            key: pages are signed with it.
        """
        self.query, self.takes, self.schema, self.begun, self.large = query, takes, schema, begun, large
        self.key = key

    @property
    def states(self) -> dict[str, tuple[str, str]]:
        chunks = {CHUNKS: ("owner bigint, chunk bigint", "bytes binary")}
        trees = {TREES: ("key binary", "bytes binary")}
        return {VARIABLE: ("page int", "bytes binary")} | (trees if self.large else chunks)

    def begin(self, handle: Any, states: Mapping[str, Any]) -> None:
        self.handle = handle
        self.state = Kept(states[VARIABLE], None if self.large else Kept(states[CHUNKS]))
        self.bucket = Bucket(self.query, self.takes, self.key)
        if self.large:
            self.bucket = TreeBucket(self.query, self.takes, trees=Kept(states[TREES]))

    def rows(self, bucket: int, rows: Any, timers: Any) -> Iterator[Any]:
        yield self._step(bucket, unpacked(rows), timers)

    def history(self, bucket: int, rows: Any, timers: Any) -> None:
        """Takes in rows of the history. It may come in pieces, so that nothing is final yet."""
        state = self.state
        head = self.bucket.head(bucket, state)
        outcome = self.bucket.step(bucket, head, state, unpacked([rows]), NEVER)
        head.timer = self._timer(head.timer, outcome.due, None, 0)
        state.put(HEAD, self.bucket.head_bytes(bucket, head))

    def expired(self, bucket: int, timers: Any, when: int) -> Iterator[Any]:
        yield self._step(bucket, [], timers, when)

    def _step(self, number: int, rows: list[pa.Table], timers: Any, fired: int | None = None) -> Any:
        state = self.state
        head = self.bucket.head(number, state)
        if self.begun is not None and head.watermark < self.begun:
            self.bucket.step(number, head, state, [], self.begun)  # what ended within the history is answered elsewhere
        now = 0 if self.query.time is None else timers.getCurrentWatermarkInMs()
        # Spark begins at 1970, which is no time that has been seen
        outcome = self.bucket.step(number, head, state, rows, now * 1000 if now > 0 else NEVER)
        head.timer = self._timer(head.timer, outcome.due, fired, now)
        state.put(HEAD, self.bucket.head_bytes(number, head))
        return self._sent(outcome)

    def _timer(self, before: int | None, due: int, fired: int | None, now: int) -> int | None:
        """Sets the time at which Spark calls again although no rows have come; there is one for each bucket.

        One that has gone off is deleted by Spark after this, so it must not be set again.
        """
        wanted = None
        if self.query.time is not None and due != FOREVER:
            wanted = max(-(-due // 1000), now + 1)  # at or before the watermark it would go off at once
        if wanted == before and before != fired:
            return before
        if before is not None and before != fired:
            self.handle.deleteTimer(before)
        if wanted is not None:
            self.handle.registerTimer(wanted)
        return wanted

    def _sent(self, outcome: Outcome) -> Any:
        import pandas as pd

        results = conformed(outcome.results, self.schema)
        data = written(results) if results.num_rows else None
        return pd.DataFrame({"rows": [data]} | {name: [outcome.counts[name]] for name in COUNTS})


class Late:
    """What a worker does with a bucket to find the rows that `Running` leaves out. It has no state."""

    def __init__(self, time: str, schema: pa.Schema, begun: int = 0, micros: int = 1) -> None:
        self.time, self.schema, self.begun, self.micros = time, schema, begun, micros

    @property
    def states(self) -> dict[str, tuple[str, str]]:
        return {}

    def begin(self, handle: Any, states: Mapping[str, Any]) -> None:
        pass

    def rows(self, bucket: int, rows: Any, timers: Any) -> Iterator[Any]:
        import pandas as pd

        watermark = max(timers.getCurrentWatermarkInMs() * 1000, self.begun)
        late = pa.concat_tables(unpacked(rows))
        late = late.filter(
            pc.fill_null(pc.less(pc.multiply(late[self.time].cast(pa.int64()), self.micros), watermark), False)
        )
        if watermark > 0 and late.num_rows:
            yield pd.DataFrame({"rows": [written(conformed(late, self.schema))]})

    def history(self, bucket: int, rows: Any, timers: Any) -> None:
        """It has no state to begin with."""

    def expired(self, bucket: int, timers: Any, when: int) -> Iterator[Any]:
        yield from ()


@dataclass(frozen=True)
class Kept:
    """A bucket's entries in a map of Spark's state: pages by their number, chunks by owner and number."""

    entries: Any
    chunks: Any = None

    def get(self, place: Any) -> bytes | None:
        found = self.entries.getValue(place if isinstance(place, tuple) else (place,))
        return None if found is None else bytes(found[0])

    def put(self, place: Any, data: bytes) -> None:
        self.entries.updateValue(place if isinstance(place, tuple) else (place,), (data,))

    def remove(self, place: Any) -> None:
        self.entries.removeKey(place if isinstance(place, tuple) else (place,))


@dataclass(frozen=True)
class Unpacked:
    """What a worker does with results: bytes become columns."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                if data.is_valid:
                    yield from conformed(read(data.as_py()), self.schema).to_batches()


def unpacked(frames: Iterable[Any]) -> list[pa.Table]:
    """The rows of a bucket in the input's own order. Columns go by their places: Spark hides their names."""
    packs = [pack for frame in frames for pack in zip(frame.iloc[:, 1], frame.iloc[:, 2], strict=True)]
    return [read(data) for _, data in sorted(packs, key=lambda pack: pack[0])]


def written(table: pa.Table) -> bytes:
    """A table as Arrow bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def read(data: bytes) -> pa.Table:
    """The table of Arrow bytes."""
    return pa.ipc.open_stream(data).read_all()
