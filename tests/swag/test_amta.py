"""Amortized MTA (paper 4 §4.2): the paper's figures, its invariants, and its counts of combines."""

import math
import random

import numpy as np
import pytest

from tests.swag.test_mta import affine
from windrow import Aggregate, agg
from windrow.swag.amta import AMTA
from windrow.swag.counting import counting

text = Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity="")


def filled(aggregate, rows, **options):
    w = AMTA(aggregate, **options)
    for row in rows:
        w.insert(row)
    w.check_invariants()
    return w


def level(w, number):
    """A level queue as the paper draws it: pairs, None for ∅."""
    H, T = w._level(number)
    at = {p: w._answer(w.s.vals[w.k.levels.slot(w.s, number, p)]) for p in range(H, T)}
    return [(at.get(2 * i), at.get(2 * i + 1)) for i in range(H >> 1, (T + 1) >> 1)]


def pair_and_stack(w):
    """R0, R1 and the Stack from its top."""
    return w._answer(w.r.R0), w._answer(w.r.R1), [w._answer(v) for v in w.s.aggs[: w.r.S]][::-1]


def test_figure_4():
    w = filled(agg.sum(), [1, 2, 1, 2, 1, 2])
    assert level(w, 0) == [(1, 2), (1, 2), (1, 2)]
    assert level(w, 1) == [(3, 3)]
    assert pair_and_stack(w) == (6, 3, [5, 3])
    w.insert(1)
    assert pair_and_stack(w) == (6, 4, [5, 3])
    w.evict()
    w.check_invariants()
    assert pair_and_stack(w) == (5, 4, [3])
    assert w.query() == 9


def test_figure_5():
    w = filled(agg.sum(), [1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    assert w.query() == 15
    assert pair_and_stack(w) == (7, 8, [6, 3])
    w.evict()
    assert pair_and_stack(w) == (6, 8, [3])
    assert w.query() == 14
    assert level(w, 0)[0] == (None, 3)
    w.evict()  # the head pair goes, its parent becomes ∅, and <2, 1> gives the Stack 1 ⊕ ∅
    assert level(w, 0)[0] == (2, 1)
    assert level(w, 1)[0][0] is None
    assert pair_and_stack(w) == (3, 8, [1])
    assert w.query() == 11
    w.check_invariants()
    w.evict_many(2)  # the leftmost tree is gone: the next one takes its place
    w.check_invariants()
    assert w.query() == 8


def test_figure_2():
    w = filled(agg.max(), [1, 1, 2, 2, 3, 3, 4, 8])
    assert w.enforce(lambda total, old: total - old >= 4) == 7
    w.check_invariants()
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
    assert w.enforce(too_much) == 4 and len(w) == 0


@pytest.mark.parametrize("seed", range(16))
def test_random(seed):
    rng = random.Random(seed)
    w, rows = AMTA(text, capacity=4), []
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
    """Bulk evictions by number and by policy after single ones, which leave the left branch stale."""
    for phase in range(2 * n):
        for k in range(n + 1):
            rows = [chr(97 + i % 26) for i in range(n + phase)]
            w, v = filled(text, rows[:n]), filled(text, rows[:n])
            for row in rows[n:]:
                for window in (w, v):
                    window.evict()
                    window.insert(row)
            w.evict_many(k)
            assert v.enforce(lambda total, old: len(old) <= k) == k
            for window in (w, v):
                window.check_invariants()
                window.insert("!")
                window.check_invariants()
                assert window.query() == "".join(rows[phase + k :]) + "!"


def average(total, steps):
    before, count = total.combines, 0
    for step in steps:
        step()
        count += 1
    return (total.combines - before) / count


def test_single_operations_are_amortised_constant():
    total = counting(text)
    for n in (1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 1024):  # a window of constant size
        w = AMTA(total)
        w.insert_many(["x"] * n)
        steps = (f for _ in range(4000) for f in (lambda: w.insert("x"), w.evict))
        assert average(total, steps) <= 3, n
    w = AMTA(total)
    assert average(total, ((lambda: w.insert("x")) for _ in range(5000))) <= 3
    assert average(total, (w.evict for _ in range(5000))) <= 3

    def to_and_fro(low, high):
        """Where levels come and go most often: around a power of two."""
        while len(w) < low:
            w.insert("x")
        for _ in range(40):
            for _ in range(high - low):
                yield lambda: w.insert("x")
            for _ in range(high - low):
                yield w.evict

    for low, high in ((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (15, 17), (16, 17), (255, 258), (0, 65), (31, 129)):
        w = AMTA(total)
        assert average(total, to_and_fro(low, high)) <= 6, (low, high)

    rng = random.Random(1)
    w = AMTA(total)
    walk = ((lambda: w.insert("x")) if rng.random() < 0.5 or not len(w) else w.evict for _ in range(20000))
    assert average(total, walk) <= 6


def test_bulk_evictions_are_logarithmic():
    total = counting(text)
    rng = random.Random(2)
    w = AMTA(total)
    for _ in range(600):
        if len(w) < 50:
            w.insert_many(["x"] * rng.randrange(100, 3000))
        w.evict_many(rng.randrange(min(len(w), 20)))
        n = max(len(w), 2)
        k = rng.choice([rng.randrange(10), len(w) // 2, rng.randint(0, len(w))])
        before = total.combines
        if rng.random() < 0.5:
            w.evict_many(k)
            assert total.combines - before <= 3 * math.log2(n) + 4
        else:
            assert w.enforce(lambda total, old: len(old) <= k) == k
            assert total.combines - before <= 10 * math.log2(n) + 10
        w.insert("x")
    w.check_invariants()


def test_heights_and_rings_do_not_creep():
    for n in (1, 5, 64):
        w = AMTA(affine, capacity=64)
        out = w.slide(np.ones(1_000_000), n)
        assert out[-1] == n and out.sum() == n * 1_000_000 - n * (n - 1) / 2
        w.check_invariants()
        assert w.r.h <= n.bit_length() + 1 and w.capacity == 64


def test_a_policy_that_raises_half_way_leaves_the_window():
    asked = []

    def policy(total, old):
        asked.append(old)
        return len(asked) < 3 or 1 / 0

    w = filled(text, "abcdefg")
    with pytest.raises(ZeroDivisionError):
        w.enforce(policy)
    w.check_invariants()
    assert w.query() == "abcdefg"
