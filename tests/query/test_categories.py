"""Categories that are in an order are compared by it: ordered categoricals of pandas, Enums of Polars."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import windrow
from windrow import Query, agg, swag, win
from windrow.errors import SnapshotError, WindrowError
from windrow.frames import read
from windrow.frames.saving import loaded_type, saved_type
from windrow.stores import memory

ORDER = ["low", "mid", "high"]  # as texts: high < low < mid
VALUES = ["mid", "low", None, "high", "low", "high", "mid", "low", None, None, "mid", "mid"]
N = len(VALUES)
KEYS = [1, 2] * (N // 2)


def pandas(values: list = VALUES, order: list = ORDER, **more: Any) -> pd.DataFrame:
    n = len(values)
    c = pd.Categorical(values, categories=order, ordered=True)
    return pd.DataFrame({"t": np.arange(n), "k": KEYS[:n], "x": list("abcdefghijkl")[:n], "c": c, **more})


def polars(values: list = VALUES, order: list = ORDER, **more: Any) -> pl.DataFrame:
    n = len(values)
    c = pl.Series(values, dtype=pl.Enum(order))
    return pl.DataFrame({"t": np.arange(n), "k": KEYS[:n], "x": list("abcdefghijkl")[:n], "c": c, **more})


LIBRARIES = pytest.mark.parametrize("frame", [pandas, polars])
WAYS = pytest.mark.parametrize("compile", ["never", "always"])
AGGREGATES = {
    "min": agg.min("c"),
    "max": agg.max("c"),
    "max_count": agg.max_count("c"),
    "min_count": agg.min_count("c"),
    "max_by": agg.max_by("x", "c"),
    "min_by": agg.min_by("x", "c"),
    "label": agg.max_by("c", "t"),
    "own_label": agg.max_by("c", "c"),
    "top": agg.top_k("c", k=2),
    "run": agg.longest_increasing_run("c"),
    "first": agg.first("c"),
    "last": agg.last("c"),
    "mode": agg.mode("c"),
    "all": agg.collect_list("c"),
    "texts": agg.concat("c", sep=" "),
    "different": agg.count_distinct("c"),
}
OF_THE_COLUMN = ("min", "max", "label", "own_label", "first", "last", "mode")


def expected(rows: list[tuple[int, Any]], order: list = ORDER) -> dict[str, Any]:
    """The answers for rows of (place, value), by hand."""
    there = [(order.index(v), i, v) for i, v in rows if v is not None]
    ranks = [rank for rank, _, _ in there]
    values = [v for _, _, v in there]
    letters = "abcdefghijkl"
    if not there:
        none = dict.fromkeys(AGGREGATES)
        return {**none, "label": None, "all": [], "different": 0}
    best = max(there, key=lambda row: (row[0], -row[1]))
    least = min(there, key=lambda row: (row[0], row[1]))
    runs, longest = 1, 1
    for a, b in pairwise(ranks):
        runs = runs + 1 if b > a else 1
        longest = max(longest, runs)
    return {
        "min": least[2],
        "max": best[2],
        "max_count": ranks.count(best[0]),
        "min_count": ranks.count(least[0]),
        "max_by": letters[best[1]],
        "min_by": letters[least[1]],
        "label": rows[-1][1],
        "own_label": best[2],
        "top": [order[rank] for rank in sorted(ranks, reverse=True)[:2]],
        "run": longest,
        "first": values[0],
        "last": values[-1],
        "mode": max(values, key=lambda v: (values.count(v), -values.index(v))),
        "all": values,
        "texts": " ".join(map(str, values)),
        "different": len(set(values)),
    }


def dicts(result: Any) -> list[dict[str, Any]]:
    if isinstance(result, pl.DataFrame):
        return result.to_dicts()
    columns = {name: [None if _null(v) else v for v in result[name].tolist()] for name in result.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _null(value: Any) -> bool:
    return not isinstance(value, list) and bool(pd.isna(value))


def answers(result: Any) -> list[dict[str, Any]]:
    return [{name: row[name] for name in AGGREGATES} for row in dicts(result)]


def is_of_the_column(result: Any, given: Any) -> None:
    for name in OF_THE_COLUMN:
        assert result[name].dtype == given["c"].dtype, name


@LIBRARIES
@WAYS
def test_windows_over_a_table(frame: Any, compile: str) -> None:
    given = frame()
    result = Query(windows=win.tumbling(4), aggregates=AGGREGATES, compile=compile).run(given)
    rows = list(enumerate(VALUES))
    assert answers(result) == [expected(rows[i : i + 4]) for i in (0, 4, 8)]
    is_of_the_column(result, given)


@LIBRARIES
@WAYS
def test_windows_by_row(frame: Any, compile: str) -> None:
    given = frame()
    result = Query(by="k", windows=win.trailing(3), aggregates=AGGREGATES, compile=compile).run(given)
    rows = list(enumerate(VALUES))
    windows = [[row for row in rows[: i + 1] if KEYS[row[0]] == KEYS[i]][-3:] for i in range(N)]
    assert answers(result) == [expected(window) for window in windows]
    is_of_the_column(result, given)


@LIBRARIES
@WAYS
@pytest.mark.parametrize("how", ["rows", "slices", "lateness", "store"])
def test_live_and_after_a_snapshot(frame: Any, compile: str, how: str) -> None:
    """Every few rows, the query goes on from a snapshot. Slices wait where all aggregates are commutative."""
    aggregates = {n: a for n, a in AGGREGATES.items() if how != "slices" or a.commutative}
    if how == "store" and compile == "always":  # each takes seconds to compile
        aggregates = {"max": AGGREGATES["max"], "top": AGGREGATES["top"]}
    window = win.tumbling(4) if how == "rows" else win.sliding(4, every=4) if how == "store" else win.tumbling("4us")
    query = Query(
        time=None if how in ("rows", "store") else "t",
        windows=window,
        aggregates=aggregates,
        compile=compile,
        lateness="2us" if how in ("slices", "lateness") else None,
        store=memory() if how == "store" else None,
    )
    given = frame()
    live, found, types = query.open(), [], []
    for i in range(0, N, 3):
        result = live.push(given[i : i + 3])
        found += dicts(result)
        types.append([str(result[name].dtype) for name in aggregates])
        for name in set(OF_THE_COLUMN) & set(aggregates):
            assert result[name].dtype == given["c"].dtype, name
        live = query.resume(live.snapshot())
    found += dicts(live.close())
    rows = list(enumerate(VALUES))
    wanted = [expected(rows[i : i + 4]) for i in (0, 4, 8)]
    assert [{n: row[n] for n in aggregates} for row in found] == [{n: w[n] for n in aggregates} for w in wanted]
    assert all(each == types[0] for each in types)


@LIBRARIES
def test_live_windows_by_row_repeat_the_column(frame: Any) -> None:
    given = frame()
    query = Query(by="k", windows=win.trailing(3), aggregates=AGGREGATES, changes_only=True)
    live = query.open()
    found = [live.push(given[i : i + 5]) for i in range(0, N, 5)]
    assert [row for part in found for row in dicts(part)] == dicts(query.run(given))
    for part in found:
        assert part["c"].dtype == given["c"].dtype
        assert [name for name in part.columns if name not in AGGREGATES] == ["t", "k", "x", "c"]


@LIBRARIES
def test_later_categories(frame: Any) -> None:
    """Values of the first categories are taken, in whatever type they come; others are refused, and nothing is lost."""
    aggregates = {"min": agg.min("c"), "max": agg.max("c")}
    live = Query(windows=win.tumbling(4), aggregates=aggregates).open()
    first = frame(["mid", "low"])
    live.push(first)
    live.push(frame(["high"], order=["high", "other", "low"]))
    with pytest.raises(WindrowError, match=r"column 'c' came with the categories low, mid, high .* holds 'other' now"):
        live.push(frame(["high", "other"], order=["high", "other", "low"]))
    with pytest.raises(WindrowError, match="holds 'other' now"):
        live.push({"t": [1], "k": [1], "x": ["a"], "c": ["other"]})
    texts = frame(["mid"]).assign(c=["mid"]) if frame is pandas else polars(["mid"]).with_columns(pl.col("c").cast(str))
    result = live.push(texts)
    assert dicts(result) == [{"start": 0, "end": 4, "min": "low", "max": "high"}]
    assert result["max"].dtype == first["c"].dtype


@LIBRARIES
def test_categories_that_come_after_nulls_are_too_late(frame: Any) -> None:
    live = Query(windows=win.tumbling(4), aggregates={"max": agg.max("c")}).open()
    live.push({"c": [None, None]})
    with pytest.raises(WindrowError, match="column 'c' had no type before, and holds categories in an order now"):
        live.push(frame())
    other = Query(windows=win.tumbling(4), aggregates={"all": agg.collect_list("c")}).open()
    other.push({"c": [None, None]})
    assert dicts(other.push(frame(["low", "mid"])))[0]["all"] == ["low", "mid"]


@LIBRARIES
def test_what_categories_have_not(frame: Any) -> None:
    with pytest.raises(WindrowError, match="'c' holds categories, which are in order and have no distance"):
        Query(windows=win.tumbling(4), aggregates={"a": agg.value_range("c")}).run(frame())
    with pytest.raises(WindrowError, match="a number is needed"):
        Query(windows=win.tumbling(4), aggregates={"a": agg.sum("c")}).run(frame())


@LIBRARIES
def test_no_rows_and_nulls_only(frame: Any) -> None:
    query = Query(windows=win.tumbling(2), aggregates=AGGREGATES)
    is_of_the_column(query.run(frame([])), frame())
    nulls = query.run(frame([None, None]))
    assert answers(nulls) == [expected([(0, None), (1, None)])]
    is_of_the_column(nulls, frame())


@pytest.mark.parametrize("order", [[3, 1, 2], [2.5, 0.5, 1.5], list(pd.to_datetime(["2020-03-01", "2020-01-01"]))])
@pytest.mark.parametrize("live", [False, True])
def test_categories_that_are_no_texts(order: list, live: bool) -> None:
    given = pandas([order[1], order[0], None, order[1], order[-1]], order)
    query = Query(windows=win.tumbling(4), aggregates={"min": agg.min("c"), "max": agg.max("c"), "f": agg.first("c")})
    result = query.open().push(given) if live else query.run(given)
    assert result[["min", "max", "f"]].iloc[0].tolist() == [order[0], order[1], order[1]]
    assert result["min"].dtype == result["f"].dtype == given["c"].dtype


@LIBRARIES
@pytest.mark.parametrize("live", [False, True])
def test_series_in_a_dict(frame: Any, live: bool) -> None:
    query = Query(windows=win.tumbling(4), aggregates=AGGREGATES)
    parts = [{name: rows[name] for name in ("t", "x", "c")} for rows in (frame()[:6], frame()[6:])]
    if live:
        first = query.open()
        found = [first.push(parts[0]), query.resume(first.snapshot()).push(parts[1])]
    else:
        found = [query.run({name: frame()[name] for name in parts[0]})]
    assert [str(v) for part in found for v in part["max"].tolist()] == ["high", "high", "mid"]
    assert [str(v) for part in found for v in part["min"].tolist()] == ["low", "low", "mid"]
    assert [v for part in found for v in part["top"].tolist()] == [["high", "mid"], ["high", "mid"], ["mid", "mid"]]


def test_unordered_categories_are_compared_as_texts() -> None:
    plain = pandas().assign(c=pd.Categorical(VALUES, categories=ORDER))
    result = Query(windows=win.tumbling(N), aggregates={"min": agg.min("c"), "max": agg.max("c")}).run(plain)
    assert dicts(result) == [{"start": 0, "end": N, "min": "high", "max": "mid"}]
    assert result["max"].dtype == plain["c"].dtype


@LIBRARIES
def test_users_code_sees_the_categories(frame: Any) -> None:
    longest = swag.counting(agg.max("c"))
    own = windrow.Aggregate(lambda c: (c,), lambda a, b: a + b, lambda p: "".join(p), (), returns="string")
    query = Query(windows=win.tumbling(4), aggregates={"own": own("c"), "max": longest})
    assert [(row["own"], row["max"]) for row in dicts(query.run(frame(["low", "high", "mid", "low"])))] == [
        ("lowhighmidlow", "high")
    ]
    assert longest.combines == 3


@LIBRARIES
def test_a_join_is_refused(frame: Any) -> None:
    """It would compare texts."""
    joined = agg.join(agg.count(), agg.max("c"))
    with pytest.raises(WindrowError, match="give each aggregate over it a name of its own"):
        Query(windows=win.tumbling(4), aggregates={"j": joined}).run(frame())


@LIBRARIES
def test_forged_categories_are_refused(frame: Any) -> None:
    name, *rest, categories = saved_type(read(frame()).type("c"))
    assert categories == ORDER
    for forged in (5, "abc", ["low", "low"]):
        with pytest.raises(SnapshotError, match="the categories of a column"):
            loaded_type((name, *rest, forged))
    order = loaded_type((name, *rest, categories)).order
    assert order is not None
    assert order.read(np.array([2, -(2**63), 0]), np.array([True, False, True])).tolist() == ["high", None, "low"]
    with pytest.raises(WindrowError, match="there are 3 categories, and a rank beyond them"):
        order.read(np.array([3]), None)
