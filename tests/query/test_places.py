"""A row that one window cannot place is in all others, and is counted and given back as rejected, once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.errors import WindrowError

#: not commutative; plain, and compiled
PLAIN = {"text": swag.counting(agg.concat("s"))}
COMPILED = {"first": agg.first("n"), "last": agg.last("n"), "n": agg.count()}


def read(result: Any) -> list[tuple]:
    return [tuple(row) for row in zip(*(column.tolist() for column in result.values()), strict=True)]


def told(result: Any) -> list[tuple]:
    """Window by window: the windows' order is not the point here."""
    return sorted(map(repr, read(result)))


DATA = {
    "t": np.array([1, 2, 3, 4, 5, 6]),
    "km": np.array([1.0, np.nan, 12.0, 3.0, 13.0, np.inf]),
    "s": np.array(list("abcdef"), object),
    "n": np.arange(6),
}


@pytest.mark.parametrize("aggregates", [PLAIN, COMPILED], ids=["plain", "compiled"])
def test_a_null_along_one_column_leaves_other_windows_alone(aggregates: dict) -> None:
    data = {**DATA, "km": np.array([1.0, np.nan, 12.0, 12.0, 13.0, np.inf])}
    windows = {"rows": win.tumbling(2), "time": win.tumbling("3 us"), "km": win.tumbling(10.0, on="km")}
    query = windrow.Query(time="t", windows=windows, aggregates=aggregates)
    got = query.run(data)
    assert query.report.rejected == 2
    for name, window in windows.items():
        alone = windrow.Query(time="t", windows={name: window}, aggregates=aggregates).run(data)
        ours = [row for row in read({c: got[c] for c in ("window", *aggregates)}) if row[0] == name]
        assert ours == read({c: alone[c] for c in ("window", *aggregates)}), name
    live = query.open()
    parts = []
    for i in range(6):
        parts += told(live.push({name: column[i : i + 1] for name, column in data.items()}))
        assert live.rejected["n"].tolist() == ([i] if i in (1, 5) else [])
    assert sorted(parts + told(live.close())) == told(got)
    assert live.report.rejected == 2


@pytest.mark.parametrize("aggregates", [PLAIN, COMPILED], ids=["plain", "compiled"])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_a_row_that_goes_back_stays_in_other_windows(aggregates: dict, size: int) -> None:
    windows = {"time": win.tumbling("3 us"), "rows": win.tumbling(2), "km": win.tumbling(10.0, on="km")}
    query = windrow.Query(time="t", windows=windows, aggregates=aggregates)
    live, got, given_back = query.open(), [], []
    for i in range(0, 6, size):
        got += told(live.push({name: column[i : i + size] for name, column in DATA.items()}))
        given_back += live.rejected["n"].tolist()
    got += told(live.close())
    others = windrow.Query(time="t", windows={n: windows[n] for n in ("time", "rows")}, aggregates=aggregates)
    expected = others.run(DATA)
    names = ("window", *aggregates)
    assert len(got) == len(expected["n" if aggregates is COMPILED else "text"]) + 2
    # 3.0 comes behind 12.0: it is in no window along km
    forward = {name: column[[0, 2, 4]] for name, column in DATA.items()}
    along = windrow.Query(time="t", windows={"km": windows["km"]}, aggregates=aggregates).run(forward)
    live, mine = query.open(), []
    for i in range(0, 6, size):
        mine += read(_some(live.push({name: column[i : i + size] for name, column in DATA.items()}), names))
    mine += read(_some(live.close(), names))
    assert sorted(mine) == sorted(read(_some(expected, names)) + read(_some(along, names)))
    assert sorted(given_back) == [1, 3, 5] and live.report.rejected == 3


def _some(result: Any, names: tuple) -> dict:
    return {name: result[name] for name in names}


@pytest.mark.parametrize("kind", ["arrays", "pandas", "polars", "pyarrow"])
def test_rows_that_go_back_are_given_back(kind: str) -> None:
    """With all their columns, in the kind that came; also where they had to wait."""
    make: dict[str, Any] = {
        "arrays": lambda data: data,
        "pandas": lambda data: pytest.importorskip("pandas").DataFrame(data),
        "polars": lambda data: pytest.importorskip("polars").DataFrame(data),
        "pyarrow": lambda data: pytest.importorskip("pyarrow").table(data),
    }
    query = windrow.Query(
        time="t", windows=win.tumbling(10, on="km"), aggregates={"n": agg.count()}, lateness="10 microseconds"
    )
    live = query.open()
    live.push(make[kind]({"t": [1, 2, 3], "km": [1, 5, 3], "other": ["a", "b", "c"]}))
    assert live.report.rejected == 0
    live.push(make[kind]({"t": [20], "km": [30], "other": ["d"]}))
    assert list(live.rejected["other"].to_pylist() if kind == "pyarrow" else live.rejected["other"]) == ["c"]
    assert list(live.rejected) == ["t", "km", "other"] if kind in ("arrays", "pandas") else True
    assert live.report.rejected == 1
    live.push(make[kind]({"t": [21], "km": [31], "other": ["e"]}))
    assert len(live.rejected["other"]) == 0


