"""Calendar time: days, weeks, months, quarters and years of a time zone, and the instants at which they begin.

A step is a number of these. All begin with the first instant of a local day, so a calendar is arithmetic on days, and a
table of when days begin. Tables are made for the extent of the times that come, kept, and extended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from windrow.engine.walking import walker
from windrow.engine.walks import ready
from windrow.errors import WindrowError
from windrow.windows.durations import instant, micros, parts
from windrow.windows.zones import DAY, MOST_OFFSET, SECOND, days_within, zone

#: days or months that a unit has
_DAYS, _MONTHS = {"day": 1, "week": 7}, {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_DAYS, *_MONTHS)
#: weeks begin on Monday: this is one
_MONDAY = 4
#: days or months: longer steps leave the calendar
MOST = 100_000
#: entries that a table is longer than what was asked for
_SPARE = 64


@dataclass(frozen=True)
class Step:
    """So many days or months of a calendar."""

    count: int
    unit: str

    @property
    def days(self) -> int:
        """Where it is a number of days; else 0."""
        return self.count * _DAYS.get(self.unit, 0)

    @property
    def months(self) -> int:
        """Where it is a number of months; else 0."""
        return self.count * _MONTHS.get(self.unit, 0)

    @property
    def most_days(self) -> int:
        """At most how many days it has."""
        return self.days or self.months * 31

    @property
    def least_days(self) -> int:
        """At least how many days it has."""
        return self.days or self.months * 28

    def after(self, days: np.ndarray, times: np.ndarray | int = 1) -> np.ndarray:
        """The day that is this step, so many times, after each day. A month that is too short gives its last day.

        >>> Step(1, "month").after(np.array([0, 28, 30])).tolist()  # 1970-01-01, 01-29 and 01-31
        [31, 58, 58]
        """
        if self.days:
            return days + self.days * times
        months = days.astype("M8[D]").astype("M8[M]")
        day = days - months.astype("M8[D]").astype(np.int64)
        target = months + np.asarray(self.months * times)
        first = target.astype("M8[D]").astype(np.int64)
        length = (target + 1).astype("M8[D]").astype(np.int64) - first
        return first + np.minimum(day, length - 1)

    def __str__(self) -> str:
        return f"{self.count:,} {self.unit}{'' if self.count == 1 else 's'}"


def step(kind: str, what: str, given: Any) -> Step | int:
    """A length by the calendar; microseconds where it is an exact duration, which is as long in every zone.

    >>> step("tumbling", "size", "2 weeks"), step("sliding", "range", "36 hours")
    (Step(count=2, unit='week'), 129600000000)
    """
    found = parts(given) if isinstance(given, str) else []
    if not any(unit in UNITS for _, unit in found):
        return micros(given)
    count, unit = found[0]
    if len(found) > 1:
        raise WindrowError(f"win.{kind}: with tz=, {what} has one unit, such as '36 hours' or '1 month', not {given!r}")
    if not count.removeprefix("+").isdigit() or int(count) < 1:
        raise WindrowError(f"win.{kind}: {what} is a whole number of {unit}s, at least 1, not {given!r}")
    if int(count) * (_DAYS | _MONTHS)[unit] > MOST:
        raise WindrowError(f"win.{kind}: {what} of {given!r} is longer than a calendar, which has the years 2 to 9997")
    return Step(int(count), unit)


@dataclass(frozen=True)
class Calendar:
    """Windows that begin every so many days or months of a zone."""

    range: Step | int  # ticks where it is a duration
    every: Step
    zone: str
    origin: int | None = None  # the local day that steps are counted from
    ticks: int = 1  # a microsecond
    shift: int = 0  # ticks that edges lie behind the calendar's

    def scaled(self, factor: int) -> Calendar:
        """The same with `factor` times as many ticks."""
        span = self.range if isinstance(self.range, Step) else self.range * factor
        return replace(self, range=span, ticks=self.ticks * factor)

    @property
    def longest(self) -> int:
        """Ticks: no window is longer."""
        span = self.range
        return (span.most_days * DAY + 2 * MOST_OFFSET) * self.ticks if isinstance(span, Step) else span

    @property
    def usual(self) -> int:
        """Ticks: how far windows are apart, about."""
        return self.every.least_days * DAY * self.ticks

    @property
    def most_open(self) -> int:
        """How many windows are open at once, at most, in a zone that leaves out no day."""
        span, every = self.range, self.every
        if not isinstance(span, Step):
            return ceil(span / ((every.least_days * 24 - 1) * DAY // 24 * self.ticks))
        if span.months and every.months:
            return ceil(span.months / every.months)
        return ceil(span.most_days / every.least_days)

    @property
    def unit(self) -> int:
        """What edges are multiples of: days begin with a whole second; those of UTC are whole."""
        days = isinstance(self.range, Step) and zone(self.zone).info.key in ("UTC", "Etc/UTC")
        length = DAY if days else SECOND if isinstance(self.range, Step) else int(np.gcd(SECOND, self.range))
        return 1 if self.shift else length * self.ticks

    def __str__(self) -> str:
        return f"{self.every} of {self.zone}"

    # The table.

    def begins(self, numbers: np.ndarray) -> np.ndarray:
        """Where windows begin."""
        return self._of(numbers, 0)

    def ends(self, numbers: np.ndarray) -> np.ndarray:
        """Where windows end."""
        return self._of(numbers, 1)

    def _of(self, numbers: np.ndarray, line: int) -> np.ndarray:
        if not len(numbers):
            return np.empty(0, np.int64)
        first, table = _table(self).numbers(int(numbers.min()), int(numbers.max()))
        return table[line, numbers - first]

    def table(self, low: int, high: int) -> tuple[int, np.ndarray]:
        """(first, table): begins and ends of all windows around these times, from window `first` on."""
        return _table(self).numbers(self.number(low) - self.most_open - 4, self.number(high) + 4)

    def open_at(self, times: np.ndarray) -> np.ndarray:
        """For each time the first window that ends after it; of windows that are in the table."""
        first, table = _table(self).held or (0, np.empty((2, 0), np.int64))
        return first + np.searchsorted(table[1], times, "right")

    def around(self, low: int, high: int) -> np.ndarray:
        self.table(low, high)
        return self.known()

    def known(self) -> np.ndarray:
        return _table(self).edges

    def number(self, time: int) -> int:
        """About which window begins before this time: at most one from it, and a day's error."""
        day, (first, last) = time // (DAY * self.ticks), days_within(self.ticks)
        if not first < day < last:
            raise WindrowError(
                f"a time of {time // self.ticks} microseconds is outside the calendar, which has the years 2 to 9997"
            )
        if self.every.days:
            return (day - self.first_day) // self.every.days
        months, since = (
            int(np.int64(d).astype("M8[D]").astype("M8[M]").astype(np.int64)) for d in (day, self.first_day)
        )
        return (months - since) // self.every.months

    @property
    def first_day(self) -> int:
        """The day that steps are counted from: 1970-01-01, for weeks the first Monday after it."""
        if self.origin is not None:
            return self.origin
        return _MONDAY if self.every.unit == "week" else 0

    @property
    def reach(self) -> tuple[int, int]:
        """The numbers of the first and the last window that there are."""
        first, last = days_within(self.ticks)
        last -= 2 + self.longest // (self.ticks * DAY)
        return self.number((first + 1) * DAY * self.ticks) + 2, self.number(last * DAY * self.ticks)

    def made(self, first: int, last: int) -> np.ndarray:
        """The table of windows `first` to `last`."""
        numbers = np.arange(first, last + 1)
        base = np.full(len(numbers), self.first_day)
        begin, span, place = self.every.after(base, numbers), self.range, zone(self.zone)
        begins = place.midnights(begin) * self.ticks + self.shift
        if not isinstance(span, Step):
            return np.array([begins, begins + span])
        if span.months and self.every.months:
            end = Step(1, "month").after(base, numbers * self.every.months + span.months)
        else:
            end = span.after(begin)
        return np.array([begins, place.midnights(end) * self.ticks + self.shift])


