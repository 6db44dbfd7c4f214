"""Slide policies and several dimensions in one window, in memory and over a store."""

import random

import numpy as np
import pytest

from tests.swag.stored.windows import small
from windrow import agg
from windrow.engine import batch, policy_state
from windrow.swag import AMTA, mta_batch, policies


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Policies compile from the first row on."""
    monkeypatch.setattr(policy_state, "COMPILE_AFTER", 0)


@pytest.mark.parametrize("where", [pytest.param("memory", marks=pytest.mark.slow), "store"])
def test_the_papers_policies(where):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 6, 250).astype(np.float64)
    times = np.cumsum(rng.choice([0, 1, 3, 40], 250))

    def window(aggregate):
        return AMTA(aggregate) if where == "memory" else small(AMTA, aggregate)

    def check(aggregate, policy, columns, keep, view, compiled=False):
        """Compiled, and by hand, against rows that are kept by definition."""
        w, hand, rows = window(aggregate), window(aggregate), []
        got = w.slide_policy(columns, policy) if compiled else None
        assert w.form.compiled == compiled
        w.check_invariants()
        for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            rows = keep([*rows, row])
            hand.insert(*row)
            hand.enforce(policy)
            assert len(hand) == len(rows)
            if i % 40 == 0:
                hand.check_invariants()
            if rows and compiled:
                assert tuple(part[i] for part in got) == view(hand.query())
        assert not compiled or len(w) == len(rows)

    count = agg.count()
    check(
        agg.join(rows=count, peak=agg.max()),
        policies.at_most(37),
        (values,),
        lambda rows: rows[-37:],
        tuple,
        where == "store",
    )
    check(
        agg.join(newest=agg.max("ts"), sum=agg.sum("x")),
        policies.within(60),
        (times, values),
        lambda rows: [row for row in rows if rows[-1][0] - row[0] < 60],
        tuple,
    )

    def add_up(rows):
        while sum(row[0] for row in rows) > 10:
            rows = rows[1:]
        return rows

    check(agg.join(sum=agg.sum(), last=agg.last()), policies.sum_at_most(10), (values,), add_up, tuple)

    def from_maximum(rows):
        return rows[max(range(len(rows)), key=lambda i: (rows[i][0], -i)) :]

    check(agg.join(peak=agg.max()), policies.from_the_maximum(), (values,), from_maximum, tuple, where == "memory")


def run_start(rows):
    best, begin, start = 0, 0, 0
    for i in range(len(rows)):
        if i and not rows[i - 1] < rows[i]:
            start = i
        if i + 1 - start > best:
            best, begin = i + 1 - start, start
    return begin, best


@pytest.mark.parametrize("where", ["memory", "store"])
def test_the_longest_run(where):
    rng, rows = random.Random(6), []
    w = AMTA(policies.longest_run()) if where == "memory" else small(AMTA, policies.longest_run())
    for _ in range(900):
        rows.append(float(rng.randrange(50)))
        w.insert(rows[-1])
        begin, best = run_start(rows)
        assert w.query() == (len(rows), begin, best)
        if rng.random() < 0.3:
            assert w.enforce(policies.from_the_longest_run()) == begin
            del rows[:begin]


def test_a_bulk_eviction_in_a_compiled_policy():
    """Every 500 rows all but a few go at once, which takes more than log n single evictions."""
    values = np.arange(3000.0)

    def policy(total, old):
        return total[0] % 500 == 0 and old[0] <= total[0] - 3

    for w in (small(AMTA, agg.join(agg.max(), agg.count())),):
        peak, count = w.slide_policy(values, policy)
        assert w.form.compiled and peak.tolist() == values.tolist()
        assert count[499] == 500
        assert count[500] == 3 and count[501] == 4 and count[2999] == 502 and len(w) == 502
        w.check_invariants()


def test_policies_that_only_python_can_run():
    w = small(AMTA, agg.join(agg.max(), agg.count()))
    seen = {}
    got = w.slide_policy(
        np.arange(50.0), lambda total, old: seen.setdefault("n", str(total)) is None or old[1] < total[1] - 4
    )
    assert [part[-1] for part in got] == [49.0, 5] and "n" in seen  # as where it compiles
    with pytest.raises(ZeroDivisionError):
        w.slide_policy(np.arange(9.0), lambda total, old: str(1 / 0))
    assert w.query() == (49.0, 5)


def test_a_compiled_policy_raises_as_in_python():
    w = small(AMTA, agg.join(agg.max(), agg.count()))
    policy = lambda total, old: 1 // (total[1] - 5) > 100
    w.slide_policy(np.arange(3.0), policy)
    assert w.form.compiled
    with pytest.raises(ZeroDivisionError):
        w.slide_policy(np.arange(9.0), policy)
    assert w.query() == (2.0, 3)


def test_an_int_beyond_64_bits_in_a_policy_is_none_for_python():
    for rows in (3, 9):  # one that fits; one at which compiled code raises, and the rows go through in Python instead
        w = small(AMTA, agg.join(agg.max(), agg.count()))
        _, count = w.slide_policy(np.arange(rows * 1.0), lambda total, old: total[1] * 2**61 < 0)
        assert count.tolist() == list(range(1, rows + 1))


def test_few_rows_are_not_worth_compiling(monkeypatch):
    monkeypatch.setattr(policy_state, "COMPILE_AFTER", 1000)

    def compiled(*_):
        raise AssertionError("compiled")

    monkeypatch.setattr(mta_batch, "rows_by_policy", compiled)
    for columns in (np.arange(50), np.arange(50.0), np.arange(50) % 2 == 0):
        for make in (lambda: AMTA(agg.join(top=agg.max(), n=agg.count())), lambda: AMTA(agg.count())):
            w = make()
            got = w.slide_policy(columns, lambda total, old: np.atleast_1d(total)[-1] - np.atleast_1d(old)[-1] >= 7)
            count = got[-1] if isinstance(got, tuple) else got
            assert count.dtype == np.int64 and count[-1] == 7
    w = AMTA(agg.join(top=agg.max(), n=agg.count()))
    top, n = w.slide_policy(np.arange(5), lambda total, old: True)  # nothing is left
    assert top.mask.all() and n.tolist() == [0] * 5


def test_a_bounded_number_of_policies_is_kept(monkeypatch):
    """By what they compute: the same code over the same values is the same policy."""
    made = []
    monkeypatch.setattr(mta_batch, "_asked", lambda *_: None)
    monkeypatch.setattr(mta_batch, "rows_by_policy", lambda *_: made.append(1))
    monkeypatch.setattr(mta_batch, "cached_now", lambda loop: unused)

    def unused(*_):
        raise ValueError("Python does it")

    values = np.arange(10.0)

    def slid(size):
        w = AMTA(agg.join(rows=agg.count(), peak=agg.max()))
        form = batch.chosen_form(w.state, batch.read_columns(values))
        w.slide_policy(values, policies.at_most(size))
        return form.memo[type(w), "policies"]

    for size in range(100):
        assert len(slid(size + 2)) <= policy_state.LOOPS
    assert len(made) == 100
    for _ in range(3):
        slid(50_000)
    assert len(made) == 101


def test_what_comes_back_does_not_depend_on_what_was_there(monkeypatch):
    """The first call and the next, few rows and many, nulls or none: arrays, one for each aggregate."""
    for after in (0, 10**9):
        monkeypatch.setattr(policy_state, "COMPILE_AFTER", after)
        w = AMTA(agg.join(rows=agg.count(), peak=agg.max()))
        found = [w.slide_policy(np.arange(3.0), policies.at_most(2)), w.slide_policy([7.0], policies.at_most(2))]
        nulls = np.ma.masked_array(np.arange(3.0), [True, True, False])
        found += [w.slide_policy(nulls, policies.at_most(2)), w.slide_policy([1.0], policies.at_most(2))]
        assert [[part.tolist() for part in parts] for parts in found] == [
            [[1, 2, 2], [0.0, 1.0, 2.0]], [[2], [7.0]], [[2, 2, 2], [7.0, 7.0, 7.0]], [[2], [2.0]]
        ]  # fmt: skip
        assert all(part.dtype.kind in "if" for parts in found for part in parts)


def test_dimensions_share_one_window():
    """`join`: one structure, one policy, each aggregate as it would be alone."""
    parts = [agg.max(), agg.sum(), agg.last_n(n=3), agg.count()]
    w, alone = small(AMTA, agg.join(*parts)), [small(AMTA, part) for part in parts]
    for i in range(300):
        for window in (w, *alone):
            window.insert(i % 7)
            if len(window) > 90:
                window.evict()
        assert w.query() == tuple(window.query() for window in alone)
