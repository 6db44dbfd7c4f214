"""Time columns of all types, to int64 and back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.frames.cases import BERLIN, DAY, MOMENT, build, eager, instants, listed, types
from windrow.errors import WindrowError
from windrow.frames import Frame, read


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", BERLIN])
def test_timestamps(make: Any, unit: str, zone: str | None) -> None:
    counts = [-1, None, 0, 1_700_000_000]
    data = make(t=pa.array(counts, pa.timestamp(unit, zone)))
    frame = read(data)
    times = frame.time("t")
    factor = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[unit]
    assert times.unit == ("ns" if unit == "ns" else "us")
    assert times.values.tolist() == [0 if c is None else c * factor for c in counts]
    assert times.mask.tolist() == [True, False, True, True]
    back = build(frame, {"t": instants(times, 0)})
    assert listed(back, "t") == [None if c is None else np.datetime64(c, unit) for c in counts]
    assert types(back)["t"] == types(frame.native())["t"]
    finer = listed(build(read(back), {"t": instants(times, 1)}), "t")
    small = "ns" if unit == "ns" else "us"
    assert finer == [None if c is None else np.datetime64(c * factor + 1, small) for c in counts]
    if zone and make.kind != "dict":
        assert zone in str(types(build(read(back), {"t": instants(times, 1)}))["t"])


def test_dates(make: Any) -> None:
    frame = read(make(t=[DAY, None, dt.date(2000, 2, 29)]))
    times = frame.time("t")
    day = 86_400_000_000
    assert times.values.tolist() == [-2 * day, 0, 11016 * day]
    assert times.unit == "us"
    as_dates = build(frame, {"t": instants(times, day)})
    assert listed(as_dates, "t") == [np.datetime64("1969-12-31"), None, np.datetime64("2000-03-01")]
    if make.kind != "dict":
        assert all(v is None or type(v) is dt.date for v in eager_list(as_dates, "t"))
    half = build(frame, {"t": instants(times, day // 2)})
    assert listed(half, "t") == [np.datetime64("1969-12-30T12"), None, np.datetime64("2000-02-29T12")]


def test_integers_are_microseconds(make: Any) -> None:
    frame = read(make(t=pa.array([-5, 2**31 - 1], pa.int32())))
    times = frame.time("t")
    assert times.values.tolist() == [-5, 2**31 - 1]
    assert times.values.dtype == np.int64
    assert listed(build(frame, {"t": instants(times, 0)}), "t") == [-5, 2**31 - 1]
    assert "int32" in str(types(build(frame, {"t": instants(times, 0)}))["t"]).lower()
    assert listed(build(frame, {"t": instants(times, 1)}), "t") == [-4, 2**31]  # in a wider type
    unsigned = read(make(t=pa.array([0, 5], pa.uint16())))
    assert listed(build(unsigned, {"t": instants(unsigned.time("t"), -3)}), "t") == [-3, 2]


@pytest.mark.parametrize(
    "values", [[1.5], ["2020-01-01"], [True], [dt.timedelta(1)], pa.array([2**63], pa.uint64()), [[1]]]
)
def test_what_is_no_time(make: Any, values: Any) -> None:
    with pytest.raises(WindrowError, match=r"'when'.*timestamps, dates, or integers"):
        read(make(when=values)).time("when")


def test_times_too_far_away(make: Any) -> None:
    if make.kind in ("polars", "lazy"):
        pytest.skip("has no seconds")
    with pytest.raises(WindrowError, match="row 1: too far"):
        read(make(t=pa.array([0, 2**61], pa.timestamp("s")))).time("t")


@pytest.mark.parametrize("kind", ["pandas", "dict"])
def test_pythons_own_times(kind: str) -> None:
    def frame(values: list) -> Frame:
        return read({"t": values} if kind == "dict" else pd.DataFrame({"t": pd.Series(values, dtype=object)}))

    plain = frame([MOMENT, None, dt.datetime(2024, 2, 29)])
    assert plain.time("t").values.tolist() == [-1, 0, 1_709_164_800_000_000]
    assert listed(build(plain, {"t": instants(plain.time("t"), 1)}), "t")[0] == np.datetime64(0, "us")
    summer = dt.timezone(dt.timedelta(hours=2))
    aware = frame([dt.datetime(1970, 1, 1, 2, tzinfo=summer), dt.datetime(1970, 1, 1, 2, tzinfo=dt.UTC)])
    assert aware.time("t").values.tolist() == [0, 7_200_000_000]
    back = build(aware, {"t": instants(aware.time("t"), 0)})
    assert [v.tzinfo for v in back["t"]] == [dt.UTC] * 2
    one_zone = frame([dt.datetime(1970, 1, 1, 2, tzinfo=summer)])
    assert [v.utcoffset() for v in build(one_zone, {"t": instants(one_zone.time("t"), 0)})["t"]] == [
        dt.timedelta(hours=2)
    ]
    stamps = frame([pd.Timestamp(1, unit="ns"), np.datetime64("1970-01-02")])
    assert (stamps.time("t").unit, stamps.time("t").values.tolist()) == ("ns", [1, 86_400 * 10**9])
    with pytest.raises(WindrowError, match="row 1: times with and without a zone"):
        frame([MOMENT, MOMENT.replace(tzinfo=dt.UTC)]).time("t")
    with pytest.raises(WindrowError, match="row 1: 'yesterday'"):
        frame([MOMENT, "yesterday"]).time("t")
    assert frame([None, None]).time("t").mask.tolist() == [False, False]


def test_numpys_units() -> None:
    for unit, micros in {"D": 86_400 * 10**6, "h": 3600 * 10**6, "m": 60 * 10**6, "W": 7 * 86_400 * 10**6}.items():
        frame = read({"t": np.array([1, -1], f"M8[{unit}]")})
        assert frame.time("t").values.tolist() == [micros, -micros]
        assert build(frame, {"t": instants(frame.time("t"), 0)})["t"].dtype == f"M8[{unit}]"
    assert read({"t": np.array(["1970-02"], "M8[M]")}).time("t").values.tolist() == [31 * 86_400 * 10**6]
    assert read({"t": np.array([3], ">M8[us]")}).time("t").values.tolist() == [3]
    with pytest.raises(WindrowError, match="finer than a nanosecond"):
        read({"t": np.array([1], "M8[ps]")}).time("t")


def eager_list(data: Any, name: str) -> list:
    column = eager(data)[name]
    values = (
        column.to_pylist() if hasattr(column, "to_pylist") else column.tolist() if hasattr(column, "tolist") else column
    )
    return [None if v is pd.NA or v is None else v for v in (values if isinstance(values, list) else list(values))]
