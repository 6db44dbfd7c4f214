"""Whole tables through `Query.run`, with one thread and with two.

Asked: how many rows a second does a query take from a table, and how much does a second thread add? The answers are
the same bits for any number of threads. At these rates a table of 10 M rows takes 10 to 200 ms, so what is not split
over threads (reading the time column, building the result) shows.

No paper has it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import ratios
from benchmarks.timing import Setup, interleaved
from windrow import agg, win

#: microseconds from the first row to the last
SPAN = 100_000_000_000
THREADS = {"one": 1, "two": 2}


def cases(rows: int, keys: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Windows and aggregates by name."""
    three = {"most": agg.max("x"), "total": agg.sum("x"), "rows": agg.count()}
    gap = datetime.timedelta(microseconds=max(1, 5 * SPAN * keys // rows))  # five times what is usual between two rows
    return {
        "sliding, 24 h every minute": (win.sliding("24 hours", every="1 minute"), three),
        "trailing, 1,000 rows": (win.trailing(1000), {"most": agg.max("x")}),
        "session": (win.session(gap), three),
    }


def run(settings: Settings) -> list[Row]:
    count = settings.pick(2_000, 1_000_000, 10_000_000, 10_000_000)
    random = np.random.default_rng(settings.seed)
    times, x = np.sort(random.integers(0, SPAN, count)).astype("M8[us]"), random.standard_normal(count)
    rows: list[Row] = []
    for keys in settings.track((1, settings.pick(10, 1_000, 1_000, 1_000)), "tables"):
        data = {"t": times, "x": x, "k": random.integers(0, keys, count)}
        for case, (window, aggregates) in cases(count, keys).items():
            competitors = {name: _run(data, keys, window, aggregates, threads) for name, threads in THREADS.items()}
            for threads, repetition, seconds in interleaved(competitors, settings.pick(1, 5, 7, 15)):
                rows.append(
                    {
                        "case": case,
                        "keys": keys,
                        "threads": threads,
                        "repetition": repetition,
                        "rows": count,
                        "mrows": count / seconds / 1e6,
                    }
                )
    return rows


def _run(data: dict[str, Any], keys: int, window: Any, aggregates: dict[str, Any], threads: int) -> Setup:
    """A run that has nothing left to compile."""
    by = "k" if keys > 1 else None
    query = windrow.Query(time="t", by=by, windows=window, aggregates=aggregates, threads=threads)
    query.run(data)
    return lambda: lambda: query.run(data)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Two threads against one."""
    found = []
    for (case, keys, threads), ratio in ratios(EXPERIMENT.measure, rows).items():
        if threads == "two":
            text = f"{case}, {keys:,} key{'' if keys == 1 else 's'}: {ratio:.2f}x"
            found.append(Claim("two threads: at least 1.5 times the rate of one", text, ratio >= 1.5))
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    labels = [f"{line['case']}, {line['keys']:,} keys, threads: {line['threads']}" for line in lines]
    axes.barh(
        labels, [line["median"] for line in lines], color=["C0" if line["threads"] == "one" else "C1" for line in lines]
    )
    axes.invert_yaxis()
    axes.set_xlabel("million rows/s")


EXPERIMENT = Experiment(
    name="tables",
    title="whole tables, with one thread and with two",
    paper="none",
    expected="ours to set: two threads 1.5 times as fast as one",
    run=run,
    draw=draw,
    measure=Measure(("case", "keys", "threads"), "mrows", "M rows/s", baseline="one", less_is_better=False),
    asked="How many rows a second does a query take from a whole table, and how much does a second thread add?",
    claims=claims,
)
