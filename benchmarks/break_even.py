"""From which window on does it pay to be incremental?

Asked: the smallest window of a ladder of sizes at which `slide` of an algorithm beats recalculating the window for
each row, and beats it tenfold; both compiled, in the same run. The ladder is climbed until every algorithm is ten
times ahead.

Found: Reactive Aggregator at Sum 370, Max 260, Mean 10, MinCount 200, StdDev 10, ArgMax 130, tenfold at 700 to 5,810
(paper 1, Tab. 3); Two-Stacks 16-48, ABA 4-28, DABA 28-112 (paper 2, Tab. 1); Count and Collect never.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.firing import fired
from benchmarks.judging import at_most, span
from benchmarks.sliding import columns, compiles, filled
from benchmarks.timing import Setup, interleaved
from windrow import agg, swag

LADDER = (
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    192,
    256,
    384,
    512,
    768,
    1024,
    1536,
    2048,
    3072,
    4096,
    6144,
    8192,
)


def run(settings: Settings) -> list[Row]:
    ladder = settings.pick((2, 64), LADDER[3:21:3], LADDER[:22], LADDER)
    aggregates = settings.pick(("max",), ("sum", "max", "stddev"), AGGREGATES, AGGREGATES)
    least = settings.pick(100, 10_000, 20_000, 100_000)
    names = settings.pick(("two_stacks_lite", "daba"), QUICK, *[tuple(swag.ALGORITHMS)] * 2)
    values = streams.energy(max(ladder) + max(least, 2 * max(ladder)), settings.seed)
    rows: list[Row] = []
    for aggregate in settings.track(aggregates, "break-even"):
        racing = [name for name in ("recalculate", *names) if compiles(name, aggregate)]
        racing = list(dict.fromkeys(racing))
        for window in ladder:
            data = columns(aggregate, values[: window + max(least, 2 * window)])
            runs = {name: filled(name, aggregate, data, window) for name in racing}
            taken: dict[str, list[float]] = {name: [] for name in racing}
            for name, repetition, seconds in interleaved(runs, settings.repetitions):
                taken[name].append(seconds)
                row = {"aggregate": aggregate, "window": window, "algorithm": name, "repetition": repetition}
                rows.append({**row, "rows": max(least, 2 * window), "seconds": seconds})
            base = taken["recalculate"]
            ahead = {n: statistics.median(np.divide(base, taken[n])) for n in racing if n != "recalculate"}
            racing = [n for n in racing if ahead.get(n, 0.0) < 12]  # clear of ten: the rest of the ladder adds nothing
            if racing == ["recalculate"]:
                break
    return rows + never(settings)


def by_hand(aggregate: str, values: list[float], window: int) -> dict[str, Setup]:
    """Aggregates that nothing can be saved on, row by row: the window's length is known, its copy is the answer."""

    def recalculated() -> Callable[[], None]:
        kept = deque(values[:window], maxlen=window)
        answer: Callable[[Any], Any] = len if aggregate == "count" else list

        def go() -> None:
            for value in values[window:]:
                kept.append(value)
                answer(kept)

        return go

    return {
        "recalculate": recalculated,
        **{name: fired(name, getattr(agg, aggregate), values, window, 1) for name in LABELS},
    }


def never(settings: Settings) -> list[Row]:
    """Count and Collect, of which the papers say that recalculation is never beaten."""
    count, rows = settings.pick(10, 100, 500, 2000), []
    for aggregate in NEVER:
        for window in settings.pick((4,), (4, 32, 256), (4, 32, 256, 1024), (4, 32, 256, 1024, 4096)):
            values = streams.energy(window + count, settings.seed).tolist()
            for name, repetition, seconds in interleaved(by_hand(aggregate, values, window), settings.repetitions):
                row = {"aggregate": aggregate, "window": window, "algorithm": name, "repetition": repetition}
                rows.append({**row, "rows": count, "seconds": seconds})
    return rows


def points(rows: Sequence[Row], times: float) -> dict[tuple[str, str], int | None]:
    """(aggregate, algorithm) -> the smallest window from which it is `times` as fast; None: not on this ladder."""
    found: dict[tuple[str, str], int | None] = {}
    for line in sorted(results.summary(EXPERIMENT.measure, rows), key=lambda line: line["window"]):
        key = (line["aggregate"], line["algorithm"])
        if line["algorithm"] != "recalculate" and found.setdefault(key, None) is None and line["ratio"] > times:
            found[key] = line["window"]
    return found


