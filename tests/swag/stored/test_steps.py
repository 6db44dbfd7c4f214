"""A step of a stored window that is taken back: what was there is there again, whatever the step did to the layers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.swag.stored.windows import both, small
from windrow import agg, stores, swag

#: a page is 8 rows, so that steps move many of them
operations = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(1, 70)),
        st.tuples(st.just("array"), st.integers(1, 70)),
        st.tuples(st.just("evict"), st.integers(1, 40)),
        st.tuples(st.just("bulk"), st.floats(0, 1)),
        st.tuples(st.just("policy"), st.floats(0, 1)),
    ),
    max_size=6,
)


def apply(w, operation, size, numbers):
    n = len(w)
    if operation == "insert":
        for _ in range(size):
            w.insert(next(numbers))
    elif operation == "array":
        w.insert_many(np.array([next(numbers) for _ in range(size)]))
    elif operation == "evict":
        for _ in range(min(size, n)):
            w.evict()
    elif operation == "bulk":
        w.evict_many(int(size * n))
    else:
        w.enforce(lambda total, old, k=int(size * n): len(old) <= k)


@both
@given(steps=st.lists(st.tuples(st.booleans(), operations), max_size=8))
@settings(max_examples=40, deadline=None)
def test_what_was_there_is_there_again(algorithm, steps):
    """In objects; the order of the rows counts."""
    numbers = iter("abcdefghijklmnopqrstuvwxyz" * 1000)
    w, truth = small(algorithm, agg.concat(), stores.memory()), swag.Recalculate(agg.concat())
    for stays, some in steps:
        w.begin()
        for operation, size in some:
            if operation != "array":
                apply(w, operation, size, numbers)
        if stays:
            w.commit()
            truth = swag.Recalculate(agg.concat())
            for letter in w.query() or ():
                truth.insert(letter)
        else:
            w.rollback()
        w.check_invariants()
        assert (w.query() or "") == (truth.query() or "")
    while len(w):  # down to the last row, through pages that lie in the store
        w.evict()
        truth.evict()
        assert (w.query() or "") == (truth.query() or "")


@both
@given(steps=st.lists(st.tuples(st.booleans(), operations), max_size=8))
@settings(max_examples=40, deadline=None)
def test_in_columns_of_numbers(algorithm, steps):
    """Compiled: first and last tell which rows there are."""
    make = lambda: agg.join(agg.first(), agg.last(), agg.count(), agg.max())
    count = iter(range(10**6))
    w, here = small(algorithm, make(), stores.memory()), list[float]()
    for stays, some in steps:
        w.begin()
        after = list(here)
        for operation, size in some:
            if operation in ("insert", "array"):
                new = [float((next(count) * 7919) % 1000) for _ in range(size)]
                w.insert_many(np.array(new))
                after += new
            else:
                gone = min(int(size if operation == "evict" else size * len(after)), len(after))
                w.evict_many(gone)
                del after[:gone]
        w.commit() if stays else w.rollback()
        here = after if stays else here
        assert len(w) == len(here)
        if here:
            assert tuple(w.query()) == (here[0], here[-1], len(here), max(here))
    while here:
        assert tuple(w.query()) == (here[0], here[-1], len(here), max(here))
        w.evict()
        del here[0]


def test_a_row_costs_no_copy_of_the_layers():
    """A step costs what it touches: slots are copied where pages move, which one row in eight does here."""
    w, copies = small(swag.AMTA, agg.max(), stores.memory()), 0
    w.insert_many(np.arange(1000.0))
    for i in range(800):
        w.begin()
        w.insert_many(np.array([float(i)]))
        w.evict()
        assert w._before is not None
        copies += w._before[0].store.vals is not w.s.vals
        w.commit()
    assert copies < 800 / 3


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_a_window_goes_on_after_a_step_is_taken_back(rows):
    w = small(swag.AMTA, agg.concat(), stores.memory())
    for letter in "abc" * 50:
        w.insert(letter)
    for _ in range(3):
        w.begin()
        for letter in "x" * rows:
            w.insert(letter)
            w.evict()
        w.rollback()
    w.insert("z")
    assert w.query() == "abc" * 50 + "z"


@pytest.mark.parametrize("gone", [1, 9, 100, 499])
def test_rows_that_left_come_back(gone):
    """The cache of the heads was filled from the store meanwhile, over slots that are in use again."""
    letters = ("abcdefghijklmnopqrstuvwxyz" * 20)[:500]
    w = small(swag.AMTA, agg.concat(), stores.memory())
    for letter in letters:
        w.insert(letter)
    for one_by_one in (True, False):
        w.begin()
        if one_by_one:
            for _ in range(gone):
                w.evict()
        else:
            w.evict_many(gone)
        w.rollback()
        w.check_invariants()
    for i in range(500):
        assert w.query() == letters[i:]
        w.evict()
