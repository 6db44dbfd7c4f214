"""Time columns as int64 micro- or nanoseconds since 1970 (UTC where they have a zone), and back to their own type."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from windrow.engine.inputs import Column
from windrow.errors import WindrowError
from windrow.windows.durations import TIME_UNITS

#: nanoseconds in NumPy's units
NANOS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
NANOS |= {"D": 24 * NANOS["h"], "W": 7 * 24 * NANOS["h"]}
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.UTC)
WANTED = "a time column holds timestamps, dates, or integers that count microseconds"


@dataclass(frozen=True)
class TimeType:
    """The type in which a time column came."""

    kind: Literal["timestamp", "date", "integer"]
    unit: str  # of NumPy: D, s, ms, us, ns, ...
    zone: Any = None  # the library's name for it; a tzinfo for Python's own datetimes
    dtype: Any = None  # the library's own


@dataclass(slots=True, eq=False)
class Times:
    """A time column; `mask` is true where there is a time (where not, the value is 0), None: everywhere."""

    values: np.ndarray
    mask: np.ndarray | None
    unit: Literal["us", "ns"]
    native: TimeType

    @property
    def stamps(self) -> str | None:
        """What timestamps are counted in; None: they are integers."""
        return None if self.native.kind == "integer" else self.unit

    @property
    def micros(self) -> np.ndarray:
        """In microseconds, as predicates and user-defined windows see times."""
        return self.values // 1000 if self.unit == "ns" else self.values


def read_times(name: Any, column: Column, dtype: Any, zone: Any) -> Times:
    """A column as times; `dtype` and `zone` are the library's own words for its type."""
    kind = column.dtype.kind
    if kind == "M":
        return _from_stamps(name, column, dtype, zone)
    if kind in "iu" and column.values.dtype == np.int64:
        return Times(_filled(column.values, column.mask), column.mask, "us", _integer(dtype))
    if column.values.dtype == object:
        return _from_objects(name, column, dtype)
    raise WindrowError(f"column {name!r} is of type {dtype}, which is no time: {WANTED}")


def counted_in(name: str, times: Times, unit: str | None) -> Times:
    """Integer times that count this unit; None: microseconds."""
    if unit is None:
        return times
    if times.native.kind != "integer":
        raise WindrowError(f"time_unit says what integers count, and column {name!r} holds {times.native.dtype}")
    native = replace(times.native, unit=unit)
    if unit == "ns":
        return Times(times.values, times.mask, "ns", native)
    factor = NANOS[unit] // NANOS["us"]
    return Times(_in_micros(name, times.values, factor), times.mask, "us", native)


#: the seconds of this century, from 2005 on: 10^9 and 10^12 are round numbers that also count microseconds
CENTURY = (1_104_537_600, 4_102_444_800)


