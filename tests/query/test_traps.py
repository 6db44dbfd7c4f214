"""What goes wrong on purpose: bad queries before any data, bad rows by their place, numbers at their limits."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.query import brute
from tests.query.cases import arrow_rows, assert_same
from windrow import agg, win
from windrow.errors import LawError, WindrowError

TEN = win.tumbling("10 microseconds")
COUNT = {"n": agg.count()}


def query(windows=TEN, aggregates=None, time="ts", **options):
    return windrow.Query(time=time, windows=windows, aggregates=aggregates or COUNT, **options)


# ------------------------------------------------------------------------------- refused when it is written

BAD_WINDOWS = {
    "every 0": lambda: win.sliding("10 minutes", every="0 minutes"),
    "every 0 rows": lambda: win.sliding(10, every=0),
    "every below 0": lambda: win.sliding(10, every=-1),
    "range below 0": lambda: win.sliding("-10 minutes", every="5 minutes"),
    "range 0": lambda: win.sliding(0, every=5),
    "trailing below 0": lambda: win.trailing("-1 minute"),
    "trailing 0 rows": lambda: win.trailing(0),
    "mixed measures": lambda: win.sliding("10 minutes", every=5),
    "mixed the other way": lambda: win.sliding(10, every="5 minutes"),
    "a float without a column": lambda: win.sliding(10.0, every=5.0),
    "a duration on a column": lambda: win.sliding("10 minutes", every="5 minutes", on="x"),
    "a range that is infinite": lambda: win.sliding(math.inf, every=1.0, on="x"),
    "a range that is NaN": lambda: win.sliding(math.nan, every=1.0, on="x"),
    "closed in no way": lambda: win.trailing(3, closed="middle"),
    "a session by rows": lambda: win.session(5),
    "a session of 0": lambda: win.session("0 seconds"),
    "months": lambda: win.tumbling("1 month"),
    "no unit": lambda: win.tumbling("10"),
    "text": lambda: win.tumbling("soon"),
    "true": lambda: win.tumbling(True),
    "none": lambda: win.tumbling(None),
    "last none": lambda: win.last(0, every="5 seconds"),
    "last every so many rows": lambda: win.last(3, every=5),
    "a class that cannot": lambda: win.user_defined(int),
    "no function": lambda: win.policy(5, over={"n": agg.count()}),
    "a policy over nothing": lambda: win.policy(lambda total, old: True, over={}),
    "a call in an expression": lambda: win.punctuated("__import__('os').getcwd() == ''"),
    "half an expression": lambda: win.punctuated("price <"),
    "a number for a predicate": lambda: win.punctuated(5),
}


@pytest.mark.parametrize("what", BAD_WINDOWS)
def test_a_bad_window_is_refused_when_it_is_made(what):
    with pytest.raises(WindrowError):
        BAD_WINDOWS[what]()


BAD_QUERIES = {
    "per row and once": lambda: query({"a": TEN, "b": win.trailing(3)}),
    "no windows": lambda: query({}),
    "no aggregates": lambda: windrow.Query(time="ts", windows=TEN, aggregates={}),
    "not a window": lambda: query("10 minutes"),
    "not an aggregate": lambda: query(aggregates={"n": "count"}),
    "no column": lambda: query(aggregates={"n": agg.sum()}),
    "time without a time": lambda: query(TEN, time=None),
    "a trailing duration without a time": lambda: query(win.trailing("1 minute"), time=None),
    "last without a time": lambda: query(win.last(3, every="1 minute"), time=None),
    "a landmark by time without a time": lambda: query(win.landmark("p", every="1 minute"), time=None),
    "lateness below 0": lambda: query(lateness="-1 minutes"),
    "lateness without a unit": lambda: query(lateness=5),
    "an algorithm that is none": lambda: query(algorithm="quick"),
    "a favor that is none": lambda: query(favor="beauty"),
    "a key twice": lambda: query(by=["k", "k"]),
    "a name twice": lambda: query(by=["n"]),
    "an aggregate named start": lambda: query(aggregates={"start": agg.count()}),
}


@pytest.mark.parametrize("what", BAD_QUERIES)
def test_a_bad_query_is_refused_before_any_data(what):
    with pytest.raises(WindrowError) as error:
        BAD_QUERIES[what]()
    assert str(error.value)


def test_the_message_says_what_would_be_right():
    with pytest.raises(WindrowError, match=r"trailing|each row|once"):
        BAD_QUERIES["per row and once"]()
    with pytest.raises(WindrowError, match="auto"):
        BAD_QUERIES["an algorithm that is none"]()
    with pytest.raises(WindrowError, match="time"):
        BAD_QUERIES["time without a time"]()


UNKNOWN = {
    "time": lambda: query(time="tss"),
    "key": lambda: query(by=["tss"]),
    "aggregate": lambda: query(aggregates={"s": agg.sum("tss")}),
    "measure": lambda: query(win.sliding(1.0, every=1.0, on="tss")),
    "predicate": lambda: query(win.punctuated("tss < 3")),
    "policy": lambda: query(win.policy(lambda total, old: total.s > old.s, over={"s": agg.sum("tss")})),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_an_unknown_column_is_named(what):
    made = UNKNOWN[what]()
    with pytest.raises(WindrowError, match="tss"):
        made.run(pa.table({"ts": [1], "v": [2]}))
    with pytest.raises(WindrowError, match="tss"):
        made.open().push(pa.table({"ts": [1], "v": [2]}))


TEXT = pa.table({"ts": [1, 2], "w": ["x", "y"], "v": [1, 2]})


@pytest.mark.parametrize("what", ["sum", "mean", "variance"])
def test_text_where_a_number_is_needed(what):
    with pytest.raises(WindrowError, match=r"\bw\b"):
        query(aggregates={"s": getattr(agg, what)("w")}).run(TEXT)


def test_a_measure_that_is_no_number():
    with pytest.raises(WindrowError, match=r"\bw\b"):
        query(win.sliding(1.0, every=1.0, on="w")).run(TEXT)


def test_a_time_that_is_no_time():
    with pytest.raises(WindrowError, match=r"\bw\b"):
        query(time="w").run(TEXT)
    with pytest.raises(WindrowError, match=r"\bf\b"):
        query(time="f").run(pa.table({"f": [1.5, 2.5]}))


def test_a_predicate_that_is_no_truth():
    with pytest.raises(WindrowError, match=r"\bw\b"):
        query(win.punctuated("w")).run(TEXT)


def test_a_result_column_that_is_there_already():
    with pytest.raises(WindrowError, match=r"\bv\b"):
        query(win.trailing(2), {"v": agg.count()}).run(TEXT)


def test_data_of_no_known_kind():
    for data in (5, "rows", [1, 2], None):
        with pytest.raises((WindrowError, TypeError)):
            query().run(data)


def test_columns_of_different_lengths():
    with pytest.raises(WindrowError):
        query().run({"ts": [1, 2], "v": [1]})


# ---------------------------------------------------------------------------------------------- numbers


def test_an_int_overflow_names_the_window():
    table = pa.table({"ts": [1, 12, 13, 25], "v": [2**62, 2**62, 2**62, 1]})
    with pytest.raises((OverflowError, WindrowError)) as error:
        query(aggregates={"s": agg.sum("v")}).run(table)
    text = str(error.value) + " ".join(getattr(error.value, "__notes__", []))
    assert "10" in text and "20" in text, text
    with pytest.raises((OverflowError, WindrowError)) as error:
        query(win.trailing(2), aggregates={"s": agg.sum("v")}).run(table)
    text = str(error.value) + " ".join(getattr(error.value, "__notes__", []))
    assert "row 1" in text, text


def test_a_slice_may_overflow_where_no_window_does():
    """The halves of a sum may leave 64 bits; the sum of a window may not."""
    table = pa.table({"ts": [1, 2, 3], "v": [2**62, 2**62, -(2**62)]})
    assert arrow_rows(query(aggregates={"s": agg.sum("v")}).run(table)) == [{"start": 0, "end": 10, "s": 2**62}]


def test_a_large_float_leaves_nothing_behind():
    table = pa.table({"ts": [0, 1, 2, 3], "v": [1e300, 0.1, 0.2, math.inf]})
    got = query(win.trailing("1 microsecond"), {"s": agg.sum("v")}).run(table)
    assert got["s"].to_pylist() == [1e300, 0.1, 0.2, math.inf]
    table = pa.table({"ts": [0, 1, 2, 3, 4], "v": [math.nan, 0.1, math.inf, -math.inf, 0.2]})
    got = query(win.sliding("2 microseconds", every="1 microsecond"), {"s": agg.sum("v")}).run(table)
    assert repr(got["s"].to_pylist()) == repr([math.nan, math.nan, math.inf, math.nan, -math.inf, 0.2])


def test_a_billion_empty_windows_between_two_rows():
    apart = 10**9 * 10
    table = pa.table({"ts": [0, apart], "x": [0.0, 1e9], "p": [True, False], "v": [1, 2]})
    for window in (
        TEN,
        win.sliding("10 microseconds", every="10 microseconds"),
        win.sliding("15 microseconds", every="10 microseconds"),
        win.session("10 microseconds"),
        win.landmark("p", every="10 microseconds"),
        win.last(1, every="10 microseconds"),
        win.sliding(1.0, every=1.0, on="x"),
        win.sliding(0.5, every=1.0, on="x"),
        win.session(1.0, on="x"),
    ):
        assert len(query(window).run(table)) in (2, 3, 4), window
        live = query(window).open()
        assert len(live.push(table)) + len(live.close()) in (2, 3, 4), window
    many = query({"a": TEN, "b": win.sliding("7 microseconds", every="3 microseconds")}).run(table)
    assert len(many) == 2 + 5


LIMITS = [2**61, -(2**61), 2**62, -(2**62), 2**63 - 100, -(2**63) + 100, 2**63 - 1, -(2**63)]
AT_LIMITS = {
    "tumbling": (brute.Periodic(10, 10), TEN),
    "sliding": (brute.Periodic(15, 10), win.sliding("15 microseconds", every="10 microseconds")),
    "session": (brute.Session(10), win.session("10 microseconds")),
    "last": (brute.Last(2, 10), win.last(2, every="10 microseconds")),
    "landmark": (brute.Landmark(lambda row: row.p, 10), win.landmark("p", every="10 microseconds")),
    "trailing": (brute.Trailing(10), win.trailing("10 microseconds")),
    "trailing both": (brute.Trailing(10, "both"), win.trailing("10 microseconds", closed="both")),
}


@pytest.mark.parametrize("at", LIMITS)
@pytest.mark.parametrize("kind", AT_LIMITS)
def test_times_near_the_limits_are_right_or_refused(at, kind):
    """Python's ints have no limits, so the oracle knows. Below 2^62 nothing is refused."""
    table = pa.table({"ts": pa.array([at, 5, at], pa.int64()), "p": [True, False, False]})
    oracle, window = AT_LIMITS[kind]
    for live in (False, True):
        made = query(window, lateness="3 microseconds")
        try:
            got = fed(made, table) if live else arrow_rows(made.run(table))
        except (WindrowError, OverflowError):
            if abs(at) < 2**62:
                raise
            continue
        rows = brute.in_time(table.to_pylist(), "ts", 3)[0] if live else table.to_pylist()
        assert_same(got, brute.evaluate(rows, oracle, {"n": ("count",)}, time="ts"), f"{kind} at {at}, live: {live}")


