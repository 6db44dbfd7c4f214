"""Whether saved state can be one: what walks, rings and windows of a key say of each other must agree.

It is asked when state is loaded, before a step trusts it. What follows from the rest, such as when a key is due, is not
loaded at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import OPEN, SLICE_E, SLICE_F
from windrow.engine.loaded import FARTHEST, check_keyed, require
from windrow.engine.walking import WalkState
from windrow.step.sharing import SharedRing
from windrow.step.state import COUNT, GroupState, State

if TYPE_CHECKING:
    from windrow.step.chunks import Middle


def check(state: State, keys: np.ndarray, apart: dict[str, Middle]) -> None:
    """`SnapshotError` where what was loaded of these keys cannot be; `apart`: slices that were not loaded."""
    count = state.table.words[keys, COUNT]
    require((count >= 0) & (count < FARTHEST), "the number of a key's rows")
    for name, walk in state.walks.items():
        window, entries = state.plan.windows[name], walk.entries(keys, apart.get(name))
        require(window.fits(walk, keys, entries), f"where windows of '{name}' begin ({window})")
        for part, _ in walk.kept:
            check_keyed(part, keys)
    for ring, groups in state.groups.items():
        for kept in groups:
            for part in kept.parts:
                check_keyed(part, keys)
            _check_slices(state, ring, kept, keys)
    for names, shared in state.rings.items():
        for name in names:
            _check_shared(shared, state.walks[name], keys, apart.get(name))


def _bounds(part: KeyedWindows, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first slice, the end, and whether one is open."""
    if part.form.compiled:
        return part.word(keys, SLICE_F), part.word(keys, SLICE_E), part.word(keys, OPEN)
    cells = [part.plain.cells[key][:3] for key in keys.tolist()]
    first, end, is_open = np.array(cells, np.int64).reshape(-1, 3).T
    return first, end, is_open


def _check_slices(state: State, ring: tuple[str, ...], kept: GroupState, keys: np.ndarray) -> None:
    """The algorithms have the slices, or rows, that the walks count."""
    first, end, is_open = _bounds(kept.windows, keys)
    what = f"slices of {', '.join(map(repr, ring))}"
    if kept.per_row:
        for name in ring:
            rows = state.plan.windows[name].slices(state.walks[name], keys)[1]
            if kept.queue is None:
                require(end == rows, what)
            else:
                waiting, last, _ = _bounds(kept.queue, keys)
                require((waiting == end) & (last == rows), what)
        return
    if len(ring) == 1:
        oldest, newest = state.plan.windows[ring[0]].slices(state.walks[ring[0]], keys)
    else:
        oldest, newest = state.rings[ring].slices(keys)
        require((oldest >= 0) & (oldest <= newest) & (newest < FARTHEST), what)
    require((first == oldest) & (end + is_open == newest), what)


def _check_shared(shared: SharedRing, walk: WalkState, keys: np.ndarray, apart: Middle | None) -> None:
    """Each slice of a walk is one of the shared ones."""
    oldest, newest = shared.slices(keys)
    entries = walk.entries(keys, apart)
    numbers = walk.ring.columns[1][entries.slot].astype(np.int64)
    within = (oldest[entries.which] <= numbers) & (numbers < newest[entries.which])
    require(within & entries.rising(numbers), "slices of windows that share a ring")
