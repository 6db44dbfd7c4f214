"""One rule on every path: ints never wrap, and equal sets are no change."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.swag import ALGORITHMS, AMTA, FlatFAT


def total() -> windrow.Aggregate:
    return windrow.Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity=0, inverse=lambda t, a: t - a)


def text_total() -> windrow.Aggregate:
    """Not compiled."""
    return windrow.Aggregate(
        lift=lambda x: (x, ""), combine=lambda a, b: (a[0] + b[0], ""), lower=lambda p: p[0], identity=(0, "")
    )


SMALL = [np.array([200, 100], np.uint8), np.array([100, 100], np.int8), np.array([2**31 - 1, 5], np.int32)]


@pytest.mark.parametrize("rows", SMALL, ids=lambda rows: rows.dtype.name)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_user_s_sum_of_small_ints_by_hand(name: str, rows: np.ndarray) -> None:
    expected = sum(rows.tolist())
    one, many = ALGORITHMS[name](total()), ALGORITHMS[name](total())
    for row in rows:
        one.insert(row)
    many.insert_many(rows)
    assert [one.query(), many.query()] == [expected, expected]


def test_the_same_in_arrays_trees_and_queries() -> None:
    for rows in SMALL:
        expected = sum(rows.tolist())
        assert FlatFAT.new(total(), rows).query() == expected
        fat = FlatFAT.new(total(), [0, 0])
        fat.update({1: rows[0], 2: rows[1]})
        assert fat.query() == expected
        assert AMTA(text_total()).slide(rows, 2)[-1] == expected
        for given in (rows, list(rows), rows.astype(object), np.fromiter(rows, object, 2)):
            assert ALGORITHMS["daba"](total()).slide(given, 2)[-1] == expected
            for of in (total, text_total):
                query = windrow.Query(windows=win.tumbling(2), aggregates={"s": of()("x")})
                assert query.run({"x": given})["s"].tolist() == [expected]
                live = query.open()
                live.push({"x": given[:1]})
                assert live.push({"x": given[1:]})["s"].tolist() == [expected]


@pytest.mark.parametrize("window", [win.tumbling(2), win.trailing(2)], ids=str)
def test_a_set_in_another_order_is_no_change(window: Any) -> None:
    query = windrow.Query(windows=window, aggregates={"s": agg.collect_set("x")}, changes_only=True)
    words = ["a", "b", "b", "a", "a", "c", "a", "c", "c", "a"]
    expected = [["a", "b"], ["a", "c"]] if window == win.tumbling(2) else None
    whole = [list(s) for s in query.run({"x": words})["s"]]
    live = query.open()
    pushed = []
    for i, word in enumerate(words):
        if i == 3:
            live = query.resume(live.snapshot())
        pushed += [list(s) for s in live.push({"x": [word]})["s"]]
    assert whole == pushed
    assert expected is None or whole == expected
    assert all(set(a) != set(b) for a, b in pairwise(whole))
    listed = windrow.Query(windows=window, aggregates={"s": agg.collect_list("x")}, changes_only=True)
    assert len(listed.run({"x": words})["s"]) > len(whole)  # there, the order is told
