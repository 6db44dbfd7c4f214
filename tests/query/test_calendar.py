"""Windows by the calendar of a time zone: whole queries against zoneinfo, pandas and Polars."""

from __future__ import annotations

import datetime
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest

import windrow
from tests.query import calendar_brute as brute
from windrow import agg, stores, win
from windrow.errors import WindrowError

DAY = 86_400 * brute.SECOND
ZONES = ["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe", "UTC"]
#: around changes of clocks, ends of months, a day that Apia left out, a leap day, and before 1970
CENTRES = ["2011-12-30", "2010-10-31", "2009-03-29", "2024-02-29", "2018-11-04", "1969-12-31", "1999-07-15"]
AGGREGATES = {"n": agg.count(), "who": agg.concat("w"), "s": agg.sum("x")}
PERIODIC = [
    ((1, "day"), (1, "day"), None),
    ((1, "month"), (1, "month"), None),
    ((2, "week"), (2, "week"), None),
    ((1, "quarter"), (1, "quarter"), None),
    ((1, "year"), (1, "year"), None),
    ((1, "month"), (1, "day"), None),
    ((1, "quarter"), (1, "month"), None),
    ((10, "day"), (1, "month"), None),
    ((3, "day"), (2, "day"), datetime.date(2000, 1, 2)),
    ((1, "month"), (1, "month"), datetime.date(2000, 1, 31)),
    (36 * 3600 * brute.SECOND, (1, "day"), None),
]


def ask(**options) -> windrow.Query:
    """A query that is not compiled: one test below is."""
    return windrow.Query(**{"compile": "never"} | options)


def text(step) -> str:
    return f"{step // brute.SECOND} seconds" if isinstance(step, int) else f"{step[0]} {step[1]}"


def periodic(span, every, origin, zone):
    if span == every:
        return win.tumbling(text(span), origin, tz=zone)
    return win.sliding(text(span), every=text(every), origin=origin, tz=zone)


def times(seed: int, zone: str, n: int = 60, spread: int = 40) -> list[int]:
    """Some at the very edges of days, some a microsecond before, in order and with ties."""
    rng = random.Random(f"{seed} {zone}")
    centre = datetime.date.fromisoformat(rng.choice(CENTRES))
    found = []
    for _ in range(n):
        day = centre + datetime.timedelta(rng.randint(-spread, spread))
        edge = brute.begin(day, zone) * brute.SECOND
        found.append(edge + rng.choice([0, -1, 1, rng.randint(0, DAY), 3600 * brute.SECOND]))
        if rng.random() < 0.1:
            found.append(found[-1])
    return sorted(found)


def table(at: list[int], seed: int, keys: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "ts": np.array(at, "M8[us]"),
            "k": rng.integers(0, keys, len(at)),
            "w": [f"{i}." for i in range(len(at))],
            "x": np.arange(len(at)),
        }
    )


def told(found: list, rows: pd.DataFrame) -> list[tuple]:
    words, x = rows["w"].tolist(), rows["x"].tolist()
    return sorted(
        (start, end, len(mine), "".join(words[i] for i in mine), sum(x[i] for i in mine)) for start, end, mine in found
    )


def got(result: pd.DataFrame) -> list[tuple]:
    edges = [result[name].to_numpy().astype("M8[us]").astype(np.int64) for name in ("start", "end")]
    return sorted(zip(*(e.tolist() for e in edges), *(result[a].tolist() for a in AGGREGATES), strict=True))


def fed(query: windrow.Query, rows: pd.DataFrame, rng: random.Random, breaks: bool = True) -> pd.DataFrame:
    """All results of a live query over pushes of any size, which is saved and goes on in between."""
    live, found, at = query.open(), [], 0
    while at < len(rows):
        size = rng.randint(1, 9)
        found.append(live.push(rows.iloc[at : at + size]))
        at += size
        if rng.random() < 0.1 and breaks:
            live = query.resume(live.snapshot())
    found.append(live.close())
    return pd.concat([part for part in found if len(part)], ignore_index=True)


@pytest.mark.parametrize("case", range(len(PERIODIC)))
def test_periodic(case):
    check_periodic(case, range(case, case + 2))


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(PERIODIC)))
def test_periodic_many(case):
    check_periodic(case, range(100, 130))


def check_periodic(case: int, seeds: range) -> None:
    span, every, origin = PERIODIC[case]
    for seed in seeds:
        zone = ZONES[seed % len(ZONES)]
        at = times(seed, zone, n=40)
        rows = table(at, seed)
        expected = told(brute.periodic(at, span, every, zone, origin), rows)
        query = ask(time="ts", windows=periodic(span, every, origin, zone), aggregates=AGGREGATES)
        assert got(query.run(rows)) == expected, (zone, seed)
        assert got(fed(query, rows, random.Random(seed))) == expected, (zone, seed)


