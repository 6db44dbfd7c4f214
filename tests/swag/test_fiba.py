"""FiBA: rows in any order, in bulk and one by one, against a sorted list; its counts of combines."""

import math
import random
from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from windrow import Aggregate, agg
from windrow.errors import LawError
from windrow.swag.counting import counting
from windrow.swag.fiba import FiBA

text = Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity="")


class Oracle:
    """A sorted list."""

    def __init__(self):
        self.times, self.rows = [], []

    def insert(self, time, row):
        at = bisect_right(self.times, time)
        self.times.insert(at, time)
        self.rows.insert(at, row)

    def evict(self, k):
        del self.times[:k], self.rows[:k]


def same(w, oracle):
    w.check_invariants()
    assert len(w) == len(oracle.rows)
    assert (w.query() or "") == "".join(oracle.rows)
    assert (w.oldest, w.newest) == ((oracle.times[0], oracle.times[-1]) if oracle.times else (None, None))


@pytest.mark.parametrize("mu", [2, 3, 4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_random(mu, seed):
    rng = random.Random(100 * mu + seed)
    w, oracle = FiBA(text, mu=mu), Oracle()
    growth, spread = rng.choice([0.4, 0.5, 0.6]), rng.choice([10, 100, 10_000])
    for step in range(250):
        choice = rng.random()
        letter = chr(97 + rng.randrange(26))
        if choice < growth:
            time = step + rng.randrange(spread)
            w.insert(letter, time=time)
            oracle.insert(time, letter)
        elif choice < growth + 0.15:
            m = rng.choice([0, 1, 3, 20, 150])
            times = [step + rng.randrange(rng.choice([3, spread])) for _ in range(m)]
            rows = [chr(97 + rng.randrange(26)) for _ in range(m)]
            w.insert_many(rows, times=times)
            for time, row in zip(times, rows, strict=True):
                oracle.insert(time, row)
        elif choice < growth + 0.25:
            if oracle.rows:
                w.evict()
                oracle.evict(1)
        elif choice < growth + 0.3:
            k = rng.choice([rng.randint(0, len(oracle.rows)), min(2, len(oracle.rows))])
            w.evict_many(k)
            oracle.evict(k)
        elif choice < growth + 0.35:
            time, inclusive = step + rng.randrange(max(spread // 4, 1)), rng.random() < 0.5
            k = (bisect_right if inclusive else bisect_left)(oracle.times, time)
            assert w.evict_to(time, inclusive=inclusive) == k
            oracle.evict(k)
        else:
            a, z = (step + rng.randrange(-5, spread) for _ in range(2))
            within = oracle.rows[bisect_left(oracle.times, a) : bisect_left(oracle.times, z)]
            assert (w.query_range(a, z) or "") == "".join(within)
        same(w, oracle)


@pytest.mark.parametrize("mu", [2, 4])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 40, 130])
def test_every_cut(mu, n):
    letters = [chr(97 + i % 26) for i in range(n)]
    order = random.Random(n).sample(range(n), n)
    for k in range(n + 1):
        for bulk in (False, True):
            w, oracle = FiBA(text, mu=mu), Oracle()
            if bulk:
                w.insert_many([letters[i] for i in order], times=order)
            else:
                for i in order:
                    w.insert(letters[i], time=i)
            for i in range(n):
                oracle.insert(i, letters[i])
            w.evict_to(k)
            oracle.evict(k)
            same(w, oracle)


def test_order_of_equal_times():
    w = FiBA(text, mu=2)
    for i in range(30):
        w.insert(chr(97 + i % 26), time=5)
    w.insert("<", time=4)
    w.insert_many(["!", "?"], times=[5, 5])
    w.insert(">", time=6)
    w.check_invariants()
    assert w.query() == "<" + "".join(chr(97 + i % 26) for i in range(30)) + "!?>"
    assert w.evict_to(5) == 1
    assert w.evict_to(5, inclusive=True) == 32
    assert w.query() == ">"


def test_without_times_rows_are_numbered():
    w = FiBA(text)
    w.insert("a")
    w.insert_many(["b", "c"])
    assert (w.oldest, w.newest) == (0, 2)
    assert w.query_range(1, 2) == "b"
    w = FiBA(text)
    w.insert("a", time=0.5)
    w.insert("b")
    assert w.newest == 0.5 and w.query() == "ab"


def test_in_order_is_amortised_constant():
    for mu, most in ((2, 8), (4, 8), (8, 12)):
        total = counting(text)
        for n in (1, 10, 1000):
            w = FiBA(total, mu=mu)
            w.insert_many(["x"] * n)
            before = total.combines
            for _ in range(5000):
                w.insert("x")
                w.evict()
            assert (total.combines - before) / 10_000 <= most, (mu, n)


@pytest.mark.parametrize("end", ["newest", "oldest"])
def test_out_of_order_costs_the_logarithm_of_the_distance(end):
    total = counting(text)
    n = 20_000
    w = FiBA(total)
    w.insert_many(["x"] * n, times=[10 * i for i in range(n)])
    for d in (1, 2, 4, 16, 64, 256, 1024, 4096, 9999):
        costs = []
        for i in range(40):
            at = n - d - 7 * i if end == "newest" else d + 7 * i
            before = total.combines
            w.insert("x", time=10 * max(at, 0) + 5)
            costs.append(total.combines - before)
        assert sum(costs) / len(costs) <= 12 * math.log2(d + 280) + 12, d
    costs = []
    for _ in range(200):  # always the same small distance, whatever the size of the window
        before = total.combines
        w.insert("x", time=10 * (n - 10))
        costs.append(total.combines - before)
        w.evict()
    assert sum(costs) / len(costs) <= 40
    w.check_invariants()


def test_bulk_eviction_is_logarithmic():
    total = counting(text)
    rng = random.Random(7)
    w = FiBA(total)
    for _ in range(60):
        if len(w) < 20_000:
            w.insert_many(["x"] * 30_000)
        k = rng.choice([2, 30, 400, 5000, rng.randrange(len(w))])
        before = total.combines
        w.evict_many(k)
        assert total.combines - before <= 16 * math.log2(k + 2) + 40, k
    w.check_invariants()


def test_bulk_insertion_is_cheaper_than_one_by_one():
    total = counting(text)
    costs = []
    for bulk in (True, False):
        w = FiBA(total)
        w.insert_many(["x"] * 20_000, times=range(0, 40_000, 2))
        times = range(10_001, 30_001, 2)
        before = total.combines
        if bulk:
            w.insert_many(["y"] * len(times), times=times)
        else:
            for time in times:
                w.insert("y", time=time)
        costs.append(total.combines - before)
        w.check_invariants()
        assert w.query_range(10_000, 10_004) == "xyxy"
    assert costs[0] * 5 < costs[1]


def test_errors_leave_the_tree():
    fuse = [math.inf]

    def combine(a, b):
        fuse[0] -= 1
        if fuse[0] < 0:
            raise ArithmeticError("no")
        return a + b

    rng = random.Random(11)
    w, oracle = FiBA(Aggregate(lift=lambda x: x, combine=combine, identity=""), mu=2), Oracle()
    failed = 0
    for step in range(600):
        time, letter, k = step + rng.randrange(60), chr(97 + step % 26), rng.randrange(len(oracle.rows) // 3 + 1)
        run = [(step + rng.randrange(60), chr(65 + rng.randrange(26))) for _ in range(rng.randrange(12))]
        for attempt in (rng.randrange(12), math.inf):
            fuse[0] = attempt
            try:
                if step % 4 < 2:
                    w.insert(letter, time=time)
                elif step % 4 == 2:
                    w.insert_many([row for _, row in run], times=[time for time, _ in run])
                else:
                    w.evict_many(k)
                break
            except ArithmeticError:
                failed += 1
                fuse[0] = math.inf
                same(w, oracle)
        if step % 4 < 2:
            oracle.insert(time, letter)
        elif step % 4 == 2:
            for when, row in run:
                oracle.insert(when, row)
        else:
            oracle.evict(k)
        fuse[0] = math.inf
        same(w, oracle)
    assert failed > 100


def test_refusals():
    w = FiBA(text)
    with pytest.raises(IndexError):
        w.evict()
    w.insert("a", time=1)
    for bad in (None, float("nan")):
        with pytest.raises(ValueError, match="no time"):
            w.insert_many(["b"], times=[bad])
    with pytest.raises(ValueError, match="1 rows, but 2 times"):
        w.insert_many(["b"], times=[1, 2])
    with pytest.raises(TypeError):
        w.insert("b", time="noon")
    with pytest.raises(IndexError):
        w.evict_many(2)
    with pytest.raises(ValueError, match="mu"):
        FiBA(text, mu=1)
    assert w.query() == "a"
    w.check_invariants()


def test_slide():
    w = FiBA(text)
    assert w.slide(list("abcdef"), 3).tolist() == ["a", "ab", "abc", "bcd", "cde", "def"]
    assert w.slide(list("gh"), 3).tolist() == ["efg", "fgh"]
    w.check_invariants()
    xs = np.arange(200)
    times = np.cumsum(np.random.default_rng(1).choice([0, 1, 5, 60], 200))
    got = FiBA(agg.sum()).slide(xs, 50, times=times)
    assert got.tolist() == [xs[(times > t - 50) & (times <= t)].sum() for t in times]


def test_a_slide_that_fails_leaves_the_window():
    def combine(a, b):
        if b == "!":
            raise ArithmeticError("no")
        return a + b

    w = FiBA(Aggregate(lift=lambda x: x, combine=combine, identity=""))
    w.slide(list("abc"), 2)
    with pytest.raises(ArithmeticError):
        w.slide(list("de!"), 2)
    w.check_invariants()
    assert w.query() == "bc"


def test_snapshot():
    w = FiBA(agg.sum(), mu=3)
    rng = random.Random(5)
    for _ in range(300):
        w.insert(rng.choice([rng.random(), None]), time=rng.randrange(1000))
    for rows in (0, 30, 270):
        w.evict_many(rows)
        v = FiBA(w.of)
        v._set_state(*w._state())
        v.check_invariants()
        assert v.query() == w.query() and len(v) == len(w) and v.newest == w.newest
        v.insert(1.0, time=500)
        v.check_invariants()


def test_a_broken_law_is_refused():
    minus = Aggregate(lift=lambda x: x, combine=lambda a, b: a - b, identity=0)
    for insert in (lambda w: w.insert_many([5, 3, 1]), lambda w: [w.insert(x) for x in (5, 3, 1)]):
        with pytest.raises(LawError):
            insert(FiBA(minus))
