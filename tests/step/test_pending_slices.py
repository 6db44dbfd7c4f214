"""Rows that wait as slices: the answers of the batch, for any disorder; nothing is kept of a push that fails."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.step.pending import Pending
from windrow.step.pending_slices import PendingSlices

SECOND = 1_000_000
WINDOWS: dict[str, dict[str, windrow.windows.base.Window]] = {
    "sliding": {"a": win.sliding("17 seconds", every="5 seconds")},
    "aligned": {"a": win.sliding("20 seconds", every="5 seconds", origin="-3 seconds")},
    "gaps": {"a": win.sliding("2 seconds", every="7 seconds")},
    "several": {"a": win.sliding("17 seconds", every="5 seconds"), "b": win.tumbling("7 seconds", origin="1 second")},
}
COMPILED = {"n": agg.count(), "total": agg.sum("x")}
PLAIN = {"n": swag.counting(agg.count()), "different": agg.count_distinct("x"), "total": swag.counting(agg.sum("x"))}


def query(windows: str, aggregates: dict, **options) -> windrow.Query:
    options = {"lateness": "30 seconds"} | options
    return windrow.Query(time="t", by="k", windows=WINDOWS[windows], aggregates=aggregates, **options)


def rows(rng: np.random.Generator, n: int = 300, keys: int = 5) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows, and an order of arrival in which none is more than 30 seconds late. Half of them are before 1970."""
    times = (np.cumsum(rng.choice([0, 0, 1, 2, 90], n, p=[0.3, 0.3, 0.2, 0.19, 0.01])) - 150) * SECOND
    arrival = np.argsort(times + rng.integers(0, 30, n) * SECOND, kind="stable")
    return {"t": times, "k": rng.integers(0, keys, n), "x": rng.integers(-5, 100, n)}, arrival


def spelled(result: dict) -> list[tuple]:
    return list(zip(*(np.asarray(result[name]).tolist() for name in sorted(result)), strict=True))


