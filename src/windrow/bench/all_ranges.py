"""Every range from 1 to w, asked at every row.

Asked: the newest 1, 2, ..., w rows after each row, by `FlatFIT.query_many`, by FlatFAT (one suffix for each range)
and naively (one fold for each range, as paper 5 has it). Plain Python, time and counted combines a slide.

Found by paper 5 (Fig. 14, 15; Tab. 1): FlatFIT needs w - 1 combines, FlatFAT w log2 w at most, naive w(w-1)/2;
FlatFIT has 10x the throughput of FlatFAT on average, 17x at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windrow import Aggregate, agg, swag
from windrow.bench import results, streams
from windrow.bench.base import Experiment, Measure, Row, Settings
from windrow.bench.firing import full
from windrow.bench.timing import interleaved


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


def draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    results.lines_over(left, rows, "window", "slides_a_second", "algorithm", "window (rows)", "slides/s")
    results.lines_over(right, rows, "window", "combines_a_slide", "algorithm", "window (rows)", "combines a slide")


EXPERIMENT = Experiment(
    name="all-ranges",
    title="every range 1..w at every row",
    paper="5 Fig. 14, 15, Tab. 1",
    expected="FlatFIT 10x FlatFAT on average, 17x at most",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "algorithm"), "slides_a_second", "slides/s", baseline="flat_fat", less_is_better=False),
)
