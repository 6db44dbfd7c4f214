"""State in pages, without Spark: what comes out of a bucket is the batch answer, and pages are what they say."""

from __future__ import annotations

import itertools
import zlib
from pathlib import Path

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.spark import stream_cases as cases
from tests.spark.test_batch import plain
from windrow import agg, expr, frames, win
from windrow.errors import SnapshotError
from windrow.local.door import FOREVER, NEVER
from windrow.local.pages import in_pages
from windrow.query import Query
from windrow.spark import buckets
from windrow.spark.buckets import HASH, HEAD, Bucket
from windrow.spark.trees import LISTED, TreeBucket

STATES = Path(__file__).parent / "states"


class Pages(dict):
    """A bucket's state in memory."""

    def __init__(self, *pages, chunks=None):
        super().__init__(*pages)
        self.chunks = Pages(chunks=()) if chunks is None else chunks

    def put(self, page, data):
        self[page] = data

    def remove(self, page):
        self.pop(page, None)


def hashed(rows, by=("k",)):
    """With a hash of the key, as Spark gives one; all in bucket 0."""
    keys = [zlib.crc32(repr(key).encode()) * buckets.BUCKETS if by else 0 for key in rows["k"].to_pylist()]
    return rows.append_column(HASH, pa.array(keys, pa.int64()))


class Stream:
    """A bucket that gets batches, with the watermark that Spark would have."""

    def __init__(self, query, schema, pages=None):
        self.query, self.schema = query, schema
        self.pages = Pages() if pages is None else pages
        self.newest, self.results, self.late, self.due = 0, [], [], FOREVER
        self.touched = self.in_time = 0

    def bucket(self):
        return Bucket(self.query, self.schema)

    def push(self, rows):
        watermark = self.newest - self.query.lateness
        bucket = self.bucket()  # a new one for each batch: all that counts is in the pages
        head = bucket.head(0, self.pages)
        outcome = bucket.step(0, head, self.pages, [rows], watermark if watermark > 0 else NEVER)
        assert set(head.due) == set(self.pages) - {HEAD}
        self.pages.put(HEAD, bucket.head_bytes(0, head))
        self.due = outcome.due
        self.results.append(outcome.results.drop([HASH]))
        if outcome.late is not None:
            self.late.append(outcome.late.drop([HASH]))
        if rows.num_rows:
            self.newest = max(self.newest, pc.max(rows["ts"].cast(pa.int64())).as_py())
        self.touched, self.written = outcome.counts["pages_read"], outcome.counts["pages_written"]


def streamed(query, table, kind, rng, batches=9, how=Stream):
    """The stream, and what it should have given."""
    all_rows = hashed(pa.concat_tables([table, cases.ending(table, kind)]), query.by)
    cuts = np.sort(rng.integers(0, table.num_rows, batches - 1)).tolist()
    cuts = [0, *cuts, table.num_rows, all_rows.num_rows, all_rows.num_rows]  # the last one is empty, and time moves on
    stream = how(query, all_rows.schema)
    for begin, end in itertools.pairwise(cuts):
        stream.push(all_rows.slice(begin, end - begin))
    in_time = cases.without(table, pa.concat_tables(stream.late)) if stream.late else table
    stream.in_time = in_time.num_rows
    return stream, query.run(in_time)


def same(stream, expected):
    sent = [r for r in stream.results if r.num_rows] or stream.results
    results = pa.concat_tables(sent, promote_options="default")  # a column of nulls alone has no type here
    got = cases.before_the_end(results, stream.in_time)
    assert plain(got) == plain(expected)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("aggregates", [cases.ORDERED, cases.IN_ANY_ORDER], ids=["ordered", "in any order"])
@pytest.mark.parametrize("kind", cases.KINDS)
def test_what_is_sent_is_the_batch_answer(kind, aggregates, seed, monkeypatch):
    if seed:
        monkeypatch.setattr(buckets, "LARGEST", 1)  # pages are divided until each has one key
    rng = np.random.default_rng(seed)
    query = cases.query(kind, cases.plainly(aggregates))
    stream, expected = streamed(query, cases.rows(rng, kind), kind, rng)
    same(stream, expected)
    assert expected.num_rows > 5 and (stream.late or kind.startswith("column"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 14))
