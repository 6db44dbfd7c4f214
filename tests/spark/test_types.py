"""On a running Spark: decimals, durations, columns without a value, truth values, in windows of each kind of plan."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import windrow
from windrow import agg, win

pytestmark = pytest.mark.spark

START = dt.datetime(2024, 1, 1)
WINDOWS = {
    "tumbling": win.tumbling("1 minute"),
    "sliding": win.sliding("1 minute", every="30 seconds"),
    "session": win.session("1 minute"),
}
AGGREGATES = {
    "s": agg.sum("d"), "m": agg.mean("d"), "r": agg.value_range("d"), "us": agg.sum("u"), "um": agg.mean("u"),
    "all": agg.bool_and("b"), "none": agg.sum("nothing"), "tm": agg.mean("t"),
}  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
def test_decimals_durations_and_nulls(spark: Any, window: str) -> None:
    rows = [(START + dt.timedelta(seconds=s), Decimal(s) / 4, dt.timedelta(seconds=s), s > 1, None) for s in (1, 2, 5)]
    data = spark.createDataFrame(
        rows, "t timestamp, d decimal(10, 2), u interval day to second, b boolean, nothing int"
    )
    query = windrow.Query(time="t", windows=WINDOWS[window], aggregates=AGGREGATES)
    result = query.run(data)
    types = dict(result.dtypes)
    assert (types["s"], types["m"], types["us"], types["tm"]) == (
        "decimal(20,2)", "decimal(38,6)", "interval day to second", "timestamp",
    )  # fmt: skip
    for row in result.collect():
        assert (row["s"], row["m"], row["r"]) == (Decimal("2.00"), Decimal("0.666667"), Decimal("1.00"))
        assert (row["us"], row["um"]) == (dt.timedelta(seconds=8), dt.timedelta(microseconds=2_666_667))
        assert (row["all"], row["none"]) == (False, None)
    empty = query.run(data.limit(0))
    assert empty.schema == result.schema
    assert empty.collect() == []
