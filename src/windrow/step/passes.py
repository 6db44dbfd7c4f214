"""Passes over items: fold rows into slices, slide over rows. Plain and compiled alike."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from windrow.engine import batch, driver, folding
from windrow.engine.asking import slices_between
from windrow.engine.inputs import Column
from windrow.engine.kernel import CompilationFailed, cached_loop, once
from windrow.engine.keyed_loops import slice_at
from windrow.engine.state import WindowState, empty
from windrow.engine.threads import Threads
from windrow.engine.walks import ready
from windrow.step.groups import Answer, Group
from windrow.swag import ALGORITHMS


def _kernel(group: Group, key: Any, make: Any) -> Any:
    """A kernel of the group's form, made once a process and kept on disk."""
    form = group.form
    return once(form.memo, key, lambda: cached_loop(make()) if form.compiled else make())


def fold(
    group: Group, columns: tuple[Column, ...], source: np.ndarray, kept: Any, cuts: np.ndarray, stops: np.ndarray
) -> tuple[Any, Any]:
    """One partial a slice, and those of the slices' beginnings up to each stop."""
    form = group.form
    run = _kernel(group, "fold", lambda: folding.fold(form))
    data, masks = batch.arrays(form, columns)
    slices, prefixes = group.slots(len(cuts) - 1), group.slots(len(stops))
    at = (cuts, stops, source) if form.compiled else (cuts.tolist(), stops.tolist(), source.tolist())
    cut, stop, origin = at
    run(data, masks, origin, group.slots(0) if kept is None else kept, cut, stop, slices, prefixes)
    if form.journal is not None:
        form.journal.undo.clear()
    return slices, prefixes


def fold_sorted(group: Group, data: tuple[tuple, tuple], cuts: np.ndarray) -> Any:
    """One partial a slice, of the rows cuts[j] to cuts[j + 1]. `data` are the columns and masks."""
    commutative = bool(group.of.commutative)
    make = partial(folding.fold_sorted, commutative=commutative)
    return _folded(group, ("fold sorted", commutative), make, data, cuts, len(cuts) - 1)


def fold_mixed(group: Group, data: tuple[tuple, tuple], slice_of: np.ndarray, count: int) -> Any:
    """One partial for each of `count` slices, of the rows of which `slice_of` says so."""
    return _folded(group, "fold mixed", folding.fold_mixed, data, slice_of, count)


def _folded(group: Group, name: Any, make: Any, data: tuple[tuple, tuple], rows: np.ndarray, count: int) -> Any:
    form = group.form
    slices = group.slots(count)
    _kernel(group, name, lambda: make(form))(*data, rows if form.compiled else rows.tolist(), slices)
    if form.journal is not None:
        form.journal.undo.clear()
    return slices


def between(
    group: Group, algorithm: str, columns: tuple[Column, ...], lo: np.ndarray, hi: np.ndarray
) -> dict[str, Answer]:
    """The aggregate of rows lo to hi for each window; neither moves back."""
    w = _window(group, algorithm, int((hi - lo).max(initial=0)))
    return group.collected(batch.between(w, columns, lo, hi, 0, 0)[0])


#: rows of a table that are answered at a time; a part begins with the rows before it that its first window has, which
#: are few: at most one in WASTE
PART, WASTE = 1 << 19, 4
#: where a window comes only every so many rows, the rows between are folded before they go into windows
SPARSE = 3


def slide_in_parts(
    group: Group, algorithm: str, columns: tuple[Column, ...], begin: np.ndarray, rows: int, threads: Threads
) -> dict[str, Answer]:
    """The aggregate of the last `rows` rows of its key, for each row of a table. Keys begin at `begin`.

    A key is cut where Two-Stacks Lite flips, so that the parts give the bits that the whole gives.
    """
    n, form = len(columns[0].values), group.form
    starts = np.zeros(n, bool)
    starts[begin[1:]] = True
    w = _window(group, algorithm, 1)
    cuts = _cuts(n, max(PART, WASTE * rows), begin, rows) if w.form.compiled and n else [0, n]
    if len(cuts) == 2:
        return group.collected(batch.by_rows(w, columns, starts, rows, len(begin) > 1)[0])
    fast = w.algorithm.fused
    out, valid = batch.room_for(form, n, every_window_has_rows=fast)

    def part(bounds: tuple[int, int]) -> None:
        a, z = bounds
        state = empty(w.algorithm, w.aggregate, form, 1)
        if not starts[a]:
            before = tuple(c.between(max(a - rows, 0), a) for c in columns)
            state = batch.by_rows(state, before, np.zeros(a - max(a - rows, 0), bool), rows, False)[1]
        mine = tuple(c.between(a, z) for c in columns)
        room = tuple(o[a:z] for o in out), tuple(v[a:z] for v in valid)
        batch.by_rows(state, mine, starts[a:z], rows, len(begin) > 1, room)

    try:
        threads.map(part, list(itertools.pairwise(cuts)))
    except CompilationFailed:
        raise
    except Exception:  # once more, in one piece, to name the row
        return group.collected(batch.by_rows(w, columns, starts, rows, len(begin) > 1)[0])
    return group.collected(batch.answered(w.aggregate, form, columns, out, valid))


