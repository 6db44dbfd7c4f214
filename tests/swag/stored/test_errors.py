"""A step that raises leaves the window as it was; pages stay as long as they are needed."""

import numpy as np
import pytest

from tests.swag.stored.windows import both, hashed, order, small, text
from windrow import Aggregate, stores
from windrow.stores.keys import all_of
from windrow.swag import AMTA


def test_errors_leave_the_window():
    def combine(a, b):
        if "!" in a + b:
            raise ArithmeticError("no")
        return a + b

    store = stores.memory()
    w = small(AMTA, Aggregate(lift=lambda x: x, combine=combine, identity="", name="fragile"), store)
    w.insert_many("abcdefgh" * 60)
    for change in (
        lambda: w.insert("!"),
        lambda: w.insert_many("x" * 500 + "!"),
        lambda: w.enforce(lambda t, o: 1 / 0),
    ):
        with pytest.raises(ArithmeticError):
            change()
        w.check_invariants()
        assert w.query() == "abcdefgh" * 60 and w.inserted == 480
    w.insert_many("ijkl" * 90)
    w.checkpoint()
    again = AMTA.open(w.of, store)
    again.check_invariants()
    assert again.query() == "abcdefgh" * 60 + "ijkl" * 90


@both
@pytest.mark.parametrize("fatal", [1, 2, 3, 5, 8])
def test_a_cut_that_raises_leaves_the_window(algorithm, fatal):
    """Whichever of its combines it is: what was put into pages that had come for it goes back with them."""
    left = [10**9]

    def combine(a, b):
        left[0] -= 1
        if not left[0]:
            raise ArithmeticError("no")
        return a + b

    w = small(algorithm, Aggregate(lift=lambda x: x, combine=combine, identity="", name="fragile"))
    w.insert_many("abcdefghijkl" * 80)
    left[0] = fatal
    with pytest.raises(ArithmeticError):
        w.evict_many(512)  # full pairs at the head of most levels: many combines
    left[0] = 10**9
    w.check_invariants()
    w.evict()
    w.check_invariants()
    assert w.query() == ("abcdefghijkl" * 80)[1:]


@both
def test_every_cut_brings_its_pages(algorithm):
    """From windows whose levels begin on either side of a pair, to heads on either side of a page."""
    letters = "abcdefghijklmnopqrstuvwxyz" * 20
    for begin in (0, 1, 2, 3, 7):
        for k in range(1, 380, 9):
            w = small(algorithm, text)
            for letter in letters[:400]:
                w.insert(letter)
            for _ in range(begin):
                w.evict()
            w.evict_many(k)
            w.check_layers()
            for i in range(min(20, len(w))):
                assert w.query() == letters[begin + k + i : 400]
                w.evict()


def test_pages_that_a_checkpoint_needs_are_not_deleted():
    store = stores.memory()
    w, rows = small(AMTA, text, store), "abcdefgh" * 400
    w.insert_many(rows)
    w.checkpoint()
    for _ in range(2500):
        w.evict()
    w.insert_many("x" * 500)
    w.pager.flush()
    before = len(list(store.scan(*all_of("window"))))
    again = AMTA.open(text, store)
    again.check_invariants()
    assert again.query() == rows
    again.evict_many(3000)
    again.checkpoint()  # and now they are
    again.pager.flush()
    assert len(list(store.scan(*all_of("window")))) < before / 4


def test_positions_are_never_used_twice():
    """Not even by a window that was empty and changed its form: a page's key would be another page's, too."""
    w = small(AMTA, order)
    w.insert_many(np.arange(300))
    w.evict_many(300)
    end = w._marks(0)[1]
    w.insert(1)
    assert not w.form.compiled and w._marks(0)[:2] == (end, end + 1)


def test_a_step_over_compiled_columns_that_raises_leaves_the_window():
    asked = []

    def policy(total, old):
        asked.append(old)
        return len(asked) < 12 or 1 / 0

    w, rows = small(AMTA, order), np.arange(600)
    w.insert_many(rows)
    w.evict_many(333)
    assert w.form.compiled
    with pytest.raises(ZeroDivisionError):
        w.enforce(policy)
    w.check_invariants()
    for k in range(40):
        assert w.query() == hashed(rows[333 + k :].tolist())
        w.evict()
