"""Every aggregate with rows to try it on: the one table that the comparisons of algorithms go through."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import windrow
from windrow import agg


@dataclass(frozen=True)
class Case:
    """An aggregate, and how to draw a row for it."""

    name: str
    make: Callable[[], windrow.Aggregate]
    row: Callable[[random.Random], tuple]
    exact: bool = True  # answers are compared for equality; else within rounding

    def __str__(self) -> str:
        return self.name


def _int(rnd: random.Random) -> tuple:
    return (rnd.randint(-9, 9),)


def _float(rnd: random.Random) -> tuple:
    return (rnd.choice([rnd.uniform(-100, 100), rnd.uniform(-1e-3, 1e-3), 0.0, -0.0, 7.25]),)


def _positive(rnd: random.Random) -> tuple:
    return (rnd.uniform(0.5, 2.0),)


def _word(rnd: random.Random) -> tuple:
    return (rnd.choice("abcdefgh"),)


def _flag(rnd: random.Random) -> tuple:
    return (rnd.random() < 0.8,)


def _floats(rnd: random.Random) -> tuple:
    return (rnd.uniform(-5, 5), rnd.uniform(0.5, 5))


def _ranked(rnd: random.Random) -> tuple:
    return (rnd.randint(0, 99), rnd.randint(0, 5))


def _labelled(rnd: random.Random) -> tuple:
    return (rnd.choice("abcdefgh"), rnd.randint(0, 5))


def affine() -> windrow.Aggregate:
    """Composition of affine maps: numbers, and not commutative."""
    return windrow.Aggregate(
        lift=lambda x: (x, 1),
        combine=lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
        lower=lambda p: p[1],
        identity=(1, 0),
        name="affine",
    )


def _unit(rnd: random.Random) -> tuple:
    return (rnd.choice([-1, 1, 1, -1, 0]),)


CASES = [
    Case("count", agg.count, _int),
    Case("sum of ints", agg.sum, _int),
    Case("sum of floats", agg.sum, _float, exact=False),
    Case("min of ints", agg.min, _int),
    Case("min of floats", agg.min, _float),
    Case("max of ints", agg.max, _int),
    Case("max of floats", agg.max, _float),
    Case("max of words", agg.max, _word),
    Case("mean", agg.mean, _float, exact=False),
    Case("product", agg.product, _positive, exact=False),
    Case("geometric_mean", agg.geometric_mean, _positive, exact=False),
    Case("variance", agg.variance, _float, exact=False),
    Case("var_pop", agg.var_pop, _float, exact=False),
    Case("stddev", agg.stddev, _float, exact=False),
    Case("stddev_pop", agg.stddev_pop, _float, exact=False),
    Case("variance, paper's form", lambda: agg.variance(form="paper"), _positive, exact=False),
    Case("geometric_mean, paper's form", lambda: agg.geometric_mean(form="paper"), _positive, exact=False),
    Case("max_count", agg.max_count, _int),
    Case("min_count", agg.min_count, _int),
    Case("max_by", agg.max_by, _ranked),
    Case("max_by of words", agg.max_by, _labelled),
    Case("min_by", agg.min_by, _ranked),
    Case("first", agg.first, _int),
    Case("last", agg.last, _int),
    Case("first_n", lambda: agg.first_n(n=3), _word),
    Case("last_n", lambda: agg.last_n(n=3), _word),
    Case("collect_list", agg.collect_list, _word),
    Case("collect_set", agg.collect_set, _word),
    Case("concat", agg.concat, _word),
    Case("concat with a separator", lambda: agg.concat(sep="-"), _word),
    Case("value_range", agg.value_range, _int),
    Case("top_k", lambda: agg.top_k(k=3), _int),
    Case("count_distinct", agg.count_distinct, _int),
    Case("mode", agg.mode, _word),
    Case("bool_and", agg.bool_and, _flag),
    Case("bool_or", agg.bool_or, _flag),
    Case("weighted_mean", agg.weighted_mean, _floats, exact=False),
    Case("corr", agg.corr, _floats, exact=False),
    Case("covar_samp", agg.covar_samp, _floats, exact=False),
    Case("regr_slope", agg.regr_slope, _floats, exact=False),
    Case("skewness", agg.skewness, _float, exact=False),
    Case("kurtosis", agg.kurtosis, _float, exact=False),
    Case("histogram", lambda: agg.histogram(edges=[-9, -3, 0, 4, 9]), _int),
    Case("longest_increasing_run", agg.longest_increasing_run, _int),
    Case("approx_count_distinct", agg.approx_count_distinct, _int),
    Case("approx_percentile", lambda: agg.approx_percentile(q=0.5), _float, exact=False),
    Case("bloom", agg.bloom, _word),
    Case("count_min", agg.count_min, _word),
    Case("frequent_items", agg.frequent_items, _word),
    Case("join", lambda: agg.join(agg.sum(), agg.max(), agg.count()), _int),
    Case("join with words", lambda: agg.join(agg.concat(), agg.max()), _word),
    Case("user's own, numbers", affine, _unit),
    Case(
        "user's own, words",
        lambda: windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity="", name="words"),
        _word,
    ),
]  # fmt: skip

#: sketches answer with objects; these stand for them
VIEW: dict[str, Callable[[Any], Any]] = {
    "bloom": lambda answer: answer and [answer.might_contain(c) for c in "abcdefghxyz"],
    "count_min": lambda answer: answer and [answer.estimate(c) for c in "abcdefghxyz"],
    "frequent_items": lambda answer: answer and sorted(map(tuple, answer)),
    "mode": lambda answer: answer,
}
