"""Every exact aggregate against an independent definition: statistics, numpy, collections, or the words themselves."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import itertools
import math
import random
import statistics

import numpy as np
import pytest

from tests.laws import answer, near
from windrow import agg

NAN, INF = math.nan, math.inf


def key(x):
    """Spark's order and equality of floats."""
    return (x != x, 0.0 if x != x else x)


def mean(x):
    return float(sum(map(fractions.Fraction, x)) / len(x))


def central(x, k):
    m = sum(map(fractions.Fraction, x)) / len(x)
    return sum((fractions.Fraction(v) - m) ** k for v in x)


def longest(x):
    best = run = 1
    for a, b in itertools.pairwise(x):
        run = run + 1 if key(a) < key(b) else 1
        best = max(best, run)
    return best


def distinct(x):
    return list({key(v): v for v in reversed(x)}.values())[::-1]


def in_order(x):
    seen = []
    for v in x:
        if key(v) not in map(key, seen):
            seen.append(v)
    return seen


def mode(x):
    counts = collections.Counter(map(key, x))
    return next(v for v in x if counts[key(v)] == max(counts.values()))


def defined(x):
    return len(set(x)) > 1


# name -> (definition, options). Of finite numbers ...
FINITE = {
    "sum": (math.fsum, {}),
    "mean": (mean, {}),
    "product": (math.prod, {}),
    "variance": (lambda x: statistics.variance(x) if len(x) > 1 else None, {}),
    "var_pop": (statistics.pvariance, {}),
    "stddev": (lambda x: statistics.stdev(x) if len(x) > 1 else None, {}),
    "stddev_pop": (statistics.pstdev, {}),
    "skewness": (
        lambda x: float(central(x, 3)) * math.sqrt(len(x)) / float(central(x, 2)) ** 1.5 if defined(x) else None,
        {},
    ),
    "kurtosis": (lambda x: float(len(x) * central(x, 4) / central(x, 2) ** 2 - 3) if defined(x) else None, {}),
    "geometric_mean": (
        lambda x: NAN if min(x) < 0 else 0.0 if 0 in x else statistics.geometric_mean(x),
        {},
    ),
    "histogram": (lambda x: np.histogram(x, [-2, 0, 1.5, 3])[0].tolist(), {"edges": [-2, 0, 1.5, 3]}),
}
# ... and of any floats, NaN and inf among them
ANY = {
    "count": (len, {}),
    "max": (lambda x: max(x, key=key), {}),
    "min": (lambda x: min(x, key=key), {}),
    "max_count": (lambda x: [key(v) for v in x].count(max(map(key, x))), {}),
    "min_count": (lambda x: [key(v) for v in x].count(min(map(key, x))), {}),
    "value_range": (lambda x: max(x, key=key) - min(x, key=key), {}),
    "first": (lambda x: x[0], {}),
    "last": (lambda x: x[-1], {}),
    "first_n": (lambda x: x[:3], {"n": 3}),
    "last_n": (lambda x: x[-3:], {"n": 3}),
    "top_k": (lambda x: sorted(x, key=key, reverse=True)[:3], {"k": 3}),
    "collect_list": (list, {}),
    "collect_set": (in_order, {}),
    "count_distinct": (lambda x: len(distinct(x)), {}),
    "mode": (mode, {}),
    "longest_increasing_run": (longest, {}),
    "concat": (lambda x: "|".join(map(str, x)), {"sep": "|"}),
    "approx_count_distinct": (lambda x: len(distinct(x)), {}),
    "approx_percentile": (lambda x: sorted(x, key=key)[math.ceil(0.3 * len(x)) - 1], {"q": 0.3}),
    "frequent_items": (
        lambda x: sorted(((v, [key(w) for w in x].count(key(v))) for v in in_order(x)), key=lambda p: -p[1]),
        {},
    ),
}


def samples(odd):
    chance = random.Random(3)
    for n in (1, 1, 2, 2, 3, 4, 5, 7, 10, 30):
        for _ in range(8):
            special = [NAN, INF, -INF, 0.0, -0.0]
            yield [
                chance.choice(special) if odd and chance.random() < 0.3 else chance.randint(-16, 16) / 8
                for _ in range(n)
            ]


def with_nulls(x, chance):
    rows = []
    for v in x:
        rows += [(None,)] * (chance.random() < 0.3) + [(v,)]
    return rows


@pytest.mark.parametrize(
    ("name", "odd"), [(name, odd) for odd, table in ((False, FINITE), (False, ANY), (True, ANY)) for name in table]
)
def test_definition(name, odd):
    definition, options = (FINITE | ANY)[name]
    aggregate = getattr(agg, name)(**options)
    chance = random.Random(4)
    for x in samples(odd):
        expected = definition(x)
        found = answer(aggregate, with_nulls(x, chance))
        assert near(found, expected), (x, found, expected)


SUMS = ["sum", "mean", "product", "variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis"]


