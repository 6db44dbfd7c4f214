"""The oracle itself, on examples small enough to be worked out by hand."""

from __future__ import annotations

from tests.query import brute
from tests.query.own_windows import MINUTE, Counted, Stock

NAN = float("nan")


def rows(**columns):
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def spans(results, *names):
    return [tuple(r[name] for name in ("start", "end", *names)) for r in results]


def test_paper_3_figure_5_two_windows_by_rows():
    """Range 4, slide 2 and range 5, slide 3 over ten records."""
    windows = {"up": brute.Periodic(4, 2, on="rows"), "low": brute.Periodic(5, 3, on="rows")}
    found = brute.evaluate(rows(v=range(10)), windows, {"s": ("sum", "v")})
    assert [(r["window"], r["start"], r["end"], r["s"]) for r in found] == [
        ("up", 0, 4, 6), ("up", 2, 6, 14), ("up", 4, 8, 22), ("up", 6, 10, 30),
        ("low", 0, 5, 10), ("low", 3, 8, 25),
    ]  # fmt: skip


def test_paper_3_figure_7_range_10_slide_3():
    """A record is in ⌈10/3⌉ windows, or one fewer."""
    found = brute.evaluate(rows(t=range(30)), brute.Periodic(10, 3), {"n": ("count",)}, time="t")
    assert spans(found, "n")[:5] == [(-9, 1, 1), (-6, 4, 4), (-3, 7, 7), (0, 10, 10), (3, 13, 10)]
    assert spans(found, "n")[-2:] == [(24, 34, 6), (27, 37, 3)]
    inside = [sum(r["start"] <= t < r["end"] for r in found) for t in range(30)]
    assert set(inside) == {3, 4}


def test_paper_3_figure_1_the_stock():
    prices = [12.0] * 25 + [9.0] * 8
    table = rows(ts=[MINUTE * i for i in range(33)], price=prices)
    found = brute.evaluate(table, brute.UserDefined(Stock), {"p": ("mean", "price"), "n": ("count",)}, time="ts")
    assert [(s // MINUTE, e // MINUTE, n, p) for s, e, n, p in spans(found, "n", "p")] == [
        (0, 10, 10, 12.0), (5, 15, 10, 12.0), (10, 20, 10, 12.0), (15, 25, 10, 12.0),
        (20, 30, 10, 10.5), (25, 30, 5, 9.0), (27, 32, 5, 9.0),
    ]  # fmt: skip
    rest = brute.evaluate(table, brute.UserDefined(Stock), {"n": ("count",)}, time="ts", partial=True)[len(found) :]
    assert [(s // MINUTE, e, n) for s, e, n in spans(rest, "n")] == [(29, None, 4), (31, None, 2)]


def test_a_user_defined_count_window_is_a_periodic_one():
    table = rows(w="abcdefghij")
    own = brute.evaluate(table, brute.UserDefined(lambda: Counted(4, 3)), {"w": ("concat", "w", "")})
    assert own == brute.evaluate(table, brute.Periodic(4, 3, on="rows"), {"w": ("concat", "w", "")})[: len(own)]
    assert spans(own, "w") == [(0, 4, "abcd"), (3, 7, "defg")]


def test_periodic_before_the_epoch_and_from_a_distant_origin():
    table = rows(t=[-1, 0, 4], w="abc")
    assert spans(brute.evaluate(table, brute.Periodic(5, 5), {"w": ("concat", "w", "")}, time="t"), "w") == [
        (-5, 0, "a"), (0, 5, "bc"),
    ]  # fmt: skip
    far = brute.Periodic(5, 5, origin=5 * 10**12 + 2)
    assert spans(brute.evaluate(table, far, {"w": ("concat", "w", "")}, time="t"), "w") == [
        (-3, 2, "ab"), (2, 7, "c"),
    ]  # fmt: skip


def test_a_range_below_every_leaves_rows_out():
    found = brute.evaluate(rows(t=range(10)), brute.Periodic(2, 5), {"n": ("count",)}, time="t")
    assert spans(found, "n") == [(0, 2, 2), (5, 7, 2)]


def test_rows_exactly_a_gap_apart_are_in_one_session():
    table = rows(t=[0, 4, 9, 30, 9], w="abcde")
    found = brute.evaluate(table, brute.Session(5), {"w": ("concat", "w", "")}, time="t")
    assert spans(found, "w") == [(0, 14, "abce"), (30, 35, "d")]


def test_punctuations():
    table = rows(w="abcde", p=[False, True, None, True, False])
    w = brute.Punctuated(lambda row: row.p)
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}), "w") == [(1, 3, "bc")]
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}, partial=True), "w") == [
        (1, 3, "bc"), (3, None, "de"),
    ]  # fmt: skip


def test_landmarks_by_time():
    table = rows(t=[0, 1, 6, 7, 23, 24], w="abcdef", p=[0, 1, 0, 0, 0, 1])
    w = brute.Landmark(lambda row: row.p, 5)
    assert brute.evaluate(table[:1], w, {"n": ("count",)}, time="t", partial=True) == []
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}, time="t"), "w") == [
        (1, 6, "b"), (1, 11, "bcd"), (24, 29, "f"),
    ]  # fmt: skip
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}, time="t", partial=True), "w") == [
        (1, 6, "b"), (1, 11, "bcd"), (1, 24, "bcde"), (24, 29, "f"),
    ]  # fmt: skip