def between_in_parts(
    group: Group, algorithm: str, columns: tuple[Column, ...], lo: np.ndarray, hi: np.ndarray, cuts: list[int],
    threads: Threads,
) -> dict[str, Answer]:  # fmt: skip
    """The aggregate of rows lo to hi for each window; neither moves back. Windows are cut at `cuts` into parts."""
    n, form = len(lo), group.form
    w = _window(group, algorithm, 1)
    if not w.form.compiled or len(cuts) <= 2:
        return between(group, algorithm, columns, lo, hi)
    out, valid = batch.room_for(form, n)

    def part(bounds: tuple[int, int]) -> None:
        a, z = bounds
        first, last = int(lo[a]), int(hi[z - 1])
        mine = tuple(c.between(first, last) for c in columns)
        room = tuple(o[a:z] for o in out), tuple(v[a:z] for v in valid)
        begin, end = lo[a:z] - first, hi[a:z] - first
        if w.form is form and last - first > SPARSE * (z - a):
            _between_slices(group, w, mine, begin, end, room)
        else:
            batch.between(empty(w.algorithm, w.aggregate, form, 1), mine, begin, end, 0, 0, room)

    try:
        threads.map(part, list(itertools.pairwise(cuts)))
    except CompilationFailed:
        raise
    except Exception:
        return between(group, algorithm, columns, lo, hi)
    return group.collected(batch.answered(w.aggregate, form, columns, out, valid))


def _between_slices(
    group: Group, w: WindowState, columns: tuple[Column, ...], lo: np.ndarray, hi: np.ndarray, room: batch.Room
) -> None:
    """`batch.between` for fewer windows than rows: what lies between two edges of windows is folded first."""
    form = group.form
    cuts, lo, hi = slices_between(lo, hi)
    slices = fold_sorted(group, batch.arrays(form, columns), cuts)
    make = partial(driver.between, w.algorithm.kernel(form), form, slice_at(form))
    run = _kernel(group, (w.algorithm, "between slices"), make)
    state = empty(w.algorithm, w.aggregate, form, int((hi - lo).max(initial=1)))
    data = tuple(ready(column) for column in slices)
    run(state.store, state.registers, 0, 0, data, (), 0, lo, hi, *room, np.zeros(1, np.int64))


def cut_windows(begin: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> list[int]:
    """Windows in parts of about PART rows and windows. Those of a key begin at `begin`, in the order of keys."""
    n = len(lo)
    ends, done = np.append(begin, n), np.maximum(hi, np.arange(n))  # whichever there are more of
    cuts = [0]
    for c in np.searchsorted(done, np.arange(PART, done[-1] if n else 0, PART)).tolist():
        if hi[c] - lo[c] > PART // WASTE:  # rather where the next key begins
            c = int(ends[np.searchsorted(begin, c)])
        if c > cuts[-1]:
            cuts.append(c)
    return cuts if cuts[-1] == n else [*cuts, n]


def _cuts(n: int, size: int, begin: np.ndarray, rows: int) -> list[int]:
    """0 to n in parts of about `size` rows: each begins with a key, or a multiple of `rows` after one has begun."""
    found = [0]
    ends = np.append(begin[1:], n)
    for c in range(size, n, size):
        k = int(np.searchsorted(begin, c, "right")) - 1
        first = int(begin[k])
        c = min(first + -(-(c - first) // rows) * rows, int(ends[k]))
        if found[-1] < c < n:
            found.append(c)
    return [*found, n]


def _window(group: Group, algorithm: str, capacity: int) -> WindowState:
    """An empty window that runs in the group's form, where the algorithm can."""
    w = ALGORITHMS[algorithm](group.of)
    inverts = not w.counted or (group.form.compiled and group.form.inverse is not None)
    if not w.plain_only and w.of is group.of and inverts:
        return empty(w.algorithm, group.of, group.form, max(capacity, 1))
    return w.state
