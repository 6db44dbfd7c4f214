"""How often combine is called: the papers' own measure, free of any machine.

Asked: insert, evict and query on a window of constant size, counted one operation at a time. A combine
with the identity is a combine, too, so recalculation takes n, not n - 1.

Found: DABA at most 3, 2 and 1 combines for insert, evict and query, 2 and 1 on average (paper 2, Th. 9); FlatFAT log2
n for an update (paper 1, Th. 4.2); FlatFIT 3 a slide on average (paper 5, Tab. 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import at_most
from windrow import agg, swag

#: (average, worst) of insert, evict and query as the papers give them, by algorithm; n is the window
PAPERS = {
    "daba": lambda n: {"insert": "2, at most 3", "evict": "1, at most 2", "query": "at most 1"},
    "daba_lite": lambda n: {"insert": "2, at most 3", "evict": "1, at most 2", "query": "at most 1"},
    "two_stacks": lambda n: {"insert": "1", "evict": "1, at most n", "query": "1"},
    "flat_fat": lambda n: {"slide": f"log2 n = {math.log2(n):.1f}"},
    "flat_fit": lambda n: {"slide": f"3(n-1)/(n+1) = {3 * (n - 1) / (n + 1):.2f}"},
    "recalculate": lambda n: {"query": f"n - 1 = {n - 1}"},
}


def run(settings: Settings) -> list[Row]:
    windows = settings.pick((8,), (8, 100, 1024), (8, 100, 1024, 10_000), (8, 100, 1024, 10_000, 2**17))
    rows: list[Row] = []
    for window, name in settings.track([(w, a) for w in windows for a in swag.ALGORITHMS], "combines"):
        around = 4 if name != "recalculate" or window <= 1024 else 0  # how often the window goes round
        steps = max(around * (window + 1), 20)
        rows += counted(name, window, steps, settings.seed)
    return rows


def counted(name: str, window: int, steps: int, seed: int) -> list[Row]:
    """Average and worst calls of combine in insert, evict, query and all three, on a window of constant size."""
    total = swag.counting(agg.sum())
    w = swag.ALGORITHMS[name](total, capacity=window)
    tally: Any = w.of  # subtract-on-evict runs the exact form of it
    if tally.combines is None:
        total = swag.counting(w.of)
        w = swag.ALGORITHMS[name](total, capacity=window)
        tally = w.of
    before = window // 2  # so that what is dear once around comes once around
    values = streams.energy(window + before + steps, seed).tolist()
    for i, value in enumerate(values[: window + before]):
        if i >= window:
            w.evict()
        w.insert(value)
        if i >= window - 1:
            w.query()
    calls: dict[str, list[int]] = {"evict": [], "insert": [], "query": [], "slide": []}
    for value in values[window + before :]:
        first = tally.combines
        for operation, step in (
            ("evict", w.evict),
            ("insert", lambda value=value: w.insert(value)),
            ("query", w.query),
        ):
            start = tally.combines
            step()
            calls[operation].append(tally.combines - start)
        calls["slide"].append(tally.combines - first)
    paper = PAPERS.get(name, lambda n: {})(window)
    return [
        {
            "window": window, "algorithm": name, "operation": operation, "rounds": steps,
            "average": sum(numbers) / len(numbers), "worst": max(numbers), "paper": paper.get(operation, ""),
        }
        for operation, numbers in calls.items()
    ]  # fmt: skip


def notes(rows: Sequence[Row]) -> list[str]:
    """Average and worst beside the papers' own numbers."""
    return [
        f"{row['algorithm']}, n={row['window']:,}, {row['operation']}: {row['average']:.2f} on average, "
        f"{row['worst']} at worst (paper: {row['paper']})"
        for row in rows
        if row.get("paper")
    ]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The theorems, counted."""
    average = {(r["algorithm"], r["operation"], r["window"]): r["average"] for r in rows}
    worst = {
        operation: max(r["worst"] for r in rows if (r["algorithm"], r["operation"]) == ("daba", operation))
        for operation in ("insert", "evict", "query")
    }
    windows = sorted({r["window"] for r in rows})
    n = windows[-1]
    fit = [abs(average["flat_fit", "slide", w] - 3 * (w - 1) / (w + 1)) for w in windows]
    fat = [average["flat_fat", "slide", w] / math.log2(w) for w in windows]
    mean = {operation: average["daba", operation, n] for operation in ("insert", "evict")}
    return [
        Claim(
            "DABA calls combine at most 3 times in insert, 2 in evict, 1 in query",
            f"DABA at most {worst['insert']}, {worst['evict']} and {worst['query']}",
            worst["insert"] <= 3 and worst["evict"] <= 2 and worst["query"] <= 1,
        ),
        Claim(
            "on average 2 times in insert and once in evict",
            f"{mean['insert']:.2f} and {mean['evict']:.2f} on average at n = {n:,}",
            mean["insert"] <= 2.05 and mean["evict"] <= 1.05,
        ),
        Claim(
            "FlatFIT calls it 3(n-1)/(n+1) times a slide",
            f"FlatFIT {average['flat_fit', 'slide', n]:.2f} a slide at n = {n:,}",
            max(fit) < 0.01,
        ),
        Claim(
            "FlatFAT calls it about log2 n times a slide",
            f"FlatFAT {average['flat_fat', 'slide', n]:.1f} a slide, where log2 n = {math.log2(n):.1f}",
            all(at_most(times, 1) for times in fat),
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    for _, axes, own in results.grid(figure, rows, "operation"):
        results.lines_over(
            axes, own, "window", "average", "algorithm", "window (rows)", "combines on average", logy=False
        )
        axes.set_yscale("symlog")


EXPERIMENT = Experiment(
    name="combines",
    title="calls of combine an operation, average",
    paper="1 Th. 4.2, 2 Th. 9, 5 Tab. 1",
    expected="DABA <= 3 insert, 2 evict, 1 query, 2 and 1 on average; FlatFIT 3 a slide; FlatFAT log n",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(("window", "operation", "algorithm"), "average", "combines", baseline="recalculate"),
    asked="How often is combine called by one insert, one evict and one query? This needs no clock and no machine: "
    "it is the measure the papers' theorems are about.",
    claims=claims,
)
