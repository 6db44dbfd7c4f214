"""The stores of partials against a plain list, and what they cost."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from windrow import agg, swag
from windrow.engine import snapshot
from windrow.errors import WindrowError
from windrow.sharing.partials import STORES, Eager, Fit, Lazy

NUMBERS = windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0)  # a partial is a number
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Oracle:
    """The same as a list of (id, partial)."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, str]] = []

    def merge(self, start: int, stop: int | None = None) -> str | None:
        return "".join(text for id, text in self.kept if id > start and (stop is None or id <= stop)) or None

    def fuse(self, edge: int) -> None:
        [at] = [i for i, (id, _) in enumerate(self.kept) if id == edge]
        (_, older), (id, newer) = self.kept[at : at + 2]
        self.kept[at : at + 2] = [(id, older + newer)]


actions = st.lists(st.tuples(st.sampled_from("aaaaeemmmmtrf"), st.integers(0, 10**6)), max_size=120)


@pytest.mark.parametrize("name", STORES)
@given(actions)
def test_any_sequence_equals_a_list(name, sequence):
    store, oracle, edge = STORES[name](agg.concat()), Oracle(), 0
    removed = 0
    for action, number in sequence:
        edges = [id for id, _ in oracle.kept]
        chosen = edges[number % len(edges)] if edges else None
        text = LETTERS[number % 26]
        if action in "ae":
            edge += 1 + number % 3
            if action == "a":
                store.append(edge, text)
                oracle.kept.append((edge, text))
            else:
                store.extend(edge, text)
                older = oracle.kept.pop()[1] if oracle.kept else ""
                oracle.kept.append((edge, older + text))
        elif action == "m":
            start = chosen if chosen is not None else removed
            assert store.merge(start) == oracle.merge(start)
            assert store.merge(removed) == oracle.merge(removed)
        elif action == "t" and chosen is not None:
            stop = edges[number // 7 % len(edges)]
            expected = oracle.merge(chosen, stop) if chosen < stop else None
            assert store.merge(chosen, stop) == expected
        elif action == "r" and chosen is not None:
            store.remove_up_to(chosen)
            oracle.kept = [(id, text) for id, text in oracle.kept if id > chosen]
            removed = chosen
        elif action == "f" and chosen is not None and chosen != edges[-1]:
            store.fuse(chosen)
            oracle.fuse(chosen)
        store.check_invariants()
        assert len(store) == len(oracle.kept)
    again = STORES[name](agg.concat())
    again.resume(snapshot.opened(snapshot.sealed(store.state())))
    again.check_invariants()
    assert again.merge(removed) == oracle.merge(removed)


@pytest.mark.parametrize("name", STORES)
def test_every_range_of_a_ring_that_goes_round(name):
    """All starts and stops, at every place of the ring."""
    store, kept = STORES[name](agg.concat(), capacity=8), []
    for edge in range(1, 40):
        store.append(edge, LETTERS[edge % 26])
        kept.append(edge)
        if len(kept) > 6:
            store.remove_up_to(kept.pop(0))
        for start in range(kept[0] - 1, edge + 1):
            for stop in (*kept, None):
                text = "".join(LETTERS[e % 26] for e in kept if start < e <= (edge if stop is None else stop))
                assert store.merge(start, stop) == (text or None), (edge, start, stop)


@pytest.mark.parametrize("name", STORES)
def test_it_grows_and_shrinks(name):
    store = STORES[name](NUMBERS)
    for edge in range(1, 101):
        store.append(edge, 1)
        store.check_invariants()
    assert store.capacity == 128
    store.remove_up_to(57)  # 43 are left, more than a third
    assert store.capacity == 128
    store.remove_up_to(58)
    assert store.capacity == 64
    store.remove_up_to(100)
    assert (store.capacity, len(store), store.merge(100)) == (4, 0, None)


@pytest.mark.parametrize("name", STORES)
def test_holes_are_closed_before_the_ring_grows(name):
    store = STORES[name](agg.concat(), capacity=16)
    text = "".join(LETTERS[i % 26] for i in range(500))
    store.append(1, text[0])
    store.append(2, text[1])
    for edge in range(3, 501):  # a long window beside short ones: all edges but two are forgotten
        store.append(edge, text[edge - 1])
        store.fuse(edge - 1)
        store.check_invariants()
        assert (store.capacity, len(store)) == (16, 2)
    assert store.merge(0) == text
    assert store.merge(1) == text[1:]


def test_slots_are_what_the_paper_says():
    for n in (4, 16, 64):
        stores = {name: make(NUMBERS, capacity=n) for name, make in STORES.items()}
        assert {name: store.slots for name, store in stores.items()} == {"lazy": n, "eager": 2 * n, "fit": 2 * n}


def test_lazy_and_eager_cost_what_table_1_says():
    n = 64
    for make, update, merge in ((Lazy, 0, n - 1), (Eager, math.log2(n) - 1, math.log2(n))):
        total = swag.counting(NUMBERS)
        store = make(total, capacity=n)
        for edge in range(1, 3 * n):
            before = total.combines
            store.append(edge, 1)
            assert total.combines - before == update
            if edge >= n:
                before = total.combines
                assert store.merge(edge - n) == n
                assert total.combines - before <= (merge if make is Lazy else 2 * merge)
                store.remove_up_to(edge - n + 1)


def test_fit_costs_what_paper_5_says():
    """One range: 3(n-1) combines in n+1 slides."""
    n = 16
    total = swag.counting(NUMBERS)
    store = Fit(total, capacity=n)
    for edge in range(1, n):
        store.append(edge, 1)
    for period in range(4):
        total.combines = 0
        for slide in range(n + 1):
            edge = n + period * (n + 1) + slide
            store.append(edge, 1)
            assert store.merge(edge - n) == n
            store.remove_up_to(edge - n + 1)
        assert total.combines == 3 * (n - 1)


def test_fusing_in_a_tree_costs_what_lies_below_the_common_ancestor():
    n = 256
    total = swag.counting(NUMBERS)
    store = Eager(total, capacity=n)
    for edge in range(1, n + 1):
        store.append(edge, 1)
    costs = []
    for edge in random.Random(5).sample(range(1, n), n - 1):
        before = total.combines
        store.fuse(edge)
        costs.append(total.combines - before)
    store.check_invariants()
    assert store.merge(0) == n
    assert len(store) == 1
    assert costs[0] <= 15
    fresh = Eager(total, capacity=n)
    for edge in range(1, n + 1):
        fresh.append(edge, 1)
    total.combines = 0
    for edge in range(1, n, 2):  # siblings: their parent has the sum already
        fresh.fuse(edge)
    assert total.combines == 0
    for edge in range(2, n, 2):
        fresh.fuse(edge)
    assert len(fresh) == 1 and fresh.merge(0) == n


@pytest.mark.parametrize("name", STORES)
def test_a_combine_that_raises_leaves_no_trace(name):
    armed = [False]

    def combine(a, b):
        if armed[0] and "!" in a + b:
            raise ValueError("no")
        return a + b

    words = windrow.Aggregate(lambda x: x, combine, identity="")
    rnd = random.Random(3)
    store, edge = STORES[name](words), 0
    for _ in range(300):
        edge += 1
        store.append(edge, rnd.choice("abc!"))
        if rnd.random() < 0.2:
            store.remove_up_to(edge - rnd.randint(1, 9))
        armed[0] = True
        before = store.state()
        before = (*before[:6], list(before[6]), list(before[7]), list(before[8]))
        try:
            with store.all_or_nothing():
                for _ in range(4):
                    what = rnd.choice(["append", "extend", "fuse", "merge", "remove"])
                    if what in ("append", "extend"):
                        edge += 1
                        getattr(store, what)(edge, rnd.choice("ab!"))
                    elif what == "fuse" and len(store) > 1:
                        store.fuse(rnd.choice(list(store.places)[:-1]))
                    elif what == "merge":
                        store.merge(rnd.choice(list(store.places) or [0]))
                    elif what == "remove":
                        store.remove_up_to(next(iter(store.places), 0))
        except ValueError:
            armed[0] = False
            after = store.state()
            assert (*after[:6], after[6], after[7], after[8]) == before
        armed[0] = False
        store.check_invariants()


def test_what_makes_no_sense_is_refused():
    store = Lazy(NUMBERS)
    store.append(3, 1)
    store.append(5, 1)
    with pytest.raises(WindrowError, match="in order: 5 after 5"):
        store.append(5, 1)
    with pytest.raises(WindrowError, match="no partial ends at 4"):
        store.merge(4)
    with pytest.raises(WindrowError, match="no two slices meet at 5"):
        store.fuse(5)
    with pytest.raises(WindrowError, match="no two slices meet at 4"):
        store.fuse(4)
