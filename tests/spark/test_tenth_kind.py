"""A kind of window that the library does not know (`tests.step.jumps`) runs on Spark, too: in batch and as a stream."""

from __future__ import annotations

import pyarrow as pa

from tests.spark.test_streams import through
from tests.step.test_tenth_kind import QUERY, brute, spelled, table


def rows() -> pa.Table:
    data = pa.table({name: column.tolist() for name, column in table().items()})
    return data.set_column(0, "ts", data["ts"].cast(pa.timestamp("us", "UTC")))


def test_batch(spark):
    got = spelled(QUERY.run(spark.createDataFrame(rows())).toArrow().to_pydict())
    assert set(got) == brute(table()) and len(got) == len(set(got)) > 20


def test_stream(spark, tmp_path):
    data = rows()
    ending = pa.table([pa.array([10**11], data["ts"].type), [0], [0], ["z"]], schema=data.schema)  # time goes on
    batches = [data.slice(0, 40), data.slice(40, 50), data.slice(90), ending]
    got, late = through(spark, tmp_path, QUERY, batches, restarts=(2,))
    told = spelled(got.to_pydict())
    assert set(told) == brute(table()) and len(told) == len(set(told)) and not late.num_rows