@pytest.mark.parametrize("step", [(1, "day"), (1, "month"), (2, "week"), (1, "year")])
def test_trailing(step):
    check_trailing(step, range(len(ZONES)))


@pytest.mark.slow
@pytest.mark.parametrize("step", [(1, "day"), (1, "month"), (2, "week"), (1, "year")])
def test_trailing_many(step):
    check_trailing(step, range(100, 160))


def check_trailing(step: tuple[int, str], seeds: range) -> None:
    for seed in seeds:
        zone, closed = ZONES[seed % len(ZONES)], ("right", "left", "both", "none")[(seed + step[0]) % 4]
        at = times(seed + 50, zone, n=40)
        rows = table(at, seed)
        expected = ["".join(rows["w"][i] for i in mine) for mine in brute.trailing(at, *step, zone, closed)]
        window = win.trailing(text(step), closed, tz=zone)
        query = ask(time="ts", windows=window, aggregates=AGGREGATES)
        for result in (query.run(rows), fed(query, rows, random.Random(seed))):
            assert ["" if pd.isna(who) else who for who in result["who"]] == expected, (zone, seed)


def test_a_trailing_month_of_days_is_as_in_spark():
    """At midnights, the window begins with add_months of the day."""
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(d) for d in range(500)]
    rows = pd.DataFrame({"ts": np.array(days, "M8[us]")})
    query = ask(time="ts", windows=win.trailing("1 month", tz="UTC"), aggregates={"n": agg.count()})
    expected = [sum(brute.add_months(day, -1) < other <= day for other in days) for day in days]
    assert query.run(rows)["n"].tolist() == expected


def test_compiled():
    """The same in machine code, which takes most of the time of this file."""
    at = times(3, "Pacific/Apia", n=200, spread=400)
    rows = table(at, 3, keys=2)
    for window in (
        win.sliding("1 month", every="1 day", tz="Pacific/Apia"),
        win.trailing("1 month", tz="Pacific/Apia"),
        win.landmark("x % 20 == 3", every="1 day", tz="Pacific/Apia"),
    ):
        parts = {"time": "ts", "by": ["k"], "windows": window, "aggregates": {"s": agg.sum("x")}}
        plain, compiled = ask(**parts), ask(**parts, compile="always")
        pd.testing.assert_frame_equal(plain.run(rows), compiled.run(rows))
        pd.testing.assert_frame_equal(fed(plain, rows, random.Random(5)), fed(compiled, rows, random.Random(5)))


def test_rows_that_come_late_fold_into_slices():
    for seed, zone in enumerate(ZONES[:3]):
        at = times(seed + 90, zone)
        rows = table(at, seed, keys=3)
        late = rows.iloc[np.argsort(np.array(at) + np.random.default_rng(seed).integers(0, 3 * DAY, len(at)))]
        windows = {
            "month": win.tumbling("1 month", tz=zone),
            "days": win.sliding("1 month", every="2 days", tz=zone),
            "hours": win.sliding("30 hours", every="7 hours"),
        }
        query = ask(
            time="ts", by=["k"], windows=windows, aggregates={"n": agg.count(), "s": agg.sum("x")}, lateness="4 days"
        )
        whole = query.run(rows)
        live = fed(query, late, random.Random(seed))
        order = ["k", "window", "start", "end"]
        pd.testing.assert_frame_equal(
            whole.sort_values(order, ignore_index=True), live.sort_values(order, ignore_index=True)
        )
        assert "fold into slices" in query.explain()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia"])
def test_landmarks_are_reported_at_local_midnights(zone):
    at = times(7, zone)
    rows = table(at, 7)
    query = ask(time="ts", windows=win.landmark("x % 20 == 3", every="1 day", tz=zone), aggregates=AGGREGATES)
    found = []
    for first in range(3, len(at), 20):
        until = first + 20 if first + 20 < len(at) else None
        ends = sorted({min(b for b in edges(at, zone) if b > time) for time in at[first:until]})
        mine = range(first, until or len(at))
        found += [
            (at[first], end, [i for i in mine if at[i] < end]) for end in ends if until is None or end <= at[until]
        ]
    assert got(query.run(rows)) == told(found, rows)
    assert got(fed(query, rows, random.Random(1))) == told(found, rows)