def notes(rows: Sequence[Row]) -> list[str]:
    """The two points of each pair, and the papers'."""
    ahead, tenfold = points(rows, 1.0), points(rows, 10.0)

    def word(window: int | None) -> str:
        return "beyond the ladder" if window is None else f"{window:,}"

    return [
        f"{a}, {n}: ahead from {word(at)}, tenfold from {word(tenfold[a, n])}"
        + (f" (papers: {PAPERS[n][a]})" if a in PAPERS.get(n, {}) else "")
        for (a, n), at in ahead.items()
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The papers' points, algorithm by algorithm: an earlier one is as good."""
    ahead, tenfold = points(rows, 1.0), points(rows, 10.0)
    ladder = sorted({row["window"] for row in rows})
    found = []
    for name, label in LABELS.items():
        own = {a: at for (a, n), at in ahead.items() if n == name and a in PAPERS[name]}
        if not own:
            found.append(unmeasured(f"{label} is ahead from {span(PAPERS[name].values())} rows on"))
            continue
        said = f"{label} is ahead from {span(PAPERS[name][a] for a in own)} rows on ({', '.join(own)})"
        known = [at for at in own.values() if at is not None]
        text = f"{label} from {span(known)}" if known else f"{label} not up to {ladder[-1]:,}"
        holds = len(known) == len(own) and all(at is not None and at_most(at, PAPERS[name][a]) for a, at in own.items())
        found.append(Claim(said, text, holds, WHY))
    first = [at for (_, n), at in tenfold.items() if n == "reactive_aggregator"]
    said = "RA is tenfold ahead from 700 to 5,810 rows on"
    known = [at for at in first if at is not None]
    if ladder[-1] >= 5810 or len(known) == len(first) > 0:
        text = f"RA tenfold from {span(known)}" if known else f"RA not tenfold up to {ladder[-1]:,}"
        found.append(Claim(said, text, len(known) == len(first) and at_most(max(known), 5810), WHY))
    else:
        found.append(unmeasured(said, f"the ladder of this level ends at {ladder[-1]:,}"))
    never = [(a, n) for a, n in ahead if a in NEVER]
    said = "for Count and Collect none is ever ahead"
    if not never:
        return [*found, unmeasured(said)]
    won = [f"{a}, {n}" for a, n in never if ahead[a, n] is not None]
    text = f"Count and Collect: ahead nowhere in {len(never) - len(won)} of {len(never)} pairs"
    return [*found, Claim(said, text, not won, f"Ahead: {'; '.join(won)}.")]


def draw(rows: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, rows)
    ratios = [line for line in lines if line["algorithm"] != "recalculate"]
    for _, axes, own in results.grid(figure, ratios, "aggregate"):
        results.lines_over(axes, own, "window", "ratio", "algorithm", "window (rows)", "times as fast as recalculation")
        axes.axhline(1, color="black", linewidth=0.8)
        axes.axhline(10, color="black", linewidth=0.8, linestyle=":")


#: those the papers name, and what we would take: every pair is a kernel to compile
QUICK = ("two_stacks", "two_stacks_lite", "aba", "daba", "flat_fat", "reactive_aggregator", "flat_fit", "amta")
NEVER = ("count", "collect_list")
LABELS = {"reactive_aggregator": "RA", "two_stacks": "Two-Stacks", "aba": "ABA", "daba": "DABA"}
WHY = (
    "Recalculation is compiled here, and for sum and max it is vector code, many rows at a time, which the papers' was "
    "not: there is more to beat. The ladder is coarse, too: the point lies between the step named and the one before."
)
AGGREGATES = ("sum", "max", "mean", "geometric_mean", "min_count", "stddev", "max_by")
_P2 = {
    "two_stacks": (48, 28, 48, 32, 28, 28, 28),
    "aba": (8, 4, 28, 16, 16, 16, 28),
    "daba": (64, 64, 112, 64, 64, 64, 48),
    "reactive_aggregator": (1024, 704, 1024, 704, 512, 704, 704),
}
#: break-even points of paper 2, Tab. 1, by algorithm and aggregate
PAPERS = {name: dict(zip(AGGREGATES, sizes, strict=True)) for name, sizes in _P2.items()}
EXPERIMENT = Experiment(
    name="break-even",
    title="the window from which incremental beats recalculation",
    paper="1 Tab. 3, 2 Tab. 1",
    expected="RA: Sum 370, Max 260, Mean 10, MinCount 200, StdDev 10, ArgMax 130; 10x at 700-5,810. "
    "Two-Stacks 16-48, ABA 4-28, DABA 28-112; Count, Collect never",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("aggregate", "window", "algorithm"), "seconds", "seconds", baseline="recalculate"),
    asked="From which window on is an incremental algorithm faster than recalculating the window for every row, and "
    "from which ten times faster?",
    claims=claims,
)
