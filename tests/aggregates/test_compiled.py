"""What compiles gives the same answers compiled as plain, on random columns with NaN and inf among them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tests.laws import answer, near
from windrow import agg
from windrow.engine.kernel import cached, inlined, whole

#: the dtypes that select other functions than float64 does are compiled too; the rest runs interpreted in test_laws
CASES = [
    ("count", [("float64",)]),
    ("sum", [("float64",), ("int64",), ("bool",)]),
    ("mean", [("float64",), ("int64",), ("bool",)]),
    ("weighted_mean", [("float64", "int64"), ("bool", "float64")]),
    ("product", [("float64",)]),
    ("geometric_mean", [("float64",), ("bool",)]),
    ("variance", [("float64",), ("bool",)]),
    ("var_pop", [("int64",)]),
    ("stddev", [("float64",)]),
    ("stddev_pop", [("float64",)]),
    ("skewness", [("float64",), ("int64",)]),
    ("kurtosis", [("float64",)]),
    ("corr", [("float64", "float64"), ("int64", "bool")]),
    ("covar_samp", [("float64", "int64")]),
    ("regr_slope", [("float64", "float64")]),
    ("max", [("float64",), ("int64",), ("bool",)]),
    ("min", [("float64",), ("int64",), ("bool",)]),
    ("max_count", [("float64",), ("int64",)]),
    ("min_count", [("float64",), ("bool",)]),
    ("value_range", [("float64",), ("int64",)]),
    ("max_by", [("int64", "float64"), ("bool", "int64")]),
    ("min_by", [("int64", "float64"), ("float64", "int64")]),
    ("first", [("float64",), ("bool",)]),
    ("last", [("int64",)]),
    ("bool_and", [("bool",)]),
    ("bool_or", [("int64",)]),
    ("longest_increasing_run", [("float64",), ("int64",)]),
]
PAPER = ["variance", "stddev_pop", "geometric_mean"]
jit = inlined("numpy")


def compiled_fold(numeric, width):
    """lower and defined of all rows, identities in between, as one compiled function of the columns."""
    lift, combine, lower = jit(numeric.lift), whole("numpy")(numeric.combine), jit(numeric.lower)
    defined = jit(numeric.defined or (lambda p: True))
    if width == 1:

        def fold(x, y, neutral):
            p = combine(neutral, neutral)
            for i in range(len(x)):
                p = combine(p, lift(x[i]))
            p = combine(neutral, combine(p, neutral))
            return lower(p), defined(p)
    else:

        def fold(x, y, neutral):
            p = combine(neutral, neutral)
            for i in range(len(x)):
                p = combine(p, lift(x[i], y[i]))
            p = combine(neutral, combine(p, neutral))
            return lower(p), defined(p)

    return cached(whole("numpy")(fold)).compiled


def column(chance, dtype, n, odd):
    if dtype == "bool":
        return np.array([chance.random() < 0.5 for _ in range(n)], bool)
    if dtype == "int64":
        return np.array([chance.randint(-20, 20) for _ in range(n)], np.int64)
    specials = [math.nan, math.inf, -math.inf, -0.0]
    values = [chance.choice(specials) if chance.random() < odd else chance.randint(-80, 80) / 8 for _ in range(n)]
    return np.array(values, np.float64)


def agrees(aggregate, dtypes):
    numeric = aggregate.numeric(dtypes)
    fold = compiled_fold(numeric, len(dtypes))
    chance = random.Random(1)
    for n in (1, 1, 2, 3, 5, 5, 8, 40):
        for odd in (0.0, 0.3, 1.0):
            columns = [column(chance, dtype, n, odd) for dtype in dtypes]
            value, defined = fold(columns[0], columns[-1], numeric.identity)
            expected = answer(aggregate, list(zip(*[c.tolist() for c in columns], strict=True)))
            found = value if defined else None
            assert near(found, expected), (columns, found, expected)
            kind = {"float64": float, "int64": int, "bool": bool}[numeric.answer or dtypes[0]]
            assert type(value) is kind


@pytest.mark.parametrize(("name", "dtypes"), [(name, dtypes) for name, many in CASES for dtypes in many])
def test_compiled_agrees_with_plain(name, dtypes):
    agrees(getattr(agg, name)(), dtypes)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_forms_compile(name):
    numeric = getattr(agg, name)(form="paper").numeric(("float64",))
    value, _ = compiled_fold(numeric, 1)(np.array([1.0, 2.0, 4.0]), np.zeros(3), numeric.identity)
    assert near(value, answer(getattr(agg, name)(), [(1.0,), (2.0,), (4.0,)]))


def test_every_numeric_form_is_in_the_table():
    options = {"first_n": {"n": 1}, "last_n": {"n": 1}, "top_k": {"k": 1}, "approx_percentile": {"q": 0.5}}
    options |= {"histogram": {"edges": [0, 1]}}
    listed = {name for name, _ in CASES}
    for name in set(agg.__all__) - {"join"}:
        aggregate = getattr(agg, name)(**options.get(name, {}))
        width = max(aggregate.arity[0], 1)
        compiles = any(aggregate.numeric((dtype,) * width) is not None for dtype in ("float64", "int64", "bool"))
        assert compiles == (agg.OTHER_NAMES.get(name, name) in listed), name


def test_int_sums_do_not_wrap_and_overflow_is_an_error():
    numeric = agg.sum().numeric(("int64",))
    fold = compiled_fold(numeric, 1)
    big = np.array([2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 5], np.int64)
    assert fold(big, big, numeric.identity)[0] == sum(big.tolist())
    for wrong in ([2**63 - 1, 1], [-(2**63), -1]):
        with pytest.raises(OverflowError):
            fold(np.array(wrong, np.int64), big, numeric.identity)
    numeric = agg.value_range().numeric(("int64",))
    fold = compiled_fold(numeric, 1)
    with pytest.raises(OverflowError):
        fold(np.array([-(2**63), 2**63 - 1]), big, numeric.identity)


def test_means_of_large_ints_are_the_plain_ones_to_the_last_bit():
    numeric = agg.mean().numeric(("int64",))
    fold = compiled_fold(numeric, 1)
    chance = random.Random(2)
    for _ in range(50):
        values = [chance.randint(-(2**63), 2**63 - 1) for _ in range(chance.randint(1, 9))]
        column = np.array(values, np.int64)
        assert fold(column, column, numeric.identity)[0] == answer(agg.mean(), [(v,) for v in values])


@pytest.mark.parametrize("extreme", [-(2**63), 2**63 - 1])
def test_extremes_of_int64_are_rows_like_others(extreme):
    for name, width in (("max", 1), ("min", 1), ("max_count", 1), ("min_count", 1), ("max_by", 2), ("min_by", 2)):
        aggregate = getattr(agg, name)()
        numeric = aggregate.numeric(("int64",) * width)
        p = numeric.combine(numeric.identity, numeric.lift(*(7, extreme)[-width:]))
        assert numeric.lower(p) == answer(aggregate, [(7, extreme)[-width:]])
