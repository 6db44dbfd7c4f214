"""Keys about which nothing is left to know are forgotten: a query over ever-new keys holds as much as at first."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
from windrow import agg, win

WINDOWS = {
    "trailing": win.trailing("1 minute"),
    "trailing left": win.trailing("1 minute", closed="left"),
    "sliding": win.sliding("1 minute", every="10 seconds"),
    "session": win.session("30 seconds"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_ever_new_keys(name: str) -> None:
    query = windrow.Query(time="t", by="k", windows=WINDOWS[name], aggregates={"n": agg.count(), "m": agg.max("x")})
    live = query.open()
    sizes = []
    for step in range(60):
        at = np.arange(100) * 100_000 + step * 10_000_000
        live.push({"t": at, "k": [f"key {step} {i % 50}" for i in range(100)], "x": np.arange(100.0)})
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
