"""When days begin: each zone, every day, against zoneinfo itself."""

from __future__ import annotations

import datetime
import zoneinfo

import numpy as np
import pytest

from tests.query import calendar_brute as brute
from windrow.errors import WindrowError
from windrow.windows.calendar import Calendar, Step
from windrow.windows.zones import Zone, zone

FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2037, 12, 31)
EPOCH = datetime.date(1970, 1, 1)
#: left out a day; midnight does not exist; midnight twice; minutes and half hours; many changes; a change in the 1970s
SOME = [
    "Pacific/Apia", "America/Sao_Paulo", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Gaza",
    "Africa/Monrovia", "America/Havana", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Kwajalein", "America/New_York",
]  # fmt: skip
STEPS = [Step(1, "day"), Step(1, "week"), Step(1, "month"), Step(1, "quarter")]


def number(day: datetime.date) -> int:
    return (day - EPOCH).days


def check_days(name: str, days: list[datetime.date]) -> None:
    found = Zone(name).midnights(np.array([number(day) for day in days])) // brute.SECOND
    assert found.tolist() == [brute.begin(day, name) for day in days], name


def check_windows(name: str) -> None:
    """Windows follow each other without a gap, and begin where their first days do."""
    info = zoneinfo.ZoneInfo(name)
    for step in STEPS:
        calendar = Calendar(step, step, name)
        low, high = number(FIRST) * 86_400 * brute.SECOND, number(LAST) * 86_400 * brute.SECOND
        first, table = calendar.table(low, high)
        begins, ends = table
        assert (ends[:-1] == begins[1:]).all() and (np.diff(begins) >= 0).all()
        assert begins[0] <= low and ends[-1] > high
        numbers = first + np.arange(len(begins))
        for k in numbers[:: 97 if step.unit == "day" else 13].tolist():
            second = int(begins[k - first]) // brute.SECOND
            at = datetime.datetime.fromtimestamp(second, info).date()
            before = datetime.datetime.fromtimestamp(second - 1, info).date()
            assert before < at
            if step.unit == "week":
                assert at.weekday() == 0
            elif step.unit == "month":
                assert at.day == 1 and (at.year - 1970) * 12 + at.month - 1 == k
            elif step.unit == "quarter":
                assert at.day == 1 and at.month in (1, 4, 7, 10)


def test_some_zones():
    rng = np.random.default_rng(3)
    for name in SOME:
        changes = [second for year in range(1970, 2038) for second, _ in Zone(name)._changes_of(year)]
        near = {EPOCH + datetime.timedelta(second // 86_400 + d) for second in changes for d in (-1, 0, 1, 2)}
        near |= {EPOCH + datetime.timedelta(int(d)) for d in rng.integers(0, number(LAST), 100)}
        check_days(name, sorted(near))
        check_windows(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(zoneinfo.available_timezones()))
def test_all_zones(name):
    check_days(name, [FIRST + datetime.timedelta(d) for d in range(number(LAST))])
    check_windows(name)


def test_a_day_that_was_left_out_is_empty():
    days = np.array([number(datetime.date(2011, 12, d)) for d in (29, 30, 31)])
    found = Zone("Pacific/Apia").midnights(days)
    assert found[1] == found[2] and found[1] - found[0] == 86_400 * brute.SECOND


def test_days_of_other_centuries():
    rng = np.random.default_rng(4)
    for name in ("Europe/Berlin", "America/New_York", "Asia/Manila"):
        days = [EPOCH + datetime.timedelta(int(d)) for d in rng.integers(-700_000, 2_900_000, 100)]
        check_days(name, days)


def test_names_that_are_none():
    with pytest.raises(WindrowError, match="did you mean 'Europe/Berlin'"):
        zone("Europe/Berln")
    for bad in ("../etc/passwd", "", "/etc/localtime", "\0"):
        with pytest.raises(WindrowError, match="there is no time zone"):
            zone(bad)


@pytest.mark.parametrize("months", [1, 2, 3, 11, 12, 13])
def test_months_are_added_as_in_spark(months):
    days = [EPOCH + datetime.timedelta(d) for d in range(-400, 1600)]
    for count in (months, -months):
        found = Step(count, "month").after(np.array([number(day) for day in days]))
        assert found.tolist() == [number(brute.add_months(day, count)) for day in days]
