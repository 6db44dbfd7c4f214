"""Windows that share a ring of slices give what each gives alone: in batch, live, and through a snapshot."""

from __future__ import annotations

import random

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win

#: not commutative, in plain Python: nothing is compiled, and the order in which slices are combined shows
TEXT = swag.counting(agg.concat("s"))


def windows(rnd: random.Random, timed: bool) -> dict[str, windrow.windows.base.Window]:
    found = {}
    for i in range(rnd.randrange(2, 6)):
        size, every = rnd.randrange(1, 30), rnd.randrange(1, 12)
        kind = rnd.choice(["time", "time", "column"] if timed else ["rows", "rows", "column"])
        if kind == "time":
            origin = f"{rnd.randrange(5)} seconds"
            found[f"w{i}"] = win.sliding(f"{size} seconds", every=f"{every} seconds", origin=origin)
        elif kind == "rows":
            found[f"w{i}"] = win.sliding(size, every=every)
        else:
            found[f"w{i}"] = win.sliding(size / 2, every=every / 2, on="y")
    return found


def spelled(result: dict, only: str | None = None) -> list[tuple]:
    names = [name for name in result if name != "window"]
    rows = zip(result["window"].tolist(), *(result[name].tolist() for name in names), strict=True)
    return sorted(map(repr, (row for row in rows if only is None or row[0] == only)))


def alone(query: windrow.Query, name: str) -> windrow.Query:
    return windrow.Query(
        time=query.time, by="k", windows={name: query.windows[name]}, aggregates=query.aggregates, partial=query.partial
    )


@pytest.mark.parametrize("seed", range(40))
def test_they_are_answered_as_if_alone(seed: int) -> None:
    rnd = random.Random(seed)
    timed = bool(seed % 2)
    query = windrow.Query(
        time="t" if timed else None,
        by="k",
        windows=windows(rnd, timed),
        aggregates={"text": TEXT},
        partial=seed % 3 == 0,
    )
    assert "flat_fit" in query.explain()
    n = 120
    data = {
        "t": np.cumsum([rnd.choice([0, 0, 1, 1, 2, 40]) for _ in range(n)]) * 1_000_000,
        "y": np.cumsum([rnd.choice([0.0, 0.25, 1.0, 7.5]) for _ in range(n)]),
        "k": np.array([rnd.randrange(3) for _ in range(n)]),
        "s": np.array([chr(97 + i % 26) for i in range(n)], object),
    }
    whole = query.run(data)
    sent: list[str] = []
    live, begin = query.open(), 0
    while begin < n:
        end = begin + rnd.choice([1, 1, 2, 5, 30])
        sent += spelled(live.push({name: column[begin:end] for name, column in data.items()}))
        begin = end
        if rnd.random() < 0.2:
            live = query.resume(live.snapshot())
    sent += spelled(live.close())
    for name in query.windows:
        single = alone(query, name).run(data)  # its columns of edges may have other names
        ours, theirs = ({column: result[column] for column in ("window", "k", "text")} for result in (whole, single))
        assert spelled(ours, name) == spelled(theirs), name
    assert sorted(sent) == spelled(whole)
