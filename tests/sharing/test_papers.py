"""The worked examples of paper 3 (Fig. 1, 4, 5, 6, 7, Table 1) and of paper 5 (Example 1, Fig. 6)."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import windrow
from tests.query import brute
from tests.query.own_windows import MINUTE, Stock
from windrow import agg, win
from windrow.errors import Unsupported, WindrowError
from windrow.sharing import slicing
from windrow.sharing.aggregator import Aggregator
from windrow.sharing.discretizer import Discretizer
from windrow.sharing.partials import STORES
from windrow.sharing.wheel import Rates, Wheel, described
from windrow.windows.base import TIME
from windrow.windows.kinds import Periodic

VWAP = windrow.Aggregate(
    lift=lambda price, volume: (price * volume, volume),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
    identity=(0.0, 0.0),
)


@pytest.mark.parametrize("store", STORES)
def test_paper_3_figure_1_the_stock_example(store):
    """10 min every 5 min; from the 25th minute, below $10, 5 min every 2 min."""
    rows = [
        {"ts": m * MINUTE, "price": 12.0 - m / 16 if m < 25 else 9.0 + (m % 3) / 4, "volume": float(1 + m % 4)}
        for m in range(60)
    ]
    shared = Aggregator({"stock": win.user_defined(Stock)}, VWAP("price", "volume"), store=store, timed=True)
    found = [result for row in rows for result in shared.row(row, row["ts"])]
    spans = [(int(r.start / MINUTE), int(r.end / MINUTE)) for r in found]
    assert spans[:8] == [(0, 10), (5, 15), (10, 20), (15, 25), (20, 30), (25, 30), (27, 32), (29, 34)]
    assert all((b - a, b1 - b) == (5, 2) for (a, b), (_, b1) in pairwise(spans[6:]))
    for result in found:
        inside = [row for row in rows if result.start <= row["ts"] < result.end]
        mean = sum(r["price"] * r["volume"] for r in inside) / sum(r["volume"] for r in inside)
        assert result.answer == pytest.approx(mean)
    by_definition = brute.user_defined(brute.UserDefined(Stock), [brute.Row(r) for r in rows], "ts", False)
    assert [(r.start, r.end) for r in found] == [(start, end) for start, end, _ in by_definition]


class Figure4:
    """s[1,5], s[1,6] and s[3,8] are complete at rows 6, 7 and 9; windows begin at 1, 3, 6, 8 and 9."""

    def __init__(self) -> None:
        self.row = 0

    def discretize(self, row):
        self.row += 1
        return {1: 2, 3: 1, 6: 1, 8: 1, 9: 1}.get(self.row, 0), {6: 1, 7: 1, 9: 1}.get(self.row, 0)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("store", STORES)
def test_paper_3_figure_4_slices_and_windows(store, fuse):
    shared = Aggregator({"w": win.user_defined(Figure4)}, agg.concat("s"), store=store, fuse=fuse)
    stored = []
    append = shared.store.append
    shared.store.append = lambda id, partial: (stored.append(partial), append(id, partial))[1]
    found = []
    for digit in "123456789":
        found += [(digit, r.answer) for r in shared.row({"s": digit})]
        shared.check_invariants()
    lowered = [shared.of.lower(partial) for partial in stored]
    assert lowered == ["12", "345", "67", "8"]  # P(s[1,2]), P(s[3,5]), P(s[6,7]), P(s[8,8])
    assert found == [("6", "12345"), ("7", "123456"), ("9", "345678")]


def test_paper_3_figure_5_marks():
    """Range 4 every 2 above, range 5 every 3 below; windows are numbered as they begin, from 1."""
    two = Discretizer({"above": win.sliding(4, every=2), "below": win.sliding(5, every=3)})
    marks = [two.row({}) for _ in range(13)]
    begins = {i: [b.id for b in m.begins] for i, m in enumerate(marks) if m.begins}
    ends = {i: [e.id for e in m.ends] for i, m in enumerate(marks) if m.ends}
    assert begins == {0: [1, 2], 2: [3], 3: [4], 4: [5], 6: [6, 7], 8: [8], 9: [9], 10: [10], 12: [11, 12]}
    assert ends == {4: [1], 5: [2], 6: [3], 8: [5, 4], 10: [6], 11: [7], 12: [8]}


@pytest.mark.parametrize("store", STORES)
def test_paper_3_figure_6_time_and_distance_share_slices(store):
    """A vehicle: 10 s every 6 s, and 10 km every 5 km. Slices begin where a window of either begins."""
    stream = [(0, 0.0), (1, 1.0), (3, 2.5), (4, 4.0), (6, 5.0), (7, 5.5), (9, 6.0), (12, 9.0), (13, 11.0), (17, 14.0)]
    stream += [(18, 15.5), (21, 16.0), (24, 20.0), (25, 24.0)]
    rows = [{"t": t, "km": km, "s": "abcdefghijklmn"[i]} for i, (t, km) in enumerate(stream)]
    both = {"time": Periodic(10, 6, 0, TIME), "distance": win.sliding(10.0, every=5.0, on="km")}
    shared = Aggregator(both, agg.concat("s"), store=store, fuse=False)
    marks = Discretizer(both)
    begun = [i for i, row in enumerate(rows) if marks.row(row, row["t"]).begins]
    assert begun == [0, 4, 7, 8, 10, 12]  # 6 s and 5 km together, 12 s, 10 km, 18 s and 15 km, 24 s and 20 km
    found = []
    for row in rows:
        found += shared.row(row, row["t"])
        shared.check_invariants()
    found += shared.close()
    assert shared.counts.slices == len(begun) - 1
    theirs = {"time": brute.Periodic(10, 6), "distance": brute.Periodic(10.0, 5.0, 0, "km")}
    expected = brute.evaluate(rows, theirs, {"a": ("concat", "s", "")}, time="t")
    assert sorted(tuple(r) for r in found) == sorted((r["window"], r["start"], r["end"], r["a"]) for r in expected)


def test_paper_3_figure_7_slices_of_range_10_slide_3():
    cuts = {name: technique(10, 3).between(0, 10) for name, technique in slicing.TECHNIQUES.items()}
    assert cuts == {"panes": list(range(10)), "pairs": [0, 1, 3, 4, 6, 7, 9], "cutty": [0, 3, 6, 9]}
    for name, edges in cuts.items():
        shared = Aggregator({"w": win.sliding(10, every=3)}, agg.concat(), slicing=name)
        stored = []
        append = shared.store.append
        shared.store.append = lambda id, partial: (stored.append(id), append(id, partial))[1]
        for i in range(31):
            shared.row("abc"[i % 3])
        assert stored == slicing.TECHNIQUES[name](10, 3).between(1, 31), name
        assert [0, *(edge for edge in stored if edge < 10)] == edges


@pytest.mark.parametrize(("r", "s"), [(10, 3), (10, 5), (12, 4), (7, 7), (100, 7), (9, 1), (64, 48), (5, 11)])
def test_paper_3_table_1(r, s):
    formulas = {"cutty": math.ceil(r / s) + 1, "pairs": math.ceil(2 * r / s), "panes": r // math.gcd(r, s), "ra": r}
    for technique, space in formulas.items():
        row = slicing.table(technique, r, s)
        assert (row.space_lazy, row.merge_lazy) == (space, space)
        assert row.merge_eager == pytest.approx(math.log2(space))
        how = "rows" if technique == "ra" else technique
        shared = Aggregator({"w": win.sliding(r, every=s)}, agg.sum(), slicing=how, store="lazy")
        for i in range(6 * r + 4 * s):
            shared.row(i)
            shared.check_invariants()
        assert shared.counts.most <= space + (technique != "cutty"), technique  # the open one beside the stored ones
        if technique != "ra":
            assert slicing.in_window(technique, r, s) <= space
            produced = len(slicing.TECHNIQUES[technique](r, s).between(1, 6 * r + 4 * s))
            assert shared.counts.slices <= produced
            if s <= r:  # else rows between windows are in no slice
                assert shared.counts.slices == produced
    assert slicing.table("cutty", r, s).space_eager == math.ceil(2 * r / s) + 1
    assert slicing.table("pairs", r, s).space_eager == math.ceil(4 * r / s)


def test_edges_of_several_windows():
    both = slicing.shared("pairs", [(10, 3), (8, 4, 1)])
    assert both.between(-3, 9) == sorted({-3, 0, 3, 6, *range(-2, 9, 3)} | {-3, 1, 5})
    assert both.period == 12
    for at in range(-20, 20):
        assert (both.number(at) > both.number(at - 1)) == (at in both.between(-20, 20))
        assert both.after(at) == both.between(at + 1, at + 13)[0]
    with pytest.raises(WindrowError, match="above 0"):
        slicing.panes(0, 3)


def test_paper_5_example_1():
    """Slides 2 and 4, ranges 6 and 8: every 2 rows a partial; the last three of them, the last four."""
    wheel = Wheel({"q1": win.sliding(6, every=2), "q2": win.sliding(8, every=4)})
    assert wheel.slide == 4
    first, second = wheel.edges
    assert (first.at, first.length, first.answered, first.partials) == (2, 2, ("q1",), (3,))
    assert (second.at, second.length, second.answered, second.partials) == (4, 2, ("q1", "q2"), (3, 4))
    assert (wheel.partials, wheel.size) == (2, 4)


@pytest.mark.parametrize("technique", slicing.TECHNIQUES)
def test_the_wheel_turns_as_the_stream_goes(technique):
    for sizes in ([(6, 2), (8, 4)], [(10, 3), (7, 2)], [(5, 5), (9, 6), (4, 3)], [(3, 7, 1), (12, 4)]):
        windows = {f"w{i}": win.sliding(*size) for i, size in enumerate(sizes)}
        wheel = Wheel(windows, technique)
        shared = Aggregator(windows, agg.concat(), slicing=technique, fuse=False)
        stored: dict[int, int] = {}
        append = shared.store.append
        shared.store.append = lambda id, partial: (stored.__setitem__(id, len(partial[0])), append(id, partial))[1]
        start = wheel.slide * (1 + max(w.range for w in windows.values()) // wheel.slide)
        answered: dict[int, list[str]] = {}
        for i in range(start + 2 * wheel.slide + 1):
            for result in shared.row("x"):
                answered.setdefault(i, []).append(result.window)
        for turn in (start, start + wheel.slide):
            for edge in wheel.edges:
                assert sorted(answered.get(turn + edge.at, [])) == sorted(edge.answered)
            cuts = wheel.cuts.between(turn + 1, turn + wheel.slide + 1)
            assert [turn + edge.at for edge in wheel.edges if edge.length] == cuts
        for edge in wheel.edges:
            for name, parts in zip(edge.answered, edge.partials, strict=True):
                begin = edge.at - windows[name].range
                inside = wheel.cuts.between(begin, edge.at)
                assert parts == len(inside), (edge, name)


def test_what_a_plan_costs_is_near_what_it_costs():
    windows = {f"w{i}": win.sliding(600 + 70 * i, every=10 * (i + 1)) for i in range(6)}
    rows = 1500
    for how in ("cutty", "pairs"):
        for store in STORES:
            shared = Aggregator(windows, agg.sum(), slicing=how, store=store, fuse=False)
            for i in range(1200):
                shared.row(i)
            before = shared.counts.store
            for i in range(rows):
                shared.row(i)
            measured = (shared.counts.store - before) / rows
            wheel = Wheel(windows, how)
            expected = wheel.combines(store) / wheel.slide
            assert 0.5 * expected < measured < 1.5 * expected, (how, store, measured, expected)
            assert 0.5 * measured < Rates(windows, how).combines(store) < 3 * measured


def test_a_plan_without_a_wheel_is_described_all_the_same():
    first, last = described({f"w{n}": win.sliding(1000, every=n) for n in (97, 101, 103, 107, 109, 113)})
    assert first == "no composite slide: 97, 101, 103, 107, 109, 113 have no small common multiple"
    assert last.startswith("expected: 0.0573 partials and ")
    assert described({"a": win.sliding("1 minute", "10 seconds")})[0].startswith("composite slide 10 seconds")


def test_what_has_no_wheel_is_refused():
    with pytest.raises(Unsupported, match="not periodic"):
        Wheel({"a": win.punctuated("x")})
    with pytest.raises(Unsupported, match="one measure"):
        Wheel({"a": win.sliding(4, 2), "b": win.sliding("4 seconds", "2 seconds")})
    with pytest.raises(Unsupported, match="floats"):
        Wheel({"a": win.sliding(4.0, 2.0, on="km")})
    with pytest.raises(Unsupported, match="least common multiple"):
        Wheel({f"w{n}": win.sliding(1000, every=n) for n in (97, 101, 103, 107, 109, 113)})
    with pytest.raises(WindrowError, match="slicing is"):
        Wheel({"a": win.sliding(4, 2)}, "rows")
    with pytest.raises(WindrowError, match="store is"):
        Rates({"a": win.sliding(4, 2)}).combines("tree")
