"""Slide policies and several dimensions in one window, in memory and over a store."""

import random

import numpy as np
import pytest

from tests.swag.stored.windows import small
from windrow import agg
from windrow.swag import AMTA, policies


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
    assert got[-1] == (49.0, 5) and "n" in seen
    with pytest.raises(ZeroDivisionError):
        w.slide_policy(np.arange(9.0), lambda total, old: str(1 / 0))
    assert w.query() == (49.0, 5)


def test_a_compiled_policy_raises_as_in_python():
    for policy, error in (
        (lambda total, old: 1 // (total[1] - 5) > 100, ZeroDivisionError),
        (lambda total, old: total[1] * 2**61 < 0, OverflowError),
    ):
        w = small(AMTA, agg.join(agg.max(), agg.count()))
        w.slide_policy(np.arange(3.0), policy)
        assert w.form.compiled
        with pytest.raises(error):
            w.slide_policy(np.arange(9.0), policy)
        assert w.query() == (2.0, 3)


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
