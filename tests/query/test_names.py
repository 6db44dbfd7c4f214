"""Two columns of a result never have one name: the clash is refused, and named."""

from __future__ import annotations

from typing import Any

import pytest

import windrow
from windrow import agg, win
from windrow.errors import WindrowError

TWO = {"a": win.tumbling(2), "b": win.tumbling("1 s")}
COUNT = {"n": agg.count()}

REFUSED: dict[str, Any] = {
    "start": {"by": "start", "windows": win.tumbling(2), "aggregates": COUNT},
    "end": {"by": ["k", "end"], "windows": win.tumbling(2), "aggregates": COUNT},
    "window": {"by": "window", "windows": {"a": win.tumbling(2)}, "aggregates": COUNT},
    "start_row": {"time": "t", "by": "start_row", "windows": TWO, "aggregates": COUNT},
    "end_row": {"time": "t", "windows": TWO, "aggregates": {"end_row": agg.count()}},
    "start_km": {
        "windows": {"a": win.tumbling(2), "b": win.tumbling(2, on="km")},
        "aggregates": {"start_km": agg.count()},
    },
    "k": {"by": "k", "windows": win.tumbling(2), "aggregates": {"k": agg.count()}},
    "a_b_c": {
        "windows": {"c": win.trailing(2), "b_c": win.trailing(3)},
        "aggregates": {"a": agg.count(), "a_b": agg.count()},
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_clash_is_refused(name: str) -> None:
    with pytest.raises(WindrowError, match=f"two columns of the result would be called '{name}': .*, and .*; rename"):
        windrow.Query(**REFUSED[name])


def test_both_of_a_clash_are_named() -> None:
    with pytest.raises(WindrowError, match="the key 'start', and where a window begins"):
        windrow.Query(**REFUSED["start"])
    with pytest.raises(WindrowError, match="aggregate 'a_b' of window 'c', and aggregate 'a' of window 'b_c'"):
        windrow.Query(**REFUSED["a_b_c"])


def test_what_does_not_clash_is_not_refused() -> None:
    windrow.Query(by="window", windows=win.tumbling(2), aggregates=COUNT)
    windrow.Query(by="start", windows=win.trailing(2), aggregates=COUNT)
    windrow.Query(time="t", by="start_row", windows=win.tumbling(2), aggregates=COUNT)
