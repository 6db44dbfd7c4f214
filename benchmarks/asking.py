"""Windows at the rows of a second table: `run(events, at=labels)` against DuckDB and Polars.

Asked: how long it takes to answer count, sum and max of the days before each label, and whether that grows with the
days. The peers get the formulation that is fastest there: both tables below one another, a window function with a
range frame (DuckDB) or a rolling group (Polars), then the labels' rows alone. A range join takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import at_most, medians
from benchmarks.timing import interleaved
from windrow import agg, win

DAYS = (1, 30)
DAY = 86_400_000_000


def tables(events: int, labels: int, keys: int, seed: int) -> tuple[Any, Any]:
    """90 days of events in the order of time, and labels in none."""
    import polars as pl

    rng = np.random.default_rng(seed)
    rows = {"ts": np.sort(rng.integers(0, 90 * DAY, events)), "k": rng.integers(0, keys, events)}
    asks = {"ts": rng.integers(0, 90 * DAY, labels), "k": rng.integers(0, keys, labels)}
    stamp = pl.col("ts").cast(pl.Datetime("us"))
    return pl.DataFrame({**rows, "x": rng.random(events)}).with_columns(stamp), pl.DataFrame(asks).with_columns(stamp)


def with_windrow(events: Any, labels: Any, days: int) -> Any:
    query = windrow.Query(
        time="ts", by="k", windows=win.trailing(f"{days} days", closed="left"),
        aggregates={"n": agg.count(), "s": agg.sum("x"), "m": agg.max("x")},
    )  # fmt: skip
    return query.run(events, at=labels)


def with_polars(events: Any, labels: Any, days: int) -> Any:
    import polars as pl

    asks = labels.with_row_index("id").with_columns(pl.lit(None, pl.Float64).alias("x"))
    both = pl.concat([events.with_columns(pl.lit(None, pl.UInt32).alias("id")), asks.select("ts", "k", "x", "id")])
    both = both.sort("k", "ts")
    rolling = both.rolling("ts", period=f"{days}d", closed="left", group_by="k")
    answers = rolling.agg(pl.col("x").count().alias("n"), pl.col("x").sum().alias("s"), pl.col("x").max().alias("m"))
    return answers.with_columns(both["id"]).filter(pl.col("id").is_not_null()).sort("id")


def with_duckdb(events: Any, labels: Any, days: int) -> Any:
    import duckdb

    frame = (
        f"partition by k order by ts range between interval {days} days preceding and interval 1 microsecond preceding"
    )
    answered: Any = duckdb.sql(f"""
        select * from (
            select id, count(x) over w as n, sum(x) over w as s, max(x) over w as m
            from (select ts, k, x, null as id from events
                  union all select ts, k, null, row_number() over () - 1 from labels)
            window w as ({frame})
        ) where id is not null order by id""")
    return answered.pl()


LIBRARIES: dict[str, Callable[[Any, Any, int], Any]] = {
    "windrow": with_windrow, "duckdb": with_duckdb, "polars": with_polars,
}  # fmt: skip


def agrees(one: Any, other: Any) -> bool:
    """The same counts, and sums and maxima up to rounding."""
    sums = np.allclose(one["s"].fill_null(0).to_numpy(), other["s"].fill_null(0).to_numpy())
    return bool(sums and one["n"].to_list() == other["n"].to_list() and one["m"].to_list() == other["m"].to_list())


def run(settings: Settings) -> list[Row]:
    events, labels, keys = settings.pick(
        (2_000, 300, 20), (1_000_000, 100_000, 1000), (10_000_000, 1_000_000, 1000), (10_000_000, 1_000_000, 1000)
    )
    rows, asks = tables(events, labels, keys, settings.seed)
    found: list[Row] = []
    for days in settings.track(DAYS, "asking"):
        answers = {name: library(rows, asks, days) for name, library in LIBRARIES.items()}  # compiles, too
        same = all(agrees(answers["windrow"], other) for other in answers.values())
        runs = {name: partial(partial, library, rows, asks, days) for name, library in LIBRARIES.items()}
        for name, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {"days": days, "library": name, "events": events, "labels": labels, "keys": keys, "agrees": same}
            found.append({**row, "repetition": repetition, "seconds": seconds})
    return found


def claims(rows: Sequence[Row]) -> list[Claim]:
    seconds = medians(rows, ("days", "library"), "seconds")
    said = "at least 5x the best peer at 30 days", "30 days take at most 1.3x the time of 1 day"
    if rows[0]["events"] < 1_000_000:
        return [unmeasured(each) for each in said]
    best = min(value for (days, name), value in seconds.items() if days == 30 and name != "windrow")
    ratio, growth = best / seconds[30, "windrow"], seconds[30, "windrow"] / seconds[1, "windrow"]
    return [
        Claim(said[0], f"{ratio:.1f}x the best peer", ratio >= 5),
        Claim(said[1], f"30 days take {growth:.2f}x the time of 1 day", at_most(growth, 1.3)),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "events"):
        results.lines_over(axes, own, "days", "seconds", "library", "days in the window", "seconds")


EXPERIMENT = Experiment(
    name="asking",
    title="windows at a second table's rows",
    paper="none",
    expected="at least 5x DuckDB and Polars, whatever the window",
    run=run,
    draw=draw,
    measure=Measure(("days", "library"), "seconds", "seconds", baseline="windrow"),
    peers=("duckdb", "polars"),
    asked="What did each key do in the days before each row of a second table?",
    claims=claims,
)
