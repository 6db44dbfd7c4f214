"""Alg. 1 against the definitions: all kinds, stores and slicings, several windows at a time."""

from __future__ import annotations

import random

import pytest

import windrow
from tests.sharing.streams import AGGREGATES, expected, ordered, table, windows
from windrow import agg, swag, win
from windrow.errors import LawError, SnapshotError, Unsupported, WindrowError
from windrow.sharing.aggregator import Aggregator
from windrow.sharing.cuts import CUTS
from windrow.sharing.partials import STORES


def fed(shared, rows, *, rnd=None, check=True):
    """All results of a stream, with the invariants looked at after every row."""
    found = []
    for row in rows:
        found += shared.row(row, row["ts"])
        if rnd is not None and rnd.random() < 0.1 and row["ts"] is not None:
            found += shared.advance(row["ts"])
        if check:
            shared.check_invariants()
    found += shared.close()
    shared.check_invariants()
    return ordered(found)


@pytest.mark.parametrize("slicing", CUTS)
@pytest.mark.parametrize("store", STORES)
def test_every_kind_equals_its_definition(store, slicing):
    for seed in range(120):
        rnd = random.Random(seed)
        aggregate = rnd.choice([*AGGREGATES, "concat"])
        ours, theirs = windows(rnd, rnd.randint(1, 4))
        rows, partial = table(rnd, rnd.randint(0, 40)), rnd.random() < 0.5
        options = {"store": store, "slicing": slicing, "fuse": rnd.random() < 0.7, "partial": partial, "timed": True}
        shared = Aggregator(ours, AGGREGATES[aggregate][0], **options)
        assert fed(shared, rows, rnd=rnd) == expected(rows, theirs, aggregate, partial), (seed, ours)
        columns = {w.measure.column for w in ours.values() if w.measure.column}
        gone = sum(any(row[c] is None for c in ("ts", *columns)) for row in rows)
        assert shared.counts.rejected == gone, (seed, ours)
        assert shared.counts.rows == len(rows) - gone


def test_a_snapshot_at_any_point_goes_on_the_same():
    for seed in range(40):
        rnd = random.Random(1000 + seed)
        aggregate, store = rnd.choice(list(AGGREGATES)), rnd.choice(list(STORES))
        ours, theirs = windows(rnd, 3)
        rows = table(rnd, 30)
        shared = Aggregator(ours, AGGREGATES[aggregate][0], store=store, timed=True, slicing=rnd.choice(list(CUTS)))
        found = []
        for row in rows:
            if rnd.random() < 0.3:
                counts = shared.counts
                shared = Aggregator.resume(ours, AGGREGATES[aggregate][0], shared.snapshot())
                assert shared.counts == counts
                shared.check_invariants()
            found += shared.row(row, row["ts"])
        found += shared.close()
        assert ordered(found) == expected(rows, theirs, aggregate, False), (seed, ours)


def test_a_snapshot_of_something_else_is_refused():
    shared = Aggregator({"a": win.sliding(4, 2)}, agg.concat())
    shared.row("x")
    for windows_, aggregate in (({"a": win.sliding(4, 3)}, agg.concat()), ({"a": win.sliding(4, 2)}, agg.sum())):
        with pytest.raises(SnapshotError, match="4 rows every 2 rows"):
            Aggregator.resume(windows_, aggregate, shared.snapshot())
    with pytest.raises(SnapshotError, match="no snapshot of"):
        Aggregator.resume({"a": win.sliding(4, 2)}, agg.concat(), swag.DABA(agg.sum()).snapshot())
    with pytest.raises(SnapshotError, match="damaged"):
        Aggregator.resume({"a": win.sliding(4, 2)}, agg.concat(), shared.snapshot()[:-1] + b"?")


@pytest.mark.parametrize("store", STORES)
def test_a_row_that_raises_has_never_been(store):
    armed = [False]

    def combine(a, b):
        if armed[0] and "!" in a + b and random.Random(a + b).random() < 0.5:
            raise ValueError("no")
        return a + b

    words = windrow.Aggregate(lambda x: x, combine, identity="", name="words")("letter")
    failures = 0
    for seed in range(20):
        rnd = random.Random(seed)
        ours, theirs = windows(rnd, 3)
        rows = table(rnd, 30, nulls=False)
        for row in rows:
            row["letter"] = rnd.choice("abc!")
        shared, found = Aggregator(ours, words, store=store, timed=True), []
        for row in rows:
            armed[0] = True
            before = shared.snapshot()
            try:
                found += shared.row(row, row["ts"])
            except ValueError:
                failures += 1
                armed[0] = False
                shared.check_invariants()
                after = Aggregator.resume(ours, words, before)
                assert after.begins == shared.begins and after.partial == shared.partial
                assert after.discretizer.state() == shared.discretizer.state()
                found += shared.row(row, row["ts"])
            armed[0] = False
            shared.check_invariants()
        found += shared.close()
        assert ordered(found) == expected(rows, theirs, "concat", False), (seed, ours)
    assert failures > 20


def test_never_more_slices_than_open_windows():
    """A long window beside short ones: paper 3 §3.1 says two slices, Alg. 1 as printed stores them all."""
    both = {"long": win.tumbling(200), "short": win.tumbling(1)}
    for store in STORES:
        counts = {}
        for fuse in (True, False):
            shared = Aggregator(both, agg.concat(), store=store, fuse=fuse)
            found = [result for i in range(401) for result in shared.row("abc"[i % 3])]
            counts[fuse] = shared.counts.most
            assert [len(r.answer) for r in found if r.window == "long"] == [200, 200]
        assert counts == {True: 3, False: 201}  # the open slice included, before the ended window's go


