"""Windows that share a ring of slices give what each gives alone: in batch, live, and through a snapshot."""

from __future__ import annotations

import random
import re

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
        strict=seed % 4 < 2,
    )
    columns = [window.measure.column for window in query.windows.values()]
    # along a column rows may be missing, unless that is an error
    assert ("flat_fit" in query.explain()) == (query.strict or len(set(columns)) < len(columns))
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


def trailing(rnd: random.Random, kind: str, closed: str) -> dict[str, windrow.windows.base.Window]:
    sizes = [rnd.randrange(1, 25) for _ in range(rnd.randrange(2, 6))]
    if kind == "time":
        found = {f"w{i}": win.trailing(f"{size} seconds", closed=closed) for i, size in enumerate(sizes)}
    elif kind == "rows":
        found = {f"w{i}": win.trailing(size, closed=closed) for i, size in enumerate(sizes)}
    else:
        found = {f"w{i}": win.trailing(size / 2, closed=closed, on="y") for i, size in enumerate(sizes)}
    if rnd.random() < 0.3:
        found["other"] = win.trailing(3, closed="both" if closed == "right" else "right")
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
@pytest.mark.parametrize("kind", ["time", "rows", "column"])
def test_trailing_windows_are_answered_as_if_alone(kind: str, closed: str, seed: int) -> None:
    rnd = random.Random(f"{kind} {closed} {seed}")
    shared = trailing(rnd, kind, closed)
    given = {"time": "t", "by": "k", "aggregates": {"text": TEXT, "m": agg.max("x")}}
    query = windrow.Query(windows=shared, algorithm="flat_fit", **given)
    assert "one ring of rows for" in query.explain()
    n = 100
    data = {
        "t": np.cumsum([rnd.choice([0, 0, 1, 1, 2, 40]) for _ in range(n)]) * 1_000_000,
        "y": np.cumsum([rnd.choice([0.0, 0.25, 1.0, 7.5]) for _ in range(n)]),
        "k": np.array([rnd.randrange(3) for _ in range(n)]),
        "s": np.array([chr(97 + i % 26) for i in range(n)], object),
        "x": np.array([rnd.randrange(100) for _ in range(n)]),
    }
    expected = query.run(data)
    live, begin = query.open(), 0
    sent: dict[str, list] = {name: [] for name in expected}

    def add(result: dict) -> None:
        for name, column in result.items():
            sent[name] += column.tolist()

    while begin < n:
        end = begin + rnd.choice([1, 1, 2, 5, 30])
        add(live.push({name: column[begin:end] for name, column in data.items()}))
        begin = end
        if rnd.random() < 0.2:
            live = query.resume(live.snapshot())
    add(live.close())
    whole = list(zip(*(expected[name].tolist() for name in expected), strict=True))
    assert sorted(map(repr, zip(*sent.values(), strict=True))) == sorted(map(repr, whole))
    for name, window in shared.items():
        single = windrow.Query(windows=window, algorithm="two_stacks", **given).run(data)
        assert single["text"].tolist() == expected[f"text_{name}"].tolist(), name


@pytest.mark.parametrize(
    "ranges", [(100, 1000), (1000, 1010), (3, 5), (1, 2, 3, 4, 5, 6, 7, 8), (100, 200, 300, 400, 500, 600, 700, 800)]
)
@pytest.mark.parametrize("algorithm", ["auto", "flat_fit"])
def test_trailing_windows_take_the_combines_that_explain_says(algorithm: str, ranges: tuple[int, ...]) -> None:
    """And `auto` takes no more than windows each with a ring of their own."""
    text = swag.counting(agg.sum("x"))
    query = windrow.Query(
        windows={f"w{k}": win.trailing(k) for k in ranges}, aggregates={"s": text}, algorithm=algorithm
    )
    told = next(line for line in query.explain().splitlines() if line.startswith("  combines"))
    live, of = query.open(), query.aggregates["s"]
    n = 40_000 if max(ranges) > 100 else 4_000
    live.push({"x": np.arange(max(ranges))})
    before = of.combines
    live.push({"x": np.arange(n)})
    counted = (of.combines - before) / n
    if "together" in told:
        together, alone = (float(part) for part in re.findall(r"[0-9.]+(?= per row)|(?<=would be )[0-9.]+", told))
        assert 0.8 * together <= counted <= 1.1 * together, told
        assert algorithm == "flat_fit" or together < alone
        assert algorithm == "flat_fit" or counted < alone
    else:
        assert "at most 3 per row" in told and counted <= 3 * len(ranges) and algorithm == "auto"
        assert "one FlatFIT for 2 windows would take more combines" in query.explain()
