"""A bucket of keys on a stream: its state in pages of some keys each, of which a batch moves only what it touches.

    the head     one for a bucket: of which query it is, how far event time has come, and for each page when it is due
    a page       what a live query knows of some keys (`local.pages`): windows, what waits, labels
    a chunk      slices of one key that has many, which no step has to look at for now (`step.chunks`)

    b"WINDROWP"  layout (2 bytes)  checksum (16 bytes, BLAKE2b of what follows)  Zstandard of msgpack

With a key, a signature (32 bytes, HMAC-SHA256) is in the checksum's place (`engine.snapshot.Envelope`).

The keys of all pages that got rows, or are due, go through one live query, so a thousand keys cost one call of each
kernel. Pages divide the bucket by the keys' hashes; when one has outgrown its size, there are twice as many.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow import frames
from windrow.engine.snapshot import Envelope, believed, from_bytes, to_bytes
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.engine.walks import LOWEST as NEVER
from windrow.errors import SnapshotError
from windrow.local.pages import Pages, in_pages
from windrow.query import Query, Report

#: the column in which a key's hash comes along
HASH = "__windrow_hash"
#: how many buckets there are; part of the state's layout
BUCKETS = 64
#: what an entry is that is no page
CHUNK = "chunk"
#: the place of the head among a bucket's pages
HEAD = -1
#: 1 and 2 had slices, which the windows of today are not made of; in 3 all that waits were rows, and rings were whole
LAYOUT = 4
PAGE = Envelope(
    "page of windrow's",
    b"WINDROWP",
    LAYOUT,
    "layout",
    ": begin the stream anew, from a new checkpoint, with history= and since=",
)
#: bytes of a page, compressed: a larger one of several keys is divided
LARGEST = 1 << 16
#: rows are late by Spark's watermark alone, which all buckets share
UNHURRIED = 2**61
#: bytes of a page that is not compressed; what claims to have more is none
LARGEST_RAW = 1 << 33


class Entries(Protocol):
    """Bytes by page, or by owner and chunk."""

    def get(self, place: Any) -> bytes | None: ...

    def put(self, place: Any, data: bytes) -> None: ...

    def remove(self, place: Any) -> None: ...


class State(Entries, Protocol):
    """Where a bucket's pages are, and its chunks."""

    @property
    def chunks(self) -> Entries: ...


@dataclass
class Head:
    """What is known of a bucket as a whole."""

    identity: list  # of the query
    watermark: int = NEVER
    pages: int = 1  # into how many its keys are divided
    due: dict[int, int] = field(default_factory=dict)  # for each page that there is, when it has to be looked at
    size: dict[int, int] = field(default_factory=dict)  # and how many bytes it has
    large: bool = False  # pages have outgrown their size
    timer: int | None = None  # the time for which a timer is set, milliseconds
    owners: int = 0  # how many keys had chunks of their own so far


@dataclass
class Outcome:
    """What became of a batch."""

    results: pa.Table
    late: pa.Table | None
    due: int  # event time at which the bucket is to be looked at again, FOREVER: never
    counts: dict[str, int]


