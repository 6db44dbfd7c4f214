"""Everyday windows by `Query.run`, pandas, Polars and DuckDB, each called as its users call it, on all cores.

Asked: how many seconds does a table of events take for a rolling hour per key, the last 100 rows per key, an hour every
minute per key, sessions per key, and an aggregate of one's own over the last 1,000 rows. Each library gets its own kind
of table, and gives its own kind back; windrow gets the Polars frame. Where a library has no call for a window, the
query is what its users write instead. Answers are compared on a part of the rows before anything is timed. A library
that would take minutes gets a part of the rows, as dense as the whole; its time is scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import machine, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import medians
from benchmarks.peer_calls import RISE, rise_numpy
from benchmarks.timing import interleaved
from windrow import agg, win

PACKAGES = ("pandas", "polars", "duckdb", "pyarrow")
KEYS = 100
SECONDS_A_ROW = 2.592  # a million rows in 30 days

TWO = {"total": agg.sum("x"), "most": agg.max("x")}
OURS = {
    "rolling hour per key": (win.trailing("1 hour"), TWO),
    "last 100 rows per key": (win.trailing(100), TWO),
    "1 hour every minute per key": (win.sliding("1 hour", every="1 minute"), TWO),
    "sessions per key, gap of 5 minutes": (win.session("5 minutes"), TWO),
    "own aggregate, last 1,000 rows per key": (win.trailing(1000), {"rise": RISE("x")}),
}


def query(case: str) -> windrow.Query:
    window, aggregates = OURS[case]
    return windrow.Query(time="ts", by="k", windows=window, aggregates=aggregates)


def by_pandas(case: str, data: Any) -> Callable[[], Any] | None:
    import pandas as pd

    frame = pd.DataFrame({name: data[name].to_numpy() for name in ("ts", "k", "x")})
    both = ["sum", "max"]

    def sessions() -> Any:
        gap = frame.groupby("k")["ts"].diff() > pd.Timedelta("5min")
        number = gap.groupby(frame["k"]).cumsum()
        return frame.groupby([frame["k"], number])["x"].agg(both)

    calls = {
        "rolling hour per key": lambda: frame.groupby("k").rolling("1h", on="ts")["x"].agg(both),
        "last 100 rows per key": lambda: frame.groupby("k")["x"].rolling(100, min_periods=1).agg(both),
        "sessions per key, gap of 5 minutes": sessions,
        "own aggregate, last 1,000 rows per key": lambda: (
            frame.groupby("k")["x"].rolling(1000, min_periods=1).apply(rise_numpy, raw=True)
        ),
    }
    return calls.get(case)


def by_polars(case: str, data: Any) -> Callable[[], Any] | None:
    import polars as pl

    x, both = pl.col("x"), (pl.col("x").sum().alias("total"), pl.col("x").max().alias("most"))
    new = (pl.col("ts").diff() > pl.duration(minutes=5)).fill_null(False).cum_sum().over("k")
    calls = {
        "rolling hour per key": lambda: data.with_columns(
            x.rolling_sum_by("ts", "1h").over("k").alias("total"), x.rolling_max_by("ts", "1h").over("k").alias("most")
        ),
        "last 100 rows per key": lambda: data.with_columns(
            x.rolling_sum(100, min_samples=1).over("k").alias("total"),
            x.rolling_max(100, min_samples=1).over("k").alias("most"),
        ),
        "1 hour every minute per key": lambda: data.group_by_dynamic(
            "ts", every="1m", period="1h", offset="-59m", group_by="k"
        ).agg(*both),
        "sessions per key, gap of 5 minutes": lambda: data.group_by("k", new.alias("number")).agg(*both),
        "own aggregate, last 1,000 rows per key": lambda: data.with_columns(
            x.rolling_map(lambda window: rise_numpy(window.to_numpy()), 1000, min_samples=1).over("k").alias("rise")
        ),
    }
    return calls.get(case)


BOTH = "sum(x) AS total, max(x) AS most"
FRAMED = (
    "SELECT *, sum(x) OVER w AS total, max(x) OVER w AS most FROM events WINDOW w AS (PARTITION BY k ORDER BY ts {})"
)
SQL = {
    "rolling hour per key": FRAMED.format("RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW"),
    "last 100 rows per key": FRAMED.format("ROWS BETWEEN 99 PRECEDING AND CURRENT ROW"),
    "1 hour every minute per key": f"""
        SELECT k, start, {BOTH} FROM (
            SELECT k, x, unnest(generate_series(time_bucket(INTERVAL 1 MINUTE, ts) - INTERVAL 59 MINUTES,
                                                time_bucket(INTERVAL 1 MINUTE, ts), INTERVAL 1 MINUTE)) AS start
            FROM events) GROUP BY k, start""",
    "sessions per key, gap of 5 minutes": f"""
        SELECT k, number, {BOTH} FROM (
            SELECT k, x, sum(new) OVER (PARTITION BY k ORDER BY ts) AS number FROM (
                SELECT *, coalesce(ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > INTERVAL 5 MINUTES, false)::INT
                AS new FROM events))
        GROUP BY k, number""",
}


def by_duckdb(case: str, data: Any) -> Callable[[], Any] | None:
    import duckdb

    if case not in SQL:
        return None
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.register("given", data.to_arrow())
    connection.execute("CREATE TABLE events AS SELECT * FROM given")  # its own columns: not part of the time
    return lambda: connection.sql(SQL[case]).to_arrow_table()


def by_windrow(case: str, data: Any) -> Callable[[], Any]:
    asked = query(case)
    return lambda: asked.run(data)


WAYS = {"windrow": by_windrow, "pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb}


def events(count: int, seed: int) -> Any:
    """Rows in time order, a hundred keys."""
    import polars as pl

    random = np.random.default_rng(seed)
    times = np.sort(random.choice(int(count * SECONDS_A_ROW * 1e6), count, replace=False)).astype("M8[us]")
    return pl.DataFrame({"ts": times, "k": random.integers(0, KEYS, count), "x": random.standard_normal(count)})


def sums(found: Any) -> list[float]:
    """All answers without their order, which differs: each column's sum."""
    if hasattr(found, "to_frame") and not hasattr(found, "columns"):
        found = found.to_frame()  # a series of pandas
    names = list(getattr(found, "column_names", None) or found.columns)
    wanted = [name for name in names if name in ("total", "most", "rise", "sum", "max")] or names[-1:]
    return [float(np.asarray(found[name], np.float64).sum()) for name in wanted]


