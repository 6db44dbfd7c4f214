"""FlatFIT against paper 5 (Fig. 7, Table 1) and against a list."""

from __future__ import annotations

import random

import pytest

from tests.swag.cases import affine
from tests.swag.test_flat_fat import compare_batches, compare_sequences
from windrow import Aggregate, agg
from windrow.swag.counting import counting
from windrow.swag.flat_fit import FlatFIT, traverse

NONE = float("-inf")

#: Fig. 7, steps 0 to 10: pointers, partials, the answers of Q1 (range 5) and Q2 (range 2). (The paper's text
#: repeats the last cell of each row.)
FIGURE_7 = [
    ([1, 2, 3, 4, 0], [NONE, NONE, NONE, NONE, NONE], None, None),
    ([1, 0, 0, 0, 0], [NONE, 2, 2, 2, 2], 2, 2),
    ([1, 0, 0, 0, 0], [4, 2, 2, 2, 2], 4, 4),
    ([2, 2, 0, 0, 0], [4, 0, 2, 2, 2], 4, 4),
    ([3, 2, 3, 0, 0], [4, 0, 3, 2, 2], 4, 3),
    ([4, 2, 3, 4, 0], [7, 0, 3, 7, 2], 7, 7),
    ([4, 2, 3, 4, 0], [7, 0, 3, 7, 6], 7, 7),
    ([1, 2, 1, 1, 1], [1, 0, 7, 7, 6], 7, 6),
    ([1, 2, 1, 1, 1], [1, 8, 7, 7, 6], 8, 8),
    ([1, 3, 3, 1, 1], [1, 9, 9, 7, 6], 9, 9),
    ([1, 4, 3, 4, 1], [1, 9, 9, 5, 6], 9, 9),
]
TUPLES = [2, 4, 0, 3, 7, 6, 1, 8, 9, 5]


def arrays(w: FlatFIT) -> tuple[list[int], list[float]]:
    """Pointers and Partials as the paper draws them: a ring of five."""
    pointers, partials = [0] * 5, [NONE] * 5
    for i in range(w.r.F, w.r.E):
        pointers[i % 5] = w.s.links[i & w.s.mask] % 5
        partials[i % 5] = w.s.vals[i & w.s.mask]
    return pointers, partials


@pytest.mark.parametrize("both", [False, True])
def test_figure_7(both: bool) -> None:
    """Both arrays after each step; 21 comparisons for Q1 against Naive's 40, 6 for Q2 against 10."""
    largest = counting(Aggregate(lambda x: x, max, identity=NONE, name="max of the paper"))
    w = FlatFIT(largest, capacity=8)
    w.insert_many([NONE] * 5)
    assert arrays(w) == FIGURE_7[0][:2]
    w = FlatFIT(largest, capacity=8)
    w.insert_many([NONE] * 4)  # the first tuple takes index 4, before currInd = 0
    answer = traverse(w.m)
    comparisons = {"Q1": 0, "Q2": 0}
    for step, x in enumerate(TUPLES, 1):
        if step > 1:
            w.evict()
        w.insert(x)
        before = largest.combines
        q1 = answer(w.s, w.r.E - 5, w.r.E)
        comparisons["Q1"] += largest.combines - before
        before = largest.combines
        q2 = answer(w.s, w.r.E - 2, w.r.E) if both else FIGURE_7[step][3]
        comparisons["Q2"] += largest.combines - before
        assert (*arrays(w), q1, q2) == FIGURE_7[step], step
        w.check_invariants()
    assert comparisons == {"Q1": 21, "Q2": 6 if both else 0}
    assert (len(TUPLES) * (5 - 1), len(TUPLES) * (2 - 1)) == (40, 10)  # Naive


@pytest.mark.parametrize("n", [2, 3, 5, 16, 100])
def test_table_1_single_query(n: int) -> None:
    """A period of n + 1 slides with 3(n - 1) combines: n - 1 for wReset, one before and after it, two in all others."""
    concat = counting(agg.concat())
    w = FlatFIT(concat, capacity=n)
    w.insert_many("x" * (n - 1))
    costs = []
    for _ in range(5 * (n + 1)):
        concat.combines = 0
        w.insert("x")
        w.query()
        w.evict()
        costs.append(concat.combines)
    period = [n - 1, 1, *[2] * (n - 2), 1]
    assert len(period) == n + 1 and sum(period) == 3 * (n - 1)
    assert costs == period * 5


