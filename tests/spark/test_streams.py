"""Queries over streaming DataFrames send what the batch answer is, each window once."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

import windrow
from tests.spark import stream_cases as cases
from tests.spark.test_batch import plain
from windrow import agg, win
from windrow.errors import SnapshotError, WindrowError

HOUR = 3600 * cases.SECOND


class Folder:
    """A stream of files, of which each is a trigger."""

    def __init__(self, spark, path):
        self.spark, self.path, self.files = spark, path, 0
        path.mkdir()

    def put(self, table):
        file = self.path / f"{self.files}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1.7e9 + self.files, 1.7e9 + self.files))  # files are taken by their age
        self.schema = self.spark.read.parquet(str(file)).schema
        self.files += 1

    def stream(self):
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.path))


def drained(frame, out, checkpoint):
    """Starts a stream, and ends it when all that is there is done. Results are files with a log of their own."""
    writer = frame.writeStream.format("parquet").option("path", str(out)).outputMode("append")
    running = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        assert running.awaitTermination(600)
    finally:
        running.stop()
    return running.recentProgress


def sent(spark, out, schema):
    return spark.read.schema(schema).parquet(str(out)).toArrow()


def through(spark, tmp_path, query, batches, restarts=()):
    """All that a stream sends, and its late rows; it is ended and started again before some of the batches."""
    folder = Folder(spark, tmp_path / "in")
    for i, batch in enumerate(batches):
        if i in restarts:
            drained(query.run(folder.stream()), tmp_path / "out", tmp_path / "state")
        folder.put(batch)
    results = query.run(folder.stream())
    drained(results, tmp_path / "out", tmp_path / "state")
    late = windrow.spark.late(query, folder.stream())
    drained(late, tmp_path / "late", tmp_path / "late state")
    return sent(spark, tmp_path / "out", results.schema), sent(spark, tmp_path / "late", late.schema)


def check(spark, tmp_path, kind, aggregates, seed, batches=5, restarts=1, **options):
    rng = np.random.default_rng(seed)
    query = cases.query(kind, cases.plainly(aggregates), **options)
    table = cases.rows(rng, kind, n=40 * batches)
    cuts = [0, *np.sort(rng.integers(0, table.num_rows, batches - 1)).tolist(), table.num_rows]
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    end = cases.ending(table, kind)
    again = rng.choice(np.arange(1, batches), min(restarts, batches - 1), replace=False)
    got, late = through(spark, tmp_path, query, [*parts, end], again)  # the last trigger gets no rows
    in_time = cases.without(table, late)
    expected = query.run(in_time)
    assert expected.num_rows
    assert plain(cases.before_the_end(got, in_time.num_rows)) == plain(expected)
    return late


def test_each_window_is_sent_once(spark, tmp_path):
    late = check(spark, tmp_path, "sliding", cases.ORDERED, 5)
    assert late.num_rows  # some rows were more than `lateness` out of order


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", cases.KINDS)
def test_every_kind(kind, seed, spark, tmp_path):
    aggregates = cases.IN_ANY_ORDER if seed else cases.ORDERED
    check(spark, tmp_path, kind, aggregates, seed, 8, 2, by=None if seed else "k")


def test_large_rings_lie_in_chunks(spark, tmp_path):
    """Six hundred slices a key: the middle of the ring lies in a map of its own, and goes on after a restart."""
    times = np.arange(2400) * 30 * cases.SECOND + cases.START
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(["a", "b"] * 1200),
            "x": pa.array(np.random.default_rng(3).permutation(2400)),
        }
    )
    query = windrow.Query(
        time="ts",
        by="k",
        windows=win.sliding("10 hours", every="1 minute"),
        aggregates={"most": agg.max("x"), "total": agg.sum("x")},
    )
    end = pa.table([pa.array([cases.START * 2], table["ts"].type), ["z"], [0]], schema=table.schema)
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise([0, 1000, 1500, 1600, 2200, 2400])]
    folder = Folder(spark, tmp_path / "in")
    for batch in parts:
        folder.put(batch)
    results = query.run(folder.stream())
    drained(results, tmp_path / "out", tmp_path / "state")
    reader = spark.read.format("statestore").option("path", str(tmp_path / "state")).option("stateVarName", "chunks")
    assert reader.load().count() > 8
    folder.put(end)
    drained(query.run(folder.stream()), tmp_path / "out", tmp_path / "state")
    got = sent(spark, tmp_path / "out", results.schema)
    assert plain(got.filter(pc.not_equal(got["k"], "z"))) == plain(query.run(table))
    assert reader.load().count() == 0


def test_another_query_is_refused_by_name(spark, tmp_path):
    rng = np.random.default_rng(0)
    folder = Folder(spark, tmp_path / "in")
    folder.put(cases.rows(rng, ""))
    query = cases.query("trailing rows", cases.plainly(cases.IN_ANY_ORDER))
    assert not windrow.spark.check_state(query, folder.stream(), tmp_path / "state")
    progress = drained(query.run(folder.stream()), tmp_path / "out", tmp_path / "state")
    observed = progress[0]["observedMetrics"]["windrow"]
    assert observed["rows_in"] > 200 and observed["pages_written"]
    assert windrow.spark.check_state(query, folder.stream(), tmp_path / "state")
    other = cases.query("policy", cases.plainly(cases.IN_ANY_ORDER))
    with pytest.raises(SnapshotError, match=r"its windows is .*trailing.* here it is .*policy"):
        windrow.spark.check_state(other, folder.stream(), tmp_path / "state")
    folder.put(cases.rows(rng, ""))
    with pytest.raises(StreamingQueryException, match="the state is of another query: its windows is"):
        drained(other.run(folder.stream()), tmp_path / "out", tmp_path / "state")


def test_a_stream_goes_on_from_a_history(spark, tmp_path):
    """A new query begins with the rows that an old one has seen; all that it sends is what the old one did not."""
    rng = np.random.default_rng(7)
    table = cases.rows(rng, "", n=300, disorder=0, repeated=0)
    since = cases.START + HOUR // 2
    times = table["ts"].cast(pa.int64()).to_numpy()
    old, new = table.filter(times < since), table.filter(times >= since)
    folder = Folder(spark, tmp_path / "in")
    folder.put(new)
    for _ in range(2):
        folder.put(cases.ending(table, ""))
    pq.write_table(table, tmp_path / "history.parquet")  # rows after the stream's beginning are not taken from it
    query = cases.query("long", cases.plainly(cases.ORDERED))
    when = old["ts"][0].as_py().fromtimestamp(since / cases.SECOND, tz=old["ts"][0].as_py().tzinfo)
    history = spark.read.schema(folder.schema).parquet(str(tmp_path / "history.parquet"))
    results = windrow.spark.stream(query, folder.stream(), history=history, since=when)
    drained(results, tmp_path / "out", tmp_path / "state")
    got = cases.before_the_end(sent(spark, tmp_path / "out", results.schema), 0)
    expected = query.run(table)
    expected = expected.filter(expected["end"].cast(pa.int64()).to_numpy() > since)
    assert plain(got) == plain(expected) and expected.num_rows > 20


def test_rows_from_the_far_future(spark, tmp_path):
    """One row from the year 2200 would end all windows; with a guard it is left out, and given back."""
    table = cases.rows(np.random.default_rng(8), "", disorder=0, repeated=0)
    future = pa.array([7_258_118_400 * cases.SECOND], table["ts"].type)
    folder = Folder(spark, tmp_path / "in")
    folder.put(
        pa.concat_tables([table.slice(0, 50), pa.table([future, ["a"], [1], ["-"], [1.0]], schema=table.schema)])
    )
    for part in (table.slice(50), cases.ending(table, ""), cases.ending(table, "")):
        folder.put(part)
    query = cases.query("tumbling", cases.plainly(cases.ORDERED))
    results = windrow.spark.stream(query, folder.stream(), ahead="1 day")
    drained(results, tmp_path / "out", tmp_path / "state")
    got = cases.before_the_end(sent(spark, tmp_path / "out", results.schema), 0)
    assert plain(got) == plain(query.run(table))
    batch = spark.read.schema(folder.schema).parquet(str(folder.path))
    assert windrow.spark.rejected(query, batch, ahead="1 day").count() == 1


def test_what_a_stream_needs_is_said(spark, tmp_path):
    folder = Folder(spark, tmp_path / "in")
    folder.put(cases.rows(np.random.default_rng(0), ""))
    query = cases.query("tumbling", {"n": agg.count()})
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    spark.conf.unset(provider)
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(WindrowError, match=r"RocksDB state store: spark.conf.set"):
            query.run(folder.stream())
    finally:
        spark.conf.set(provider, before)
    with pytest.raises(WindrowError, match="history and since go together"):
        windrow.spark.stream(query, folder.stream(), since="2020-01-01")
    with pytest.raises(WindrowError, match="streaming DataFrames"):
        windrow.spark.stream(query, spark.read.parquet(str(folder.path)))
    untimed = windrow.Query(windows=win.tumbling(3), aggregates={"n": agg.count()})
    with pytest.raises(WindrowError, match="late rows are behind event time"):
        windrow.spark.late(untimed, folder.stream())
    assert "state in pages" in query.explain(folder.stream())


@pytest.mark.slow
def test_monoid_trees_in_sparks_state(spark, tmp_path):
    table = cases.rows(np.random.default_rng(10), "")
    folder = Folder(spark, tmp_path / "in")
    query = cases.query("trailing", cases.plainly(cases.ORDERED), lateness=3600)
    for part in (table.slice(0, 90), table.slice(90), cases.ending(table, ""), cases.ending(table, "")):
        folder.put(part)
        results = windrow.spark.stream(query, folder.stream(), large=True)
        drained(results, tmp_path / "out", tmp_path / "state")
    assert plain(cases.before_the_end(sent(spark, tmp_path / "out", results.schema), 0)) == plain(query.run(table))
    folder.put(table)
    with pytest.raises(StreamingQueryException, match="its state is 64 buckets, monoid trees, here it is 64 buckets"):
        drained(query.run(folder.stream()), tmp_path / "out", tmp_path / "state")


@pytest.mark.slow
def test_several_counts_of_one_stream(spark, tmp_path):
    """The last 1, 12 and 24 hours at each row, in one query."""
    windows = {"1h": win.trailing("1 hour"), "12h": win.trailing("12 hours"), "24h": win.trailing("24 hours")}
    query = windrow.Query(time="ts", by="k", windows=windows, aggregates={"n": agg.count()}, lateness="20 minutes")
    table = cases.rows(np.random.default_rng(9), "")
    end = cases.ending(table, "")
    got, late = through(
        spark, tmp_path, query, [table.slice(0, 90), table.slice(90), end]
    )  # no rows in the last trigger
    assert not late.num_rows
    assert plain(cases.before_the_end(got, 0)) == plain(query.run(table))


@pytest.mark.slow
def test_a_watermark_of_the_streams_own(spark, tmp_path):
    """It counts, and not `lateness`, by which rows would be left out."""
    table = cases.rows(np.random.default_rng(12), "")
    folder = Folder(spark, tmp_path / "in")
    for part in (*(table.slice(i, 40) for i in range(0, table.num_rows, 40)), *[cases.ending(table, "")] * 2):
        folder.put(part)
    query = cases.query("sliding", cases.plainly(cases.ORDERED), lateness=0)
    stream = folder.stream().withWatermark("ts", "1 hour")
    results = query.run(stream)
    assert "watermark: the DataFrame's own" in query.explain(stream)
    with pytest.raises(WindrowError, match="ahead= cannot hold back a watermark"):
        windrow.spark.stream(query, stream, ahead="1 day")
    with pytest.raises(WindrowError, match="a watermark on 'late', and the query's time is 'ts'"):
        query.run(folder.stream().selectExpr("*", "ts as late").withWatermark("late", "1 hour"))
    drained(results, tmp_path / "out", tmp_path / "state")
    assert plain(cases.before_the_end(sent(spark, tmp_path / "out", results.schema), 0)) == plain(query.run(table))
