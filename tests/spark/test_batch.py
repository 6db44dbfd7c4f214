"""Queries over Spark DataFrames against the engine in this process, and against Spark's own windows."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow
from tests.query.own_windows import Bursts, LastRows, Marked, Quiet
from windrow import agg, swag, win
from windrow.errors import WindrowError
from windrow.spark import statistics

spread = windrow.Aggregate(
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
    identity=(math.inf, -math.inf),
    commutative=True,
)

#: of Spark's own, of a user's, not commutative, a sketch
ORDERED = {
    "total": agg.sum("i"),
    "most": agg.max("f"),
    "who": agg.max_by("w", "i"),
    "text": agg.concat("w"),
    "spread": spread("f2"),
    "about": agg.approx_count_distinct("w"),
}
#: the same in plain Python: compiling it for each kind of window takes minutes, and is tested elsewhere
PLAIN = {name: swag.counting(aggregate) for name, aggregate in ORDERED.items()}
IN_ANY_ORDER = {name: a for name, a in ORDERED.items() if name not in ("who", "text")}


def at_most_five(total, old):
    return total.n - old.n >= 5


ONCE = {
    "sliding": win.sliding("60 seconds", every="7 seconds"),
    "apart": win.sliding("2 seconds", every="5 seconds", origin="1 second"),
    "rows": win.sliding(10, every=3),
    "column": win.sliding(6, every=2, on="i2"),
    "session": win.session("4 seconds"),
    "punctuated": win.punctuated("f2 > 1.2"),
    "landmark": win.landmark("f2 > 1.2", every="3 seconds"),
    "last": win.last(3, every="10 seconds"),
    "last by time": win.last("9 seconds", every=4),
    "last by column": win.last(6, every="10 seconds", on="i2"),
    "own": win.user_defined(Bursts),
    "own by time": win.user_defined(Quiet(4_000_000)),
    "own by eviction": win.user_defined(Marked(4)),
    "own by both": win.user_defined(LastRows(3, 10_000_000)),
}
PER_ROW = {
    "trailing": win.trailing("9 seconds"),
    "both": win.trailing("9 seconds", closed="both"),
    "left": win.trailing("9 seconds", closed="left"),
    "rows": win.trailing(5),
    "policy": win.policy(at_most_five, over={"n": agg.count()}),
}


def rows(n: int = 500, seed: int = 0) -> pa.Table:
    """Ties, nulls, NaN, a key with most of the rows, times before 1970."""
    rng = np.random.default_rng(seed)
    f = np.round(rng.normal(size=n), 1)
    f[rng.random(n) < 0.05] = np.nan

    def holed(values, kind=None, share=0.1):
        return pa.array([None if rng.random() < share else v for v in values], kind)

    times = rng.integers(-100, 200, n) * 1_000_000
    return pa.table(
        {
            "ts": holed(times.tolist(), pa.int64(), 0.02).cast(pa.timestamp("us", "UTC")),
            "k": holed(rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05]).tolist()),
            "i": holed(rng.integers(-5, 9, n).tolist()),
            "i2": rng.integers(-20, 20, n),
            "f": holed(f.tolist()),
            "f2": np.round(rng.normal(size=n), 2),
            "w": holed(rng.choice(["x", "yy", "z", ""], n).tolist()),
            "flag": holed((rng.random(n) < 0.3).tolist()),
            "d": [datetime.date(2020, 1, 1 + int(v)) for v in rng.integers(0, 9, n)],
            "money": [Decimal(int(v)).scaleb(-2) for v in rng.integers(-999, 999, n)],
            "list": [[int(v), int(v) + 1] for v in rng.integers(0, 9, n)],
            "struct": [{"a": int(v), "b": str(v)} for v in rng.integers(0, 9, n)],
        }
    )


def plain(table: pa.Table) -> list[tuple]:
    """Rows without an order, comparable; floats to twelve digits."""

    def value(v):
        if isinstance(v, float):
            return "NaN" if v != v else f"{v + 0.0:.12g}"
        return repr(v)

    return sorted(tuple(value(row[name]) for name in sorted(row)) for row in table.to_pylist())


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def frame(spark, table):
    """The rows in several partitions, one of them empty, in their order."""
    half = spark.createDataFrame(table.slice(0, 200)).coalesce(1)
    rest = spark.createDataFrame(table.slice(200)).coalesce(1)
    return half.union(half.filter("false")).union(rest)


def check(query, frame, table):
    got = query.run(frame).toArrow()
    expected = query.run(table)
    assert got.column_names == expected.column_names
    assert plain(got) == plain(expected)
    return got


@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("kind", ONCE)
def test_windows_that_report_once(kind, by, frame, table):
    got = check(windrow.Query(time="ts", by=by, windows=ONCE[kind], aggregates=PLAIN), frame, table)
    assert got.num_rows > 0


@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("kind", PER_ROW)
def test_windows_that_report_with_each_row(kind, by, frame, table):
    got = check(windrow.Query(time="ts", by=by, windows=PER_ROW[kind], aggregates=PLAIN), frame, table)
    assert got.num_rows == table.num_rows


@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("windows", [win.trailing("9 seconds"), win.sliding("60 seconds", every="7 seconds")])
def test_compiled(windows, by, frame, table):
    """Labels travel with the partials of slices where there is no key."""
    check(windrow.Query(time="ts", by=by, windows=windows, aggregates=ORDERED), frame, table)


class Extremes:
    """As Spark's Python `Aggregator` is written: a buffer that is changed in place."""

    def zero(self):
        return []

    def reduce(self, buffer, value):
        return self.merge(buffer, [] if value is None else [value, value])

    def merge(self, a, b):
        values = [*a, *b]
        a[:] = [min(values), max(values)] if values else []
        return a

    def finish(self, buffer):
        return f"{buffer[0]} to {buffer[1]}" if buffer else "none"


