"""Threads that share a live query: no row is lost, and a snapshot sees whole pushes."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.errors import WindrowError

ROWS = 300


def in_threads(work: Any, count: int = 4) -> None:
    errors: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


@pytest.mark.parametrize(
    "aggregates", [{"n": agg.count()}, {"n": swag.counting(agg.count())}], ids=["compiled", "plain"]
)
def test_pushes_take_turns(aggregates: dict) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        query = windrow.Query(by="k", windows=win.tumbling(3), aggregates=aggregates, partial=True)
        live = query.open()
        sent: list[list] = [[] for _ in range(4)]
        seen: list[int] = []

        def push(i: int) -> None:
            for j in range(ROWS):
                sent[i] += live.push({"k": np.array([j % 7, j % 5])})["n"].tolist()
                if j % 50 == 0:
                    other = query.resume(live.snapshot())
                    seen.append(other.report.rows_in)
                    assert other.report.rows_in - other.report.rows_out * 3 == sum(other.close()["n"].tolist())

        in_threads(push)
    finally:
        sys.setswitchinterval(before)
    assert live.report.rows_in == 4 * ROWS * 2
    assert sum(map(sum, sent)) + sum(live.close()["n"].tolist()) == 4 * ROWS * 2
    assert all(rows % 2 == 0 for rows in seen)


def test_a_query_is_not_used_by_its_own_aggregates() -> None:
    def combine(a: tuple, b: tuple) -> tuple:
        live.push({"x": [1]})
        return a + b

    own = windrow.Aggregate(lift=lambda x: (x,), combine=combine, lower=len, identity=())
    live = windrow.Query(windows=win.tumbling(2), aggregates={"n": own("x")}).open()
    with pytest.raises(WindrowError, match="cannot be used by its own aggregates"):
        live.push({"x": [1, 2]})
    assert live.report.rows_in == 0
