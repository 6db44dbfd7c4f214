"""Periodic windows on Spark.

Asked: what a row costs in `win.sliding(range, every)` by key, against `groupBy(window(...))`, which copies each row
range/slide times, and against its tumbling minute, which is what folding rows into slices takes; from Parquet and from
cache, with rows folded by Spark and in Python; and 100 windows in one query against one. Max, count and mean, 10 keys,
a row a second, local[2].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import windrow
from benchmarks.base import Claim, Experiment, Row, Settings, unmeasured
from benchmarks.on_spark import BUSY, MEASURE, PACKAGES, Tables, Way, aim, bars, race, ratios, readings, session
from windrow import agg, win

#: how much of its speed the tumbling minute may keep ahead
TIMES = round(1 / 1.5, 2)
TUMBLING, IN_PYTHON, CACHED = "Spark's tumbling minute", "windrow, folded in Python", "10 min every minute, from cache"
AGGREGATES = {"most": agg.max("x"), "rows": agg.count("x"), "mean": agg.mean("x")}


def own(minutes: int) -> Any:
    def make(data: Any) -> Any:
        from pyspark.sql import functions as F

        return data.groupBy("k", F.window("ts", f"{minutes} minutes", "1 minute")).agg(
            F.max("x"), F.count("x"), F.avg("x")
        )

    return make


def tumbling(data: Any) -> Any:
    """What is the least that can be asked for: one-minute slices, and no windows of them."""
    return own(1)(data)


def folded(windows: Any, fold: str) -> Any:
    def make(data: Any) -> Any:
        import windrow.spark

        return windrow.spark.run(declared(windows), data, fold=fold)

    return make


def declared(windows: Any) -> windrow.Query:
    return windrow.Query(time="ts", by="k", windows=windows, aggregates=AGGREGATES)


def query(windows: Any) -> Any:
    return declared(windows).run


def run(settings: Settings) -> list[Row]:
    tables = Tables(session(), readings(settings.pick(2_000, 100_000, 1_000_000, 5_000_000), 10, settings.seed))
    rows: list[Row] = []
    shares = settings.pick(
        {10: 1.0}, {10: 1.0, 100: 0.2}, {10: 1.0, 100: 0.1, 1440: 0.02}, {10: 1.0, 100: 0.1, 1440: 0.02}
    )
    for minutes, share in settings.track(list(shares.items()), "spark-periodic"):
        window = win.sliding(f"{minutes} minutes", every="1 minute")
        ways = {
            "windrow": Way(query(window)),
            IN_PYTHON: Way(folded(window, "python")),
            TUMBLING: Way(tumbling),
            "Spark's window()": Way(own(minutes), share),
        }
        rows += race(settings, tables, ways, {"case": f"{minutes} min every minute"})
    cached = tables.of(1.0).cache()
    window = win.sliding("10 minutes", every="1 minute")
    ways = {"windrow": Way(query(window)), TUMBLING: Way(tumbling), "Spark's window()": Way(own(10))}
    rows += race(settings, tables, ways, {"case": CACHED})
    cached.unpersist(blocking=True)
    many = {f"w{i}": win.sliding(f"{10 + 10 * i} minutes", every=f"{1 + i % 20} minutes") for i in range(100)}
    ways = {"windrow": Way(query({"w0": many["w0"]})), "windrow, 100 windows": Way(query(many))}
    return rows + race(settings, tables, ways, {"case": "10 to 1,000 min"})


def notes(rows: Sequence[Row]) -> list[str]:
    return ratios(rows, "case")


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The aims, at the sizes that were run."""
    return [
        aim(rows, "10 min every minute", "Spark's window()", 4.0),
        *(aim(rows, f"{minutes} min every minute", TUMBLING, TIMES) for minutes in (10, 100, 1440)),
        aim(rows, CACHED, TUMBLING, TIMES),
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
    expected="ours to set: 1.5x the time of Spark's tumbling minute at any range, 4x as fast as window() at 10 min / 1 "
    "min, 10x at 100 min, 100x at 24 h; 100 windows 3x one",
    run=run,
    draw=bars(MEASURE),
    notes=notes,
    measure=MEASURE,
    peers=PACKAGES,
    asked="What does a row cost in a periodic window on Spark, against Spark's own window(), which copies each row "
    "range/slide times? And what do 100 windows cost against one?",
    claims=claims,
)