def test_an_aggregator_of_sparks(frame, table):
    for windows in (win.trailing("9 seconds", closed="none"), win.sliding("60 seconds", every="7 seconds")):
        query = windrow.Query(time="ts", by="k", windows=windows, aggregates={"both": (Extremes, "i")})
        got = check(query, frame, table)
        assert any(both not in ("none", None) for both in got["both"].to_pylist())


@pytest.fixture(scope="module")
def many(spark):
    """200 random tables in one frame, told apart by a column."""
    tables = [rows(30, seed).select(["ts", "k", "i", "f"]) for seed in range(200)]
    numbers = [pa.array([i] * 30) for i in range(200)]
    both = pa.concat_tables([t.append_column("t", n) for t, n in zip(tables, numbers, strict=True)])
    both = both.append_column("row", pa.array(range(both.num_rows)))
    return spark.createDataFrame(both).filter("ts is not null").repartition(4).sortWithinPartitions("row").cache()


#: in plain Python, as above
ALIKE = {
    "total": (agg.sum("i"), lambda F: F.sum("i")),
    "most": (agg.max("f"), lambda F: F.max("f")),
    "least": (agg.min("f"), lambda F: F.min("f")),
    "rows": (agg.count("i"), lambda F: F.count("i")),
    "mean": (agg.mean("i"), lambda F: F.avg("i")),
    "spread": (agg.stddev("i"), lambda F: F.stddev("i")),
}


def test_periodic_windows_equal_sparks_own(many):
    from pyspark.sql import functions as F

    query = windrow.Query(
        time="ts", by=["t", "k"], windows=win.sliding("60 seconds", every="7 seconds"),
        aggregates={name: swag.counting(ours) for name, (ours, _) in ALIKE.items()},
    )  # fmt: skip
    theirs = many.groupBy("t", "k", F.window("ts", "60 seconds", "7 seconds").alias("w"))
    theirs = theirs.agg(*[make(F).alias(name) for name, (_, make) in ALIKE.items()])
    theirs = theirs.select("t", "k", F.col("w.start").alias("start"), F.col("w.end").alias("end"), *ALIKE)
    assert plain(query.run(many).toArrow()) == plain(theirs.toArrow())


def test_trailing_windows_equal_sparks_own(many):
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    seconds = Window.partitionBy("t", "k").orderBy(F.unix_micros("ts"))
    frames = {
        win.trailing("9 seconds", closed="both"): seconds.rangeBetween(-9_000_000, 0),
        win.trailing(5): Window.partitionBy("t", "k").orderBy("ts", "row").rowsBetween(-4, 0),
    }
    for window, frame in frames.items():
        query = windrow.Query(
            time="ts",
            by=["t", "k"],
            windows=window,
            aggregates={name: swag.counting(ours) for name, (ours, _) in ALIKE.items()},
        )
        theirs = many.select("*", *[make(F).over(frame).alias(name) for name, (_, make) in ALIKE.items()])
        in_order = many.coalesce(1).sortWithinPartitions("row")  # ties are broken by the input's own order
        assert plain(query.run(in_order).toArrow()) == plain(theirs.toArrow())


@pytest.mark.parametrize("by", [None, ["k", "i"]])
def test_partials_alone_are_exchanged(by, frame, table):
    windows = {name: ONCE[name] for name in ("sliding", "apart", "session")}
    query = windrow.Query(time="ts", by=by, windows=windows, aggregates=IN_ANY_ORDER)
    check(query, frame.repartition(3), table)
    plan = query.run(frame)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1 and "Expand" not in plan
    assert "partials" in query.explain(frame)


