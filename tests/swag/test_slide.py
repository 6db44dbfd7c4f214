"""`slide` against a fold of each window: rows, times, keys, batches, nulls, types, errors."""

from __future__ import annotations

import datetime
import itertools
import random
from decimal import Decimal

import numpy as np
import pytest

import windrow
from tests.swag.cases import affine
from windrow import agg, swag
from windrow.errors import WindrowError
from windrow.swag import ALGORITHMS, DABA, TwoStacksLite

NUMBERS = [agg.max, agg.sum, affine]
WORDS = [agg.concat]


def fold(aggregate: windrow.Aggregate, rows: list) -> object:
    total = None
    for row in rows:
        total = aggregate.monoid_combine(total, aggregate.monoid_lift(row))
    return aggregate.monoid_lower(total)


def by_rows(aggregate: windrow.Aggregate, values: list, keys: list, w: int) -> list:
    """The definition: for each row, the last w rows of its key up to it (keys are contiguous)."""
    answers, begin = [], 0
    for i in range(len(values)):
        if i and keys[i] != keys[i - 1]:
            begin = i
        answers.append(fold(aggregate, values[max(begin, i - w + 1) : i + 1]))
    return answers


def by_time(aggregate: windrow.Aggregate, values: list, times: list, keys: list, length: int, closed: str) -> list:
    """The definition: for each row, the rows of its key whose time lies in the interval."""

    def inside(t: int, now: int) -> bool:
        return {
            "right": now - length < t <= now,
            "left": now - length <= t < now,
            "both": now - length <= t <= now,
            "none": now - length < t < now,
        }[closed]

    return [
        fold(aggregate, [v for v, t, k in zip(values, times, keys, strict=True) if k == key and inside(t, now)])
        for now, key in zip(times, keys, strict=True)
    ]


def runs(rnd: random.Random, n: int, longest: int) -> list[int]:
    keys: list[int] = []
    while len(keys) < n:
        keys += [len(keys)] * rnd.randint(1, longest)
    return keys[:n]


@pytest.mark.parametrize("make", [*NUMBERS, *WORDS], ids=lambda make: make.__name__)
@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba", "recalculate"])
def test_rows_keys_and_batches(algorithm: str, make: object) -> None:
    """Any window, any keys, cut into any batches: the same answers. Windows about the size of a chunk, too."""
    rnd = random.Random(f"{algorithm} {make.__name__}")
    for trial in range(60):
        n = rnd.choice([0, 1, 2, 17, 300, 1500])
        w = rnd.choice([1, 2, 3, 5, 16, 100, 255, 256, 257, 400, 2000])
        keys = runs(rnd, n, rnd.choice([1, 3, 40, 700, 5000])) if trial % 2 else [0] * n
        values = [rnd.choice("abcdef") for _ in range(n)] if make in WORDS else [rnd.randint(-1, 1) for _ in range(n)]
        if make in WORDS:
            values, keys, w = values[:60], keys[:60], min(w, 16)
        window = ALGORITHMS[algorithm](make())
        cuts = sorted({0, len(values), *(rnd.randint(0, len(values)) for _ in range(rnd.choice([0, 0, 1, 5])))})
        got: list = []
        for a, z in itertools.pairwise(cuts):
            column = values[a:z] if make in WORDS else np.array(values[a:z], dtype=np.int64)
            got += window.slide(column, w, keys=np.array(keys[a:z]) if trial % 2 else None).tolist()
        assert got == by_rows(make(), values, keys, w), (trial, n, w, cuts)
        window.check_invariants()


