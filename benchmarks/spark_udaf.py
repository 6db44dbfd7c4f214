"""A user's own aggregate over trailing rows on Spark.

Asked: what a row costs for a volume-weighted price over the last 1,000 rows of its key: `windrow.Aggregate`, compiled,
against grouped-aggregate UDFs of Spark's over the same frame, through pandas and through Arrow. 10 keys, local[2].
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings, unmeasured
from benchmarks.on_spark import MEASURE, PACKAGES, Tables, Way, aim, bars, race, ratios, readings, session
from windrow import win

VWAP = windrow.Aggregate(
    lift=lambda price, volume: (price * volume, volume),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
    identity=(0.0, 0.0),
)


def over_frame(size: int, made: Callable[[], Any]) -> Callable[[Any], Any]:
    """A user-defined function of Spark's over the same frame."""

    def make(data: Any) -> Any:
        from pyspark.sql import Window

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = Window.partitionBy("k").orderBy("ts").rowsBetween(1 - size, 0)
            return data.withColumn("v", made()("x", "y").over(frame))

    return make


def pandas_udf() -> Any:
    import pandas as pd
    from pyspark.sql import functions as F

    def vwap(price, volume):
        return float((price * volume).sum() / volume.sum())

    vwap.__annotations__ = {"price": pd.Series, "volume": pd.Series, "return": float}  # how Spark tells its kind
    return F.pandas_udf(vwap, "double")  # type: ignore[call-overload]


def arrow_udf() -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

    def vwap(price, volume):
        return pc.sum(pc.multiply(price, volume)).as_py() / pc.sum(volume).as_py()

    vwap.__annotations__ = {"price": pa.Array, "volume": pa.Array, "return": float}
    return F.arrow_udf(vwap, "double")  # type: ignore[call-overload]


def run(settings: Settings) -> list[Row]:
    tables = Tables(session(), readings(settings.pick(2_000, 100_000, 1_000_000, 5_000_000), 10, settings.seed))
    size = settings.pick(10, 1_000, 1_000, 1_000)
    query = windrow.Query(time="ts", by="k", windows=win.trailing(size), aggregates={"v": VWAP("x", "y")})
    share = settings.pick(1.0, 0.1, 0.02, 0.01)
    ways = {"windrow": Way(query.run), "pandas UDF": Way(over_frame(size, pandas_udf), share)}
    ways["Arrow UDF"] = Way(over_frame(size, arrow_udf), share)
    return race(settings, tables, ways, {"case": f"{size:,} rows"})


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Twenty times each."""
    case = rows[0]["case"]
    ways = [way for way in dict.fromkeys(row["way"] for row in rows) if way != "windrow"]
    said = "20 times as fast as Spark's Python Aggregator over the same frame"
    none = unmeasured(said, "not measured: pyspark 4.3.0 as it is installed has no such class")
    return [*(aim(rows, case, way, 20.0) for way in ways), none]


EXPERIMENT = Experiment(
    name="spark-udaf",
    title="a user's own aggregate over trailing rows on Spark, µs a row",
    paper="none",
    expected="ours to set: 20x anything Spark offers",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost for an aggregate of the user's own over the last 1,000 rows of its key, against what "
    "Spark offers for it?",
    claims=claims,
)
