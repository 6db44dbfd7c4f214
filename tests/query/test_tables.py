"""Whole tables: rows folded as they lie or sorted first, in one thread or in several. The answers are the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windrow
from tests.query.cases import draw_case
from tests.query.parts import fold_all, fold_nothing
from tests.query.test_random import check
from windrow import agg, win
from windrow.errors import WindrowError
from windrow.step import slices
from windrow.step import tables as step_tables

SECOND = 1_000_000


def table(n: int, keys: int, order: str, nulls: bool = False, seed: int = 0) -> dict[str, Any]:
    """Rows of some keys: times in order, by key and time, in order within keys only, or in none; with equal times."""
    rng = np.random.default_rng([n, keys, seed, nulls])
    k = rng.integers(0, keys, n) if keys > 1 else np.zeros(n, np.int64)
    if order == "one giant key":
        k[rng.random(n) < 0.9] = 0
    t = np.sort(rng.integers(-n // 2, n // 2, n)) * SECOND
    if order == "within keys":
        t = t + k * 7 * SECOND
    at = np.arange(n)
    if order == "by key":
        at = np.argsort(k, kind="stable")
    elif order == "none":
        at = rng.permutation(n)
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
    x[rng.random(n) < 0.02] = np.nan
    columns: dict[str, Any] = {"k": k * 1000, "t": t.astype("M8[us]"), "x": x, "i": rng.integers(-5, 6, n)}
    columns["w"] = np.array([f"w{j}" for j in range(n)], object)
    columns = {name: values[at] for name, values in columns.items()}
    if nulls:
        for name in ("x", "i"):
            columns[name] = np.ma.masked_array(columns[name], rng.random(n) < 0.3)
        columns["t"][rng.random(n) < 0.1] = np.datetime64("NaT")
    return columns


ORDERS = ("times", "by key", "within keys", "none", "one giant key")
#: some of them not commutative, one with a label, exact and inexact ones
AGGREGATES = {
    "s": agg.sum("x"), "n": agg.count("i"), "i": agg.sum("i"), "f": agg.first("i"), "l": agg.last("x"),
    "b": agg.max_by("w", "i"),
}  # fmt: skip
ONCE = {
    "sliding": win.sliding("60 s", every="10 s"),
    "uneven": win.sliding("25 s", every="10 s", origin=3 * SECOND),
    "tumbling": win.tumbling("30 s"),
    "session": win.session("2 s"),
    "several": {"a": win.sliding("60 s", every="10 s"), "b": win.session("2 s"), "c": win.sliding("7 s", every="3 s")},
    "rows": win.sliding(7, every=3),
}
PER_ROW = {
    "rows": win.trailing(40),
    "few rows": win.trailing(3),
    "time": win.trailing("20 s"),
    "left": win.trailing("20 s", closed="left"),
}


def bits(result: dict[str, Any]) -> dict[str, Any]:
    """Columns to be compared to the last bit."""
    found: dict[str, Any] = {}
    for name, column in result.items():
        mask = np.ma.getmaskarray(column)
        data = np.ma.getdata(column)
        if data.dtype == np.float64:
            data = np.where(np.isnan(data), np.nan, data).view(np.int64)
        found[name] = [None if gone else value for value, gone in zip(data.tolist(), mask.tolist(), strict=True)]
    return found


def assert_close(got: dict[str, Any], expected: dict[str, Any], floats: tuple[str, ...] = ("s",)) -> None:
    assert list(got) == list(expected)
    for name in expected:
        a, b = got[name], expected[name]
        assert np.ma.getmaskarray(a).tolist() == np.ma.getmaskarray(b).tolist(), name
        if name.split("_")[0] in floats:
            np.testing.assert_allclose(np.ma.filled(a, 0.0), np.ma.filled(b, 0.0), rtol=1e-9, atol=1e-6)
        else:
            assert bits({name: a}) == bits({name: b}), name


def run(data: dict[str, Any], windows: Any, aggregates: Any = None, threads: int | None = 1, **options: Any) -> Any:
    query = windrow.Query(
        time="t", by="k", windows=windows, aggregates=aggregates or AGGREGATES, threads=threads, **options
    )
    return query.run(data)


def sizes(order: str) -> list[tuple[int, int, bool]]:
    """Rows, keys, and whether there are nulls."""
    found = [(300, 6, False), (300, 5, True)]
    return [*found, (0, 1, False), (1, 1, False), (300, 1, False)] if order in ("times", "none") else found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("windows", ONCE)
def test_windows_that_report_once(windows: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, keys, nulls in sizes(order):
        data = table(n, keys, order, nulls)
        with monkeypatch.context() as m:
            fold_nothing(m)
            expected = run(data, ONCE[windows], partial=True)
        with monkeypatch.context() as m:
            fold_all(m)
            got = {threads: run(data, ONCE[windows], threads=threads, partial=True) for threads in (1, 2, 3, 7)}
        for threads in (2, 3, 7):
            assert bits(got[threads]) == bits(got[1]), (n, keys, nulls, threads)
        assert_close(got[1], expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("windows", PER_ROW)
def test_windows_by_row(windows: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, keys, nulls in sizes(order):
        data = table(n, keys, order, nulls)
        aggregates = {f"{name}_": aggregate for name, aggregate in AGGREGATES.items()}
        with monkeypatch.context() as m:
            fold_nothing(m)
            expected = run(data, PER_ROW[windows], aggregates)
        with monkeypatch.context() as m:
            fold_all(m)
            got = {threads: run(data, PER_ROW[windows], aggregates, threads) for threads in (1, 2, 3, 7)}
        for threads in (2, 3, 7):
            assert bits(got[threads]) == bits(got[1]), (n, keys, nulls, threads)
        assert_close(got[1], expected)


@pytest.mark.parametrize("keys", [1, 3])
def test_long_slices(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four sums side by side, in any order only where the aggregate is commutative."""
    for n in (63, 64, 65, 66, 67, 2000):
        data = table(n, keys, "by key")
        fold_nothing(monkeypatch)
        expected = run(data, win.tumbling("900 s"), partial=True)
        monkeypatch.setattr(slices, "FEW", 0)
        assert_close(run(data, win.tumbling("900 s"), partial=True), expected)


