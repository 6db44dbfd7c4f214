"""Paper 2 §9: chains of DABAs, a tree beside DABA, one DABA a source."""

from __future__ import annotations

import random

import pytest

import windrow
from windrow import agg, swag
from windrow.errors import SnapshotError, Unsupported, WindrowError
from windrow.sharing.chain import Chain
from windrow.sharing.disorder import Disordered, Sources


def fragile(armed):
    """Concatenation that sometimes refuses."""

    def combine(a, b):
        if armed[0] and "!" in a + b and random.Random(a + b).random() < 0.3:
            raise ValueError("no")
        return a + b

    return windrow.Aggregate(lambda x: x, combine, identity="", name="fragile")


@pytest.mark.parametrize("sizes", [[1], [3], [1, 2, 3], [2, 5, 11, 30], [7, 64]])
def test_a_chain_holds_each_of_its_windows(sizes):
    chain, rows = Chain(agg.concat(), sizes), ""
    for i in range(100):
        rows += "abcdefg"[i % 7]
        chain.insert(rows[-1])
        chain.check_invariants()
        assert chain.answers() == {size: rows[-size:] for size in sizes}
        assert chain.query(sizes[-1]) == rows[-sizes[-1] :]
        assert len(chain) == min(i + 1, sizes[-1])


def test_a_chain_by_time():
    rnd = random.Random(1)
    sizes = [3, 10, 40]
    for _ in range(20):
        chain, rows, now = Chain(agg.concat(), sizes, timed=True), [], rnd.randint(-50, 0)
        for _ in range(60):
            now += rnd.choice([0, 0, 1, 2, 15])
            if rnd.random() < 0.2:
                chain.advance(now)
            else:
                rows.append((now, rnd.choice("abc")))
                chain.insert(rows[-1][1], time=now)
            chain.check_invariants()
            for size in sizes:
                assert chain.query(size) == ("".join(x for t, x in rows if now - t < size) or None)
            if rnd.random() < 0.1:
                chain = Chain.resume(agg.concat(), chain.snapshot())


def test_a_chain_costs_a_constant_number_of_combines():
    """A DABA's 3 an insert and 2 an evict for each size (Theorem 9), whatever the sizes; each row kept once."""
    sizes = [10, 100, 1000]
    total = swag.counting(agg.sum())
    chain = Chain(total, sizes)
    worst = 0
    for i in range(3000):
        before = total.combines
        chain.insert(i)
        worst = max(worst, total.combines - before)
    assert worst <= 5 * len(sizes)
    before = total.combines
    assert chain.answers() == {n: sum(range(3000 - n, 3000)) for n in sizes}
    assert total.combines - before <= 2 * len(sizes) - 1


def test_a_chain_in_which_a_combine_raises_is_as_it_was():
    armed = [False]
    failures = 0
    for seed in range(10):
        rnd = random.Random(seed)
        timed = seed % 2 == 1
        chain, rows, now = Chain(fragile(armed), [2, 5, 9], timed=timed), [], 0
        for _ in range(60):
            now, letter = now + rnd.choice([0, 1, 4]), rnd.choice("ab!")
            armed[0] = True
            try:
                chain.insert(letter, **({"time": now} if timed else {}))
            except ValueError:
                failures += 1
                armed[0] = False
                chain.check_invariants()
                chain.insert(letter, **({"time": now} if timed else {}))
            armed[0] = False
            rows.append((now, letter))
            chain.check_invariants()
            for size in (2, 5, 9):
                inside = [x for t, x in rows if now - t < size] if timed else [x for _, x in rows[-size:]]
                assert chain.query(size) == ("".join(inside) or "")
    assert failures > 10


def test_a_chain_refuses_what_makes_no_sense():
    for sizes in ([], [0, 1], [-1]):
        with pytest.raises(WindrowError, match="above 0"):
            Chain(agg.sum(), sizes)
    chain = Chain(agg.sum(), [2, 3])
    with pytest.raises(WindrowError, match="sizes are 2, 3"):
        chain.query(4)
    with pytest.raises(WindrowError, match="timed"):
        chain.insert(1, time=3)
    with pytest.raises(WindrowError, match="timed"):
        chain.advance(3)
    timed = Chain(agg.sum(), [2, 3], timed=True)
    timed.insert(1, time=5)
    with pytest.raises(WindrowError, match="back from 5 to 4"):
        timed.insert(1, time=4)
    with pytest.raises(SnapshotError, match="no snapshot of a chain"):
        Chain.resume(agg.sum(), swag.DABA(agg.sum()).snapshot())


