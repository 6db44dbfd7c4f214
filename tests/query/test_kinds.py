"""Each kind of window on a few rows, worked out by hand; and every kind of data frame gives the same."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from tests.query.own_windows import MINUTE, Stock
from windrow import agg, win

WORD = {"word": agg.concat("w")}


def letters(windows, times=None, rows="abcdefgh", unit=MINUTE, columns=None, **options):
    """The windows over one letter a minute (or at the given minutes); start and end in minutes, too."""
    times = range(len(rows)) if times is None else times
    table = {"ts": np.array([t * MINUTE for t in times], np.int64), "w": list(rows), **(columns or {})}
    query = windrow.Query(time="ts", windows=windows, aggregates=WORD, **options)
    found = []
    for row in query.run(pa.table(table)).to_pylist():
        units = {"ts": MINUTE, "start": unit, "end": unit}
        found.append(tuple(v / units[name] if name in units and v is not None else v for name, v in row.items()))
    return found


# ------------------------------------------------------------------------------------------ report once


def test_sliding_by_time():
    assert letters(win.sliding("4 minutes", every="2 minutes")) == [
        (-2, 2, "ab"),
        (0, 4, "abcd"),
        (2, 6, "cdef"),
        (4, 8, "efgh"),
        (6, 10, "gh"),
    ]


def test_sliding_by_time_from_an_origin():
    windows = win.sliding("4 minutes", every="3 minutes", origin="1 minute")
    assert letters(windows) == [(-2, 2, "ab"), (1, 5, "bcde"), (4, 8, "efgh"), (7, 11, "h")]


def test_sliding_with_gaps_between():
    assert letters(win.sliding("1 minute", every="3 minutes")) == [(0, 1, "a"), (3, 4, "d"), (6, 7, "g")]


def test_sliding_before_the_epoch():
    assert letters(win.sliding("2 minutes", every="2 minutes"), times=[-3, -2, -1, 0], rows="abcd") == [
        (-4, -2, "a"),
        (-2, 0, "bc"),
        (0, 2, "d"),
    ]


def test_sliding_by_rows_gives_whole_windows():
    assert letters(win.sliding(4, every=3), unit=1) == [(0, 4, "abcd"), (3, 7, "defg")]


def test_sliding_by_rows_gives_the_others_with_partial():
    assert letters(win.sliding(4, every=3), unit=1, partial=True) == [(0, 4, "abcd"), (3, 7, "defg"), (6, 10, "gh")]


def test_sliding_on_a_column():
    """Paper 3, Fig. 6: by distance. Rows are taken in the order of the column."""
    mileage = [0.0, 2.5, 2.5, 7.0, 11.0]
    got = letters(win.sliding(5.0, every=2.5, on="mile"), unit=1, rows="abcde", columns={"mile": mileage})
    assert got == [
        (-2.5, 2.5, "a"),
        (0.0, 5.0, "abc"),
        (2.5, 7.5, "bcd"),
        (5.0, 10.0, "d"),
        (7.5, 12.5, "e"),
        (10.0, 15.0, "e"),
    ]
    assert letters(win.tumbling(10, on="mile"), unit=1, rows="abcde", columns={"mile": [3, 1, 2, 12, 0]}) == [
        (0, 10, "ebca"),
        (10, 20, "d"),
    ]


def test_tumbling():
    assert letters(win.tumbling("3 minutes")) == [(0, 3, "abc"), (3, 6, "def"), (6, 9, "gh")]
    assert letters(win.tumbling(3), unit=1) == [(0, 3, "abc"), (3, 6, "def")]


def test_session():
    """A row at exactly last + gap joins."""
    assert letters(win.session("3 minutes"), times=[0, 2, 5, 9, 20], rows="abcde") == [
        (0, 8, "abc"),
        (9, 12, "d"),
        (20, 23, "e"),
    ]


def test_session_on_a_column():
    got = letters(win.session(2.0, on="x"), unit=1, rows="abcd", columns={"x": [5.0, 1.0, 3.5, 2.0]})
    assert got == [(1.0, 7.0, "bdca")]


def test_punctuated():
    marks = [False, True, False, True, None, False, True, False]
    assert letters(win.punctuated("new"), unit=1, columns={"new": marks}) == [(1, 3, "bc"), (3, 6, "def")]
    assert letters(win.punctuated("new"), unit=1, columns={"new": marks}, partial=True) == [
        (1, 3, "bc"),
        (3, 6, "def"),
        (6, None, "gh"),
    ]


def test_punctuated_by_an_expression_or_a_function():
    assert letters(win.punctuated("w == 'c' or w == 'f'"), unit=1) == [(2, 5, "cde")]
    assert letters(win.punctuated(lambda row: row.w in "cf"), unit=1) == [(2, 5, "cde")]


def test_landmark_by_time():
    """All since the opening, every two minutes; the step that the next opening cuts only with partial."""
    marks = [False, True, False, False, False, False, True, False]
    assert letters(win.landmark("open", every="2 minutes"), columns={"open": marks}) == [
        (1, 3, "bc"),
        (1, 5, "bcde"),
        (6, 8, "gh"),
    ]
    assert letters(win.landmark("open", every="2 minutes"), columns={"open": marks}, partial=True) == [
        (1, 3, "bc"),
        (1, 5, "bcde"),
        (1, 6, "bcdef"),
        (6, 8, "gh"),
    ]


def test_landmark_by_rows():
    marks = [True, False, False, False, False, True, False, False]
    assert letters(win.landmark("open", every=2), unit=1, columns={"open": marks}) == [
        (0, 2, "ab"),
        (0, 4, "abcd"),
        (5, 7, "fg"),
    ]
    assert letters(win.landmark("open", every=2), unit=1, columns={"open": marks}, partial=True) == [
        (0, 2, "ab"),
        (0, 4, "abcd"),
        (0, 5, "abcde"),
        (5, 7, "fg"),
        (5, 9, "fgh"),
    ]


def test_the_last_rows_every_so_often():
    """At minute 5 the last three rows; nothing came before minute 10, so nothing is said then."""
    assert letters(win.last(3, every="5 minutes"), times=[0, 1, 2, 3, 21], rows="abcde") == [
        (1, 5, "bcd"),
        (2, 25, "cde"),
    ]


def test_the_stock_of_paper_3():
    """10 minutes every 5; 5 minutes every 2 as soon as the price is at most $10."""
    prices = [12.0] * 25 + [9.0] * 8
    ts = np.arange(33) * MINUTE
    query = windrow.Query(
        time="ts",
        windows=win.user_defined(Stock),
        aggregates={"price": agg.weighted_mean("price", "volume"), "n": agg.count()},
    )
    got = query.run({"ts": ts, "price": np.array(prices), "volume": np.full(33, 2.0)})
    rows = list(zip(got["start"] // MINUTE, got["end"] // MINUTE, got["price"], got["n"], strict=True))
    assert rows == [
        (0, 10, 12.0, 10),
        (5, 15, 12.0, 10),
        (10, 20, 12.0, 10),
        (15, 25, 12.0, 10),
        (20, 30, 10.5, 10),
        (25, 30, 9.0, 5),
        (27, 32, 9.0, 5),
    ]


def test_user_defined_without_a_time_gives_positions():
    class Pairs:
        seen: int = 0

        def discretize(self, row):
            self.seen += 1
            return self.seen % 2, int(self.seen % 2 and self.seen > 1)

    query = windrow.Query(windows=win.user_defined(Pairs), aggregates=WORD, partial=True)
    assert query.run(pa.table({"w": list("abcde")})).to_pylist() == [
        {"start": 0, "end": 2, "word": "ab"},
        {"start": 2, "end": 4, "word": "cd"},
        {"start": 4, "end": None, "word": "e"},
    ]


# ------------------------------------------------------------------------------------------ report each row


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        ("right", ["a", "bc", "bc", "d"]),
        ("left", [None, "a", "a", "bc"]),
        ("both", ["a", "abc", "abc", "bcd"]),
        ("none", [None, None, None, None]),
    ],
)
def test_trailing_by_time(closed, words):
    """Rows at 0, 2, 2 and 4 minutes; those of one time are in together."""
    got = letters(win.trailing("2 minutes", closed), times=[0, 2, 2, 4], rows="abcd")
    assert got == list(zip([0, 2, 2, 4], "abcd", words, strict=True))


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        ("right", ["a", "ab", "bc", "cd"]),
        ("left", [None, "a", "ab", "bc"]),
        ("both", ["a", "ab", "abc", "bcd"]),
        ("none", [None, "a", "b", "c"]),
    ],
)
def test_trailing_by_rows(closed, words):
    assert [row[-1] for row in letters(win.trailing(2, closed), rows="abcd")] == words


def test_trailing_comes_back_in_the_order_of_the_input():
    got = letters(win.trailing("3 minutes"), times=[5, 0, 4, 1], rows="abcd")
    assert got == [(5, "a", "ca"), (0, "b", "b"), (4, "c", "c"), (1, "d", "bd")]


def test_trailing_on_a_column():
    got = letters(win.trailing(1.5, on="x"), unit=1, rows="abcd", columns={"x": [2.0, 0.5, 1.0, 2.0]})
    assert [row[-1] for row in got] == ["cad", "b", "bc", "cad"]


def test_several_trailing_windows():
    query = windrow.Query(windows={"two": win.trailing(2), "three": win.trailing(3)}, aggregates=WORD)
    assert query.run(pa.table({"w": list("abcd")})).to_pylist() == [
        {"w": "a", "word_two": "a", "word_three": "a"},
        {"w": "b", "word_two": "ab", "word_three": "ab"},
        {"w": "c", "word_two": "bc", "word_three": "abc"},
        {"w": "d", "word_two": "cd", "word_three": "bcd"},
    ]


def test_a_policy():
    """Paper 4 §4.1.3: as much as is needed for a sum of ten, no more."""

    def enough(total, old):
        return total.sum - old.sum >= 10

    query = windrow.Query(
        windows=win.policy(enough, over={"sum": agg.sum("v")}), aggregates={"x": agg.concat("v", "+")}
    )
    got = query.run(pa.table({"v": [2, 2, 3, 3, 4]}))
    assert got["x"].to_pylist() == ["2", "2+2", "2+2+3", "2+2+3+3", "3+3+4"]


def test_a_policy_by_time():
    def older(total, old):
        return old.newest <= total.newest - 2 * MINUTE

    windows = win.policy(older, over={"newest": agg.max("ts")})
    got = letters(windows, times=[0, 1, 5, 6], rows="abcd")
    assert [row[-1] for row in got] == ["a", "ab", "c", "cd"]


# ------------------------------------------------------------------------------------- several, keys, options


def test_several_windows_over_several_measures():
    """Paper 3, Fig. 6: time and distance in one query."""
    windows = {"minutes": win.tumbling("2 minutes"), "miles": win.tumbling(4.0, on="mile"), "rows": win.tumbling(3)}
    query = windrow.Query(time="ts", windows=windows, aggregates=WORD)
    ts = pa.array([0, 1, 2, 3], pa.int64())
    table = pa.table({"ts": [t.as_py() * MINUTE for t in ts], "mile": [0.0, 3.0, 5.0, 8.0], "w": list("abcd")})
    found = query.run(table).to_pylist()
    words = {}
    for row in found:
        words.setdefault(row["window"], []).append(row["word"])
    assert words == {"minutes": ["ab", "cd"], "miles": ["ab", "c", "d"], "rows": ["abc"]}


def test_each_key_has_windows_of_its_own():
    query = windrow.Query(by=["k"], windows=win.tumbling(2), aggregates=WORD)
    got = query.run(pa.table({"k": [1, 2, 1, None, 2, None], "w": list("abcdef")})).to_pylist()
    assert sorted(got, key=str) == sorted(
        [
            {"k": 1, "start": 0, "end": 2, "word": "ac"},
            {"k": 2, "start": 0, "end": 2, "word": "be"},
            {"k": None, "start": 0, "end": 2, "word": "df"},
        ],
        key=str,
    )


def test_rows_of_one_time_keep_their_arrival_order():
    assert letters(win.tumbling("5 minutes"), times=[3, 1, 3, 1, 2, 3], rows="abcdef") == [(0, 5, "bdeacf")]


def test_a_row_without_a_time_is_rejected_and_counted():
    query = windrow.Query(time="ts", windows=win.tumbling("1 minute"), aggregates=WORD)
    got = query.run(pa.table({"ts": pa.array([0, None, 1], pa.int64()), "w": list("abc")}))
    assert got["word"].to_pylist() == ["ac"]
    assert (query.report.rows_in, query.report.rows_out, query.report.rejected) == (3, 1, 1)


def test_a_row_without_a_time_keeps_its_place_in_the_output():
    query = windrow.Query(time="ts", windows=win.trailing(2), aggregates={"n": agg.count(), **WORD})
    got = query.run(pa.table({"ts": pa.array([0, None, 1], pa.int64()), "w": list("abc")}))
    assert got["n"].to_pylist() == [1, None, 2]
    assert got["word"].to_pylist() == ["a", None, "ac"]


def test_a_window_of_nulls_only_is_reported():
    query = windrow.Query(
        time="ts", windows=win.tumbling("1 minute"), aggregates={"s": agg.sum("v"), "n": agg.count("v")}
    )
    got = query.run(pa.table({"ts": [0, 1], "v": pa.array([None, None], pa.int64())})).to_pylist()
    assert got == [{"start": 0, "end": MINUTE, "s": None, "n": 0}]


def test_changes_only():
    query = windrow.Query(windows=win.trailing(1), aggregates={"m": agg.max("v")}, by=["k"], changes_only=True)
    got = query.run(pa.table({"k": list("aabab"), "v": [1, 1, 1, 2, 1]}))
    assert got.to_pylist() == [{"k": "a", "v": 1, "m": 1}, {"k": "b", "v": 1, "m": 1}, {"k": "a", "v": 2, "m": 2}]


# -------------------------------------------------------------------------------------------- kinds of data

DAY = datetime.datetime(1969, 12, 31, 23, 59, 30)
COLUMNS = {
    "ts": [DAY + datetime.timedelta(seconds=10 * i) for i in (0, 5, 1, 2, 2, 9)],
    "k": ["x", "y", "x", "x", "y", "x"],
    "v": [1, 2, 3, 4, 5, 6],
    "f": [0.5, 1.5, -2.0, 8.0, 0.25, 1.0],
    "w": list("abcdef"),
}
AGGREGATES = {
    "s": agg.sum("v"),
    "m": agg.max("f"),
    "b": agg.max_by("w", "f"),
    "c": agg.concat("w"),
    "n": agg.count(),
}

MAKE = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
    "batch": lambda columns: pa.RecordBatch.from_pydict(columns),
    "dict": lambda columns: {
        name: np.array(values, "M8[us]") if name == "ts" else np.array(values, object if name in "kw" else None)
        for name, values in columns.items()
    },
}


def rows_of(result) -> list[dict]:
    if isinstance(result, pd.DataFrame):
        return result.to_dict("records")
    if isinstance(result, pl.DataFrame):
        return result.to_dicts()
    if isinstance(result, dict):
        names = list(result)
        return [dict(zip(names, row, strict=True)) for row in zip(*(list(c) for c in result.values()), strict=True)]
    return result.to_pylist()


def tidy(rows: list[dict]) -> list[list]:
    """Times as text to the microsecond, numbers as Python's."""

    def one(value):
        if isinstance(value, (datetime.datetime, np.datetime64)):
            return str(np.datetime64(value, "us"))
        return value.item() if isinstance(value, np.generic) else value

    return sorted(([[name, one(value)] for name, value in row.items()] for row in rows), key=str)