@pytest.mark.parametrize("aggregates", [COMPILED, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("seed", range(6))
def test_any_disorder_gives_the_batch_answer(windows: str, aggregates: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, arrival = rows(rng)
    live = query(windows, aggregates, partial=seed % 2 == 0).open()
    sent, begin, most = [], 0, [1, 3, 40][seed % 3]
    while begin < len(arrival):
        end = begin + int(rng.integers(1, most + 1))
        sent += spelled(live.push({name: column[arrival[begin:end]] for name, column in data.items()}))
        begin = end
        if rng.random() < 0.1:
            live = live.query.resume(live.snapshot())
        if rng.random() < 0.1:
            sent += spelled(live.advance(int(live.door.watermark)))
    assert isinstance(live.pending, PendingSlices)
    sent += spelled(live.close())
    assert live.report.late == 0 and not len(live.pending)
    assert len(sent) == len(set(sent)) and sorted(sent) == sorted(spelled(live.query.run(data))) and len(sent) > 20


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_nanoseconds(unit: str) -> None:
    data, arrival = rows(np.random.default_rng(1))
    data["t"] = data["t"].astype("M8[us]").astype(f"M8[{unit}]")
    live = query("sliding", COMPILED).open()
    sent = []
    for part in np.array_split(arrival, 20):
        sent += spelled(live.push({name: column[part] for name, column in data.items()}))
    sent += spelled(live.close())
    assert sorted(sent) == sorted(spelled(live.query.run(data)))


def test_late_rows_are_counted_and_change_nothing() -> None:
    data, _ = rows(np.random.default_rng(2))
    arrival = np.random.default_rng(3).permutation(len(data["t"]))  # far more disorder than the lateness allows
    live = query("sliding", COMPILED).open()
    sent, late, newest = [], [], None
    for part in np.array_split(arrival, 30):
        sent += spelled(live.push({name: column[part] for name, column in data.items()}))
        for i in part.tolist():
            late.append(newest is not None and data["t"][i] < newest - 30 * SECOND)
            newest = data["t"][i] if newest is None else max(newest, data["t"][i])
    sent += spelled(live.close())
    assert live.report.late == sum(late) > 20 and live.report.rows_in == len(arrival)
    in_time = arrival[~np.array(late)]
    assert sorted(sent) == sorted(spelled(live.query.run({name: column[in_time] for name, column in data.items()})))


@pytest.mark.parametrize(
    ("windows", "aggregates", "options"),
    [
        (win.sliding("9 s", every="4 s"), {"f": agg.first("x")}, {}),
        (win.sliding("9 s", every="4 s"), {"n": agg.count(), "who": agg.max_by("k", "x")}, {}),
        (win.session("3 s"), {"n": agg.count()}, {}),
        (win.sliding(5, every=2), {"n": agg.count()}, {}),
        ({"a": win.tumbling("5 s"), "b": win.session("3 s")}, {"n": agg.count()}, {}),
        (win.tumbling("5 s"), {"n": agg.count()}, {"lateness": "0 s"}),
    ],
)
def test_rows_wait_where_their_order_counts_or_none_waits(windows, aggregates, options) -> None:
    options = {"lateness": "30 seconds"} | options
    live = windrow.Query(time="t", by="k", windows=windows, aggregates=aggregates, **options).open()
    live.push({"t": [1, 2], "k": [1, 1], "x": [1, 2]})
    assert isinstance(live.pending, Pending)


def half_refused(make: Callable[..., windrow.Aggregate]) -> windrow.Aggregate:
    return make(
        lift=lambda x: (1 + 0 // (x - 666), x),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda p: p[1],
        identity=(0, 0),
        commutative=True,
        name="not 666",
    )


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])
def test_a_push_that_fails_leaves_no_trace(plain: bool) -> None:
    """Whether a row is refused as it is folded, or a window's sum is too large when it is answered."""
    picky = half_refused(windrow.Aggregate)
    picky = swag.counting(picky) if plain else picky
    live = query("several", {"p": picky("x"), "total": agg.sum("x")}).open()
    clean = live.query.open()
    rnd, data = random.Random(4), rows(np.random.default_rng(4))[0]
    failed = 0
    for begin in range(0, 300, 10):
        batch = {name: column[begin : begin + 10].copy() for name, column in data.items()}
        bad = {name: np.concatenate([column, column[-1:]]) for name, column in batch.items()}
        if begin and rnd.random() < 0.7:
            before = live.snapshot()
            bad["x"][rnd.randrange(10)] = 666 if rnd.random() < 0.5 else 2**63 - 1
            bad["x"][-1] = bad["x"].max()
            if bad["x"][-1] > 666:
                bad["t"] = np.append(bad["t"][:-1], bad["t"][-1] + 900 * SECOND)  # windows end: the sum is asked for
                bad["x"][:-1] = bad["x"][-1]
            with pytest.raises((ZeroDivisionError, OverflowError)) as error:
                live.push(bad)
            failed += 1
            if error.type is OverflowError:
                assert "window '" in str(error.value) and " from " in str(error.value)
            assert live.snapshot() == before
        assert spelled(live.push(batch)) == spelled(clean.push(batch))
    assert failed > 10
    assert spelled(live.close()) == spelled(clean.close())


def test_what_waits_is_as_much_as_there_are_slices() -> None:
    live = query("aligned", COMPILED, lateness="1 minute").open()
    rng = np.random.default_rng(5)
    most = 0
    for step in range(400):
        times = (step + rng.integers(-30, 1, 7)) * SECOND
        live.push({"t": times, "k": rng.integers(0, 4, 7), "x": times})
        most = max(most, len(live.pending))
        distinct = len({(c, b) for run in live.pending.runs for c, b in _places(run)})
        assert len(live.pending) <= 4 * distinct and len(live.pending.runs) <= 8
    assert most <= 4 * 4 * (60 // 5 + 2)


def _places(run) -> list[tuple]:
    return list(zip(run.codes[run.start :].tolist(), run.begin[run.start :].tolist(), strict=True))


def test_keys_are_kept_while_slices_wait_and_forgotten_then() -> None:
    live = query("aligned", COMPILED).open()
    for step in range(80):
        live.push({"t": [step // 2 * 10 * SECOND], "k": [step // 2], "x": [1]})  # two rows, which become one slice
        waits = {int(c) for run in live.pending.runs for c, _ in _places(run)}
        numbers = np.arange(len(live.door.keys))
        assert set(numbers[live.pending.waiting.any(numbers)].tolist()) == waits
        assert len(live.door.keys.all()) <= 8


def test_windows_beyond_64_bits_are_refused_at_once() -> None:
    live = query("sliding", COMPILED).open()
    live.push({"t": [0], "k": [1], "x": [1]})
    before = live.snapshot()
    with pytest.raises(windrow.errors.WindrowError, match="64-bit"):
        live.push({"t": [2**63 - 10], "k": [1], "x": [1]})
    assert live.snapshot() == before and live.close()["n"].sum() == 4