def ends() -> windrow.Aggregate:
    """The first and last row and how many: three numbers, order matters."""
    return windrow.Aggregate(
        lift=lambda x: (x, x, 1),
        combine=lambda a, b: (a[0] if a[2] else b[0], b[1] if b[2] else a[1], a[2] + b[2]),
        lower=lambda p: 100 * p[0] + 10 * p[1] + p[2],
        identity=(0, 0, 0),
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(agg.mean, id="mean"),
        pytest.param(agg.variance, id="variance", marks=pytest.mark.slow),
        pytest.param(lambda: agg.join(agg.mean(), agg.var_pop(), agg.max()), id="join", marks=pytest.mark.slow),
        pytest.param(ends, id="ends", marks=pytest.mark.slow),
    ],
)
def test_partials_without_a_count(make: object) -> None:
    """Loops that know how many rows a partial stands for: any window, keys, batches, nulls; against the driver."""
    rng = np.random.default_rng(9)
    for trial in range(60):
        n, w = int(rng.choice([1, 2, 40, 300, 1500])), int(rng.choice([1, 2, 3, 5, 6, 7, 16, 31, 32, 100, 300]))
        keys = np.sort(rng.integers(0, 1 + n // int(rng.choice([1, 3, 10, 100])), n)) if trial % 2 else None
        values = np.ma.masked_array(rng.integers(-9, 9, n).astype(float), (trial % 7 == 6) & (rng.random(n) < 0.2))
        window, other = TwoStacksLite(make()), swag.DABA(make())
        cuts = sorted({0, n, *rng.integers(0, n + 1, rng.integers(0, 4)).tolist()})
        for a, z in itertools.pairwise(cuts):
            part = {} if keys is None else {"keys": keys[a:z]}
            got, want = (which.slide(values[a:z], w, **part) for which in (window, other))
            pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
            for mine, right in pairs:
                np.testing.assert_array_equal(np.ma.getmaskarray(mine), np.ma.getmaskarray(right))
                np.testing.assert_allclose(
                    np.ma.filled(mine, 0), np.ma.filled(right, 0), 1e-12, 1e-12, err_msg=f"{trial} {n} {w} {cuts}"
                )
            window.check_invariants()


@pytest.mark.slow
def test_huge_values_alone() -> None:
    """No identity turns what is too large to be squared into NaN, nor a constant window into anything but 0."""
    for value in (1e200, -1e300):
        for w in (1, 2, 5, 16, 40):
            assert (TwoStacksLite(agg.var_pop()).slide(np.full(600, value), w) == 0).all()


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
@pytest.mark.parametrize("make", [*NUMBERS, *WORDS], ids=lambda make: make.__name__)
def test_time(make: object, closed: str) -> None:
    """Ties, gaps, times before 1970, keys, batches that end where a time ends."""
    rnd = random.Random(f"{make.__name__} {closed}")
    for trial in range(40):
        n = rnd.choice([1, 2, 30, 120])
        keys = runs(rnd, n, 40) if trial % 2 else [0] * n
        times, now = [], -20
        for i in range(n):
            if i and keys[i] != keys[i - 1]:
                now = -20
            now += rnd.choice([0, 0, 1, 1, 2, 7, 60])
            times.append(now)
        values = [rnd.choice("abcdef") for _ in range(n)] if make in WORDS else [rnd.randint(-1, 1) for _ in range(n)]
        length = rnd.choice([0, 1, 2, 5, 10, 1000])
        window = (DABA if trial % 3 else TwoStacksLite)(make())
        places = [i for i in range(1, n) if times[i] != times[i - 1] or keys[i] != keys[i - 1]]
        cuts = sorted({0, n, *rnd.sample(places, min(len(places), rnd.choice([0, 1, 4])))})
        got: list = []
        for a, z in itertools.pairwise(cuts):
            column = values[a:z] if make in WORDS else np.array(values[a:z], dtype=np.int64)
            got += window.slide(
                column,
                length,
                times=np.array(times[a:z]),
                keys=np.array(keys[a:z]) if trial % 2 else None,
                closed=closed,
            ).tolist()
        want = by_time(make(), values, times, keys, length, closed)
        assert got == want, (trial, n, length, cuts)


def test_times_far_apart_and_datetimes() -> None:
    times = np.array([-(2**63), -(2**63) + 1, 0, 2**63 - 1])
    assert TwoStacksLite(agg.count()).slide([1, 1, 1, 1], 10, times=times).tolist() == [1, 2, 1, 1]
    days = np.array(["1969-12-31T23:59", "1970-01-01T00:00", "1970-01-01T00:05"], "M8[s]")
    minutes = np.timedelta64(5, "m")
    assert TwoStacksLite(agg.sum()).slide([1, 2, 4], minutes, times=days).tolist() == [1, 3, 4]
    assert TwoStacksLite(agg.sum()).slide(
        [1, 2, 4], datetime.timedelta(minutes=5), times=days, closed="both"
    ).tolist() == [1, 3, 6]


def test_inputs_of_all_kinds() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    values = [3, None, 1, 2]
    want = [3, 3, 1, 2]
    for column in (
        values,
        pa.array(values),
        pa.chunked_array([values[:1], values[1:]]),
        np.ma.array([3, 0, 1, 2], mask=[0, 1, 0, 0]),
    ):
        assert TwoStacksLite(agg.max()).slide(column, 2).tolist() == want
    for column in (pd.Series([3, 9, 1, 2]), pl.Series([3, 9, 1, 2]), (3, 9, 1, 2)[0:0] or [3, 9, 1, 2], range(4)):
        assert len(TwoStacksLite(agg.max()).slide(column, 2)) == 4
    moments = np.array(["2020-01-01", "2019-01-01", "NaT"], "M8[D]")
    answers = TwoStacksLite(agg.min()).slide(moments, 2)
    assert answers.dtype == moments.dtype
    assert answers.tolist() == [datetime.date(2020, 1, 1), datetime.date(2019, 1, 1), datetime.date(2019, 1, 1)]
    assert TwoStacksLite(agg.max()).slide(np.array([1.5, 0.5], np.float32), 2).dtype == np.float32
    assert TwoStacksLite(agg.max()).slide(np.array([2**63 + 1, 2**63], np.uint64), 2).tolist() == [2**63 + 1] * 2
    assert TwoStacksLite(agg.sum()).slide([Decimal("0.1"), Decimal("0.2")], 2).tolist() == [
        Decimal("0.1"),
        Decimal("0.3"),
    ]


def test_nulls() -> None:
    window = TwoStacksLite(agg.sum())
    answers = window.slide([None, None, 1, None, None, 2], 2)
    assert answers.tolist() == [None, None, 1, 1, None, 2]
    assert isinstance(answers, np.ma.MaskedArray)
    assert TwoStacksLite(agg.count()).slide([None, None, 1, None], 2).tolist() == [0, 0, 1, 1]
    assert TwoStacksLite(agg.stddev()).slide([1.0, 3.0], 2).tolist() == [None, pytest.approx(2**0.5)]
    # nulls come only in the second batch, and are still in the window in the third
    window = DABA(agg.max())
    assert window.slide([5, 1], 3).tolist() == [5, 5]
    assert window.slide([None, None, None], 3).tolist() == [5, 1, None]
    assert window.slide([2, 1], 3).tolist() == [2, 2]


def test_several_columns_and_joins() -> None:
    names, ranks = [10, 20, 30, 40], [1.0, 5.0, 5.0, 0.0]
    assert TwoStacksLite(agg.max_by()).slide((names, ranks), 2).tolist() == [10, 20, 20, 30]
    assert TwoStacksLite(agg.max_by()).slide((list("abcd"), ranks), 2).tolist() == list("abbc")
    total, top = TwoStacksLite(agg.join(agg.sum(), agg.max())).slide([1, 4, 2], 2)
    assert total.tolist() == [1, 5, 6]
    assert top.tolist() == [1, 4, 4]


def test_by_hand_after_a_batch_and_back() -> None:
    for algorithm in ALGORITHMS.values():
        window = algorithm(agg.sum())
        window.slide([1, 2, 3, 4], 3)
        assert len(window) == 3
        window.evict()
        window.insert(None)
        assert window.query() == 7
        assert window.slide([10, 20], 3).tolist() == [14, 30]


def test_an_overflow_names_the_window() -> None:
    big = 2**62
    for algorithm in ("two_stacks_lite", "daba", "subtract_on_evict"):
        window = ALGORITHMS[algorithm](agg.sum())
        window.slide([big], 3)
        with pytest.raises(OverflowError, match="window of row 1"):
            window.slide([1, big, big, 5], 3)
        assert (len(window), window.query()) == (1, big)  # as it was
        # two that cancel are no overflow, whatever the order in which they were added up
        assert window.slide([-big, big - 1], 3).tolist() == [0, big - 1]
    window = DABA(agg.sum())
    window.insert_many([2**63 - 1, 1])
    with pytest.raises(OverflowError):
        window.query()


def test_a_combine_that_raises_leaves_the_window_as_it_was() -> None:
    def careful(a: str, b: str) -> str:
        if bomb[0]:
            raise RuntimeError("no")
        return a + b

    for algorithm in ALGORITHMS.values():
        if algorithm.name == "subtract_on_evict":
            continue
        bomb = [False]
        window = algorithm(windrow.Aggregate(lambda x: x, careful, identity=""))
        content: list[str] = []
        rnd = random.Random(5)
        for _ in range(400):
            bomb[0] = rnd.random() < 0.3
            letter = rnd.choice("abc")
            try:
                if content and rnd.random() < 0.45:
                    window.evict()
                    content.pop(0)
                else:
                    window.insert(letter)
                    content.append(letter)
            except RuntimeError:
                pass
            bomb[0] = False
            assert window.query() == ("".join(content) or None)
            window.check_invariants()
        before = window.snapshot()  # the content of `bomb` is a part of what `careful` is
        bomb[0] = True
        with pytest.raises(RuntimeError):
            window.slide(list("xyz"), 1000)
        bomb[0] = False
        assert type(window).resume(window.of, before).query() == window.query() == "".join(content)


def test_bad_calls_are_refused() -> None:
    window = TwoStacksLite(agg.max())
    for wrong in (0, -1, 2.5, "3", True):
        with pytest.raises(WindrowError):
            window.slide([1], wrong)
    with pytest.raises(WindrowError, match="one length"):
        TwoStacksLite(agg.max_by()).slide(([1, 2], [1]), 2)
    with pytest.raises(WindrowError, match="sort"):
        window.slide([1, 2], 5, times=[3, 2])
    with pytest.raises(WindrowError, match="no time"):
        window.slide([1, 2], 5, times=[3, None])
    with pytest.raises(WindrowError, match="closed"):
        window.slide([1], 5, times=[3], closed="up")
    with pytest.raises(WindrowError, match="key column"):
        window.slide([1], 5, keys=[1, 2])
    window.slide([1], 5, times=[3])
    with pytest.raises(WindrowError, match="rows of one time"):
        window.slide([1], 5, times=[3])
    with pytest.raises(WindrowError, match="cannot go on"):
        window.slide([1], 5)
    with pytest.raises(TypeError, match="takes an aggregate"):
        swag.DABA(max)
    with pytest.raises(IndexError):
        swag.DABA(agg.max()).evict()
    with pytest.raises(IndexError):
        swag.DABA(agg.max()).evict_many(1)


@pytest.mark.parametrize("name", [name for name, kind in swag.ALGORITHMS.items() if not kind.counted])
def test_a_window_without_rows_has_the_answer_of_no_rows(name):
    """In plain Python, too, where the values are objects: 0 for a count, an empty list for a list."""
    objects = np.array([Decimal(1), Decimal(2), Decimal(4)], object)
    for aggregate in (agg.count(), agg.sum(), agg.collect_list(), agg.join(agg.count(), agg.max())):
        nothing = swag.Recalculate(aggregate).query()
        found = swag.ALGORITHMS[name](aggregate).slide(objects, 5, times=np.array([0, 10, 20]), closed="none")
        assert list(found) == [nothing] * 3, aggregate
