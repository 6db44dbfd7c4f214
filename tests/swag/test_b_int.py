"""B-Int against what papers 1 §6 and 5 §2.2 say of it, and against a list."""

from __future__ import annotations

import math
import random

import pytest

from tests.swag.cases import affine
from tests.swag.test_flat_fat import compare_batches, compare_sequences
from windrow import agg
from windrow.swag.b_int import BInt
from windrow.swag.counting import counting


def texts(w: BInt, level: int) -> dict[int, str]:
    """The intervals of a level that are kept, by number."""
    base = w.capacity >> level
    kept = ((i, w.s.vals[base + i]) for i in range((w.r.E >> level) + 1))
    return {i: "".join(partial) for i, partial in kept if partial}


def test_levels_of_dyadic_intervals() -> None:
    """Paper 5 Fig. 5: on level l the intervals have 2^l rows, and an insertion writes those that end with its row."""
    w = BInt(agg.concat())
    w.insert_many("abcdefg")
    assert texts(w, 0) == dict(enumerate("abcdefg"))
    assert texts(w, 1) == {0: "ab", 1: "cd", 2: "ef"}
    assert (texts(w, 2), texts(w, 3)) == ({0: "abcd"}, {})
    w.insert("h")
    assert (texts(w, 1)[3], texts(w, 2)[1], texts(w, 3)) == ("gh", "efgh", {0: "abcdefgh"})
    w.evict_many(3)  # what began before the window goes
    w.insert_many("ij")
    assert texts(w, 1) == {2: "ef", 3: "gh", 4: "ij"}
    assert (texts(w, 2), texts(w, 3)) == ({1: "efgh"}, {})
    assert w.query() == "defghij"


def test_counts() -> None:
    """An insertion costs one combine on average, an eviction none, a query at most 2 log n intervals."""
    concat = counting(agg.concat())
    n = 64
    w = BInt(concat, capacity=n)
    inserting = asking = 0
    for step in range(20 * n):
        if len(w) == n:
            w.evict()
        before = concat.combines
        w.insert("x")
        inserting += concat.combines - before
        before = concat.combines
        w.query()
        asking = max(asking, concat.combines - before)
        assert step < 2 * n or len(w) == n
    assert inserting <= 20 * n
    assert asking <= 2 * math.log2(n) + 1


def test_rows_that_have_gone_are_not_combined_again() -> None:
    """An interval that began before the window is left out: its rows could overflow, or raise."""
    concat = counting(agg.concat())
    w = BInt(concat, capacity=8)
    for x in "abcdefghijklmnop":
        if len(w):
            w.evict()
        before = concat.combines
        w.insert(x)
        assert concat.combines == before
        assert w.query() == x


def test_growth_keeps_the_intervals() -> None:
    rnd = random.Random(3)
    for first in range(12):
        w, rows = BInt(agg.concat(), capacity=4), []
        for step in range(60):
            if rows and (step < first or rnd.random() < 0.2):
                w.evict()
                rows.pop(0)
            rows.append(chr(97 + step % 26))
            w.insert(rows[-1])
            w.check_invariants()
            assert w.query() == "".join(rows)
        assert w.capacity >= len(rows) > 4


def test_sequences() -> None:
    compare_sequences(BInt)


@pytest.mark.parametrize("make", [agg.sum, agg.max, affine])
def test_compiled(make) -> None:
    compare_batches(BInt, make)
