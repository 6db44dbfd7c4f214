"""One push of a live query: what it costs, and whether that depends on what the query holds.

Asked: does a push of 1, 100 or 10,000 rows cost the same whatever the window, the slices and the keys that are held?
The answer is the ratio of the dearest to the cheapest push of one size. All queries have a key column.

No paper has it; it is what "constant cost per row" means for a query that goes on for good.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from windrow import agg, win

SECOND = 1_000_000


@dataclass
class Blocks:
    """A user's own window: `size` rows, one every `size // 10` rows."""

    size: int = 100
    rows: int = 0

    def discretize(self, row: Any) -> tuple[int, int]:
        slide = max(self.size // 10, 1)
        begins = 1 if self.rows % slide == 0 else 0
        ends = 1 if self.rows >= self.size and (self.rows - self.size) % slide == 0 else 0
        self.rows += 1
        return begins, ends


class Case(NamedTuple):
    """A live query and what it holds."""

    name: str
    held: int  # rows of a window, slices or keys: what grows
    window: Any
    keys: int  # that rows of a push go to
    rows: int  # that come before the measurement, to each key
    keys_held: int = 1  # with the keys of a push


def cases(settings: Settings) -> list[Case]:
    """Windows of more and more rows, with 1 and 1,000 keys; more and more slices; more and more keys that are held."""
    sizes = settings.pick([100], [100, 10_000], [100, 10_000, 1_000_000], [100, 10_000, 1_000_000])
    slices = settings.pick([60], [60, 3_600], [60, 86_400], [60, 86_400])
    few = settings.pick([10], [100], [100, 1_000], [100, 1_000, 10_000])
    held = settings.pick([1, 10], [1, 1_000], [1, 1_000, 1_000_000], [1, 1_000, 1_000_000])
    found = [Case("trailing by rows", n, win.trailing(n), 1, n) for n in sizes]
    found += [Case("trailing by time", n, win.trailing(f"{n} seconds"), 1, n) for n in sizes]
    found += [Case("trailing by rows, 1,000 keys", n, win.trailing(n), 1_000, n) for n in few]
    found += [Case("trailing by time, 1,000 keys", n, win.trailing(f"{n * 1_000} seconds"), 1_000, n) for n in few]
    found += [Case("sliding, slices", n, win.sliding(f"{n} seconds", every="1 second"), 1, n) for n in slices]
    found += [Case("policy", n, _newest(n), 1, n) for n in sizes]
    found += [Case("user-defined", n, win.user_defined(Blocks(n)), 1, n) for n in sizes]
    found += [Case("trailing 100 rows, keys held", n, win.trailing(100), 1, 200, n) for n in held]
    return found


def _newest(rows: int) -> Any:
    return win.policy(lambda total, old: total.n - old.n >= rows, over={"n": agg.count()})


def run(settings: Settings) -> list[Row]:
    rows: list[Row] = []
    for case in settings.track(cases(settings), "pushes"):
        live, at = _filled(case)
        for size in (1, 100, 10_000)[: settings.pick(1, 3, 3, 3)]:
            for repetition in range(settings.pick(1, 20, 50, 100)):
                batch = _rows(at, size, case)
                at += size
                begin = time.perf_counter()
                live.push(batch)
                seconds = time.perf_counter() - begin
                rows.append(
                    {
                        "case": case.name,
                        "held": case.held,
                        "rows": size,
                        "repetition": repetition,
                        "micros": seconds * 1e6,
                    }
                )
    return rows


def _filled(case: Case) -> tuple[Any, int]:
    """A live query that holds what the case says, after a few pushes that compile what there is to compile."""
    live = windrow.Query(time="t", by="k", windows=case.window, aggregates={"most": agg.max("x")}).open()
    if case.keys_held > case.keys:
        at = np.arange(case.keys_held)
        live.push({"t": at, "x": np.sin(at), "k": at})
    rows = case.rows * case.keys + 10
    live.push(_rows(0, rows, case))
    for size in (1, 100, 10_000, 1, 100, 10_000):
        live.push(_rows(rows, size, case))
        rows += size
    return live, rows


def _rows(begin: int, count: int, case: Case) -> dict[str, np.ndarray]:
    at = np.arange(begin, begin + count)
    return {"t": (at + 2) * SECOND, "x": np.sin(at), "k": at % case.keys}


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