def test_parts_of_a_trailing_window_give_the_bits_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are cut where the window flips."""
    data = table(2000, 3, "times")
    fold_nothing(monkeypatch)
    aggregates = {"s_": agg.sum("x")}
    expected = run(data, win.trailing(40), aggregates)
    fold_all(monkeypatch)
    assert bits(run(data, win.trailing(40), aggregates, 2)) == bits(expected)


@pytest.mark.parametrize(
    "kind", ["periodic_time", "periodic_time_gaps", "session_time", "trailing_time_right", "trailing_rows_right"]
)
def test_against_the_oracle(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fold_all(monkeypatch)
    monkeypatch.setenv("WINDROW_THREADS", "3")
    for seed in range(12):
        case = draw_case(kind, 21_000 + seed)
        case.aggregates = "numbers"
        check(case)


def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way tables take from here on: "folded" or "sorted"."""
    seen: list[str] = []

    def spied(module: Any, name: str, what: str) -> None:
        before: Callable = getattr(module, name)

        def spy(*given: Any) -> Any:
            seen.append(what)
            return before(*given)

        monkeypatch.setattr(module, name, spy)

    import windrow.local.batch as batch

    spied(batch, "stepped_over", "folded")
    spied(batch, "stepped", "sorted")
    return seen


def test_which_tables_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose keys are each in time order, by the aggregates that compile; where folding leaves fewer slices."""
    seen = ways(monkeypatch)
    monkeypatch.setattr(slices, "FEW", 100)
    numbers = {"s": agg.sum("x")}

    def way(order: str, windows: Any = None, aggregates: Any = None, n: int = 300, keys: int = 3) -> str:
        run(table(n, keys, order), windows or ONCE["sliding"], aggregates or numbers)
        return seen.pop()

    assert [way(order) for order in ORDERS] == ["folded", "folded", "folded", "sorted", "folded"]
    assert way("times", n=99) == "sorted"  # few rows
    assert way("times", keys=100) == "sorted"  # few rows for each key
    assert way("times", windows=win.tumbling("1 s")) == "sorted"  # nearly every row would be a slice
    assert way("times", windows=ONCE["rows"]) == "sorted"
    assert way("times", aggregates={"w": agg.concat("w", sep="")}) == "sorted"
    assert way("times", aggregates={"s": agg.sum("x"), "w": agg.concat("w", sep="")}) == "sorted"
    assert way("times", windows=win.session("20 s")) == "folded"
    assert way("times", keys=1) == "folded" and way("none", keys=1) == "sorted"


def test_rows_that_go_back_in_a_later_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is in order, and the whole is not."""
    data = table(70, 2, "times")
    half = [np.concatenate([np.asarray(column)[35:], np.asarray(column)[:35]]) for column in data.values()]
    data = dict(zip(data, half, strict=True))
    fold_nothing(monkeypatch)
    expected = run(data, ONCE["sliding"])
    seen = ways(monkeypatch)
    fold_all(monkeypatch)
    monkeypatch.setattr(slices, "PART", 35)
    assert_close(run(data, ONCE["sliding"]), expected)
    assert seen == ["sorted"]


