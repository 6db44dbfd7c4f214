"""Ticks of an axis: round times, round numbers, or positions of rows."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
#: distances of ticks in microseconds
STEPS = [
    *(base * power for power in (1, 10, 100, 1_000, 10_000, 100_000) for base in (1, 2, 5)),
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)), *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)), *(n * DAY for n in (1, 2, 7, 14, 30, 91, 182, 365)),
]  # fmt: skip
#: at most so many ticks
MOST = 8
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Axis:
    """Along what a picture is drawn: "time" (microseconds since 1970), "rows", or "number"."""

    kind: str
    name: str = ""
    zone: Any = None  # a tzinfo; None: UTC

    def ticks(self, low: float, high: float) -> list[tuple[float, str, str]]:
        """(place, label, second line) of the ticks between two places."""
        if self.kind == "time":
            return self._times(low, high)
        step = round_step((high - low) / MOST)
        if self.kind == "rows":
            step = max(1.0, step)
        first = math.ceil(low / step - 1e-9)
        places = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
        return [(place, f"{place:.10g}", "") for place in places]

    def _times(self, low: float, high: float) -> list[tuple[float, str, str]]:
        wanted = (high - low) / MOST
        step = next((step for step in STEPS if step >= wanted), None)
        if step is None:
            step = int(round_step(wanted / (365 * DAY))) * 365 * DAY or 365 * DAY
        shift = self._offset(low)
        found: list[tuple[float, str, str]] = []
        day = ""
        for k in range(math.ceil((low + shift) / step), math.floor((high + shift) / step) + 1):
            place = k * step - shift
            moment = self.moment(place)
            if moment is None:
                found.append((place, f"{place:.4g}", ""))
                continue
            date = f"{moment:%b} {moment.day}" if step < 300 * DAY else ""
            if step >= DAY:
                label, second = date or str(moment.year), str(moment.year) if date else ""
            else:
                label, second = clock(moment, step), f"{moment.day} {moment:%b %Y}"
            found.append((place, label, second if second != day else ""))
            day = second
        return found

    def _offset(self, place: float) -> int:
        """How far local time is ahead of UTC, so that ticks are round there."""
        moment = self.moment(place)
        offset = None if moment is None else moment.utcoffset()
        return 0 if offset is None else int(offset.total_seconds()) * SECOND

    def moment(self, place: float) -> datetime.datetime | None:
        """The time at a place; None where Python has no such time."""
        try:
            moment = EPOCH + datetime.timedelta(microseconds=int(place))
            return moment if self.zone is None else moment.astimezone(self.zone)
        except OverflowError:
            return None

    def told(self, place: float) -> str:
        """A place in words, for tooltips."""
        moment = self.moment(place) if self.kind == "time" else None
        return f"{place:.10g}" if moment is None else f"{moment.replace(tzinfo=None).isoformat(' ')}"


def clock(moment: datetime.datetime, step: int) -> str:
    """The time of day, as finely as the distance of ticks needs."""
    if step >= MINUTE:
        return f"{moment:%H:%M}"
    if step >= SECOND:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%S}.{moment.microsecond:06}".rstrip("0").rstrip(".") + " s"


def round_step(wanted: float) -> float:
    """The next 1, 2 or 5 times a power of ten.

    >>> round_step(0.13), round_step(3.0), round_step(70)
    (0.2, 5.0, 100.0)
    """
    if not wanted > 0 or math.isinf(wanted):
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(power * base for base in (1.0, 2.0, 5.0, 10.0) if power * base >= wanted * (1 - 1e-9))
