"""Keys as codes, and rows in the order of keys and times, against dictionaries and Python's own sort."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.engine import grouping, placing, sorting
from windrow.engine.grouping import factorize, order, places, segments
from windrow.engine.placing import by_key, extent, gathered, in_order, scattered, sorted_keys
from windrow.engine.threads import Threads
from windrow.errors import WindrowError

NAN = float("nan")


def column(values: list, dtype: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Values and mask, None being null."""
    there = np.array([value is not None for value in values], bool)
    if dtype is object:
        array = np.empty(len(values), object)
        array[:] = values
    else:
        array = np.array([0 if value is None else value for value in values], dtype)
    return array, None if there.all() else there


def naive(*columns: list) -> tuple[list[int], list[int]]:
    table: dict[tuple, int] = {}
    codes, rows = [], []
    for i, key in enumerate(zip(*columns, strict=True)):
        key = tuple("NaN" if value != value else value for value in key)
        if key not in table:
            table[key] = len(table)
            rows.append(i)
        codes.append(table[key])
    return codes, rows


def check(given: list[tuple[list, Any]]) -> None:
    codes, rows = factorize([column(values, dtype) for values, dtype in given])
    assert codes.dtype == rows.dtype == np.int64
    assert (codes.tolist(), rows.tolist()) == naive(*(values for values, _ in given))


KINDS: dict[str, tuple[Any, list]] = {
    "small ints": (np.int64, [3, 1, -2, 0]),
    "wide ints": (np.int64, [2**63 - 1, -(2**63), 0, 5, -1, 2**40]),
    "floats": (np.float64, [0.5, -0.0, 0.0, NAN, -NAN, 1e300, float("inf")]),
    "bools": (bool, [True, False]),
    "texts": (object, ["a", "b", "", "ä"]),
    "objects": (object, ["a", 1, Decimal("2.5"), NAN, float("nan"), (1, 2)]),
    "instants": ("M8[us]", [np.datetime64("1969-01-01", "us"), np.datetime64("2030-01-01", "us")]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nulls", [False, True])
def test_one_column(kind: str, nulls: bool) -> None:
    rng = random.Random(kind)
    dtype, values = KINDS[kind]
    values = values + [None] * nulls
    for n in (0, 1, 2, 5, 40):
        for _ in range(20):
            check([([rng.choice(values) for _ in range(n)], dtype)])


def test_several_columns() -> None:
    rng = random.Random(1)
    for _ in range(100):
        n = rng.randint(0, 60)
        chosen = rng.sample(sorted(KINDS), rng.randint(2, 4))
        given = [(KINDS[kind], [rng.choice([*KINDS[kind][1], None]) for _ in range(n)]) for kind in chosen]
        check([(values, dtype) for (dtype, _), values in given])


def test_a_table_that_grows() -> None:
    """More keys than the first table holds, in a range too wide to be indexed, null among them."""
    rng = random.Random(2)
    keys = [rng.randint(-(2**63), 2**63 - 1) for _ in range(5000)]
    for nulls in ([], [None]):
        values = [rng.choice(keys + nulls) for _ in range(20000)] + keys + nulls
        check([(values, np.int64)])
    check([([None, *keys, 0, None], np.int64)])  # what lies under a null (here 0) is no key
    spread = list(range(0, 10**9, 10**5))  # keys whose low bits are alike
    check([([spread[i % 7919] for i in range(20000)], np.int64)])


def test_keys_that_cannot_be_keys() -> None:
    with pytest.raises(WindrowError, match=r"row 1: .*hashable"):
        factorize([column(["a", ["b"], "c"], object)])
    with pytest.raises(WindrowError, match="not 2 and 3"):
        factorize([column([1, 2], np.int64), column([1, 2, 3], np.int64)])


def check_order(codes: list[int], count: int, times: list | None, dtype: Any = np.int64) -> None:
    expected = sorted(range(len(codes)), key=lambda i: (codes[i], times[i] if times is not None else 0))
    found = order(np.array(codes, np.int64), count, None if times is None else np.array(times, dtype))
    if expected == list(range(len(codes))):
        assert found is None
    else:
        assert found is not None
        assert found.tolist() == expected
    seg = segments(np.array(codes, np.int64), count)
    assert np.diff(seg).tolist() == [codes.count(k) for k in range(count)]
    assert seg[0] == 0


def test_order() -> None:
    rng = random.Random(3)
    for _ in range(500):
        n, count = rng.randint(0, 40), rng.choice([1, 2, 5, 30])
        codes = [rng.randrange(count) for _ in range(n)]
        times = [rng.choice([0, 1, -5, 7, 2**62, -(2**62)]) for _ in range(n)]
        if rng.random() < 0.5:
            codes.sort()
        if rng.random() < 0.5:
            times.sort()
        check_order(codes, count, times)
        check_order(codes, count, None)
        check_order(codes, count, [t / 4 for t in times], np.float64)


def test_rows_in_order_within_each_key_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(values: np.ndarray) -> np.ndarray:
        raise AssertionError("sorted")

    monkeypatch.setattr("windrow.engine.grouping.sorted_positions", refuse)
    check_order([0, 1, 0, 1, 1], 2, [5, 1, 5, 2, 9])
    with pytest.raises(AssertionError, match="sorted"):
        check_order([0, 1, 0, 1, 1], 2, [5, 1, 4, 2, 9])


RNG = np.random.default_rng(0)
COLUMNS = {
    "all of int64": RNG.integers(-(2**63), 2**63 - 1, 20000),
    "few": RNG.integers(-3, 4, 20000),
    "far out": RNG.integers(0, 10**7, 20000) + 2**62,
    "one": np.zeros(20000, np.int64),
    "floats": RNG.normal(0, 1e6, 20000).round(-5) * RNG.choice([0.0, -0.0, 1e-300, 1.0], 20000),
    "infinities": RNG.choice([-np.inf, np.inf, -1.5], 20000),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_sorting_by_digits(values: np.ndarray) -> None:
    assert len(values) >= sorting.MANY
    assert sorting.sorted_positions(values).tolist() == np.argsort(values, kind="stable").tolist()


numbers = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.none()), max_size=60)


@given(numbers, st.sampled_from([1, 2, 3, 7]), st.integers(1, 9))
def test_keys_of_parts_are_numbered_as_those_of_the_whole(values: list, count: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch, Threads(count) as threads:
        patch.setattr(grouping, "PART", size)
        patch.setattr(grouping, "DIRECT", 16)
        codes, rows = factorize([column(values, np.int64)], threads)
        assert (codes.tolist(), rows.tolist()) == naive(values)
        twice = [value if value is None else value % 3 for value in values]
        codes, rows = factorize([column(values, np.int64), column(twice, np.int64)], threads)
        assert (codes.tolist(), rows.tolist()) == naive(values, twice)


pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 4)), max_size=50)