def test_several_windows_in_one_pass(frame, table):
    windows = {f"w{i}": win.sliding(f"{i} seconds", every="2 seconds") for i in range(1, 30)}
    check(windrow.Query(time="ts", by="k", windows=windows, aggregates={"n": agg.count()}), frame, table)
    trailing = {f"w{i}": win.trailing(f"{i} seconds") for i in (1, 10)}
    check(windrow.Query(time="ts", by="k", windows=trailing, aggregates={"n": agg.count()}), frame, table)


def test_types_pass_through(frame, table):
    aggregates = {
        "money_sum": agg.sum("money"),
        "money_max": agg.max("money"),
        "day": agg.max("d"),
        "when": agg.last("ts"),
        "lists": agg.max_by("list", "f2"),
        "structs": agg.max_by("struct", "f2"),
        "all": agg.collect_list("i"),
        "sum": agg.sum("i"),
    }
    for windows in (win.trailing("9 seconds"), win.tumbling("20 seconds")):
        check(windrow.Query(time="ts", by="k", windows=windows, aggregates=aggregates), frame, table)


def test_other_time_columns(spark, table):
    ticks = table["ts"].cast(pa.int64())
    for kind in (pa.int64(), pa.timestamp("us")):
        other = table.select(["k", "i", "f2"]).append_column("ts", ticks.cast(kind))
        frame = spark.createDataFrame(other)
        if kind != pa.int64():
            frame = frame.withColumn("ts", frame.ts.cast("timestamp_ntz"))
        for windows in (win.trailing("9 seconds"), win.sliding("9 seconds", every="2 seconds")):
            for by in (None, "k"):
                check(windrow.Query(time="ts", by=by, windows=windows, aggregates={"n": agg.sum("i")}), frame, other)
    days = table.select(["d", "i"])
    frame = spark.createDataFrame(days)
    for windows in (win.trailing("2 days"), win.tumbling("2 days")):
        check(windrow.Query(time="d", windows=windows, aggregates={"n": agg.sum("i")}), frame, days)


def test_keys_that_are_equal_and_do_not_look_so(spark):
    odd = pa.table({"ts": [1, 2, 3, 4, 5, 6], "k": [0.0, -0.0, math.nan, -math.nan, None, 1.0], "x": [1] * 6})
    frame = spark.createDataFrame(odd).repartition(3)
    for windows in (win.tumbling("1 second"), win.trailing(9), win.trailing("1 second")):
        query = windrow.Query(time="ts", by="k", windows=windows, aggregates={"n": agg.sum("x")})
        got = sorted(query.run(frame).toArrow()["n"].to_pylist())
        assert got == ([1, 1, 2, 2] if not query.per_row else [1, 1, 1, 1, 2, 2])


def test_what_is_done_with_answers_does_not_go_ahead_of_them(frame, table):
    """A row's answer is of the rows before it: filters, aggregates and limits over the result wait for it."""
    from pyspark.sql import functions as F

    for windows in (win.trailing(4), win.trailing("9 seconds")):
        query = windrow.Query(
            time="ts", by="k", windows=windows, aggregates={"n": agg.count(), "text": agg.concat("w")}
        )
        expected = query.run(table)
        got = query.run(frame)
        few = got.filter("i > 2").toArrow()
        assert few.num_rows and counted(few) == counted(expected.filter(pc.field("i") > 2))
        longest = got.groupBy("k").agg(F.max("n").alias("n")).toArrow()
        most = expected.group_by("k").aggregate([("n", "max")])
        assert dict(zip(*map(pa.ChunkedArray.to_pylist, (longest["k"], longest["n"])), strict=True)) == dict(
            zip(*map(pa.ChunkedArray.to_pylist, (most["k"], most["n_max"])), strict=True)
        )
        assert not counted(got.limit(7).toArrow()) - counted(expected)
        assert counted(got.select("text").toArrow(), "text") == counted(expected, "text")


def counted(rows: pa.Table, *columns: str) -> Counter:
    return Counter(map(str, rows.select(columns or ["k", "i", "n", "text"]).to_pylist()))


def test_no_column_is_read(frame, table):
    got = windrow.Query(windows=win.trailing(3), aggregates={"n": agg.count()}).run(frame.coalesce(1)).toArrow()
    assert got["n"].to_pylist() == [1, 2, *[3] * (table.num_rows - 2)]


def test_no_rows(frame, table):
    none = frame.filter("false")
    for windows in (win.trailing("9 seconds"), win.tumbling("20 seconds"), win.tumbling(3)):
        got = windrow.Query(time="ts", by="k", windows=windows, aggregates=PLAIN).run(none)
        assert got.toArrow().num_rows == 0 and got.columns[-1] == "about"


