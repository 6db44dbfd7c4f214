"""`where=` and `windrow.expr` on a running Spark: from slices, from rows, beside rows, and as a stream."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow
from tests.spark.test_streams import through
from windrow import agg, win

SECOND = 1_000_000
WINDOWS = {"slices": win.tumbling("10 seconds"), "rows": win.session("2 seconds"), "beside": win.trailing("4 seconds")}
AGGREGATES = {
    "n": agg.count(where="kind = 'sale'"),
    "v": agg.sum(windrow.expr("coalesce(x, 0) * 2"), where="ts >= '1970-01-01 00:00:03'"),
    "who": agg.max_by("kind", windrow.expr("abs(x - 5)"), where="x <> 3"),
    "low": agg.min(windrow.expr("lower(kind)")),
    "own": agg.count(where=lambda row: row.x is not None and row.x % 2 == 0),
}


def rows() -> pa.Table:
    n = 60
    return pa.table(
        {
            "ts": pa.array([(i * 7 // 4) * SECOND for i in range(n)], pa.timestamp("us", "UTC")),
            "k": pa.array([i % 3 for i in range(n)]),
            "x": pa.array([None if i % 7 == 2 else (i * 5) % 11 for i in range(n)]),
            "kind": pa.array([None if i % 9 == 4 else ["sale", "Refund", "other"][(i // 2) % 3] for i in range(n)]),
        }
    )


def listed(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


@pytest.mark.parametrize("kind", WINDOWS)
def test_batch(spark: Any, kind: str) -> None:
    query = windrow.Query(time="ts", by="k", windows=WINDOWS[kind], aggregates=AGGREGATES, compile="never")
    result = query.run(spark.createDataFrame(rows()))
    expected = query.run(rows())
    found = result.toArrow()
    assert found.column_names == expected.column_names
    assert listed(found) == listed(expected.cast(found.schema))


def test_stream(spark: Any, tmp_path: Any) -> None:
    query = windrow.Query(time="ts", by="k", windows=WINDOWS["slices"], aggregates=AGGREGATES)
    data = rows()
    ending = pa.table([pa.array([10**11], data["ts"].type), [9], [0], ["z"]], schema=data.schema)  # time goes on
    got, late = through(spark, tmp_path, query, [data.slice(0, 25), data.slice(25), ending], restarts=(1,))
    expected = query.run(data)
    assert listed(got.select(expected.column_names)) == listed(expected.cast(got.select(expected.column_names).schema))
    assert not late.num_rows
