"""What `explain()` says of slices and combines is what is counted."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
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
    assert "flat_fit" in query.explain() and "composite slide 1 row, with 1 edges" in query.explain()


@pytest.mark.parametrize(
    ("window", "most"),
    [(win.sliding("10 seconds", every="3 seconds"), 5), (win.tumbling("7 seconds"), 2), (win.session("5 seconds"), 1)],
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
    assert f"{most} slices" in query.explain() or most == 1