def test_landmarks_by_rows():
    table = rows(w="abcdefgh", p=[1, 0, 0, 0, 0, 1, 0, 0])
    w = brute.Landmark(lambda row: row.p, 2, on="rows")
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}), "w") == [
        (0, 2, "ab"), (0, 4, "abcd"), (5, 7, "fg"),
    ]  # fmt: skip
    assert spans(brute.evaluate(table, w, {"w": ("concat", "w", "")}, partial=True), "w") == [
        (0, 2, "ab"), (0, 4, "abcd"), (0, 5, "abcde"), (5, 7, "fg"), (5, 9, "fgh"),
    ]  # fmt: skip


def test_the_last_three_rows_every_five():
    table = rows(t=[0, 1, 2, 3, 21], w="abcde")
    found = brute.evaluate(table, brute.Last(3, 5), {"w": ("concat", "w", "")}, time="t")
    assert spans(found, "w") == [(1, 5, "bcd"), (2, 25, "cde")]


def test_trailing_closed_four_ways():
    table = rows(t=[0, 2, 2, 4], w="abcd")

    def texts(closed, on="time", length=2):
        found = brute.evaluate(table, brute.Trailing(length, closed, on), {"x": ("concat", "w", "")}, time="t")
        return [r["x"] for r in found]

    assert texts("right") == ["a", "bc", "bc", "d"]
    assert texts("left") == [None, "a", "a", "bc"]
    assert texts("both") == ["a", "abc", "abc", "bcd"]
    assert texts("none") == [None, None, None, None]
    assert texts("right", "rows") == ["a", "ab", "bc", "cd"]
    assert texts("left", "rows") == [None, "a", "ab", "bc"]
    assert texts("none", "rows") == [None, "a", "b", "c"]
    assert texts("both", "rows") == ["a", "ab", "abc", "bcd"]


def test_a_policy_holds_the_sum_at_most_ten():
    w = brute.Policy(lambda total, old: total.s - old.s + 3 > 10 or total.s > 10, {"s": ("sum", "v")})
    assert brute.evaluate(rows(v=[2, 20]), w, {"x": ("concat", "v", "+")})[-1]["x"] is None
    keep = brute.Policy(lambda total, old: total.s - old.s >= 10 or False, {"s": ("sum", "v")})
    found = brute.evaluate(rows(v=[2, 2, 3, 3, 4]), keep, {"x": ("concat", "v", "+")})
    assert [r["x"] for r in found] == ["2", "2+2", "2+2+3", "2+2+3+3", "3+3+4"]


def test_nulls_nan_ties_and_keys():
    table = rows(
        t=[3, 1, None, 1, 2],
        k=[NAN, None, "a", NAN, NAN],
        v=[None, 5, 6, 7, 8],
        f=[NAN, 1.0, 2.0, 2.0, NAN],
        w=["a", "b", "c", "d", None],
    )
    aggregates = {
        "s": ("sum", "v"), "m": ("max", "f"), "b": ("max_by", "w", "f"), "c": ("concat", "w", "-"),
        "n": ("count",), "nv": ("count", "v"), "a": ("mean", "v"),
    }  # fmt: skip
    one, two = brute.evaluate(table, brute.Periodic(10, 10), aggregates, time="t", by=["k"])
    if one["k"] is None:
        one, two = two, one
    assert (one["s"], one["b"], one["c"], one["n"], one["nv"], one["a"]) == (15, None, "d-a", 3, 2, 7.5)
    assert one["m"] != one["m"]
    assert (two["k"], two["s"], two["m"], two["c"]) == (None, 5, 1.0, "b")
    each = brute.evaluate(table, brute.Trailing(1), aggregates, time="t", by=["k"])
    assert each[2]["n"] is None and each[2]["s"] is None  # no time: in no window, yet in its place
    assert [r["c"] for r in each] == ["a", "b", None, "d", None]


def test_changes_only():
    table = rows(t=[0, 5, 10, 15], v=[1, 1, 2, 1])
    found = brute.evaluate(table, brute.Periodic(5, 5), {"s": ("sum", "v")}, time="t", changes_only=True)
    assert spans(found, "s") == [(0, 5, 1), (10, 15, 2), (15, 20, 1)]
    each = brute.evaluate(table, brute.Trailing(5), {"s": ("sum", "v")}, time="t", changes_only=True)
    assert [(r["t"], r["s"]) for r in each] == [(0, 1), (10, 2), (15, 1)]


def test_late_rows():
    table = rows(t=[0, 10, 5, 4, None, 10, 12, 7, 6])
    taken, late = brute.in_time(table, "t", 5)
    assert [r["t"] for r in late] == [4, 6]
    assert [r["t"] for r in taken] == [0, 10, 5, None, 10, 12, 7]
