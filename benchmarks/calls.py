"""Paper 1's query, end to end in one process, against Polars and DuckDB.

Asked: how many rows a second of a pyarrow table `Query.run` takes for the longest call of the last 24 hours, how many
calls were that long and who made the first of them, every minute (paper 1 Fig. 1); and how many Polars'
`group_by_dynamic` and DuckDB take for the same answers. Polars goes through the rows of each of the 1,440 windows that
a row is in, and so does DuckDB's join of rows with windows: they get fewer rows, as dense in time as ours, so that a
row costs them what it costs in the whole table. DuckDB's other way are frames (`OVER`) at the windows' ends among the
rows, which only someone who knows how frames are kept would write. windrow runs on one thread, the others on all there
are. Answers are compared before anything is timed.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import machine, results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import listed, medians
from benchmarks.timing import interleaved
from windrow import agg, win
from windrow.errors import WindrowError

PACKAGES = ("pyarrow", "polars", "duckdb")
ROWS_A_DAY = 10_000_000 // 30
CALLERS = 1000
MINUTE = datetime.timedelta(minutes=1)

QUERY = windrow.Query(
    time="ts",
    windows=win.sliding("24 hours", every="1 minute"),
    aggregates={"mxl": agg.max("len"), "num": agg.max_count("len"), "who": agg.max_by("caller", "len")},
)

#: what is known of a window once its longest call is
REST = """
SELECT start, mxl, count(*) AS num, arg_min(caller, ts) AS who
FROM best JOIN calls ON len = mxl AND ts >= start AND ts < start + INTERVAL '24 hours'
GROUP BY start, mxl
"""
#: each row with every window that it is in
JOIN = f"""
WITH best AS (
    SELECT start, max(len) AS mxl
    FROM (SELECT unnest(generate_series(
        (SELECT time_bucket(INTERVAL '1 minute', min(ts)) - INTERVAL '1439 minutes' FROM calls),
        (SELECT max(ts) FROM calls), INTERVAL '1 minute')) AS start)
    JOIN calls ON ts >= start AND ts < start + INTERVAL '24 hours'
    GROUP BY start
) {REST}"""
#: the windows' ends among the rows, a frame back from each row and each end
FRAMES = f"""
WITH points AS (
    SELECT ts, len, false AS is_end FROM calls
    UNION ALL
    SELECT unnest(generate_series(
        (SELECT time_bucket(INTERVAL '1 minute', min(ts)) + INTERVAL '1 minute' FROM calls),
        (SELECT max(ts) + INTERVAL '24 hours' FROM calls), INTERVAL '1 minute')), NULL, true
), best AS (
    SELECT ts - INTERVAL '24 hours' AS start, mxl FROM (
        SELECT ts, is_end, max(len) OVER (
            ORDER BY ts RANGE BETWEEN INTERVAL '24 hours' PRECEDING AND INTERVAL '1 microsecond' PRECEDING
        ) AS mxl FROM points
    ) WHERE is_end
) {REST}"""


def calls(count: int, seed: int) -> Any:
    """Calls in the order in which they came: when, how many seconds, by whom."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    day = 86_400_000_000
    times = np.sort(rng.integers(0, max(1, count * day // ROWS_A_DAY), count))
    callers = pa.array([f"caller {i}" for i in range(CALLERS)]).take(pa.array(rng.integers(0, CALLERS, count)))
    return pa.table(
        {"ts": times.astype("M8[us]"), "len": np.ceil(rng.exponential(300, count)).astype(np.int64)}
    ).append_column("caller", callers)


def by_windrow(table: Any) -> Callable[[], Any]:
    return lambda: QUERY.run(table)


def by_polars(table: Any) -> Callable[[], Any]:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    longest = pl.col("len").max()

    def run() -> Any:
        # the offset: windows that began before the first row, too
        groups = frame.group_by_dynamic("ts", every="1m", period="24h", offset="-1439m", include_boundaries=True)
        found = groups.agg(
            longest.alias("mxl"),
            # of the ways to write these two, the fastest
            pl.col("len").filter(pl.col("len") == longest).count().alias("num"),
            pl.col("caller").sort_by("len", descending=True, maintain_order=True).first().alias("who"),
        )
        return found.rename({"_lower_boundary": "start"})

    return run


def by_duckdb(statement: str) -> Callable[[Any], Callable[[], Any]]:
    def prepared(table: Any) -> Callable[[], Any]:
        import duckdb

        connection = duckdb.connect()
        connection.register("given", table)
        connection.execute("SET enable_progress_bar = false")
        connection.execute("CREATE TABLE calls AS SELECT * FROM given")  # its own columns: not part of the time
        return lambda: connection.sql(statement).to_arrow_table()

    return prepared


WAYS: dict[str, tuple[str, Callable[[Any], Callable[[], Any]]]] = {
    "windrow": ("pyarrow", by_windrow),
    "polars": ("polars", by_polars),
    "duckdb, join": ("duckdb", by_duckdb(JOIN)),
    "duckdb, frames": ("duckdb", by_duckdb(FRAMES)),
}


def answers(found: Any) -> dict:
    """By the window's start."""
    columns = [
        found[name].to_pylist() if hasattr(found[name], "to_pylist") else found[name].to_list() for name in NAMES
    ]
    return {start: rest for start, *rest in zip(*columns, strict=True)}


NAMES = ("start", "mxl", "num", "who")


def run(settings: Settings) -> list[Row]:
    if not machine.version("pyarrow"):
        raise WindrowError("calls needs pyarrow: pip install '.[bench]'")
    count = settings.pick(300, 2_000_000, 10_000_000, 10_000_000)
    sizes = {
        "windrow": count,
        "polars": settings.pick(300, 50_000, 200_000, 1_000_000),
        "duckdb, join": settings.pick(300, 20_000, 100_000, 200_000),
        "duckdb, frames": settings.pick(300, 200_000, 500_000, 10_000_000),
    }
    table = calls(count, settings.seed)
    ways = {name: way for name, (package, way) in WAYS.items() if machine.version(package)}
    some = table.slice(0, settings.pick(300, 3_000, 3_000, 3_000))
    expected = answers(QUERY.run(some))
    agrees = {name: answers(way(some)()) == expected for name, way in ways.items()}
    rows: list[Row] = []
    prepared = {name: way(table.slice(0, sizes[name])) for name, way in ways.items()}
    prepared["windrow"]()  # the first run compiles, or reads what was compiled
    runs = {name: lambda ready=ready: ready for name, ready in prepared.items()}
    repetitions = settings.track(range(settings.repetitions), "calls")
    for repetition in repetitions:
        for name, _, seconds in interleaved(runs, 1):
            row = {"library": name, "repetition": repetition, "rows": sizes[name], "agrees": agrees[name]}
            rows.append({**row, "seconds": seconds, "mrows": sizes[name] / seconds / 1e6})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """Rows a second, the ratios, and who was given fewer rows."""
    rates = {
        name: [row["mrows"] for row in rows if row["library"] == name]
        for name in dict.fromkeys(row["library"] for row in rows)
    }
    sizes = {row["library"]: row["rows"] for row in rows}
    ours = statistics.median(rates["windrow"])
    said = [f"windrow: {ours:,.1f} M rows/s end to end over {sizes['windrow']:,} rows (wanted: 20)"]
    for name in rates:
        if name != "windrow":
            ratios = [a / b for a, b in zip(rates["windrow"], rates[name], strict=True)]
            given = (
                "all rows"
                if sizes[name] == sizes["windrow"]
                else f"{sizes[name]:,} rows, as dense; its rate is taken for the whole table's"
            )
            said.append(
                f"{statistics.median(ratios):,.0f}x {name} ({min(ratios):,.0f} - {max(ratios):,.0f}; wanted: 5), "
                f"which was given {given}"
            )
    wrong = sorted({row["library"] for row in rows if not row["agrees"]})
    said.append(f"answers differ: {', '.join(wrong)}" if wrong else "all give the same answers")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Our own rate, and the others'."""
    rate = medians(rows, ("library",), "mrows")
    ours = rate[("windrow",)]
    times = {name: ours / value for (name,), value in rate.items() if name != "windrow"}
    wrong = sorted({row["library"] for row in rows if not row["agrees"]})
    found = [
        Claim(
            "20 M rows/s in one process",
            f"{ours:,.1f} M rows/s",
            ours >= 20,
            "A busy or a slower machine, or few rows.",
        )
    ]
    if times:
        text = f"{listed(times.items(), 'x')}"
        found.append(Claim("5 times Polars and DuckDB", text, min(times.values()) >= 5))
    text = f"other answers: {', '.join(wrong)}" if wrong else "the same answers from all"
    return [*found, Claim("the same answers from all", text, not wrong)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    axes.barh([line["library"] for line in lines], [line["median"] for line in lines])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("million rows/s")


EXPERIMENT = Experiment(
    name="calls",
    title="24 hours every minute: longest call, how many, whose",
    paper="1 Fig. 1 (the query; no figures)",
    expected="ours to set: 20 M rows/s in one process, 5x Polars and DuckDB",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("library",), "mrows", "M rows/s", baseline="windrow", less_is_better=False),
    peers=PACKAGES,
    asked="How many rows a second does paper 1's query take in one process, and how many do Polars and DuckDB?",
    claims=claims,
)
