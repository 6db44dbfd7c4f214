"""Slices of rows as they lie, against edges looked up one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.engine.cutting import FAR, Edges, mixed_cuts, sorted_cuts
from windrow.engine.walks import HIGHEST

edges = st.builds(
    lambda pairs, gap: Edges(tuple(e for e, _ in pairs), tuple(f % e for e, f in pairs), gap),
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 40)), max_size=3),
    st.one_of(st.just(HIGHEST), st.integers(1, 8)),
)
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-60, 60)), max_size=120)


def naive(given: list[tuple[int, int]], edges: Edges) -> list[list[int]]:
    """The rows of each slice, in the order in which slices begin; rows of a key are in time order."""
    slices: list[list[int]] = []
    opened: dict[int, int] = {}

    def between(a: int, b: int) -> bool:
        """Whether an edge lies after a, and not after b."""
        crossed = any((a - f) // e != (b - f) // e for e, f in zip(edges.every, edges.first, strict=True))
        return crossed or b - a > edges.gap

    for i, (k, t) in enumerate(given):
        j = opened.get(k)
        if j is None or between(given[slices[j][-1]][1], t):
            opened[k] = j = len(slices)
            slices.append([])
        slices[j].append(i)
    return slices


@given(rows, edges)
def test_mixed(given: list, edges: Edges) -> None:
    given = sorted(given, key=lambda row: row[1])
    codes, times = np.array([k for k, _ in given], np.int64), np.array([t for _, t in given], np.int64)
    expected = naive(given, edges)
    cut = mixed_cuts(codes, times, edges, 4)
    assert cut is not None
    assert [np.flatnonzero(cut.rows == j).tolist() for j in range(len(cut.key))] == expected
    assert cut.key.tolist() == [given[slice[0]][0] for slice in expected]
    assert cut.first.tolist() == [given[slice[0]][1] for slice in expected]
    assert cut.last.tolist() == [given[slice[-1]][1] for slice in expected]


@given(rows, edges)
def test_sorted(given: list, edges: Edges) -> None:
    for keyed in (True, False):
        mine = sorted(given if keyed else [(0, t) for _, t in given])
        codes, times = np.array([k for k, _ in mine], np.int64), np.array([t for _, t in mine], np.int64)
        expected = naive(mine, edges)
        cut = sorted_cuts(codes if keyed else codes[:0], times, edges)
        assert cut.rows.tolist() == [slice[0] for slice in expected] + [len(mine)]
        assert cut.key.tolist() == [mine[slice[0]][0] for slice in expected]
        assert cut.first.tolist() == [mine[slice[0]][1] for slice in expected]
        assert cut.last.tolist() == [mine[slice[-1]][1] for slice in expected]


def test_long_slices_are_not_cut() -> None:
    times = np.arange(5000)
    assert sorted_cuts(times[:0], times, Edges(gap=1)).rows.tolist() == [0, 5000]
    times[3000:] += 1
    assert sorted_cuts(times[:0], times, Edges(gap=1)).rows.tolist() == [0, 3000, 5000]
    assert sorted_cuts(times[:0], times, Edges((5001,), (2000,))).rows.tolist() == [0, 2000, 5000]


def test_times_that_go_back() -> None:
    codes, edges = np.array([0, 1, 0]), Edges((10,), (0,))
    assert mixed_cuts(codes, np.array([5, 0, 5]), edges, 2) is not None
    assert mixed_cuts(codes, np.array([5, 0, 4]), edges, 2) is None  # within a slice
    assert mixed_cuts(codes, np.array([15, 0, 4]), edges, 2) is None


def test_union() -> None:
    both = Edges.union([Edges((10, 10), (0, 5)), Edges(gap=7), Edges((10,), (5,)), Edges(gap=9)])
    assert both == Edges((10, 10), (0, 5), 7)


def test_far() -> None:
    edges = Edges((10,), (0,))
    assert not edges.far(1 - FAR, FAR - 1)
    assert edges.far(-FAR, 0) and edges.far(0, FAR) and Edges((FAR,), (0,)).far(0, 0)