def edges(at: list[int], zone: str) -> list[int]:
    return [
        brute.begin(day, zone) * brute.SECOND for day in brute.days(at[0] // brute.SECOND, at[-1] // brute.SECOND, zone)
    ]


@pytest.mark.parametrize("zone", ZONES[:3])
def test_closed_right(zone):
    """A row at midnight is of the day before."""
    at = times(31, zone)
    rows = table(at, 31)
    query = ask(time="ts", windows=win.tumbling("1 day", tz=zone, closed="right"), aggregates=AGGREGATES)
    expected = told(brute.periodic([time - 1 for time in at], (1, "day"), (1, "day"), zone), rows)
    assert got(query.run(rows)) == expected
    assert got(fed(query, rows, random.Random(1))) == expected


@pytest.mark.parametrize("step", [(1, "day"), (2, "week"), (1, "month")])
def test_sessions(step):
    for seed, zone in enumerate(ZONES):
        at = times(seed + 70, zone, n=25, spread=40 if step[1] == "day" else 200)
        rows = table(at, seed)
        found: list[list[int]] = []
        for i, time in enumerate(at):
            if found and time <= brute.shifted(at[found[-1][-1]], -step[0], step[1], zone):
                found[-1].append(i)
            else:
                found.append([i])
        ends = [brute.shifted(at[mine[-1]], -step[0], step[1], zone) for mine in found]
        expected = told([(at[mine[0]], end, mine) for mine, end in zip(found, ends, strict=True)], rows)
        query = ask(time="ts", windows=win.session(text(step), tz=zone), aggregates=AGGREGATES)
        assert got(query.run(rows)) == expected, (zone, seed)
        assert got(fed(query, rows, random.Random(seed))) == expected, (zone, seed)


def test_rows_that_ask():
    for zone in ZONES[:3]:
        at = times(21, zone)
        rows, asks = table(at[::2], 21), pd.DataFrame({"ts": np.array(at[1::2], "M8[us]")})
        query = ask(
            time="ts", windows=win.trailing("1 month", tz=zone), aggregates={"n": agg.count(), "who": agg.concat("w")}
        )
        found = query.run(rows, at=asks)
        expected = []
        for time in at[1::2]:
            low = brute.shifted(time, 1, "month", zone)
            expected.append("".join(w for w, other in zip(rows["w"], at[::2], strict=True) if low < other <= time))
        assert ["" if pd.isna(who) else who for who in found["who"]] == expected
        live = query.open()
        live.push(rows.iloc[:-10])
        late = asks[asks["ts"] >= rows["ts"].iloc[-11]]
        known = list(zip(rows["w"], at[::2], strict=True))[:-10]
        wanted = []
        for time in late["ts"].to_numpy().astype(np.int64).tolist():
            low = brute.shifted(time, 1, "month", zone)
            wanted.append("".join(w for w, other in known if low < other <= time))
        assert ["" if pd.isna(who) else who for who in live.at(late)["who"]] == wanted


def test_in_a_store():
    for window in (
        win.sliding("1 month", every="1 day", tz="Europe/Berlin"),
        win.trailing("1 month", tz="Europe/Berlin"),
    ):
        rows = table(times(11, "Europe/Berlin", n=150), 11, keys=2)
        query = ask(time="ts", by=["k"], windows=window, aggregates=AGGREGATES)
        stored = ask(time="ts", by=["k"], windows=window, aggregates=AGGREGATES, store=stores.memory())
        want, have = fed(query, rows, random.Random(2)), fed(stored, rows, random.Random(2), breaks=False)
        pd.testing.assert_frame_equal(want, have)


def test_nanoseconds_and_zones_of_columns():
    at = times(5, "Europe/Berlin")
    rows = table(at, 5)
    window = win.tumbling("1 month", tz="Europe/Berlin")
    query = ask(time="ts", windows=window, aggregates=AGGREGATES)
    expected = got(query.run(rows))
    nanos = rows.assign(ts=rows["ts"].astype("M8[ns]").dt.tz_localize("UTC").dt.tz_convert("America/New_York"))
    result = query.run(nanos)
    assert result["start"].dtype == nanos["ts"].dtype and result["end"].dtype == nanos["ts"].dtype
    assert (
        got(result.assign(start=result["start"].dt.tz_convert(None), end=result["end"].dt.tz_convert(None))) == expected
    )
    trailing = ask(time="ts", windows=win.trailing("1 month", tz="Europe/Berlin"), aggregates=AGGREGATES)
    assert trailing.run(rows)["who"].tolist() == trailing.run(nanos)["who"].tolist()


def against_others(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        zone = rng.choice(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"])
        at = times(seed, zone, n=40, spread=rng.choice([3, 60, 400]))
        rows = table(at, seed)
        name, theirs, polars = rng.choice(
            [
                ("1 day", "D", "1d"),
                ("1 week", "W-MON", "1w"),
                ("1 month", "MS", "1mo"),
                ("1 quarter", "QS", "1q"),
                ("1 year", "YS", "1y"),
            ]
        )
        query = ask(time="ts", windows=win.tumbling(name, tz=zone), aggregates={"s": agg.sum("x")})
        mine = query.run(rows)
        have = list(
            zip(mine["start"].to_numpy().astype("M8[us]").astype(np.int64).tolist(), mine["s"].tolist(), strict=True)
        )
        local = rows.assign(ts=rows["ts"].dt.tz_localize("UTC").dt.tz_convert(zone))
        grouped = local.resample(theirs, on="ts", **({"closed": "left", "label": "left"} if name == "1 week" else {}))
        want = grouped["x"].agg(["count", "sum"]).query("count > 0")
        starts = want.index.tz_convert(None).to_numpy().astype("M8[us]").astype(np.int64)
        assert have == list(zip(starts.tolist(), want["sum"].tolist(), strict=True)), (seed, zone, name, "pandas")
        frame = pl.from_pandas(rows).with_columns(pl.col("ts").dt.replace_time_zone("UTC").dt.convert_time_zone(zone))
        want_pl = frame.group_by_dynamic("ts", every=polars).agg(pl.col("x").sum())
        starts = want_pl["ts"].dt.convert_time_zone("UTC").dt.epoch("us").to_list()
        assert have == list(zip(starts, want_pl["x"].to_list(), strict=True)), (seed, zone, name, "polars")


def test_pandas_and_polars():
    against_others(range(20))


@pytest.mark.slow
def test_pandas_and_polars_300():
    against_others(range(20, 320))


def test_another_zone_or_step_is_another_window():
    rows = table(times(1, "UTC"), 1)
    query = ask(time="ts", windows=win.tumbling("1 month", tz="Europe/Berlin"), aggregates=AGGREGATES)
    live = query.open()
    live.push(rows)
    saved = live.snapshot()
    for other in (
        win.tumbling("1 month", tz="Europe/Paris"),
        win.tumbling("1 quarter", tz="Europe/Berlin"),
        win.tumbling("30 days"),
    ):
        with pytest.raises(WindrowError):
            ask(time="ts", windows=other, aggregates=AGGREGATES).resume(saved)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: win.tumbling("1 month"), "tz='Europe/Berlin'"),
        (lambda: win.trailing("2 years"), "tz='Europe/Berlin'"),
        (lambda: win.tumbling("6 hours", tz="UTC"), "as long in every time zone"),
        (lambda: win.sliding("1 month", every="1 hour", tz="UTC"), "every is a number of days"),
        (lambda: win.tumbling("1 day 6 hours", tz="UTC"), "one unit"),
        (lambda: win.tumbling("0 days", tz="UTC"), "at least 1"),
        (lambda: win.tumbling("1.5 days", tz="UTC"), "whole number of days"),
        (lambda: win.tumbling("-1 month", tz="UTC"), "at least 1"),
        (lambda: win.tumbling(5, tz="UTC"), "a length such as '1 day'"),
        (lambda: win.tumbling("1 day", tz="Mars/Olympus"), "no time zone"),
        (lambda: win.tumbling("1 day", tz=3), "the name of a time zone"),
        (lambda: win.tumbling("1 day", on="x", tz="UTC"), "tz= is for windows by time"),
        (lambda: win.tumbling("1 day", origin="2024-01-01 06:00", tz="UTC"), "origin is a day"),
        (lambda: win.tumbling("999999 years", tz="UTC"), "longer than a calendar"),
        (lambda: win.trailing("36 hours", tz="UTC"), "as long in every time zone"),
        (lambda: win.landmark("x", every=3, tz="UTC"), "a length such as '1 day'"),
    ],
)
def test_refused(make, says):
    with pytest.raises(WindrowError, match=says):
        make()


def test_times_outside_the_calendar():
    far = pd.DataFrame({"ts": np.array([2**62], np.int64), "x": [1]})
    for window in (win.tumbling("1 month", tz="UTC"), win.trailing("1 month", tz="UTC")):
        query = ask(time="ts", windows=window, aggregates={"n": agg.count()}, time_unit="us")
        with pytest.raises(WindrowError, match="9997"):
            query.run(far)


def test_rows_far_apart_cost_nothing():
    rows = pd.DataFrame({"ts": np.array(["0100-01-01", "9000-06-01"], "M8[us]"), "x": [1, 2]})
    query = ask(time="ts", windows=win.tumbling("1 day", tz="Europe/Berlin"), aggregates={"n": agg.count()})
    assert query.run(rows)["n"].tolist() == [1, 1]
