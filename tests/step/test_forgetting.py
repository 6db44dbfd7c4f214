"""Keys about which nothing is left to know are forgotten: a query over ever-new keys holds as much as at first."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
from tests.query.own_windows import LastRows, Quiet
from windrow import agg, win
from windrow.local.live import Live

WINDOWS = {
    "trailing": win.trailing("1 minute"),
    "trailing left": win.trailing("1 minute", closed="left"),
    "sliding": win.sliding("1 minute", every="10 seconds"),
    "session": win.session("30 seconds"),
    "user-defined": win.user_defined(Quiet(30_000_000)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_ever_new_keys(name: str) -> None:
    query = windrow.Query(time="t", by="k", windows=WINDOWS[name], aggregates={"n": agg.count(), "m": agg.max("x")})
    live = query.open()
    sizes = []
    for step in range(60):
        at = np.arange(100) * 100_000 + step * 10_000_000
        live.push({"t": at, "ts": at, "k": [f"key {step} {i % 50}" for i in range(100)], "x": np.arange(100.0)})
        sizes.append((len(live.door.keys), live.state.table.words.shape[0], live.door.keys.count))
    assert sizes[-1] == sizes[30], sizes
    assert sizes[-1][2] <= 50 * 10


def test_a_key_that_comes_back_begins_anew() -> None:
    query = windrow.Query(time="t", by="k", windows=win.trailing("1 minute"), aggregates={"n": agg.count()})
    live = query.open()
    second = 1_000_000
    out = []
    for when, key in [(0, "a"), (1, "a"), (2, "b"), (200, "b"), (400, "a"), (401, "a"), (600, "c")]:
        out += live.push({"t": [when * second], "k": [key]})["n"].tolist()
    out += live.close()["n"].tolist()
    assert out == [1, 2, 1, 1, 1, 2, 1]


def test_rows_that_wait_keep_their_key() -> None:
    query = windrow.Query(
        time="t", by="k", windows=win.trailing("1 second"), aggregates={"n": agg.count()}, lateness="1 minute"
    )
    live = query.open()
    second = 1_000_000
    counts = {}
    for when, key in [(0, "a"), (100, "b"), (130, "a"), (300, "b"), (310, "a"), (500, "c")]:
        out = live.push({"t": [when * second], "k": [key]})
        counts.update(dict(zip(zip(out["k"].tolist(), out["t"].tolist(), strict=True), out["n"].tolist(), strict=True)))
    out = live.close()
    counts.update(dict(zip(zip(out["k"].tolist(), out["t"].tolist(), strict=True), out["n"].tolist(), strict=True)))
    assert set(counts.values()) == {1} and len(counts) == 6


def test_keys_whose_rows_are_all_late_are_not_remembered() -> None:
    query = windrow.Query(time="t", by="k", windows=win.trailing("1 second"), aggregates={"n": agg.count()})
    live = query.open()
    live.push({"t": [10**9], "k": ["a"]})
    for i in range(50):
        live.push({"t": [i], "k": [f"late {i}"]})
    assert live.report.late == 50 and len(live.door.keys) <= 2


def known(live: Live) -> list:
    """The keys that are not forgotten."""
    keys = live.door.keys
    return list(keys.columns(keys.all())[0])


def test_a_users_window_that_still_knows_something_is_kept() -> None:
    """Rows that were not evicted are in the next window, however long it takes; so is what the object remembers."""
    query = windrow.Query(
        time="ts", by="k", windows=win.user_defined(LastRows(2, 10)), aggregates={"s": agg.concat("s")}
    )
    live = query.open()
    out = []
    for when, key, text in [(1, "a", "x"), (2, "b", "y"), (500, "b", "z"), (900, "a", "w"), (2000, "c", "v")]:
        out += live.push({"ts": [when], "k": [key], "s": [text]})["s"].tolist()
    assert out == ["x", "y", "yz", "xw"] and sorted(known(live)) == ["a", "b", "c"]


def test_a_users_window_begins_anew_when_it_was_forgotten() -> None:
    query = windrow.Query(time="ts", by="k", windows=win.user_defined(Quiet(5)), aggregates={"s": agg.concat("s")})
    live = query.open()
    out = []
    for when, key, text in [(1, "a", "x"), (2, "b", "y"), (3, "a", "z"), (50, "b", "w"), (51, "a", "v"), (99, "c", "")]:
        result = live.push({"ts": [when], "k": [key], "s": [text]})
        out += zip(*(result[name].tolist() for name in ("k", "start", "end", "s")), strict=True)
        assert set(live.state.walks["window"].objects) == set(live.door.keys.all().tolist())
    assert sorted(out) == [("a", 1, 8, "xz"), ("a", 51, 56, "v"), ("b", 2, 7, "y"), ("b", 50, 55, "w")]
    assert known(live) == ["c"]
