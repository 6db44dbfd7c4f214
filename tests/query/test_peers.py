"""The same answers as DuckDB and Polars, where they have the same windows.

What is counted: 650 tables against DuckDB (260 trailing by time, 130 by rows, 130 sliding, 130 tumbling) and 388
against Polars (128 trailing by time, 130 by rows, 130 sliding). `test_quick.py` has a few of them for the quick suite.
"""

from __future__ import annotations

import random

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import windrow
from tests.query.cases import arrow_rows, assert_same
from windrow import agg, win

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow

TABLES = 130  # for each test; a quarter or half of them for each of four ways to be closed

DUCK = "sum(i)::BIGINT AS s, max(f) AS m, count(*) AS n, avg(f) AS a, string_agg(w, '-' ORDER BY ts, pos) AS c"
#: each with its own OVER; ORDER BY inside, because peers come in the order of arrival
DUCK_EACH = {
    "s": "sum(i)",
    "m": "max(f)",
    "n": "count(*)",
    "a": "avg(f)",
    "c": "string_agg(w, '-' ORDER BY ts, pos)",
}
OURS = {"s": agg.sum("i"), "m": agg.max("f"), "n": agg.count(), "a": agg.mean("f"), "c": agg.concat("w", sep="-")}
POLARS = [
    pl.col("i").sum().alias("s"),  # 0 where Polars has no values; see `polars_nulls`
    pl.col("i").count().alias("ni"),
    # Polars leaves NaN out of max where there is another number; Spark, DuckDB and windrow take it for the largest
    pl.when(pl.col("f").is_nan().any()).then(float("nan")).otherwise(pl.col("f").max()).alias("m"),
    pl.len().alias("n"),
    pl.col("f").mean().alias("a"),
    pl.col("w").drop_nulls().str.join("-").alias("c"),
    pl.col("w").count().alias("nw"),
]


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def draw(seed: int, sorted_: bool = False) -> tuple[random.Random, pa.Table]:
    """Times as plain microseconds; `pos` is the arrival."""
    rng = random.Random(f"peers {seed}")
    n = rng.randint(1, 40)
    step = rng.choice([1, 2, 10])
    times = [rng.randint(-step * n, step * n) for _ in range(n)]
    if sorted_:
        times.sort()
    null = 0.15 if rng.random() < 0.5 else 0.0
    some = lambda values: [None if null and (i == 0 or rng.random() < null) else v for i, v in enumerate(values)]
    floats = [rng.randint(-40, 40) / 8 for _ in range(n)]
    if rng.random() < 0.3:
        floats[rng.randrange(n)] = float("nan")
    columns = {
        "ts": pa.array(times, pa.int64()),
        "pos": pa.array(range(n), pa.int64()),
        "k": pa.array([rng.choice("xyz") for _ in range(n)]),
        "i": pa.array(some([rng.randint(-9, 9) for _ in range(n)]), pa.int64()),
        "f": pa.array(some(floats), pa.float64()),
        "w": pa.array(some([rng.choice("abcde") for _ in range(n)]), pa.string()),
    }
    return rng, pa.table(columns)


def ours(table: pa.Table, window, by: list[str]) -> list[dict]:
    return arrow_rows(windrow.Query(time="ts", by=by, windows=window, aggregates=OURS).run(table))


def micros(n: int) -> str:
    return f"{n} microseconds"


def each_row(rows: list[dict]) -> list[dict]:
    return [{name: row[name] for name in ("pos", *OURS)} for row in rows]


