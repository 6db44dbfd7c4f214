"""Large keys, found in a sample and cut into parts of time: the answers of the engine in this process."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

import windrow
from tests.spark.test_batch import ORDERED, plain
from windrow import agg, win
from windrow.spark import statistics

MANY = pa.timestamp("us", "UTC")
NAMES = ("total", "who", "text", "spread")  # the others take long to compile, and go the same way
AGGREGATES = {name: ORDERED[name] for name in NAMES}


def rows(n: int = 4000, seed: int = 0, time=MANY) -> pa.Table:
    """Two large keys, one of them null; ties, rows without a time, times before 1970, one far from all others."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0, 3, n)) * 1_000_000 - 2_000_000_000
    times[n // 2] = 4_000_000_000_000
    mixed = rng.permutation(n)
    missing = rng.random(n) < 0.01
    at = pa.array(times, pa.int64(), mask=missing).take(mixed).cast(pa.timestamp("us"))
    keys = rng.choice(["large", None, "a", "b", "c"], n, p=[0.6, 0.3, 0.05, 0.03, 0.02])
    return pa.table(
        {
            "ts": at if time == pa.timestamp("us") else at.cast(time, safe=False),
            "k": pa.array(keys.tolist(), pa.string()),
            "i": pa.array(rng.integers(-5, 9, n), mask=rng.random(n) < 0.1),
            "f2": np.round(rng.normal(size=n), 2),
            "w": rng.choice(["x", "yy", "z", ""], n),
        }
    )


@pytest.fixture(autouse=True)
def looking(monkeypatch):
    """At all rows of any table, on more cores than there are: keys of an eighth of the rows are large."""
    monkeypatch.setattr(statistics, "BYTES", 0)
    monkeypatch.setattr(statistics, "SHARE", 1)
    monkeypatch.setattr(statistics, "WORTH", 100)
    monkeypatch.setattr(statistics, "cores", lambda data: 16)


@pytest.fixture(scope="module")
def read(spark, tmp_path_factory):
    """Tables as Spark reads them from files, several of them and in their order."""

    def from_files(table: pa.Table):
        folder = tmp_path_factory.mktemp("skew")
        third = table.num_rows // 3 + 1
        files = []
        for i in range(3):
            pq.write_table(table.slice(i * third, third), folder / f"{i}.parquet")
            files.append(spark.read.parquet(str(folder / f"{i}.parquet")))
        return files[0].union(files[1]).union(files[2])

    return from_files


def check(query: windrow.Query, frame, table: pa.Table) -> str:
    """The same answers; how they came about."""
    assert plain(query.run(frame).toArrow()) == plain(query.run(table))
    return query.explain(frame)


TRAILING = {
    "3 rows": win.trailing(3),
    "40 rows": win.trailing(40),
    "left": win.trailing(7, closed="left"),
    "both": win.trailing(7, closed="both"),
    "two": {"short": win.trailing(2), "long": win.trailing(25)},
    "rows and time": {"rows": win.trailing(4), "time": win.trailing("40 seconds", closed="both")},
}


@pytest.mark.parametrize("windows", TRAILING)
def test_trailing_rows(windows, read):
    table = rows()
    query = windrow.Query(time="ts", by="k", windows=TRAILING[windows], aggregates=AGGREGATES)
    told = check(query, read(table), table)
    assert "rows, by k, part\n" in told
    number = int(re.search(r"rows of 2 large keys into (\d+) parts", told)[1])
    if windows == "3 rows":  # the wild time spoils nothing
        assert number >= 48, "64 were wanted"


@pytest.mark.parametrize("time", [pa.timestamp("us"), pa.date32(), MANY], ids=str)
def test_times_of_every_type(time, read):
    table = rows(time=time)
    query = windrow.Query(time="ts", by="k", windows=win.trailing(6), aggregates={"text": agg.concat("w")})
    assert "large" in check(query, read(table), table)


def test_without_a_key(read):
    """Rows and time in one query: neither is a reason for one task."""
    table = rows()
    query = windrow.Query(time="ts", windows=TRAILING["rows and time"], aggregates={"text": agg.concat("w")})
    assert "each with the 5 rows, or 40 seconds, before it as context" in check(query, read(table), table)


def test_windows_longer_than_parts(read):
    """To copy so many rows would cost more than it brings."""
    table = rows()
    windows = {"rows": win.trailing(4), "time": win.trailing("1 hour")}
    query = windrow.Query(time="ts", by="k", windows=windows, aggregates={"text": agg.concat("w")})
    assert "large" not in check(query, read(table), table)


def test_all_rows_at_one_time(read):
    """Nothing can be cut."""
    table = rows(600)
    table = table.set_column(0, "ts", pa.array([datetime.datetime(2026, 1, 1)] * 600, MANY))
    query = windrow.Query(time="ts", by="k", windows=win.trailing(6), aggregates={"text": agg.concat("w")})
    assert "large" not in check(query, read(table), table)


def test_what_a_sample_misses(read, monkeypatch):
    """Times before and after all of it, and keys that are not in it."""
    monkeypatch.setattr(statistics, "SHARE", 1 / 8)
    table = rows()
    query = windrow.Query(time="ts", by="k", windows=win.trailing(20), aggregates={"text": agg.concat("w")})
    assert "large" in check(query, read(table), table)


def test_keys_of_several_columns(read):
    """Nulls in one column are not nulls in the other."""
    rng = np.random.default_rng(5)
    some = np.array(["a", "b", None])
    table = rows().drop_columns("k")
    for name in ("k", "l"):
        table = table.append_column(name, pa.array(rng.choice(some, len(table), p=[0.45, 0.1, 0.45]).tolist()))
    query = windrow.Query(time="ts", by=["k", "l"], windows=win.trailing(9), aggregates={"text": agg.concat("w")})
    assert "4 large keys" in check(query, read(table), table)


def test_keys_that_share_their_hash_are_left_whole(read, monkeypatch):
    real = statistics._hash
    monkeypatch.setattr(statistics, "_hash", lambda by, seed: real(by, seed) if seed else F.pmod(real(by, 0), F.lit(2)))
    table = rows()
    query = windrow.Query(time="ts", by="k", windows=win.trailing(9), aggregates={"text": agg.concat("w")})
    assert "large" not in check(query, read(table), table)


SLIDING = {
    "10 every 3": win.sliding(10, every=3),
    "apart": win.sliding(2, every=5),
    "tumbling": win.tumbling(16),
    "every row": win.sliding(30, every=1),
    "two": {"short": win.tumbling(7), "long": win.sliding(21, every=4)},
}


@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("windows", SLIDING)
def test_sliding_rows(windows, by, read):
    """Windows that begin with every so manieth row of a key, whatever part it is in."""
    table = rows()
    query = windrow.Query(time="ts", by=by, windows=SLIDING[windows], aggregates=AGGREGATES)
    told = check(query, read(table), table)
    assert "parts of time" in told and "one task" not in told


def test_the_last_windows_where_they_are_asked_for(read):
    table = rows()
    aggregates = {"text": agg.concat("w")}
    query = windrow.Query(time="ts", by="k", windows=win.sliding(10, every=3), aggregates=aggregates, partial=True)
    assert "large" in check(query, read(table), table)


@pytest.mark.parametrize("windows", [win.trailing(9), win.tumbling(9)], ids=str)
def test_a_table_that_changes_is_an_error(windows, spark, tmp_path):
    """A row more than were counted: windows of the next part would lack one."""
    path = tmp_path / "rows.parquet"
    table = rows().filter(pc.is_valid(rows()["ts"])).sort_by("ts")
    pq.write_table(table, path)
    query = windrow.Query(time="ts", by="k", windows=windows, aggregates={"text": agg.concat("w")})
    results = query.run(spark.read.parquet(str(path)))
    pq.write_table(pa.concat_tables([table, table.filter(pc.equal(table["k"], "large")).slice(500, 1)]), path)
    with pytest.raises(PythonException, match=r"the table changes while it is read; cache\(\) or checkpoint\(\) it"):
        results.toArrow()


ORDERED_WINDOWS = {
    "sliding": win.sliding("60 seconds", every="7 seconds"),
    "tumbling": win.tumbling("5 minutes", origin="13 seconds"),
    "session": win.session("2 seconds"),
    "both": {"a": win.sliding("60 seconds", every="7 seconds"), "b": win.session("2 seconds")},
}


@pytest.mark.parametrize("windows", ORDERED_WINDOWS)
def test_windows_by_time_with_aggregates_in_order(windows, read):
    table = rows()
    query = windrow.Query(time="ts", by="k", windows=ORDERED_WINDOWS[windows], aggregates=AGGREGATES)
    told = check(query, read(table), table)
    assert "keys that are too large" in told and "partials, by k" in told


ALIKE = win.trailing(9)


@pytest.mark.parametrize("why", ["even", "few rows", "small", "floats", "join", "Python", "two cores", "no time"])
def test_where_nothing_is_split(why, read, monkeypatch):
    """Keys are alike; to look would cost too much; to split would bring nothing."""
    table = rows()
    if why == "even":
        table = table.set_column(1, "k", pa.array([str(i % 9) for i in range(len(table))]))
    elif why == "few rows":
        monkeypatch.setattr(statistics, "WORTH", 4000)
    elif why == "small":
        monkeypatch.setattr(statistics, "BYTES", 64 << 20)
    elif why == "floats":
        table = table.set_column(1, "k", pa.array(np.where(np.arange(len(table)) % 9, 1.0, 2.0)))
    elif why == "two cores":
        table = table.set_column(1, "k", pa.array(["large"] * len(table)))
        monkeypatch.setattr(statistics, "cores", lambda data: 2)
    frame = read(table)
    if why == "join":
        frame = frame.join(frame.select("k").distinct(), "k")
    elif why == "Python":
        with windrow.spark.plan.quiet():
            frame = frame.withColumn("w", F.udf(lambda w: w, "string")("w"))
    time = None if why == "no time" else "ts"
    query = windrow.Query(time=time, by="k", windows=ALIKE, aggregates={"text": agg.concat("w")})
    told = query.explain(frame)
    assert "large" not in told
    if why == "no time":
        return  # their order is the input's
    assert plain(query.run(frame).toArrow()) == plain(query.run(table)) or why == "join"


def test_the_exchange_is_one(read):
    """Of the rows, with their parts; what was counted before went its own way."""
    query = windrow.Query(time="ts", by="k", windows=ALIKE, aggregates={"text": agg.concat("w")})
    plan = windrow.spark.physical_plan(query, read(rows()), "simple")
    assert plan.count("Exchange ") == plan.count("Sort ") == 1 and "Generate" in plan
