"""Rows that Spark's own functions fold into slices: the same answers as ours, on random tables; who folds, and why."""

from __future__ import annotations

import datetime
import math
import re

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow import agg, win
from windrow.errors import WindrowError

NEAR = [2**63 - 1, -(2**63), 2**62, -(2**62), 3, -7]
WINDOWS = {
    "sliding": win.sliding("60 seconds", every="7 seconds"),
    "apart": win.sliding("2 seconds", every="5 seconds", origin="1 second"),
    "far": win.sliding("15 seconds", every="10 seconds", origin="100000 days"),
    "session": win.session("4 seconds"),
}
NUMBERS = {
    "n": agg.count(),
    "nf": agg.count("f"),
    "total": agg.sum("f"),
    "whole": agg.sum("i"),
    "mean": agg.mean("f"),
    "far_mean": agg.mean("big"),
    "most": agg.max("f"),
    "least": agg.min("big"),
    "width": agg.value_range("i"),
}
OTHERS = {
    "pair": agg.count("f", "i"),
    "far_most": agg.max("big"),
    "least": agg.min("f"),
    "truths": agg.sum("flag"),
    "any": agg.bool_or("flag"),
    "all": agg.bool_and("i"),
    "yes": agg.max("flag"),
    "day": agg.max("d"),
    "when": agg.min("ts"),
    "mid": agg.mean("ts"),
    "length": agg.value_range("ts"),
    "width": agg.value_range("f"),
    "root": agg.geometric_mean("f"),
    "weighted": agg.weighted_mean("f2", "i"),
}


def rows(seed: int, n: int = 30) -> dict[str, list]:
    """A random table: nulls, NaN, infinities, ties, times before 1970, ints near the limits, constants."""
    rng = np.random.default_rng(seed)

    def holed(values, share=0.1):
        return [None if rng.random() < share else v for v in values]

    f = np.round(rng.normal(size=n), 1)
    f[rng.random(n) < 0.05] = np.nan
    f[rng.random(n) < 0.02] = rng.choice([np.inf, -np.inf])
    f[rng.random(n) < 0.05] = -0.0
    times = rng.integers(-60_000_000, 60_000_000, n) if seed % 2 else rng.integers(-60, 60, n) * 1_000_000
    return {
        "t": [seed] * n,
        "ts": holed(times.tolist(), 0.03),
        "k": holed(rng.choice(["a", "b"], n).tolist()),
        "i": holed(rng.integers(-5, 9, n).tolist()),
        "big": holed([NEAR[j] for j in rng.integers(0, len(NEAR), n)]),
        "f": holed(f.tolist()),
        "f2": holed((np.round(rng.normal(size=n), 2) + rng.choice([0, 1e6])).tolist()),
        "flag": holed((rng.random(n) < 0.5).tolist()),
        "d": holed([datetime.date(1969, 12, 28) + datetime.timedelta(int(v)) for v in rng.integers(0, 9, n)]),
    }


def tables(count: int, first: int = 0) -> pa.Table:
    """Many random tables as one, told apart by a column."""
    both: dict[str, list] = {}
    for seed in range(first, first + count):
        for name, values in rows(seed).items():
            both.setdefault(name, []).extend(values)
    times = pa.array(both.pop("ts"), pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, **{name: pa.array(values) for name, values in both.items()}})


def told(table: pa.Table, by: list[str]) -> dict[tuple, dict]:
    """Results by window."""
    rows = table.to_pylist()
    names = [name for name in (*by, "window", "start", "end") if name in table.column_names]
    found = {tuple(str(row[name]) for name in names): row for row in rows}
    assert len(found) == len(rows)
    return found


def assert_alike(got: pa.Table, expected: pa.Table, by: list[str]) -> None:
    """Floats to what rounding explains, all else exactly."""
    assert got.column_names == expected.column_names
    mine, theirs = told(got, by), told(expected, by)
    assert mine.keys() == theirs.keys()
    for window, row in theirs.items():
        for name, value in row.items():
            other = mine[window][name]
            if isinstance(value, float) and isinstance(other, float):
                alike = math.isclose(value, other, rel_tol=1e-8, abs_tol=1e-9) or (value != value and other != other)
            else:
                alike = value == other
            assert alike, (window, name, other, value)


def check(spark, table: pa.Table, aggregates, windows, by: list[str], folds=("spark",)) -> None:
    query = windrow.Query(time="ts", by=by, windows=windows, aggregates=aggregates, compile="never")
    frame = spark.createDataFrame(table).repartition(3)
    expected = query.run(table)
    for fold in folds:
        assert_alike(windrow.spark.run(query, frame, fold=fold).toArrow(), expected, by)


