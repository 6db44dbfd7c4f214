"""Every kernel of windows against its definition, in plain Python without bounds on numbers."""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from tests.test_kernels import run
from windrow.engine import edges
from windrow.errors import WindrowError

LOW, HIGH = -(2**63), 2**63 - 1
#: where the values of a case lie: around 0, before 1970, far out on both sides
PLACES = [0, 0, -1000, 2**62 - 5000, -(2**62)]


def table(rng: random.Random, most: int = 12) -> tuple[list[list[int]], np.ndarray]:
    """Sorted values in a few segments, some of them empty, with ties and gaps; and the segments' offsets."""
    place, gap = rng.choice(PLACES), rng.choice([0, 3, 40, 10**9])
    segments = []
    for _ in range(rng.randint(0, 4)):
        value, values = place + rng.randint(-20, 20), []
        for _ in range(rng.choice([0, 1, 2, rng.randint(0, most)])):
            values.append(value)
            value += rng.choice([0, 0, 1, 2, 5, gap])
        segments.append(values)
    return segments, offsets(segments)


def offsets(segments: list[list]) -> np.ndarray:
    return np.cumsum([0] + [len(values) for values in segments]).astype(np.int64)


def flat(segments: list[list], dtype: str = "int64") -> np.ndarray:
    return np.array([value for values in segments for value in values], dtype)


def limits(rng: random.Random, segments: list[list]) -> tuple[list[int], list[int]]:
    """`after` and `until` of each segment: everything, or between two values."""
    after, until = [], []
    for values in segments:
        known = [value + rng.randint(-9, 30) for value in values] or [0]
        low, high = sorted([rng.choice(known), rng.choice(known)])
        after.append(rng.choice([LOW, low]))
        until.append(rng.choice([HIGH, high]))
    return after, until


def listed(found: edges.Windows) -> list[tuple]:
    assert [len(part) for part in found] == [len(found.lo)] * 5
    return list(zip(*(part.tolist() for part in found), strict=True))


# Periodic windows.


def begin(k, every, origin):
    return origin + k * every


