"""Paper 2: its running example (§2.1, §4, §6.3) and its theorem on the number of combines."""

from __future__ import annotations

import random

import pytest

from windrow import agg, swag
from windrow.swag import ABA, DABA, DABALite, TwoStacks, TwoStacksLite

START = [2, 6, 3, 5, 3]
STEPS = [
    ("evict", None),
    ("insert", 1),
    ("evict", None),
    ("insert", 0),
    ("evict", None),
    ("insert", 4),
    ("evict", None),
    ("insert", 2),
]


def run(window: swag.Swag, step: tuple) -> None:
    name, value = step
    window.evict() if name == "evict" else window.insert(value)


@pytest.mark.parametrize("algorithm", [TwoStacks, TwoStacksLite, ABA, DABA, DABALite])
def test_figure_1(algorithm: type[swag.Swag]) -> None:
    """(a) 2 6 3 5 3 -> (b) 6 3 5 3 -> (c) 6 3 5 3 1 -> (d) 3 5 3 1, whose maximum is lower -> ..."""
    window = algorithm(agg.max())
    window.insert_many(START)
    content = list(START)
    for step in STEPS:
        run(window, step)
        content = content[1:] if step[0] == "evict" else [*content, step[1]]
        assert window.query() == max(content)
        window.check_invariants()
    assert content == [3, 1, 0, 4, 2]


def test_two_stacks_reverses_at_step_e_to_f() -> None:
    """§4: with 2 and 6 on the front stack, (a) -> (e) pop and push; (e) -> (f) finds s_F empty and reverses s_B."""
    window = TwoStacks(agg.max())
    window.insert_many([9, 2, 6])
    window.evict()  # reverses 9 2 6, and drops the 9
    window.insert_many([3, 5, 3])
    fronts = [window.r.front]
    for step in STEPS[:5]:
        run(window, step)
        fronts.append(window.r.front)
    assert fronts == [2, 1, 1, 0, 0, 4]
    assert window.query() == 5


def kind(before: tuple, after: tuple) -> str:
    """What fixup did: a flip moves B; a shrink moves A down; a free ride moves L, R and A up."""
    flipped = "flip, " if after.B != before.B else ""
    ride = after.L - (before.F + (after.F - before.F) if flipped else before.L), after.R - before.R
    return flipped + ("free ride" if ride == (1, 1) else "shrink")


def test_daba_steps_of_figure_15() -> None:
    """§6.3 says which steps shrink (a-b, f2-f, f-g), ride free (b-c, c-d, d-e, g-h, h-i) and flip (f1-f2)."""
    window = DABA(agg.max())
    window.insert_many([0, 0, *START])
    window.evict_many(2)
    F, L, R, A, B, E, _ = window.r
    assert (L - F, R - L, A - R, B - A, E - B) == (1, 1, 1, 2, 0)  # (a), from the size invariants and what follows
    kinds = []
    for step in STEPS:
        before = window.r
        run(window, step)
        window.check_invariants()
        kinds.append(kind(before, window.r))
    assert kinds == [
        "shrink",
        "free ride",
        "free ride",
        "free ride",
        "flip, shrink",
        "shrink",
        "free ride",
        "free ride",
    ]


@pytest.mark.parametrize("algorithm", [DABA, DABALite])
def test_theorem_9(algorithm: type[swag.Swag]) -> None:
    """At most 3 combines an insert, 2 an evict, 1 a query, in any order of inserts and evictions."""
    rnd = random.Random(9)
    for _ in range(200):
        total = swag.counting(agg.concat())
        window = algorithm(total)
        for _ in range(200):
            for operation, most in (
                (window.insert if rnd.random() < 0.55 or not len(window) else window.evict, None),
                (window.query, 1),
            ):
                before = total.combines
                if operation == window.insert:
                    operation("x")
                    most = 3
                else:
                    operation()
                    most = most or 2
                assert total.combines - before <= most, operation


def test_theorem_9_averages() -> None:
    """On average 2 combines an insert and 1 an evict, on a window that is not empty."""
    for n in (2, 7, 64, 1000):
        total = swag.counting(agg.sum())
        window = DABA(total, capacity=n)
        window.insert_many(range(n))
        spent = {"insert": 0, "evict": 0}
        rounds = 40 * n
        for i in range(rounds):
            for name, operation in (("evict", window.evict), ("insert", lambda i=i: window.insert(i))):
                before = total.combines
                operation()
                spent[name] += total.combines - before
        both = (spent["insert"] + spent["evict"]) / rounds
        assert both == pytest.approx(3, abs=0.1), n
        # one fixup averages to one combine, wherever it happens
        assert spent["insert"] / rounds <= 3
        assert spent["evict"] / rounds <= 2


def test_repeated_queries_are_cached() -> None:
    total = swag.counting(agg.sum())
    window = DABA(total)
    window.insert_many([1, 2, 3])
    window.query()
    before = total.combines
    assert [window.query() for _ in range(5)] == [6] * 5
    assert total.combines == before


def test_without_caching_one_combine_more() -> None:
    counts = {}
    for caching in (True, False):
        total = swag.counting(agg.sum())
        window = DABA(total, caching=caching, capacity=64)
        window.insert_many(range(64))
        total.combines = 0
        for i in range(6400):
            window.evict()
            window.insert(i)
        counts[caching] = total.combines / 6400
    assert counts[True] == pytest.approx(3, abs=0.1)
    assert counts[False] == pytest.approx(4, abs=0.1)
    assert type(DABA(agg.sum(), caching=False)).__name__ == "DABAUncached"


def test_two_stacks_and_aba_are_amortised() -> None:
    """Theorems 4 and 6: amortised O(1), and a flip of n combines in between."""
    for algorithm in (TwoStacks, TwoStacksLite, ABA):
        total = swag.counting(agg.sum())
        window = algorithm(total, capacity=256)
        window.insert_many(range(256))
        total.combines = worst = 0
        for i in range(5120):
            before = total.combines
            window.evict()
            window.insert(i)
            window.query()
            worst = max(worst, total.combines - before)
        assert total.combines / 5120 <= 3.01
        assert worst >= 250