def test_random_tables(spark):
    check(spark, tables(30), NUMBERS, WINDOWS, ["t", "k"])


@pytest.mark.slow
@pytest.mark.parametrize("aggregates", [NUMBERS, OTHERS])
@pytest.mark.parametrize("by", [["t", "k"], ["t"], []])
@pytest.mark.parametrize("windows", [WINDOWS, *({name: w} for name, w in WINDOWS.items())])
def test_300_random_tables(spark, aggregates, by, windows):
    check(spark, tables(300, 1000), aggregates, windows, by, ("spark", "python"))


def frame_of(spark, times: list, kind: str):
    return spark.createDataFrame([(t, 1) for t in times], f"ts {kind}, x long")


COUNT = {"n": agg.count(), "x": agg.sum("x")}


def steps(text: str) -> list[list[str]]:
    return [line.split(None, 2)[1:] for line in text.split("\n\n")[1].splitlines()]


def test_no_row_goes_to_python(spark):
    frame = frame_of(spark, [1, 2], "long")
    query = windrow.Query(time="ts", windows=win.tumbling("1 minute"), aggregates=COUNT)
    plan = windrow.spark.physical_plan(query, frame, "simple")
    assert len(re.findall("MapInArrow ", plan)) == 1 and plan.index("MapInArrow") < plan.index("HashAggregate")
    assert "Expand" not in plan and len(re.findall("Exchange ", plan)) == 2
    assert ["Spark", "folds the rows of each (key, slice) into one partial: count(), sum(x)"] in steps(
        query.explain(frame)
    )
    assert "partials twice" in query.explain(frame)


def test_who_folds_and_why(spark):
    frame = frame_of(spark, [1, 2], "long")
    windows = win.tumbling("1 minute")
    own = windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0, commutative=True, name="mine")
    for aggregates, why in (
        ({"y": own("x")}, "mine(x) has no form"),
        ({"y": agg.stddev("x")}, "stddev(x) has no form"),
        ({"y": agg.last("x")}, "order of rows"),
    ):
        query = windrow.Query(time="ts", windows=windows, aggregates={**COUNT, **aggregates})
        with pytest.raises(WindrowError, match=re.escape(why)):
            windrow.spark.run(query, frame, fold="spark")
        if "mine" in why:
            assert why in windrow.spark.explain(query, frame)
    query = windrow.Query(time="ts", windows=windows, aggregates=COUNT)
    assert "fold='python' asks for it" in windrow.spark.explain(query, frame, fold="python")
    with pytest.raises(WindrowError, match="fold is one of"):
        windrow.spark.run(query, frame, fold="scala")
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts").withColumnRenamed("value", "x")
    with pytest.raises(WindrowError, match="rows of a stream"):
        windrow.spark.run(query, stream, fold="spark")


@pytest.mark.parametrize("kind", ["long", "timestamp_ntz", "date"])
def test_times_of_each_type(kind, spark):
    day = datetime.datetime(1969, 12, 31)
    times = [-86400, 86400 * 3, 0] if kind == "long" else [day, day + datetime.timedelta(4), day]
    frame = frame_of(spark, [t.date() if kind == "date" else t for t in times], kind)
    query = windrow.Query(
        time="ts", windows=win.tumbling("2 days"), aggregates=COUNT, time_unit="s" if kind == "long" else None
    )
    assert_alike(windrow.spark.run(query, frame, fold="spark").toArrow(), query.run(frame.toArrow()), [])


def test_bad_rows_are_errors(spark):
    query = windrow.Query(time="ts", windows=win.tumbling("1 minute"), aggregates=COUNT, strict=True)
    with pytest.raises(Exception, match="rows without a time in 'ts'"):
        query.run(frame_of(spark, [1, None], "long")).collect()
    for time in (2**63 - 1, -(2**63)):
        with pytest.raises(Exception, match="too far from 1970"):
            query.run(frame_of(spark, [1, time], "long")).collect()
    whole = windrow.Query(time="ts", windows=win.tumbling("1 minute"), aggregates={"x": agg.sum("x")})
    large = spark.createDataFrame([(1, 2**62), (2, 2**62)], "ts long, x long")
    with pytest.raises(Exception, match=r"does not fit a 64-bit integer \(window"):
        whole.run(large).collect()