def numbers_of(x, span, every, origin) -> list[int]:
    """The k of all windows that hold x."""
    middle = math.floor((x - origin) / every) if isinstance(x, float) else (x - origin) // every
    reach = int(span // every) + 3
    return [
        k for k in range(middle - reach, middle + 3) if begin(k, every, origin) <= x < begin(k, every, origin) + span
    ]


def naive_periodic(segments, span, every, origin, after, until, least) -> list[tuple]:
    found, base = [], 0
    for s, values in enumerate(segments):
        for k in sorted({k for x in values for k in numbers_of(x, span, every, origin)}):
            start = begin(k, every, origin)
            end = start + span
            if k >= least and after[s] < end <= until[s]:
                inside = [i for i, x in enumerate(values) if start <= x < end]
                found.append((s, base + inside[0], base + inside[-1] + 1, start, end))
        base += len(values)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_periodic(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(400):
        segments, seg = table(rng)
        every = rng.choice([1, 2, 3, 7, 10])
        span = rng.choice([1, every, rng.randint(1, 25)])  # range < every too
        origin = rng.choice([0, -3, 1000003, -(10**15)])
        after, until = limits(rng, segments)
        least = rng.choice([-math.inf, -1, 0, 2])
        first = [] if least == -math.inf else [least]
        found = edges.periodic(flat(segments), seg, span, every, origin, after, until, *first)
        assert listed(found) == naive_periodic(segments, span, every, origin, after, until, least)


def near_edges(rng: random.Random, segments: list[list], span: float, every: float, origin: float) -> list[list[float]]:
    """As many floats, on edges of windows, and on the last numbers before them."""
    found = []
    for values in segments:
        at = [begin(rng.randint(-900, 900), every, origin) + rng.choice([0.0, span]) for _ in values]
        found.append(sorted(rng.choice([x, math.nextafter(x, -math.inf)]) for x in at))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_periodic_over_floats(seed: int) -> None:
    """Edges are `origin + k * every` and that `+ range`, as floats round them: 0.1 has no exact multiples."""
    rng = random.Random(seed)
    for _ in range(400):
        segments, seg = table(rng)
        every, span, origin = rng.choice([0.1, 0.7, 1 / 3]), rng.choice([0.1, 0.7, 1.0, 0.05]), rng.choice([0.0, -7.7])
        segments = near_edges(rng, segments, span, every, origin)
        after = [rng.choice([-math.inf, *values]) for values in segments]
        until = [rng.choice([math.inf, *values]) for values in segments]
        found = edges.periodic(flat(segments, "float64"), seg, span, every, origin, after, until)
        assert listed(found) == naive_periodic(segments, span, every, origin, after, until, -math.inf)


def naive_cuts(segments, edge_sets) -> list[int]:
    """Items that begin a slice: the first of each segment, and where an edge lies in (value before, value]."""
    cuts, base = [], 0
    for values in segments:
        for i, x in enumerate(values):
            if i == 0 or any(last_edge(x, *given) > last_edge(values[i - 1], *given) for given in edge_sets):
                cuts.append(base + i)
        base += len(values)
    return cuts


def last_edge(x, offset, every, origin) -> int:
    k = math.floor((x - offset - origin) / every) if isinstance(x, float) else (x - offset - origin) // every
    return max(k for k in (k - 2, k - 1, k, k + 1, k + 2) if begin(k, every, origin) + offset <= x)


@pytest.mark.parametrize("slicing", ["cutty", "pairs", "panes"])
def test_periodic_cuts(slicing: str) -> None:
    rng = random.Random(slicing)
    for case in range(400):
        segments, seg = table(rng)
        every, span, origin = rng.choice([1, 3, 4, 10]), rng.randint(1, 25), rng.choice([0, -3, 10**12])
        if case % 4 == 0:
            every, span, origin = every * 0.1, span * 0.1, rng.choice([0.0, -7.7])
            segments = near_edges(rng, segments, span, every, origin)
        floats = isinstance(every, float)
        edge_sets = [(0 * every, every, origin)]
        if slicing == "panes" and not floats:
            edge_sets = [(0, math.gcd(span, every), origin)]
        elif slicing != "cutty":
            edge_sets.append((span, every, origin))
        flags = np.zeros(int(seg[-1]), bool)
        edges.periodic_cuts(flat(segments, "float64" if floats else "int64"), seg, span, every, origin, slicing, flags)
        assert np.flatnonzero(flags).tolist() == naive_cuts(segments, edge_sets)


def test_cuts_are_a_union_and_may_have_a_first_window() -> None:
    flags = np.zeros(10, bool)
    edges.periodic_cuts(np.arange(10), [0, 10], 3, 3, 0, "cutty", flags)
    edges.periodic_cuts(np.arange(10), [0, 10], 4, 4, 0, "cutty", flags)
    assert np.flatnonzero(flags).tolist() == [0, 3, 4, 6, 8, 9]
    flags[:] = False
    edges.periodic_cuts(np.arange(10), [0, 10], 3, 3, 5, "cutty", flags, 0)
    assert np.flatnonzero(flags).tolist() == [0, 5, 8]
    with pytest.raises(WindrowError, match="cutty, pairs or panes"):
        edges.periodic_cuts(np.arange(10), [0, 10], 3, 3, 0, "Pairs", flags)


@pytest.mark.parametrize("slicing", ["pairs", "panes"])
def test_windows_of_slices_are_windows_of_rows(slicing: str) -> None:
    """Slices cut at begins and ends hold the same rows, window by window."""
    rng = random.Random(slicing)
    for _ in range(200):
        segments, seg = table(rng, 30)
        span, every, origin = rng.randint(1, 20), rng.randint(1, 8), rng.choice([0, 5])
        after, until = limits(rng, segments)
        first = flat(segments)
        flags = np.zeros(len(first), bool)
        edges.periodic_cuts(first, seg, span, every, origin, slicing, flags)
        cuts = np.append(np.flatnonzero(flags), len(first))
        over_rows = edges.periodic(first, seg, span, every, origin, after, until)
        slices = np.searchsorted(cuts, seg)
        found = edges.periodic(first[cuts[:-1]], slices, span, every, origin, after, until)
        assert listed(found._replace(lo=cuts[found.lo], hi=cuts[found.hi])) == listed(over_rows)


def test_a_billion_empty_windows_are_passed_in_one_step() -> None:
    times = np.array([-(2**62), 0, 2**62])
    found = edges.periodic(times, [0, 3], 1, 1, 0, [LOW], [HIGH])
    assert found.start.tolist() == times.tolist()
    flags = np.zeros(3, bool)
    edges.periodic_cuts(times, [0, 3], 1, 1, 0, "pairs", flags)
    assert flags.all()
    assert edges.last_rows(times, [0, 3], 2, 1, 0, [LOW], [HIGH]).lo.tolist() == [0, 0, 1]


def test_edges_beyond_64_bits_are_refused() -> None:
    for wrong in ([HIGH - 5], [LOW + 5]):
        for ten in (10, np.int64(10)):
            with pytest.raises(WindrowError, match="64-bit"):
                edges.periodic(wrong, [0, 1], ten, ten, 0, [LOW], [HIGH])
    assert len(edges.periodic([HIGH - 25], [0, 1], 5, 10, 10**18, [LOW], [HIGH]).lo) <= 1
    with pytest.raises(WindrowError, match="64-bit"):
        edges.sessions([HIGH - 5], [HIGH - 5], [0, 1], np.int64(10), [LOW], [HIGH])
    with pytest.raises(WindrowError, match="64-bit"):
        edges.landmarks([True], [HIGH - 5], [HIGH - 5], [0, 1], np.int64(10), [LOW], [HIGH], False)
    for wrong in ([1e300], [-math.inf], [math.inf]):
        with pytest.raises(WindrowError, match="floats do not tell"):
            edges.periodic(wrong, [0, 1], 1.0, 1.0, 0.0, [-math.inf], [math.inf])


# Sessions.


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_sessions(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(500):
        segments, seg = table(rng)
        if kind == "float64":
            segments = [[x / 8 for x in values] for values in segments]
        lasts = [[x + rng.choice([0, 0, 0, 1, 6]) for x in values] for values in segments]  # rows, and carried slices
        gap = rng.randint(1, 8)
        after, until = limits(rng, segments)
        expected, cuts, base = [], [], 0
        for s, values in enumerate(segments):
            runs: list[list[int]] = []
            newest = None
            for i, (x, last) in enumerate(zip(values, lasts[s], strict=True)):
                if newest is None or x >= newest + gap:
                    runs.append([])
                    newest = last
                runs[-1].append(i)
                newest = max(newest, last)
            for items in runs:
                cuts.append(base + items[0])
                end = max(lasts[s][i] for i in items) + gap
                if after[s] < end <= until[s]:
                    expected.append((s, base + items[0], base + items[-1] + 1, values[items[0]], end))
            base += len(values)
        first, last = flat(segments, kind), flat(lasts, kind)
        assert listed(edges.sessions(first, last, seg, gap, after, until)) == expected
        flags = np.zeros(len(first), bool)
        edges.session_cuts(first, last, seg, gap, flags)
        assert np.flatnonzero(flags).tolist() == cuts


# Windows told item by item.


def test_begins_and_ends() -> None:
    rng = random.Random(0)
    wrong = 0
    for _ in range(500):
        lengths = [rng.randint(0, 8) for _ in range(rng.randint(0, 4))]
        seg = np.cumsum([0, *lengths])
        begins = [rng.choice([0, 0, 1, 3]) for _ in range(seg[-1])]
        ends = [rng.choice([0, 0, 0, 1, 2]) for _ in range(seg[-1])]
        expected, bad = [], -1
        left = list(begins)
        for s in range(len(lengths)):
            queue: deque = deque()
            for i in range(seg[s], seg[s + 1]):
                if bad < 0 and ends[i] > len(queue):
                    bad = i
                if bad < 0:
                    for _ in range(ends[i]):
                        lo = queue.popleft()
                        left[lo] -= 1
                        expected.append((s, lo, i))
                    queue.extend([i] * begins[i])
        segment, lo, hi, still, found = edges.begins_ends(begins, ends, seg)
        assert list(zip(segment.tolist(), lo.tolist(), hi.tolist(), strict=True)) == expected
        assert (still.tolist(), found) == (left, bad)
        wrong += bad >= 0
    assert 50 < wrong < 450


# Landmarks.


def naive_landmarks(marks, segments, every, after, until, partial) -> list[tuple]:
    found, base = [], 0
    for s, values in enumerate(segments):
        own = [i for i, mark in enumerate(marks[s]) if mark]
        for a, b in itertools.pairwise([*own, len(values)]):
            start = values[a]
            for k in sorted({(values[i] - start) // every + 1 for i in range(a, b)}):
                end = start + k * every
                hi = a + sum(values[i] < end for i in range(a, b))
                if b == len(values) or end <= values[b]:
                    if after[s] < end <= until[s]:
                        found.append((s, base + a, base + hi, start, end))
                elif partial:
                    found.append((s, base + a, base + hi, start, values[b]))
        base += len(values)
    return found


@pytest.mark.parametrize("partial", [False, True])
def test_landmarks(partial: bool) -> None:
    rng = random.Random(partial)
    for _ in range(500):
        segments, seg = table(rng)
        marks = [[rng.random() < 0.3 for _ in values] for values in segments]
        every = rng.randint(1, 9)
        after, until = limits(rng, segments)
        times = flat(segments)
        found = edges.landmarks(flat(marks, "bool"), times, times, seg, every, after, until, partial)
        assert listed(found) == naive_landmarks(marks, segments, every, after, until, partial)


@pytest.mark.parametrize("partial", [False, True])
def test_landmarks_go_on_from_slices(partial: bool) -> None:
    """All rows before some value become slices, cut at landmarks and anywhere else; the windows that end later stay."""
    rng = random.Random(partial)
    for _ in range(500):
        segments, _ = table(rng, 20)
        values = segments[0] if segments else []
        marks = [rng.random() < 0.25 for _ in values]
        every, when = rng.randint(1, 9), rng.choice(values or [0])
        old = sum(x < when for x in values)
        begins = [i for i in range(len(values)) if i == 0 or i >= old or marks[i] or rng.random() < 0.3]
        bounds = [*begins, len(values)]
        first = [values[i] for i in begins]
        last = [values[z - 1] for z in bounds[1:]]
        fresh = sum(i < old for i in begins)
        found = edges.landmarks(
            [marks[i] for i in begins], first, last, [0, len(begins)], every, [when], [HIGH], partial, [fresh]
        )
        rows = found._replace(lo=np.array(bounds)[found.lo], hi=np.array(bounds)[found.hi])
        before = naive_landmarks([marks[:old]], [values[:old]], every, [LOW], [when], partial)
        both = [*before, *listed(rows)]
        assert sorted(both) == sorted(naive_landmarks([marks], [values], every, [LOW], [HIGH], partial))


# The last n rows.


def test_last_rows() -> None:
    rng = random.Random(0)
    for _ in range(500):
        segments, seg = table(rng)
        n, every, origin = rng.randint(1, 4), rng.randint(1, 9), rng.choice([0, -5, 10**9])
        after, until = limits(rng, segments)
        expected, base = [], 0
        for s, values in enumerate(segments):
            for end in sorted({origin + ((x - origin) // every + 1) * every for x in values}):
                if after[s] < end <= until[s]:
                    hi = sum(x < end for x in values)
                    lo = max(0, hi - n)
                    expected.append((s, base + lo, base + hi, values[lo], end))
            base += len(values)
        assert listed(edges.last_rows(flat(segments), seg, n, every, origin, after, until)) == expected


# Trailing windows.


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
def test_trailing(closed: str) -> None:
    rng = random.Random(closed)
    left, right = closed in ("left", "both"), closed in ("right", "both")
    for case in range(500):
        segments, seg = table(rng)
        span = rng.choice([0, 1, 3, 20, 2**63 - 1, 2**70])
        if case % 3 == 0:
            segments, span = [[x / 8 for x in values] for values in segments], rng.choice([0.0, 0.5, 3.0, math.inf])
        fresh = [rng.randint(int(seg[s]), int(seg[s + 1])) for s in range(len(segments))]
        lo, hi = edges.trailing(flat(segments, "float64" if case % 3 == 0 else "int64"), seg, fresh, span, left, right)
        answers = iter(zip(lo.tolist(), hi.tolist(), strict=True))
        for s, values in enumerate(segments):
            for now in values[fresh[s] - int(seg[s]) :]:
                oldest = now - span
                inside = [
                    int(seg[s]) + i
                    for i, x in enumerate(values)
                    if (oldest < x or (left and x == oldest)) and (x < now or (right and x == now))
                ]
                a, z = next(answers)
                assert list(range(a, z)) == inside
        assert next(answers, None) is None
        assert (np.diff(lo) >= 0).all() and (np.diff(hi) >= 0).all()


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    module = "__import__('windrow.engine.edges', fromlist=['edges'])"
    expression = f"{module}.periodic([1, 9], [0, 2], 4, 2, 0, [0], [9]).lo.tolist()"
    answer, first = run(expression, tmp_path)
    assert (answer, first > 0) == ("[0, 0]", True)
    assert run(expression, tmp_path) == (answer, 0)
