"""Periodic windows on Spark.

Asked: what a row costs in `win.sliding(range, every)` by key, against `groupBy(window(...))`, which copies each row
range/slide times; and 100 windows in one query against one. Max, count and mean, 10 keys, a row a second, local[2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import windrow
from windrow import agg, win
from windrow.bench.base import Experiment, Row, Settings
from windrow.bench.on_spark import MEASURE, PACKAGES, Tables, Way, bars, race, ratios, readings, session

AGGREGATES = {"most": agg.max("x"), "rows": agg.count("x"), "mean": agg.mean("x")}


def own(minutes: int) -> Any:
    def make(data: Any) -> Any:
        from pyspark.sql import functions as F

        return data.groupBy("k", F.window("ts", f"{minutes} minutes", "1 minute")).agg(
            F.max("x"), F.count("x"), F.avg("x")
        )

    return make


def query(windows: Any) -> Any:
    return windrow.Query(time="ts", by="k", windows=windows, aggregates=AGGREGATES).run


def run(settings: Settings) -> list[Row]:
    tables = Tables(session(), readings(settings.pick(2_000, 200_000, 1_000_000, 5_000_000), 10, settings.seed))
    rows: list[Row] = []
    shares = settings.pick(
        {10: 1.0}, {10: 1.0, 100: 0.1}, {10: 1.0, 100: 0.1, 1440: 0.02}, {10: 1.0, 100: 0.1, 1440: 0.02}
    )
    for minutes, share in settings.track(list(shares.items()), "spark-periodic"):
        ways = {
            "windrow": Way(query(win.sliding(f"{minutes} minutes", every="1 minute"))),
            "Spark's window()": Way(own(minutes), share),
        }
        rows += race(settings, tables, ways, {"case": f"{minutes} min every minute"})
    many = {f"w{i}": win.sliding(f"{10 + 10 * i} minutes", every=f"{1 + i % 20} minutes") for i in range(100)}
    ways = {"windrow": Way(query({"w0": many["w0"]})), "windrow, 100 windows": Way(query(many))}
    return rows + race(settings, tables, ways, {"case": "10 to 1,000 min"})


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


EXPERIMENT = Experiment(
    name="spark-periodic",
    title="periodic windows on Spark, µs a row",
    paper="none",
    expected="ours to set: 10x window() at 100 min / 1 min, 100x at 24 h / 1 min; 100 windows 3x the time of one",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
)
