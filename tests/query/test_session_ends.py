"""A row exactly `gap` after a session's last joins it. So the session is final when the watermark is past that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, stores, swag, win

PLAIN = {"text": swag.counting(agg.concat("s"))}
#: compiled; commutative (slices of a table), and not
ANY_ORDER, IN_ORDER = {"n": agg.count(), "sum": agg.sum("x")}, {"first": agg.first("x"), "last": agg.last("x")}


def session(aggregates: dict, **options: Any) -> windrow.Query:
    return windrow.Query(time="t", windows=win.session("10 us"), aggregates=aggregates, **options)


def rows(*times: int) -> dict:
    return {"t": np.array(times), "x": np.arange(len(times)), "s": np.array([chr(97 + t % 26) for t in times], object)}


def spans(result: Any) -> list[tuple]:
    return list(zip(result["start"].tolist(), result["end"].tolist(), strict=True))


@pytest.mark.parametrize("aggregates", [PLAIN, ANY_ORDER, IN_ORDER], ids=["plain", "any order", "in order"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_rows_exactly_a_gap_apart_are_together(aggregates: dict, order: list[int]) -> None:
    times = np.array([0, 10, 20, 31])[order]
    assert spans(session(aggregates).run(rows(*times))) == [(0, 30), (31, 41)]
    live = session(aggregates, lateness="100 us").open()
    sent = [pair for t in times for pair in spans(live.push(rows(t)))]
    assert sent + spans(live.close()) == [(0, 30), (31, 41)]


@pytest.mark.parametrize("aggregates", [PLAIN, ANY_ORDER], ids=["plain", "compiled"])
@pytest.mark.parametrize("stored", [False, True])
def test_it_is_final_when_the_watermark_is_past_its_end(aggregates: dict, stored: bool) -> None:
    query = session(aggregates, store=stores.memory() if stored else None)
    live = query.open()
    live.push(rows(0))
    assert spans(live.advance(9)) == spans(live.advance(10)) == []
    if not stored:
        live = query.resume(live.snapshot())
    assert spans(live.push(rows(10))) == []  # a row at the watermark is in time, and joins
    assert spans(live.advance(20)) == [] and spans(live.advance(21)) == [(0, 20)]
    assert spans(live.close()) == []


def test_along_a_column() -> None:
    query = windrow.Query(windows=win.session(0.5, on="v"), aggregates={"text": agg.concat("s")})
    data = {"v": [0.0, 0.5, 1.0, 1.75, 2.25], "s": list("abcde")}
    assert query.run(data)["text"].tolist() == ["abc", "de"]
    live = query.open()
    sent = [live.push({name: column[i : i + 1] for name, column in data.items()})["text"].tolist() for i in range(5)]
    assert sent == [[], [], [], ["abc"], []] and live.close()["text"].tolist() == ["de"]