def refuse_to_guess(name: str, times: Times) -> None:
    """An error where integers would count microseconds, and all look like another unit's count in this century.

    >>> refuse_to_guess("t", Times(np.array([1_714_521_600]), None, "us", TimeType("integer", "us")))
    Traceback (most recent call last):
    ...
    windrow.errors.WindrowError: column 't' holds integers such as 1714521600, which looks like seconds since 1970: ...
    """
    values = times.values if times.mask is None else times.values[times.mask]
    if times.native.kind != "integer" or not len(values):
        return
    low, high = int(values.min()), int(values.max())
    for unit, word in (("s", "seconds"), ("ms", "milliseconds"), ("ns", "nanoseconds")):
        first, last = (second * NANOS["s"] // NANOS[unit] for second in CENTURY)
        if first <= low and high < last:
            raise WindrowError(
                f"column {name!r} holds integers such as {low}, which looks like {word} since 1970: say what they "
                f"count with time_unit='{unit}' (or {', '.join(repr(u) for u in TIME_UNITS if u != unit)})"
            )


def _in_micros(name: Any, values: np.ndarray, factor: int) -> np.ndarray:
    if factor == 1:
        return values
    most = (2**63 - 1) // factor
    if len(values) and (values.max() > most or values.min() < -most):
        row = int(np.argmax((values > most) | (values < -most)))
        raise WindrowError(f"column {name!r}, row {row}: too far from 1970 to be counted in microseconds")
    return values * factor


@cache
def _integer(dtype: Any) -> TimeType:
    return TimeType("integer", "us", None, dtype)


def _filled(values: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    return values if mask is None or not values[~mask].any() else np.where(mask, values, 0)


def _from_stamps(name: Any, column: Column, dtype: Any, zone: Any) -> Times:
    unit, count = np.datetime_data(column.dtype)
    values = _filled(column.values, column.mask)
    if unit in "YM":
        values, unit, count = values.view(column.dtype).astype("M8[D]").view(np.int64), "D", 1
    if unit not in NANOS:
        raise WindrowError(f"column {name!r} is of type {dtype}, finer than a nanosecond: make it datetime64[ns]")
    kind: Literal["timestamp", "date"] = "date" if (unit, count) == ("D", 1) else "timestamp"
    to: Literal["us", "ns"] = "ns" if unit == "ns" else "us"
    values = _in_micros(name, values, NANOS[unit] * count // NANOS[to])
    return Times(values, column.mask, to, TimeType(kind, unit if count == 1 else to, zone, dtype))


def _from_objects(name: Any, column: Column, dtype: Any) -> Times:
    """Python's datetimes (all with a zone or all without one) and dates, pandas' Timestamps, np.datetime64."""
    objects = column.objects()
    there = np.fromiter((not _missing(value) for value in objects), bool, len(objects))
    mask = None if there.all() else there
    rows = np.flatnonzero(there).tolist()
    nanos = [0] * len(objects)
    zones: list[datetime.tzinfo] = []
    kinds: set[str] = set()
    for row in rows:
        value = objects[row]
        if isinstance(value, datetime.datetime):
            if bool(kinds) and kinds != {"date"} and (value.tzinfo is None) != (not zones):
                raise WindrowError(f"column {name!r}, row {row}: times with and without a zone in one column: {value}")
            if value.tzinfo is not None and value.tzinfo not in zones:
                zones.append(value.tzinfo)
            kinds.add("datetime")
            nanos[row] = _nanos(value - (EPOCH if value.tzinfo is None else EPOCH_UTC))
        elif isinstance(value, datetime.date):
            kinds.add("date")
            nanos[row] = (value.toordinal() - EPOCH.toordinal()) * NANOS["D"]
        elif isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in NANOS:
            kinds.add("datetime")
            unit, count = np.datetime_data(value.dtype)
            nanos[row] = int(value.astype(np.int64)) * NANOS[unit] * count
        else:
            raise WindrowError(f"column {name!r}, row {row}: {value!r} ({type(value).__name__}) is no time: {WANTED}")
    if kinds == {"date", "datetime"} and zones:
        raise WindrowError(f"column {name!r} mixes dates and times with a zone")
    to: Literal["us", "ns"] = "ns" if any(nanos[row] % 1000 for row in rows) else "us"
    zone = None if not zones else zones[0] if len(zones) == 1 else datetime.UTC
    factor = NANOS[to]
    try:
        values = np.array([count // factor for count in nanos], np.int64)
    except OverflowError:
        raise WindrowError(f"column {name!r}: times too far from 1970 to be counted in {to}") from None
    date = kinds == {"date"}
    return Times(values, mask, to, TimeType("date" if date else "timestamp", "D" if date else to, zone, dtype))


def _missing(value: Any) -> bool:
    """None or a NaT, which is not even equal to itself."""
    return value is None or (isinstance(value, (datetime.datetime, np.datetime64)) and value != value)


def _nanos(since: datetime.timedelta) -> int:
    micros = (since.days * 86400 + since.seconds) * 10**6 + since.microseconds
    return micros * 1000 + getattr(since, "nanoseconds", 0)  # pandas' Timedelta has them


def stamps(values: np.ndarray, mask: np.ndarray | None, like: Times) -> tuple[np.ndarray, bool]:
    """Moments as datetime64 (as int64 for integers), and whether they are in the unit in which the column came.

    A unit that would lose something gives way to the one that the values are counted in.

    >>> day = Times(np.array([0]), None, "us", TimeType("date", "D"))
    >>> stamps(np.array([86_400_000_000]), None, day)
    (array(['1970-01-02'], dtype='datetime64[D]'), True)
    >>> stamps(np.array([1_000_000]), None, day)
    (array(['1970-01-01T00:00:01.000000'], dtype='datetime64[us]'), False)
    """
    values = _filled(np.ascontiguousarray(values, np.int64), mask)
    native = like.native
    factor = NANOS[native.unit] // NANOS[like.unit]
    if native.kind == "integer":
        values, rest = np.divmod(values, factor)
        if rest.any():
            raise WindrowError(f"a window begins or ends between two of the times, which count whole {native.unit}")
        return values, True
    if factor > 1:
        fewer, rest = np.divmod(values, factor)
        if not rest.any():
            return fewer.view(f"M8[{native.unit}]"), True
    return values.view(f"M8[{like.unit}]"), factor == 1