def fed(made, table):
    live = made.open()
    return arrow_rows(live.push(table)) + arrow_rows(live.close())


def test_a_column_near_the_limits_is_right_or_refused():
    for x in (2**62, 2**63 - 1, -(2**63)):
        table = pa.table({"ts": [1, 2], "x": pa.array([x, 5], pa.int64())})
        try:
            got = arrow_rows(query(win.sliding(10, every=5, on="x")).run(table))
        except (WindrowError, OverflowError):
            continue
        assert all(row["start"] <= x < row["end"] or row["start"] <= 5 < row["end"] for row in got)
        assert len(got) == 4


def test_floats_too_large_for_their_steps_are_right_or_refused():
    """Beyond 2^53 a step of 1 no longer moves a float: no endless loop."""
    table = pa.table({"ts": [1, 2], "x": [1e300, 5.0]})
    try:
        got = arrow_rows(query(win.sliding(1.0, every=1.0, on="x")).run(table))
    except (WindrowError, OverflowError):
        return
    assert {"start": 5.0, "end": 6.0, "n": 1} in got


def test_infinite_measures_are_no_endless_loop():
    table = pa.table({"ts": [1, 2, 3], "x": [math.inf, 5.0, -math.inf]})
    for window in (win.sliding(1.0, every=1.0, on="x"), win.session(1.0, on="x"), win.trailing(1.0, on="x")):
        try:
            got = arrow_rows(query(window).run(table))
        except (WindrowError, OverflowError):
            continue
        assert got