@pytest.mark.parametrize("kind", cases.KINDS)
def test_more_of_them(kind, seed, monkeypatch):
    monkeypatch.setattr(buckets, "LARGEST", [1, 500, 2000][seed % 3])
    rng = np.random.default_rng(seed)
    aggregates = cases.ORDERED if seed % 2 else cases.IN_ANY_ORDER
    options = {"changes_only": seed % 4 == 0, "by": None if seed % 5 == 0 else "k"}
    query = cases.query(kind, cases.plainly(aggregates), **options)
    stream, expected = streamed(query, cases.rows(rng, kind, disorder=60 * seed), kind, rng, batches=2 + seed * 2)
    same(stream, expected)


@pytest.mark.parametrize(
    "window",
    [
        win.sliding("1 month", every="1 day", tz="Europe/Berlin"),
        win.trailing("1 month", tz="Europe/Berlin"),
        win.session("5 days", at_most="20 days"),
        win.sliding("10 days", every="3 days", closed="right"),
    ],
    ids=str,
)
def test_days_and_months(window):
    """Rows of four months around a change of clocks."""
    rng, n, day = np.random.default_rng(3), 150, 86_400 * cases.SECOND
    times = 1_711_000_000 * cases.SECOND + np.sort(rng.integers(-60 * day, 60 * day, n))
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": rng.choice(["a", "b"], n), "x": range(n)})
    end = [[times[-1] + 900 * day], ["end"], [0]]
    rows = hashed(pa.concat_tables([table, pa.table(end, names=table.column_names).cast(table.schema)]))
    query = Query(
        time="ts", by="k", windows=window, aggregates=cases.plainly({"c": agg.collect_list("x")}), lateness="2 days"
    )
    stream = Stream(query, rows.schema)
    for a, b in itertools.pairwise([0, 40, 90, 91, n, n + 1, n + 1]):
        stream.push(rows.slice(a, b - a))
    sent = pa.concat_tables([part for part in stream.results if part.num_rows])
    assert plain(sent.filter(pc.not_equal(sent["k"], "end"))) == plain(query.run(table))


def test_compiled():
    rng = np.random.default_rng(5)
    query = cases.query("sliding", cases.IN_ANY_ORDER)
    stream, expected = streamed(query, cases.rows(rng, "sliding"), "sliding", rng)
    same(stream, expected)


def totals(windows, **options):
    return Query(time="ts", by="k", windows=windows, aggregates={"n": agg.sum("x")}, **options)


@pytest.mark.parametrize(
    "windows", [win.sliding("1 hour", every="1 minute"), win.trailing("1 hour"), win.session("1 hour")]
)
def test_keys_that_fall_silent_leave_nothing_behind(windows):
    rng = np.random.default_rng(1)
    table = cases.rows(rng, "", keys=tuple(f"key {i}" for i in range(50)))
    stream = Stream(totals(windows), hashed(table).schema)
    stream.push(hashed(table))
    assert len(stream.pages) > 1
    for _ in range(2):
        stream.push(hashed(cases.ending(table, "")))
    left = [key for page in set(stream.pages) - {HEAD} for key in stored_keys(stream, page)]
    assert left in ([], [cases.END])


def test_a_bucket_in_which_all_keys_fall_silent_has_no_pages():
    table = hashed(cases.rows(np.random.default_rng(1), "", n=20))
    bucket, pages = Bucket(totals(win.tumbling("1 hour")), table.schema), Pages()
    head = bucket.head(0, pages)
    bucket.step(0, head, pages, [table], NEVER)
    assert pages
    outcome = bucket.step(0, head, pages, [], 2 * cases.START)
    assert outcome.results.num_rows and outcome.due == FOREVER and not pages
    late = bucket.step(0, head, pages, [table], NEVER)  # keys all of whose rows are late
    assert late.counts["late"] == table.num_rows and not pages


def stored_keys(stream, page):
    return list(Bucket(stream.query, stream.schema)._page(0, page, stream.pages)["keys"][0])


