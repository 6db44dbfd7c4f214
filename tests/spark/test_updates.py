"""`emit="update"` on streams: the latest of all that was sent is the batch answer over what has come in time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

import windrow
from tests.docs.blocks import ROOT, script
from tests.spark import stream_cases as cases
from tests.spark.test_batch import plain
from tests.spark.test_buckets import Stream, hashed
from tests.spark.test_streams import Folder
from windrow import agg, win
from windrow.errors import WindrowError
from windrow.spark import buckets

#: kinds of which several windows of a key may begin at one place
SAME_START = ("landmark", "last", "user-defined")


class Receiver:
    """The latest row of each window."""

    def __init__(self, told):
        self.told, self.rows, self.final = told, {}, []

    def take(self, results):
        for row in sorted(results.to_pylist(), key=lambda row: (row["final"] is not None, row["final"])):
            final = row.pop("final")
            what = tuple(row[name] for name in self.told)
            if final is None:
                del self.rows[what]
                continue
            assert self.rows.get(what) != (row, final), f"unchanged: {row}"
            assert not self.rows.get(what, (None, False))[1], f"after it was final: {row}"
            self.rows[what] = row, final
            self.final += [row] if final else []

    def latest(self):
        return [row for row, _ in self.rows.values()]


def bag(rows):
    return sorted(map(repr, rows))


@pytest.mark.parametrize("divided", [False, True], ids=["few pages", "a page a key"])
@pytest.mark.parametrize("kind", [kind for kind in cases.KINDS if kind != "user-defined by time"])
def test_pages_without_spark(kind, divided, monkeypatch):
    """After each batch, over what was in time: the windows that the data ends inside, too."""
    if divided:
        monkeypatch.setattr(buckets, "LARGEST", 1)
    rng = np.random.default_rng(7)
    aggregates = cases.plainly(cases.IN_ANY_ORDER if divided else cases.ORDERED)
    table = cases.rows(rng, kind, n=120, repeated=0)
    table = table.append_column("row", pa.array(range(table.num_rows)))
    query = cases.query(kind, aggregates, emit="update", compile="never")
    batch = cases.query(kind, aggregates, partial=True, compile="never")
    rows = hashed(table, query.by)
    stream = Stream(query, rows.schema)
    edges = ["start", "end"] if kind.startswith(SAME_START) else ["start"]
    receiver = Receiver(["row"] if query.per_row else ["k", *edges])
    for begin in range(0, table.num_rows, 20):
        stream.push(rows.slice(begin, 20))
        receiver.take(stream.results[-1])
        come = table.slice(0, begin + 20)
        in_time = cases.without(come, pa.concat_tables(stream.late)) if stream.late else come
        expected = batch.run(in_time).to_pylist()
        assert bag(receiver.latest()) == bag(expected)
    assert receiver.final and len(receiver.final) < len(expected) + 1


def test_large_rings_lie_in_chunks(monkeypatch):
    """What a step looks at and takes back may lie apart from its page."""
    times = np.arange(900) * 30 * cases.SECOND + cases.START
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": ["a", "b"] * 450, "x": np.arange(900)})
    made = {
        "time": "ts", "by": "k", "windows": win.sliding("5 hours", every="1 minute"), "lateness": "3 minutes",
        "aggregates": {"most": agg.max("x"), "text": agg.last("x"), "total": agg.sum("x")}, "compile": "never",
    }  # fmt: skip
    rows = hashed(table)
    stream, receiver = Stream(windrow.Query(**made, emit="update"), rows.schema), Receiver(["k", "start"])
    chunks = 0
    for begin, end in zip([0, 700, 703, 850], [700, 703, 850, 900], strict=True):
        stream.push(rows.slice(begin, end - begin))
        receiver.take(stream.results[-1])
        expected = windrow.Query(**made).run(table.slice(0, end)).to_pylist()
        assert bag(receiver.latest()) == bag(expected)
        chunks += len(stream.pages.chunks)
    assert chunks


def drained(frame, write, checkpoint):
    writer = frame.writeStream.outputMode("update").foreachBatch(write)
    running = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        assert running.awaitTermination(600)
    finally:
        running.stop()


def test_a_stream_with_a_restart(spark, tmp_path):
    rng = np.random.default_rng(11)
    aggregates = cases.plainly(cases.ORDERED)
    query = cases.query("session", aggregates, emit="update", compile="never")
    table = cases.rows(rng, "session", n=120, repeated=0, disorder=250)  # none is late
    folder, receiver = Folder(spark, tmp_path / "in"), Receiver(["k", "start"])
    taken = []

    def write(batch, number):
        taken.append(number)
        receiver.take(batch.toArrow())

    for begin, end in ((0, 40), (40, 80), (80, 120)):
        folder.put(table.slice(begin, end - begin))
        if begin != 40:  # two files, then one after the restart
            drained(query.run(folder.stream()), write, tmp_path / "state")
    expected = cases.query("session", aggregates, compile="never").run(table)
    got = pa.Table.from_pylist(receiver.latest(), expected.schema)
    assert plain(got) == plain(expected)
    assert receiver.final and len(set(taken)) >= 3


def test_a_batch_and_what_is_refused(spark):
    data = spark.createDataFrame([(1, 2.0), (2, 3.0)], "g long, x double")
    query = windrow.Query(windows=win.tumbling(1), by="g", aggregates={"s": agg.sum("x")}, emit="update")
    assert sorted(map(tuple, query.run(data).collect())) == [(1, 0, 1, 2.0, True), (2, 0, 1, 3.0, True)]
    assert "the column 'final' is true" in query.explain(data)
    rows = windrow.Query(windows=win.trailing(1), aggregates={"s": agg.sum("x")}, emit="update")
    with pytest.raises(WindrowError, match="a column 'final' already"):
        rows.run(data.withColumnRenamed("g", "final"))


def test_the_example_is_right_after_a_kill(spark, tmp_path):
    """The trigger that was written comes again, and the table is the batch answer."""
    upserts = script(ROOT / "examples" / "upserts.py")
    (tmp_path / "clicks").mkdir()
    upserts.clicks(tmp_path / "clicks")
    with pytest.raises(StreamingQueryException, match="killed"):
        upserts.stream(spark, tmp_path, killed_after=3)
    upserts.stream(spark, tmp_path)
    got = upserts.visits(tmp_path)
    final = windrow.Query(**{**vars_of(upserts.query), "emit": "final"}).run(pq.read_table(tmp_path / "clicks"))
    times = [final[name].cast(pa.int64()).to_pylist() for name in ("start", "end")]
    answers = [final[name].to_pylist() for name in ("clicks", "path")]
    expected = sorted(zip(final["visitor"].to_pylist(), *times, *answers, strict=True))
    assert [row[:-1] for row in got] == expected
    assert 0 < sum(row[-1] for row in got) < len(got)


def vars_of(query):
    return {"time": query.time, "by": query.by, "windows": query.windows["window"], "aggregates": query.aggregates}
