"""Makers: columns, options and what is refused; join; the laws on a user's aggregate."""

from __future__ import annotations

import subprocess
import sys

import pytest

import windrow
from tests.laws import answer
from windrow import agg
from windrow.aggregates.laws import check_laws, default_rows
from windrow.errors import LawError, WindrowError


def test_columns_and_options():
    assert agg.max().columns == () and agg.max("len").columns == ("len",)
    assert agg.max_by("who", "len").columns == ("who", "len")
    assert agg.first_n("x", 3).columns == ("x",)
    assert answer(agg.first_n("x", n=2), [(1,), (2,), (3,)]) == answer(agg.first_n(n=2), [(1,), (2,), (3,)]) == [1, 2]
    assert answer(agg.concat("x", ","), [("a",), ("b",)]) == "a,b"
    assert answer(agg.approx_percentile("x", 0.5), [(1,), (2,), (3,)]) == 2.0
    assert answer(agg.top_k("x", 1), [(1,), (2,)]) == [2]
    assert repr(agg.max("len")) == "max(len)"
    assert agg.count().columns == () and agg.count("a", "b").columns == ("a", "b")
    assert answer(agg.count(), [(), ()]) == 2 and answer(agg.count(), [(None,), (1,)]) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: agg.first_n("x"), "n must be an integer of 1 or more, got None"),
        (lambda: agg.first_n("x", 0), "n must be an integer of 1 or more"),
        (lambda: agg.last_n("x", 1.5), "n must be"),
        (lambda: agg.top_k("x", True), "k must be"),
        (lambda: agg.concat("x", 3), "sep must be text"),
        (lambda: agg.histogram("x"), "edges must be two or more"),
        (lambda: agg.histogram("x", [1]), "edges must be"),
        (lambda: agg.histogram("x", [1, 1]), "each larger"),
        (lambda: agg.histogram("x", [0, float("nan")]), "each larger"),
        (lambda: agg.histogram("x", "ab"), "edges"),
        (lambda: agg.approx_percentile("x"), "q must be a number from 0 to 1"),
        (lambda: agg.approx_percentile("x", 1.5), "q must be"),
        (lambda: agg.approx_percentile("x", []), "q must be"),
        (lambda: agg.approx_percentile("x", 0.5, k=3), "k must be an integer from 8"),
        (lambda: agg.approx_count_distinct("x", rsd=0), "rsd must be a number between"),
        (lambda: agg.approx_count_distinct("x", rsd=1e-5), "count_distinct is exact"),
        (lambda: agg.bloom("x", items=0), "items must be"),
        (lambda: agg.bloom("x", fpp=1), "fpp must be"),
        (lambda: agg.count_min("x", confidence="high"), "confidence must be"),
        (lambda: agg.frequent_items("x", k=-1), "k must be"),
        (lambda: agg.variance("x", form="naive"), "form must be one of 'moments', 'paper'"),
        (lambda: agg.geometric_mean("x", form=None), "form must be one of"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: agg.max("a", "b"),
        lambda: agg.max_by("a"),
        lambda: agg.max(3),
        lambda: agg.first_n(3, n=3),
        lambda: agg.corr("x", None),
        lambda: agg.join(agg.sum("x"), agg.max()),
    ],
)
def test_bad_columns_are_refused(make):
    with pytest.raises(WindrowError):
        make()


class TestJoin:
    def test_bare_aggregates_share_the_row(self):
        a = agg.join(agg.sum(), agg.max_by(), agg.count())
        assert answer(a, [(1, 5), (2, 9), (4, None)]) == (7, 2, 3)
        assert a.lower(None) == (None, None, 0)

    def test_columns_are_the_union(self):
        a = agg.join(total=agg.sum("x"), best=agg.max_by("y", "x"), rows=agg.count())
        assert a.columns == ("x", "y")
        assert [where for _, where in a.parts] == [(0,), (1, 0), ()]
        result = answer(a, [(1, "a"), (5, "b"), (None, "c")])
        assert result == (6, "b", 3) and result.best == "b"

    def test_facts(self):
        assert agg.join(agg.sum(), agg.max()).commutative and not agg.join(agg.sum(), agg.first()).commutative
        assert not agg.join(agg.sum(), agg.max()).invertible
        assert agg.join(agg.count(), agg.collect_list()).inverse is not None
        both = agg.join(agg.sum("x"), agg.count("y"))
        assert both.inverse is None and both.exact.inverse is not None and both.exact.columns == ("x", "y")

    def test_of_ones_own(self):
        last = windrow.Aggregate(lambda x: x, lambda a, b: b, identity=None)
        assert answer(agg.join(last, agg.sum()), [(1,), (2,)]) == (2, 3)

    @pytest.mark.parametrize("make", [lambda: agg.join(), lambda: agg.join(agg.sum(), a=agg.sum())])
    def test_nothing_to_join(self, make):
        with pytest.raises(ValueError, match="join"):
            make()

    def test_not_an_aggregate(self):
        with pytest.raises(TypeError, match=r"agg\.max"):
            agg.join(max)


