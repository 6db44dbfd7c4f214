"""Large rings in chunks beside their pages: the batch answer, whatever is not fetched; few bytes move."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.spark import stream_cases as cases
from tests.spark.test_buckets import Stream, hashed, same, streamed
from windrow import agg, win
from windrow.engine import table
from windrow.errors import SnapshotError
from windrow.spark import buckets
from windrow.spark.buckets import HASH, HEAD
from windrow.step import chunks, saving

WINDOWS = {
    "sliding": win.sliding("45 minutes", every="1 minute"),
    "pairs": win.sliding("40 minutes", every="90 seconds", origin="7 seconds"),
    "rows": win.sliding(25, every=1),
    "two": {"a": win.sliding("45 minutes", every="1 minute"), "b": win.sliding("50 minutes", every="2 minutes")},
}
#: not fetched, and not what anybody expects to find
POISON = 77


class Poison:
    """What a plain ring holds where nothing was fetched: no aggregate can do anything with it."""


@pytest.fixture
def small(monkeypatch):
    """Small chunks, and slots that hold nonsense until something is put there."""
    monkeypatch.setattr(chunks, "CHUNK", 4)
    monkeypatch.setattr(chunks, "LARGE", 12)
    take, new_store = table.Pool.take, saving.new_store

    def poisoned(pool, sizes):
        bases = take(pool, sizes)
        for base, size in zip(bases.tolist(), sizes.tolist(), strict=True):
            for column in pool.columns:
                column[base : base + size] = POISON
        return bases

    def poisoned_store(algorithm, form, capacity):
        store = new_store(algorithm, form, capacity)
        store.vals[:] = [Poison()] * capacity
        return store

    monkeypatch.setattr(table.Pool, "take", poisoned)
    monkeypatch.setattr(saving, "new_store", poisoned_store)


def query(windows, aggregates, **options):
    options = {"time": "ts", "by": "k", "lateness": "300 seconds"} | options
    return windrow.Query(windows=WINDOWS[windows], aggregates=aggregates, **options)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("favor", ["throughput", "latency"])
@pytest.mark.parametrize("aggregates", [cases.ORDERED, cases.IN_ANY_ORDER], ids=["ordered", "in any order"])
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_sent_is_the_batch_answer(windows, aggregates, favor, seed, monkeypatch):
    if seed == 1:
        monkeypatch.setattr(buckets, "LARGEST", 1)  # pages are divided, and keys go to other pages
    rng = np.random.default_rng(seed)
    # windows that share a ring are not in chunks, so each of the two is kept by an algorithm of its own
    algorithm = {"two": "daba_lite" if favor == "latency" else "two_stacks_lite"}.get(windows, "auto")
    asked = query(windows, cases.plainly(aggregates), favor=favor, algorithm=algorithm)
    table = cases.rows(rng, "sliding", n=600, keys=("a", "b", None))
    fetched = set()
    monkeypatch.setattr(chunks.Rings, "put", watched(chunks.Rings.put, fetched))
    stream, expected = streamed(asked, table, "sliding", rng, batches=30)
    same(stream, expected)
    assert expected.num_rows > 50 and len(fetched) > 10
    most = 3 * 25 // 4 if windows == "rows" else 0  # windows by rows never end
    assert len(stream.pages.chunks) <= most


def watched(put, seen):
    def watching(self, key, chunk, content):
        seen.add((id(self), key, chunk))
        put(self, key, chunk, content)

    return watching


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("favor", ["throughput", "latency"])
@pytest.mark.parametrize("aggregates", [cases.ORDERED, cases.IN_ANY_ORDER], ids=["ordered", "in any order"])
def test_compiled(aggregates, favor):
    rng = np.random.default_rng(5)
    stream, expected = streamed(
        query("sliding", aggregates, favor=favor),
        cases.rows(rng, "sliding", n=600, keys=("a", "b")),
        "sliding",
        rng,
        40,
    )
    same(stream, expected)
    assert not stream.pages.chunks  # all windows have ended


def minutes(n, per_minute=2, key="a"):
    times = np.arange(n * per_minute) * (60 // per_minute) * cases.SECOND + cases.START
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array([key] * len(times)),
            "x": pa.array(np.arange(len(times)) % 97),
        }
    )
    return hashed(table)


def moved(size, triggers):
    """Bytes and entries that each of the last triggers moves, of one minute each."""
    asked = windrow.Query(
        time="ts",
        by="k",
        windows=win.sliding(f"{size} minutes", every="1 minute"),
        aggregates={"n": agg.sum("x"), "most": agg.max("x")},
    )
    rows = minutes(size + triggers + 1)
    stream = Counted(asked, rows.schema)
    stream.push(rows.slice(0, 2 * (size + 1)))
    for i in range(triggers):
        stream.pages.moved.clear()
        stream.pages.chunks.moved.clear()
        stream.push(rows.slice(2 * (size + 1 + i), 2))
        entries = [*stream.pages.moved, *stream.pages.chunks.moved]
        yield sum(entries), len(entries)


class CountedPages(dict):
    def __init__(self, chunks=None):
        super().__init__()
        self.chunks, self.moved = chunks, []

    def get(self, place):
        data = super().get(place)
        self.moved.append(len(data or b""))
        return data

    def put(self, place, data):
        self.moved.append(len(data))
        self[place] = data

    def remove(self, place):
        self.moved.append(0)
        self.pop(place, None)


class Counted(Stream):
    def __init__(self, asked, schema):
        super().__init__(asked, schema, CountedPages(CountedPages()))


def test_bytes_do_not_grow_with_the_range():
    short, day, days = (list(moved(size, 80)) for size in (60, 1440, 14400))
    for long in (day, days):
        # once in a range, all slots of a ring are written anew
        assert np.median([size for size, _ in long]) <= 2 * np.median([size for size, _ in short])
        assert sorted(entries for _, entries in long)[-5] <= 8


def test_chunks_that_are_missing_or_damaged_are_named():
    asked = windrow.Query(
        time="ts", by="k", windows=win.sliding("400 minutes", every="1 minute"), aggregates={"n": agg.sum("x")}
    )
    rows = minutes(900)
    stream = Stream(asked, rows.schema)
    stream.push(rows.slice(0, 900))
    stream.push(rows.slice(900, 2))
    stream.push(rows.slice(902, 800))
    held = dict(stream.pages.chunks)
    assert len(held) >= 4
    place = min(held)
    stream.pages.chunks.pop(place)
    with pytest.raises(SnapshotError, match=f"chunk {place[1]} of owner {place[0]} of bucket 0 is missing"):
        stream.push(rows.slice(0, 0))  # the watermark moves on: most slices leave
    data = bytearray(held[place])
    data[-1] ^= 4
    stream.pages.chunks[place] = bytes(data)
    with pytest.raises(SnapshotError, match=f"chunk {place[1]} of owner {place[0]} of bucket 0 is damaged"):
        stream.push(rows.slice(0, 0))  # the watermark moves on: most slices leave
    stream.pages.chunks[place] = held[max(held)]
    with pytest.raises(SnapshotError, match="what is there is chunk"):
        stream.push(rows.slice(0, 0))  # the watermark moves on: most slices leave


def test_a_key_that_falls_silent_leaves_no_chunks():
    asked = windrow.Query(
        time="ts", by="k", windows=win.sliding("400 minutes", every="1 minute"), aggregates={"n": agg.sum("x")}
    )
    rows = pa.concat_tables([minutes(900), minutes(900, key="b")])
    stream = Stream(asked, rows.schema)
    stream.push(rows)
    stream.push(rows.slice(0, 0))
    assert len({owner for owner, _ in stream.pages.chunks}) == 2
    ending = cases.ending(cases.rows(np.random.default_rng(1), "", n=5), "").select(["ts", "k", "x"])
    stream.push(hashed(ending))
    stream.push(rows.slice(0, 0))
    assert not stream.pages.chunks and len(set(stream.pages) - {HEAD}) <= 1
    assert HASH not in stream.results[-1].column_names
