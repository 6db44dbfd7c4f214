"""Rows of a second DataFrame that ask: the answers of the engine in this process."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.spark.test_batch import ORDERED
from tests.spark.test_skew import rows
from windrow import agg, win
from windrow.errors import Unsupported, WindrowError
from windrow.spark import statistics

AGGREGATES = {"total": ORDERED["total"], "text": ORDERED["text"], "n": agg.count()}
WINDOWS = {
    "time": {"1m": win.trailing("1 minute", closed="left"), "10m": win.trailing("10 minutes")},
    "rows": win.trailing(40, closed="left"),
    "mixed": {"rows": win.trailing(7, closed="both"), "time": win.trailing("1 minute", closed="none")},
    "policy": win.policy(lambda total, old: total.n - old.n >= 5, over={"n": agg.count()}),
}


def labels(n: int = 600, seed: int = 1) -> pa.Table:
    """Around the events' times; keys that no event has, rows without a time, one far from all others."""
    rng = np.random.default_rng(seed)
    times = rng.integers(-2_100, 2_500, n) * 1_000_000
    times[7] = 5_000_000_000_000
    at = pa.array(times, pa.int64(), mask=rng.random(n) < 0.02).cast(pa.timestamp("us")).cast(
        pa.timestamp("us", "UTC"), safe=False
    )  # fmt: skip
    keys = rng.choice(["large", None, "a", "b", "nobody"], n)
    return pa.table({"id": np.arange(n), "k": pa.array(keys.tolist(), pa.string()), "asked": at, "w": ["!"] * n})


def by_id(table: pa.Table) -> list[dict]:
    return sorted(table.to_pylist(), key=lambda row: row["id"])


@pytest.fixture
def large(monkeypatch):
    """Keys of an eighth of the rows are large."""
    monkeypatch.setattr(statistics, "BYTES", 0)
    monkeypatch.setattr(statistics, "SHARE", 1)
    monkeypatch.setattr(statistics, "WORTH", 100)
    monkeypatch.setattr(statistics, "cores", lambda data: 16)


def frames(spark, *tables):
    return [spark.createDataFrame(table) for table in tables]


@pytest.mark.parametrize(("windows", "by"), [(w, ["k"]) for w in WINDOWS] + [("time", []), ("mixed", [])])
def test_the_same_as_in_process(spark, large, windows, by):
    query = windrow.Query(time="ts", by=by, windows=WINDOWS[windows], aggregates=AGGREGATES, compile="never")
    events, asks = rows(1500), labels()
    frame, asking = frames(spark, events, asks)
    got = query.run(frame, at=asking, at_time="asked")
    assert got.columns == [*asks.column_names, *query.answer_names().values()]
    assert by_id(got.toArrow()) == by_id(query.run(events, at=asks, at_time="asked"))


@pytest.mark.parametrize("windows", [win.trailing("1 second"), win.trailing(5)])
def test_a_large_key_is_no_task_of_its_own(spark, large, windows):
    """Without a key, too, rows are exchanged by parts of time, once, and asking rows with them."""
    query = windrow.Query(time="ts", windows=windows, aggregates={"n": agg.count()}, compile="never")
    frame, asking = frames(spark, rows(1500), labels())
    plan = query.run(frame, at=asking, at_time="asked")._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1 and "hashpartitioning(__windrow_part" in plan, plan


def test_other_types_and_columns_of_any_name(spark):
    day = datetime.datetime(2026, 1, 1)
    events = spark.createDataFrame([(1, day, 5)], "k int, ts timestamp_ntz, n bigint")
    asks = spark.createDataFrame([(day, 1, "x"), (day, 2, "y")], "ts timestamp_ntz, k bigint, `a.b` string")
    query = windrow.Query(
        time="ts", by="k", windows=win.trailing("1 day"), aggregates={"s": agg.sum("n")}, compile="never"
    )
    got = sorted(query.run(events, at=asks).collect())
    assert [row.asDict() for row in got] == [
        {"ts": day, "k": 1, "a.b": "x", "s": 5}, {"ts": day, "k": 2, "a.b": "y", "s": None},
    ]  # fmt: skip
    text = asks.withColumn("k", asks.k.cast("string"))
    with pytest.raises(WindrowError, match=r"at=: column 'k' holds string, and the events' 'k' holds int"):
        query.run(events, at=text)
    with pytest.raises(WindrowError, match=r"at=: there is no column 'k'"):
        query.run(events, at=asks.drop("k"))
    with pytest.raises(WindrowError, match="the data has a column 's' already"):
        query.run(events, at=asks.withColumnRenamed("a.b", "s"))
    with pytest.raises(WindrowError, match="a Spark DataFrame, not a dict"):
        query.run(events, at={"k": [1]})
    stream = spark.readStream.format("rate").load().selectExpr("value as k", "timestamp as ts")
    with pytest.raises(Unsupported, match=r"not streams.*live\.at"):
        query.run(events, at=stream)