# --------------------------------------------------------------------------------------------------- DuckDB


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
def test_trailing_time_equals_duckdb_range_frames(duck, closed):
    """Times are whole numbers, so an open end is a closed one a microsecond further in. No difference."""
    for seed in range(TABLES // 2):
        rng, table = draw(seed)
        length = rng.randint(2, 30)
        preceding = length if closed in ("left", "both") else length - 1
        following = "CURRENT ROW" if closed in ("right", "both") else "1 PRECEDING"
        by = rng.choice([[], ["k"]])
        part = "PARTITION BY k" if by else ""
        frame = f"({part} ORDER BY ts RANGE BETWEEN {preceding} PRECEDING AND {following})"
        columns = ", ".join(f"{f} OVER {frame} AS {name}" for name, f in DUCK_EACH.items())
        duck.register("t", table)
        theirs = duck.sql(f"SELECT pos, {columns} FROM t").to_arrow_table().to_pylist()
        got = each_row(ours(table, win.trailing(micros(length), closed), by))
        assert_same(got, theirs, f"closed {closed}, length {length}, by {by}, seed {seed}\n{table.to_pydict()}")


def test_trailing_rows_equal_duckdb_rows_frames(duck):
    for seed in range(TABLES):
        rng, table = draw(1000 + seed)
        length, by = rng.randint(1, 9), rng.choice([[], ["k"]])
        part = "PARTITION BY k" if by else ""
        frame = f"({part} ORDER BY ts, pos ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW)"
        columns = ", ".join(f"{f} OVER {frame} AS {name}" for name, f in DUCK_EACH.items())
        duck.register("t", table)
        theirs = duck.sql(f"SELECT pos, {columns} FROM t").to_arrow_table().to_pylist()
        assert_same(each_row(ours(table, win.trailing(length), by)), theirs, f"{length} rows, by {by}, seed {seed}")


def test_sliding_time_equals_duckdb(duck):
    """DuckDB has no sliding windows: rows are joined with the starts of those they are in. No difference."""
    for seed in range(TABLES):
        rng, table = draw(2000 + seed)
        length, every = rng.randint(1, 30), rng.randint(1, 12)
        times = table["ts"].to_pylist()
        low, high = (min(times) - length) // every - 1, max(times) // every + 1
        by = rng.choice([[], ["k"]])
        keys = "k, " if by else ""
        duck.register("t", table)
        theirs = duck.sql(
            f'SELECT {keys} k_ * {every} AS start, k_ * {every} + {length} AS "end", {DUCK} FROM t '
            f"JOIN (SELECT unnest(range({low}, {high + 1})) AS k_) "
            f"ON ts >= k_ * {every} AND ts < k_ * {every} + {length} GROUP BY {keys} k_"
        )
        got = ours(table, win.sliding(micros(length), every=micros(every)), by)
        assert_same(got, theirs.to_arrow_table().to_pylist(), f"{length} every {every}, by {by}, seed {seed}")


def test_tumbling_time_equals_duckdb_time_bucket(duck):
    for seed in range(TABLES):
        rng, table = draw(3000 + seed)
        size, origin = rng.randint(1, 30), rng.randint(-50, 50)
        stamps = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us")))
        duck.register("t", stamps)
        theirs = duck.sql(
            f"SELECT epoch_us(time_bucket(INTERVAL '{size} microseconds', ts, make_timestamp({origin}))) AS start, "
            f'start + {size} AS "end", {DUCK} FROM t GROUP BY start'
        )
        got = ours(stamps, win.tumbling(micros(size), origin=origin), [])
        assert_same(got, theirs.to_arrow_table().to_pylist(), f"{size} from {origin}, seed {seed}")


# --------------------------------------------------------------------------------------------------- Polars


def polars_nulls(rows: list[dict]) -> list[dict]:
    """Polars' sum of no values is 0 and its join of no texts is empty: both are null in SQL, and here."""
    for row in rows:
        if row.pop("ni") == 0:
            row["s"] = None
        if row.pop("nw") == 0:
            row["c"] = None
    return rows


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
def test_trailing_time_equals_polars_rolling(closed):
    """Polars needs sorted times; peers come in together, as here. No difference."""
    for seed in range(TABLES // 4):
        rng, table = draw(4000 + seed, sorted_=True)
        length, by = rng.randint(1, 30), rng.choice([None, "k"])
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        rolled = frame.rolling("ts", period=f"{length}i", closed=closed, group_by=by).agg(pl.col("pos").last(), *POLARS)
        got = each_row(ours(table, win.trailing(micros(length), closed), [by] if by else []))
        # `pos` of Polars' last row is that of the last peer, so rows are told apart by key and time instead
        mine = _by_key(got, table, by)
        theirs = [{"k": row.get("k"), **row} for row in polars_nulls(rolled.to_dicts())]
        for row in theirs:
            row.pop("pos")
        assert_same(mine, theirs, f"closed {closed}, length {length}, by {by}, seed {seed}\n{table.to_pydict()}")


def _by_key(got: list[dict], table: pa.Table, by: str | None) -> list[dict]:
    times, keys = table["ts"].to_pylist(), table["k"].to_pylist()
    return [
        {"k": keys[row["pos"]] if by else None, "ts": times[row["pos"]], **{a: row[a] for a in OURS}} for row in got
    ]


def test_trailing_rows_equal_polars_rolling_rows():
    for seed in range(TABLES):
        rng, table = draw(5000 + seed, sorted_=True)
        length = rng.randint(1, 9)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        rolled = frame.rolling("pos", period=f"{length}i").agg(*POLARS)
        got = each_row(ours(table, win.trailing(length), []))
        assert_same(got, polars_nulls(rolled.to_dicts()), f"{length} rows, seed {seed}")


def test_sliding_time_equals_polars_group_by_dynamic():
    """One difference: Polars' first window is the one that its first row's truncated time begins; windows that began
    earlier and hold that row as well are left out by Polars, and reported here (as by Spark and Flink).
    """
    for seed in range(TABLES):
        rng, table = draw(6000 + seed, sorted_=True)
        length, every, by = rng.randint(1, 30), rng.randint(1, 12), rng.choice([None, "k"])
        stamps = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us")))
        frame = pl.from_arrow(stamps)
        assert isinstance(frame, pl.DataFrame)
        dynamic = frame.group_by_dynamic(
            "ts", every=f"{every}us", period=f"{length}us", closed="left", group_by=by, include_boundaries=True
        ).agg(*POLARS)
        dynamic = dynamic.drop("ts").rename({"_lower_boundary": "start", "_upper_boundary": "end"})
        theirs = polars_nulls(dynamic.with_columns(pl.col("start", "end").dt.epoch("us")).to_dicts())
        theirs = [row for row in theirs if row["n"]]
        firsts: dict = {}
        for row in table.to_pylist():
            firsts.setdefault(row["k"] if by else None, row["ts"] // every * every)
        got = ours(stamps, win.sliding(micros(length), every=micros(every)), [by] if by else [])
        mine = [row for row in got if row["start"] >= firsts[row.get("k")]]
        assert_same(mine, theirs, f"{length} every {every}, by {by}, seed {seed}\n{table.to_pydict()}")
