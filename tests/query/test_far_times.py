"""Times near the ends of what 64 bits count: nanoseconds before 1823 and after 2116. Nothing is lost in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow
from tests.query.own_windows import Quiet
from windrow import agg, stores, swag, win

WINDOWS: dict[str, Any] = {
    "tumbling": (win.tumbling("2 s"), ["ab", "c", "d"]),
    "sliding": (win.sliding("4 s", every="2 s"), ["ab", "ab", "c", "cd", "d"]),
    "session": (win.session("2 s"), ["ab", "cd"]),
    "last": (win.last(2, every="2 s"), ["ab", "bc", "cd"]),
    "landmark": (win.landmark("mark", every="2 s"), ["ab", "abc", "abcd"]),
    "trailing": (win.trailing("2 s"), ["a", "ab", "c", "cd"]),
    "user-defined": (win.user_defined(Quiet), None),
}


def data(year: str) -> dict[str, np.ndarray]:
    """Rows after 0, 1, 4.5 and 6 seconds."""
    ts = np.datetime64(f"{year}-01-01T00:00:00", "ns") + np.array([0, 1000, 4500, 6000], "m8[ms]")
    return {"ts": ts, "mark": np.arange(4) == 0, "s": np.array(list("abcd"), object), "x": np.arange(4)}


def part(rows: dict, begin: int, end: int) -> dict:
    return {name: column[begin:end] for name, column in rows.items()}


@pytest.mark.parametrize("year", ["1678", "1822", "2117", "2262"])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("options", [{}, {"lateness": "1 s"}, {"store": True}], ids=["plain", "late", "stored"])
def test_far_times(year: str, name: str, options: dict) -> None:
    window, expected = WINDOWS[name]
    if "store" in options:
        options = {"store": stores.memory()}
    rows = data(year)
    for aggregate in (swag.counting(agg.concat("s")), agg.count()):
        query = windrow.Query(time="ts", windows=window, aggregates={"it": aggregate}, **options)
        whole = query.run(rows)["it"].tolist()
        if expected is not None:
            assert whole == (expected if aggregate.name == "concat" else list(map(len, expected)))
        live = query.open()
        got = [answer for i in range(4) for answer in live.push(part(rows, i, i + 1))["it"].tolist()]
        if "store" not in options:
            live = query.resume(live.snapshot())
        assert got + live.close()["it"].tolist() == whole
        assert (live.report.late, live.report.rejected) == (0, 0)
