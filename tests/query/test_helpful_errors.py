"""Errors say what is wrong in the user's own words, and are all `WindrowError`s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.errors import WindrowError

SUM = {"s": agg.sum("x")}
OWN = windrow.Aggregate(lift=lambda x: (x,), combine=lambda a, b: a + b, lower=len, identity=())


def query(**options: Any) -> windrow.Query:
    return windrow.Query(**{"windows": win.tumbling(2), "aggregates": SUM, **options})


SAID: dict[str, tuple[Any, type, str]] = {
    "a list of aggregates": (lambda: query(aggregates=[agg.sum("x")]), TypeError, "aggregates is a dict .* not a list"),
    "a list of windows": (lambda: query(windows=[win.tumbling(2)]), TypeError, "a dict of them by name, not a list"),
    "window=": (lambda: query(window=win.tumbling(2)), TypeError, "no option 'window'; did you mean 'windows'"),
    "no windows": (lambda: windrow.Query(aggregates=SUM), TypeError, "a query needs windows="),
    "by": (lambda: query(by=3), TypeError, "by is the name of a column, or a list of them, not 3"),
    "own": (lambda: query(aggregates={"s": OWN}), WindrowError, r"name its column\(s\), such as mine\('x'\)"),
    "k": (lambda: agg.top_k("x", 0), ValueError, "k must be an integer of 1 or more, got 0"),
    "q": (lambda: agg.approx_percentile("x", 2), ValueError, "q must be a number from 0 to 1"),
    "edges": (lambda: agg.histogram("x", []), ValueError, "edges must be two or more values"),
    "sep": (lambda: agg.concat("x", sep=3), ValueError, "sep must be text"),
    "capacity": (lambda: swag.DABA(agg.max(), capacity=-1), ValueError, "capacity must be at least 1"),
    "no aggregate": (lambda: swag.DABA(3), TypeError, "takes an aggregate such as agg.max"),
    "a text": (lambda: query().run({"x": np.array([1, "", 2], object)}), TypeError, "not ''; look at 'x'"),
    "a text, live": (lambda: query().open().push({"x": np.array([1, "y"], object)}), TypeError, "'y'; look at 'x'"),
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_what_is_wrong(name: str) -> None:
    act, kind, says = SAID[name]
    with pytest.raises(WindrowError, match=says) as caught:
        act()
    assert isinstance(caught.value, kind)


OTHERS = {"median": "approx_percentile", "average": "mean", "summ": "sum", "prod": "product"}


@pytest.mark.parametrize("name", OTHERS)
def test_aggregates_of_other_names_are_suggested(name: str) -> None:
    if name in agg.__all__:
        return
    with pytest.raises(AttributeError, match=f"agg has no {name}; there is .*{OTHERS[name]}"):
        getattr(agg, name)
    assert not hasattr(agg, name) and getattr(agg, name, None) is None


def test_windows_of_other_names_are_suggested() -> None:
    with pytest.raises(AttributeError, match=r"win has no hopping; there is win\.sliding"):
        win.hopping  # noqa: B018


@pytest.mark.parametrize(
    "windows", [win.tumbling("1 hour"), {"a": win.tumbling("1 hour"), "b": win.tumbling("2 hours")}]
)
@pytest.mark.parametrize("lateness", [None, "1 hour"])
def test_times_are_printed_as_times(windows: Any, lateness: Any) -> None:
    times = np.array(["2024-03-30T00:00", "2024-03-30T00:30"], "M8[us]")
    rows = {"t": times, "x": np.full(2, 2**63 - 1)}
    timed = query(time="t", windows=windows, lateness=lateness)
    for act in (lambda: timed.run(rows), lambda: (live := timed.open(), live.push(rows), live.close())):
        with pytest.raises(OverflowError, match=r"from 2024-03-30 00:00:00 to 2024-03-30 0[12]:00:00"):
            act()
