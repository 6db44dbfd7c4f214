"""State that a trigger of a stream moves: entries and bytes, read and written, by the window's range.

Asked: does what a trigger moves grow with the range? A bucket of ten keys takes a minute of rows with each trigger, for
windows of an hour, a day and ten days every minute. It runs as in a worker of Spark, with its state in a dict.

No paper has it; it is what "a trigger costs what it brings" means for state that lies elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from benchmarks import results
from benchmarks.base import Claim, Experiment, Measure, Row, Settings
from windrow import agg, win
from windrow.spark.buckets import BUCKETS, HASH, HEAD, Bucket

MINUTE = 60_000_000
KEYS = 10
RANGES = {"1 hour": 60, "1 day": 1_440, "10 days": 14_400}


class Counted(dict):
    """State in memory that counts what moves."""

    def __init__(self, chunks: Any = None) -> None:
        super().__init__()
        self.chunks, self.entries, self.bytes = chunks, 0, 0

    def get(self, place: Any, default: Any = None) -> Any:
        return self._moved(super().get(place, default))

    def put(self, place: Any, data: bytes) -> None:
        self[place] = self._moved(data)

    def remove(self, place: Any) -> None:
        self.pop(place, self._moved(None))

    def _moved(self, data: bytes | None) -> Any:
        self.entries += 1
        self.bytes += len(data or b"")
        return data


def query(minutes: int) -> windrow.Query:
    return windrow.Query(
        time="ts",
        by="k",
        windows=win.sliding(f"{minutes} minutes", every="1 minute"),
        aggregates={"most": agg.max("x"), "total": agg.sum("x"), "rows": agg.count("x")},
        lateness="1 minute",
    )


def rows(rng: np.random.Generator, begin: int, minutes: int, a_minute: int) -> pa.Table:
    """Rows of each key in each minute, in the order of time."""
    n = minutes * KEYS * a_minute
    times = np.arange(n) * (MINUTE * minutes // n) + begin * MINUTE
    keys = np.arange(n) % KEYS
    columns = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": keys, "x": rng.random(n)}
    return pa.table(columns | {HASH: pa.array(keys * BUCKETS, pa.int64())})


def triggers(minutes: int, count: int, seed: int) -> Iterator[Row]:
    """Triggers of a minute each, once a window is full."""
    rng = np.random.default_rng(seed)
    state = Counted(Counted())
    asked, filled = query(minutes), minutes + 2
    for i in range(-2, count):
        batch = rows(rng, 0, filled, 1) if i == -2 else rows(rng, filled + i + 1, 1, 100)
        newest = filled + i + 1 if i > -2 else 1
        before = state.entries + state.chunks.entries, state.bytes + state.chunks.bytes
        begin = time.perf_counter()
        bucket = Bucket(asked, batch.schema)
        head = bucket.head(0, state)
        bucket.step(0, head, state, [batch], (newest - 1) * MINUTE)
        state.put(HEAD, bucket.head_bytes(0, head))
        took = time.perf_counter() - begin
        if i >= 0:
            entries, size = state.entries + state.chunks.entries, state.bytes + state.chunks.bytes
            yield {
                "repetition": i,
                "entries": entries - before[0],
                "kilobytes": (size - before[1]) / 1e3,
                "ms": took * 1e3,
            }


def run(settings: Settings) -> list[Row]:
    ranges = dict(list(RANGES.items())[: settings.pick(2, 3, 3, 3)])
    count = settings.pick(4, 40, 200, 400)
    return [
        {"range": name, "minutes": minutes, **told}
        for name, minutes in settings.track(ranges.items(), "stream-state")
        for told in triggers(minutes, count, settings.seed)
    ]


def claims(found: Sequence[Row]) -> list[Claim]:
    lines = results.summary(EXPERIMENT.measure, found)
    shortest = next(line["median"] for line in lines if line["range"] == "1 hour")
    told = []
    for line in lines:
        if line["range"] != "1 hour":
            mine = [row for row in found if row["range"] == line["range"]]
            entries = float(np.median([row["entries"] for row in mine]))
            text = (
                f"{line['range']}: {line['median']:.1f} kB in {entries:.0f} entries, {line['median'] / shortest:.2f}x"
            )
            told.append(Claim("at most twice what an hour moves", text, line["median"] <= 2 * shortest))
    return told


def draw(found: Sequence[Row], figure: Any) -> None:
    lines = results.summary(EXPERIMENT.measure, found)
    axes = figure.subplots()
    axes.bar([line["range"] for line in lines], [line["median"] for line in lines])
    axes.set_ylabel("kilobytes a trigger")


EXPERIMENT = Experiment(
    name="stream-state",
    title="state that a trigger moves, by the window's range",
    paper="none",
    expected="ours to set: the same bytes whatever the range",
    run=run,
    draw=draw,
    measure=Measure(("range",), "kilobytes", "kB"),
    asked="Does the state that a trigger of a stream reads and writes grow with the window's range?",
    claims=claims,
)