@pytest.mark.parametrize("window", [win.sliding("20 seconds", every="10 seconds"), win.trailing(2)], ids=str)
def test_every_kind_of_data_gives_the_same(window):
    query = windrow.Query(time="ts", by=["k"], windows=window, aggregates=AGGREGATES)
    answers = {name: query.run(make(COLUMNS)) for name, make in MAKE.items()}
    assert isinstance(answers["pandas"], pd.DataFrame)
    assert isinstance(answers["polars"], pl.DataFrame)
    assert isinstance(answers["pyarrow"], pa.Table)
    assert isinstance(answers["dict"], dict)
    wanted = tidy(rows_of(answers["pyarrow"]))
    assert len(wanted) == (13 if window.kind == "sliding" else 6) or window.kind == "sliding"
    for name, answer in answers.items():
        assert tidy(rows_of(answer)) == wanted, name


def test_a_reader_of_batches_comes_back_as_one():
    table = pa.table(COLUMNS)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    query = windrow.Query(time="ts", windows=win.tumbling("20 seconds"), aggregates=AGGREGATES)
    got = query.run(reader)
    assert isinstance(got, pa.RecordBatchReader)
    assert got.read_all().to_pylist() == query.run(table).to_pylist()


def test_results_are_of_the_measures_own_type():
    query = windrow.Query(time="ts", by=["k"], windows=win.tumbling("20 seconds"), aggregates=AGGREGATES)
    for kind in (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Zurich")):
        table = pa.table(COLUMNS)
        table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us")).cast(kind))
        schema = query.run(table).schema
        assert schema.field("start").type == kind and schema.field("end").type == kind
        assert schema.field("s").type == pa.int64() and schema.field("m").type == pa.float64()
        assert schema.field("k").type == pa.string() and schema.field("n").type == pa.int64()
    rows = windrow.Query(windows=win.tumbling(2), aggregates=AGGREGATES).run(pa.table(COLUMNS))
    assert rows.schema.field("start").type == pa.int64() and rows.schema.field("end").type == pa.int64()
    floats = windrow.Query(windows=win.tumbling(2.0, on="f"), aggregates=AGGREGATES).run(pa.table(COLUMNS))
    assert floats.schema.field("start").type == pa.float64()


def test_nothing_in_nothing_out():
    table = pa.table(COLUMNS).slice(0, 0)
    for window in (win.tumbling("1 minute"), win.tumbling(2), win.session("1 minute"), win.trailing(2)):
        got = windrow.Query(time="ts", by=["k"], windows=window, aggregates=AGGREGATES).run(table)
        assert got.num_rows == 0
        assert got.column_names[-5:] == list(AGGREGATES)


def test_live_takes_every_kind_of_data():
    query = windrow.Query(time="ts", windows=win.tumbling("20 seconds"), aggregates=AGGREGATES, lateness="1 hour")
    wanted = tidy(query.run(pa.table(COLUMNS)).to_pylist())
    for name, make in MAKE.items():
        live = query.open()
        part = {n: values[:3] for n, values in COLUMNS.items()}
        rest = {n: values[3:] for n, values in COLUMNS.items()}
        live.push(make(part))
        live.push(make(rest))
        assert tidy(rows_of(live.close())) == wanted, name