@pytest.mark.parametrize("name", SUMS)
def test_nan_and_inf_poison(name):
    for x in ([1.0, NAN, 2.0], [INF, -INF, 1.0]):
        assert math.isnan(answer(getattr(agg, name)(), [(v,) for v in x])) or (name == "product" and INF in x)
    assert answer(agg.sum(), [(INF,), (1.0,)]) == INF


def two_columns():
    chance = random.Random(5)
    for n in (1, 2, 3, 4, 8, 20):
        for _ in range(10):
            yield [(chance.randint(-9, 9) / 2, chance.randint(-4, 4) / 4) for _ in range(n)]


def slope(y, x):
    return float(np.polyfit(x, y, 1)[0])


@pytest.mark.parametrize("rows", list(two_columns()))
def test_two_columns(rows):
    x, y = zip(*rows, strict=True)
    null = [*rows, (None, 1.0), (1.0, None)]
    several, x_varies, y_varies = len(x) > 1, len(set(x)) > 1, len(set(y)) > 1
    assert near(answer(agg.covar_samp(), null), float(np.cov(x, y)[0, 1]) if several else None)
    assert near(answer(agg.corr(), null), float(np.corrcoef(x, y)[0, 1]) if x_varies and y_varies else None)
    assert near(answer(agg.regr_slope(), null), slope(x, y) if y_varies else None)
    weights = [abs(w) for w in y]
    expected = float(np.average(x, weights=weights)) if sum(weights) else None
    assert near(answer(agg.weighted_mean(), list(zip(x, weights, strict=True))), expected)
    assert answer(agg.max_by(), null[:-1]) == x[y.index(max(y))] or max(y) < 1.0
    assert answer(agg.max_by(), rows) == x[y.index(max(y))]
    assert answer(agg.min_by(), rows) == x[y.index(min(y))]


def test_by_takes_the_first_of_ties_nan_as_the_largest_and_null_as_a_value():
    assert answer(agg.max_by(), [("a", 1.0), ("b", NAN), ("c", NAN), ("d", INF)]) == "b"
    assert answer(agg.min_by(), [("a", NAN), ("b", 1.0), ("c", 1.0)]) == "b"
    assert answer(agg.max_by(), [("a", 1), (None, 2), ("c", None)]) is None
    assert answer(agg.min_by(), [("a", None)]) is None


def test_first_and_last_with_and_without_nulls():
    rows = [(None,), ("a",), ("b",), (None,)]
    assert [answer(a, rows) for a in (agg.first(), agg.last())] == ["a", "b"]
    assert [answer(a(ignorenulls=False), rows) for a in (agg.first, agg.last)] == [None, None]


def test_booleans():
    for x in ([True], [False], [True, False], [True, True, True]):
        rows = [(v,) for v in x] + [(None,)]
        assert answer(agg.bool_and(), rows) is all(x)
        assert answer(agg.bool_or(), rows) is any(x)
    assert answer(agg.sum(), [(True,)]) == 1 and type(answer(agg.sum(), [(True,)])) is int


def test_other_types_stay_what_they_are():
    D, day = decimal.Decimal, datetime.timedelta(days=1)
    for form in (agg.sum(), agg.sum().exact):
        assert answer(form, [(D("1.50"),), (D("2.25"),)]) == D("3.75")
        assert answer(form, [(day,), (day,)]) == 2 * day
    assert answer(agg.mean(), [(D("1.5"),), (D("2.5"),)]) == D("2")
    assert answer(agg.mean(), [(day,), (3 * day,)]) == 2 * day
    assert answer(agg.product(), [(D("1.5"),), (D("2"),)]) == D("3.0")
    assert answer(agg.weighted_mean(), [(D(1), D(1)), (D(4), D(2))]) == D(3)
    assert answer(agg.weighted_mean().exact, [(D(1), D(1)), (D(4), D(2))]) == D(3)
    dates = [datetime.date(2024, 1, d) for d in (3, 1, 2)]
    assert answer(agg.max(), [(d,) for d in dates]) == dates[0]
    assert answer(agg.value_range(), [(d,) for d in dates]) == 2 * day
    assert answer(agg.min(), [(b"b",), (b"a",)]) == b"a"
    with pytest.raises(TypeError):
        answer(agg.sum().exact, [(D(1),), (1.5,)])


@pytest.mark.parametrize("name", ["sum", "mean", "product", "variance", "skewness", "corr", "geometric_mean"])
def test_text_is_no_number(name):
    with pytest.raises(TypeError, match="number"):
        getattr(agg, name)().lift(*("3", "4")[: 2 if name == "corr" else 1])


def test_numpy_ints_do_not_wrap():
    rows = [(np.int64(2**62),)] * 2 + [(np.int64(-(2**62)),)]
    assert answer(agg.sum(), rows) == 2**62
    assert answer(agg.sum(), [(np.uint8(200),)] * 2) == 400
    assert answer(agg.mean(), rows[:2]) == float(2**62)


