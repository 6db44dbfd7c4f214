"""Many rows between two answers.

Asked: a row's cost when m rows go and m come at once, for m from one to the whole window: the Reactive Aggregator's
batched update against base intervals (B-Int) and recalculation. Plain Python, time and counted combines.

Found by paper 1: O(1 + log(n/m)) a row, so straight on a log axis for a constant m and flat for m in proportion to n
(Fig. 10); B-Int 1.02 to 1.39 times the time of RA (Fig. 11, Tab. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings, unmeasured
from benchmarks.firing import combines, fired
from benchmarks.judging import medians, ratios, span
from benchmarks.timing import interleaved
from windrow import agg

ALGORITHMS = ("reactive_aggregator", "b_int", "recalculate")


def batches(window: int) -> dict[str, int]:
    """The paper's m by its own names."""
    sizes = {"1": 1, "4": 4, "64": 64, "n/16": window // 16, "n/4": window // 4, "n": window}
    return {name: m for name, m in sizes.items() if 1 <= m <= window}


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((64,), (64, 1024), (64, 512, 4096), (64, 512, 4096, 2**15, 2**18))
    makers = {"max": agg.max} if settings.level in ("smoke", "quick") else {"max": agg.max, "stddev": agg.stddev}
    work = settings.pick(64, 1024, 8192, 2**16)  # rows a run, at least
    rows: list[Row] = []
    cases = [(a, n, label, m) for a in makers for n in windows for label, m in batches(n).items()]
    for aggregate, window, label, m in settings.track(cases, "coarse"):
        count = -(-max(work, m) // m) * m
        values = streams.energy(window + count, settings.seed).tolist()
        # recalculation is O(n) a firing: only where that ends
        names = [
            n
            for n in ALGORITHMS
            if n != "recalculate" or window * (count // m) <= settings.pick(2**14, 2**19, 2**22, 2**24)
        ]
        counted = {name: combines(name, makers[aggregate], values, window, m) for name in names}
        runs = {name: fired(name, makers[aggregate], values, window, m) for name in names}
        for name, repetition, seconds in interleaved(runs, settings.repetitions):
            row = {"aggregate": aggregate, "window": window, "m": label, "rows_a_firing": m, "algorithm": name}
            row |= {"repetition": repetition, "rows": count, "seconds": seconds, "us_a_row": seconds / count * 1e6}
            rows.append({**row, "combines_a_row": counted[name]})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """Time of B-Int against RA, and how flat m = n/4 is."""
    lines = results.summary(EXPERIMENT.measure, rows)
    cost = {(li["aggregate"], li["window"], li["m"], li["algorithm"]): li for li in lines}
    said = []
    for (aggregate, window, m, name), line in cost.items():
        if name == "b_int" and line["ratio"]:
            said.append(
                f"{aggregate}, n={window:,}, m={m}: B-Int takes {1 / line['ratio']:.2f}x RA's time (paper 1: 1.02-1.39)"
            )
    ours = {
        (r["aggregate"], r["window"], str(r["m"])): r["combines_a_row"]
        for r in rows
        if r["algorithm"] == "reactive_aggregator"
    }
    for aggregate in dict.fromkeys(key[0] for key in ours):
        for m in ("1", "n/4"):
            curve = [f"{w:,}: {c:.2f}" for (a, w, label), c in ours.items() if a == aggregate and label == m]
            said.append(f"{aggregate}, m={m}: RA's combines a row by window: {', '.join(curve)}")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """RA's combines by m, and its time beside B-Int's."""
    counts = medians(
        [row | {"m": str(row["m"])} for row in rows if row["algorithm"] == "reactive_aggregator"],
        ("m", "window"),
        "combines_a_row",
    )
    windows = sorted({window for _, window in counts})
    first, last = windows[0], windows[-1]
    times = {key: 1 / value for key, value in ratios(EXPERIMENT.measure, rows).items() if key[-1] == "b_int"}
    single = [value for (_, _, m, _), value in times.items() if str(m) == "1"]
    each = {row["algorithm"]: row["combines_a_row"] for row in rows if (str(row["m"]), row["window"]) == ("1", last)}
    if len(windows) < 2:
        growth = [unmeasured("the cost is O(1 + log(n/m)) a row")]
    else:
        one, part = (counts[m, last] / counts[m, first] for m in ("1", "n/4"))
        growth = [
            Claim(
                "for a constant m the cost grows with log n",
                f"m = 1: {counts['1', first]:.1f} combines a row at n = {first:,}, {counts['1', last]:.1f} at {last:,}",
                1 < one < last / first,
            ),
            Claim(
                "for m in proportion to n it is flat",
                f"m = n/4: {counts['n/4', first]:.1f} and {counts['n/4', last]:.1f}",
                part <= 1.1,
            ),
        ]
    return [
        *growth,
        Claim(
            "B-Int takes 1.02 to 1.39 times the time of RA (m = 1)",
            f"B-Int takes {span(single, 'x')} the time of RA for m = 1, {span(times.values(), 'x')} over all m",
            min(single) >= 1,
            f"Here both are plain Python, and for m = 1 RA calls combine {each['reactive_aggregator']:.0f} times a "
            "row at "
            f"n = {last:,}, B-Int {each['b_int']:.0f} times: RA's update is made for batches. In the paper both are "
            "C++, "
            "where RA's single flat array pays.",
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "algorithm"):
        for row in own:
            row["m"] = f"{row['aggregate']}, m={row['m']}"
        # as in Fig. 10: what is straight over log n is O(log n)
        results.lines_over(axes, own, "window", "us_a_row", "m", "window (rows)", "µs a row", logy=False)


EXPERIMENT = Experiment(
    name="coarse",
    title="m rows at once",
    paper="1 Fig. 10, Fig. 11, Tab. 4",
    expected="flat for m in proportion to n; B-Int 1.02-1.39x the time of RA",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("aggregate", "window", "m", "algorithm"), "us_a_row", "µs a row", baseline="reactive_aggregator"),
    asked="What does a row cost when m rows go and m rows come before the next answer, for m from one row to the "
    "whole window? The Reactive Aggregator, base intervals (B-Int, Arasu and Widom) and recalculation.",
    claims=claims,
)
