"""Many windows that are not periodic: sessions between the transitions of binary sensors.

Asked: 1 to 100 windows, each of which begins and ends where one sensor changes its state. How often it does is drawn
from the rates of 20 sensors, which the paper does not print: here once in 500 to once in 20,000 rows, 5 to 200 seconds
at 100 Hz. Only Cutty and RA can share these (§7.3). Combines are counted with the row-at-a-time aggregator, as in
`sharing`; time is that of `windrow.Query`.

Found by paper 3 (Fig. 9): Cutty orders of magnitude fewer combines than RA, and orders of magnitude faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import windrow
from benchmarks import results, streams
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from benchmarks.judging import span
from benchmarks.sharing import counted
from benchmarks.timing import interleaved
from windrow import agg, win
from windrow.windows.kinds import Punctuated

#: how often the 20 active sensors change their state, a row
RATES = np.geomspace(1 / 20_000, 1 / 500, 20)
TECHNIQUES = ("ra", "cutty_lazy", "cutty_eager", "cutty_fit", "cutty_fused")


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


class Rows(Sequence):
    """Rows as the aggregator takes them: columns by name. One object is every row in turn."""

    def __init__(self, columns: Mapping[str, np.ndarray], start: int = 0, stop: int | None = None) -> None:
        self.columns = {name: column.tolist() for name, column in columns.items()}
        self.start, self.stop = start, len(next(iter(columns.values()))) if stop is None else stop
        self.at = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.columns[key][self.at]
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            part = object.__new__(Rows)
            part.columns, part.start, part.stop, part.at = self.columns, self.start + start, self.start + stop, 0
            return part
        if key >= len(self):
            raise IndexError(key)
        self.at = self.start + key
        return self


def run(settings: Settings) -> list[Row]:
    number = settings.pick(1_000, 20_000, 60_000, 300_000)
    sizes = settings.pick((1, 5), (1, 10, 100), (1, 10, 20, 50, 100), (1, *range(10, 101, 10)))
    found: list[Row] = []
    for count in settings.track(sizes, "sessions: combines"):
        rows = Rows({**transitions(count, number, settings.seed), "x": np.ones(number, np.int64)})
        for technique in TECHNIQUES:
            found.append({"windows": count, **counted(windows(count), technique, rows, 0, "x")})  # noqa: PERF401
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
        ra, eager, fit, fused = (counts[count, name] for name in ("ra", "cutty_eager", "cutty_fit", "cutty_fused"))
        said.append(
            f"{count} windows: RA {ra['combines'] / max(eager['combines'], 1):,.0f}x the combines of Cutty eager, "
            f"{ra['combines'] / max(fit['combines'], 1):,.0f}x on FlatFIT (paper 3: three orders of magnitude); "
            f"with the fill {ra['all'] / eager['all']:.1f}x and {ra['all'] / fit['all']:.1f}x. "
            f"Most partials: RA {ra['most']:,}, Cutty {eager['most']:,}, fused {fused['most']:,}"
        )
    times = results.summary(Measure(("windows",), "seconds", "s", kind="time"), rows)
    ratio = times[-1]["median"] / times[0]["median"]
    return [*said, f"query: {times[-1]['windows']} windows take {ratio:.1f} times the time of one"]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """RA against Cutty, for each number of windows."""
    counts = {(r["windows"], r["technique"]): r for r in rows if r["kind"] == "combines"}
    numbers = sorted({windows for windows, _ in counts})
    more = {n: counts[n, "ra"]["combines"] / max(counts[n, "cutty_eager"]["combines"], 1) for n in numbers}
    held = {n: counts[n, "ra"]["most"] / counts[n, "cutty_eager"]["most"] for n in numbers}
    return [
        Claim(
            "RA calls combine orders of magnitude more often than Cutty",
            f"RA {span(more.values(), 'x')} the combines of Cutty with {numbers[0]} to {numbers[-1]} windows",
            max(more.values()) >= 100,
            "Sensors that change more often make more slices; the paper does not print how often its own did.",
        ),
        Claim(
            "and keeps orders of magnitude more partials",
            f"RA keeps {span(held.values(), 'x')} the partials",
            max(held.values()) >= 100,
            "The stream of this level is short, so RA's longest window is, too.",
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