class Table:
    """When the windows of a calendar begin and end, as far as was asked. Other threads may extend it, too."""

    def __init__(self, calendar: Any) -> None:
        self.calendar = calendar
        self.held: tuple[int, np.ndarray] | None = None
        self._edges: tuple[np.ndarray, np.ndarray] | None = None

    def numbers(self, low: int, high: int) -> tuple[int, np.ndarray]:
        """The table, with these windows in it."""
        held = self.held
        if held is None or low < held[0] or high >= held[0] + held[1].shape[1]:
            spare, (least, most) = _SPARE, self.calendar.reach
            if low < least or high > most:
                raise WindrowError(
                    f"windows of {self.calendar} would leave the years 2 to 9997 (nanoseconds: 1677 to 2262), which "
                    "calendars have"
                )
            if held is not None:
                low, high = min(low, held[0]), max(high, held[0] + held[1].shape[1] - 1)
                spare += held[1].shape[1] // 4
            low, high = max(least, low - spare), min(most, high + spare)
            held = self.held = low, ready(self.calendar.made(low, high))
        return held

    @property
    def edges(self) -> np.ndarray:
        """All of its instants, in order."""
        if self.held is None:
            return np.empty(0, np.int64)
        table, edges = self.held[1], self._edges
        if edges is None or edges[0] is not table:
            edges = self._edges = table, np.unique(table)
        return edges[1]


