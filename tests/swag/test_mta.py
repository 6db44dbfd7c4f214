"""What holds for both Monoid Tree Aggregators: errors, nulls, the compiled form, saved state."""

import numpy as np
import pytest

from windrow import Aggregate, agg
from windrow.swag import AMTA, LogMTA

affine = Aggregate(
    lift=lambda x: (x, 1.0),
    combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
    lower=lambda p: p[1],
    identity=(1.0, 0.0),
)
pytestmark = pytest.mark.parametrize("algorithm", [LogMTA, AMTA])


def horner(xs):
    value = 0.0
    for x in xs:
        value = value * x + 1.0
    return value


def filled(algorithm, aggregate, rows):
    w = algorithm(aggregate)
    for row in rows:
        w.insert(row)
    w.check_invariants()
    return w


def test_errors_leave_the_window(algorithm):
    def combine(a, b):
        if "!" in a + b:
            raise ArithmeticError("no")
        return a + b

    w = filled(algorithm, Aggregate(lift=lambda x: x, combine=combine, identity=""), "abcdefg")
    w.evict()
    with pytest.raises(ArithmeticError):
        w.insert("!")
    with pytest.raises(ZeroDivisionError):
        w.enforce(lambda total, old: 1 / 0)
    for k in (-1, 7):
        with pytest.raises(IndexError):
            w.evict_many(k)
    w.check_invariants()
    assert w.query() == "bcdefg"
    w.evict_many(6)
    assert w.enforce(lambda total, old: True) == 0
    with pytest.raises(IndexError):
        w.evict()


def test_nulls_are_rows(algorithm):
    w = filled(algorithm, agg.sum(), [None, 1, None, None, 2])
    assert w.query() == 3 and len(w) == 5
    w.evict_many(2)
    w.check_invariants()
    assert w.query() == 2
    w.evict_many(3)
    assert w.query() is None


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 100])
def test_compiled_by_rows(algorithm, n):
    xs = np.random.default_rng(n).choice([-1.0, 1.0, 2.0], 300)
    w = algorithm(affine)
    got = np.concatenate([w.slide(xs[:130], n), w.slide(xs[130:], n)])
    w.check_invariants()
    assert got.tolist() == [horner(xs[max(0, i + 1 - n) : i + 1]) for i in range(len(xs))]


def test_compiled_by_time_then_by_hand(algorithm):
    rng = np.random.default_rng(5)
    xs = rng.choice([-1.0, 1.0, 2.0], 2000)
    times = np.cumsum(rng.choice([0, 1, 2, 40, 300], 2000, p=[0.3, 0.4, 0.2, 0.07, 0.03]))
    w = algorithm(affine, capacity=4)
    got = w.slide(xs, 50, times=times)
    for i in range(len(xs)):
        within = (times > times[i] - 50) & (times <= times[i])
        assert got[i] == horner(xs[within])
    w.check_invariants()
    rest = list(xs[times > times[-1] - 50])
    assert len(w) == len(rest)
    w.insert(2.0)
    w.evict_many(1)
    w.check_invariants()
    assert w.query() == horner([*rest, 2.0][1:])


@pytest.mark.parametrize("compiled", [False, True])
def test_state_goes_on(algorithm, compiled):
    """What a snapshot holds is all there is, and growth keeps it, whatever form it has."""
    w, xs = algorithm(affine, capacity=4), [2.0, -1.0, 1.0] * 9
    w.slide(np.array(xs), 11)
    if not compiled:
        w._become(None)
    v = algorithm(affine)
    v._set_state(*w._state())
    v._grow(64)
    v.check_invariants()
    v.insert(2.0)
    v.evict_many(4)
    v.check_invariants()
    assert v.query() == horner([*xs[-7:], 2.0])