@pytest.mark.parametrize("window", [win.tumbling(10, on="km"), win.trailing(10, on="km"), win.session(10, on="km")])
def test_strict_refuses_rows_that_go_back(window: Any) -> None:
    live = windrow.Query(windows=window, aggregates={"n": agg.count()}, strict=True).open()
    live.push({"km": [1, 5]})
    before = live.snapshot()
    with pytest.raises(WindrowError, match="km = 3 goes back along that column, which has come to 5"):
        live.push({"km": [3]})
    assert live.snapshot() == before
    live.push({"km": [5, 6]})
    with pytest.raises(WindrowError, match="row 1 has no value in column 'km'"):
        live.push({"km": [7, None]})


def test_trailing_windows_have_no_answer_where_a_row_has_no_place() -> None:
    windows = {"rows": win.trailing(2), "km": win.trailing(10.0, on="km")}
    for aggregates in (PLAIN, COMPILED):
        query = windrow.Query(time="t", windows=windows, aggregates=aggregates)
        name = next(iter(aggregates))
        whole = query.run(DATA)
        assert np.ma.getmaskarray(np.ma.asarray(whole[f"{name}_rows"])).sum() == 0
        live = query.open()
        parts = [live.push({n: c[i : i + 1] for n, c in DATA.items()}) for i in range(6)] + [live.close()]
        by_n = {row[3]: row for part in parts for row in read(part)}
        assert len(by_n) == 6
        absent = {n for n, row in by_n.items() if row[-len(aggregates)] is None}
        assert absent == {1, 3, 5}
        if aggregates is PLAIN:
            assert [by_n[i][-2] for i in range(6)] == ["a", "ab", "bc", "cd", "de", "ef"]
            assert [by_n[i][-1] for i in (0, 2, 4)] == ["a", "c", "ce"]


@pytest.mark.parametrize("seed", range(30))
def test_peers_and_rows_without_a_place_keep_the_order(seed: int) -> None:
    """Rows wait for peers along a column. Those in between wait, too: each window sees rows as batch does."""
    rnd = random.Random(seed)
    n = 60
    data = {
        "t": np.sort([rnd.randrange(40) for _ in range(n)]),
        "k": np.array([rnd.randrange(2) for _ in range(n)]),
        "a": np.zeros(n),
        "b": np.zeros(n),
        "s": np.array([chr(97 + i % 26) for i in range(n)], object),
        "i": np.arange(n),
    }
    for key in range(2):
        mine = np.flatnonzero(data["k"] == key)
        for name in "ab":
            data[name][mine] = np.cumsum([rnd.choice([0, 0, 1, 2]) for _ in mine])
    for name in "ab":
        data[name][[rnd.randrange(n) for _ in range(8)]] = np.nan
    windows = {"t": win.trailing("5 us"), "a": win.trailing(2, on="a"), "b": win.trailing(3, on="b", closed="both")}
    query = windrow.Query(time="t", by="k", windows=windows, aggregates={"text": swag.counting(agg.concat("s"))})
    whole = query.run(data)
    rejected = query.report.rejected
    assert rejected == int((np.isnan(data["a"]) | np.isnan(data["b"])).sum())
    live, got, begin = query.open(), [], 0
    names = ["i", *(f"text_{w}" for w in windows)]
    while begin < n:
        end = begin + rnd.choice([1, 1, 2, 9])
        got += read(_some(live.push({name: column[begin:end] for name, column in data.items()}), tuple(names)))
        begin = end
        if rnd.random() < 0.2:
            live = query.resume(live.snapshot())
    got += read(_some(live.close(), tuple(names)))
    assert sorted(got) == sorted(read(_some(whole, tuple(names))))
    assert live.report.rejected == rejected


def test_one_column_that_goes_back_does_not_touch_another() -> None:
    windows = {"a": win.tumbling(10, on="a"), "b": win.tumbling(10, on="b")}
    query = windrow.Query(windows=windows, aggregates={"text": agg.concat("s")})
    live = query.open()
    data = {"a": [1, 12, 3, 14], "b": [1, 2, 13, 14], "s": list("wxyz")}
    got = read(_some(live.push(data), ("window", "text"))) + read(_some(live.close(), ("window", "text")))
    assert sorted(got) == [("a", "w"), ("a", "xz"), ("b", "wx"), ("b", "yz")]
    assert live.report.rejected == 1