def run(settings: Settings) -> list[Row]:
    count = settings.pick(3_000, 200_000, 1_000_000, 1_000_000)
    part = settings.pick(3_000, 10_000, 50_000, 1_000_000)
    slow = {("polars", "own aggregate, last 1,000 rows per key"), ("pandas", "own aggregate, last 1,000 rows per key")}
    data = events(count, settings.seed)
    sample = data.head(20_000)
    rows: list[Row] = []
    for case in settings.track(list(OURS), "queries"):
        ways = {name: way for name, way in WAYS.items() if name == "windrow" or machine.version(name)}
        expected = sums(query(case).run(sample))
        runs: dict[str, Any] = {}
        sizes, agrees = {}, {}
        for name, way in ways.items():
            tried = way(case, sample)
            if tried is None:
                continue
            agrees[name] = bool(np.allclose(sums(tried()), expected, rtol=1e-6))
            sizes[name] = part if (name, case) in slow else count
            ready = way(case, data.head(sizes[name]))
            assert ready is not None
            ready() if name == "windrow" else None  # the first run compiles, or reads what was compiled
            runs[name] = lambda ready=ready: ready
        for name, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {"case": case, "library": name, "repetition": repetition, "rows": sizes[name], "agrees": agrees[name]}
            rows.append({**row, "seconds": seconds * 1e6 / sizes[name]})
    return rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Against the fastest of the others, case by case."""
    taken = medians(rows, ("case", "library"), "seconds")
    found = []
    for case in dict.fromkeys(row["case"] for row in rows):
        others = {name: value for (c, name), value in taken.items() if c == case and name != "windrow"}
        if others:
            best = min(others, key=lambda name: others[name])
            ratio = others[best] / taken[case, "windrow"]
            text = f"{case}: {ratio:.2f}x as fast as {best}"
            found.append(Claim("as fast as the fastest of pandas, Polars and DuckDB", text, ratio >= 1))
    wrong = sorted({f"{row['library']}, {row['case']}" for row in rows if not row["agrees"]})
    text = f"other answers: {'; '.join(wrong)}" if wrong else "the same answers from all"
    return [*found, Claim("the same answers from all", text, not wrong)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    lines = results.summary(EXPERIMENT.measure, rows)
    axes.barh([f"{line['case']}: {line['library']}" for line in lines], [line["median"] for line in lines])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds")


EXPERIMENT = Experiment(
    name="queries",
    title="everyday windows as users call them, seconds per million rows",
    paper="none",
    expected="ours to set: as fast as the fastest of pandas, Polars and DuckDB",
    run=run,
    draw=draw,
    measure=Measure(("case", "library"), "seconds", "s", baseline="windrow"),
    peers=PACKAGES,
    asked="How many seconds do everyday windows over a million rows take by `Query.run`, pandas, Polars and DuckDB?",
    claims=claims,
)
