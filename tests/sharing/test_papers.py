"""The worked examples of paper 3 (Fig. 1, 4, 5, 6, 7, Table 1), paper 5 (Example 1) and paper 2 §9, in queries.

What a query has no setting for (Panes, Pairs, a slice per row) is the model of `benchmarks/slicing.py`.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import windrow
from benchmarks import slicing
from benchmarks.stepping import Stepping, stepped
from tests.query import brute
from tests.query.own_windows import MINUTE, Stock
from windrow import agg, swag, win
from windrow.swag import ALGORITHMS
from windrow.windows.composite import Composite

VWAP = windrow.Aggregate(
    lift=lambda price, volume: (price * volume, volume),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
    identity=(0.0, 0.0),
)
#: in plain Python: not commutative, and its combines are counted
TEXT = swag.counting(agg.concat("s"))
SECOND = 1_000_000


def texts(letters: str) -> np.ndarray:
    return np.array(list(letters), object)


def row_by_row(query: windrow.Query, data: dict[str, np.ndarray]) -> tuple[Stepping, list[list[tuple]], list[int]]:
    """For each row the windows that its coming ends, (name, start, end); and the rows that a slice begins with."""
    stepping, ended, begun = Stepping(query, data), [], []
    for i in range(len(next(iter(data.values())))):
        before = stepping.counts.slices
        results = stepping.step(1)
        ended.append([(e.window, int(a), int(z)) for e in results.ended for a, z in zip(e.start, e.end, strict=True)])
        if stepping.counts.slices > before:
            begun.append(i)
    return stepping, ended, begun


@pytest.mark.parametrize("algorithm", ["auto", *(name for name in ALGORITHMS if name != "subtract_on_evict")])
def test_paper_3_figure_1_the_stock_example(algorithm: str) -> None:
    """10 min every 5 min; from the 25th minute, below $10, 5 min every 2 min."""
    rows = [
        {"ts": m * MINUTE, "price": 12.0 - m / 16 if m < 25 else 9.0 + (m % 3) / 4, "volume": float(1 + m % 4)}
        for m in range(60)
    ]
    vwap = swag.counting(VWAP("price", "volume"))
    query = windrow.Query(time="ts", windows=win.user_defined(Stock), aggregates={"vwap": vwap}, algorithm=algorithm)
    live, found = query.open(), []
    for row in rows:
        sent = live.push(row)
        found += zip(sent["start"].tolist(), sent["end"].tolist(), sent["vwap"].tolist(), strict=True)
    spans = [(start // MINUTE, end // MINUTE) for start, end, _ in found]
    assert spans[:8] == [(0, 10), (5, 15), (10, 20), (15, 25), (20, 30), (25, 30), (27, 32), (29, 34)]
    assert all((b - a, b1 - b) == (5, 2) for (a, b), (_, b1) in pairwise(spans[6:]))
    for start, end, answer in found:
        inside = [row for row in rows if start <= row["ts"] < end]
        mean = sum(r["price"] * r["volume"] for r in inside) / sum(r["volume"] for r in inside)
        assert answer == pytest.approx(mean)
    by_definition = brute.user_defined(brute.UserDefined(Stock), [brute.Row(r) for r in rows], "ts", False)
    assert [(start, end) for start, end, _ in found] == [(start, end) for start, end, _ in by_definition]


class Figure4:
    """s[1,5], s[1,6] and s[3,8] are complete at rows 6, 7 and 9; windows begin at 1, 3, 6, 8 and 9."""

    def __init__(self) -> None:
        self.row = 0

    def discretize(self, row):
        self.row += 1
        return {1: 2, 3: 1, 6: 1, 8: 1, 9: 1}.get(self.row, 0), {6: 1, 7: 1, 9: 1}.get(self.row, 0)


@pytest.mark.parametrize("algorithm", ["auto", *(name for name in ALGORITHMS if name != "subtract_on_evict")])
def test_paper_3_figure_4_slices_and_windows(algorithm: str) -> None:
    query = windrow.Query(windows=win.user_defined(Figure4), aggregates={"s": TEXT}, algorithm=algorithm)
    live, found = query.open(), []
    for digit in "123456789":
        found += [(digit, answer) for answer in live.push({"s": digit})["s"].tolist()]
    assert found == [("6", "12345"), ("7", "123456"), ("9", "345678")]
    stepping, _, begun = row_by_row(query, {"s": texts("123456789")})
    assert begun == [0, 2, 5, 7, 8]  # P(s[1,2]), P(s[3,5]), P(s[6,7]), P(s[8,8]), and one that is open
    assert stepping.counts.fill == 9 - 5


def test_paper_3_figure_5_marks() -> None:
    """Range 4 every 2 above, range 5 every 3 below: a slice begins where a window of either begins."""
    both = {"above": win.sliding(4, every=2), "below": win.sliding(5, every=3)}
    _, ended, begun = row_by_row(windrow.Query(windows=both, aggregates={"s": TEXT}), {"s": texts("abcdefghijklm")})
    assert begun == [0, 2, 3, 4, 6, 8, 9, 10, 12]
    ends = {i + 1: sorted((name, start) for name, start, _ in row) for i, row in enumerate(ended) if row}
    assert ends == {
        4: [("above", 0)],
        5: [("below", 0)],
        6: [("above", 2)],
        8: [("above", 4), ("below", 3)],
        10: [("above", 6)],
        11: [("below", 6)],
        12: [("above", 8)],
    }


def test_paper_3_figure_6_time_and_distance_share_slices() -> None:
    """A vehicle: 10 s every 6 s, and 10 km every 5 km. Slices begin where a window of either begins."""
    stream = [(0, 0.0), (1, 1.0), (3, 2.5), (4, 4.0), (6, 5.0), (7, 5.5), (9, 6.0), (12, 9.0), (13, 11.0), (17, 14.0)]
    stream += [(18, 15.5), (21, 16.0), (24, 20.0), (25, 24.0)]
    data = {
        "t": np.array([t for t, _ in stream]) * SECOND,
        "km": np.array([km for _, km in stream]),
        "s": texts("abcdefghijklmn"),
    }
    both = {
        "time": win.sliding("10 seconds", every="6 seconds"),
        "distance": win.sliding(10.0, every=5.0, on="km"),
    }
    query = windrow.Query(time="t", windows=both, aggregates={"s": TEXT})
    _, _, begun = row_by_row(query, data)
    assert begun == [0, 4, 7, 8, 10, 12]  # 6 s and 5 km together, 12 s, 10 km, 18 s and 15 km, 24 s and 20 km
    theirs = {"time": brute.Periodic(10 * SECOND, 6 * SECOND), "distance": brute.Periodic(10.0, 5.0, 0, "km")}
    rows = [dict(zip(data, row, strict=True)) for row in zip(*(c.tolist() for c in data.values()), strict=True)]
    expected = sorted(
        (row["window"], row["s"]) for row in brute.evaluate(rows, theirs, {"s": ("concat", "s", "")}, time="t")
    )
    whole = query.run(data)
    assert sorted(zip(whole["window"].tolist(), whole["s"].tolist(), strict=True)) == expected
    live, sent = query.open(), []
    for i in range(len(rows)):
        part = live.push({name: column[i : i + 1] for name, column in data.items()})
        sent += zip(part["window"].tolist(), part["s"].tolist(), strict=True)
    rest = live.close()
    sent += zip(rest["window"].tolist(), rest["s"].tolist(), strict=True)
    assert sorted(sent) == expected


def test_paper_3_figure_7_slices_of_range_10_slide_3() -> None:
    found = {technique: slicing.cuts(technique, [(10, 3)], 10) for technique in ("panes", "pairs", "cutty")}
    assert found == {"panes": list(range(10)), "pairs": [0, 1, 3, 4, 6, 7, 9], "cutty": [0, 3, 6, 9]}
    query = windrow.Query(windows=win.sliding(10, every=3), aggregates={"s": TEXT})
    _, _, begun = row_by_row(query, {"s": texts("abc" * 10)})
    assert begun == slicing.cuts("cutty", [(10, 3)], 30)


@pytest.mark.parametrize(("r", "s"), [(10, 3), (10, 5), (12, 4), (7, 7), (100, 7), (9, 1), (64, 48), (5, 11)])
def test_paper_3_table_1(r: int, s: int) -> None:
    formulas = {"cutty": math.ceil(r / s) + 1, "pairs": math.ceil(2 * r / s), "panes": r // math.gcd(r, s), "ra": r}
    rows = 6 * r + 4 * s
    for technique, space in formulas.items():
        said = slicing.table(technique, r, s)
        assert (said.space_lazy, said.merge_lazy) == (space, space)
        assert said.merge_eager == pytest.approx(math.log2(space))
        cuts = slicing.cuts(technique, [(r, s)], rows)
        assert len([cut for cut in cuts if cut < r]) <= space
        counts = slicing.modelled(cuts, slicing.periodic([(r, s)], rows), rows, "lazy")
        assert counts.most <= space + (technique != "cutty"), technique  # the open one beside the stored ones
        assert counts.slices <= len(cuts)
        if s <= r:  # else rows between windows are in no slice
            assert counts.slices == len(cuts)
        assert counts.merge <= (said.merge_lazy - 1) * counts.windows
    assert slicing.table("cutty", r, s).space_eager == math.ceil(2 * r / s) + 1
    assert slicing.table("pairs", r, s).space_eager == math.ceil(4 * r / s)
    query = windrow.Query(windows=win.sliding(r, every=s), aggregates={"n": swag.counting(agg.sum("x"))})
    counts = stepped(query, {"x": np.ones(rows, np.int64)})
    most = math.ceil(r / s)  # one fewer than in the table: a window that ends is answered before a slice begins
    assert counts.most <= most
    assert counts.slices == len(slicing.cuts("cutty", [(r, s)], rows))
    assert f"at most {most} slice{'' if most == 1 else 's'} per key" in query.explain()


def test_slices_of_several_windows() -> None:
    both = slicing.cuts("pairs", [(10, 3), (8, 4)], 12)
    assert both == sorted({*range(0, 12, 3), *range(1, 12, 3), *range(0, 12, 4)})
    assert slicing.cuts("cutty", [(10, 3), (8, 4)], 12) == [0, 3, 4, 6, 8, 9]


def test_paper_5_example_1() -> None:
    """Slides 2 and 4, ranges 6 and 8: every 2 rows a partial; the last three of them, the last four."""
    windows = {"q1": win.sliding(6, every=2), "q2": win.sliding(8, every=4)}
    shared = Composite(list(windows.values()))
    assert (shared.slide, shared.edges) == (4, [0, 2])
    query = windrow.Query(windows=windows, aggregates={"s": TEXT})
    assert "composite slide 4 rows, with 2 edges in it" in query.explain()
    _, ended, begun = row_by_row(query, {"s": texts("ab" * 12)})
    assert begun == list(range(0, 24, 2))
    for turn in range(8, 24, 4):
        assert {name for name, _, _ in ended[turn + 1]} == {"q1"}
        assert {name for name, _, _ in ended[turn + 3]} == {"q1", "q2"}
        assert not ended[turn] and not ended[turn + 2]
    parts = {name: len([cut for cut in begun if 12 - w.range <= cut < 12]) for name, w in windows.items()}
    assert parts == {"q1": 3, "q2": 4}


@pytest.mark.parametrize(
    "sizes", [[(6, 2), (8, 4)], [(10, 3), (7, 2)], [(5, 5), (9, 6), (4, 3)], [(3, 7, 1), (12, 4)]], ids=str
)
def test_the_edges_of_a_composite_slide_are_where_slices_begin(sizes: list[tuple]) -> None:
    """Turn after turn the same, with the same windows answered at the same places."""
    windows = {f"w{i}": win.sliding(*size) for i, size in enumerate(sizes)}
    shared = Composite(list(windows.values()))
    slide, edges = int(shared.slide), len(shared.edges)
    assert slide == math.lcm(*(w.every for w in windows.values()))
    start = slide * (1 + max(w.range for w in windows.values()) // slide)
    rows = start + 2 * slide
    _, ended, begun = row_by_row(windrow.Query(windows=windows, aggregates={"s": TEXT}), {"s": texts("x" * rows)})
    for turn in (start, start + slide):
        places = {(w.origin + k * w.every) % slide for w in windows.values() for k in range(slide)}
        assert {at - turn for at in begun if turn <= at < turn + slide} == places
        assert len(places) == edges
        for at in range(turn, turn + slide):
            due = {n for n, w in windows.items() if (at + 1 - w.origin - w.range) % w.every == 0}
            assert {name for name, _, _ in ended[at]} == due


def test_windows_without_a_composite_slide_are_explained_all_the_same() -> None:
    primes = {f"w{n}": win.sliding(1000, every=n) for n in (97, 101, 103, 107, 109, 113)}
    assert not Composite(list(primes.values())).repeats
    floats = {"a": win.sliding(4.0, 0.1, on="km"), "b": win.sliding(6.0, 0.3, on="km")}
    assert not Composite(list(floats.values())).repeats  # 0.3 is no multiple of 0.1 as a float
    mixed = {"a": win.sliding(4, 2), "b": win.sliding("4 seconds", "2 seconds")}
    for windows, time in ((primes, None), (floats, None), (mixed, "t")):
        text = windrow.Query(time=time, windows=windows, aggregates={"n": agg.count()}).explain()
        assert "flat_fit" in text and "  slide      no composite slide: " in text
    text = windrow.Query(
        time="t",
        windows={"a": win.sliding("1 minute", "10 seconds"), "b": win.sliding("2 minutes", "20 seconds")},
        aggregates={"n": agg.count()},
    ).explain()
    assert "composite slide 20 seconds, with 2 edges in it" in text


def test_paper_2_several_windows_of_the_newest_rows_cost_a_constant_number_of_combines() -> None:
    """A DABA's 3 an insert, 2 an evict and 1 a query for each size (Theorem 9), whatever the sizes."""
    sizes = [10, 100, 1000]
    query = windrow.Query(
        windows={f"w{n}": win.trailing(n) for n in sizes},
        aggregates={"s": swag.counting(agg.sum("x"))},
        favor="latency",
    )
    total = query.aggregates["s"]
    live = query.open()
    live.push({"x": np.arange(2_500)})
    worst = 0
    for i in range(2_500, 3_700):
        before = total.combines
        sent = live.push({"x": [i]})
        worst = max(worst, total.combines - before)
        assert [sent[f"s_w{n}"][0] for n in sizes] == [sum(range(i + 1 - n, i + 1)) for n in sizes]
    assert worst <= 6 * len(sizes)


def test_never_more_slices_than_open_windows() -> None:
    """A long window beside short ones: paper 3 §3.1 says two slices, Alg. 1 as printed stores them all."""
    both = {"long": win.tumbling(200), "short": win.tumbling(1)}
    query = windrow.Query(windows=both, aggregates={"n": swag.counting(agg.sum("x"))})
    assert stepped(query, {"x": np.ones(401, np.int64)}).most <= 3  # the open slice included


def test_rows_in_no_window_cost_nothing() -> None:
    query = windrow.Query(windows=win.sliding(2, every=100), aggregates={"s": swag.counting(agg.sum("x"))})
    stepping, ended, begun = row_by_row(query, {"x": np.arange(1_000)})
    assert begun == list(range(0, 1_000, 100))
    assert sum(map(len, ended)) == stepping.of.combines == 10
    assert query.run({"x": np.arange(1_000)})["s"].tolist() == [2 * k + 1 for k in range(0, 1_000, 100)]
