"""Slices and the answers made from them, plain and compiled, against folding the rows themselves."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, swag
from windrow.engine import batch, folding
from windrow.engine.columns import Store, allocate, read, write
from windrow.engine.compiler import cached
from windrow.engine.forms import Form, interpreted, plain_form
from windrow.engine.walks import ready

#: composition of x -> a x + b: order matters, and small integers stay exact
AFFINE = windrow.Aggregate(
    lift=lambda x: (x, 1.0),
    combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
    lower=lambda p: p[1],
    identity=(1.0, 0.0),
)


def affine(values: list) -> float:
    total = 0.0
    for x in values:
        total = total * x + 1.0
    return total


class Case:
    """An aggregate in one form, its values, and what it gives for a list of them."""

    def __init__(
        self, name: str, aggregate: Any, form: Form, right: Any, values: list, dtype: Any, nulls: bool
    ) -> None:
        self.name, self.aggregate, self.form, self.right = name, aggregate, form, right
        self.values, self.dtype, self.nulls = values, dtype, nulls
        self.made: dict[Any, Any] = {}

    def columns(self, rows: list) -> tuple[tuple, tuple]:
        if not self.form.compiled:
            return (rows,), (None,)
        there = np.array([x is not None for x in rows], bool)
        values = np.array([0 if x is None else x for x in rows], self.dtype)
        return (ready(values),), (ready(there if self.nulls else there[:0]),)

    def positions(self, given: Any) -> Any:
        array = ready(np.array(given, np.int64))
        return array if self.form.compiled else array.tolist()

    def slots(self, count: int) -> Any:
        return allocate(self.form.dtypes, count)

    def kept(self, groups: list[list]) -> Any:
        """Carried partials, one of each group of rows."""
        slots = self.slots(len(groups))
        for j, rows in enumerate(groups):
            write(slots, j, self.partial(rows))
        return slots

    def partial(self, rows: list) -> Any:
        m = interpreted(self.form)
        columns, masks = self.columns(rows)
        partials = [m.lift_at(columns, masks, i) for i in range(len(rows))]
        total = m.identity
        for p in partials:
            total = m.combine(total, p)
        return total

    def lowered(self, partial: Any) -> Any:
        m = interpreted(self.form)
        out, valid = ([None],), ([True],)
        m.store(out, 0, partial)
        m.mark(valid, 0, partial)
        return out[0][0] if valid[0][0] else None

    def expected(self, rows: list) -> Any:
        rows = [x for x in rows if x is not None]
        return self.right(rows) if rows else None

    def run(self, maker: Any, *arguments: Any) -> Any:
        key = maker, *arguments
        if key not in self.made:
            given = [a.kernel(self.form) if isinstance(a, type) else a for a in arguments]
            made = maker(*given, self.form)
            self.made[key] = cached(made) if self.form.compiled else made
        return self.made[key]

    def answers(self, count: int) -> tuple[tuple, tuple]:
        kind = self.form.outputs[0]
        return (np.empty(count, object if kind is None else kind),), (np.ones(count, bool),)


def compiled(name: str, aggregate: Any, kind: str, right: Any, values: list, nulls: bool = False) -> Case:
    form = batch.form_for(aggregate, (kind,), (nulls,))
    assert form is not None
    return Case(name, aggregate, form, right, [*values, None] if nulls else values, kind, nulls)


CONCAT = Case("concat, plain", agg.concat(), plain_form(agg.concat()), "".join, [*"abcdefg", None], object, True)
SUM = compiled("sum of ints", agg.sum(), "int64", sum, [1, -5, 2**40, 7])
MAX = compiled("max of floats and nulls", agg.max(), "float64", max, [0.5, -2.0, 9.25, 3.0], nulls=True)
ORDER = compiled("affine", AFFINE, "float64", affine, [-1.0, 1.0, 2.0])


def cases(*chosen: Any) -> Any:
    """Each kernel over a few of them: a compilation takes as long as all the rest."""
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


def joined(groups: list[list]) -> list:
    return list(itertools.chain.from_iterable(groups))


def cut_points(rng: random.Random, n: int, share: float) -> list[int]:
    return sorted({0, n, *(i for i in range(n) if rng.random() < share)})


@cases(CONCAT, SUM, MAX)
@pytest.mark.parametrize("carried", [False, True])
def test_fold(case: Case, carried: bool) -> None:
    """Rows straight or by position, with carried partials among them, cut and stopped anywhere."""
    rng = random.Random(0)
    run = case.run(folding.fold)
    for _ in range(60):
        n = rng.randint(0, 30)
        rows = [rng.choice(case.values) for _ in range(n)]
        groups: list[list] = []
        items: list[list] = [[x] for x in rows]
        source: list[int] = []
        if carried and n:
            source = [i if rng.random() < 0.7 else -1 for i in rng.sample(range(n), n)]
            for i, at in enumerate(source):
                if at < 0:
                    source[i] = ~len(groups)
                    groups.append([rng.choice(case.values) for _ in range(rng.randint(1, 3))])
            items = [[rows[at]] if at >= 0 else groups[~at] for at in source]
        cuts = cut_points(rng, n, 0.3)
        stops = [i for i in range(1, n) if i not in cuts and rng.random() < 0.3]
        slices, prefixes = case.slots(len(cuts) - 1), case.slots(len(stops))
        columns, masks = case.columns(rows)
        run(
            columns, masks, case.positions(source), case.kept(groups), case.positions(cuts), case.positions(stops),
            slices, prefixes,
        )  # fmt: skip
        for j, (a, z) in enumerate(itertools.pairwise(cuts)):
            assert case.lowered(read(slices, j)) == case.expected(joined(items[a:z]))
        for q, stop in enumerate(stops):
            a = max(cut for cut in cuts if cut < stop)
            assert case.lowered(read(prefixes, q)) == case.expected(joined(items[a:stop]))


def test_fold_takes_one_combine_an_item_but_the_first_of_a_slice() -> None:
    counted = swag.counting(agg.sum())
    folding.fold(plain_form(counted))(
        ([1] * 100,), (None,), [], [], [0, 10, 11, 100], [3, 50, 60], [None] * 3, [None] * 3
    )
    assert counted.combines == 100 - 3


def test_a_slice_without_items_is_the_identity() -> None:
    slices: list = [1, 1]
    folding.fold(plain_form(agg.sum()))(([5],), (None,), [], [], [0, 0, 1], [], slices, [])
    assert slices[0] is None


def windows(rng: random.Random, slices: int, fifo: bool) -> tuple[list[int], list[int]]:
    count = rng.randint(0, 25)
    lo, hi = [], []
    for _ in range(count):
        a, z = sorted([rng.randint(0, slices), rng.randint(0, slices)])
        lo.append(a)
        hi.append(z)
    if fifo:
        lo.sort()
        hi.sort()  # sorted apart, each lo still is at most its hi
    return lo, hi


def check_answers(case: Case, run: Any, fifo: bool, before: Any) -> None:
    rng = random.Random(fifo)
    for _ in range(40):
        n = rng.choice([0, 1, 2, 7, 8, rng.randint(0, 40)])
        groups = [[rng.choice(case.values) for _ in range(rng.randint(1, 3))] for _ in range(n)]
        ends = [[rng.choice(case.values)] for _ in range(3)]
        lo, hi = windows(rng, n, fifo)
        tail = [rng.choice([-1, -1, 0, 1, 2]) for _ in lo]
        out, valid = case.answers(len(lo))
        done = np.zeros(1, np.int64)
        bounds = (case.positions(given) for given in (lo, hi, tail))
        run(*before(n, case.kept(groups)), *bounds, case.kept(ends), out, valid, done)
        assert done[0] == len(lo)
        for i in range(len(lo)):
            inside = joined(groups[lo[i] : hi[i]]) + (ends[tail[i]] if tail[i] >= 0 else [])
            answer = out[0][i] if valid[0][i] else None
            assert answer == case.expected(inside)


@cases(CONCAT, MAX, ORDER)
def test_any_ranges(case: Case) -> None:
    check_answers(case, case.run(folding.ranges), False, lambda n, slots: (slots, case.slots(max(n - 1, 0))))


@cases(CONCAT, SUM)
def test_any_ranges_without_a_tree(case: Case) -> None:
    check_answers(case, case.run(folding.lazy), False, lambda n, slots: (slots, case.slots(0)))


@cases(CONCAT, ORDER)
def test_any_ranges_by_jumps(case: Case) -> None:
    run = case.run(folding.fit)

    def by_end(slots: Any, sums: Any, lo: Any, hi: Any, *rest: Any) -> None:
        links = np.empty(len(slots[0]), np.int64) if case.form.compiled else [0] * len(slots)
        run(slots, sums, links, case.positions(np.lexsort((lo, hi)).tolist()), lo, hi, *rest)

    check_answers(case, by_end, False, lambda n, slots: (slots, case.slots(n)))


def test_jumps_take_few_combines() -> None:
    """Many windows over the same slices: fewer than a tree takes for them."""
    rng, n = random.Random(5), 1000
    hi = sorted(rng.randint(1, n) for _ in range(2000))
    lo = [rng.randint(max(0, z - 300), z - 1) for z in hi]
    order, found = np.lexsort((lo, hi)).tolist(), {}
    for maker in (folding.ranges, folding.fit):
        counted = swag.counting(agg.sum())
        before = ([None] * n, [0] * n, order) if maker is folding.fit else ([None] * n,)
        out, valid = (np.empty(len(lo), object),), (np.ones(len(lo), bool),)
        maker(plain_form(counted))(
            [agg.sum().lift(i) for i in range(n)], *before, lo, hi, [-1] * len(lo), [], out, valid, [0]
        )
        assert out[0].tolist() == [sum(range(a, z)) for a, z in zip(lo, hi, strict=True)]
        found[maker] = counted.combines
    assert found[folding.fit] < 0.6 * found[folding.ranges]


@pytest.mark.parametrize(
    ("case", "algorithm"),
    [
        (CONCAT, swag.TwoStacksLite),
        (CONCAT, swag.DABALite),
        (CONCAT, swag.FlatFIT),
        (SUM, swag.TwoStacksLite),
        (ORDER, swag.TwoStacksLite),
    ],
    ids=lambda given: getattr(given, "name", None),
)
def test_fifo(case: Case, algorithm: Any) -> None:
    """Both ends only move on: any first-in-first-out algorithm will do, in room for the longest window."""

    def before(n: int, slots: Any) -> tuple:
        window = algorithm(case.aggregate, capacity=64)
        vals, aggs, links = window.layout(window.capacity)
        numbers = np.zeros(links, np.int64) if case.form.compiled else [0] * links
        s = Store(case.slots(vals), case.slots(aggs), numbers, window.capacity - 1)
        window._use(case.form)
        return s, window.k.clear(s), slots

    check_answers(case, case.run(folding.fifo, algorithm), True, before)


def test_ranges_take_few_combines() -> None:
    counted = swag.counting(agg.sum())
    run, n = folding.ranges(plain_form(counted)), 1000
    slots, tree = [agg.sum().lift(i) for i in range(n)], [None] * (n - 1)
    out, valid, done = (np.empty(1, object),), (np.ones(1, bool),), [0]
    run(slots, tree, [0], [n], [-1], [], out, valid, done)
    built = counted.combines
    assert built <= n - 1 + 2 * math.log2(n)
    for lo, hi in [(1, 999), (333, 334), (511, 513), (3, 700)]:
        counted.combines = 0
        run(slots, tree, [lo, 0], [hi, n], [-1, -1], [], (np.empty(2, object),), (np.ones(2, bool),), done)
        assert counted.combines <= built + 2 * math.log2(n)


def test_an_empty_window_has_the_answer_of_no_rows() -> None:
    for aggregate, right in [(agg.count(), 0), (agg.concat(), None)]:
        out, valid = (np.empty(1, object),), (np.ones(1, bool),)
        folding.lazy(plain_form(aggregate))([], [], [0], [0], [-1], [], out, valid, [0])
        assert out[0].tolist() == [right]
        assert not valid[0][0]


@pytest.mark.parametrize("maker", [folding.ranges, folding.lazy])
def test_an_error_leaves_the_number_of_its_window(maker: Any) -> None:
    def combine(a: str, b: str) -> str:
        if "x" in b:
            raise ArithmeticError("no x")
        return a + b

    def tidy(partial: str) -> str:
        if "z" in partial:
            raise ArithmeticError("no z")
        return partial

    form = plain_form(windrow.Aggregate(lambda v: v, combine, tidy, identity=""))
    out, valid, done = (np.empty(3, object),), (np.ones(3, bool),), [0]
    with pytest.raises(ArithmeticError, match="no z"):
        maker(form)(list("abz"), [None] * 2, [0, 1, 2], [2, 2, 3], [-1] * 3, [], out, valid, done)
    assert done[0] == 2
    assert out[0].tolist()[:2] == ["ab", "b"]
