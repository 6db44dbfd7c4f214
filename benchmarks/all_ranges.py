"""Every range from 1 to w, asked at every row.

Asked: the newest 1, 2, ..., w rows after each row, by `FlatFIT.query_many`, by FlatFAT (one suffix for each range)
and naively (one fold for each range, as paper 5 has it). Plain Python, time and counted combines a slide.

Found by paper 5 (Fig. 14, 15; Tab. 1): FlatFIT needs w - 1 combines, FlatFAT w log2 w at most, naive w(w-1)/2;
FlatFIT has 10x the throughput of FlatFAT on average, 17x at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.firing import full
from benchmarks.judging import at_least, ratios
from benchmarks.timing import interleaved
from windrow import Aggregate, agg, swag


def flat_fit(w: Any, ranges: range) -> list:
    return w.query_many(ranges)


def flat_fat(w: Any, ranges: range) -> list:
    return [w.suffix(len(w) - k + 1) for k in ranges]


WAYS: dict[str, Callable[[Any, range], list]] = {"flat_fat": flat_fat, "flat_fit": flat_fit}


class Naive:
    """Each range folded for itself over a list."""

    def __init__(self, aggregate: Aggregate, values: list[float]) -> None:
        self.of, self.rows = aggregate, [aggregate.lift(value) for value in values]
        self.combine = aggregate.combine if aggregate.combines is None else self.tallied

    def tallied(self, older: Any, newer: Any) -> Any:
        self.of.combines = (self.of.combines or 0) + 1
        return self.of.combine(older, newer)

    def slide(self, value: float, ranges: range) -> list:
        del self.rows[0]
        self.rows.append(self.of.lift(value))
        answers = []
        for k in ranges:
            total = self.rows[-k]
            for partial in self.rows[len(self.rows) - k + 1 :]:
                total = self.combine(total, partial)
            answers.append(self.of.lower(total))
        return answers


def slider(name: str, aggregate: Aggregate, values: list[float], window: int) -> Callable[[float], list]:
    """One slide: the oldest goes, a row comes, every range is asked."""
    ranges = range(1, window + 1)
    if name == "naive":
        naive = Naive(aggregate, values[:window])
        return lambda value: naive.slide(value, ranges)
    w = full(name, aggregate, values, window)
    WAYS[name](w, ranges)  # the first one pays for all that came before

    def slide(value: float) -> list:
        w.evict()
        w.insert(value)
        return WAYS[name](w, ranges)

    return slide


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((8,), (8, 64, 256), (8, 32, 128, 512, 2048), (8, 32, 128, 512, 2048, 8192))
    rows: list[Row] = []
    for window in settings.track(windows, "all-ranges"):
        slides = max(2, min(settings.pick(10, 100, 1000, 5000), settings.pick(100, 2**14, 2**16, 2**18) // window))
        values = streams.energy(window + slides, settings.seed).tolist()
        names = [
            n for n in ("flat_fat", "flat_fit", "naive") if n != "naive" or window <= settings.pick(8, 64, 128, 512)
        ]
        counts, answers = {}, {}
        for name in names:
            counted = swag.counting(agg.max())
            slide = slider(name, counted, values, window)
            counted.combines = 0
            answers[name] = [slide(value) for value in values[window:]]
            counts[name] = counted.combines / slides
        assert all(answer == answers["flat_fat"] for answer in answers.values()), "the three disagree"

        def prepared(name: str, values: list[float] = values, window: int = window) -> Callable[[], Callable[[], Any]]:
            def setup() -> Callable[[], Any]:
                slide = slider(name, agg.max(), values, window)
                return lambda: [slide(value) for value in values[window:]] and None

            return setup

        for name, repetition, seconds in interleaved({name: prepared(name) for name in names}, settings.repetitions):
            row = {"window": window, "algorithm": name, "repetition": repetition, "slides": slides}
            rows.append({**row, "slides_a_second": slides / seconds, "combines_a_slide": counts[name]})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """Combines a slide beside the paper's formulas, and the ratio of the two."""
    counts = {(row["window"], row["algorithm"]): row["combines_a_slide"] for row in rows}
    said = []
    for (w, name), count in counts.items():
        if name == "flat_fit":
            said.append(
                f"w={w:,}: FlatFIT {count:,.1f} combines a slide (paper: w-1 = {w - 1:,}), "
                f"FlatFAT {counts[w, 'flat_fat']:,.1f}"
            )
    ratios = [line["ratio"] for line in results.summary(EXPERIMENT.measure, rows) if line["algorithm"] == "flat_fit"]
    mean = sum(ratios) / len(ratios)
    return [
        *said,
        f"FlatFIT / FlatFAT slides a second: {mean:.1f} on average, {max(ratios):.1f} at most (paper 5: 10 and 17)",
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Combines are the paper's to the last one; the clock is not, in plain Python."""
    counts = {(r["window"], r["algorithm"]): r["combines_a_slide"] for r in rows}
    windows = sorted({window for window, _ in counts})
    times = ratios(EXPERIMENT.measure, rows)
    faster = [value for (_, name), value in times.items() if name == "flat_fit"]
    fewer = {w: counts[w, "flat_fat"] / counts[w, "flat_fit"] for w in windows}
    mean, w = sum(faster) / len(faster), windows[-1]
    why = (
        "Here both run in plain Python, where walking and calling cost as much as a combine: FlatFIT's advantage is "
        f"in combines ({fewer[w]:.1f} times fewer at w = {w:,}), which are cheap for max. In the paper both are C++, "
        "and windows go to 134 million rows."
    )
    return [
        Claim(
            "FlatFIT needs w - 1 combines for all w ranges",
            f"FlatFIT {counts[w, 'flat_fit']:,.0f} combines a slide at w = {w:,}",
            all(counts[w, "flat_fit"] == w - 1 for w in windows),
        ),
        Claim(
            "FlatFAT up to log2 w times as many",
            f"FlatFAT {fewer[w]:.1f} times as many",
            all(fewer[w] <= 1 + math.log2(w) for w in windows) and fewer[w] > fewer[windows[0]] * 0.99,
        ),
        Claim(
            "FlatFIT has 10 times the throughput on average, 17 at most",
            f"FlatFIT {mean:.1f} times the slides a second on average, {max(faster):.1f} at most",
            at_least(mean, 10),
            why,
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    left, middle, right = figure.subplots(1, 3)
    results.lines_over(left, rows, "window", "slides_a_second", "algorithm", "window (rows)", "slides/s")
    results.lines_over(middle, rows, "window", "combines_a_slide", "algorithm", "window (rows)", "combines a slide")
    found = sorted((w, value) for (w, name), value in ratios(EXPERIMENT.measure, rows).items() if name == "flat_fit")
    right.plot(*zip(*found, strict=True), "k.-", label="flat_fit / flat_fat")
    right.set_xscale("log", base=2)
    right.set_xlabel("window (rows)")
    right.set_ylabel("slides/s of FlatFIT / FlatFAT")
    right.grid(alpha=0.3)


EXPERIMENT = Experiment(
    name="all-ranges",
    title="every range 1..w at every row",
    paper="5 Fig. 14, 15, Tab. 1",
    expected="FlatFIT 10x FlatFAT on average, 17x at most",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "algorithm"), "slides_a_second", "slides/s", baseline="flat_fat", less_is_better=False),
    asked="What does it cost to answer every range from 1 to w rows after each row, as if each were a query of its "
    "own? FlatFIT, FlatFAT, and each range folded for itself.",
    claims=claims,
)
