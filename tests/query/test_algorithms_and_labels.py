"""Aggregates that hand a label on give the label back, whichever algorithm is asked for by name."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
from windrow import agg, stores, swag, win

TIMES = [1, 2, 2, 4, 5, 9, 10, 10, 14, 15]
LABELS = ["a", "b", None, "d", "e", "f", "g", "h", "i", "j"]
VALUES = [4, 7, 9, 7, 1, None, 3, 8, 8, 2]
CARRIES = {
    "top": agg.max_by("who", "x"),
    "low": agg.min_by("who", "x"),
    "one": agg.first("who"),
    "new": agg.last("who"),
}
WINDOWS = {"rows": win.trailing(3), "time": win.trailing("5 us"), "sliding": win.sliding("6 us", every="2 us")}


def brute(rows: list[int]) -> dict:
    """By the definitions: nulls do not count, the first row wins where values tie."""
    valued = [i for i in rows if VALUES[i] is not None]
    labelled = [i for i in rows if LABELS[i] is not None]
    return {
        "top": LABELS[max(valued, key=lambda i: VALUES[i])] if valued else None,
        "low": LABELS[min(valued, key=lambda i: VALUES[i])] if valued else None,
        "one": LABELS[labelled[0]] if labelled else None,
        "new": LABELS[labelled[-1]] if labelled else None,
    }


def expected(window: str) -> list[dict]:
    n = len(TIMES)
    if window == "rows":
        return [brute(list(range(max(0, i - 2), i + 1))) for i in range(n)]
    if window == "time":
        return [brute([j for j in range(n) if TIMES[i] - 5 < TIMES[j] <= TIMES[i]]) for i in range(n)]
    inside = ([j for j in range(n) if start <= TIMES[j] < start + 6] for start in range(-6, 20, 2))
    return [brute(rows) for rows in inside if rows]


def test_the_list_has_every_aggregate_that_carries_a_label():
    made = {name: getattr(agg, name) for name in dir(agg) if not name.startswith("_")}
    carrying = set()
    for name, make in made.items():
        try:
            if make().carries_label:
                carrying.add(name)
        except (TypeError, ValueError, AttributeError):  # it wants an option, or is no maker
            pass
    assert carrying == {aggregate.name for aggregate in CARRIES.values()}


def data(part: slice = slice(None)) -> dict:
    values = np.ma.masked_array([v or 0 for v in VALUES], [v is None for v in VALUES])
    return {"t": np.array(TIMES)[part], "who": np.array(LABELS, object)[part], "x": values[part]}


def answers(result: dict, names: dict) -> list[dict]:
    columns = [np.ma.asarray(result[name]).astype(object).tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def check(window: str, aggregates: dict, **options) -> None:
    """Batch, live, and through a snapshot; each with the labels themselves."""
    query = windrow.Query(time="t", windows=WINDOWS[window], aggregates=aggregates, **options)
    wanted = [{name: row[name] for name in aggregates} for row in expected(window)]
    assert answers(query.run(data()), aggregates) == wanted
    live, found = query.open(), []
    for a, z in ((0, 1), (1, 4), (4, 4), (4, 10)):
        found += answers(live.push(data(slice(a, z))), aggregates)
        live = query.resume(live.snapshot())
    found += answers(live.close(), aggregates)
    assert found == wanted


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("algorithm", [name for name in swag.ALGORITHMS if name != "subtract_on_evict"])
def test_plain(algorithm, window, stored):
    counted = {name: swag.counting(aggregate) for name, aggregate in CARRIES.items()}  # what is counted is not compiled
    check(window, counted, algorithm=algorithm, store=stores.memory() if stored else None)


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
@pytest.mark.parametrize("window", WINDOWS)
def test_compiled(window, stored):
    check(window, CARRIES, algorithm="fiba", store=stores.memory() if stored else None)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("algorithm", [name for name in swag.ALGORITHMS if name != "subtract_on_evict"])
def test_compiled_by_every_name(algorithm, window):
    check(window, CARRIES, algorithm=algorithm)


@pytest.mark.parametrize("window", ["rows", "sliding"])
def test_slots_that_no_row_has_used_do_not_count(window):
    """The Reactive Aggregator combines them, too: 0 is smaller than any value here, and another key's rows may be."""
    made = {"time": "t", "by": "k", "windows": WINDOWS[window], "aggregates": {"low": agg.min("x")}, "partial": True}
    found = {}
    for algorithm in ("reactive_aggregator", "two_stacks_lite"):
        live, rows = windrow.Query(**made, algorithm=algorithm).open(), []
        for key in range(12):  # each is forgotten, and leaves its slots to others
            times = np.arange(key % 5 + 1) * 2 + 100 * key
            rows.append(live.push({"t": times, "k": np.full(len(times), key), "x": times % 7 + 30 - key}))
        rows.append(live.close())
        found[algorithm] = [r for part in rows for r in sorted(zip(*(c.tolist() for c in part.values()), strict=True))]
    assert found["reactive_aggregator"] == found["two_stacks_lite"]
    assert min(row[-1] for row in found["two_stacks_lite"]) > 0
