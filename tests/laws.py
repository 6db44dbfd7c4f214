"""The laws as a library: `test_max = monoid_laws(agg.max(), floats)` is all that an aggregate's law test needs."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windrow.aggregates.base import Aggregate, Numeric


def near(a: Any, b: Any, tolerance: float = 1e-7) -> bool:
    """The same answer: exact but for floats, where `tolerance` is relative, and absolute below 1; NaN is NaN."""
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, min(abs(a), abs(b)))
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


def plain_fold(aggregate: Aggregate, rows: Sequence[tuple]) -> Any:
    """The partial of all rows, the oldest first."""
    partial = None
    for row in rows:
        partial = aggregate.monoid_combine(partial, aggregate.monoid_lift(*row))
    return partial


def answer(aggregate: Aggregate, rows: Sequence[tuple]) -> Any:
    return aggregate.monoid_lower(plain_fold(aggregate, rows))


def numeric_answer(numeric: Numeric, rows: Sequence[tuple]) -> Any:
    """The answer of the form that compiles, run in the interpreter, with identities before, between and after."""
    neutral = numeric.combine(numeric.identity, numeric.identity)
    partial = neutral
    for row in rows:
        partial = numeric.combine(numeric.combine(partial, neutral), numeric.combine(numeric.lift(*row), neutral))
    partial = numeric.combine(neutral, partial)
    value = numeric.lower(partial)
    if hasattr(value, "item"):  # a NumPy number, where the form works on bits
        value = value.item()
    if numeric.defined is None or numeric.defined(partial):
        return value
    assert math.isnan(value)  # whoever overlooks `defined` must not take it for an answer
    return None


def storable(data: Any) -> bool:
    """What a snapshot can hold."""
    if isinstance(data, tuple):
        return all(map(storable, data))
    return data is None or isinstance(data, (int, float, str, bytes))


class Laws:
    """Every law as a method on rows; `tree` decides how the rows are combined."""

    def __init__(self, aggregate: Aggregate, dtypes: Sequence[Sequence[str]]) -> None:
        self.aggregate, self.dtypes = aggregate, dtypes

    def tree(self, partials: list, draw: Callable[[int], int]) -> Any:
        """The partials combined in the order of a random binary tree, and that nothing of theirs was changed."""
        aggregate, partials = self.aggregate, list(partials)
        dump = getattr(aggregate, "dump", lambda p: p)
        before = [None if p is None else copy.deepcopy(dump(p)) for p in partials]
        live = list(partials)
        while len(live) > 1:
            i = draw(len(live) - 2)
            live[i : i + 2] = [aggregate.combine(live[i], live[i + 1])]
        after = [None if p is None else dump(p) for p in partials]
        assert near(before, after, 0.0), "combine changed its arguments"
        return live[0] if live else None

    def associative(self, rows: list, draw: Callable[[int], int]) -> None:
        lifted = [self.aggregate.lift(*row) for row in rows]
        assert near(self.aggregate.lower(self.tree(lifted, draw)), answer(self.aggregate, rows))

    def skips_nulls(self, rows: list, draw: Callable[[int], int]) -> None:
        if not rows or self.aggregate.needs == ():
            return
        i = draw(len(rows) - 1)
        needs = range(len(rows[i])) if self.aggregate.needs is None else self.aggregate.needs
        for j in needs:
            null = tuple(None if k == j else value for k, value in enumerate(rows[i]))
            assert near(answer(self.aggregate, [*rows[:i], null, *rows[i:]]), answer(self.aggregate, rows))
            assert near(answer(self.aggregate, [null]), self.aggregate.empty)

    def claims(self, rows: list, draw: Callable[[int], int]) -> None:
        aggregate = self.aggregate
        if aggregate.commutative:
            assert near(answer(aggregate, rows[::-1]), answer(aggregate, rows))
        if aggregate.selective and len(rows) > 1:
            cut = 1 + draw(len(rows) - 2)
            a, b = plain_fold(aggregate, rows[:cut]), plain_fold(aggregate, rows[cut:])
            both = aggregate.combine(a, b)
            assert near(both, a, 0.0) or near(both, b, 0.0)
        for form in (aggregate, aggregate.exact):
            if form is not None and form.inverse is not None:
                cut = draw(len(rows))
                rest = form.inverse(plain_fold(form, rows), plain_fold(form, rows[:cut]))
                assert near(form.lower(rest), answer(form, rows[cut:]))
        if aggregate.exact is not None:
            assert aggregate.invertible and near(answer(aggregate.exact, rows), answer(aggregate, rows))

    def saves(self, rows: list, draw: Callable[[int], int]) -> None:
        partial = plain_fold(self.aggregate, rows)
        if partial is not None and self.aggregate.builtin:
            data = self.aggregate.dump(partial)
            assert storable(data)
            assert near(self.aggregate.lower(self.aggregate.load(data)), self.aggregate.lower(partial))

    def compiles(self, rows: list, draw: Callable[[int], int]) -> None:
        """The numeric form, still interpreted, agrees with the plain one (test_compiled.py compiles it)."""
        rows = [row for row in rows if None not in row]
        for dtypes in self.dtypes:
            kinds = {"float64": float, "int64": int, "bool": bool}
            finite = all(isinstance(v, (int, float)) and (math.isfinite(v) or k == "float64")
                         for row in rows for v, k in zip(row, dtypes, strict=True))  # fmt: skip
            if not rows or not finite:
                continue
            typed = [tuple(kinds[k](v) for v, k in zip(row, dtypes, strict=True)) for row in rows]
            numeric = self.aggregate.numeric(dtypes)
            assert numeric is not None
            assert near(numeric_answer(numeric, typed), answer(self.aggregate, typed))
            partial = plain_fold(self.aggregate, typed)
            frozen = numeric.freeze(partial)
            assert [type(v) for v in frozen] == [type(v) for v in numeric.identity]
            assert near(self.aggregate.lower(numeric.thaw(frozen)), self.aggregate.lower(partial))
            if numeric.inverse is not None:
                cut = draw(len(typed) - 1)
                oldest = numeric.freeze(plain_fold(self.aggregate, typed[:cut])) if cut else numeric.identity
                rest = numeric.thaw(numeric.inverse(frozen, oldest))
                assert near(self.aggregate.lower(rest), answer(self.aggregate, typed[cut:]))


def monoid_laws(
    aggregate: Aggregate, values: st.SearchStrategy, dtypes: Sequence[Sequence[str]] = (), examples: int = 60
) -> Callable[[], None]:
    """A test of all laws on rows of `values` (tuples where the aggregate takes several columns), nulls among them."""
    row = values.map(lambda v: v if isinstance(v, tuple) else (v,))
    laws = Laws(aggregate, dtypes)

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(row, max_size=9), st.randoms(use_true_random=False))
    def test(rows, chance):
        def draw(most):
            return chance.randint(0, most)

        for law in (laws.associative, laws.skips_nulls, laws.claims, laws.saves, laws.compiles):
            law(rows, draw)

    test.aggregate = aggregate
    return test
