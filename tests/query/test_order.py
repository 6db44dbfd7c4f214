"""`combine(older, newer)`: the older partial first, and the two are neighbours. By every algorithm, on every path."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.errors import Unsupported
from windrow.swag import ALGORITHMS


def lift(x):
    return (x, x + 1)


def neighbours(a, b):
    """Rows [first, end) of the stream; no rows: first = end. Raises where b does not follow a."""
    if a[0] == a[1]:
        return b
    if b[0] == b[1]:
        return a
    if a[1] != b[0]:
        raise ValueError("not neighbours, or the newer one first")
    return (a[0], b[1])


def less(total, oldest):
    if oldest[0] == oldest[1]:
        return total
    if oldest[0] != total[0]:
        raise ValueError("not the oldest")
    return (oldest[1], total[1])


def span(p):
    return p[1] - p[0]


def ordered(compiled: bool) -> windrow.Aggregate:
    """How many rows, by a combine that raises where the order is wrong."""
    made = windrow.Aggregate(lift, neighbours, span, identity=(0, 0), inverse=less, name="ordered")
    return made if compiled else in_plain_python(made)


def counted() -> windrow.Aggregate:
    """`count`, not compiled."""
    return in_plain_python(windrow.Aggregate(lambda x: 1, lambda a, b: a + b, identity=0, inverse=lambda t, a: t - a))


def in_plain_python(aggregate: windrow.Aggregate) -> windrow.Aggregate:
    aggregate.numeric = lambda dtypes: None
    return aggregate


@pytest.mark.parametrize("name", ALGORITHMS)
def test_by_hand(name: str) -> None:
    for seed in range(6):
        rnd = random.Random(seed)
        window, first, end = ALGORITHMS[name](ordered(False), capacity=4), 0, 0
        growth, asked = rnd.choice([0.45, 0.5, 0.6]), rnd.choice([0.2, 1.0])
        for _ in range(250):
            if first < end and rnd.random() > growth:
                window.evict()
                first += 1
            else:
                window.insert(end)
                end += 1
            if rnd.random() < asked:
                assert window.query() == (end - first if first < end else window.of.empty)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("size", [1, 3, 8, 13])
def test_slide(name: str, size: int) -> None:
    window = ALGORITHMS[name](ordered(False))
    expected = [min(i + 1, size) for i in range(80)]
    assert [*window.slide(range(50), size), *window.slide(range(50, 80), size)] == expected


#: compiled, one for each way of keeping partials; the rest is slow to compile
FEW = ("reactive_aggregator", "flat_fat", "flat_fit", "two_stacks_lite")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in ALGORITHMS]
)
def test_slide_compiled(name: str) -> None:
    rows, of = np.arange(300), ordered(True)
    for size in (1, 8, 13, 40):
        assert list(ALGORITHMS[name](of).slide(rows, size)) == [min(i + 1, size) for i in range(300)], size
    window = ALGORITHMS[name](of)
    if name not in ("amta", "log_mta"):
        times = np.sort(np.random.default_rng(3).integers(0, 900, 300))
        lo = np.searchsorted(times, times - 60, side="right")
        hi = np.searchsorted(times, times, side="right")
        assert list(window.slide(rows, 60, times=times)) == list(hi - lo)


class Stock:
    """Paper 3's: windows begin now and then, and end in turn."""

    def __init__(self) -> None:
        self.open = 0

    def discretize(self, row: Any) -> tuple[int, int]:
        ends = 1 if self.open > 2 else 0
        begins = 1 if row.x % 3 == 0 else 0
        self.open += begins - ends
        return begins, ends


WINDOWS = {
    "sliding": win.sliding("10 s", every="3 s"),
    "tumbling": win.tumbling("7 s"),
    "sliding rows": win.sliding(9, every=2),
    "sliding on": win.sliding(20, every=5, on="x"),
    "trailing": win.trailing("9 s"),
    "trailing rows": win.trailing(7),
    "trailing left": win.trailing("9 s", closed="left"),
    "trailing on": win.trailing(9, on="x"),
    "session": win.session("2 s"),
    "punctuated": win.punctuated("x % 5 == 0"),
    "landmark": win.landmark("x % 20 == 0", every=3),
    "last": win.last(11, every="2 s"),
    "policy": win.policy(lambda total, old: total.n - old.n >= 6, over={"n": agg.count()}),
    "user-defined": win.user_defined(Stock),
}


