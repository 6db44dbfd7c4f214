"""Many windows that are not periodic: sessions between the transitions of binary sensors.

Asked: 1 to 100 windows, each of which begins and ends where one sensor changes its state. How often it does is drawn
from the rates of 20 sensors, which the paper does not print: here once in 500 to once in 20,000 rows, 5 to 200 seconds
at 100 Hz. Only Cutty and RA can share these (§7.3). `query` is a `windrow.Query`, counted step by step; `ra`,
`cutty_lazy`, `cutty_eager` and `cutty_fit` are the model of `benchmarks/slicing.py`. Time is that of `windrow.Query`.

In a query each of these windows has a slice of its own, which every row is combined with: there are no combines beyond
the fill, and as many for the fill as there are windows. The paper's Cutty shares slices: one combine per row for all.

Found by paper 3 (Fig. 9): Cutty orders of magnitude fewer combines than RA, and orders of magnitude faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results, slicing, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import span
from benchmarks.sharing import counted
from benchmarks.stepping import stepped
from benchmarks.timing import interleaved
from windrow import agg, swag, win
from windrow.windows.kinds import Punctuated

#: how often the 20 active sensors change their state, a row
RATES = np.geomspace(1 / 20_000, 1 / 500, 20)
#: how the model is set: where slices begin, and where it keeps the partials
TECHNIQUES = {
    "ra": ("rows", "eager"),
    "cutty_lazy": ("begins", "lazy"),
    "cutty_eager": ("begins", "eager"),
    "cutty_fit": ("begins", "fit"),
}


def transitions(count: int, rows: int, seed: int) -> dict[str, np.ndarray]:
    """For each window whether its sensor changes its state at a row; all of them begin at row 0."""
    random = np.random.default_rng(seed)
    found = {}
    for i in range(count):
        found[f"t{i}"] = random.random(rows) < random.choice(RATES)
        found[f"t{i}"][0] = True
    return found


def windows(count: int) -> dict[str, Punctuated]:
    return {f"w{i}": win.punctuated(f"t{i}") for i in range(count)}


def between(flags: Mapping[str, np.ndarray]) -> Iterator[tuple[int, int]]:
    """(start, end) of all windows; the last of each sensor is open at the end of the rows."""
    for column in flags.values():
        at = np.flatnonzero(column).tolist()
        yield from zip(at, [*at[1:], len(column) + 1], strict=True)


def modelled(flags: Mapping[str, np.ndarray], technique: str) -> Row:
    """What a technique takes."""
    where, store = TECHNIQUES[technique]
    rows = len(next(iter(flags.values())))
    begins = np.flatnonzero(np.any(list(flags.values()), axis=0)).tolist()
    return counted(
        technique, slicing.modelled(begins if where == "begins" else range(rows), between(flags), rows, store)
    )


def queried(flags: Mapping[str, np.ndarray], rows_a_step: int = 1_000) -> Row:
    """What a query takes."""
    query = windrow.Query(windows=windows(len(flags)), aggregates={"total": swag.counting(agg.sum("x"))})
    data = {**flags, "x": np.ones(len(next(iter(flags.values()))), np.int64)}
    return counted("query", stepped(query, data, 0, rows_a_step))


def run(settings: Settings) -> list[Row]:
    number = settings.pick(1_000, 20_000, 60_000, 300_000)
    sizes = settings.pick((1, 5), (1, 10, 100), (1, 10, 20, 50, 100), (1, *range(10, 101, 10)))
    found: list[Row] = []
    for count in settings.track(sizes, "sessions: combines"):
        flags = transitions(count, number, settings.seed)
        found += [{"windows": count, **modelled(flags, technique)} for technique in TECHNIQUES]
        found.append({"windows": count, **queried(flags)})
    return found + timed(settings, sizes)


def timed(settings: Settings, sizes: Sequence[int]) -> list[Row]:
    """Seconds of `windrow.Query` over the whole stream, for each number of windows."""
    number = settings.pick(1_000, 100_000, 500_000, 2_000_000)
    stream = streams.debs(number, settings.seed)
    means = {f"mean{i}": agg.mean(f"energy{i}") for i in (1, 2, 3)}
    flags = transitions(max(sizes), number, settings.seed)

    def prepared(count: int) -> Callable[[], Callable[[], Any]]:
        data = {f"energy{i}": stream[f"energy{i}"] for i in (1, 2, 3)} | {f"t{i}": flags[f"t{i}"] for i in range(count)}
        query = windrow.Query(windows=windows(count), aggregates=means)
        query.run({name: column[: number // 4] for name, column in data.items()})  # compiled by now
        return lambda: lambda: query.run(data)

    found = []
    for name, repetition, seconds in interleaved(
        {str(count): prepared(count) for count in sizes}, settings.repetitions
    ):
        row = {"kind": "time", "windows": int(name), "technique": "query", "rows": number, "repetition": repetition}
        found.append({**row, "seconds": seconds, "mrows": number / seconds / 1e6})
    return found


def notes(rows: Sequence[Row]) -> list[str]:
    """How many times more RA combines, and how time grows."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    said = []
    for count in sorted({windows for windows, _ in counts}):
        ra, eager, fit, query = (counts[count, name] for name in ("ra", "cutty_eager", "cutty_fit", "query"))
        said.append(
            f"{count} windows: RA {ra['combines'] / max(eager['combines'], 1):,.0f}x the combines of Cutty eager, "
            f"{ra['combines'] / max(fit['combines'], 1):,.0f}x on FlatFIT (paper 3: three orders of magnitude); "
            f"with the fill {ra['all'] / eager['all']:.1f}x and {ra['all'] / fit['all']:.1f}x, and "
            f"{ra['all'] / query['all']:.2f}x those of a query, in which each window has a slice of its own. "
            f"Most partials: RA {ra['most']:,}, Cutty {eager['most']:,}, a query {query['most']:,}"
        )
    times = results.summary(Measure(("windows",), "seconds", "s", kind="time"), rows)
    ratio = times[-1]["median"] / times[0]["median"]
    return [*said, f"query: {times[-1]['windows']} windows take {ratio:.1f} times the time of one"]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """RA against Cutty, for each number of windows."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    numbers = sorted({windows for windows, _ in counts})

    def ratio(other: str, what: str) -> dict[int, float]:
        return {n: counts[n, "ra"][what] / max(counts[n, other][what], 1) for n in numbers}

    more, held, ours = ratio("cutty_eager", "combines"), ratio("query", "most"), ratio("query", "all")
    return [
        Claim(
            "RA calls combine orders of magnitude more often than Cutty",
            f"RA {span(more.values(), 'x')} the combines of Cutty with {numbers[0]} to {numbers[-1]} windows",
            max(more.values()) >= 100,
            "Sensors that change more often make more slices; the paper does not print how often its own did.",
        ),
        Claim(
            "and keeps orders of magnitude more partials",
            f"RA keeps {span(held.values(), 'x')} the partials of a query",
            max(held.values()) >= 100,
            "The stream of this level is short, so RA's longest window is, too.",
        ),
        Claim(
            "however many windows there are",
            f"with the fill, RA {span(ours.values(), 'x')} the combines of a query",
            min(ours.values()) >= 1,
            "In a query these windows do not share slices: each row is combined once for each window.",
        ),
    ]


def draw(rows: Sequence[Row], figure: Any) -> None:
    left, middle, right = figure.subplots(1, 3)
    counts = [row for row in rows if row["kind"] == "combines"]
    label = "combines a row beyond the fill"
    results.lines_over(left, counts, "windows", "a_row", "technique", "windows", label, logx=False)
    results.lines_over(middle, counts, "windows", "most", "technique", "windows", "most partials held", logx=False)
    times = [row for row in rows if row["kind"] == "time"]
    results.lines_over(right, times, "windows", "mrows", "technique", "windows", "million rows/s", logx=False)


EXPERIMENT = Experiment(
    name="sessions",
    title="1..100 windows between sensor transitions",
    paper="3 Fig. 9",
    expected="Cutty orders of magnitude over RA",
    run=run,
    draw=draw,
    notes=notes,
    measure=Measure(
        ("windows", "technique"), "a_row", "combines a row beyond the fill", baseline="ra", kind="combines"
    ),
    asked="How much work do 1 to 100 windows share that begin and end where sensors change their state, which no "
    "period describes?",
    claims=claims,
)
