"""Sketches beyond the range where they are exact: their errors stay within what they promise."""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import random

import numpy as np
import pytest

from tests.laws import answer, plain_fold
from windrow import agg
from windrow.aggregates.tokens import token


def tree(aggregate, values):
    """Combined pairwise, as a window's structure does, not one by one."""
    partials = [aggregate.lift(v) for v in values]
    while len(partials) > 1:
        partials = [aggregate.combine(a, b) for a, b in zip(partials[::2], [*partials[1::2], None], strict=False)]
    return partials[0]


def test_approx_count_distinct():
    a = agg.approx_count_distinct(rsd=0.02)
    assert abs(a.lower(tree(a, [i % 5000 for i in range(6000)])) - 5000) < 5000 * 0.02 * 4
    assert a.lower(tree(a, ["", "", "x", None, 1, 1.0, True])) == 3


def test_approx_percentile():
    values = list(range(5000))
    random.Random(1).shuffle(values)
    a = agg.approx_percentile(q=[0.0, 0.1, 0.5, 0.99, 1.0])
    found = a.lower(tree(a, values))
    assert found[0] == 0 and found[-1] == 4999
    for q, value in zip([0.1, 0.5, 0.99], found[1:-1], strict=True):
        assert abs(value / 5000 - q) < 0.04
    assert isinstance(agg.approx_percentile(q=0.5).lower(a.lift(3)), float)


def test_count_min():
    chance = random.Random(2)
    values = [int(chance.paretovariate(1)) for _ in range(3000)]
    a = agg.count_min(relative_error=0.01)
    one, other = a.lower(tree(a, values)), answer(a, [(v,) for v in values])
    assert one == other  # the sketch is linear: how it was combined leaves no trace
    counts = collections.Counter(values)
    assert all(one.estimate(v) >= n for v, n in counts.items())
    assert sum(one.estimate(v) > n + 30 for v, n in counts.items()) <= len(counts) * 0.02
    saved = a.dump(tree(a, values))
    assert isinstance(saved, bytes) and a.lower(a.load(saved)) == one
    few = a.lower(tree(a, ["x", "", "x"]))
    assert (few.estimate("x"), few.estimate(""), few.estimate("y")) == (2, 1, 0)
    assert repr(few) == "Frequencies(3 values)" and repr(one) == "Frequencies(3000 values)"


def test_bloom():
    a = agg.bloom(items=500, fpp=0.02)
    seen = a.lower(tree(a, [f"in{i}" for i in range(500)]))
    assert all(seen.might_contain(f"in{i}") for i in range(500))
    assert sum(f"out{i}" in seen for i in range(2000)) < 2000 * 0.04
    assert "bits set" in repr(seen)


def test_frequent_items():
    chance = random.Random(3)
    values = [int(chance.paretovariate(1)) for _ in range(3000)]
    a = agg.frequent_items(k=20)
    counts = collections.Counter(values)
    for partial in (tree(a, values), plain_fold(a, [(v,) for v in values])):
        found = dict(a.lower(partial))
        assert len(found) <= 20
        assert all(counts[v] <= n <= counts[v] + 3000 / 21 for v, n in found.items())
        assert all(v in found for v, n in counts.items() if n > 3000 / 21)


def test_tokens():
    assert token(1) == token(1.0) == token(True) == token(decimal.Decimal("1.0")) == token(np.int64(1))
    assert token(0.0) == token(-0.0) and token(float("nan")) == token(-float("nan"))
    assert token("1") != token(1) and token(b"a") != token("a") and token("") != token(None)
    assert token(2**70) == token(float(2**70)) and token(float("inf")) != token(float("-inf"))
    values = [0.5, decimal.Decimal("0.5"), datetime.date(2024, 1, 1), datetime.timedelta(1), ("a", 1), datetime.time(1)]
    assert len(set(map(token, values))) == len(values)
    assert token(decimal.Decimal("NaN")) != token(decimal.Decimal("Infinity"))
    with pytest.raises(TypeError, match="sketches take"):
        token(object())


@pytest.mark.parametrize("name", ["approx_count_distinct", "approx_percentile", "count_min"])
def test_a_missing_package_is_named(monkeypatch, name):
    find = builtins.__import__

    def refuse(module, *rest, **named):
        if module == "datasketches":
            raise ImportError
        return find(module, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"\.\[sketches\]"):
        getattr(agg, name)("x", *([0.5] if name == "approx_percentile" else []))