def stream(seed: int, pushes: int = 25) -> list[dict[str, np.ndarray]]:
    """Rows of one key, numbered in the order of time, in pushes of 0 to 6."""
    rnd = random.Random(seed)
    n, at, found = 0, 0, []
    for _ in range(pushes):
        rows = []
        for _ in range(rnd.choice([0, 1, 1, 2, 6])):
            at += rnd.choice([0, 1, 1, 2, 4])
            rows.append((at, n))
            n += 1
        times, numbers = np.array(rows, np.int64).reshape(-1, 2).T
        found.append({"t": (times * 1_000_000).astype("M8[us]"), "x": numbers})
    return found


def compared(window: Any, name: str, of: windrow.Aggregate) -> None:
    """Batch and live: no combine in the wrong order, and as many rows as `count` says."""
    try:
        query = windrow.Query(
            time="t", windows=window, aggregates={"a": of("x"), "n": counted()("x")}, algorithm=name, partial=True
        )
    except Unsupported:
        pytest.skip("refused by name")
    pushes = stream(5)
    whole = {column: np.concatenate([push[column] for push in pushes]) for column in ("t", "x")}
    results = [query.run(whole)]
    live = query.open()
    results.append([live.push(push) for push in pushes])
    results[1].append(live.close())
    results[1] = {column: np.ma.concatenate([r[column] for r in results[1]]) for column in ("a", "n")}
    for result in results:
        assert np.ma.asarray(result["a"]).tolist() == np.ma.asarray(result["n"]).tolist()
    assert len(results[0]["n"]) == len(results[1]["n"]) > 3


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", WINDOWS)
def test_queries(kind: str, name: str) -> None:
    compared(WINDOWS[kind], name, ordered(False))


@pytest.mark.parametrize("kind", ["last", "trailing"])
def test_compiled_queries(kind: str) -> None:
    compared(WINDOWS[kind], "reactive_aggregator", ordered(True))


def test_windows_that_share_a_ring() -> None:
    for windows in (
        {"a": WINDOWS["sliding"], "b": WINDOWS["tumbling"]},
        {"a": win.trailing(7), "b": win.trailing(9), "c": win.trailing(30)},
    ):
        query = windrow.Query(time="t", windows=windows, aggregates={"a": ordered(False)("x")}, algorithm="flat_fit")
        live = query.open()
        for push in stream(9):
            live.push(push)
        live.close()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_live_window_grows_after_rows_have_left(name: str) -> None:
    grows(name, agg.collect_list("x"), lambda rows: rows)


@pytest.mark.parametrize("name", ["reactive_aggregator", "flat_fat"])
def test_a_compiled_live_window_grows_after_rows_have_left(name: str) -> None:
    grows(name, ordered(True)("x"), len)


def grows(name: str, of: windrow.Aggregate, expected: Any) -> None:
    """A few rows at first; when some have left, many."""
    query = windrow.Query(time="t", windows=win.trailing("9 s"), aggregates={"a": of}, algorithm=name)
    live, rnd, times = query.open(), random.Random(3), [0]
    for push in range(36):
        steps = [rnd.choice([1, 2, 3] if push < 20 else [0, 0, 0, 1]) for _ in range(2 if push < 20 else 30)]
        start = len(times)
        for step in steps:
            times.append(times[-1] + step)
        new = np.array(times[start:])
        got = live.push({"t": (new * 1_000_000).astype("M8[us]"), "x": np.arange(start, len(times))})
        for a, t in zip(got["a"], got["t"].astype("M8[s]").astype(int), strict=True):
            rows = [i for i in range(1, len(times)) if t - 9 < times[i] <= t]
            assert a == expected(rows), (push, t)