@cache
def _table(calendar: Any) -> Table:
    return Table(calendar)


@dataclass(frozen=True)
class Shift:
    """So many days or months of a zone before each time, or after it: as far into that day as the time is into its own.

    Where that would be in the next day, or in one that a later day is shifted to as well, it is the day's end or its
    beginning, so that a later time is never shifted to an earlier one.
    """

    step: Step
    zone: str
    ticks: int = 1
    ahead: bool = False

    def scaled(self, factor: int) -> Shift:
        """The same with `factor` times as many ticks."""
        return replace(self, ticks=self.ticks * factor)

    @property
    def longest(self) -> int:
        """Ticks: no time is shifted farther."""
        return ((self.step.most_days + 1) * DAY + 2 * MOST_OFFSET) * self.ticks

    @property
    def reach(self) -> tuple[int, int]:
        """The numbers of the first and the last day that there are."""
        first, last = days_within(self.ticks)
        far = self.step.most_days
        return (first, last - 1 - far) if self.ahead else (first + far, last - 1)

    def made(self, first: int, last: int) -> np.ndarray:
        """When days begin, and those that they are shifted to."""
        days, place = np.arange(first, last + 1), zone(self.zone)
        other = Step(self.step.count if self.ahead else -self.step.count, self.step.unit).after(days)
        return np.array([place.midnights(days), place.midnights(other)]) * self.ticks

    def of(self, times: np.ndarray) -> np.ndarray:
        """The shifted times, as they come. One that leaves the calendar is an error."""
        found = np.empty(len(times), np.int64)
        if len(times):
            low, high = (int(time) // (DAY * self.ticks) for time in (times.min(), times.max()))
            least, most = self.reach
            if low - 2 < least or high + 2 > most:
                raise WindrowError(
                    f"windows that reach over {self.step} would leave the years 2 to 9997 (nanoseconds: 1677 to 2262), "
                    "which calendars have"
                )
            _, table = _table(self).numbers(low - 2, high + 2)
            _shifted(ready(times), table, np.int64(DAY * self.ticks), self.ahead, found)
        return found


@walker
def _shifted(times, table, day, ahead, found):
    j = 0
    for i in range(len(times)):
        t = times[i]
        if t < table[0, j] or t >= table[0, j + 1]:  # neighbours are mostly of one day
            j = min(max((t - table[0, 0]) // day, 0), table.shape[1] - 2)
            while table[0, j + 1] <= t:
                j += 1
            while table[0, j] > t:
                j -= 1
        found[i] = min(table[1, j] + (t - table[0, j]), table[1, j + 1])
        if not ahead:
            found[i] = min(found[i], t - 1)


def local_day(given: Any) -> int:
    """A day as a user gives it, with or without a time of midnight."""
    micros = instant(given, offset=False)
    if micros % DAY:
        raise WindrowError(f"with tz=, origin is a day such as '2024-01-31', not {given!r}")
    return micros // DAY
