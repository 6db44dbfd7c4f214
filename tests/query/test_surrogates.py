"""Half of a surrogate pair is a character to Python and none in UTF-8: it is kept, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from windrow import agg, stores, swag, win
from windrow.errors import StoreError, WindrowError

HALF = "\ud800"
ROWS = {"t": np.arange(4), "x": np.array(["a", HALF, "a", HALF], object)}
AGGREGATES = {
    "first": agg.first("x"), "last": agg.last("x"), "max": agg.max("x"), "concat": agg.concat("x", sep=HALF),
    "collect_set": agg.collect_set("x"), "count_distinct": agg.count_distinct("x"), "mode": agg.mode("x"),
    "top_k": agg.top_k("x", k=2), "frequent_items": agg.frequent_items("x"), "max_by": agg.max_by("x", "t"),
    "approx_count_distinct": agg.approx_count_distinct("x"),
}  # fmt: skip


def query(**options: Any) -> windrow.Query:
    options = {"windows": win.tumbling("4 us"), "aggregates": {"n": agg.count()}, "time": "t"} | options
    return windrow.Query(**options, compile="never")


def listed(*results: Any) -> list[tuple]:
    return [row for result in results for row in zip(*(map(str, result[name]) for name in result), strict=True)]


def ways(asked: windrow.Query) -> list[list[tuple]]:
    """Batch, live, and live with a snapshot in between."""
    live = asked.open()
    one = [live.push({name: column[:3] for name, column in ROWS.items()})]
    kept = live.snapshot()
    rest = {name: column[3:] for name, column in ROWS.items()}
    resumed = asked.resume(kept)
    return [
        listed(asked.run(ROWS)),
        listed(*one, live.push(rest), live.close()),
        listed(*one, resumed.push(rest), resumed.close()),
    ]


@pytest.mark.parametrize("name", AGGREGATES)
def test_values(name: str) -> None:
    batch, live, resumed = ways(query(aggregates={"r": AGGREGATES[name]}))
    assert batch == live == resumed and len(batch) == 1


def test_keys_and_predicates() -> None:
    batch, live, resumed = ways(query(by="x"))
    assert sorted(batch) == sorted(live) == sorted(resumed) and {row[0] for row in batch} == {"a", HALF}
    for predicate in (r"x == '\ud800'", r"x in ('b', '\ud800')", lambda row: row.x == HALF):
        batch, live, resumed = ways(query(windows=win.punctuated(predicate), partial=True))
        assert batch == live == resumed and len(batch) == 2


def test_a_sketch_tells_it_from_other_texts() -> None:
    texts = np.array([HALF, "\udc00", "s" + HALF, "?", "", HALF], object)
    found = query(aggregates={"n": agg.approx_count_distinct("x")}, windows=win.tumbling("9 us"))
    assert found.run({"t": np.arange(6), "x": texts})["n"].tolist() == [5]


@pytest.mark.parametrize("half", [f"x == '{HALF}'", f"x in ('é{HALF}', 'a')", HALF, f"{HALF} > 1", f"'{HALF}' == ("])
def test_a_predicate_that_holds_it_is_refused(half: str) -> None:
    with pytest.raises(WindrowError, match=r"half of a surrogate pair is no character.*write '\\ud800'"):
        win.punctuated(half)


@pytest.mark.parametrize(
    "options",
    [
        {"aggregates": {HALF: agg.count()}},
        {"windows": {HALF: win.tumbling("2 us"), "b": win.tumbling("3 us")}},
        {"windows": win.trailing("2 us"), "aggregates": {HALF: agg.count()}},
        {"by": HALF},
    ],
)
def test_a_name_that_holds_it_is_refused(options: dict) -> None:
    with pytest.raises(WindrowError, match="half of a surrogate pair is no text"):
        query(**options)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_that_cannot_hold_it(frame: Any) -> None:
    asked = query(aggregates={"r": agg.concat("x", sep=HALF)})
    data = frame({"t": [0, 1], "x": ["a", "b"]})
    with pytest.raises(WindrowError, match="result column 'r'"):
        asked.run(data)
    live = asked.open()
    with pytest.raises(WindrowError, match="result column 'r'"):
        live.push(data), live.close()


def test_by_hand_and_stored() -> None:
    for algorithm in (swag.TwoStacks, swag.DABA, swag.FlatFAT, swag.AMTA):
        aggregate = agg.concat(sep=HALF)
        window = algorithm(aggregate)
        window.insert_many(["a", HALF])
        assert algorithm.resume(aggregate, window.snapshot()).query() == f"a{HALF}{HALF}"
    store = stores.memory()
    window = swag.AMTA(agg.concat(sep=","), store=store, name="w")
    for _ in range(300):
        window.insert(HALF)
    assert window.query() == ",".join([HALF] * 300)
    with pytest.raises(StoreError, match="half of a surrogate pair"):
        swag.AMTA(agg.concat(sep=","), store=store, name=HALF)
    batch, *_ = ways(query(by="x", aggregates={"r": agg.last("x")}))
    live = query(by="x", aggregates={"r": agg.last("x")}, store=stores.memory()).open()
    assert sorted(listed(live.push(ROWS), live.close())) == sorted(batch)
