"""What does not fit is refused before it is tried."""

from __future__ import annotations

import pytest

import windrow
from windrow import agg, win
from windrow.errors import WindrowError


@pytest.mark.parametrize("lateness", [None, "1 minute"])
def test_too_many_windows_are_counted_first(lateness: str | None) -> None:
    query = windrow.Query(
        time="t", windows=win.sliding("1 hour", every="1 microsecond"), aggregates={"n": agg.count()}, lateness=lateness
    )
    rows = {"t": [0, 5_000_000]}
    with pytest.raises(WindrowError, match=r"3,60\d,\d\d\d,\d\d\d windows"):
        query.run(rows)
    live = query.open()
    live.push(rows)
    with pytest.raises(WindrowError, match=r"\d,\d\d\d,\d\d\d,\d\d\d windows"):
        live.push({"t": [10**12]})
    with pytest.raises(WindrowError, match=r"\d,\d\d\d,\d\d\d,\d\d\d windows"):
        live.close()


def test_few_of_many_windows() -> None:
    query = windrow.Query(time="t", windows=win.sliding("1 hour", every="1 microsecond"), aggregates={"n": agg.count()})
    live = query.open()
    live.push({"t": [0]})
    assert live.push({"t": [5]})["n"].tolist() == [1] * 5