def test_tenths_are_decimal_numbers():
    """start = origin + k·every as a person counts, so that a row at 0.3 begins the window from 0.3 on."""
    xs = [k / 10 for k in range(60)]
    got = arrow_rows(query(win.sliding(0.3, every=0.1, on="x")).run(pa.table({"ts": range(60), "x": xs})))
    assert [(row["start"], row["end"]) for row in got] == [(k / 10, (k + 3) / 10) for k in range(-2, 60)]
    assert [row["n"] for row in got] == [1, 2, *[3] * 58, 2, 1]


# --------------------------------------------------------------------------------------- a user's functions


def boom(a, b):
    if b == 7.0:
        raise ZeroDivisionError("seven")
    return a + b


def test_a_combine_that_raises_says_where_and_leaves_the_stream_alone():
    own = windrow.Aggregate(lift=lambda x: x, combine=boom, identity=0.0)
    made = query(aggregates={"s": own("v")})
    with pytest.raises((ZeroDivisionError, WindrowError)):
        made.run(pa.table({"ts": [1, 2, 3], "v": [1.0, 7.0, 1.0]}))
    live = made.open()
    live.push(pa.table({"ts": [1], "v": [1.0]}))
    before = live.snapshot()
    with pytest.raises((ZeroDivisionError, WindrowError)):
        live.push(pa.table({"ts": [2, 20], "v": [7.0, 1.0]}))
    assert live.snapshot() == before
    assert live.close().num_rows == 1