def test_only_what_is_touched_moves(monkeypatch):
    monkeypatch.setattr(buckets, "LARGEST", 3000)
    rng = np.random.default_rng(2)
    table = hashed(cases.rows(rng, "", n=4000, keys=tuple(f"key {i}" for i in range(500))))
    stream = Stream(totals(win.trailing("1 hour")), table.schema)
    for _ in range(6):  # as many as it takes to divide the pages
        stream.push(table)
    assert len(stream.pages) > 16
    stream.push(table.slice(0, 1))
    assert stream.touched == 1


def test_a_giant_key_does_not_divide_the_others(monkeypatch):
    monkeypatch.setattr(buckets, "LARGEST", 2000)
    rng = np.random.default_rng(2)
    few = cases.rows(rng, "", n=100, keys=tuple(f"key {i}" for i in range(50)))
    table = hashed(pa.concat_tables([few, cases.rows(rng, "", n=5000, keys=("giant",))]))
    stream = Stream(totals(win.trailing("2 hours")), table.schema)
    stream.push(table)
    for _ in range(12):
        stream.push(table.slice(0, 1))
    assert Bucket(stream.query, stream.schema).head(0, stream.pages).pages <= 64


@pytest.mark.parametrize("aggregate", [agg.sum("x"), agg.first("x")], ids=["slices wait", "rows wait"])
def test_a_bucket_is_asked_for_when_something_is_due(aggregate):
    rng = np.random.default_rng(3)
    table = hashed(cases.rows(rng, "", n=10, disorder=0, repeated=0))
    stream = Stream(Query(time="ts", by="k", windows=win.tumbling("1 hour"), aggregates={"n": aggregate}), table.schema)
    stream.push(table)
    oldest, hour = pc.min(table["ts"].cast(pa.int64())).as_py(), 3600 * cases.SECOND
    # a row can be taken in when its time has come, a slice when it has ended
    assert stream.due == (oldest if aggregate.name == "first" else (oldest // hour + 1) * hour)
    stream.push(table.slice(0, 0))
    assert stream.due == (stream.newest // hour + 1) * hour


def one(kind="sliding"):
    rng = np.random.default_rng(4)
    table = hashed(cases.rows(rng, kind))
    stream = Stream(cases.query(kind, cases.plainly(cases.ORDERED)), table.schema)
    stream.push(table)
    return stream, table


@pytest.mark.parametrize("at", [3, 9, 20, 40, -1])
@pytest.mark.parametrize("page", [HEAD, 0])
def test_a_damaged_page_is_named(page, at):
    stream, table = one()
    data = bytearray(stream.pages[page])
    data[at] ^= 4
    stream.pages[page] = bytes(data)
    name = "the head of bucket 0" if page == HEAD else "state page 0 of bucket 0"
    with pytest.raises(SnapshotError, match=name):
        stream.push(table)


def test_a_page_that_is_gone_or_another_bucket_s_is_named():
    stream, table = one()
    page = stream.pages.pop(0)
    with pytest.raises(SnapshotError, match="state page 0 of bucket 0 is missing"):
        stream.push(table)
    stream.pages[0] = page
    bucket = Bucket(stream.query, stream.schema)
    other = Pages({0: page, HEAD: stream.pages[HEAD]})
    with pytest.raises(SnapshotError, match="the head of bucket 7: what is there is the head of bucket 0"):
        bucket.head(7, other)
    foreign, _ = one("tumbling")
    stream.pages[0] = foreign.pages[0]
    with pytest.raises(SnapshotError, match="state page 0 of bucket 0 is of another query"):
        stream.push(table)


def test_a_key_that_is_in_two_pages_is_an_error():
    stream, table = one()
    page = stream.bucket()._page(0, 0, stream.pages)
    live = in_pages(stream.bucket().keyed, frames.read(table.schema.empty_table()), NEVER)
    with pytest.raises(SnapshotError, match="does not fit together: a key is there twice"):
        live.load([page, page])


def test_another_query_is_refused_by_what_changed():
    stream, table = one()
    stream.query = cases.query("sliding", cases.plainly(cases.IN_ANY_ORDER))
    with pytest.raises(SnapshotError, match=r"the state is of another query: its aggregates is .*concat.*here it is"):
        stream.push(table)
    stream, table = one()
    stream.query = cases.query("tumbling", cases.plainly(cases.ORDERED))
    with pytest.raises(SnapshotError, match="its windows is"):
        stream.push(table)


class TreeStream(Stream):
    """The same with Monoid Trees."""

    def __init__(self, query, schema):
        super().__init__(query, schema)
        self.trees = Pages()

    def bucket(self):
        return TreeBucket(self.query, self.schema, trees=self.trees)


LARGE = ["sliding", "long", "tumbling", "trailing", "trailing rows", "rows", "policy", "column", "session", "last"]


@pytest.mark.parametrize("kind", LARGE)
def test_monoid_trees(kind):
    rng = np.random.default_rng(12)
    query = cases.query(kind, cases.plainly(cases.ORDERED))
    stream, expected = streamed(query, cases.rows(rng, kind), kind, rng, batches=5, how=TreeStream)
    same(stream, expected)


def test_a_damaged_list_of_pages_is_named():
    rows = hashed(cases.rows(np.random.default_rng(3), "long"))
    stream = TreeStream(cases.query("long", cases.plainly(cases.ORDERED)), rows.schema)
    stream.push(rows)
    data = bytearray(stream.trees[LISTED])
    data[-3] ^= 4
    stream.trees[LISTED] = bytes(data)
    with pytest.raises(SnapshotError, match="the list of the trees' pages: the snapshot is damaged"):
        stream.push(rows)


def test_of_a_large_window_few_pages_move():
    query = Query(time="ts", windows=win.trailing(1 << 16), aggregates={"most": agg.max("x")})
    n = 1 << 15
    table = pa.table(
        {
            "ts": pa.array(np.arange(6 * n) * cases.SECOND + cases.START, pa.timestamp("us", "UTC")),
            "k": pa.array(["a"] * 6 * n),
            "x": np.random.default_rng(0).permutation(6 * n),
        }
    )
    rows = hashed(table, query.by)
    stream = TreeStream(query, rows.schema)
    for i in range(5):
        stream.push(rows.slice(i * n, n))
    in_all = len(stream.trees)
    stream.push(rows.slice(5 * n, 100))
    assert stream.touched < in_all / 2 and stream.written < in_all / 2, (stream.touched, stream.written, in_all)
    stream.push(rows.slice(5 * n + 100, 1000))
    got = pa.concat_tables([r for r in stream.results if r.num_rows])
    assert plain(got) == plain(query.run(table.slice(0, got.num_rows)))


STORED = ["long", "trailing", "session", "rows", "punctuated", "user-defined", "column trailing"]


def stored_stream(kind, layout):
    """The rows of a stream, and the stream half of which was taken in by the version that wrote the file."""
    table = cases.rows(np.random.default_rng(6), kind)
    rows = hashed(pa.concat_tables([table, cases.ending(table, kind)]))
    stored = msgpack.unpackb((STATES / f"layout{layout}.msgpack").read_bytes(), strict_map_key=False)[kind]
    stream = Stream(cases.query(kind, cases.plainly(cases.ORDERED), lateness=700), rows.schema, Pages(stored["pages"]))
    stream.newest = stored["newest"]
    return table, rows, stored, stream


@pytest.mark.parametrize("kind", STORED)
def test_states_of_earlier_versions_are_gone_on_from(kind):
    """The other half is taken in now."""
    table, rows, stored, stream = stored_stream(kind, buckets.LAYOUT)
    stream.results.append(pa.ipc.open_stream(stored["results"]).read_all())
    for begin, end in ((100, table.num_rows), (table.num_rows, rows.num_rows), (rows.num_rows, rows.num_rows)):
        stream.push(rows.slice(begin, end - begin))
    same(stream, stream.query.run(table))


@pytest.mark.parametrize("layout", [1, 2, 3])
@pytest.mark.parametrize("kind", STORED)
def test_states_of_older_layouts_are_refused_by_name(kind, layout):
    _, rows, stored, stream = stored_stream(kind, layout)
    told = f"has layout {layout}, this windrow reads layout {buckets.LAYOUT}"
    with pytest.raises(SnapshotError, match=f"the head of bucket 0 {told}"):
        stream.push(rows.slice(100, 1))
    with pytest.raises(SnapshotError, match=f"state page 0 of bucket 0 {told}"):
        stream.bucket()._page(0, 0, stream.pages)
    assert dict(stream.pages) == stored["pages"]


def store_states():
    """Writes the file of this layout; once, when there is a new one."""
    stored = {}
    for kind in STORED:
        rows = hashed(cases.rows(np.random.default_rng(6), kind))
        stream = Stream(cases.query(kind, cases.plainly(cases.ORDERED), lateness=700), rows.schema)
        stream.push(rows.slice(0, 100))
        stream.push(rows.slice(0, 0))  # the watermark moves on: some rows are in windows, others wait
        sink = pa.BufferOutputStream()
        results = pa.concat_tables(stream.results, promote_options="default")
        with pa.ipc.new_stream(sink, results.schema) as writer:
            writer.write_table(results)
        stored[kind] = {"pages": dict(stream.pages), "newest": stream.newest, "results": sink.getvalue().to_pybytes()}
    STATES.mkdir(exist_ok=True)
    (STATES / f"layout{buckets.LAYOUT}.msgpack").write_bytes(msgpack.packb(stored))


if __name__ == "__main__":
    store_states()


def test_a_session_is_final_when_the_watermark_is_past_its_end():
    """A row at the watermark is in time, and exactly a gap after the last one it joins."""
    query = Query(time="ts", by="k", windows=win.session("10 us"), aggregates={"n": agg.count()}, lateness="1 us")
    schema = hashed(pa.table({"ts": pa.array([], pa.timestamp("us")), "k": pa.array([], pa.int64())})).schema

    def rows(*times):
        return hashed(pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": pa.array([1] * len(times))}))

    stream = Stream(query, schema)
    for times in ((100,), (110,), (111,), ()):  # watermarks before each: none, 99, 109, 110
        stream.push(rows(*times))
    assert sum(len(part) for part in stream.results) == 0
    stream.newest = 122  # its watermark is 121: a row at 121 would join
    stream.push(rows())
    assert sum(len(part) for part in stream.results) == 0 and stream.due == 122
    stream.newest = 123
    stream.push(rows())
    assert [row["n"] for part in stream.results for row in part.to_pylist()] == [3]


def test_signed_pages():
    """With a key, pages that were not signed with it are not believed."""
    stream = Stream(totals(win.tumbling("1 hour")), pa.schema([("k", pa.int64())]))
    key, other = b"a secret of some bytes", b"another one, as long"
    bucket = Bucket(stream.query, stream.schema, key)
    data = bucket._sealed(("head", 0, bucket.identity, ()))
    assert bucket._opened(data, "it", 4)[0] == "head"
    for wrong in (None, other):
        with pytest.raises(SnapshotError, match="sign"):
            Bucket(stream.query, stream.schema, wrong)._opened(data, "it", 4)
    with pytest.raises(SnapshotError, match="is not signed"):
        bucket._opened(Bucket(stream.query, stream.schema)._sealed(("head", 0, [], ())), "it", 4)


def test_conditions_and_expressions():
    data = pa.table(
        {
            "ts": pa.array([i * 1_750_000 for i in range(60)], pa.timestamp("us", "UTC")),
            "k": [i % 3 for i in range(60)],
            "x": [None if i % 7 == 2 else (i * 5) % 11 for i in range(60)],
            "s": [None if i % 9 == 4 else "abc"[(i // 2) % 3] for i in range(60)],
        }
    )
    aggregates = {
        "n": agg.count(where="s = 'a'"),
        "v": agg.sum(expr("x * 2"), where="ts >= '1970-01-01 00:00:03'"),
        "who": agg.max_by("s", expr("abs(x - 5)"), where="x <> 3"),
        "text": agg.concat(expr("upper(s)")),
    }
    for window in (win.tumbling("10 seconds"), win.trailing("4 seconds")):
        query = Query(time="ts", by="k", windows=window, aggregates=aggregates, compile="never")
        rows = hashed(data)
        stream = Stream(query, rows.schema)
        for at in range(0, 60, 20):
            stream.push(rows.slice(at, 20))
        for _ in range(2):  # time goes on, then what it makes final comes
            stream.push(hashed(data.slice(59, 1).set_column(0, "ts", pa.array([10**12], data["ts"].type))))
        found = pa.concat_tables(stream.results).to_pylist()
        expected = query.run(data).to_pylist()
        assert expected and all(row in found for row in expected)
