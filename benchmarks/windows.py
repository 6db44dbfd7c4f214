"""Windows that a user's code decides, and windows that nobody is in.

Asked: how many rows a second paper 3's stock window (10 minutes every 5, but 5 minutes every 2 while the price is below
$10) takes where its Python class runs compiled, and where it stays plain Python; the same for a window that a user's
function begins (punctuated). And how long the windows between two rows take that no row is in: a billion of them,
batch and live.

No paper has these; the stock window is paper 3's example (§2.2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import medians, span
from benchmarks.timing import interleaved
from windrow import agg, win
from windrow.engine import row_kernels

MINUTE = 60_000_000
EMPTY = 10**9


@dataclasses.dataclass
class Stock:
    """10 minutes every 5, but 5 minutes every 2 while the price is below $10."""

    next: int = 0
    ends: list[int] = dataclasses.field(default_factory=list)

    def discretize(self, row: Any) -> tuple[int, int]:
        over = 0
        while len(self.ends) > 0 and self.ends[0] <= row.ts:
            self.ends.pop(0)
            over += 1
        begins = 0
        if row.ts >= self.next:
            low = row.price < 10.0
            self.next = row.ts + (2 * MINUTE if low else 5 * MINUTE)
            self.ends.append(row.ts + (5 * MINUTE if low else 10 * MINUTE))
            begins = 1
        return begins, over


def jump(row: Any) -> bool:
    """A price beyond the usual."""
    return row.price > 15.0


def trades(count: int, seed: int) -> dict[str, np.ndarray]:
    """A price ten times a second."""
    random = np.random.default_rng(seed)
    return {"ts": np.arange(count) * 100_000, "price": 10 + random.normal(0, 2, count)}


def over(window: Any) -> windrow.Query:
    return windrow.Query(
        time="ts", windows=window, aggregates={"n": agg.count(), "top": agg.max("price"), "mean": agg.mean("price")}
    )


QUERIES = {"user-defined": over(win.user_defined(Stock)), "punctuated": over(win.punctuated(jump))}


def asked(query: windrow.Query, data: dict[str, np.ndarray], after: int) -> Callable[[], Callable[[], Any]]:
    """A run in which a user's code is compiled after this many rows."""

    def run() -> Any:
        before, row_kernels.COMPILE_AFTER = row_kernels.COMPILE_AFTER, after
        try:
            return query.run(data)
        finally:
            row_kernels.COMPILE_AFTER = before

    return lambda: run


def gap(empty: int, live: bool) -> Callable[[], Callable[[], Any]]:
    """Two rows with so many empty windows between them."""
    query = windrow.Query(time="ts", windows=win.tumbling("1 us"), aggregates={"n": agg.count()})
    near, far, both = ({"ts": np.array(times)} for times in ([0], [empty + 1], [0, empty + 1]))
    query.run(both)

    def prepared() -> Callable[[], Any]:
        if not live:
            return lambda: query.run(both)
        opened = query.open()
        opened.push(near)
        return lambda: opened.push(far)

    return prepared


def run(settings: Settings) -> list[Row]:
    counts = {
        "compiled": settings.pick(2_000, 1_000_000, 5_000_000, 10_000_000),
        "plain": settings.pick(200, 100_000, 300_000, 1_000_000),
    }
    rows: list[Row] = []
    for kind, query in settings.track(list(QUERIES.items()), "windows"):
        setups = {
            "compiled": asked(query, trades(counts["compiled"], settings.seed), 1),
            "plain": asked(query, trades(counts["plain"], settings.seed), 2**62),
        }
        for setup in setups.values():
            setup()()
        for form, repetition, seconds in interleaved(setups, settings.repetitions):
            row = {"kind": "rate", "window": kind, "form": form, "repetition": repetition, "rows": counts[form]}
            rows.append({**row, "mrows": counts[form] / seconds / 1e6})
    gaps = {f"{form} {empty}": gap(empty, form == "push") for empty in (0, EMPTY) for form in ("run", "push")}
    for name, repetition, seconds in interleaved(gaps, settings.pick(1, 20, 100, 100)):
        form, empty = name.split()
        rows.append({"kind": "gap", "form": form, "between": int(empty), "repetition": repetition, "ms": seconds * 1e3})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """The rates, and the gaps."""
    said: list[str] = []
    for line in results.summary(Measure(("window", "form"), "mrows", "", kind="rate"), rows):
        wanted = 5 if line["form"] == "compiled" else 0.3
        spread = f"{line['least']:.2f} - {line['most']:.2f}"
        said.append(f"{line['window']}, {line['form']}: {line['median']:.2f} M rows/s ({spread}; wanted: {wanted})")
    lines = results.summary(Measure(("form", "between"), "ms", "", kind="gap"), rows)
    medians = {(line["form"], line["between"]): line["median"] for line in lines}
    for line in lines:
        if line["between"]:
            more = line["median"] - medians[line["form"], 0]
            said.append(
                f"two rows with {line['between']:,} empty windows between them, the whole of {line['form']}: "
                f"{line['median']:.2f} ms ({line['least']:.2f} - {line['most']:.2f}; wanted: 1), {more:.2f} ms more "
                "than without the empty ones"
            )
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Rates, and the gap."""
    rate = medians(rows, ("window", "form"), "mrows", kind="rate")
    gaps = medians(rows, ("form", "between"), "ms", kind="gap")
    more = {form: gaps[form, EMPTY] - gaps[form, 0] for form, between in gaps if between}
    found = []
    for form, wanted in (("compiled", 5), ("plain", 0.3)):
        own = [value for (_, f), value in rate.items() if f == form]
        text = f"{form} {span(own)} M rows/s"
        found.append(Claim(f"{wanted} M rows/s {form}", text, min(own) >= wanted, "A busy or a slower machine."))
    text = f"a billion empty windows take {span(max(ms, 0.0) for ms in more.values())} ms more"
    return [*found, Claim("a billion empty windows take a millisecond at most", text, max(more.values()) <= 1)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    axes = figure.subplots()
    axes.barh([f"{line['window']}, {line['form']}" for line in lines], [line["median"] for line in lines])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("million rows/s")


EXPERIMENT = Experiment(
    name="windows",
    title="windows that a user's code decides",
    paper="none (3 §2.2's stock window)",
    expected="ours to set: 5 M rows/s compiled, 0.3 in plain Python; a billion empty windows within a millisecond",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "form"), "mrows", "M rows/s", baseline="plain", less_is_better=False, kind="rate"),
    asked="How fast are windows that a user's own Python decides, compiled and not, and how long do a billion "
    "windows take that no row is in?",
    claims=claims,
)
