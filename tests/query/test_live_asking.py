"""Rows that ask a live query: `live.at(rows)`."""

from __future__ import annotations

import itertools
import random
import threading

import numpy as np
import pandas as pd
import pytest

import windrow
from tests.query import arrivals, asks
from tests.query.cases import PER_ROW, Table, arrow_rows, assert_same
from windrow import agg, stores, win
from windrow.errors import Unsupported, WindrowError


def draw_asks(case, came, watermark, rng):
    """Asks from the watermark on, or along the columns from the newest row on; some of keys that nobody has."""
    newest = {name: max((row[name] for row in came if row[name] is not None), default=0) for name in ("ts", "d", "e")}
    tick = max(1, case_tick(case))
    rows = []
    for i in range(rng.choice([1, 1, 4, 20])):
        row = dict(rng.choice(came)) if came and rng.random() < 0.9 else dict.fromkeys(case.table.columns)
        if rng.random() < 0.2:
            row |= {"k": "new", "g": 99, "h": 99.5}
        row["ts"] = watermark + rng.choice([0, 1, 1]) + rng.choice([0, 0, 1, tick, 5 * tick, newest["ts"] - watermark])
        row["d"] = newest["d"] + rng.choice([0, 0.125, 1, 3])
        row["e"] = newest["e"] + rng.choice([0, 1, 4])
        if rng.random() < 0.05:
            row["ts"] = None
        rows.append({name: row[name] for name in dict.fromkeys(["ts", *case.by, "d", "e"])} | {"asked": i})
    return Table({name: [row[name] for row in rows] for name in rows[0]}, case.table.time_type)


def case_tick(case):
    times = sorted({row["ts"] for row in case.table.rows()})
    return min((b - a for a, b in itertools.pairwise(times)), default=1)


def check(kind, seed, prepare=lambda case: None, **options):
    case = arrivals.stream(kind, seed)
    prepare(case)
    rng = random.Random(f"live asks {kind} {seed}")
    lateness = arrivals.lateness_of(case, rng)
    rows = case.table.rows()
    if case.table.time_type == "int64":
        options["time_unit"] = "us"
    query = case.query(lateness=arrivals.spelled(lateness), **options)
    live, came, got = query.open(), [], []
    whole = case.table
    for part in arrivals.pushes(arrivals.shuffled(rows, lateness, rng), rng):
        got += arrow_rows(live.push(arrivals.frame(part, case)))
        came += part
        if not came:
            continue
        watermark = max(row["ts"] for row in came) - lateness
        table = draw_asks(case, came, watermark, rng)
        before, counts = live.snapshot(), live.report
        strict_left = kind in ("trailing_rows_left", "trailing_rows_none")
        if strict_left:  # rows at the very watermark cannot be told from those before it
            table.columns["ts"] = [None if t is None else max(t, watermark + 1) for t in table.columns["ts"]]
        answers = arrow_rows(live.at(asks.arrow(table)))
        case.table = Table.of(came, whole)
        assert_same(answers, asks.expected(case, table), f"{case}\nasked: {table.columns}", ordered=True)
        case.table = whole
        assert live.snapshot() == before and live.report == counts
    got += arrow_rows(live.close())
    assert_same(got, case.expected(), str(case))


def plain(case):
    case.plain = True


def one_set(case):
    case.aggregates = "commutative"


@pytest.mark.parametrize("kind", PER_ROW)
def test_each_kind(kind):
    for seed in range(2):
        check(kind, seed, plain)


@pytest.mark.parametrize("kind", ["trailing_time_left", "trailing_time_right", "trailing_rows_right"])
def test_compiled(kind):
    for seed in range(4):
        check(kind, 10 + seed, one_set)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PER_ROW)
@pytest.mark.parametrize("algorithm", ["auto", "daba_lite", "flat_fit", "amta", "recalculate"])
def test_many(kind, algorithm):
    for seed in range(20, 24):
        check(kind, seed, one_set, algorithm=algorithm)


def several(closed):
    def prepare(case):
        lengths = [1, 2, 5, 9]
        tick = max(1, case_tick(case))
        from tests.query import brute
        from tests.query.cases import duration

        case.oracle = {f"w{n}": brute.Trailing(n * tick, closed) for n in lengths}
        case.windows = {f"w{n}": win.trailing(duration(n * tick), closed) for n in lengths}
        case.plain = True

    return prepare


@pytest.mark.parametrize("closed", ["right", "left"])
def test_windows_that_share_a_ring(closed):
    for seed in range(3):
        check("trailing_time_right", 30 + seed, several(closed), algorithm="flat_fit")


