"""Log MTA (paper 4 §4.1): the paper's figures, the tree's invariants, bulk eviction and the slide policy."""

import math
import random

import numpy as np
import pytest

from tests.swag.test_mta import affine
from windrow import Aggregate, agg
from windrow.swag.counting import counting
from windrow.swag.log_mta import LogMTA

text = Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity="")


def filled(aggregate, rows, **options):
    w = LogMTA(aggregate, **options)
    for row in rows:
        w.insert(row)
    w.check_invariants()
    return w


def level(w, number):
    """A level queue as the paper draws it: pairs, None for ∅."""
    H, T = w._level(number)
    at = {p: w._answer(w.s.vals[w.k.levels.slot(w.s, number, p)]) for p in range(H, T)}
    return [(at.get(2 * i), at.get(2 * i + 1)) for i in range(H >> 1, (T + 1) >> 1)]


def test_figure_1():
    w = filled(agg.sum(), [1, 2, 1, 2, 1, 2])
    assert w.r.h == 3
    assert level(w, 0) == [(1, 2), (1, 2), (1, 2)]
    assert level(w, 1) == [(3, 3), (3, None)]
    assert level(w, 2) == [(6, 3)]
    assert w.query() == 9
    w.evict()
    assert level(w, 0) == [(None, 2), (1, 2), (1, 2)]
    assert level(w, 2) == [(5, 3)]


def test_figure_2():
    """Max of timestamps, total - old >= 4: the arrival of 8 evicts all others in three steps."""
    w = filled(agg.max(), [1, 1, 2, 2, 3, 3, 4, 8])
    asked = []

    def policy(total, old):
        asked.append((total, old))
        return total - old >= 4

    assert w.enforce(policy) == 7
    w.check_invariants()
    assert [old for goes, old in asked if goes - old >= 4] == [2, 3, 4]  # the first of each level, root to leaves
    assert len(w) == 1 and w.query() == 8


def test_running_example():
    """§3.2: the updates that add up to at most 10."""
    w = filled(agg.join(agg.sum(), agg.max(), agg.last()), [2, 2, 3, 3])

    def too_much(total, old):  # the sum from the last update of the old part on
        return total[0] - old[0] + old[2] > 10

    assert w.enforce(too_much) == 0
    assert w.query()[1] == 3
    w.insert(4)
    assert w.enforce(too_much) == 2
    assert w.query() == (10, 4, 4)
    w.insert(11)
    assert w.enforce(too_much) == 4 and len(w) == 0  # even the newest


@pytest.mark.parametrize("seed", range(12))
def test_random(seed):
    rng = random.Random(seed)
    w, rows = LogMTA(text, capacity=4), []
    growth = rng.choice([0.3, 0.5, 0.7])
    for _ in range(400):
        choice = rng.random()
        if choice < growth:
            for _ in range(rng.choice([1, 1, 1, 9])):
                rows.append(chr(97 + rng.randrange(26)))
                w.insert(rows[-1])
        elif choice < growth + 0.2 and rows:
            w.evict()
            del rows[0]
        elif choice < growth + 0.25:
            k = rng.randint(0, len(rows))
            w.evict_many(k)
            del rows[:k]
        else:
            k = min(rng.choice([0, 1, 2, 5, 20, 1000]), len(rows))
            assert w.enforce(lambda total, old: len(old) <= k) == k
            del rows[:k]
        w.check_invariants()
        assert len(w) == len(rows)
        assert (w.query() or "") == "".join(rows)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
def test_every_cut_of_every_phase(n):
    for phase in range(2 * n):
        for k in range(n + 1):
            rows = [chr(97 + i % 26) for i in range(n + phase)]
            w = filled(text, rows[:n])
            for row in rows[n:]:
                w.evict()
                w.insert(row)
            w.evict_many(k)
            w.check_invariants()
            w.insert("!")
            w.check_invariants()
            assert w.query() == "".join(rows[phase + k :]) + "!"


def test_combines_are_logarithmic():
    total = counting(text)
    rng = random.Random(3)
    w = LogMTA(total)
    for _ in range(5000):
        w.insert("x")
    operations = {
        "insert": (lambda: w.insert("x"), 1),
        "evict": (w.evict, 1),
        "evict_many": (lambda: w.evict_many(rng.randint(0, len(w) // 16)), 1),
        "enforce": (lambda: w.enforce(lambda total, old: len(old) < 7), 3),
    }
    for _ in range(2000):
        for operation, c in operations.values():
            if len(w) == 0:
                w.insert_many(["x"] * rng.randrange(1, 3000))
            before, n = total.combines, len(w)
            operation()
            assert total.combines - before <= c * math.log2(n) + 4
    w.check_invariants()


def test_a_straddling_remainder_is_flat():
    """The last of one half and the first of the other: a tree of two, not of 2^14."""
    w = filled(text, "x" * (2**14 + 1))
    w.evict_many(2**14 - 1)
    assert w.r == (1, 2)
    w.check_invariants()


def test_heights_do_not_creep():
    w = LogMTA(affine)
    out = w.slide(np.ones(300_000), 5)
    assert out[-1] == 5.0 and out.sum() == 5 * 300_000 - 10
    w.check_invariants()
    assert w.r.h <= 4 and w.capacity == 16