@pytest.mark.parametrize("n", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("order", ["up", "down", "mixed"])
def test_table_1_all_ranges(n: int, order: str) -> None:
    """n - 1 combines a slide for all n ranges, in whichever order they are asked for."""
    concat = counting(agg.concat())
    ranges = list(range(1, n + 1))
    if order != "up":
        ranges.reverse()
    if order == "mixed":
        random.Random(n).shuffle(ranges)
    w, rows = FlatFIT(concat, capacity=n), ["x"] * (n - 1)
    w.insert_many(rows)
    for slide in range(3 * n + 10):
        rows = [*rows, chr(97 + slide % 26)][-n:]
        concat.combines = 0
        w.insert(rows[-1])
        assert w.query_many(ranges) == ["".join(rows[-k:]) for k in ranges]
        assert concat.combines == n - 1
        w.check_invariants()
        w.evict()


def test_all_ranges_from_the_shortest_cost_more_as_printed() -> None:
    """Why query_many sorts: Alg. 1 leaves a query's start index as it was (lines 42-43)."""
    concat = counting(agg.concat())
    n = 40
    w = FlatFIT(concat, capacity=n)
    w.insert_many("x" * (n - 1))
    answer = traverse(w.m)
    for _ in range(3 * n):
        w.insert("x")
        for k in range(1, n + 1):
            answer(w.s, w.r.E - k, w.r.E)
        w.evict()
    assert concat.combines > 1.3 * 3 * n * (n - 1)


def test_partials_cover_what_pointers_say() -> None:
    """Windows of any size, several ranges: Partials[i] are the rows from i to Pointers[i]."""
    for seed in range(25):
        rnd = random.Random(seed)
        w, rows = FlatFIT(agg.concat(), capacity=4), []
        growth = rnd.choice([0.45, 0.55, 0.7])
        for step in range(200):
            if rows and rnd.random() > growth:
                w.evict()
                rows.pop(0)
            else:
                rows.append(chr(97 + step % 26))
                w.insert(rows[-1])
            if rows:
                k = rnd.randint(1, len(rows))
                asked = rnd.random()
                if asked < 0.3:
                    assert w.query() == "".join(rows)
                elif asked < 0.6:
                    assert w.query_range(k) == "".join(rows[-k:])
                elif asked < 0.8:
                    ranges = [rnd.randint(1, len(rows)) for _ in range(4)]
                    assert w.query_many(ranges) == ["".join(rows[-k:]) for k in ranges]
            w.check_invariants()
            for i in range(w.r.F, w.r.E):
                start, end = i - w.r.F, w.s.links[i & w.s.mask] - w.r.F
                assert list(w.s.vals[i & w.s.mask]) == rows[start:end]


def test_amortised_constant_for_windows_of_any_size() -> None:
    """Growing, shrinking and constant stretches, one query a step: a few combines each."""
    concat = counting(agg.concat())
    w, steps = FlatFIT(concat), 0
    rnd = random.Random(5)
    for _ in range(60):
        for move in rnd.choice([["insert"] * 50, ["evict"] * 40, ["insert", "evict"] * 40]):
            if move == "insert" or not len(w):
                w.insert("x")
            else:
                w.evict()
            w.query()
            steps += 1
    assert concat.combines <= 4 * steps


def test_ranges_are_checked() -> None:
    w = FlatFIT(agg.concat())
    w.insert_many("abc")
    for wrong in (0, 4, -1):
        with pytest.raises(IndexError):
            w.query_range(wrong)
        with pytest.raises(IndexError):
            w.query_many([1, wrong])
    assert w.query_many([]) == []
    assert w.query_many([2, 2, 1]) == ["bc", "bc", "c"]


def test_a_combine_that_raises_leaves_no_pointer_turned() -> None:
    def combine(a: str, b: str) -> str:
        if "!" in a and len(b) > 3:
            raise RuntimeError("no")
        return a + b

    w = FlatFIT(Aggregate(lambda x: x, combine, identity=""), capacity=16)
    w.insert_many("ab!defg")
    w.query_range(3)
    w.insert("h")
    before = [list(slots.pages()) for slots in (w.s.links.copy(), w.s.vals.copy())]
    with pytest.raises(RuntimeError):
        w.query()
    assert [list(slots.pages()) for slots in (w.s.links, w.s.vals)] == before
    w.check_invariants()
    assert w.query_range(4) == "efgh"


def test_sequences() -> None:
    compare_sequences(FlatFIT)


@pytest.mark.parametrize("make", [agg.sum, agg.max, affine])
def test_compiled(make) -> None:
    compare_batches(FlatFIT, make)
