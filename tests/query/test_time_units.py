"""What integer times count is said, or plain; it is never guessed. And "1M" is neither a minute nor a month."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.errors import WindrowError
from windrow.windows.durations import micros

#: 2024-05-01 00:00:00
START = 1_714_521_600
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
AGGREGATES = {"n": agg.count(), "text": agg.concat("s")}


def rows(unit: str) -> dict:
    seconds = START + np.array([0, 30, 59, 60, 200])
    return {"t": seconds * UNITS[unit], "s": np.array(list("abcde"), object)}


@pytest.mark.parametrize("given", ["1M", "5 M", "1 hour 2M", "1MS"])
def test_a_bare_m_is_refused(given: str) -> None:
    with pytest.raises(WindrowError, match=r"write '1 (minute|millisecond)' or '1 month'"):
        micros(given)
    assert micros("1m") == micros("1 min") == micros("1 minute") == 60_000_000 and micros("1ms") == 1000


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("window", [win.tumbling("1 minute"), win.session("29 s"), win.last(2, every="1 minute")])
def test_each_unit_gives_the_same_windows(unit: str, window: Any) -> None:
    query = windrow.Query(time="t", time_unit=unit, windows=window, aggregates=AGGREGATES)
    stamps = {**rows("s"), "t": rows("s")["t"].astype("M8[s]")}
    expected = windrow.Query(time="t", windows=window, aggregates=AGGREGATES).run(stamps)
    got = query.run(rows(unit))
    for side in ("start", "end"):
        assert got[side].dtype == np.int64
        assert got[side].tolist() == (expected[side].astype("M8[s]").astype(int) * UNITS[unit]).tolist()
    assert got["text"].tolist() == expected["text"].tolist()
    live = query.open()
    assert live.advance(START * UNITS[unit])["n"].tolist() == []
    parts = [live.push({name: column[i : i + 1] for name, column in rows(unit).items()}) for i in range(5)]
    live = query.resume(live.snapshot())
    parts += [live.advance((START + 10_000) * UNITS[unit]), live.close()]
    for name in ("start", "end", "text"):
        assert [value for part in parts for value in part[name].tolist()] == got[name].tolist()
    assert live.report.late == 0


def test_trailing_windows_keep_the_column() -> None:
    query = windrow.Query(time="t", time_unit="s", windows=win.trailing("1 minute"), aggregates=AGGREGATES)
    got = query.run(rows("s"))
    assert got["t"].tolist() == rows("s")["t"].tolist() and got["text"].tolist() == ["a", "ab", "abc", "bcd", "e"]


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_another_unit_is_not_taken_for_microseconds(unit: str) -> None:
    query = windrow.Query(time="t", windows=win.tumbling("1 minute"), aggregates=AGGREGATES)
    with pytest.raises(WindrowError, match=f"looks like .*seconds since 1970: .* time_unit='{unit}'"):
        query.run(rows(unit))
    live = query.open()
    with pytest.raises(WindrowError, match=f"time_unit='{unit}'"):
        live.push(rows(unit))
    live.push(rows("us"))
    windrow.Query(time="t", time_unit="us", windows=win.tumbling("1 s"), aggregates=AGGREGATES).run(rows(unit))


@pytest.mark.parametrize("times", [[0, 1, 2], [5 * 10**9], [START * 10**6], [-1, 10**9, 2 * 10**9], [10**15]])
def test_counters_and_microseconds_go_on(times: list) -> None:
    query = windrow.Query(time="t", windows=win.tumbling("1 hour"), aggregates={"n": agg.count()})
    assert sum(query.run({"t": times})["n"].tolist()) == len(times)


def test_what_does_not_fit_is_refused() -> None:
    def made(**options: Any) -> windrow.Query:
        return windrow.Query(**{"time": "t", "windows": win.tumbling("1 s"), "aggregates": AGGREGATES, **options})

    with pytest.raises(WindrowError, match="time_unit is one of s, ms, us, ns, not 'minute'"):
        made(time_unit="minute")
    with pytest.raises(WindrowError, match="time_unit is about event time"):
        made(time=None, windows=win.tumbling(2), time_unit="s")
    with pytest.raises(WindrowError, match="its every is no whole number of s"):
        made(windows=win.sliding("2 s", every="500 ms"), time_unit="s")
    made(windows=win.trailing("500 ms"), time_unit="s")
    with pytest.raises(WindrowError, match="time_unit says what integers count, and column 't' holds datetime64"):
        made(time_unit="s").run({**rows("s"), "t": rows("s")["t"].astype("M8[s]")})
    with pytest.raises(WindrowError, match="too far from 1970"):
        made(time_unit="s").run({**rows("s"), "t": np.full(5, 2**62)})


@pytest.mark.parametrize("unit", UNITS)
def test_functions_of_the_row_see_microseconds(unit: str) -> None:
    seen: list[int] = []

    def begins(row: Any) -> bool:
        seen.append(row.t)
        return row.t % 60_000_000 == 0

    query = windrow.Query(time="t", time_unit=unit, windows=win.punctuated(begins), aggregates=AGGREGATES, partial=True)
    assert query.run(rows(unit))["text"].tolist() == ["abc", "de"]
    assert set(seen) == set(rows("us")["t"].tolist())
    live = query.open()
    assert live.push(rows(unit))["text"].tolist() + live.close()["text"].tolist() == ["abc", "de"]


def test_saved_state_is_of_its_unit() -> None:
    queries = [windrow.Query(time="t", time_unit=unit, windows=win.tumbling("1 s"), aggregates=AGGREGATES)
               for unit in ("s", "ms")]  # fmt: skip
    live = queries[0].open()
    live.push(rows("s"))
    with pytest.raises(windrow.errors.SnapshotError):
        queries[1].resume(live.snapshot())


def test_advance_takes_points_in_time() -> None:
    query = windrow.Query(time="t", windows=win.tumbling("1 s"), aggregates={"n": agg.count()})
    for wrong in ("1 hour", datetime.timedelta(hours=1), np.timedelta64(1, "h"), 1.5, None):
        with pytest.raises(WindrowError, match="a point in time is a datetime or a text"):
            query.open().advance(wrong)
    live = query.open()
    live.push({"t": np.array(["2024-05-01"], "M8[us]")})
    with pytest.raises(WindrowError, match=r"column 't' holds timestamps: a point in time is .*, not 3"):
        live.advance(3)
    assert live.advance("2024-05-02")["n"].tolist() == [1]
