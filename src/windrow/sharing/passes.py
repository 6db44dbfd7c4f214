"""Passes over items: fold rows into slices, slide over rows. Plain and compiled alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine import batch, folding
from windrow.engine.compiler import cached
from windrow.engine.inputs import Column
from windrow.engine.state import WindowState, empty
from windrow.sharing.groups import Answer, Group
from windrow.swag import ALGORITHMS


def _kernel(group: Group, key: Any, make: Any) -> Any:
    """A kernel of the group's form, made once a process and kept on disk."""
    form = group.form
    if key not in form.memo:
        made = make()
        form.memo[key] = cached(made) if form.compiled else made
    return form.memo[key]


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


def between(
    group: Group, algorithm: str, columns: tuple[Column, ...], lo: np.ndarray, hi: np.ndarray
) -> dict[str, Answer]:
    """The aggregate of rows lo to hi for each window; neither moves back."""
    w = _window(group, algorithm, int((hi - lo).max(initial=0)))
    return group.collected(batch.between(w, columns, lo, hi, 0, 0)[0])


def slide(group: Group, algorithm: str, columns: tuple[Column, ...], keys: np.ndarray, rows: int) -> dict[str, Answer]:
    """The aggregate of the last `rows` rows of its key, for each row."""
    w = _window(group, algorithm, 1)
    starts = np.zeros(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=starts[1:])
    return group.collected(batch.by_rows(w, columns, starts, rows, bool(starts.any()))[0])


def _window(group: Group, algorithm: str, capacity: int) -> WindowState:
    """An empty window that runs in the group's form, where the algorithm can."""
    w = ALGORITHMS[algorithm](group.of)
    inverts = not w.counted or (group.form.compiled and group.form.inverse is not None)
    if not w.plain_only and w.of is group.of and inverts:
        return empty(w.algorithm, group.of, group.form, max(capacity, 1))
    return w.state