def test_a_wrong_identity_is_refused():
    wrong = windrow.Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity=1.0)
    with pytest.raises(LawError, match="identity"):
        query(aggregates={"s": wrong("v")}).run(pa.table({"ts": [1, 2, 3], "v": [1.0, 2.0, 3.0]}))
    with pytest.raises(LawError, match="identity"):  # one row tells
        query(aggregates={"s": wrong("v")}).run(pa.table({"ts": [1], "v": [1.0]}))


def test_a_combine_that_is_not_associative_is_refused():
    halves = windrow.Aggregate(lift=lambda x: x, combine=lambda a, b: (a + b) / 2, identity=0.0)
    with pytest.raises(LawError, match=r"associative|identity"):
        query(aggregates={"s": halves("v")}).run(pa.table({"ts": [1, 2, 3], "v": [1.0, 2.0, 5.0]}))


def test_a_users_own_aggregate_is_as_good_as_a_built_in_one():
    vwap = windrow.Aggregate(
        lift=lambda price, volume: (price * volume, volume),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: s[0] / s[1],
        identity=(0.0, 0.0),
    )
    table = pa.table({"ts": [1, 2, 13], "p": [10.0, 20.0, 30.0], "v": [1.0, 3.0, 2.0]})
    assert query(aggregates={"x": vwap("p", "v")}).run(table)["x"].to_pylist() == [17.5, 30.0]
    words = windrow.Aggregate(lift=lambda w: w, combine=lambda a, b: a + b, identity="")
    got = query(aggregates={"x": words("w")}).run(pa.table({"ts": [2, 1, 11], "w": ["b", "a", "c"]}))
    assert got["x"].to_pylist() == ["ab", "c"]


def test_shared_mutable_partials_do_not_meet():
    """A combine that writes into its argument is refused; one that makes new lists is right in every window."""
    rude = windrow.Aggregate(lift=lambda x: [x], combine=lambda a, b: a.__iadd__(b), lower=tuple, identity=[])
    with pytest.raises(LawError):
        query(aggregates={"x": rude("v")}).run(pa.table({"ts": [1, 2, 3], "v": [1, 2, 3]}))
    table = pa.table({"ts": range(6), "v": range(6)})
    got = query(win.sliding("4 microseconds", every="2 microseconds"), {"x": agg.collect_list("v")}).run(table)
    assert got["x"].to_pylist() == [[0, 1], [0, 1, 2, 3], [2, 3, 4, 5], [4, 5]]


class TooManyEnds:
    def discretize(self, row):
        return 0, 1


class NotAPair:
    def discretize(self, row):
        return 5


class Negative:
    def discretize(self, row):
        return -1, 0


class Raises:
    seen: int = 0

    def discretize(self, row):
        self.seen += 1
        if self.seen == 3:
            raise KeyError("third")
        return 1, 0


@pytest.mark.parametrize("own", [TooManyEnds, NotAPair, Negative])
def test_a_user_defined_window_that_answers_nonsense_names_the_row(own):
    with pytest.raises(WindrowError, match="row 0"):
        query(win.user_defined(own)).run(pa.table({"ts": [1, 2], "v": [1, 2]}))


def test_a_user_defined_window_that_raises_names_the_row():
    with pytest.raises((KeyError, WindrowError)) as error:
        query(win.user_defined(Raises)).run(pa.table({"ts": [1, 2, 3], "v": [1, 2, 3]}))
    assert "row 2" in str(error.value) + " ".join(getattr(error.value, "__notes__", []))


