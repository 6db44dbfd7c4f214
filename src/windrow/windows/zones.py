"""When the days of a time zone begin.

zoneinfo tells the offset of one time. It is asked for every other day of a year, and between two of them whose offsets
differ for the second of the change: a zone changes its clocks and back within 4 days at the least. From then on whole
arrays of days are computed from the changes.
"""

from __future__ import annotations

import datetime
import difflib
import zoneinfo
from functools import cache

import numpy as np

from windrow.errors import WindrowError

SECOND, DAY = 1_000_000, 86_400_000_000
#: the days of the years that calendars reach over: 2 to 9997
FIRST_DAY, LAST_DAY = -718_797, 2_932_166
#: no zone had an offset that changed before; and from here on, changes repeat after 400 years, which are whole weeks
_NO_CHANGES, _REPEATS, _CYCLE = 1800, 2101, 146_097 * 86_400
#: seconds between two times that zoneinfo is asked for
_ASKED = 2 * 86_400
#: no local time is farther from UTC
MOST_OFFSET = 16 * 3600 * SECOND


def days_within(ticks: int) -> tuple[int, int]:
    """The first and the last day that calendars have, where a microsecond has so many ticks: 64 bits hold all of them.

    >>> days_within(1)
    (-718797, 2932166)
    """
    most = 2**63 // (DAY * ticks) - 2
    return max(FIRST_DAY, -most), min(LAST_DAY, most)


class Zone:
    """The days of a zone: day 0 is 1970-01-01 there."""

    def __init__(self, name: str) -> None:
        self.name, self.info = name, _info(name)
        self._years: dict[int, list[tuple[int, int]]] = {}
        self._held: tuple[range, np.ndarray, np.ndarray, np.ndarray] | None = None

    def midnights(self, days: np.ndarray) -> np.ndarray:
        """For each day, in microseconds, the first instant whose local date is that day or a later one.

        A day that the zone left out begins where the next one begins.
        """
        if not len(days):
            return np.empty(0, np.int64)
        since, offset, latest = self._changes(int(days.min()), int(days.max()))
        local = days.astype(np.int64) * 86_400
        at = np.searchsorted(latest, local, "right")  # the first stretch in which that local time is reached
        return np.maximum(since[at], local - offset[at]) * SECOND

    def _changes(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stretches of one offset around these days: their first seconds, offsets, and the latest local time so far."""
        low, high = (datetime.date(1970, 1, 1) + datetime.timedelta(day) for day in (first, last))
        years, held = range(low.year - 1, high.year + 2), self._held
        if held is not None:
            if years[0] >= held[0][0] and years[-1] <= held[0][-1]:
                return held[1:]
            years = range(min(years[0], held[0][0]), max(years[-1], held[0][-1]) + 1)
        since, offset = [_second(years[0])], [self._offset(_second(min(max(years[0], _NO_CHANGES), _REPEATS)))]
        for year in years:
            for second, new in self._changes_of(year):
                since.append(second)
                offset.append(new)
        begin, offsets = np.array(since, np.int64), np.array(offset, np.int64)
        end = np.append(begin[1:], _second(years[-1] + 1) + 86_400)
        self._held = years, begin, offsets, np.maximum.accumulate(end + offsets)
        return self._held[1:]

    def _changes_of(self, year: int) -> list[tuple[int, int]]:
        """(second, offset from then on), in order."""
        if year < _NO_CHANGES:
            return []
        cycles = max(0, (year - _REPEATS) // 400)
        if cycles:
            return [(second + cycles * _CYCLE, new) for second, new in self._changes_of(year - 400 * cycles)]
        if year not in self._years:
            begin, end = _second(year), _second(year + 1)
            seconds = range(begin - 1, end, _ASKED)
            asked = [*seconds, end - 1]
            offsets = [self._offset(second) for second in asked]
            found: list[tuple[int, int]] = []
            for j in np.flatnonzero(np.diff(offsets)).tolist():
                low, high = asked[j], asked[j + 1]
                while (before := self._offset(low)) != offsets[j + 1]:
                    least, most = low, high  # the offset is another one at `most`
                    while most - least > 1:
                        middle = (least + most) // 2
                        least, most = (middle, most) if self._offset(middle) == before else (least, middle)
                    found.append((most, self._offset(most)))
                    low = most
            self._years[year] = found
        return self._years[year]

    def _offset(self, second: int) -> int:
        """Seconds that local time is ahead of UTC."""
        offset = datetime.datetime.fromtimestamp(second, self.info).utcoffset()
        assert offset is not None
        return offset.days * 86_400 + offset.seconds


@cache
def zone(name: str) -> Zone:
    """The zone of a name, such as "Europe/Berlin"; changes that were found are kept."""
    return Zone(name)


@cache
def _second(year: int) -> int:
    """The first second of a year, UTC."""
    return (datetime.date(year, 1, 1) - datetime.date(1970, 1, 1)).days * 86_400


def _info(name: object) -> zoneinfo.ZoneInfo:
    if not isinstance(name, str):
        raise WindrowError(f"tz is the name of a time zone such as 'Europe/Berlin', not {name!r}")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        known = zoneinfo.available_timezones()
        if not known:
            raise WindrowError("tz: this machine has no time zones; the package tzdata has them") from error
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else "names are such as 'Europe/Berlin' or 'UTC'"
        raise WindrowError(f"tz: there is no time zone {name!r}; {hint}") from error
