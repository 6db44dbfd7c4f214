"""Every aggregate keeps the laws: one line each, and one test that none was left out."""

from __future__ import annotations

import decimal
import math

import pytest
from hypothesis import strategies as st

from tests.laws import monoid_laws
from windrow import agg

# Eighths: sums and squares of them are exact, so that what differs is not rounding but a fault.
eighths = st.integers(-800, 800).map(lambda i: i / 8)
odd = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.0])
floats = st.one_of(eighths, odd)
ints = st.integers(-50, 50)
big = st.one_of(ints, st.sampled_from([2**62, -(2**62), 2**53 + 1]))
numbers = st.one_of(eighths, ints)
words = st.sampled_from(["", "a", "b", "ab", "é"])
flags = st.booleans()
FLOAT, INT, BOOL = ("float64",), ("int64",), ("bool",)
ALL = [FLOAT, INT, BOOL]
MIXED = [(a, b) for a in ("float64", "int64", "bool") for b in ("float64", "int64", "bool")]


def nullable(values):
    return st.one_of(values, st.none())


def pairs(x, y):
    return st.tuples(x, y)


test_count = monoid_laws(agg.count(), nullable(floats), ALL)
test_sum = monoid_laws(agg.sum(), nullable(floats), [FLOAT])
test_sum_of_ints = monoid_laws(agg.sum(), ints, ALL)
test_sum_of_flags = monoid_laws(agg.sum(), flags, [BOOL])
test_mean = monoid_laws(agg.mean(), nullable(floats), [FLOAT])
test_mean_of_ints = monoid_laws(agg.mean(), big, [INT])
test_weighted_mean = monoid_laws(agg.weighted_mean(), pairs(floats, st.integers(1, 9).map(float)), MIXED)
test_product = monoid_laws(agg.product(), nullable(st.one_of(st.integers(-3, 3), odd)), [FLOAT])
test_geometric_mean = monoid_laws(agg.geometric_mean(), nullable(floats), ALL)
test_geometric_mean_paper = monoid_laws(agg.geometric_mean(form="paper"), st.integers(0, 9), ALL)
test_variance = monoid_laws(agg.variance(), nullable(floats), ALL)
test_var_pop = monoid_laws(agg.var_pop(), nullable(floats), ALL)
test_stddev = monoid_laws(agg.stddev(), nullable(floats), ALL)
test_stddev_pop = monoid_laws(agg.stddev_pop(), nullable(floats), ALL)
test_variance_paper = monoid_laws(agg.variance(form="paper"), eighths, ALL)
test_var_pop_paper = monoid_laws(agg.var_pop(form="paper"), eighths, ALL)
test_stddev_paper = monoid_laws(agg.stddev(form="paper"), ints, [INT])
test_stddev_pop_paper = monoid_laws(agg.stddev_pop(form="paper"), ints, [INT])
test_skewness = monoid_laws(agg.skewness(), nullable(floats), ALL)
test_kurtosis = monoid_laws(agg.kurtosis(), nullable(floats), ALL)
test_corr = monoid_laws(agg.corr(), pairs(floats, nullable(floats)), MIXED)
test_covar_samp = monoid_laws(agg.covar_samp(), pairs(floats, nullable(floats)), MIXED)
test_regr_slope = monoid_laws(agg.regr_slope(), pairs(floats, nullable(floats)), MIXED)
test_max = monoid_laws(agg.max(), nullable(floats), ALL)
test_max_of_words = monoid_laws(agg.max(), words)
test_min = monoid_laws(agg.min(), nullable(floats), ALL)
test_min_of_decimals = monoid_laws(agg.min(), ints.map(decimal.Decimal).map(str))
test_max_count = monoid_laws(agg.max_count(), nullable(floats), ALL)
test_min_count = monoid_laws(agg.min_count(), nullable(floats), ALL)
test_value_range = monoid_laws(agg.value_range(), nullable(floats), ALL)
test_max_by = monoid_laws(agg.max_by(), pairs(nullable(ints), nullable(floats)), [(a, b) for a, b in MIXED])
test_min_by = monoid_laws(agg.min_by(), pairs(nullable(ints), nullable(floats)), [(a, b) for a, b in MIXED])
test_first = monoid_laws(agg.first(), nullable(floats), ALL)
test_last = monoid_laws(agg.last(), nullable(floats), ALL)
test_first_of_all = monoid_laws(agg.first(ignorenulls=False), nullable(words))
test_last_of_all = monoid_laws(agg.last(ignorenulls=False), nullable(words))
test_first_n = monoid_laws(agg.first_n(n=3), nullable(words))
test_last_n = monoid_laws(agg.last_n(n=3), nullable(words))
test_collect_list = monoid_laws(agg.collect_list(), nullable(words))
test_collect_set = monoid_laws(agg.collect_set(), nullable(floats))
test_concat = monoid_laws(agg.concat(sep=","), nullable(words))
test_top_k = monoid_laws(agg.top_k(k=3), nullable(floats))
test_count_distinct = monoid_laws(agg.count_distinct(), nullable(floats))
test_count_distinct_rows = monoid_laws(agg.count_distinct("a", "b"), pairs(flags, nullable(words)))
test_mode = monoid_laws(agg.mode(), nullable(floats))
test_bool_and = monoid_laws(agg.bool_and(), nullable(flags), [BOOL, INT])
test_bool_or = monoid_laws(agg.bool_or(), nullable(flags), [BOOL, INT])
test_histogram = monoid_laws(agg.histogram(edges=[-10, 0, 0.5, 10]), nullable(floats))
test_longest_increasing_run = monoid_laws(agg.longest_increasing_run(), nullable(floats), ALL)
test_approx_count_distinct = monoid_laws(agg.approx_count_distinct(), nullable(st.one_of(floats, words)))
test_approx_percentile = monoid_laws(agg.approx_percentile(q=[0, 0.25, 0.5, 1.0]), nullable(floats))
test_bloom = monoid_laws(agg.bloom(items=10), nullable(words))
test_count_min = monoid_laws(agg.count_min(), nullable(words))
test_frequent_items = monoid_laws(agg.frequent_items(k=9), nullable(words))
test_join = monoid_laws(agg.join(agg.sum(), agg.max(), agg.count()), nullable(ints))
test_join_of_columns = monoid_laws(
    agg.join(total=agg.sum("x"), who=agg.concat("y"), rows=agg.count()), pairs(nullable(ints), nullable(words))
)


@pytest.mark.parametrize("name", agg.__all__)
def test_every_aggregate_has_a_law_test(name):
    tested = {test.aggregate.name for key, test in globals().items() if hasattr(test, "aggregate")}
    assert agg.OTHER_NAMES.get(name, name) in tested


@pytest.mark.parametrize("name", agg.__all__)
def test_every_aggregate_is_documented(name):
    text = getattr(agg, name).__doc__
    assert ">>>" in text and "partial" in text and ("commutative" in text or "selective" in text)
