"""Rows a second as the window grows, for every algorithm.

Asked: does the cost of a row stay the same however long the window is, and which algorithm is ahead where? `slide`
over a stream like DEBS 2012's, the window full before the clock starts; compiled where partials are numbers, plain
Python for bloom (and for algorithms that have no compiled form), on fewer rows.

Found by the papers: Reactive Aggregator 10x over recalculation at a window of 1,024 for StdDev, 3x for Max (paper 1,
Fig. 6); Two-Stacks, ABA and DABA flat (paper 2, Fig. 18); FlatFIT 1.8x FlatFAT on average, 2.6x at most (paper 5,
Fig. 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.judging import at_least, medians, span
from benchmarks.sliding import columns, compiles, filled
from benchmarks.timing import Setup, interleaved
from windrow import swag

AGGREGATES = ("sum", "max", "geometric_mean", "stddev", "bloom")
QUICK = ("max", "stddev", "bloom")
#: the same over real rows, repeated as often as it takes
FLIGHTS = "max of flights"
#: recalculation takes the whole window for each row: the papers stop it here, too
LONGEST_RECALCULATION = 2**10


def run(settings: Settings) -> list[Row]:
    exponents = settings.pick((3,), (0, 3, 10, 16), (0, 3, 6, 10, 14, 17, 20), tuple(range(23)))
    longest = {"compiled": 2 ** max(exponents), "plain": settings.pick(8, 2**8, 2**12, 2**14)}
    least = {"compiled": settings.pick(200, 50_000, 200_000, 2_000_000), "plain": settings.pick(20, 500, 2_000, 10_000)}
    every = (*AGGREGATES, *([FLIGHTS] if streams.flights(1) is not None else []))
    aggregates = settings.pick(("max", "bloom"), QUICK, every, every)
    # tests pay for every kernel they compile
    algorithms = ("recalculate", "two_stacks_lite", "daba") if settings.level == "smoke" else tuple(swag.ALGORITHMS)
    values = streams.energy(max(3 * 2 ** max(exponents), 2 ** max(exponents) + least["compiled"]), settings.seed)
    real = streams.flights(len(values)) if FLIGHTS in aggregates else None
    rows: list[Row] = []
    for aggregate, window in settings.track([(a, 2**k) for a in aggregates for k in exponents], "throughput"):
        competitors: dict[str, Setup] = {}
        counts: dict[str, tuple[str, int]] = {}
        for name in algorithms:
            compiled = compiles(name, aggregate)
            mode = "compiled" if compiled else "plain"
            if compiled is None or window > longest[mode] or (name == "recalculate" and window > LONGEST_RECALCULATION):
                continue
            # twice around the window at least: what is dear only now and then is in the figure
            count = max(least[mode] if name != "recalculate" else least[mode] // 4, 2 * window)
            counts[name] = mode, count
            rows_of = real if aggregate == FLIGHTS and real is not None else values
            competitors[name] = filled(name, aggregate, columns(aggregate, rows_of[: window + count]), window)
        for name, repetition, seconds in interleaved(competitors, settings.repetitions):
            mode, count = counts[name]
            row = {"aggregate": aggregate, "window": window, "algorithm": name, "mode": mode, "repetition": repetition}
            rows.append({**row, "rows": count, "seconds": seconds, "mrows": count / seconds / 1e6})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """FlatFIT against FlatFAT, and the flatness of the constant-cost algorithms."""
    lines = results.summary(EXPERIMENT.measure, rows)
    rate = {(line["aggregate"], line["window"], line["algorithm"]): line["median"] for line in lines}
    said = []
    ratios = [
        v / rate[a, w, "flat_fat"] for (a, w, n), v in rate.items() if n == "flat_fit" and (a, w, "flat_fat") in rate
    ]
    if ratios:
        mean = sum(ratios) / len(ratios)
        said.append(
            f"FlatFIT / FlatFAT rows a second: {mean:.2f} on average, {max(ratios):.2f} at most (paper 5: 1.8 and 2.6)"
        )
    for aggregate, least in (("stddev", 10), ("max", 3)):
        ours, base = rate.get((aggregate, 1024, "reactive_aggregator")), rate.get((aggregate, 1024, "recalculate"))
        if ours and base:
            said.append(
                f"Reactive Aggregator / recalculation, {aggregate}, w=1,024: {ours / base:.1f} (paper 1: {least})"
            )
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The ratios that the papers give, and how flat the constant-cost algorithms are."""
    rate = medians(rows, ("aggregate", "window", "algorithm"), "mrows")
    found = []
    for aggregate, times in (("stddev", 10), ("max", 3)):
        ours, base = rate.get((aggregate, 1024, "reactive_aggregator")), rate.get((aggregate, 1024, "recalculate"))
        said = f"RA {times} times recalculation at 1,024 for {aggregate}"
        if ours and base:
            why = "Compiled, recalculation of so cheap an aggregate is vector code: the tree has to beat that."
            text = f"RA {ours / base:.1f} times recalculation at 1,024 for {aggregate}"
            found.append(Claim(said, text, at_least(ours / base, times), why))
        else:
            found.append(unmeasured(said))
    flat = {
        (aggregate, name): rate[aggregate, last, name] / rate[aggregate, 1024, name]
        for name in ("two_stacks", "aba", "daba")
        for aggregate in ("sum", "geometric_mean", "stddev")
        for last in [max((w for a, w, n in rate if (a, n) == (aggregate, name)), default=0)]
        if last > 1024 and (aggregate, 1024, name) in rate
    }
    said = "Two-Stacks, ABA and DABA are flat (the paper sees some loss towards 2^20, by memory)"
    if flat:
        text = (
            f"Two-Stacks, ABA and DABA keep {span(flat.values(), 'x')} of their rate from 1,024 to the longest window"
        )
        found.append(
            Claim(
                said, text, all(at_least(value, 1) for value in flat.values()), "The longest no longer fit into caches."
            )
        )
    else:
        found.append(unmeasured(said))
    gain = {
        (a, w): value / rate[a, w, "flat_fat"]
        for (a, w, name), value in rate.items()
        if name == "flat_fit" and (a, w, "flat_fat") in rate
    }
    long = [value for (_, w), value in gain.items() if w >= 8]
    said = "FlatFIT 1.8 times FlatFAT on average, 2.6 at most, ahead from 8 rows on"
    if len(long) > 1:
        mean = sum(gain.values()) / len(gain)
        most = max(gain.values())
        text = f"FlatFIT {mean:.1f} times FlatFAT on average, {most:.1f} at most, {span(long)} from 8 rows on"
        found.append(Claim(said, text, at_least(mean, 1.8) and sum(value > 1 for value in long) > len(long) / 2))
    else:
        found.append(unmeasured(said))
    return found


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "aggregate"):
        results.lines_over(axes, own, "window", "mrows", "algorithm", "window (rows)", "million rows/s")


EXPERIMENT = Experiment(
    name="throughput",
    title="rows a second as the window grows",
    paper="1 Fig. 6, 2 Fig. 18, 5 Fig. 13",
    expected="RA 10x over recalculation at 1,024 for StdDev, 3x for Max; Two-Stacks, ABA, DABA flat; "
    "FlatFIT 1.8x FlatFAT on average, 2.6x at most, ahead from w=8",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(
        ("aggregate", "window", "mode", "algorithm"), "mrows", "M rows/s", baseline="recalculate", less_is_better=False
    ),
    asked="How many rows a second does each algorithm take as the window grows, and does the cost of a row stay the "
    "same?",
    claims=claims,
)
