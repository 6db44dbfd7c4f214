"""Periodic windows on Spark.

Asked: what a row costs in `win.sliding(range, every)` by key, against `groupBy(window(...))`, which copies each row
range/slide times; and 100 windows in one query against one. Max, count and mean, 10 keys, a row a second, local[2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings, unmeasured
from benchmarks.on_spark import BUSY, MEASURE, PACKAGES, Tables, Way, aim, bars, race, ratios, readings, session
from windrow import agg, win

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
    tables = Tables(session(), readings(settings.pick(2_000, 100_000, 1_000_000, 5_000_000), 10, settings.seed))
    rows: list[Row] = []
    shares = settings.pick(
        {10: 1.0}, {10: 1.0, 100: 0.2}, {10: 1.0, 100: 0.1, 1440: 0.02}, {10: 1.0, 100: 0.1, 1440: 0.02}
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


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The aims, at the sizes that were run."""
    return [
        aim(rows, "10 min every minute", "Spark's window()", 1.0),
        aim(rows, "100 min every minute", "Spark's window()", 10.0),
        aim(rows, "1440 min every minute", "Spark's window()", 100.0),
        hundred(rows),
    ]


def hundred(rows: Sequence[Row]) -> Claim:
    """100 windows in one query: the ratio is the other way round."""
    claim = aim(rows, "10 to 1,000 min", "windrow, 100 windows", 1.0)
    said = "100 windows take 3 times the time of one at most"
    if claim.holds is None:
        return unmeasured(said)
    times = float(claim.found.partition(" ")[0])
    return Claim(said, f"100 windows take {times:.1f} times the time of one", times <= 3, BUSY)


EXPERIMENT = Experiment(
    name="spark-periodic",
    title="periodic windows on Spark, µs a row",
    paper="none",
    expected="ours to set: as fast as window() at 10 min / 1 min, 10x at 100 min, 100x at 24 h; 100 windows 3x one",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost in a periodic window on Spark, against Spark's own window(), which copies each row "
    "range/slide times? And what do 100 windows cost against one?",
    claims=claims,
)