@given(pairs, st.booleans(), st.sampled_from(["as they are", "times sorted", "sorted"]), st.sampled_from([1, 2, 3]))
def test_places(rows: list, timed: bool, how: str, count: int) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if how == "times sorted" else sorted(rows) if how == "sorted" else rows
    codes, times = np.array([k for k, _ in rows], np.int64), np.array([t for _, t in rows], np.int64)
    expected = sorted(range(len(rows)), key=lambda i: rows[i] if timed else rows[i][0])
    for stamps in (times, times.astype(np.float64)):
        with pytest.MonkeyPatch.context() as patch, Threads(count) as threads:
            patch.setattr(placing, "PART", 4)
            patch.setattr(placing, "BLOCK", 3)
            found = places(codes, 6, stamps if timed else None, threads)
            if found is None:
                assert expected == list(range(len(rows)))
                return
            place = found.place
            assert sorted_keys(found.begin, threads).tolist() == sorted(codes.tolist())
            assert found.begin.tolist() == segments(codes, 6).tolist()
            moved = scattered(np.arange(len(rows)), place, threads)
            assert moved.tolist() == expected
            assert gathered(moved, place, threads).tolist() == list(range(len(rows)))
            texts = np.array([f"w{i}" for i in range(len(rows))], object)
            assert gathered(scattered(texts, place, threads), place, threads).tolist() == texts.tolist()
            assert codes[np.argsort(by_key(codes, 6, threads).place)].tolist() == sorted(codes.tolist())
            assert in_order(codes[:0], times, threads) == (times.tolist() == sorted(times.tolist()))
            assert extent(times, threads) == (times.min(), times.max())