def test_what_is_wrong_is_said_before_any_row_is_read(frame):
    with pytest.raises(WindrowError, match=r"no column 'y'.*ts, k, i"):
        windrow.Query(windows=win.trailing(3), aggregates={"n": agg.sum("y")}).run(frame)
    with pytest.raises(WindrowError, match="a column 'i' already"):
        windrow.Query(windows=win.trailing(3), aggregates={"i": agg.sum("i")}).run(frame)
    with pytest.raises(WindrowError, match="number is needed"):
        windrow.Query(windows=win.trailing(3), aggregates={"n": agg.sum("w")}).run(frame)


def test_a_giant_key(spark, monkeypatch):
    """More rows than a chunk has: streamed through one worker with a key, cut into parts without."""
    n = 300_000
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 10**12, n))
    big = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": [1] * n, "x": rng.integers(0, 99, n)})
    frame = spark.createDataFrame(big).repartition(4)
    monkeypatch.setattr(statistics, "WORTH", 1000)
    aggregates = {"n": agg.sum("x"), "most": agg.max("x")}
    for windows in (win.trailing(1000), win.trailing("1 hour"), win.sliding(1000, every=300)):
        for by in (None, "k"):
            query = windrow.Query(time="ts", by=by, windows=windows, aggregates=aggregates)
            got, expected = query.run(frame).toArrow(), query.run(big)
            order = [(name, "ascending") for name in expected.column_names]
            assert got.sort_by(order).equals(expected.cast(got.schema).sort_by(order)), query
            if by is None and windows == win.trailing(1000):
                assert "parts of time" in query.explain(frame)


def test_rejected_rows_can_be_had(frame, table):
    query = windrow.Query(time="ts", by="k", windows=win.sliding(6.0, every=2.0, on="f"), aggregates={"n": agg.count()})
    query.run(table)
    assert windrow.spark.rejected(query, frame).count() == query.report.rejected > 0


def test_sessions_are_those_of_spark(spark):
    """A row exactly a gap after the last one joins: by slices, by rows, and in Spark's own session_window."""
    from pyspark.sql import functions as F

    start = datetime.datetime(2024, 5, 1)
    rows = [(start + datetime.timedelta(seconds=s), 0, i) for i, s in enumerate([0, 4, 8, 13, 17, 30, 34, 39])]
    frame = spark.createDataFrame(rows, "ts timestamp_ntz, k int, x int").repartition(3)
    theirs = frame.groupBy("k", F.session_window("ts", "4 seconds")).agg(F.sum("x").alias("s"))
    expected = theirs.select("session_window.start", "session_window.end", "s").orderBy("start").collect()
    for more in ({}, {"first": agg.first("x")}):
        aggregates = {"s": agg.sum("x"), **more}
        query = windrow.Query(time="ts", by="k", windows=win.session("4 seconds"), aggregates=aggregates)
        got = query.run(frame).select("start", "end", "s").orderBy("start").collect()
        assert got == expected and len(got) == 4


def test_a_null_along_one_column_leaves_other_windows_alone(spark):
    data = pa.table({"ts": pa.array(range(6), pa.timestamp("us")), "km": [1.0, None, 12.0, 13.0, math.inf, 25.0]})
    windows = {"rows": win.tumbling(2), "time": win.tumbling("3 us"), "km": win.tumbling(10.0, on="km")}
    query = windrow.Query(time="ts", windows=windows, aggregates={"n": agg.count()})
    got = query.run(spark.createDataFrame(data)).toArrow()
    pairs = list(zip(got["window"].to_pylist(), got["n"].to_pylist(), strict=True))
    counts = {name: sorted(n for window, n in pairs if window == name) for name in windows}
    assert counts == {"rows": [2, 2, 2], "time": [3, 3], "km": [1, 1, 2]}
    assert query.run(data).num_rows == got.num_rows and query.report.rejected == 2


def test_integer_times_say_what_they_count(spark):
    """By slices and by rows; without a unit, what looks like seconds is refused before anything runs."""
    seconds = pa.table({"t": pa.array([1_714_521_600 + s for s in (0, 30, 60, 200)], pa.int64()), "x": [1, 2, 3, 4]})
    frame = spark.createDataFrame(seconds)
    for aggregates in ({"s": agg.sum("x")}, {"s": agg.sum("x"), "first": agg.first("x")}):
        windows = win.tumbling("1 minute")
        query = windrow.Query(time="t", time_unit="s", windows=windows, aggregates=aggregates)
        got, expected = query.run(frame).toArrow().sort_by("start"), query.run(seconds)
        assert got.to_pydict() == expected.to_pydict()
        with pytest.raises(WindrowError, match="time_unit='s'"):
            windrow.Query(time="t", windows=windows, aggregates=aggregates).run(frame)
    with pytest.raises(WindrowError, match="Spark counts time in microseconds"):
        windrow.Query(time="t", time_unit="ns", windows=win.tumbling(2), aggregates=aggregates).run(frame)
