"""Values in another unit, width or zone than before are converted exactly, or refused; durations stay durations."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from windrow import agg, swag, win
from windrow.errors import WindrowError

ROWS = windrow.Query(windows=win.trailing(10), aggregates={"top": agg.max("x")})


@pytest.mark.parametrize("late", [None, "1 second"])
def test_a_column_in_another_unit_is_converted(late: str | None) -> None:
    """Where rows wait as slices, and where they do not."""
    query = windrow.Query(time="t", windows=win.tumbling("10 seconds"), aggregates={"top": agg.max("x")}, lateness=late)
    for library, unit, other in (
        (dict, "s", "ms"),
        (pd.DataFrame, "s", "us"),
        (pl.DataFrame, "ms", "us"),
        (pa.table, "s", "ms"),
    ):
        live = query.open()
        live.push(library({"t": np.array([0], "M8[us]"), "x": np.array(["2024-01-02"], f"M8[{unit}]")}))
        live.push(library({"t": np.array([1], "M8[us]"), "x": np.array(["2024-01-01"], f"M8[{other}]")}))
        got = np.asarray(live.close()["top"]).astype("M8[s]")
        assert got.tolist() == [dt.datetime(2024, 1, 2)]


def test_what_is_finer_than_before_is_refused() -> None:
    live = ROWS.open()
    live.push({"x": np.array(["2024-01-02"], "M8[s]")})
    with pytest.raises(WindrowError, match=r"'x' held datetime64\[s\] before and holds datetime64\[ms\] now"):
        live.push({"x": np.array(["2024-01-02T00:00:00.5"], "M8[ms]")})
    assert live.push({"x": np.array(["2024-01-03"], "M8[D]")})["top"].tolist() == [dt.datetime(2024, 1, 3)]
    with pytest.raises(WindrowError, match="held datetime64"):
        live.push({"x": np.array([7])})
    with pytest.raises(WindrowError, match="held datetime64"):
        live.push({"x": np.array([7], "m8[s]")})


@pytest.mark.parametrize(
    ("first", "then", "fits"),
    [
        (np.array([1], np.int8), np.array([100]), True),
        (np.array([1], np.int8), np.array([300]), False),
        (np.array([1], np.uint8), np.array([-1]), False),
        (np.array([1], np.uint64), np.array([-1]), False),
        (np.array([1.5], np.float32), np.array([0.25]), True),
        (np.array([1.5], np.float32), np.array([0.1]), False),
        (np.array([1.5]), np.array([2**53 + 1]), False),
        (np.array([1]), np.array([2.0]), True),
        (np.array([1]), np.array([2.5]), False),
        (np.array([True]), np.array([2]), False),
        (np.array(["a"]), np.array(["bcd"]), True),
    ],
)
def test_another_width(first: Any, then: Any, fits: bool) -> None:
    live = ROWS.open()
    before = live.push({"x": first})["top"]
    if fits:
        after = live.push({"x": then})["top"]
        assert after.tolist() == [max(first[0], then[0])]
        assert after.dtype == before.dtype or first.dtype.kind == "U"
    else:
        with pytest.raises(WindrowError, match="'x' held"):
            live.push({"x": then})


def test_zones_do_not_change_between_pushes() -> None:
    naive = pd.DataFrame({"t": pd.to_datetime(["2024-01-01 12:00"]).astype("M8[us]")})
    berlin, utc = (naive.assign(t=naive["t"].dt.tz_localize("UTC").dt.tz_convert(z)) for z in ("Europe/Berlin", "UTC"))
    times = windrow.Query(time="t", windows=win.trailing("1 hour"), aggregates={"n": agg.count()})
    values = windrow.Query(windows=win.trailing(5), aggregates={"last": agg.max("t")})
    for query in (times, values):
        for convert in (lambda x: x, pl.from_pandas, lambda x: pa.Table.from_pandas(x, preserve_index=False)):
            live = query.open()
            live.push(convert(naive))
            with pytest.raises(WindrowError, match="had times of none before and has the zone Europe/Berlin now"):
                live.push(convert(berlin))
            live = query.open()
            first = live.push(convert(berlin))
            again = live.push(convert(utc))  # the same moments
            assert windrow.frames.read(first).type("t").zone == windrow.frames.read(again).type("t").zone
            with pytest.raises(WindrowError, match="had times of the zone Europe/Berlin before and has none now"):
                live.push(convert(naive))


def test_event_times_in_another_unit() -> None:
    query = windrow.Query(time="t", windows=win.session("2 seconds"), aggregates={"n": agg.count()})
    live = query.open()
    live.push({"t": np.array([1], "M8[s]")})
    live.push({"t": np.array([2000], "M8[ms]")})
    with pytest.raises(WindrowError, match="the unit s before, and has finer times now"):
        live.push({"t": np.array([2500], "M8[ms]")})
    with pytest.raises(WindrowError, match=r"held timestamps .* before and holds integers"):
        live.push({"t": np.array([3_000_000])})
    assert live.close()["n"].tolist() == [2]
    live = query.open()
    live.push({"t": np.array([1_000_000_001], "M8[ns]")})
    live.push({"t": np.array([2], "M8[s]")})
    got = live.close()
    assert got["start"].tolist() == [1_000_000_001]
    assert got["n"].tolist() == [2]


def test_event_time_before_the_first_push_of_nanoseconds() -> None:
    query = windrow.Query(time="t", windows=win.tumbling("1 second"), aggregates={"n": agg.count()})
    live = query.open()
    live.advance(dt.datetime(2024, 1, 1, 0, 0, 5))
    live.push({"t": np.array(["2024-01-01T00:00:04", "2024-01-01T00:00:06"], "M8[ns]")})
    assert live.report.late == 1
    assert live.close()["n"].tolist() == [1]


@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba", "recalculate"])
def test_a_slide_goes_on_with_another_type(algorithm: str) -> None:
    make = swag.ALGORITHMS[algorithm]
    window = make(agg.max())
    window.slide(np.array([2.9]), 10)
    assert window.slide(np.array([1, 2]), 10).tolist() == [2.9, 2.9]
    window = make(agg.max())
    window.slide(np.array([2]), 10)
    assert window.slide(np.array([3.0, 1.0]), 10).tolist() == [3, 3]
    with pytest.raises(WindrowError, match="the window held int64 before and holds float64 now"):
        window.slide(np.array([2.5, 0.5]), 10)
    window = make(agg.max())
    window.insert(2.9)
    with pytest.raises(WindrowError, match=r"held 2\.9 before, and integers come now"):
        window.slide(np.array([1]), 10)
    window = make(agg.max())
    window.slide(np.array([3], "M8[s]"), 10)
    assert window.slide(np.array([2000, 4000], "M8[ms]"), 10).astype("M8[ms]").astype(int).tolist() == [3000, 4000]
    window = make(agg.max())
    window.slide(np.array([3], "M8[s]"), 10)
    with pytest.raises(WindrowError, match="datetime64"):
        window.slide(np.array([2]), 10)


def test_decimals_with_more_places() -> None:
    query = windrow.Query(windows=win.tumbling(2), aggregates={"s": agg.sum("x")})
    for library in (pa.table, pl.DataFrame):
        live = query.open()
        live.push(library({"x": [Decimal("1.5")]}))
        with pytest.raises(WindrowError, match="'x' held decimals of 1 places before and holds some of 2 now"):
            live.push(library({"x": [Decimal("2.25")]}))
        assert live.push(library({"x": [Decimal("2.20")]}))["s"][0] in (
            Decimal("3.7"),
            pa.scalar(Decimal("3.7"), pa.decimal128(12, 1)),
        )


# What a resumed query knows of types.


@pytest.mark.parametrize("types", ["numpy", "arrow"])
def test_types_go_through_a_snapshot(types: str) -> None:
    query = windrow.Query(time="t", windows=win.tumbling("10 us"), aggregates={"who": agg.max("x"), "s": agg.sum("d")})
    data = pd.DataFrame({"t": [1], "x": ["a"], "d": [dt.timedelta(1)], "unused": [Decimal("1.5")]})
    if types == "arrow":
        data = pa.Table.from_pandas(data).to_pandas(types_mapper=pd.ArrowDtype)
    live = query.open()
    live.push(data)
    whole = live.close()
    live = query.open()
    live.push(data)
    resumed = query.resume(live.snapshot())
    assert resumed.close().dtypes.to_dict() == whole.dtypes.to_dict()
    pd.testing.assert_frame_equal(query.resume(live.snapshot()).close(), whole)


def test_integer_times_stay_integers() -> None:
    query = windrow.Query(time="t", windows=win.tumbling("10 us"), aggregates={"n": agg.count()})
    for given in ({"t": [1, 2]}, {"t": np.array([1, 2], np.int32)}, {"t": np.array([1, 2])}):
        live = query.open()
        live.push(given)
        found = query.resume(live.snapshot()).close()
        assert (found["start"].tolist(), found["end"].tolist()) == ([0], [10])
        assert found["start"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("values", "aggregate", "want"),
    [
        ([Decimal("1.5"), Decimal("2.25")], agg.sum("x"), Decimal("3.75")),
        ([Decimal("1.5"), Decimal("2.5")], agg.mean("x"), Decimal("2")),
        ([dt.timedelta(1), dt.timedelta(2)], agg.sum("x"), dt.timedelta(3)),
        ([None, 7], agg.sum("x"), 7),
        ([None, True], agg.bool_and("x"), True),
    ],
)
@pytest.mark.parametrize("library", ["lists", "pandas", "polars", "arrow"])
def test_sums_go_on_after_a_snapshot(values: list, aggregate: Any, want: Any, library: str) -> None:
    make = {"lists": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library]
    values = [v.quantize(Decimal("0.01")) if isinstance(v, Decimal) else v for v in values]
    query = windrow.Query(windows=win.tumbling(2), aggregates={"y": aggregate})
    live = query.open()
    live.push(make({"x": values[:1]}))
    live = query.resume(live.snapshot())
    (got,) = list(live.push(make({"x": values[1:]}))["y"])
    assert (got.as_py() if hasattr(got, "as_py") else got) == want


# Times and durations are no bare numbers.

SECONDS = [1, 2, 4]
KINDS = {
    "numpy": lambda a: {"x": a},
    "pandas": lambda a: pd.DataFrame({"x": a}),
    "polars": lambda a: pl.DataFrame({"x": a}),
    "arrow": lambda a: pa.table({"x": a}),
}


@pytest.mark.parametrize("library", KINDS)
@pytest.mark.parametrize("plain", [False, True])
def test_durations_stay_durations(library: str, plain: bool) -> None:
    wrap = swag.counting if plain else (lambda a: a)
    query = windrow.Query(
        windows=win.tumbling(3),
        aggregates={"s": wrap(agg.sum("x")), "m": wrap(agg.mean("x")), "r": wrap(agg.value_range("x"))},
    )
    data = KINDS[library](np.array(SECONDS, "m8[ms]"))
    live = query.open()
    for found in (query.run(data), live.push(data)):
        got = [np.asarray(found[name]).astype("m8[us]").astype(int).tolist() for name in "smr"]
        assert got == [[7_000], [2_333], [3_000]]
    assert windrow.frames.read(found).type("m").name == "duration"


@pytest.mark.parametrize("library", KINDS)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "D"])
def test_means_of_times_are_times(library: str, unit: str) -> None:
    if (library, unit) == ("polars", "s"):
        pytest.skip("Polars has no seconds")
    moments = np.array(["1969-12-31", "2024-01-01", "2024-01-04"], "M8[D]").astype(f"M8[{unit}]")
    query = windrow.Query(windows=win.tumbling(3), aggregates={"m": agg.mean("x"), "r": agg.value_range("x")})
    exact = sum(int(m) for m in moments.astype("M8[us]").astype(np.int64)) * 2 // 3
    data = KINDS[library](moments)
    live = query.open()
    for found in (query.run(data), live.push(data)):
        got = np.asarray(found["m"]).astype("M8[us]").astype(np.int64).tolist()
        assert got == [(exact + 1) // 2]
        assert np.asarray(found["r"]).astype("m8[D]").astype(int).tolist() == [19727]


def test_a_mean_of_nanoseconds_is_exact() -> None:
    late = np.array([2**62, 2**62 + 2, 2**62 + 5], "M8[ns]")
    for wrap in (lambda a: a, swag.counting):
        query = windrow.Query(windows=win.tumbling(3), aggregates={"m": wrap(agg.mean("x"))})
        assert query.run({"x": late})["m"].astype(np.int64).tolist() == [2**62 + 2]


def test_times_have_no_sum() -> None:
    query = windrow.Query(windows=win.tumbling(3), aggregates={"s": agg.sum("x")})
    with pytest.raises(WindrowError, match=r"sum\(x\): column 'x' holds times .*, which have no sum"):
        query.run({"x": np.array([1], "M8[s]")})
