"""Buckets of few keys with very large windows: the levels of Monoid Trees (paper 4) in pages of Spark's state.

A window of millions of partials would be one page that moves whole with every trigger. Here each key's partials are in
an AMTA whose pages are entries of a second map in Spark's state, so that a trigger moves O(log n) of them. The live
query is the one that keeps its windows in a store (`Query(store=...)`); this store is Spark's state.
"""

from __future__ import annotations

import copy
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from windrow import frames
from windrow.engine.snapshot import opened, sealed
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.errors import SnapshotError, StoreError
from windrow.local.live import Live
from windrow.local.pages import Pages
from windrow.query import Query
from windrow.spark.buckets import Bucket, Head, Outcome, State, counted
from windrow.stores.base import Batch, refuse

#: where a bucket's live query is, beside its head
LIVE = 0
#: where the tree's pages that there are are listed
LISTED = b"\0"


class StateStore:
    """Spark's state as a store. What is written goes there when `flush` is called, from the task's own thread."""

    remote = False
    patience = 0.0

    def __init__(self, state: Any) -> None:
        self.state = state  # by key: get, put, remove
        self.fresh: dict[bytes, bytes | None] = {}  # written since; None: deleted
        self.keys = self._read_list()
        self.moved = 0
        self._lock = threading.Lock()

    def _read_list(self) -> list[bytes]:
        listed = self.state.get(LISTED)
        try:
            return [] if listed is None else sorted(opened(listed))
        except SnapshotError as error:
            raise SnapshotError(f"the list of the trees' pages: {error}") from None

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            return [self._get(key) for key in keys]

    def _get(self, key: bytes) -> bytes | None:
        if key in self.fresh:
            return self.fresh[key]
        if not self._listed(key):
            return None
        self.moved += 1
        return cast("bytes | None", self.state.get(key))

    def put(self, key: bytes, value: bytes) -> None:
        self.write(Batch(puts=((key, value),)))

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        """All of it is there when Spark commits the trigger, or nothing: no batch needs more."""
        with self._lock:
            if batch.guard is not None:
                refuse(batch.guard, self._get(batch.guard[0]))
            for start, end in batch.ranges:
                low, high = bisect_left(self.keys, start), bisect_left(self.keys, end)
                self.fresh.update(dict.fromkeys(self.keys[low:high]))
                del self.keys[low:high]
            for key, value in batch.puts:
                self.fresh[key] = value
                if not self._listed(key):
                    self.keys.insert(bisect_left(self.keys, key), key)

    def _listed(self, key: bytes) -> bool:
        at = bisect_left(self.keys, key)
        return at < len(self.keys) and self.keys[at] == key

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._lock:
            for key in self.keys[bisect_left(self.keys, start) : bisect_left(self.keys, end)]:
                value = self._get(key)
                if value is None:
                    raise StoreError(f"a page of the tree is missing: {key!r}")
                yield key, value

    def delete_range(self, start: bytes, end: bytes) -> None:
        self.write(Batch(ranges=((start, end),)))

    def close(self) -> None:
        """Spark's state stays open."""

    def flush(self) -> tuple[int, int]:
        """Writes what is fresh; how many entries, and their bytes."""
        for key, value in self.fresh.items():
            if value is None:
                self.state.remove(key)
            else:
                self.state.put(key, value)
        written = [len(value) for value in self.fresh.values() if value is not None]
        self.state.put(LISTED, sealed(self.keys))
        self.fresh = {}
        return len(written), sum(written)


@dataclass(frozen=True)
class TreeBucket(Bucket):
    """A bucket whose windows are Monoid Trees."""

    trees: Any = None  # the second map, for the bucket at hand

    @property
    def form(self) -> str:
        return "monoid trees"

    def step(self, number: int, head: Head, state: State, rows: Sequence[pa.Table], watermark: int) -> Outcome:
        store = StateStore(self.trees)
        live = self._going_on(number, head, state, self._in(store))
        batch = pa.concat_tables(rows).combine_chunks() if rows else self.rows.empty_table()
        live.set_watermark(max(head.watermark, watermark))
        results = live.push(batch)
        head.watermark = live.door.watermark
        late = live.late if live.report.late else None
        state.put(LIVE, self._sealed(("live", number, LIVE, self.digest, [("snapshot", live.snapshot())])))
        due = Pages(live).due(live.door.keys.all())
        live.begun.close()  # its threads; what it has stays
        written, size = store.flush()
        head.due = {LIVE: max(int(due.min(initial=FOREVER)), head.watermark + 1)}
        return Outcome(results, late, head.due[LIVE], counted(self.query, live.report, store.moved, written, size))

    def _in(self, store: StateStore) -> Query:
        query = copy.copy(self.keyed)
        query.store = store
        return query

    def _going_on(self, number: int, head: Head, state: State, query: Query) -> Live:
        if LIVE in head.due:
            live = Live.resumed(query, self._page(number, LIVE, state, "live")["snapshot"])
            live.report = type(live.report)()
            return live
        live = Live(query)
        live.begin(frames.read(self.rows.empty_table()))
        return live