def own(lift=lambda x: x, combine=None, **rest):
    return windrow.Aggregate(lift, combine, **rest)


def extend(a, b):
    a.extend(b)
    return a


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        (own(combine=lambda a, b: a - b, identity=0), "not associative"),
        (own(combine=lambda a, b: (a + b) / 2, identity=0), "not associative"),
        (own(combine=max, identity=0), "identity=0 is not neutral"),
        (own(combine=lambda a, b: a + b, identity=1), "identity=1 is not neutral"),
        (own(lambda x: [x], extend, identity=[]), "changes its arguments"),
        (own(lambda x: (x,), lambda a, b: a + b, identity=(), commutative=True), "not commutative"),
        (own(combine=lambda a, b: a + b, identity=0, selective=True), "neither of its arguments"),
        (own(combine=lambda a, b: a + b, identity=0, inverse=lambda t, o: o - t), "inverse"),
    ],
)
def test_bad_aggregates_are_refused_at_first_sight(aggregate, message):
    with pytest.raises(LawError, match=message) as refused:
        check_laws(aggregate, default_rows(aggregate), synthetic=True)
    assert "For the rows" in str(refused.value) and "against" in str(refused.value)


class Bag:
    """A partial without an equality of its own."""

    def __init__(self, items):
        self.items = items


@pytest.mark.parametrize(
    "aggregate",
    [
        own(combine=lambda a, b: a + b, identity=0, inverse=lambda t, o: t - o, commutative=True),
        own(lambda p, v: (p * v, v), lambda a, b: (a[0] + b[0], a[1] + b[1]), identity=(0.0, 0.0)),
        own(lambda s: s.upper(), lambda a, b: a + b, identity=""),  # not for numbers: nothing to try
        own(lambda x: [x], lambda a, b: a + b, identity=[]),
        own(combine=max, identity=float("-inf"), selective=True, commutative=True),
        own(lambda x: {x: 1}, lambda a, b: {k: a.get(k, 0) + b.get(k, 0) for k in {**a, **b}}, identity={}),
        own(lambda x: Bag([x]), lambda a, b: Bag(a.items + b.items), lower=lambda p: p.items, identity=Bag([])),
    ],
)
def test_good_aggregates_pass(aggregate):
    check_laws(aggregate, default_rows(aggregate), synthetic=True)


def test_large_and_odd_data_are_no_counter_example():
    total = own(combine=lambda a, b: a + b, identity=0.0, commutative=True)
    inf, nan = float("inf"), float("nan")
    check_laws(total, [(v,) for v in (1e16, 1.0, -1e16, 1e308, 1e308, inf, -inf, nan, 0.1, -0.1)])
    moments = own(agg.variance().core_lift, agg.variance().core_combine, identity=None)
    check_laws(moments, [(1.7e15 + i * 0.37,) for i in range(20)])


def test_real_rows_that_raise_are_an_error():
    with pytest.raises(TypeError):
        check_laws(own(combine=lambda a, b: a + b, identity=0), [("a",), ("b",)])


def test_builtins_pass_too():
    for aggregate in (agg.max(), agg.mean(), agg.concat(), agg.mode(), agg.approx_percentile(q=0.5), agg.count_min()):
        check_laws(aggregate, [(1.5,), (None,), (2.5,), (-1.0,), (2.5,)])


def test_the_package_needs_no_compiler_and_no_sketches():
    code = (
        "import sys; sys.modules['numba'] = sys.modules['datasketches'] = None; "
        "import importlib.util as u, types; "
        "root = u.find_spec('windrow').submodule_search_locations; "
        "w = types.ModuleType('windrow'); w.__path__ = list(root); sys.modules['windrow'] = w; "
        "import windrow.aggregates as a; print(a.max().lower(a.max().lift(3)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "3", done.stderr


def test_traits_are_declared_where_an_aggregate_is_defined() -> None:
    bare = [make() for make in (agg.min, agg.max, agg.first, agg.last, agg.max_by, agg.min_by, agg.mode, agg.sum)]
    assert [a.name for a in bare if a.carries_label] == ["first", "last", "max_by", "min_by"]
    assert [a.name for a in bare if a.result == "input"] == ["min", "max", "first", "last", "max_by", "min_by", "mode"]
    assert (agg.sum().result, agg.mean().result, agg.value_range().result) == ("sum", "mean", "range")
    how = agg.mean("x").derived_from
    assert how is not None and how.kinds == ("float64",)
    assert agg.sum("x").computes(how.sources[0]) and agg.count("x").computes(how.sources[1])
    assert not agg.mean("x").computes(how.sources[0])


def test_a_name_gives_no_traits() -> None:
    own = windrow.Aggregate(lambda x: x, max, identity=0, name="max")
    assert (own.result, own.carries_label, own.over_times, own.derived_from) == (None, False, None, None)
    assert not own.computes(agg.max())
