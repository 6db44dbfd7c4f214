"""One push of a live query: what it costs, and whether that depends on what the query holds.

Asked: does a push of 1, 100 or 10,000 rows cost the same whatever the window, the slices and the keys that are held?
The answer is the ratio of the dearest to the cheapest push of one size.

No paper has it; it is what "constant cost per row" means for a query that goes on for good.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from windrow import agg, win

SECOND = 1_000_000


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((100,), (100, 10_000), (100, 10_000, 1_000_000), (100, 10_000, 1_000_000))
    slices = settings.pick((60,), (60, 3_600), (60, 86_400), (60, 86_400))
    keys = settings.pick((1, 10), (1, 1_000), (1, 1_000, 100_000), (1, 1_000, 1_000_000))
    cases: list[tuple[str, int, Any, int]] = []
    cases += [("trailing by rows", n, win.trailing(n), 1) for n in windows]
    cases += [("trailing by time", n, win.trailing(f"{n} seconds"), 1) for n in windows]
    cases += [("sliding, slices held", n, win.sliding(f"{n} seconds", every="1 second"), 1) for n in slices]
    cases += [("trailing 100 rows, keys held", n, win.trailing(100), n) for n in keys]
    rows: list[Row] = []
    for name, held, window, count in settings.track(cases, "pushes"):
        live, at = _filled(window, max(held, 2 * count) + 10, count)
        for size in (1, 100, 10_000)[: settings.pick(1, 3, 3, 3)]:
            for repetition in range(settings.pick(1, 20, 50, 100)):
                batch = _rows(at, size, count)
                at += size
                begin = time.perf_counter()
                live.push(batch)
                seconds = time.perf_counter() - begin
                rows.append(
                    {"case": name, "held": held, "rows": size, "repetition": repetition, "micros": seconds * 1e6}
                )
    return rows


def _filled(window: Any, rows: int, keys: int) -> tuple[Any, int]:
    """A live query with so many rows, after a few pushes that compile what there is to compile."""
    by = "k" if keys > 1 else None
    live = windrow.Query(time="t", by=by, windows=window, aggregates={"most": agg.max("x")}).open()
    live.push(_rows(0, rows, keys))
    for size in (1, 100, 10_000, 1, 100, 10_000):
        live.push(_rows(rows, size, keys))
        rows += size
    return live, rows


def _rows(begin: int, count: int, keys: int) -> dict[str, np.ndarray]:
    at = np.arange(begin, begin + count)
    rows = {"t": at * SECOND, "x": np.sin(at)}
    return rows | {"k": at % keys} if keys > 1 else rows


def claims(rows: Sequence[Row]) -> list[Claim]:
    lines = results.summary(EXPERIMENT.measure, rows)
    found = []
    for case in dict.fromkeys(line["case"] for line in lines):
        for size in dict.fromkeys(line["rows"] for line in lines):
            mine = [line["median"] for line in lines if (line["case"], line["rows"]) == (case, size)]
            if len(mine) > 1:
                text = f"{case}, {size:,} rows: {min(mine):.0f} to {max(mine):.0f} µs, {max(mine) / min(mine):.2f}x"
                found.append(Claim("at most 1.3 times the cheapest", text, max(mine) <= 1.3 * min(mine)))
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    labels = [f"{line['case']} {line['held']:,}, {line['rows']:,} rows" for line in lines]
    axes.barh(labels, [line["median"] for line in lines])
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("microseconds a push")


EXPERIMENT = Experiment(
    name="pushes",
    title="a push of a live query, by what it holds",
    paper="none",
    expected="ours to set: the same cost whatever is held",
    run=run,
    draw=draw,
    measure=Measure(("rows", "case", "held"), "micros", "µs"),
    asked="Does a push cost the same whatever the window, the slices and the keys that a live query holds?",
    claims=claims,
)
