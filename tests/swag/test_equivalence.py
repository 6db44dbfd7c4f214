"""Every algorithm x every aggregate it accepts x {plain, compiled} against Recalculate, over random sequences."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.swag.cases import CASES, VIEW, Case
from windrow import swag
from windrow.aggregates.compare import alike
from windrow.errors import Unsupported
from windrow.swag import ALGORITHMS, Recalculate, Swag

STEPS = 200
PLAIN = 3  # sequences for each pair of algorithm and aggregate
COMPILED = 4
#: nulls make another kernel, which takes seconds to compile: all aggregates with one algorithm, one with every one
WITH_NULLS = ("sum of ints",)
#: compiled with every algorithm in the quick suite: one or two of each shape of partial, several not commutative
EVERYWHERE = (
    "sum of ints",
    "max_by",
    "user's own, numbers",
)


def pairs() -> Iterator[tuple[str, Case]]:
    for name, algorithm in ALGORITHMS.items():
        for case in CASES:
            try:
                algorithm(case.make())
            except Unsupported:
                continue
            yield name, case


PAIRS = list(pairs())


def seed(*parts: object) -> random.Random:
    return random.Random(zlib.crc32(repr(parts).encode()))


def agree(case: Case, got: object, want: object) -> bool:
    view = VIEW.get(case.name, lambda answer: answer)
    got, want = view(got), view(want)
    return got == want or (not case.exact and alike(got, want, 1e-7))


@pytest.mark.parametrize(("name", "case"), PAIRS, ids=lambda part: str(part))
def test_plain(name: str, case: Case) -> None:
    for sequence in range(PLAIN):
        rnd = seed(name, case.name, sequence)
        window, oracle = ALGORITHMS[name](case.make()), Recalculate(case.make())
        for step in range(STEPS):
            grow = 0.7 if step % 80 < 40 else 0.35
            if len(oracle) and rnd.random() > grow:
                window.evict()
                oracle.evict()
            else:
                row = case.row(rnd) if rnd.random() > 0.1 else (None,) * len(case.row(rnd))
                window.insert(*row)
                oracle.insert(*row)
            assert len(window) == len(oracle)
            if rnd.random() < 0.7:
                assert agree(case, window.query(), oracle.query()), (sequence, step)
            if step % 10 == 0:
                window.check_invariants()


def bounds(rnd: random.Random, n: int) -> tuple[list[int], list[int]]:
    """Inserts and evictions at random: windows that grow, shrink, become empty and skip rows."""
    lo, hi = [], []
    f = e = 0
    while len(lo) < n:
        move = rnd.random()
        if move < 0.55:
            e = min(n, e + rnd.choice([1, 1, 1, 2, 5]))
        elif move < 0.97:
            f = min(e, f + rnd.choice([1, 1, 1, 2, 5]))
        else:
            f = e
        lo.append(f)
        hi.append(e)
    return lo, hi


def compiled_pairs() -> Iterator[Any]:
    """Every pair; those that take long to compile and say little more go behind the slow marker."""
    for name, case in PAIRS:
        quick = case.name in EVERYWHERE
        yield pytest.param(name, case, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "case"), list(compiled_pairs()), ids=lambda part: str(part))
def test_compiled(name: str, case: Case) -> None:
    rnd = seed("compiled", name, case.name)
    oracle: Swag
    for sequence in range(COMPILED):
        rows = [case.row(rnd) for _ in range(STEPS)]
        if sequence == COMPILED - 1 and (name == "two_stacks_lite" or case.name in WITH_NULLS):
            rows = [row if rnd.random() > 0.2 else (None,) * len(row) for row in rows]
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        lo, hi = bounds(rnd, STEPS)
        window = ALGORITHMS[name](case.make())
        got = window.slide_between(columns, lo, hi)
        if window.plain_only or not window.form.compiled:
            pytest.skip("runs in plain Python, which test_plain covers")
        window.check_invariants()
        oracle = Recalculate(case.make())
        f = e = 0
        for i in range(STEPS):
            while e < hi[i]:
                oracle.insert(*rows[e])
                e += 1
            while f < lo[i]:
                oracle.evict()
                f += 1
            answer = tuple(_item(part[i]) for part in got) if isinstance(got, tuple) else _item(got[i])
            assert agree(case, answer, oracle.query()), (sequence, i, lo[i], hi[i])


def _item(value: object) -> object:
    if value is np.ma.masked:
        return None
    return value.item() if isinstance(value, np.generic) else value


def test_enough_sequences() -> None:
    """A thousand sequences of 200 steps, with a non-commutative aggregate for every algorithm."""
    assert PLAIN * len(PAIRS) >= 1000
    for name, algorithm in ALGORITHMS.items():
        assert any(n == name and not case.make().commutative for n, case in PAIRS), algorithm


def test_every_aggregate_has_a_case() -> None:
    covered = {case.make().name for case in CASES}
    from windrow import agg

    aliases = {"avg", "std", "var"}
    assert set(agg.__all__) - aliases <= covered | {"join"}, set(agg.__all__) - covered


def test_the_list_is_complete() -> None:
    classes = [value for value in vars(swag).values() if isinstance(value, type) and issubclass(value, Swag)]
    assert {c for c in classes if c is not Swag} == set(ALGORITHMS.values())
