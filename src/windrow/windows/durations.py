"""Durations: exact, in microseconds. A month has no length: it is of a calendar (`windows.calendar`)."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from windrow.errors import WindrowError

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {"us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "m": "minute", "min": "minute"}
_SHORT |= {"h": "hour", "d": "day", "w": "week"}
#: units of a calendar, which have no exact length
_LONGER = {"month": "month", "mon": "month", "mo": "month", "quarter": "quarter", "q": "quarter"}
_LONGER |= {"year": "year", "y": "year"}
#: what integer times may count, in nanoseconds
TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*(?:,|and\b)?")


def is_duration(given: Any) -> bool:
    """Whether this is meant as a length of time (and not as a number of rows)."""
    return isinstance(given, (str, datetime.timedelta, np.timedelta64))


def micros(given: Any) -> int:
    """A duration in microseconds.

    >>> micros("24 hours"), micros("1 minute 30 seconds"), micros(datetime.timedelta(milliseconds=5))
    (86400000000, 90000000, 5000)
    """
    if isinstance(given, datetime.timedelta):
        return (given.days * 86_400 + given.seconds) * 1_000_000 + given.microseconds
    if isinstance(given, np.timedelta64):
        if np.isnat(given) or np.datetime_data(given.dtype)[0] in ("Y", "M", "generic"):
            raise WindrowError(f"{given!r} has no exact length; use days or less")
        whole = given.astype("m8[us]")
        if whole != given:
            raise WindrowError(f"{given!r} is no whole number of microseconds")
        return int(whole.astype(np.int64))
    if not isinstance(given, str):
        raise WindrowError(f"a duration is a text such as '10 minutes' or a timedelta, not {given!r}")
    return sum(_amount(given, count, _length(given, name)) for count, name in parts(given))


def parts(given: str) -> list[tuple[str, str]]:
    """What a text counts: (number, unit), with units by their full names, those of calendars too.

    >>> parts("1 minute 30s"), parts("3 months")
    ([('1', 'minute'), ('30', 'second')], [('3', 'month')])
    """
    found, at = [], 0
    text = given.strip()
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise WindrowError(f"'{given}' is no duration; write, for example, '24 hours' or '1 minute 30 seconds'")
        found.append((part[1], _unit(given, part[2])))
        at = part.end()
    if not text:
        raise WindrowError("an empty text is no duration; write, for example, '24 hours'")
    return found


#: pandas says month and start of a month
_AMBIGUOUS = {"M": "minute", "MS": "millisecond"}


def _unit(given: str, word: str) -> str:
    if word in _AMBIGUOUS:
        raise WindrowError(
            f"'{given}': {word} can be a {_AMBIGUOUS[word]} or a month; write '1 {_AMBIGUOUS[word]}' or '1 month'"
        )
    name = word.lower().replace("µ", "u")
    name = _SHORT.get(name, name.removesuffix("s"))
    name = _LONGER.get(name, name)
    if name not in _UNITS and name not in _LONGER.values():
        raise WindrowError(f"'{given}': unknown unit '{word}'; there are {', '.join(_UNITS)}")
    return name


def _length(given: str, name: str) -> int:
    if name not in _UNITS:
        raise WindrowError(
            f"'{given}': a {name} has no exact length; use days or weeks, or tz='Europe/Berlin' for a window by the "
            "calendar of a time zone (tz='UTC')"
        )
    return _UNITS[name]


def _amount(given: str, number: str, unit: int) -> int:
    if "." not in number:
        return int(number) * unit
    whole, fraction = number.split(".")
    exact, rest = divmod(int(whole + fraction) * unit, 10 ** len(fraction))
    if rest:
        raise WindrowError(f"'{given}' is no whole number of microseconds")
    return exact


def spelled(length: int) -> str:
    """Microseconds as a person writes them.

    >>> spelled(86_400_000_000), spelled(90_000_000)
    ('1 day', '90 seconds')
    """
    for unit, size in reversed(_UNITS.items()):
        if length and length % size == 0:
            count = length // size
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return "0 seconds"


_BRIEF = {"microsecond": "us", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "day": "d"}
_LONG = re.compile(rf"'[^']*'|([\d,]+) ({'|'.join(_BRIEF)})s?\b")


def abbreviated(text: str) -> str:
    """A window's description with short units; what stands in quotes stays.

    >>> abbreviated("sliding, 1 day every 1 minute"), abbreviated("session, gap 30 minutes")
    ('sliding 24 h every 1 min', 'session gap 30 min')
    """

    def brief(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return "24 h" if (found[1], found[2]) == ("1", "day") else f"{found[1]} {_BRIEF[found[2]]}"

    return _LONG.sub(brief, text.replace(", ", " ", 1))


#: what a point in time is
MOMENT = "a point in time is a datetime or a text such as '2024-01-31 12:00'"


def instant(given: Any, offset: bool = True) -> int:
    """A point in time as microseconds since the epoch; without a zone it is UTC.

    `offset`: durations are points in time, too, counted from the epoch.

    >>> instant("1970-01-02"), instant(datetime.datetime(1969, 12, 31, 23, 59, 59))
    (86400000000, -1000000)
    """
    if is_duration(given) and not isinstance(given, str):
        if not offset:
            raise WindrowError(f"{MOMENT}; {given!r} is a duration")
        return micros(given)
    if isinstance(given, str):
        try:
            given = datetime.datetime.fromisoformat(given)
        except ValueError:
            if not offset:
                raise WindrowError(f"{MOMENT}, not {given!r}") from None
            return micros(given)  # "1 hour": an offset from the epoch
    if isinstance(given, np.datetime64):
        given = given.astype("M8[us]").astype(datetime.datetime)
    if isinstance(given, datetime.datetime):
        zone = given if given.tzinfo is not None else given.replace(tzinfo=datetime.UTC)
        return micros(zone - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC))
    if isinstance(given, datetime.date):
        return (given - datetime.date(1970, 1, 1)).days * 86_400_000_000
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise WindrowError(f"{MOMENT}, not {given!r}")
