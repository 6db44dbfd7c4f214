"""How long a single round takes, at the worst and on average.

Asked: does DABA buy its worst case of O(1) with a steadier clock? Each round of evict, insert, query at a window of
2^13 (with `--full` the paper's 2^14), by hand in plain Python, timed on its own; the garbage collector is off. Once by
the wall's clock, as a user waits, and once by the thread's own (`cpu`), which leaves out what other processes took.
`slow` counts the rounds that took ten times the median and more, `flips` those that called combine for half of the
window or more.

Found by paper 2 (Fig. 18, Tab. 2): DABA's σ is 3 to 25 times lower than that of Two-Stacks and ABA; it has no spikes.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_least, medians, span
from benchmarks.sliding import MAKERS
from windrow import agg, swag

ALGORITHMS = ("two_stacks", "two_stacks_lite", "aba", "daba", "daba_lite")
CLOCKS = {"wall": time.perf_counter_ns, "cpu": time.thread_time_ns}
BUCKETS = 200  # of the time series that is kept: the longest round in each


def rounds(algorithm: str, aggregate: Any, values: list[float], window: int, clock: Callable[[], int]) -> np.ndarray:
    """What the clock says of each round after the window was filled."""
    w = swag.ALGORITHMS[algorithm](aggregate, capacity=window)
    for value in values[:window]:
        w.insert(value)
    w.query()
    taken = []
    gc.collect()
    gc.disable()
    try:
        for value in values[window:]:
            start = clock()
            w.evict()
            w.insert(value)
            w.query()
            taken.append(clock() - start)
    finally:
        gc.enable()
    return np.array(taken)


def flips(algorithm: str, values: list[float], window: int) -> int:
    """Rounds that called combine window/2 times or more."""
    counted: Any = swag.counting(agg.max())
    calls = rounds(algorithm, counted, values, window, lambda: counted.combines)
    return int((calls >= window / 2).sum())


def run(settings: Settings) -> list[Row]:
    window = settings.pick(2**6, 2**10, 2**13, 2**14)
    count = settings.pick(300, 3 * 2**10, 3 * 2**13, 1_000_000)
    aggregates = ("max",) if settings.level == "smoke" else ("sum", "max", "stddev")
    repetitions = settings.pick(1, 3, 3, 1)
    values = streams.energy(window + count, settings.seed).tolist()
    flipped = {name: flips(name, values, window) for name in ALGORITHMS}
    cases = [(r, a, c) for r in range(repetitions) for a in aggregates for c in CLOCKS]
    rows: list[Row] = []
    for repetition, aggregate, clock in settings.track(cases, "latency"):
        for name in ALGORITHMS:
            taken = rounds(name, MAKERS[aggregate](), values, window, CLOCKS[clock])
            head = {"aggregate": aggregate, "window": window, "clock": clock, "algorithm": name}
            row = {"kind": "rounds", **head, "repetition": repetition, "rounds": count, "flips": flipped[name]}
            row |= {"slow": int((taken > 10 * np.median(taken)).sum()), "mean": float(taken.mean())}
            row |= {"sigma": float(taken.std()), "p999": float(np.quantile(taken, 0.999)), "max": int(taken.max())}
            rows.append(row)
            if repetition == 0:
                parts = enumerate(np.array_split(taken, min(BUCKETS, count)))
                wide = count // min(BUCKETS, count)
                rows += [{"kind": "series", **head, "round": i * wide, "longest": int(part.max())} for i, part in parts]
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """Mean, p99.9, the longest round and the flips; σ against DABA's."""
    medians: dict[tuple, dict[str, float]] = {}
    for what in ("mean", "sigma", "p999", "max", "slow", "flips"):
        for line in results.summary(Measure(BY, what, "", kind="rounds"), rows):
            medians.setdefault((line["aggregate"], line["clock"], line["algorithm"]), {})[what] = line["median"]
    return [
        f"{aggregate}, {clock}, {name}: mean {m['mean']:,.0f} ns, p99.9 {m['p999']:,.0f}, longest {m['max']:,.0f}; "
        f"{m['slow']:.0f} rounds of 10x the median, {m['flips']:.0f} flips; "
        f"sigma {m['sigma'] / medians[aggregate, clock, 'daba']['sigma']:.1f}x DABA's"
        for (aggregate, clock, name), m in medians.items()
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Sigma by the thread's own clock, and the rounds that work through the window."""
    own = [row for row in rows if row["kind"] == "rounds" and row["clock"] == "cpu"]
    sigma = medians(own, ("aggregate", "algorithm"), "sigma")
    longest = medians(own, ("aggregate", "algorithm"), "max")
    flipped = {row["algorithm"]: row["flips"] for row in own}
    others = ("two_stacks", "aba")
    aggregates = list(dict.fromkeys(row["aggregate"] for row in own))
    lower = [sigma[a, name] / sigma[a, "daba"] for a in aggregates for name in others]
    shorter = [longest[a, name] / longest[a, "daba"] for a in aggregates for name in others]
    return [
        Claim(
            "DABA's sigma is 3 to 25 times lower than that of Two-Stacks and ABA",
            f"sigma of Two-Stacks and ABA is {statistics.median(lower):.1f} times DABA's in the median ({span(lower)})",
            at_least(statistics.median(lower), 3),
            "On this run the system's own pauses (page faults, interrupts) weigh as much as the flips do: a flip of a "
            "shorter window is a smaller spike.",
        ),
        Claim(
            "DABA has no spikes: no round works through the window",
            f"{flipped['daba']} rounds of DABA called combine for half of the window, {flipped['two_stacks']} of "
            f"Two-Stacks and {flipped['aba']} of ABA; their longest rounds took {statistics.median(shorter):.1f} "
            "times DABA's",
            flipped["daba"] == 0 and flipped["two_stacks"] > 0,
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    series = [{**row, "panel": f"{row['aggregate']}, {row['clock']}"} for row in rows if row["kind"] == "series"]
    for _, axes, own in results.grid(figure, series, "panel"):
        label = "longest round of each part (ns)"
        results.lines_over(axes, own, "round", "longest", "algorithm", "round", label, logx=False)


BY = ("aggregate", "window", "clock", "algorithm")
EXPERIMENT = Experiment(
    name="latency",
    title="sigma of a round's time (evict, insert, query by hand)",
    paper="2 Fig. 18, Tab. 2",
    expected="DABA's sigma 3-25x lower than that of Two-Stacks and ABA; no spikes",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(BY, "sigma", "sigma (ns)", baseline="daba", kind="rounds"),
    asked="Does DABA buy its worst case of O(1) with a steadier clock? Every round of evict, insert and query is "
    "timed on its own.",
    claims=claims,
)
