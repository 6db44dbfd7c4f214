"""What `explain()` says of slices and combines is what is counted."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import windrow
from tests.query.own_windows import Spells
from windrow import agg, swag, win
from windrow.swag import ALGORITHMS

ROWS = 5_000
SECOND = 1_000_000
#: combines of one row more, for algorithms whose card has no number: multiples of log2 of the window
BOUNDS = {"recalculate": ROWS, "flat_fat": 30, "reactive_aggregator": 40, "b_int": 40, "log_mta": 40, "amta": 40}


def counts(query: windrow.Query, aggregate: windrow.Aggregate, more: int, step: int = SECOND) -> list[int]:
    """Combines of single-row pushes onto `ROWS` rows."""
    live = query.open()
    live.push({"t": np.arange(ROWS) * step, "x": np.arange(ROWS)})
    found = []
    for i in range(ROWS, ROWS + more):
        before = aggregate.combines
        live.push({"t": [i * step], "x": [i]})
        found.append(aggregate.combines - before)
    return found


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "fiba"])
def test_a_push_of_one_row_is_within_the_card(algorithm: str) -> None:
    total = swag.counting(agg.sum("x"))
    windows = win.trailing(ROWS)
    query = windrow.Query(time="t", windows=windows, aggregates={"s": total}, algorithm=algorithm)
    found = counts(query, query.aggregates["s"], 40)
    card = ALGORITHMS[algorithm].card
    limit = BOUNDS.get(algorithm) if card.a_row is None else card.a_row
    assert limit is not None
    if card.amortised:  # one flip in so many rows may be among them
        assert np.median(found) <= limit, found
        assert sum(found) <= limit * len(found) + 2 * ROWS, found
    else:
        assert max(found) <= limit, (limit, found)


def test_latency_is_constant_in_the_worst_case() -> None:
    for windows, step in ((win.trailing(500), SECOND), (win.sliding("500 seconds", every="1 second"), SECOND)):
        total = swag.counting(agg.sum("x"))
        query = windrow.Query(time="t", windows=windows, aggregates={"s": total}, favor="latency")
        assert max(counts(query, query.aggregates["s"], 1200, step)) <= 8


def test_many_ranges_share_one_flat_fit() -> None:
    """Paper 5: 32 ranges of one stream take about one combine per range and row."""
    total = swag.counting(agg.sum("x"))
    windows = {f"w{k}": win.sliding(k, every=1) for k in range(1, 33)}
    query = windrow.Query(windows=windows, aggregates={"s": total})
    live = query.open()
    live.push({"x": np.arange(100)})
    of = query.aggregates["s"]
    before = of.combines
    live.push({"x": np.arange(100, 200)})
    assert (of.combines - before) / 100 <= 34
    assert (
        "flat_fit" in query.explain() and "composite slide 1 row, with 1 edge in it (0), 32 windows" in query.explain()
    )


@pytest.mark.parametrize(
    ("window", "most"),
    [(win.sliding("10 seconds", every="3 seconds"), 4), (win.tumbling("7 seconds"), 1), (win.session("5 seconds"), 1)],
    ids=str,
)
def test_slices_held_are_what_explain_says(window: windrow.windows.base.Window, most: int) -> None:
    query = windrow.Query(time="t", windows=window, aggregates={"n": agg.count()})
    live = query.open()
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.integers(0, 4, 400)) * SECOND
    for i in range(0, 400, 3):
        live.push({"t": times[i : i + 3]})
        walk = live.state.walks["window"]
        held = walk.word(np.zeros(1, np.int64), 1) - walk.word(np.zeros(1, np.int64), 0)
        assert held[0] <= most
    told = query.explain()
    assert f"{most} slices" in told or (most == 1 and ("at most 1 slice" in told or "one slice" in told))


@pytest.mark.parametrize("seed", range(20))
def test_the_composite_slide_is_what_is_cut(seed: int) -> None:
    """Paper 5 §2.3: with a row at every place, so many slices and windows begin in each composite slide."""
    rnd = random.Random(seed)
    on = {"on": "y"} if seed % 2 else {}
    unit = 0.25 if seed % 2 else 1
    windows = {}
    for i in range(rnd.randrange(2, 5)):
        every = rnd.choice([1, 2, 3, 4, 5, 6, 8, 12])
        size, origin = rnd.randrange(1, 30), rnd.randrange(20)
        windows[f"w{i}"] = win.sliding(size * unit, every=every * unit, origin=origin * unit, **on)
    query = windrow.Query(windows=windows, aggregates={"n": agg.count()})
    told = next(line for line in query.explain().splitlines() if line.startswith("  slide"))
    slide, edges, begins = re.search(r"slide ([0-9.]+) .*, with (\d+) edges? in it.*, (\d+) windows", told).groups()
    length = round(float(slide) / unit)
    assert length <= 120, told

    def cut(n: int) -> tuple[int, int]:
        """How many slices and windows n rows make; rows before the last origin are not counted below."""
        explained = query.explain({"y": np.arange(n) * unit})
        measured = re.findall(r"measured +([0-9,]+) results from ([0-9,]+) slices", explained)
        results = sum(int(found.replace(",", "")) for found, _ in measured)
        return int(measured[0][1].replace(",", "")), results

    few, many = cut(240), cut(240 + 10 * length)
    assert (many[0] - few[0], many[1] - few[1]) == (10 * int(edges), 10 * int(begins)), told


def slices_held(live: Any) -> dict[tuple[str, ...], int]:
    """For each ring the most slices of a key, the open one included; in plain Python they are easy to count."""
    found = {}
    for ring, groups in live.state.groups.items():
        cells = groups[0].windows.plain.cells
        found[ring] = max(e - f + (o != 0) for f, e, o, *_ in cells)
    return found


def open_periodic(window: Any, times: list[int], now: int) -> int:
    """Windows with a row in them that have not ended."""
    numbers: set[int] = set()
    for t in times:
        first, last = (t - window.origin - window.range) // window.every + 1, (t - window.origin) // window.every
        numbers.update(k for k in range(first, last + 1) if window.origin + k * window.every + window.range > now)
    return len(numbers)


KINDS: dict[str, Callable[[random.Random], Any]] = {
    "sliding": lambda rnd: win.sliding(seconds(rnd, 1, 60), every=seconds(rnd, 1, 20)),
    "gaps": lambda rnd: win.sliding(seconds(rnd, 1, 5), every=seconds(rnd, 5, 20)),
    "tumbling": lambda rnd: win.tumbling(seconds(rnd, 1, 20)),
    "session": lambda rnd: win.session(seconds(rnd, 1, 10)),
    "punctuated": lambda rnd: win.punctuated("flag"),
    "landmark": lambda rnd: win.landmark("flag", every=seconds(rnd, 1, 10)),
    "user-defined": lambda rnd: win.user_defined(Spells(rnd.randrange(1, 20) * SECOND)),
}


def seconds(rnd: random.Random, least: int, end: int) -> str:
    return f"{rnd.randrange(least, end)} seconds"


def stream(rnd: random.Random, n: int = 300) -> Iterator[dict[str, list]]:
    """Pushes of one row."""
    t = 0
    for _ in range(n):
        t += rnd.choice([0, 0, 1, 1, 2, 5, 40]) * SECOND
        yield {"ts": [t], "price": [rnd.choice([9.0, 10.5, 12.0])], "flag": [rnd.random() < 0.1]}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_never_more_slices_than_open_windows(kind: str, seed: int) -> None:
    """Of a window with a ring of its own."""
    rnd = random.Random(f"{kind} {seed}")
    window = KINDS[kind](rnd)
    query = windrow.Query(time="ts", windows=window, aggregates={"n": swag.counting(agg.count())})
    live, most = query.open(), 0
    times: list[int] = []
    for row in stream(rnd):
        live.push(row)
        now = row["ts"][0]
        times = [t for t in [*times, now] if t > now - 100 * SECOND]
        (held,) = slices_held(live).values()
        if kind in ("sliding", "gaps", "tumbling"):
            left = open_periodic(window, times, now)
        elif kind == "user-defined":
            left = len(live.state.walks["window"].objects.get(0, {"ends": []})["ends"])
        else:
            left = 1
        assert held <= left, (str(window), now)
        most = max(most, held)
    assert most >= 1


@pytest.mark.parametrize("seed", range(12))
def test_a_shared_ring_has_as_many_slices_as_explain_says(seed: int) -> None:
    rnd = random.Random(seed)
    windows = {
        f"w{i}": win.sliding(seconds(rnd, 1, 30), every=f"{rnd.choice([1, 2, 3, 4, 6, 12, 18])} seconds")
        for i in range(rnd.randrange(2, 5))
    }
    query = windrow.Query(time="ts", windows=windows, aggregates={"n": swag.counting(agg.count())})
    told = {int(found) for found in re.findall(r"state +at most (\d+) slices?, shared", query.explain())}
    live, most = query.open(), 0
    for t in range(120):
        live.push({"ts": [t * SECOND]})  # a row at every edge
        most = max(most, *slices_held(live).values())
    assert {most} == told, [str(window) for window in windows.values()]
