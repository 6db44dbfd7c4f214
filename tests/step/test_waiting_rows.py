"""Rows that wait because no window has them yet (`closed="left"`) are all there after a snapshot."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
from windrow import agg, win


@pytest.mark.parametrize("compile", ["never", pytest.param("always", marks=pytest.mark.slow)])
@pytest.mark.parametrize("waiting", range(1, 10))
def test_a_snapshot_keeps_rows_that_wait(waiting, compile):
    """A ring that was just loaded has no room to spare: the next row must not take the place of the oldest."""
    aggregate = agg.concat("w") if compile == "never" else agg.first("n")
    query = windrow.Query(
        time="t",
        windows=win.trailing(2.0, on="d", closed="left"),
        aggregates={"answer": aggregate},
        compile=compile,
    )
    rows = waiting + 1
    data = {
        "t": np.arange(rows) * 10,
        "d": np.array([14.0] * waiting + [15.5]),
        "w": [chr(97 + i) for i in range(rows)],
        "n": np.arange(rows),
    }
    live = query.open()
    live.push({name: column[:waiting] for name, column in data.items()})
    live = query.resume(live.snapshot())
    answers = live.push({name: column[waiting:] for name, column in data.items()})["answer"].tolist()
    answers += live.close()["answer"].tolist()
    assert answers == ["abcdefghi"[:waiting] if compile == "never" else 0]