def test_a_predicate_that_raises_names_the_row():
    def third(row):
        if row.v == 3:
            raise KeyError("third")
        return True

    with pytest.raises((KeyError, WindrowError)) as error:
        query(win.punctuated(third)).run(pa.table({"ts": [1, 2, 3], "v": [1, 2, 3]}))
    assert "row 2" in str(error.value) + " ".join(getattr(error.value, "__notes__", []))


# ------------------------------------------------------------------------------------------- the same answer


def test_many_keys_and_one_giant_key():
    n = 200_000
    ts = np.arange(n)
    lone = query(win.tumbling(1), by=["k"]).run({"ts": ts, "k": np.arange(n)})
    assert len(lone["n"]) == n and (np.asarray(lone["n"]) == 1).all()
    giant = query(win.tumbling("1000 microseconds"), by=["k"]).run({"ts": ts, "k": np.zeros(n, np.int64)})
    assert len(giant["n"]) == n // 1000 and (np.asarray(giant["n"]) == 1000).all()


@pytest.mark.parametrize("window", [win.sliding(7, 2), win.trailing(5), win.sliding("9 us", "4 us")], ids=str)
def test_the_algorithm_does_not_change_the_answer(window):
    """All of them with text, which is not compiled; two of them compiled, too, because that takes its time."""
    rng = np.random.default_rng(3)
    table = pa.table({"ts": np.sort(rng.integers(0, 60, 80)), "v": rng.integers(0, 9, 80), "w": list("abcdefgh" * 10)})
    words = {"c": agg.concat("w")}
    wanted = query(window, words).run(table).to_pylist()
    for name in windrow.swag.ALGORITHMS:
        assert query(window, words, algorithm=name).run(table).to_pylist() == wanted, name
    assert query(window, words, favor="latency").run(table).to_pylist() == wanted
    numbers = {"m": agg.max("v")}
    wanted = query(window, numbers).run(table).to_pylist()
    for name in ("daba_lite", "two_stacks"):
        assert query(window, numbers, algorithm=name).run(table).to_pylist() == wanted, name


def test_an_algorithm_that_cannot_is_refused_with_one_that_can():
    with pytest.raises(windrow.errors.Unsupported, match=r"two_stacks|TwoStacks"):
        query(aggregates={"m": agg.max("v")}, algorithm="subtract_on_evict")


def test_the_data_are_left_as_they_were():
    data = {"ts": np.array([3, 1, 2]), "k": np.array([1, 0, 1]), "v": np.array([1.0, 2.0, 3.0])}
    copies = {name: array.copy() for name, array in data.items()}
    query(win.trailing(2), {"s": agg.sum("v")}, by=["k"]).run(data)
    query(TEN, {"s": agg.sum("v")}, by=["k"]).run(data)
    assert all((data[name] == copies[name]).all() for name in data)


def test_a_query_runs_twice_and_is_not_changed_by_it():
    made = query(win.sliding(3, every=1), {"c": agg.concat("w")})
    first = made.run(pa.table({"ts": [1, 2, 3], "w": ["a", "b", "c"]})).to_pylist()
    made.run(pa.table({"ts": [7, 8, 9], "w": ["x", "y", "z"]}))
    assert made.run(pa.table({"ts": [1, 2, 3], "w": ["a", "b", "c"]})).to_pylist() == first
    assert made.report.rows_in == 3 and made.report.rows_out == 1 and made.report.rejected == 0


@pytest.mark.parametrize(
    "window", [win.sliding(2.0, every=1.0, on="d"), win.session(1.5, on="d"), win.trailing(2.0, on="d")]
)
def test_rows_at_infinity_have_no_place(window):
    table = pa.table({"d": [0.5, math.inf, 1.0, -math.inf, math.nan], "v": [1, 2, 4, 8, 16]})
    query = windrow.Query(windows=window, aggregates={"s": agg.sum("v")})
    got = query.run(table)
    assert query.report.rejected == 3
    kept = windrow.Query(windows=window, aggregates={"s": agg.sum("v")}).run(table.take([0, 2]))
    if query.per_row:
        assert got["s"].to_pylist() == [1, None, 5, None, None]
    else:
        assert got.equals(kept)
    live = query.open()
    live.push(table)
    assert live.rejected["v"].to_pylist() == [2, 8, 16]
    live.close()
    with pytest.raises(WindrowError, match="row 1 has no value in column 'd'; 3 rows"):
        windrow.Query(windows=window, aggregates={"s": agg.sum("v")}, strict=True).run(table)