@dataclass(frozen=True)
class Bucket:
    """Takes batches of rows, one after the other, with state that somebody else keeps."""

    query: Query
    rows: pa.Schema  # of the rows, the hash included
    key: bytes | None = None  # pages are signed with it

    @cached_property
    def keyed(self) -> Query:
        """The query with the hash as a part of the key, so that it is at hand where pages are made."""
        query = copy.copy(self.query)
        query.by, query.lateness, query.store = (*query.by, HASH), UNHURRIED, None
        query.guesses_unit = False  # a bucket sees a part of the rows
        return query

    @property
    def form(self) -> str:
        """How its state is laid out."""
        return "pages of keys"

    @cached_property
    def identity(self) -> list:
        parts = self.query.identity()
        parts["columns"] = [f"{f.name}: {f.type}" for f in self.rows if f.name != HASH]
        parts["state"] = f"{BUCKETS} buckets, {self.form}"
        return [(name, value) for name, value in parts.items()]

    def step(self, number: int, head: Head, state: State, rows: Sequence[pa.Table], watermark: int) -> Outcome:
        """Takes in rows; event time has come to `watermark` (microseconds). The head changes, and is the caller's."""
        batch = pa.concat_tables(rows).combine_chunks() if rows else self.rows.empty_table()
        if head.large:
            touched, head.pages, head.large = sorted(head.due), head.pages * 2, False
        else:
            mine = set(np.unique(page_of(batch[HASH].to_numpy(), head.pages)).tolist())
            touched = sorted(p for p, due in head.due.items() if due <= watermark or p in mine)
        beside = _Chunks(self, number, head, state.chunks)
        live = in_pages(self.keyed, frames.read(self.rows.empty_table()), head.watermark, beside)
        live.load([self._page(number, p, state) for p in touched])
        results, late = live.push(batch, watermark)
        head.watermark = live.watermark
        written, size = self._write(number, live, head, touched, state)
        return Outcome(
            results, late if live.report.late else None, min(head.due.values(), default=FOREVER),
            counted(
                self.query, live.report, len(touched) + beside.read, written + beside.written, size + beside.size
            ),
        )  # fmt: skip

    def _write(self, number: int, live: Pages, head: Head, touched: list[int], state: State) -> tuple[int, int]:
        """Writes back what was touched; how many pages, and how many bytes they have."""
        keys = live.keys()
        page = page_of(live.values(keys, HASH), head.pages)
        due = np.maximum(live.due(keys), head.watermark + 1)
        pages = live.cut(keys, page)
        size = 0
        for p, content in pages.items():
            data = self._sealed(("page", number, p, self.digest, list(content.items())))
            head.due[p], head.size[p] = int(due[page == p].min()), len(data)
            head.large |= len(data) > LARGEST and len(content["keys"][0]) > 1
            size += len(data)
            state.put(p, data)
        for p in touched:
            if p not in pages:
                head.due.pop(p, None)
                head.size.pop(p, None)
                state.remove(p)
        # one giant key among small ones is no reason: it cannot be divided
        head.large &= sum(head.size.values()) > head.pages * LARGEST // 4
        return len(pages), size

    @cached_property
    def digest(self) -> bytes:
        return hashlib.blake2b(to_bytes(self.identity), digest_size=8).digest()

    def head_bytes(self, number: int, head: Head) -> bytes:
        pages = [(p, due, head.size.get(p, 0)) for p, due in head.due.items()]
        content = (head.watermark, head.pages, pages, head.large, head.timer, head.owners)
        return self._sealed(("head", number, self.identity, content))

    def head(self, number: int, state: State) -> Head:
        """What is known of a bucket; `SnapshotError` where it is another query's, or damaged."""
        data = state.get(HEAD)
        if data is None:
            return Head(self.identity)
        name = f"the head of bucket {number}"
        kind, of, identity, content = self._opened(data, name, 4)
        if kind != "head" or of != number:
            raise SnapshotError(f"{name}: what is there is the {kind} of bucket {of}")
        refuse_another(dict(self.identity), dict(identity))
        watermark, count, pages, large, timer, owners = content
        due, size = {p: when for p, when, _ in pages}, {p: size for p, _, size in pages}
        return Head(self.identity, watermark, count, due, size, large, timer, owners)

    def _page(self, number: int, page: Any, state: Entries, of_kind: str = "page") -> Mapping[str, Any]:
        name = f"state page {page} of bucket {number}"
        if of_kind == CHUNK:
            name = f"chunk {page[1]} of owner {page[0]} of bucket {number}"
        data = state.get(page)
        if data is None:
            raise SnapshotError(f"{name} is missing")
        kind, of, at, digest, content = self._opened(data, name, 5)
        if (kind, of, at) != (of_kind, number, page):
            raise SnapshotError(f"{name}: what is there is {kind} {at} of bucket {of}")
        if digest != self.digest:
            raise SnapshotError(f"{name} is of another query")
        return dict(content)

    def _sealed(self, content: Any) -> bytes:
        raw = to_bytes(content)
        return PAGE.seal(len(raw).to_bytes(8, "big") + pa.compress(raw, "zstd", asbytes=True), self.key)

    def _opened(self, data: bytes, name: str, parts: int) -> Any:
        body = PAGE.open(data, name, self.key)
        size = int.from_bytes(body[:8], "big")
        if size > LARGEST_RAW:
            raise SnapshotError(f"{name} is damaged: it claims to have {size} bytes")
        with believed(name):
            raw = pa.decompress(body[8:], size, "zstd", asbytes=True)
            content = from_bytes(raw)
        if not isinstance(content, tuple) or len(content) != parts:
            raise SnapshotError(f"{name} is damaged: it has other parts than it should")
        return content


@dataclass
class _Chunks:
    """The chunks of a bucket, as `local.pages` wants them; what moves is counted."""

    bucket: Bucket
    number: int
    head: Head
    entries: Entries
    read: int = 0
    written: int = 0
    size: int = 0

    def new_owner(self) -> int:
        self.head.owners += 1
        return self.head.owners

    def get(self, owner: int, chunk: int) -> Mapping[str, Any]:
        self.read += 1
        return self.bucket._page(self.number, (owner, chunk), self.entries, CHUNK)

    def put(self, owner: int, chunk: int, content: Mapping[str, Any]) -> None:
        data = self.bucket._sealed((CHUNK, self.number, (owner, chunk), self.bucket.digest, list(content.items())))
        self.written += 1
        self.size += len(data)
        self.entries.put((owner, chunk), data)

    def remove(self, owner: int, chunk: int) -> None:
        self.entries.remove((owner, chunk))


def counted(query: Query, report: Report, read: int, written: int, size: int) -> dict[str, int]:
    """What a batch did."""
    return {
        "rows_in": report.rows_in, "rows_out": report.rows_out, "late": report.late, "rejected": report.rejected,
        "combines": expected_combines(query, report), "pages_read": read, "pages_written": written, "page_bytes": size,
    }  # fmt: skip


def expected_combines(query: Query, report: Report) -> int:
    """For each aggregate: one a row to fill slices, and what a step of Two-Stacks costs for each result (amortised)."""
    filled = 0 if query.per_row else report.rows_in - report.late - report.rejected
    return filled + 3 * report.rows_out


def page_of(hashes: np.ndarray, pages: int) -> np.ndarray:
    """The page of each key: the bucket is the hash modulo BUCKETS, the rest of it tells the page."""
    if pages == 1:
        return np.zeros(len(hashes), np.int64)
    return (hashes.astype(np.int64) // BUCKETS) % pages


def refuse_another(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """`SnapshotError` where state is another query's, with what differs."""
    ours, theirs = ({"emit": "final", **parts} for parts in (ours, theirs))  # it is told where it is another
    for part, mine in ours.items():
        if theirs.get(part) != mine:
            was, now = _spelled(theirs.get(part)), _spelled(mine)
            raise SnapshotError(f"the state is of another query: its {part} is {was}, here it is {now}")


def _spelled(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
