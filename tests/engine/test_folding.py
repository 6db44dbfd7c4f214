"""Slices and the answers made from them, plain and compiled, against folding the rows themselves."""

from __future__ import annotations

import contextlib
import itertools
import random
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, stores, swag
from windrow.engine import batch, folding
from windrow.engine.columns import allocate, read, write
from windrow.engine.forms import Form, interpreted, plain_form
from windrow.engine.kernel import cached
from windrow.engine.walks import ready
from windrow.swag import mta_ranges

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


def windows(rng: random.Random, slices: int) -> tuple[list[int], list[int]]:
    """Ranges neither end of which moves back."""
    pairs = [sorted([rng.randint(0, slices), rng.randint(0, slices)]) for _ in range(rng.randint(0, 25))]
    return sorted(a for a, _ in pairs), sorted(z for _, z in pairs)  # sorted apart, each lo still is at most its hi


def tree_of(aggregate: Any) -> Any:
    return swag.AMTA(aggregate, store=stores.memory(), buffer=16, cache=16)


@cases(CONCAT, SUM, MAX, ORDER)
def test_windows_of_a_stored_tree(case: Case) -> None:
    """Slices that are new follow those that are in the tree already; a tail is behind them."""
    rng = random.Random(1)
    for _ in range(10):
        tree = tree_of(case.aggregate)
        held: list[list] = []  # what is in the tree
        for _ in range(4):
            n = rng.choice([0, 1, 7, rng.randint(0, 90)])
            groups = [[rng.choice(case.values) for _ in range(rng.randint(1, 3))] for _ in range(n)]
            ends = [[rng.choice(case.values)] for _ in range(3)]
            first, every = -len(held), [*held, *groups]
            lo, hi = (np.array([*part, n]) + first * (i == 0) for i, part in enumerate(windows(rng, n)))
            lo = np.minimum(np.maximum(lo, first), hi)
            lo[-1] = max(int(lo.max()), first + len(every) // 2)
            tail = np.array([*(rng.choice([-1, -1, 0, 1, 2]) for _ in lo[1:]), -1])
            out, valid = case.answers(len(lo))
            mta_ranges.answer(
                tree, case.form, case.kept(groups), lo, hi, tail, case.kept(ends), out, valid, np.zeros(1, np.int64)
            )
            for i in range(len(lo)):
                inside = joined(every[lo[i] - first : hi[i] - first]) + (ends[tail[i]] if tail[i] >= 0 else [])
                assert (out[0][i] if valid[0][i] else None) == case.expected(inside)
            held = every[lo[-1] - first :]
            assert len(tree) == len(held)


def answered(aggregate: Any, partials: list, lo: list[int], hi: list[int]) -> tuple[list, list, int]:
    out, valid, done = (np.empty(len(lo), object),), (np.ones(len(lo), bool),), np.zeros(1, np.int64)
    bounds = np.array(lo), np.array(hi), np.full(len(lo), -1)
    with contextlib.suppress(ArithmeticError):
        mta_ranges.answer(tree_of(aggregate), plain_form(aggregate), partials, *bounds, [], out, valid, done)
    return out[0].tolist(), valid[0].tolist(), int(done[0])


def test_an_empty_window_has_the_answer_of_no_rows() -> None:
    for aggregate, right in [(agg.count(), 0), (agg.concat(), None)]:
        assert answered(aggregate, [], [0], [0])[:2] == ([right], [False])


def test_an_error_leaves_the_number_of_its_window() -> None:
    def tidy(partial: str) -> str:
        if "z" in partial:
            raise ArithmeticError("no z")
        return partial

    aggregate = windrow.Aggregate(lambda v: v, lambda a, b: a + b, tidy, identity="")
    out, _, done = answered(aggregate, list("abz"), [0, 1, 2], [2, 2, 3])
    assert (out[:2], done) == (["ab", "b"], 2)