FEATURES = windrow.Query(
    time="ts",
    by="card",
    windows=win.trailing("1 hour"),
    aggregates={"n": agg.count(), "spent": agg.sum("amount"), "last": agg.last("shop")},
    lateness="10 minutes",
    compile="never",
)


def stamp(text):
    return pd.Timestamp(f"2026-01-01 {text}")


def test_one_ask_before_and_after_there_are_rows():
    live = FEATURES.open()
    ask = {"card": "a", "ts": stamp("10:00")}
    nothing = live.at(ask)
    assert nothing["n"].tolist() == [0] and np.ma.asarray(nothing["spent"]).tolist() == [None]
    live.push({"card": ["a", "b"], "ts": [stamp("09:30"), stamp("09:59")], "amount": [5, 7], "shop": ["x", "y"]})
    got = live.at(ask)
    assert {name: np.ma.asarray(v).tolist() for name, v in got.items() if name != "ts"} == {
        "card": ["a"], "n": [1], "spent": [5], "last": ["x"],
    }  # fmt: skip
    assert live.at({"card": "a", "ts": stamp("10:40")})["n"].tolist() == [0]
    assert live.at({"card": "a", "ts": None})["n"].tolist() == [None]
    table = pd.DataFrame({"z": [1, 2], "ts": [stamp("10:00")] * 2, "card": ["b", "q"]})
    result = live.at(table)
    assert isinstance(result, pd.DataFrame) and list(result) == ["z", "ts", "card", "n", "spent", "last"]
    assert result["n"].tolist() == [1, 0]


def test_what_is_refused():
    live = FEATURES.open()
    live.push({"card": ["a", "a"], "ts": [stamp("09:00"), stamp("12:00")], "amount": [5, 7], "shop": ["x", "y"]})
    with pytest.raises(WindrowError, match=r"asked at 2026-01-01 08:00:00.* the oldest .* is 2026-01-01 11:50:00"):
        live.at({"card": "nobody", "ts": stamp("08:00")})
    with pytest.raises(WindrowError, match=r"live\.at: there is no column 'card'"):
        live.at({"ts": stamp("12:00")})
    numbered = windrow.Query(by="card", windows=win.trailing(2), aggregates={"n": agg.count()}, compile="never").open()
    numbered.push({"card": [1, 2]})
    assert numbered.at({"card": 2.0})["n"].tolist() == [1]
    with pytest.raises(WindrowError, match=r"live\.at: column 'card' held int64 before and holds object now"):
        numbered.at({"card": "1"})
    with pytest.raises(WindrowError, match="a column 'n' already"):
        live.at({"card": "a", "ts": stamp("12:00"), "n": 1})
    live.close()
    with pytest.raises(WindrowError, match="closed"):
        live.at({"card": "a", "ts": stamp("12:00")})
    once = windrow.Query(time="ts", windows=win.tumbling("1 hour"), aggregates={"n": agg.count()})
    with pytest.raises(Unsupported, match=r"live\.at asks windows that report with each row"):
        once.open().at({"ts": stamp("12:00")})
    stored = windrow.Query(windows=win.trailing(3), aggregates={"n": agg.count()}, store=stores.memory())
    with pytest.raises(Unsupported, match="has a store"):
        stored.open().at({})


def test_without_a_time_rows_ask_after_all_that_have_come():
    query = windrow.Query(by="k", windows={"3": win.trailing(3), "2": win.trailing(2, closed="left")},
                          aggregates={"t": agg.concat("w")}, compile="never")  # fmt: skip
    live = query.open()
    live.push({"k": list("aabaa"), "w": list("vwxyz")})
    got = live.at({"k": ["b", "a", "c"]})
    assert got["t_3"].tolist() == ["x", "wyz", None] and got["t_2"].tolist() == ["x", "yz", None]
    assert live.push({"k": ["a"], "w": ["!"]})["t_2"].tolist() == ["yz"]


def test_an_ask_sees_one_whole_state():
    """One thread pushes two rows at a time, of which the sum is 0; others ask."""
    query = windrow.Query(
        windows=win.trailing(10**6), aggregates={"s": agg.sum("x"), "n": agg.count()}, compile="never"
    )
    live = query.open()
    live.push({"x": [0, 0]})
    seen, stop = [], threading.Event()

    def asking():
        while not stop.is_set():
            got = live.at({"any": 1})
            seen.append((int(got["s"][0]), int(got["n"][0])))

    threads = [threading.Thread(target=asking) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(60):
        live.push({"x": [i, -i]})
    stop.set()
    for thread in threads:
        thread.join()
    assert len(seen) > 2 and all(x == 0 and n % 2 == 0 for x, n in seen)