def test_rows_in_no_window_cost_nothing():
    for feed in (lambda shared: [shared.row(i) for i in range(1000)], lambda shared: shared.many(range(1000))):
        total = swag.counting(agg.sum())
        shared = Aggregator({"a": win.sliding(2, every=100)}, total)
        feed(shared)
        assert (shared.counts.fill, shared.counts.store, shared.counts.slices) == (10, 0, 0)
        assert total.combines == 10


@pytest.mark.parametrize("store", STORES)
def test_gaps_cost_nothing(store):
    from windrow.windows.base import TIME
    from windrow.windows.kinds import Periodic

    shared = Aggregator({"a": Periodic(10, 1, 0, TIME)}, agg.concat(), store=store)
    found = shared.row("x", 5) + shared.row("y", 10**12) + shared.close()
    assert len(found) == 20
    assert (found[0], found[-1]) == (("a", -4, 6, "x"), ("a", 10**12, 10**12 + 10, "y"))


@pytest.mark.parametrize("slicing", CUTS)
def test_many_rows_at_once_are_the_rows_one_by_one(slicing):
    for seed in range(40):
        rnd = random.Random(seed)
        ours = {f"w{i}": win.sliding(rnd.randint(1, 30), rnd.randint(1, 20), rnd.choice([None, 4])) for i in range(3)}
        if seed % 4 == 0:
            ours["p"] = win.punctuated(lambda row: row == "a")
        rows = [rnd.choice("abcdef") for _ in range(120)]
        one, many = (Aggregator(ours, agg.concat(), slicing=slicing, store=rnd.choice(["fit", "lazy"])) for _ in "12")
        many.store, one.store = type(one.store)(many.of), type(one.store)(one.of)
        found, again, at = [result for row in rows for result in one.row(row)], [], 0
        while at < len(rows):
            size = rnd.randint(1, 50)
            again += many.many(rows[at : at + size])
            many.check_invariants()
            at += size
        assert again == found
        assert many.close() == one.close()
        assert many.counts == one.counts


def test_many_rows_of_which_one_raises():
    words = windrow.Aggregate(lambda x: x.lower(), lambda a, b: a + b, identity="", name="words")
    shared = Aggregator({"w": win.sliding(50, 50)}, words)
    shared.many("abcdefghij")
    with pytest.raises(AttributeError):
        shared.many(["k", "l", 3, "m"])
    assert shared.counts.rows == 12
    shared.check_invariants()
    shared.many("mn" * 30)
    assert shared.counts.rows == 72
    assert shared.discretizer.rows == 72


def test_counts_are_the_calls():
    """fill + append + merge is what `swag.counting` counts."""
    for seed in range(30):
        rnd = random.Random(seed)
        ours, _ = windows(rnd, 3)
        total = swag.counting(agg.concat("letter"))
        shared = Aggregator(ours, total, store=rnd.choice(list(STORES)), slicing=rnd.choice(list(CUTS)), timed=True)
        fed(shared, table(rnd, 40), check=False)
        assert shared.counts.combines == total.combines + shared.counts.kept
        assert shared.counts.fill <= shared.counts.rows


def test_what_cannot_be_done_is_refused():
    with pytest.raises(Unsupported, match="reports with each row"):
        Aggregator({"t": win.trailing(5)}, agg.sum())
    with pytest.raises(WindrowError, match="store is lazy, eager, fit"):
        Aggregator({"t": win.sliding(5, 1)}, agg.sum(), store="tree")
    with pytest.raises(WindrowError, match="slicing is cutty, pairs, panes, rows"):
        Aggregator({"t": win.sliding(5, 1)}, agg.sum(), slicing="cut")
    with pytest.raises(WindrowError, match="at least one"):
        Aggregator({}, agg.sum())
    shared = Aggregator({"t": win.sliding("5 seconds", "1 second")}, agg.sum("x"), strict=True)
    shared.row({"x": 1}, 10)
    with pytest.raises(WindrowError, match="row 1 comes at 9 on time, after 10"):
        shared.row({"x": 1}, 9)
    with pytest.raises(WindrowError, match="no place on time"):
        shared.row({"x": 1}, None)
    with pytest.raises(WindrowError, match="has not the columns x"):
        shared.row({"y": 1}, 10)
    shared.close()
    with pytest.raises(WindrowError, match="closed"):
        shared.row({"x": 1}, 11)
    wrong = Aggregator({"t": win.sliding(5, 1)}, windrow.Aggregate(lambda x: x, lambda a, b: a - b, identity=0))
    wrong.row(0)
    wrong.row(1)
    with pytest.raises(LawError):
        wrong.row(2)


def test_an_overflow_names_the_window():
    shared = Aggregator({"w": win.sliding(2, every=1)}, agg.sum())
    shared.row(2**63 - 1)
    shared.row(1)
    before = shared.snapshot()
    with pytest.raises(OverflowError, match="does not fit") as caught:
        shared.row(5)
    assert caught.value.__notes__ == ["in window w from 0 to 2"]
    assert shared.snapshot() == before


def test_a_user_window_that_ends_too_many_names_the_row():
    class Wrong:
        def discretize(self, row):
            return 1, row["ends"]

    shared = Aggregator({"w": win.user_defined(Wrong)}, agg.sum("ends"))
    shared.row({"ends": 0})
    with pytest.raises(WindrowError, match=r"row 1: .*gave \(1, 2\), but 1 windows are open"):
        shared.row({"ends": 2})
    with pytest.raises(WindrowError, match=r"row 1: .*two ints of 0 or more"):
        shared.row({"ends": -1})
    assert shared.row({"ends": 1})[0].answer == 0