def test_int_overflow_is_an_error():
    for aggregate in (agg.sum(), agg.sum().exact, agg.product(), agg.value_range()):
        rows = {"value_range": [(-(2**63),), (2**63 - 1,)]}.get(aggregate.name, [(2**62,)] * 2)
        with pytest.raises(OverflowError):
            answer(aggregate, rows)
    assert answer(agg.product(), [(2**62,)] * 40 + [(0,)]) == 0
    assert answer(agg.product(), [(-1,)] * 3) == -1
    with pytest.raises(OverflowError):
        answer(agg.product(), [(2**62,)] * 40)


def test_variance_does_not_cancel_and_is_never_negative():
    x = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)]
    assert near(answer(agg.variance(), [(v,) for v in x]), 30.0)
    for c in (0.1, 1e9 + 0.1, 1e300, 5e-324):
        for name in ("variance", "var_pop", "stddev", "stddev_pop"):
            assert answer(getattr(agg, name)(), [(c,)] * 7) == 0.0
    chance = random.Random(6)
    for _ in range(200):
        x = [1e8 + chance.random() * 1e-7 for _ in range(5)]
        assert answer(agg.variance(), [(v,) for v in x]) >= 0
        assert answer(agg.stddev(form="paper"), [(v,) for v in x]) >= 0  # wrong, but no complex number


def test_geometric_mean_leaves_no_range():
    assert near(answer(agg.geometric_mean(), [(1e300,)] * 50) / 1e300, 1.0)
    assert answer(agg.geometric_mean(), [(1.7976931348623157e308,)]) > 1e308
    assert answer(agg.geometric_mean(form="paper"), [(1e300,)] * 50) == INF


def test_histogram_takes_what_is_inside():
    h = agg.histogram(edges=[0, 1, 2])
    assert answer(h, [(0,), (1,), (2,), (2.1,), (-0.1,), (NAN,)]) == [1, 2]
    assert answer(h, [(9,)]) == [0, 0]
    assert answer(h, []) is None
    assert answer(agg.histogram(edges=["a", "m", "z"]), [("b",), ("n",), ("z",)]) == [1, 2]


def test_count_distinct_of_rows():
    a = agg.count_distinct("x", "y")
    assert answer(a, [(1, "a"), (1, "b"), (1, "a"), (None, "c"), (0.0, "a"), (-0.0, "a")]) == 3


def test_no_rows():
    empties = {"count": 0, "count_distinct": 0, "approx_count_distinct": 0, "collect_list": [], "collect_set": []}
    options = {"first_n": {"n": 1}, "last_n": {"n": 1}, "top_k": {"k": 1}, "approx_percentile": {"q": 0.5}}
    options |= {"histogram": {"edges": [0, 1]}}
    for name in set(agg.__all__) - {"join"}:
        aggregate = getattr(agg, name)(**options.get(name, {}))
        assert aggregate.lower(aggregate.identity) == empties.get(name)
    agg.collect_list().lower(None).append(1)  # an answer is the caller's
    assert agg.collect_list().lower(None) == []


class TestExact:
    def test_rounds_once(self):
        chance = random.Random(7)
        for _ in range(100):
            x = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300) for _ in range(8)]
            assert answer(agg.sum().exact, [(v,) for v in x]) == math.fsum(x)
            assert answer(agg.mean().exact, [(v,) for v in x]) == mean(x)

    @pytest.mark.parametrize("gone", [1e300, NAN, INF, -INF, 5e-324, decimal.Decimal("0.1"), 2**70, True])
    @pytest.mark.parametrize("name", ["sum", "mean"])
    def test_nothing_is_left_of_what_went(self, name, gone):
        form = getattr(agg, name)().exact
        kind = decimal.Decimal if isinstance(gone, decimal.Decimal) else float
        rest = [(kind(v),) for v in (1, 2, 4)]
        total = form.combine(form.lift(gone), form.lift(*rest[0]))
        for row in rest[1:]:
            total = form.combine(total, form.lift(*row))
        assert form.lower(form.inverse(total, form.lift(gone))) == answer(getattr(agg, name)(), rest)

    def test_kinds(self):
        exact = agg.sum().exact
        assert type(answer(exact, [(1,), (2,)])) is int
        assert answer(exact, [(2**53,), (1.0,), (1.0,)]) == 2.0**53 + 2
        assert answer(exact, [(1.7e308,), (1.7e308,)]) == INF
        assert math.isnan(answer(exact, [(INF,), (-INF,)]))
        with pytest.raises(decimal.Inexact):
            answer(exact, [(decimal.Decimal("1e600"),), (decimal.Decimal("1e-600"),)])

    def test_weighted(self):
        a = agg.weighted_mean().exact
        chance = random.Random(8)
        for _ in range(50):
            rows = [(chance.uniform(-9, 9), chance.choice([1, 2, 0.5, 1e200])) for _ in range(6)]
            x = sum(fractions.Fraction(v) * fractions.Fraction(w) for v, w in rows)
            assert answer(a, rows) == float(x / sum(fractions.Fraction(w) for _, w in rows))
        assert answer(a, [(1.0, 1.0), (2.0, -1.0)]) is None
        assert math.isnan(answer(a, [(NAN, 1.0), (2.0, 1.0)]))
        assert answer(a, [(INF, 1.0), (2.0, 1.0)]) == INF
