"""Rows of a second table that ask: `run(events, at=labels)`."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from tests.query import asks
from tests.query.cases import PER_ROW, arrow_rows, assert_same, draw_case, draw_table
from windrow import Aggregate, agg, win
from windrow.errors import Unsupported, WindrowError


def check(case, table):
    query = case.query()
    got = arrow_rows(query.run(case.table.arrow(), at=asks.arrow(table)))
    assert_same(got, asks.expected(case, table), f"{case}\nasked: {table.columns}", ordered=True)
    assert query.report.rows_out == len(table.columns["ts"])


@pytest.mark.parametrize("kind", PER_ROW)
def test_each_kind(kind):
    for seed in range(12):
        case, table = asks.draw(kind, seed)
        case.plain = True
        check(case, table)


@pytest.mark.parametrize("kind", ["trailing_time_left", "trailing_rows_right", "policy_size"])
def test_compiled(kind):
    for seed in range(8):
        case, table = asks.draw(kind, seed)
        case.aggregates = "commutative"
        check(case, table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PER_ROW)
def test_many(kind):
    """30 for each of 17 kinds, compiled wherever it can be: 510 pairs of tables."""
    for seed in range(100, 130):
        check(*asks.draw(kind, seed))


def several(seed):
    rng = random.Random(seed)
    case, _ = asks.draw(rng.choice(list(PER_ROW)), seed)
    kinds = rng.sample(list(PER_ROW), 3)
    made = {kind: PER_ROW[kind](rng, 1_000_000) for kind in kinds}
    case.oracle, case.windows = {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}
    case.time, case.plain = "ts", True
    return case, asks.draw_asks(case, seed)


def test_several_windows():
    for seed in range(30):
        check(*several(seed))


def test_an_ask_sees_what_an_event_without_values_would_see():
    """The definition: over time and along columns, it is as if the asking row were an event that holds nothing."""
    for seed in range(40):
        kind = random.Random(seed).choice(
            [kind for kind in PER_ROW if kind.startswith(("trailing_time", "trailing_f"))]
        )
        case, table = asks.draw(kind, seed)
        case.aggregates, case.plain = "text", True
        events = case.table.rows()
        nothing = dict.fromkeys(case.table.columns)
        answers = arrow_rows(case.query().run(case.table.arrow(), at=asks.arrow(table)))
        for ask, got in zip(table.rows(), answers, strict=True):
            if None in (ask["ts"], ask["d"]):
                continue
            among = [*events, {**nothing, **{name: ask[name] for name in ("ts", "d", "e", *case.by)}}]
            of_event = arrow_rows(case.query().run(type(case.table).of(among, case.table).arrow()))[-1]
            assert {a: got[a] for a in "cbs"} == {a: of_event[a] for a in "cbs"}, (str(case), ask)


FEATURES = windrow.Query(
    time="ts",
    by=["card"],
    windows={"1h": win.trailing("1 hour", closed="left"), "3": win.trailing(3)},
    aggregates={"n": agg.count(), "spent": agg.sum("amount"), "where": agg.last("shop")},
)
EVENTS = pd.DataFrame(
    {
        "ts": pd.to_datetime(["2026-01-01 10:00", "2026-01-01 10:30", "2026-01-01 10:45", "2026-01-01 10:30"]),
        "card": ["a", "a", "a", "b"],
        "amount": [5, 7, 11, 2],
        "shop": ["x", "y", None, "z"],
    }
)
LABELS = pd.DataFrame(
    {
        "fraud": [True, False, True, False, False],
        "card": ["a", "b", "a", "nobody", "a"],
        "ts": pd.to_datetime(["2026-01-01 11:00", "2026-01-01 10:30", "2026-01-01 10:45", "2026-01-01 10:45", None]),
    }
)
ANSWERS = {
    "n_1h": [3, 0, 2, 0, None],
    "spent_1h": [23, None, 12, None, None],
    "where_1h": ["y", None, "y", None, None],
    "n_3": [3, 1, 3, 0, None],
    "spent_3": [23, 2, 23, None, None],
    "where_3": ["y", "z", "y", None, None],
}


def lists(result):
    """The columns of a result of any kind, None for null."""
    if isinstance(result, dict):
        return {name: np.ma.asarray(column).tolist() for name, column in result.items()}
    if isinstance(result, pd.DataFrame):
        return {name: [None if pd.isna(x) else x for x in result[name]] for name in result}
    return result.to_pydict() if isinstance(result, pa.Table) else result.to_dict(as_series=False)


@pytest.mark.parametrize(
    "kind",
    [
        lambda data: data,
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda data: data.astype(object).where(data.notna(), None).to_dict("list"),
    ],
)
def test_each_library(kind):
    result = FEATURES.run(kind(EVENTS), at=kind(LABELS))
    assert type(result) is type(kind(LABELS))
    columns = lists(result)
    assert list(columns) == [*LABELS, *ANSWERS]
    assert {name: columns[name] for name in ANSWERS} == ANSWERS
    assert columns["card"] == LABELS["card"].tolist()
    assert FEATURES.report == windrow.query.Report(rows_in=4, rows_out=5, rejected=1)


def test_the_time_of_asking_rows_may_have_another_name_and_unit():
    asked = LABELS.rename(columns={"ts": "asked"}).astype({"asked": "datetime64[s]"})
    result = lists(FEATURES.run(EVENTS, at=asked, at_time="asked"))
    assert {name: result[name] for name in ANSWERS} == ANSWERS


def test_a_million_asks_at_one_instant():
    n = 1_000_000
    result = FEATURES.run(
        pl.from_pandas(EVENTS), at=pl.select(card=pl.repeat("a", n), ts=pl.repeat(EVENTS["ts"][1], n))
    )
    assert result["spent_3"].unique().to_list() == [12] and len(result) == n


def test_no_events_and_no_asks():
    none = FEATURES.run(EVENTS[:0], at=LABELS)
    assert lists(none)["n_3"] == [0, 0, 0, 0, None] and lists(none)["spent_1h"] == [None] * 5
    assert list(FEATURES.run(EVENTS, at=LABELS[:0])) == [*LABELS, *ANSWERS]
    types = FEATURES.run(EVENTS, at=LABELS[:0]).dtypes
    assert types.to_dict() == FEATURES.run(EVENTS, at=LABELS[:4]).dtypes.to_dict()


def test_keys_of_another_type():
    events = {"ts": [1, 2, 3], "k": np.array([1, 2, 1], np.int64), "x": [1.0, 2.0, 3.0]}
    query = windrow.Query(time="ts", by="k", windows=win.trailing("1 s"), aggregates={"x": agg.sum("x")})
    for keys in (np.array([1, 2, 7], np.int8), np.array([1.0, 2.0, 7.0]), np.array([1, 2, 7], np.uint64)):
        assert query.run(events, at={"ts": [9, 9, 9], "k": keys})["x"].tolist() == [4.0, 2.0, None]
    texts = {**events, "k": pd.Categorical(["u", "v", "u"])}
    asked = pd.DataFrame({"ts": [9, 9, 9], "k": ["u", "v", "w"]})
    assert query.run(pd.DataFrame(texts), at=asked)["x"].fillna(-1).tolist() == [4.0, 2.0, -1.0]
    with pytest.raises(WindrowError, match=r"at=: column 'k' holds object values, some of which cannot be int"):
        query.run(events, at={"ts": [9], "k": ["1"]})


def test_two_keys_and_null_keys():
    events = pa.table({"ts": [1, 2, 3, 4], "a": ["x", None, "x", "x"], "b": [1, 1, None, 1], "v": [1, 2, 4, 8]})
    asked = pa.table({"b": [1, 1, None, None], "a": ["x", None, "x", None], "ts": [9, 9, 9, 9]})
    query = windrow.Query(time="ts", by=["a", "b"], windows=win.trailing(5), aggregates={"v": agg.sum("v")})
    assert query.run(events, at=asked)["v"].to_pylist() == [9, 2, 4, None]


def test_own_aggregates_and_sketches():
    rng = np.random.default_rng(5)
    events = {"ts": np.arange(400) * 7, "k": rng.integers(0, 3, 400), "x": rng.normal(size=400)}
    first_and_last = Aggregate(lift=lambda x: (x, x), combine=lambda a, b: (a[0], b[1]), lower=lambda s: s[0] - s[1])
    aggregates = {
        "own": first_and_last("x"),
        "distinct": agg.approx_count_distinct("x"),
        "median": agg.approx_percentile("x", 0.5),
        "run": agg.longest_increasing_run("x"),
    }
    query = windrow.Query(time="ts", by="k", windows=win.trailing("500 us"), aggregates=aggregates, compile="never")
    at_events = query.run(events)
    asked = query.run(events, at={"ts": events["ts"], "k": events["k"]})
    for name in aggregates:
        assert asked[name].tolist() == at_events[name].tolist()


def test_threads_and_parts_change_nothing(monkeypatch):
    from windrow.engine import asking
    from windrow.step import passes, tables

    rng = np.random.default_rng(1)
    n = 5000
    events = {"ts": np.sort(rng.integers(0, 10**6, n)), "k": rng.integers(0, 40, n), "x": rng.integers(0, 99, n)}
    asked = {"ts": rng.integers(0, 10**6, 700), "k": rng.integers(0, 45, 700)}
    query = windrow.Query(
        time="ts", by="k", windows=win.trailing("300 ms"), aggregates={"x": agg.sum("x"), "n": agg.count()}
    )
    whole = query.run(events, at=asked)
    monkeypatch.setattr(passes, "PART", 1000)
    monkeypatch.setattr(asking, "PART", 100)
    monkeypatch.setattr(tables, "RANGE", 100)
    many = windrow.Query(
        time="ts", by="k", windows=win.trailing("300 ms"), aggregates={"x": agg.sum("x"), "n": agg.count()}, threads=3
    )
    for sparse in (2, 10**9):  # rows between the edges of windows are folded first, or not
        monkeypatch.setattr(passes, "SPARSE", sparse)
        parts = many.run(events, at=asked)
        assert parts["x"].tolist() == whole["x"].tolist() and parts["n"].tolist() == whole["n"].tolist()


def refused(message, query, events=EVENTS, at=LABELS, error=WindrowError, **more):
    with pytest.raises(error, match=message):
        query.run(events, at=at, **more)


def test_what_is_refused():
    refused("at=: there is no column 'card'", FEATURES, at=LABELS[["ts"]])
    refused("at=: there is no column 'ts'", FEATURES, at=LABELS[["card"]])
    refused("at=: there is no column 'when'", FEATURES, at_time="when")
    refused("the data has a column 'n_1h' already", FEATURES, at=LABELS.assign(n_1h=1))
    refused("of the events' kind, pandas, not polars", FEATURES, at=pl.from_pandas(LABELS))
    refused("holds integers, and the events' times are timestamps", FEATURES, at=LABELS.assign(ts=1))
    zoned = LABELS.assign(ts=LABELS["ts"].dt.tz_localize("UTC"))
    refused("have a zone, and the events' have none", FEATURES, at=zoned)
    finer = LABELS.assign(ts=LABELS["ts"].astype("datetime64[ns]") + pd.Timedelta(1, "ns"))
    refused("has nanoseconds", FEATURES, events=EVENTS.astype({"ts": "datetime64[us]"}), at=finer)
    with pytest.raises(WindrowError, match="at_time names the time column of the table that asks"):
        FEATURES.run(EVENTS, at_time="ts")
    total = {"n": agg.count()}
    once = windrow.Query(time="ts", windows=win.tumbling("1 hour"), aggregates=total)
    refused("at= asks windows that report with each row.*tumbling.*reports once", once, error=Unsupported)
    timeless = windrow.Query(windows=win.trailing(3), aggregates=total)
    refused("by event time; name the column", timeless)
    changes = windrow.Query(time="ts", windows=win.trailing(3), aggregates=total, changes_only=True)
    refused("changes_only=True leaves some out", changes)
    strict = windrow.Query(time="ts", windows=win.trailing(3), aggregates=total, strict=True)
    refused("at=: row 4 has no time", strict)
    along = windrow.Query(windows=win.trailing(3, on="mile"), aggregates=total)
    refused("at=: there is no column 'mile'", along, {"mile": [1]}, {"mil": [1]})
    refused("has fractions", along, {"mile": [1]}, {"mile": [1.5]})
    assert along.run({"mile": [1, 2, 5]}, at={"mile": [3.0, 5.0]})["n"].tolist() == [2, 1]


def test_other_answers_are_the_same_with_and_without_asks():
    table = draw_table(random.Random(3), 40, 1_000_000)
    case = draw_case("trailing_time_left", 3)
    query = windrow.Query(time="ts", windows=case.windows, aggregates={"n": agg.count()})
    before = arrow_rows(query.run(table.arrow()))
    query.run(table.arrow(), at=table.arrow())
    assert_same(arrow_rows(query.run(table.arrow())), before, "", ordered=True)
