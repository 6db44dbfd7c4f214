"""AMTA computes its Result Pair once in an update, whatever the update does: no combine is made and thrown away."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

from windrow import agg, stores, swag


def counted(**options):
    return swag.AMTA(swag.counting(agg.concat()), **options)


def cost(w, act) -> int:
    before = w.of.combines
    act()
    return w.of.combines - before


def letters(n: int) -> str:
    return "".join(chr(97 + i % 26) for i in range(n))


def test_insert():
    """A row that makes trees merge has R1 computed from the forest; R1 ⊕ row is not computed beside it."""
    w = counted()
    whole = sum(cost(w, lambda: w.insert("a")) for _ in range(1024))
    assert whole == INSERTS
    w.check_invariants()


#: 1024 rows into an empty window
INSERTS = 2117


@pytest.mark.parametrize("options", [{}, {"store": "memory"}], ids=["memory", "store"])
def test_evict_many_and_enforce_cost_no_more_than_single_evictions(options):
    """Nor do they cost more than O(log n); and all that is kept is as the single evictions leave it."""
    if options:
        options = {"store": stores.memory(), "cache": 16, "buffer": 16}
    rnd, text = random.Random(3), letters(300)
    for round in range(60):
        n, gone = rnd.randint(2, 200), rnd.randint(0, 60)
        k = rnd.choice([1, 2, 3, 5, rnd.randint(1, n)])
        windows = []
        for i in range(3):
            w = counted(**options | ({"name": f"{round} {i}"} if options else {}))
            w.insert_many(text[: gone + n])
            for _ in range(gone):
                w.evict()
            w.query()
            windows.append(w)
        k = min(k, n)
        one, many, policed = windows
        singles = cost(one, lambda: [one.evict() for _ in range(k)])
        assert cost(many, lambda: many.evict_many(k)) <= min(singles, 3 * n.bit_length())
        asked = []

        def policy(total, old, asked=asked, k=k):
            asked.append(old)
            return len(old) <= k

        spent = cost(policed, lambda: policed.enforce(policy))
        # one for each question; where the search begins, the head's branch; and the Result Pair and the Stack once
        branch = n.bit_length() if k >= n.bit_length() - 1 else 0
        assert spent <= len(asked) + branch + min(singles, 3 * n.bit_length())
        kept = one.r.R0, one.r.R1, one.r.S
        for w in windows:
            w.check_invariants()
            assert w.query() == text[gone + k : gone + n]
            assert kept == (w.r.R0, w.r.R1, w.r.S)
            w.insert_many("xyz")
            w.evict()
            w.check_invariants()


def test_every_small_window():
    """All that `enforce` costs beyond its questions, where it looks at rows one by one: trees go among them."""
    spent = 0
    for n in range(4, 32):
        for gone in range(0, 32, 3):
            for k in range(1, n.bit_length() - 1):
                w, asked = counted(), []
                w.insert_many(letters(gone + n))
                w.evict_many(gone)
                w.query()
                act = partial(w.enforce, lambda total, old, asked=asked, k=k: asked.append(0) or len(old) <= k)
                spent += cost(w, act) - len(asked)
                assert len(asked) == k + 1 and w.query() == letters(gone + n)[gone + k :]
                w.check_invariants()
    assert spent == EVICTIONS


#: of all the windows above together
EVICTIONS = 1637


def test_compiled():
    """The same steps in compiled code, over values of which the last is told: many rows go at once, and few."""
    rnd = np.random.default_rng(5)
    values = np.cumsum(rnd.choice([1, 1, 1, 1, 2, 9, 70], 3000))
    w = swag.AMTA(agg.join(agg.first(), agg.last(), agg.count()))

    def policy(total, old):
        return old[1] < total[1] - 100

    first, last, count = w.slide_policy(values, policy)
    starts = np.searchsorted(values, values - 100)
    assert first.tolist() == values[starts].tolist() and last.tolist() == values.tolist()
    assert count.tolist() == (np.arange(len(values)) - starts + 1).tolist()
    w.check_invariants()
