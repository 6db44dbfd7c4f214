"""Where windows of each kind begin and end, against their definitions in plain Python without bounds on numbers.

Values lie around 0, before 1970 and far out on both sides, with ties and long gaps. Floats lie on edges and right
before them. Each table is run at once, and in pushes of any size: what is known from step to step moves no edge.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windrow
from tests.test_kernels import run
from windrow import agg, win
from windrow.engine.cutting import sorted_cuts
from windrow.errors import WindrowError
from windrow.windows.base import TIME
from windrow.windows.kinds import Periodic, Session

#: where the values of a case lie
PLACES = [0, 0, -1000, 2**62 - 5000, -(2**62)]
#: (key, start, end, rows of the key)
Told = tuple[int, Any, Any, list[int]]


def tables(rng: random.Random, count: int, most: int = 12) -> Iterable[list[list[int]]]:
    """Sorted values of a few keys, some of which have none, with ties and gaps."""
    for _ in range(count):
        place, gap = rng.choice(PLACES), rng.choice([0, 3, 40, 10**9])
        keys = []
        for _ in range(rng.randint(1, 4)):
            value, values = place + rng.randint(-20, 20), []
            for _ in range(rng.choice([0, 1, 2, rng.randint(0, most)])):
                values.append(value)
                value += rng.choice([0, 0, 1, 2, 5, gap])
            keys.append(values)
        yield keys


def columns(keys: list[list], marks: list[list[bool]] | None = None) -> dict[str, np.ndarray]:
    """The rows of all keys, in the order of their values."""
    rows = sorted((value, k, i) for k, values in enumerate(keys) for i, value in enumerate(values))
    kind = float if any(isinstance(v, float) for values in keys for v in values) else np.int64
    return {
        "v": np.array([value for value, _, _ in rows], kind),
        "k": np.array([k for _, k, _ in rows], np.int64),
        "id": np.array([f"{i} " for _, _, i in rows], object),
        "mark": np.array([marks is not None and marks[k][i] for _, k, i in rows], bool),
    }


def read(result: dict[str, np.ndarray]) -> list[Told]:
    parts = (result["k"], result["start"], result["end"], result["rows"])
    return [
        (k, start, end, [int(i) for i in rows.split()])
        for k, start, end, rows in zip(*(np.asarray(part).tolist() for part in parts), strict=True)
    ]


def check(window: Any, keys: list[list], expected: list[Told], rng: random.Random, **options: Any) -> None:
    data = columns(keys, options.pop("marks", None))
    n = len(data["v"])
    if not n:
        return
    query = windrow.Query(windows=window, by="k", aggregates={"rows": agg.concat("id")}, **options)
    assert sorted(read(query.run(data))) == sorted(expected), (window, keys)
    live, got, at = query.open(), [], 0
    while at < n:
        size = rng.randint(1, 6)
        got += read(live.push({name: column[at : at + size] for name, column in data.items()}))
        at += size
        if rng.random() < 0.1:
            live = query.resume(live.snapshot())
    assert sorted(got + read(live.close())) == sorted(expected), (window, keys)


# Periodic windows.


def numbers_of(x: Any, span: Any, every: Any, origin: Any) -> list[int]:
    """The k of all windows that hold x."""
    middle = math.floor((x - origin) / every) if isinstance(x, float) else (x - origin) // every
    reach = int(span // every) + 3
    starts = ((k, origin + k * every) for k in range(middle - reach, middle + 3))
    return [k for k, start in starts if start <= x < start + span]


def periodic(keys: list[list], span: Any, every: Any, origin: Any) -> list[Told]:
    found = []
    for key, values in enumerate(keys):
        for k in sorted({k for x in values for k in numbers_of(x, span, every, origin)}):
            start = origin + k * every
            found.append((key, start, start + span, [i for i, x in enumerate(values) if start <= x < start + span]))
    return found


def test_periodic() -> None:
    rng = random.Random(0)
    for keys in tables(rng, 250):
        every = rng.choice([1, 2, 3, 7, 10])
        span = rng.choice([1, every, rng.randint(1, 25)])  # range < every too
        origin = rng.choice([0, -3, 1000003, -(10**15)])
        window = win.sliding(span, every=every, origin=origin, on="v")
        check(window, keys, periodic(keys, span, every, origin), rng)


def test_periodic_over_rows() -> None:
    """The first window begins with the first row, or `origin` rows later."""
    rng = random.Random(1)
    for keys in tables(rng, 100):
        every, span, origin = rng.choice([1, 2, 3, 7]), rng.randint(1, 9), rng.choice([0, 0, 2, 5])
        rows = [list(range(len(values))) for values in keys]
        told = [w for w in periodic(rows, span, every, origin) if w[1] >= origin]
        expected = [w for w in told if w[2] <= len(keys[w[0]])]
        window = win.sliding(span, every=every, origin=origin)
        check(window, keys, expected, rng)
        check(window, keys, told, rng, partial=True)


def test_periodic_over_floats() -> None:
    """Edges are the floats next to the decimal numbers: 0.3, not 3 * 0.1, which is 0.30000000000000004."""
    rng = random.Random(2)
    for keys in tables(rng, 250):
        every, span, origin = rng.choice([0.1, 0.7, 2.5]), rng.choice([0.1, 0.3, 0.7, 1.0, 0.05]), rng.choice([0, -7.7])
        exact = [Fraction(repr(length)) for length in (every, span, origin)]
        floats, expected = [], []
        for key, values in enumerate(keys):
            at = [exact[2] + rng.randint(-900, 900) * exact[0] + rng.choice([0, exact[1]]) for _ in values]
            near = [-math.inf, math.inf]
            mine = sorted(rng.choice([float(x), math.nextafter(x, rng.choice(near))]) for x in at)
            floats.append(mine)
            expected += decimal_windows(key, mine, *exact)
        check(win.sliding(span, every=every, origin=origin, on="v"), floats, expected, rng)


def decimal_windows(key: int, values: list[float], every: Fraction, span: Fraction, origin: Fraction) -> list[Told]:
    numbers = {(Fraction(x) - origin) // every - d for x in values for d in range(-2, int(span / every) + 3)}
    found = []
    for k in sorted(numbers):
        start, end = float(origin + k * every), float(origin + k * every + span)
        if rows := [i for i, x in enumerate(values) if start <= x < end]:
            found.append((key, start, end, rows))
    return found


@pytest.mark.parametrize("size", [0.1, 0.7, 1 / 3, 1e-3, 0.123456789012345, 12.3])
@pytest.mark.parametrize("times", [1, 3])
def test_windows_over_floats_leave_no_gap(size: float, times: int) -> None:
    """Where the range is a multiple of `every`, each row is in that many windows, wherever it lies."""
    rng = np.random.default_rng(0)
    whole = np.arange(-3000, 3000)
    values = np.concatenate(
        [whole * size, np.round(whole * size, 3), rng.uniform(-1000, 1000) * size * rng.random(500)]
    )
    values = np.sort(np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)]))
    window = win.sliding(float(Fraction(repr(size)) * times), every=size, on="v")
    query = windrow.Query(windows=window, aggregates={"n": agg.count()})
    assert int(query.run({"v": values})["n"].sum()) == times * len(values)
    live = query.open()
    parts = [live.push({"v": part}) for part in np.array_split(values, 7)]
    assert sum(int(part["n"].sum()) for part in [*parts, live.close()]) == times * len(values)


def test_each_tenth_begins_its_window() -> None:
    tenths = np.round(np.arange(1000) * 0.1, 1)
    query = windrow.Query(windows=win.tumbling(0.1, on="x"), aggregates={"n": agg.count()})
    got = query.run({"x": tenths})
    assert got["n"].tolist() == [1] * 1000 and got["start"].tolist() == tenths.tolist()
    assert got["end"][:-1].tolist() == got["start"][1:].tolist()


def test_a_billion_empty_windows_are_passed_in_one_step() -> None:
    far = [-(2**62), 0, 2**62]
    check(win.sliding(1, every=1, on="v"), [far], [(0, x, x + 1, [i]) for i, x in enumerate(far)], random.Random(0))


@pytest.mark.parametrize("far", [2**63 - 6, -(2**63) + 5])
@pytest.mark.parametrize(
    "window", [win.sliding(10, every=10, on="v"), win.session(10, on="v")], ids=["sliding", "session"]
)
def test_edges_beyond_64_bits_are_refused(window: Any, far: int) -> None:
    if window.kind == "session" and far < 0:
        return  # it ends after its last row
    query = windrow.Query(windows=window, aggregates={"n": agg.count()})
    with pytest.raises(WindrowError, match="64-bit"):
        query.run({"v": np.array([far])})
    live = query.open()
    with pytest.raises(WindrowError, match="64-bit"):
        live.push({"v": np.array([far])})


def test_a_landmark_beyond_64_bits_is_refused() -> None:
    window = win.landmark("mark", every="10 microseconds")
    query = windrow.Query(time="v", windows=window, aggregates={"n": agg.count()})
    with pytest.raises(WindrowError, match="64-bit"):
        query.run({"v": np.array([2**63 - 6]), "mark": np.array([True])})


@pytest.mark.parametrize("far", [1e300, -1e300])
def test_floats_that_do_not_tell_edges_apart_are_refused(far: float) -> None:
    query = windrow.Query(windows=win.sliding(1.0, every=1.0, on="v"), aggregates={"n": agg.count()})
    with pytest.raises(WindrowError, match="floats do not tell"):
        query.run({"v": np.array([far])})


# Sessions.


@pytest.mark.parametrize("kind", [int, float])
def test_sessions(kind: Callable) -> None:
    rng = random.Random(3)
    for keys in tables(rng, 200):
        if kind is float:
            keys = [[x / 8 for x in values] for values in keys]
        gap, expected = kind(rng.randint(1, 8)), []
        for key, values in enumerate(keys):
            runs: list[list[int]] = []
            for i, x in enumerate(values):
                if not i or x > values[i - 1] + gap:
                    runs.append([])
                runs[-1].append(i)
            expected += [(key, values[rows[0]], values[rows[-1]] + gap, rows) for rows in runs]
        check(win.session(gap, on="v"), keys, expected, rng)


# Landmarks.


@pytest.mark.parametrize("partial", [False, True])
def test_landmarks(partial: bool) -> None:
    rng = random.Random(partial)
    for keys in tables(rng, 200):
        marks = [[rng.random() < 0.3 for _ in values] for values in keys]
        every, expected = rng.randint(1, 9), []
        for key, values in enumerate(keys):
            own = [i for i, mark in enumerate(marks[key]) if mark]
            for a, b in itertools.pairwise([*own, len(values)]):
                start = values[a]
                for k in sorted({(values[i] - start) // every + 1 for i in range(a, b)}):
                    end = start + k * every
                    rows = [i for i in range(a, b) if values[i] < end]
                    if b == len(values) or end <= values[b]:
                        expected.append((key, start, end, rows))
                    elif partial:
                        expected.append((key, start, values[b], rows))
        window = win.landmark("mark", every=f"{every} microseconds")
        check(window, keys, expected, rng, time="v", marks=marks, partial=partial)


# The last n rows.


def test_last_rows() -> None:
    rng = random.Random(4)
    for keys in tables(rng, 200):
        n, every, expected = rng.randint(1, 4), rng.randint(1, 9), []
        for key, values in enumerate(keys):
            for end in sorted({(x // every + 1) * every for x in values}):
                rows = [i for i, x in enumerate(values) if x < end][-n:]
                expected.append((key, values[rows[0]], end, rows))
        check(win.last(n, every=f"{every} microseconds"), keys, expected, rng, time="v")


# Trailing windows.


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
def test_trailing(closed: str) -> None:
    rng = random.Random(closed)
    left, right = closed in ("left", "both"), closed in ("right", "both")
    for case, keys in enumerate(tables(rng, 200)):
        span = rng.choice([0, 1, 3, 20, 2**62 - 1])
        if case % 3 == 0:
            keys, span = [[x / 8 for x in values] for values in keys], rng.choice([0.0, 0.5, 3.0, 1e18])
        data = columns(keys)
        if not len(data["v"]):
            continue
        expected = {}
        for k, values in enumerate(keys):
            for i, now in enumerate(values):
                inside = [
                    j
                    for j, x in enumerate(values)
                    if (now - span < x or (left and x == now - span)) and (x < now or (right and x == now))
                ]
                expected[k, f"{i} "] = "".join(f"{j} " for j in inside) or None
        window = win.trailing(span, on="v", closed=closed)
        query = windrow.Query(windows=window, by="k", aggregates={"rows": agg.concat("id")})

        def told(result: dict[str, np.ndarray]) -> dict:
            parts = (np.ma.asarray(result[name]).astype(object).tolist() for name in ("k", "id", "rows"))
            return {(k, i): rows for k, i, rows in zip(*parts, strict=True)}

        assert told(query.run(data)) == expected
        live, got, at = query.open(), {}, 0
        while at < len(data["v"]):
            size = rng.randint(1, 6)
            got |= told(live.push({name: column[at : at + size] for name, column in data.items()}))
            at += size
        assert got | told(live.close()) == expected


# Slices of rows in any order.


def last_edge(x: int, offset: int, every: int, origin: int) -> int:
    return (x - offset - origin) // every


def test_cuts_at_every_edge() -> None:
    rng = random.Random(5)
    for keys in tables(rng, 400):
        seg = np.cumsum([0, *map(len, keys)])
        values = np.array([x for values in keys for x in values], np.int64)
        every, span, origin, gap = rng.choice([1, 3, 4, 10]), rng.randint(1, 25), rng.choice([0, -3, 10**12]), 5
        codes = np.repeat(np.arange(len(keys)), [len(mine) for mine in keys])
        windows = Periodic(span, every, origin, TIME), Session(gap, TIME)
        begins, sessions = (np.isin(np.arange(len(values)), sorted_cuts(codes, values, w.edges).rows) for w in windows)
        for k, mine in enumerate(keys):
            for i, x in enumerate(mine):
                at, before = seg[k] + i, mine[i - 1]
                edges = [last_edge(x, o, every, origin) > last_edge(before, o, every, origin) for o in (0, span)]
                assert begins[at] == (i == 0 or any(edges))
                assert sessions[at] == (i == 0 or x > before + gap)


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    module = "__import__('windrow')"
    query = (
        f"{module}.Query(windows={module}.win.sliding(4, every=2, on='v'), aggregates={{'s': {module}.agg.sum('v')}})"
    )
    expression = f"{query}.run({{'v': [1, 9]}})['s'].tolist()"
    answer, first = run(expression, tmp_path)
    assert (answer, first > 0) == ("[1, 1, 9, 9]", True)
    assert run(expression, tmp_path) == (answer, 0)
