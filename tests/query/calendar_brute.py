"""Calendar windows straight from zoneinfo, one day and one row at a time. No code of `windrow` is used here."""

from __future__ import annotations

import datetime
import zoneinfo
from bisect import bisect_right
from functools import cache

UTC, EPOCH = datetime.UTC, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
SECOND = 1_000_000


def instant(second: int, zone: str) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(second, zoneinfo.ZoneInfo(zone))


@cache
def begin(day: datetime.date, zone: str) -> int:
    """The first second of a local day: its midnight, the first of two; where there is none, the first time after it."""
    midnight = datetime.datetime(day.year, day.month, day.day, tzinfo=zoneinfo.ZoneInfo(zone))
    second = (midnight.astimezone(UTC) - EPOCH) // datetime.timedelta(seconds=1)
    if instant(second, zone).replace(tzinfo=None) == midnight.replace(tzinfo=None):
        return second
    low, high = second - 30 * 3600, second + 30 * 3600
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if instant(middle, zone).date() >= day else (middle, high)
    return high


def add_months(day: datetime.date, months: int) -> datetime.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = (datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1) - datetime.timedelta(1)).day
    return datetime.date(year, month + 1, min(day.day, last))


def add(day: datetime.date, count: int, unit: str) -> datetime.date:
    if unit in ("day", "week"):
        return day + datetime.timedelta(count * (7 if unit == "week" else 1))
    return add_months(day, count * {"month": 1, "quarter": 3, "year": 12}[unit])


def days(first: int, last: int, zone: str) -> list[datetime.date]:
    """All days around two seconds."""
    day, end = (instant(second, zone).date() + datetime.timedelta(d) for second, d in ((first, -3), (last, 4)))
    return [day + datetime.timedelta(d) for d in range((end - day).days)]


def begins(day: datetime.date, count: int, unit: str, origin: datetime.date | None) -> bool:
    """Whether a window begins with a day."""
    first = origin or (datetime.date(1970, 1, 5) if unit == "week" else datetime.date(1970, 1, 1))
    if unit in ("day", "week"):
        return (day - first).days % (count * (7 if unit == "week" else 1)) == 0
    apart = (day.year - first.year) * 12 + day.month - first.month
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    return apart % months == 0 and add_months(first, apart) == day


def periodic(
    times: list[int],
    span: tuple[int, str] | int,
    every: tuple[int, str],
    zone: str,
    origin: datetime.date | None = None,
) -> list[tuple[int, int, list[int]]]:
    """(start, end, rows) of each window with a row in it; times are microseconds in order, and so is a span of them."""
    if not times:
        return []
    long = span // (86_400 * SECOND) + 2 if isinstance(span, int) else 32 * span[0] * (12 if span[1] == "year" else 3)
    found = []
    for day in days(times[0] // SECOND - long * 86_400, times[-1] // SECOND, zone):
        if begins(day, *every, origin):
            start = begin(day, zone) * SECOND
            if isinstance(span, int):
                end = start + span
            elif span == every and origin is not None:  # the next window's
                end = begin(next(d for d in days_after(day) if begins(d, *every, origin)), zone) * SECOND
            else:
                end = begin(add(day, *span), zone) * SECOND
            rows = [i for i, time in enumerate(times) if start <= time < end]
            if rows:
                found.append((start, end, rows))
    return found


def days_after(day: datetime.date):
    while True:
        day += datetime.timedelta(1)
        yield day


def shifted(time: int, count: int, unit: str, zone: str) -> int:
    """So many units before a time (after it: a negative count). As far into that day, and no farther than the next."""
    around = days(time // SECOND, time // SECOND, zone)
    starts = [begin(day, zone) * SECOND for day in around]
    at = bisect_right(starts, time) - 1
    this, after = (begin(add(day, -count, unit), zone) * SECOND for day in around[at : at + 2])
    return min(this + time - starts[at], after) if count < 0 else min(this + time - starts[at], after, time - 1)


def trailing(times: list[int], count: int, unit: str, zone: str, closed: str) -> list[list[int]]:
    found = []
    for time in times:
        low = shifted(time, count, unit, zone)
        found.append(
            [
                i
                for i, other in enumerate(times)
                if (low < other or (low == other and closed in ("left", "both")))
                and (other < time or (other == time and closed in ("right", "both")))
            ]
        )
    return found