def test_rows_out_of_order_within_the_lateness():
    armed, failures = [False], 0
    words = fragile(armed)
    for seed in range(15):
        rnd = random.Random(seed)
        lateness = rnd.choice([0, 3, 10])
        w, rows, newest, dropped = Disordered(words, lateness), [], 0, -(10**9)
        late = 0
        for i in range(80):
            time = newest + rnd.choice([-12, -4, -2, -1, 0, 0, 1, 2, 6])
            letter = rnd.choice("abc!")
            in_time = not rows or time >= newest - lateness
            armed[0] = True
            try:
                taken = w.insert(time, letter)
            except ValueError:
                failures += 1
                armed[0] = False
                w.check_invariants()
                taken = w.insert(time, letter)
            armed[0] = False
            assert taken == in_time
            late += not in_time
            if in_time:
                newest = max(newest, time) if rows else time
                rows.append((time, i, letter))
            if rnd.random() < 0.1:
                dropped = max(dropped, newest - rnd.randint(0, 20))
                w.evict_before(dropped)
            if rnd.random() < 0.05:
                w = Disordered.resume(words, w.snapshot())
            w.check_invariants()
            inside = [x for t, _, x in sorted(rows) if t >= dropped]
            assert (w.query() or "") == "".join(inside)
            assert len(w) == len(inside)
        assert w.late == late
    assert failures > 8


def test_most_of_a_long_window_lies_in_daba():
    w = Disordered(agg.sum(), lateness=10)
    for time in range(1000):
        w.insert(time, 1)
    assert (len(w.old), len(w.young), w.query()) == (989, 11, 1000)
    assert w.evict_before(995) == 995
    assert (len(w.old), w.query()) == (0, 5)
    assert w.insert(990, 1)  # in time, and before what was dropped
    assert w.query() == 5
    with pytest.raises(WindrowError, match="lateness is 0 or more"):
        Disordered(agg.sum(), -1)
    with pytest.raises(SnapshotError, match="disordered"):
        Disordered.resume(agg.sum(), swag.DABA(agg.sum()).snapshot())


def test_sources_that_drift_apart():
    for seed in range(8):
        rnd = random.Random(seed)
        make = rnd.choice([agg.sum, agg.max, agg.count_distinct])
        w, rows, drift = Sources(make()), {}, {}
        for _ in range(150):
            source = rnd.choice("abcdefghijk")
            drift[source] = drift.get(source, rnd.choice([0, 10**6])) + rnd.randint(0, 3)
            value = rnd.randint(0, 9)
            w.insert(source, value, time=drift[source])
            rows.setdefault(source, []).append((drift[source], value))
            if rnd.random() < 0.2:
                old = rnd.choice([source for source, own in rows.items() if own])
                w.evict(old)
                rows[old].pop(0)
            if rnd.random() < 0.05:
                when = rnd.choice([50, 100, 10**6 + 50])
                gone = sum(t < when for own in rows.values() for t, _ in own)
                assert w.evict_before(when) == gone
                rows = {source: [(t, x) for t, x in own if t >= when] for source, own in rows.items()}
            if rnd.random() < 0.05:
                w = Sources.resume(make(), w.snapshot())
            if rnd.random() < 0.5:
                values = [x for own in rows.values() for _, x in own]
                naive = swag.Recalculate(make())
                naive.insert_many(values)
                assert w.query() == naive.query()
            if rnd.random() < 0.2:
                w.check_invariants()
        assert len(w) == sum(map(len, rows.values()))


def test_sources_update_only_what_has_changed():
    total = swag.counting(agg.sum())
    w = Sources(total)
    for source in range(64):
        w.insert(source, 1)
    w.query()
    before = total.combines
    w.insert(7, 1)
    assert w.query() == 65
    assert total.combines - before <= 6 + 4  # a path of the tree, and DABA's own


def test_sources_refuse_what_makes_no_sense():
    with pytest.raises(Unsupported, match="concat is not commutative"):
        Sources(agg.concat())
    w = Sources(agg.sum())
    w.insert("a", 1, time=5)
    with pytest.raises(WindrowError, match="'a': time goes back from 5 to 4"):
        w.insert("a", 1, time=4)
    with pytest.raises(WindrowError, match="with times, or without"):
        w.insert("a", 1)
    with pytest.raises(IndexError, match="'b'"):
        w.evict("b")
    with pytest.raises(SnapshotError, match="sources"):
        Sources.resume(agg.sum(), swag.DABA(agg.sum()).snapshot())
