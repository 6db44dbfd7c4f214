"""`win.last`: what evicts (rows, time, how far a column goes on) beside what triggers (the same three): all pairs."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.errors import WindrowError

#: what stays, and when it is reported: the options of win.last, and the policy in words for the brute force below
EVICTS: dict[str, tuple[Any, dict[str, str]]] = {
    "rows": (4, {}),
    "time": ("7 s", {}),
    "column": (2.5, {"on": "km"}),
    "whole column": (3, {"on": "floor"}),
}
TRIGGERS: dict[str, tuple[Any, dict[str, str]]] = {
    "rows": (3, {}),
    "time": ("5 s", {}),
    "column": (1.5, {"every_on": "km"}),
    "whole column": (2, {"every_on": "floor"}),
}
PAIRS = [(evict, trigger) for evict in EVICTS for trigger in TRIGGERS if evict != trigger]


def window(evict: str, trigger: str) -> Any:
    (n, on), (every, every_on) = EVICTS[evict], TRIGGERS[trigger]
    return win.last(n, every=every, **on, **every_on)


def rows(seed: int, n: int = 60, keys: int = 3) -> list[dict[str, Any]]:
    """In time order; a column that mostly goes on, and at times is null or goes back."""
    rnd = random.Random(seed)
    at, km, found = -20, 0.0, []
    for i in range(n):
        at += rnd.choice([0, 1, 1, 2, 9])
        km += rnd.choice([0, 0.25, 0.5, 1, 3, -0.5])
        floor = None if rnd.random() < 0.1 else int(km)
        found.append({"t": at, "k": rnd.randrange(keys), "km": km, "floor": floor, "x": f"{i:02}"})
    return found


def brute(found: list[dict[str, Any]], evict: str, trigger: str, partial: bool) -> list[tuple]:
    """Straight from the words, one key at a time: (key, start, end, text)."""
    n, every = EVICTS[evict][0], TRIGGERS[trigger][0]
    results = []
    for key in sorted({row["k"] for row in found}):
        held: list[tuple[int, dict]] = []
        place = seen = unreported = 0
        due = edge = None
        last = -math.inf
        mine = [row for row in found if row["k"] == key]
        for row in [*mine, None]:
            if trigger == "time" and unreported and (row is None or row["t"] >= due):
                results.append((key, held[0][1]["t"], due, "".join(r["x"] for _, r in held)))
                unreported = 0
            value = None if row is None or "column" not in trigger else row[TRIGGERS[trigger][1]["every_on"]]
            if value is not None and unreported and edge is not None and value >= edge:
                results.append((key, held[0][0], seen, "".join(r["x"] for _, r in held)))
                unreported, edge = 0, None
            if row is None:
                break
            if trigger == "time" and not unreported:
                due = (row["t"] // 5 + 1) * 5
            if value is not None and edge is None:
                edge = (value // every + 1) * every
            place = row["t"] if evict == "time" else 0
            if "column" in evict:
                own = row[EVICTS[evict][1]["on"]]
                place = last = last if own is None else own
            held.append((seen, row | {"place": place}))
            seen, unreported = seen + 1, unreported + 1
            if evict == "rows":
                held = held[-n:]
            elif place > -math.inf:
                span = 7 if evict == "time" else n
                while held[0][1]["place"] <= place - span:
                    held.pop(0)
            if trigger == "rows" and seen % every == 0:
                results.append((key, held[0][0], seen, "".join(r["x"] for _, r in held)))
                unreported = 0
        if trigger != "time" and partial and unreported:
            results.append((key, held[0][0], None, "".join(r["x"] for _, r in held)))
    return results


def columns(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "t": (np.array([row["t"] for row in found], np.int64) * 1_000_000).astype("M8[us]"),
        "k": np.array([row["k"] for row in found], np.int64),
        "km": np.array([row["km"] for row in found], np.float64),
        "floor": np.ma.masked_array(
            [row["floor"] or 0 for row in found], [row["floor"] is None for row in found], dtype=np.int64
        ),
        "x": np.array([row["x"] for row in found], object),
    }


def told(results: list[Any], trigger: str) -> list[tuple]:
    """(key, start, end, text), sorted by key as they came."""
    listed = []
    for result in results:
        edges = []
        for name in ("start", "end"):
            column = np.ma.asarray(result[name])
            if column.dtype.kind == "M":
                column = column.astype("M8[s]").astype(np.int64)
            edges.append(column.tolist())
        listed += list(zip(result["k"].tolist(), *edges, list(result["x"]), strict=True))
    return sorted(listed, key=lambda row: row[0])


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(("evict", "trigger"), PAIRS)
def test_every_pair(evict: str, trigger: str, partial: bool) -> None:
    """In batch, live in pushes of any size, live with rows out of order, and through a snapshot."""
    query = windrow.Query(
        time="t", by="k", windows=window(evict, trigger), aggregates={"x": agg.concat("x")}, partial=partial
    )
    late = windrow.Query(
        time="t", by="k", windows=window(evict, trigger), aggregates={"x": agg.concat("x")}, partial=partial,
        lateness="30 s",
    )  # fmt: skip
    for seed in range(4):
        found, rnd = rows(seed), random.Random(seed)
        expected = brute(found, evict, trigger, partial)
        assert len(expected) > 5
        assert told([query.run(columns(found))], trigger) == expected
        live, results, at = query.open(), [], 0
        while at < len(found):
            some = found[at : at + rnd.choice([1, 1, 2, 7, 20])]
            results.append(live.push(columns(some)))
            at += len(some)
            if rnd.random() < 0.2:
                live = query.resume(live.snapshot())
        results.append(live.close())
        assert told(results, trigger) == expected
        mixed = sorted(enumerate(found), key=lambda pair: (pair[1]["t"] + rnd.randrange(15), pair[0]))
        order = sorted(range(len(mixed)), key=lambda j: (mixed[j][1]["t"], j))
        expected = brute([mixed[j][1] for j in order], evict, trigger, partial)  # ties in the order of arrival
        live, results = late.open(), []
        for j in range(0, len(mixed), 9):
            results.append(live.push(columns([row for _, row in mixed[j : j + 9]])))
        results.append(live.close())
        assert not late.report.late and told(results, trigger) == expected


@pytest.mark.parametrize(("evict", "trigger"), PAIRS)
def test_nanoseconds(evict: str, trigger: str) -> None:
    query = windrow.Query(time="t", by="k", windows=window(evict, trigger), aggregates={"x": agg.concat("x")})
    found = rows(7)
    given = columns(found)
    given["t"] = given["t"].astype("M8[ns]")
    live = query.open()
    results = [live.push(given), live.close()]
    assert told([query.run(given)], trigger) == told(results, trigger) == brute(found, evict, trigger, False)


def test_compiled() -> None:
    found = [row | {"x": f"{i % 100:02}"} for i, row in enumerate(rows(3, 200))]
    query = windrow.Query(
        time="t", by="k", windows=window("column", "time"), aggregates={"x": agg.sum("x")},
        algorithm="reactive_aggregator",
    )  # fmt: skip
    result = query.run(columns(found) | {"x": np.arange(200) % 100})
    pieces = [
        [int(text[i : i + 2]) for i in range(0, len(text), 2)] for *_, text in brute(found, "column", "time", False)
    ]
    assert [row[3] for row in told([result], "time")] == [sum(piece) for piece in pieces]


def test_without_event_time() -> None:
    query = windrow.Query(windows=win.last(3, every=2.0, every_on="km"), aggregates={"x": agg.concat("x")})
    given = {"km": [0.0, 1.0, 2.5, 2.75, 4.0], "x": list("abcde")}
    result = query.run(given)
    assert list(zip(result["start"], result["end"], result["x"], strict=True)) == [(0, 2, "ab"), (1, 4, "bcd")]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: win.last(3, every=5), r"win.sliding\(3, every=5\)"),
        (lambda: win.last("3 s", every="5 s"), r"win.sliding\('3 s', every='5 s'\)"),
        (lambda: win.last(3, every=5, on="km", every_on="km"), r"win.sliding\(3, every=5, on='km'\)"),
        (lambda: win.last("3 s", every=5, on="km"), "n is a number"),
        (lambda: win.last(0, every="5 s"), "more than 0"),
    ],
)
def test_refused(make: Any, said: str) -> None:
    with pytest.raises(WindrowError, match=said):
        make()


def test_refused_for_the_data() -> None:
    query = windrow.Query(time="t", windows=win.last(3, every="5 s", on="x"), aggregates={"n": agg.count()})
    for call in (query.run, query.open().push):
        with pytest.raises(WindrowError, match="needs numbers"):
            call(columns(rows(1)))
    with pytest.raises(WindrowError, match="event time"):
        windrow.Query(windows=win.last("3 s", every=5), aggregates={"n": agg.count()})