def test_an_overflow_names_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words whatever the way and the threads, and of two errors the same one."""
    n = 300
    data = table(n, 4, "times")
    data["i"] = np.zeros(n, np.int64)
    data["i"][[100, 101, 102, 200, 201, 202]] = 2**62
    data["j"] = np.zeros(n, np.int64)
    data["j"][[50, 51, 52]] = 2**62
    data["k"][:] = 0
    data["k"][200:] = 3000
    data["k"][:100] = 1000
    windows = (ONCE["sliding"], ONCE["session"], win.trailing(40), win.trailing("20 s"))
    for window, aggregates in itertools.product(windows, ({"a": agg.sum("i")}, {"a": agg.sum("i"), "b": agg.sum("j")})):
        said = set()
        for fold, threads in ((fold_nothing, 1), (fold_all, 1), (fold_all, 2), (fold_all, 7)):
            with monkeypatch.context() as m:
                fold(m)
                with pytest.raises(OverflowError) as error:
                    run(data, window, aggregates, threads)
            said.add(str(error.value))
        assert len(said) == 1 and "window" in said.pop()


def test_an_aggregate_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own, compiled: what it says, and in which window."""
    harmonic = windrow.Aggregate(
        lift=lambda x: (1.0 / x, 1.0), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), identity=(0.0, 0.0),
        lower=lambda p: p[1] / p[0],
    )  # fmt: skip
    data = table(300, 4, "times")
    data["x"] = np.ones(300)
    good = run(data, ONCE["sliding"], {"h": harmonic("x")})
    assert set(good["h"].tolist()) == {1.0}
    data["x"][[77, 210]] = 0.0
    for window in (ONCE["sliding"], win.trailing(40)):
        said = set()
        for fold, threads in ((fold_nothing, 1), (fold_all, 1), (fold_all, 3)):
            with monkeypatch.context() as m:
                fold(m)
                with pytest.raises(ZeroDivisionError) as error:
                    run(data, window, {"h": harmonic("x")}, threads)
            said.add((str(error.value), *getattr(error.value, "__notes__", ())))
        assert len(said) == 1


def test_plain_aggregates_stay_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    fold_all(monkeypatch)
    seen: list[int] = []
    before = step_tables._one

    def spy(*given: Any) -> Any:
        seen.append(given[3])
        return before(*given)

    monkeypatch.setattr(step_tables, "_one", spy)
    data = table(300, 4, "times")
    run(data, ONCE["sliding"], {"w": agg.concat("w", sep="")}, 4)
    assert seen == [4]  # all four keys in one piece
    run(data, ONCE["sliding"], {"i": agg.sum("i")}, 4)
    assert len(seen[1:]) > 1 and sum(seen[1:]) == 4


def test_the_number_of_threads() -> None:
    def query(threads: Any) -> windrow.Query:
        return windrow.Query(
            time="t", windows=ONCE["sliding"], aggregates={"n": agg.count()}, threads=threads
        )  # fmt: skip

    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(WindrowError, match="threads is a whole number of at least 1"):
            query(wrong)
    data = table(100, 1, "times")
    assert "in 3 threads" in query(3).explain(data)
    assert "in 1 thread" in query(None).explain(data)  # it is small
    assert query(3).identity() == query(None).identity()


def test_threads_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    query = windrow.Query(time="t", windows=ONCE["sliding"], aggregates={"n": agg.count()})
    data = table(100, 1, "times")
    monkeypatch.setenv("WINDROW_THREADS", "5")
    assert "in 5 threads" in query.explain(data)
    monkeypatch.setenv("WINDROW_THREADS", "many")
    with pytest.raises(WindrowError, match="WINDROW_THREADS is a whole number"):
        query.run(data)


@pytest.mark.parametrize("window", ["sliding", "session"])
def test_times_at_the_ends_of_64_bits(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error or an answer, the same whatever the way."""
    for times in (
        [-(2**63) + 1, 0],
        [0, 2**63 - 1],
        [-(2**63) + 1, 2**63 - 1],
        [-(2**62), 2**62],
        [1 - 2**62, 2**62 - 1],
    ):
        said = set()
        for fold in (fold_nothing, fold_all):
            data = {"t": np.array(times), "k": np.zeros(2, np.int64), "x": np.ones(2)}
            with monkeypatch.context() as m:
                fold(m)
                try:
                    said.add(str(bits(run(data, ONCE[window], {"n": agg.count()}))))
                except WindrowError as error:
                    said.add(str(error))
        assert len(said) == 1, said
