"""Queries over streaming DataFrames send what the batch answer is, each window once."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow
from tests.spark.test_batch import plain
from windrow import agg, swag, win

START, HOUR = 10**15, 3_600_000_000
AGGREGATES = {"n": agg.sum("x"), "text": agg.concat("s"), "who": agg.max_by("s", "x")}
PLAIN = {name: swag.counting(aggregate) for name, aggregate in AGGREGATES.items()}


def at_most_five(total, old):
    return total.n - old.n >= 5


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An hour of rows in four files, out of order within ten minutes, and a row hours later that ends all windows."""
    folder = tmp_path_factory.mktemp("stream")
    rng = np.random.default_rng(5)
    n = 400
    ticks = np.sort(rng.integers(0, HOUR // 10**6, n)) * 10**6 + START
    rows = pa.table(
        {
            "ts": pa.array(ticks, pa.timestamp("us", "UTC")),
            "k": pa.array(rng.choice(["a", "b", None], n).tolist(), pa.string()),
            "x": pa.array([None if v == 0 else int(v) for v in rng.integers(0, 9, n)], pa.int64()),
            "s": pa.array([str(i % 7) for i in range(n)]),
        }
    )
    end = pa.table({"ts": pa.array([START + 10 * HOUR], pa.timestamp("us", "UTC")), "k": ["end"], "x": [1], "s": ["-"]})
    # rows of one time keep their order: which comes first is part of some answers
    parts = [rows.slice(i * 100, 100) for i in range(4)]
    for i, part in enumerate([*parts, end, end]):
        by_time = {t: rng.random() for t in part["ts"].to_pylist()}
        shuffled = sorted(range(part.num_rows), key=lambda j: by_time[part["ts"][j].as_py()])
        pq.write_table(part.take(shuffled), folder / f"{i}.parquet")
        time.sleep(0.02)  # files are taken by their age
    return folder, rows


def sent(spark, folder, query, tmp_path, name):
    stream = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
    writer = query.run(stream.parquet(str(folder))).writeStream.format("memory").queryName(name).outputMode("append")
    running = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    running.awaitTermination(600)
    assert running.exception() is None
    return spark.table(name).toArrow()


def check(spark, files, windows, tmp_path, aggregates=PLAIN, by="k"):
    folder, rows = files
    query = windrow.Query(time="ts", by=by, windows=windows, aggregates=aggregates, lateness="20 minutes")
    got = sent(spark, folder, query, tmp_path, f"sent_{abs(hash(str(tmp_path)))}")
    expected = query.run(rows)
    if by is not None:
        got = got.filter(pc.fill_null(pc.not_equal(got["k"], "end"), True))
    elif query.per_row:
        got = got.filter(pc.less(got["ts"], pa.scalar(START + 2 * HOUR, pa.timestamp("us", "UTC"))))
    else:
        got = got.filter(pc.less(got["start"], pa.scalar(START + 2 * HOUR, pa.timestamp("us", "UTC"))))
    assert plain(got) == plain(expected)


QUICK = {"sliding": win.sliding("10 minutes", every="7 minutes"), "trailing rows": win.trailing(5)}
SLOW = {
    "trailing": win.trailing("9 minutes", closed="both"),
    "session": win.session("20 seconds"),
    "rows": win.sliding(10, every=3),
    "punctuated": win.punctuated("x > 6"),
    "landmark": win.landmark("x > 6", every="3 minutes"),
    "last": win.last(3, every="10 minutes"),
    "policy": win.policy(at_most_five, over={"n": agg.count()}),
}


@pytest.mark.parametrize("kind", QUICK)
def test_each_window_is_sent_once(kind, spark, files, tmp_path):
    check(spark, files, QUICK[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("kind", SLOW)
def test_every_kind(kind, by, spark, files, tmp_path):
    check(spark, files, SLOW[kind], tmp_path, by=by)


@pytest.mark.slow
def test_compiled(spark, files, tmp_path):
    check(spark, files, QUICK["sliding"], tmp_path, AGGREGATES)
