"""No row is lost in silence: over random tables, rows in windows, late and rejected add up as the definitions say.

Each row is known by its number. For every window kind, how many windows a row belongs to follows from the definition
alone; it is compared with how often the row's number comes back, in batch and live, alone and beside other windows.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.windows.base import Window

N = 80
#: plain, so that nothing is compiled, and it gives back the rows themselves
ROWS = {"rows": swag.counting(agg.concat("id", sep=" ")), "n": agg.count()}


def table(rnd: random.Random) -> dict[str, np.ndarray]:
    """Times go back now and then, some are null; `km` goes on, mostly, with nulls and infinities."""
    times, km, t, x = [], [], 0, 0
    for _ in range(N):
        t += rnd.choice([0, 0, 1, 2, 7])
        x += rnd.choice([0, 1, 1, 3, -2])
        times.append(t + rnd.choice([0, 0, 0, -3, -9]))
        km.append(rnd.choice([x / 10] * 12 + [math.nan, math.inf]))
    ts = np.ma.masked_array(np.array(times), [rnd.random() < 0.05 for _ in times])
    return {
        "t": ts, "km": np.array(km), "k": np.array([rnd.randrange(2) for _ in times]),
        "mark": np.array([rnd.random() < 0.2 for _ in times]), "id": np.arange(N),
    }  # fmt: skip


@dataclass
class Staggered:
    """Every second row begins a window of four rows."""

    rows: int = 0

    def discretize(self, row: Any) -> tuple[int, int]:
        self.rows += 1
        begins = self.rows % 2
        return begins, begins and int(self.rows > 4)


def kinds(rnd: random.Random) -> dict[str, Window]:
    every, times = rnd.randint(1, 6), rnd.randint(1, 3)
    size = rnd.choice([0.1, 0.3, 0.7, 1.5])
    return {
        "tumbling": win.tumbling(f"{every} us"),
        "sliding": win.sliding(f"{every * times} us", every=f"{every} us"),
        "floats": win.sliding(float(Fraction(str(size)) * times), every=size, on="km"),
        "rows": win.tumbling(every),
        "session": win.session(f"{every} us"),
        "session on a column": win.session(size, on="km"),
        "punctuated": win.punctuated("mark"),
        "last": win.last(N, every=f"{every} us"),
        "landmark": win.landmark("mark", every=f"{every} us"),
        "user defined": win.user_defined(Staggered),
    }


def memberships(name: str, window: Any, rows: list[int], data: dict) -> Counter:
    """How many windows each of these rows, which are in time and have a place, belongs to; with partial windows."""
    if name in ("sliding", "floats"):
        times = round(Fraction(str(window.range)) / Fraction(str(window.every)))
        return Counter(dict.fromkeys(rows, times))
    if name == "punctuated":  # those before the first mark of their key are in none
        begun: set[int] = set()
        found = Counter()
        for i in sorted(rows, key=lambda i: data["t"][i]):
            begun |= {int(data["k"][i])} if data["mark"][i] else set()
            found[i] = int(data["k"][i]) in begun
        return found
    if name == "last":  # all rows of the key so far, at each multiple of `every` behind a row
        found = Counter()
        for i in rows:
            later = [int(data["t"][j]) for j in rows if data["k"][j] == data["k"][i] and data["t"][j] >= data["t"][i]]
            found[i] = len({t // window.every for t in later})
        return found
    if name == "landmark":  # as `last`, from the mark on; up to the next mark
        found, marks = Counter(), {}
        segments: dict[tuple, list[int]] = {}
        for i in sorted(rows, key=lambda i: data["t"][i]):
            marks[int(data["k"][i])] = i if data["mark"][i] else marks.get(int(data["k"][i]))
            segments.setdefault((int(data["k"][i]), marks[int(data["k"][i])]), []).append(i)
        for (_, mark), inside in segments.items():
            for i in inside if mark is not None else ():
                steps = {int(data["t"][j] - data["t"][mark]) // window.every for j in inside}
                found[i] = sum(step >= int(data["t"][i] - data["t"][mark]) // window.every for step in steps)
        return found
    if name == "user defined":
        return Counter({i: 1 if place < 2 else 2 for mine in in_order(rows, data) for place, i in enumerate(mine)})
    return Counter(dict.fromkeys(rows, 1))


def in_order(rows: list[int], data: dict) -> list[list[int]]:
    """The rows of each key by time, those of one time as they came."""
    ordered = sorted(rows, key=lambda i: data["t"][i])
    return [[i for i in ordered if data["k"][i] == k] for k in (0, 1)]


def returned(results: list[Any], window: str) -> Counter:
    found: Counter = Counter()
    for result in results:
        for name, rows, n in zip(*(result[c].tolist() for c in ("window", "rows", "n")), strict=True):
            if name == window:
                assert len(rows.split()) == n
                found.update(map(int, rows.split()))
    return found


def part(data: dict, a: int, z: int) -> dict:
    return {name: column[a:z] for name, column in data.items()}


@pytest.mark.parametrize("seed", range(60))
def test_rows_add_up(seed: int) -> None:
    rnd = random.Random(seed)
    data, all_kinds = table(rnd), kinds(rnd)
    windows = {name: all_kinds[name] for name in rnd.sample(list(all_kinds), rnd.randint(1, 4))}
    lateness = rnd.choice([0, 3, 10])
    query = windrow.Query(
        time="t",
        by="k",
        windows=windows,
        aggregates=ROWS,
        partial=True,
        lateness=f"{lateness} us" if lateness else None,
    )
    timed = set(np.flatnonzero(~np.ma.getmaskarray(data["t"])).tolist())
    placed = timed & set(np.flatnonzero(np.isfinite(data["km"])).tolist())
    along = any(window.measure.column for window in windows.values())

    # batch: no row is late, and rows along a column are sorted by it
    results = [query.run(data)]
    assert query.report.rows_in == N and query.report.late == 0
    assert query.report.rejected == N - len(placed if along else timed)
    for name, window in windows.items():
        mine = placed if window.measure.column else timed
        assert +returned(results, name) == +memberships(name, window, sorted(mine), data), name

    # live: each row is late, or rejected, or in all of its windows; one that goes back along a column in all others
    live, results, begin = query.open(), [], 0
    late: list[int] = []
    rejected: list[int] = []

    def told(result: Any) -> None:
        results.append(result)
        if live.rejected is not None:
            rejected.extend(live.rejected["id"].tolist())

    while begin < N:
        end = begin + rnd.choice([1, 1, 3, 20])
        told(live.push(part(data, begin, end)))
        late += live.late["id"].tolist()
        begin = end
    told(live.close())
    assert live.report.rows_in == N and live.report.late == len(late) == len(set(late))
    newest, expected = -math.inf, []
    somewhere = placed if all(window.measure.column for window in windows.values()) else timed
    for i in sorted(somewhere):  # a row without a place in any window is no clock
        t = int(data["t"][i])
        if t < newest - lateness:
            expected.append(i)
        newest = max(newest, t)
    assert sorted(late) == expected
    assert len(set(rejected)) == len(rejected) == live.report.rejected
    in_time = timed - set(late)
    nowhere = (set(range(N)) - placed if along else set(range(N)) - timed) - set(late)
    assert nowhere <= set(rejected) <= set(range(N)) - set(late)
    for name, window in windows.items():
        if not window.measure.column:
            assert +returned(results, name) == +memberships(name, window, sorted(in_time), data), name
        elif sum(w.measure.column is not None for w in windows.values()) == 1:
            mine = in_time - set(rejected)
            assert +returned(results, name) == +memberships(name, window, sorted(mine), data), name


def per_row(rnd: random.Random) -> tuple[Window, Callable[[list[int], int, dict], list[int]]]:
    """A window by row, and which rows of a key are in the window of the row at this place."""
    size = rnd.randint(1, 6)
    kind = rnd.choice(["right", "both", "left", "none", "rows", "policy"])
    if kind in ("rows", "policy"):
        window: Window = win.trailing(size)
        if kind == "policy":
            window = win.policy(lambda total, old: total.n - old.n >= size, over={"n": agg.count()})
        return window, lambda mine, place, data: mine[max(0, place + 1 - size) : place + 1]

    def inside(mine: list[int], place: int, data: dict) -> list[int]:
        distances = {i: int(data["t"][mine[place]] - data["t"][i]) for i in mine}
        first, last = size - (kind in ("right", "none")), 0 + (kind in ("left", "none"))
        return [i for i in mine if last <= distances[i] <= first]

    return win.trailing(f"{size} us", closed=kind), inside


@pytest.mark.parametrize("seed", range(60))
def test_rows_add_up_in_windows_by_row(seed: int) -> None:
    """One result for each row in time, which has all the rows that belong to its window, in their order."""
    rnd = random.Random(1000 + seed)
    data, (window, inside), lateness = table(rnd), per_row(rnd), rnd.choice([0, 3, 10])
    query = windrow.Query(
        time="t", by="k", windows=window, aggregates=ROWS, lateness=f"{lateness} us" if lateness else None
    )
    timed = np.flatnonzero(~np.ma.getmaskarray(data["t"])).tolist()

    def check(results: list[Any], rows: list[int]) -> None:
        found = {}
        for result in results:
            for i, text, n in zip(*(result[c].tolist() for c in ("id", "rows", "n")), strict=True):
                assert i not in found
                if n is None:  # a row without a time is in no window, and has no answer
                    assert i not in timed and text is None
                    continue
                found[i] = list(map(int, (text or "").split()))
                assert len(found[i]) == n
        mine = in_order(rows, data)
        assert found == {i: inside(rows, at, data) for rows in mine for at, i in enumerate(rows)}

    result = query.run(data)
    check([result], timed)
    assert query.report.rows_in == N and query.report.late == 0 and query.report.rejected == N - len(timed)

    live, results, late, begin = query.open(), [], [], 0
    while begin < N:
        end = begin + rnd.choice([1, 1, 3, 20])
        results.append(live.push(part(data, begin, end)))
        late += live.late["id"].tolist()
        begin = end
    results.append(live.close())
    newest, expected = -math.inf, []
    for i in timed:
        if data["t"][i] < newest - lateness:
            expected.append(i)
        newest = max(newest, int(data["t"][i]))
    assert late == expected and live.report.late == len(late) and live.report.rejected == N - len(timed)
    check(results, [i for i in timed if i not in late])
