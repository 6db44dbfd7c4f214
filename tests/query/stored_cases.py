"""Queries with a store: tables, windows, and pushes of any size, for the tests of stored queries."""

from __future__ import annotations

import random

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.step import shelf

ROWS = 1500
AGGREGATES = {
    "s": agg.sum("x"),
    "m": agg.max("f"),
    "b": agg.max_by("w", "x"),
    "c": agg.concat("w"),
    "n": agg.count(),
}
WINDOWS = {
    "periodic": win.sliding("300 seconds", every="7 seconds"),
    "periodic, gaps": win.sliding("10 seconds", every="35 seconds"),
    "periodic, rows": win.sliding(400, every=13),
    "periodic, column": win.sliding(90.5, every=1.5, on="d"),
    "trailing": win.trailing("300 seconds"),
    "trailing, left": win.trailing("300 seconds", closed="left"),
    "trailing, both": win.trailing("100 seconds", closed="both"),
    "trailing, none": win.trailing("0 seconds", closed="none"),
    "trailing, rows": win.trailing(400),
    "trailing, rows, left": win.trailing(40, closed="left"),
    "trailing, column": win.trailing(90.5, on="d", closed="left"),
    "policy": win.policy(lambda total, old: total.n - old.n >= 300, over={"n": agg.count()}),
    "policy, all": win.policy(lambda total, old: (total.top or 0) >= 99, over={"top": agg.max("x"), "_n": agg.count()}),
}


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """So that windows of a few hundred rows lie in the store."""
    monkeypatch.setattr(shelf, "CACHE", 16)
    monkeypatch.setattr(shelf, "BUFFER", 16)


def table(seed: int = 0, n: int = ROWS) -> dict:
    r = np.random.default_rng(seed)
    at = np.cumsum(r.integers(0, 4, n)) + np.where(np.arange(n) > n // 2, 5000, 0)  # and a long gap
    return {
        "ts": at.astype("M8[s]").astype("M8[us]"),
        "d": at / 2,
        "k": r.integers(0, 3, n),
        "x": np.ma.masked_array(r.integers(-5, 100, n), r.random(n) < 0.05),
        "f": r.normal(size=n).round(3),
        "w": np.array([f"{i % 100}." for i in range(n)], object),
    }


def rows_of(results: list[dict]) -> list[tuple]:
    found = []
    for result in results:
        found += zip(*(np.ma.asarray(column).astype(object).tolist() for column in result.values()), strict=True)
    return found


def pushed(query, data: dict, again: float = 0.0, seed: int = 3) -> list[tuple]:
    """All results over pushes of any size; now and then the query is saved and gone on with."""
    sizes, saves = random.Random(seed), random.Random(seed)
    live, out, at, n = query.open(), [], 0, len(data["ts"])
    while at < n:
        end = at + sizes.randrange(1, 250)
        out.append(live.push({name: column[at:end] for name, column in data.items()}))
        at = end
        if saves.random() < again:
            live = query.resume(live.snapshot())
    out.append(live.close())
    found = rows_of(out)
    # which key comes first in a push depends on which numbers forgotten keys have left
    return found if query.per_row else sorted(found, key=repr)


def asked(window, store=None, **options):
    return windrow.Query(**{"windows": window, "time": "ts", "aggregates": AGGREGATES, "store": store, **options})
