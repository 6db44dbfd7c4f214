"""Windows by the calendar of a time zone on Spark: the same answers as in this process, in batch and in streams."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow
from tests.spark.test_streams import plain, through
from windrow import agg, win

DAY = 86_400 * 10**6
#: around a change of clocks in Berlin
START = 1_711_000_000 * 10**6
WINDOWS = {
    "month": win.tumbling("1 month", tz="Europe/Berlin"),
    "days": win.sliding("1 month", every="1 day", tz="Europe/Berlin"),
    "trailing": win.trailing("1 month", tz="Europe/Berlin"),
    "landmark": win.landmark("x % 20 == 3", every="1 week", tz="Europe/Berlin"),
}


def table(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(5)
    times = START + np.sort(rng.integers(-60 * DAY, 60 * DAY, n))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": rng.choice(["a", "b", "c"], n),
            "x": np.arange(n),
        }
    )


def query(kind: str, **options) -> windrow.Query:
    aggregates = {"n": agg.count(), "s": agg.sum("x"), "top": agg.max("x")}
    return windrow.Query(time="ts", by=["k"], windows=WINDOWS[kind], aggregates=aggregates, **options)


@pytest.mark.parametrize("kind", WINDOWS)
def test_batch(kind, spark):
    rows, asked = table(), query(kind)
    frame = spark.createDataFrame(rows).repartition(3)
    assert plain(asked.run(frame).toArrow()) == plain(asked.run(rows))


@pytest.mark.parametrize("kind", ["month", "trailing"])
def test_stream(kind, spark, tmp_path):
    rows, asked = table(), query(kind, lateness="2 days")
    end = pa.table({"ts": pa.array([START + 900 * DAY], rows["ts"].type), "k": ["end"], "x": [0]}, schema=rows.schema)
    parts = [*(rows.slice(a, 100) for a in range(0, 300, 100)), end]
    sent, late = through(spark, tmp_path, asked, parts, (1,))
    assert not late.num_rows
    assert plain(sent.filter(pc.not_equal(sent["k"], "end"))) == plain(asked.run(rows))
