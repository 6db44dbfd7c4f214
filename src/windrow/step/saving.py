"""The state of some keys as plain values, and back: what snapshots and pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict, cast

import numpy as np

from windrow.aggregates.joins import Join
from windrow.engine.columns import Store
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import AGGS, CAPACITY, LINKS, OWN, VALS
from windrow.engine.loaded import FARTHEST, Partials, check_array, check_capacity, require
from windrow.engine.state import new_store
from windrow.engine.table import blocks_of, stretches
from windrow.engine.walking import BASE, F0, SIZE, E, F, WalkState
from windrow.engine.walks import HIGHEST
from windrow.errors import SnapshotError
from windrow.step.checking import check
from windrow.step.groups import Group
from windrow.step.state import DUE, State
from windrow.windows.user_defined import UserState

if TYPE_CHECKING:
    from windrow.step.chunks import Middle

#: gives labels of a column other numbers
Change = Callable[[str, np.ndarray], np.ndarray]
#: of a walk: which keys have a ring, the columns of all rings, the objects of user-defined windows
SavedWalk: TypeAlias = "tuple[np.ndarray, tuple[np.ndarray, ...], list | None]"
#: of windows and a group of aggregates: the columns of each pool of slots; where they are objects, a cell per key and
#: what is in rings
SavedWindows: TypeAlias = list


class Saved(TypedDict):
    """The state of some keys."""

    width: int  # of a key's row of words
    words: np.ndarray
    walks: list[SavedWalk]
    trees: list[SavedWindows]  # what kinds of windows keep themselves
    groups: list[SavedWindows]
    owners: NotRequired[list[np.ndarray]]  # of slices that lie apart
    stored: NotRequired[list]  # of windows in a store, what is in memory and where the rest is


def saved(pairs: Iterable[tuple[str, object]]) -> Saved:
    """The same from its items, as they are in a snapshot."""
    return cast("Saved", dict(pairs))


def dump(state: State, keys: np.ndarray) -> Saved:
    """What is known of these keys, without slices that lie apart (`step.chunks`)."""
    apart = {} if state.chunks is None else state.chunks.missing(keys)
    words = state.table.words[keys]
    walks, trees, groups = [], [], []
    for name, walk in state.walks.items():
        walks.append(_dump_walk(walk, keys, apart.get(name)))
        words[:, [walk.first + BASE, walk.first + SIZE, walk.first + F0]] = 0
        for part, of in walk.kept:
            trees.append(_dump_windows(part, of, keys, None))
            _without_blocks(part, words)
    for name, part, group in _kept(state):
        groups.append(_dump_windows(part, group.of, keys, apart.get(name)))
        _without_blocks(part, words)
    content: Saved = {
        "width": words.shape[1], "words": words.ravel(), "walks": walks, "trees": trees, "groups": groups,
    }  # fmt: skip
    if state.chunks is not None:
        content["owners"] = state.chunks.owners(keys)
    if state.stored:
        content["stored"] = [window.dump(keys) for window in state.stored.values()]
    return content


def _without_blocks(part: KeyedWindows, words: np.ndarray) -> None:
    """Where slots lie is of no meaning elsewhere."""
    if part.form.compiled:
        words[:, [part.first + base for base in (VALS, AGGS, LINKS)]] = 0


def load(state: State, content: Saved, keys: np.ndarray) -> None:
    """Puts what `dump` gave into keys of which nothing is known."""
    width = state.table.words.shape[1]
    if content["width"] != width or len(content["words"]) != len(keys) * width:
        raise SnapshotError("the saved state has another layout than this query")
    state.table.words[keys] = check_array(content["words"], np.int64, None, "words").reshape(len(keys), width)
    apart: dict[str, Middle] = {}
    if state.chunks is not None:
        state.chunks.load(keys, content.get("owners", []))
        apart = state.chunks.missing(keys)
    trees = iter(content["trees"])
    for (name, walk), parts in zip(state.walks.items(), content["walks"], strict=True):
        _load_walk(walk, keys, parts, apart.get(name))
        for part, of in walk.kept:
            _load_windows(part, Partials(of, [_kind(state, column) for column in of.columns]), keys, next(trees), None)
    for (name, part, group), dumped in zip(_kept(state), content["groups"], strict=True):
        _load_windows(part, checked(state, group), keys, dumped, apart.get(name))
    for window, dumped in zip(state.stored.values(), content.get("stored", []), strict=True):
        window.load(dumped, keys)
    check(state, keys, apart)
    state.commit()
    state.table.words[keys, DUE] = HIGHEST  # when a key is due follows from the rest
    state.schedule(keys)


def _around(
    first: np.ndarray, end: np.ndarray, apart: Middle | None, wanted: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(which, at): for each stretch its numbers from first to end, without those that lie apart.

    `wanted` is how many they should be; `SnapshotError` where they are not.

    >>> which, at = _around(np.array([0, 7]), np.array([9, 8]), (np.array([2, 0]), np.array([7, 0])))
    >>> which.tolist(), at.tolist()
    ([0, 0, 0, 0, 1], [0, 1, 7, 8, 7])
    """
    if apart is None:
        _check_count(end - first, wanted)
        return stretches(first, end - first)
    low = np.clip(apart[0], first, end)
    high = np.clip(apart[1], low, end)
    begin, stop = np.stack([first, high], 1).ravel(), np.stack([low, end], 1).ravel()
    _check_count(stop - begin, wanted)
    which, at = stretches(begin, stop - begin)
    return which // 2, at


def _check_count(counts: np.ndarray, wanted: int | None) -> None:
    """Before room is made for them."""
    if wanted is not None and (float(counts.sum(dtype=np.float64)) != wanted or (counts < 0).any()):
        raise SnapshotError("the saved state does not fit together: slots are missing")


def _dump_walk(walk: WalkState, keys: np.ndarray, apart: Middle | None) -> SavedWalk:
    sized = walk.word(keys, SIZE) > 0
    mine = keys[sized]
    missing = None if apart is None else (apart[0][sized], apart[1][sized])
    which, at = _around(walk.word(mine, F), walk.word(mine, E), missing)
    slot = walk.slots_at(mine[which], at)
    objects = None
    if isinstance(walk, UserState):
        objects = [_pairs(walk.objects.get(key)) for key in keys.tolist()]
    return sized, tuple(column[slot] for column in walk.ring.columns), objects


def _pairs(state: dict[str, object] | None) -> list | None:
    return None if state is None else list(state.items())


def _load_walk(walk: WalkState, keys: np.ndarray, parts: SavedWalk, apart: Middle | None) -> None:
    sized, columns, objects = parts
    mine = keys[check_array(sized, bool, len(keys), "rings")]
    first, end = walk.word(keys, F), walk.word(keys, E)
    require((first >= 0) & (first <= end) & (end < FARTHEST), "slices of a window")
    first, end = first[sized], end[sized]
    words = walk.table.words
    for word in (BASE, SIZE, F0):
        words[keys, walk.first + word] = 0
    which, at = _around(first, end, None if apart is None else (apart[0][sized], apart[1][sized]), len(columns[0]))
    sizes = blocks_of(end - first)
    words[mine, walk.first + BASE] = walk.ring.take(sizes)
    words[mine, walk.first + SIZE] = sizes
    slot = walk.slots_at(mine[which], at)
    for column, values in zip(walk.ring.columns, columns, strict=True):
        column[slot] = check_array(values, column.dtype, len(slot), "slices")
    if isinstance(walk, UserState):
        assert objects is not None
        walk.objects.update(
            {key: dict(state) for key, state in zip(keys.tolist(), objects, strict=True) if state is not None}
        )


def _in_ring(
    part: KeyedWindows, keys: np.ndarray, apart: Middle | None, wanted: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(which, slots): for each key the slots of its ring, without what was evicted, which would only take room."""
    which, at = _around(*part.ends(keys), _missing(part, keys, apart), wanted)
    return which, part.slots_at(keys[which], at)


def _missing(part: KeyedWindows, keys: np.ndarray, apart: Middle | None) -> Middle | None:
    """What lies apart, by positions in the rings."""
    if apart is None:
        return None
    shift = part.shift(keys)
    return apart[0] - shift, apart[1] - shift


def _dump_windows(part: KeyedWindows, of: Join, keys: np.ndarray, apart: Middle | None) -> SavedWindows:
    if not part.form.compiled:
        return _dump_cells(part, of, keys, apart)
    capacity = part.word(keys, CAPACITY)
    dumped = []
    for j, slots in enumerate(part.slots):
        if part.in_rings:
            at = _in_ring(part, keys, apart)[1] if j == 0 else keys[:0]
        else:
            at = stretches(part.word(keys, VALS + j), part.slots_of(capacity, j))[1]
        dumped.append(tuple(column[at] for column in slots.columns) if len(at) else None)
    return dumped


def checked(state: State, group: Group) -> Partials:
    """How partials of a group that are objects are loaded."""
    return Partials(group.of, [_kind(state, name) for name in group.columns])


def _kind(state: State, column: str) -> str | None:
    found = state.plan.columns.get(column)
    return None if found is None else found.kind


def _load_windows(
    part: KeyedWindows, of: Partials, keys: np.ndarray, dumped: SavedWindows, apart: Middle | None
) -> None:
    if not part.form.compiled:
        _load_cells(part, of, keys, dumped, apart)
        return
    words, capacity = part.table.words, part.word(keys, CAPACITY)
    check_capacity(capacity)
    if part.in_rings:  # as much room as there are slices: more is made when it is needed
        first, end = part.ends(keys)
        require((capacity == 0) | ((first >= 0) & (first <= end) & (end - first <= capacity)), "slices of a window")
        capacity = np.where(capacity > 0, np.minimum(blocks_of(end - first), capacity), 0)
        words[keys, part.first + CAPACITY] = capacity
    for word in (VALS, AGGS, LINKS):
        words[keys, part.first + word] = 0
    for j, (slots, columns) in enumerate(zip(part.slots, dumped, strict=True)):
        count = 0 if columns is None else len(columns[0])
        blocks = part.blocks_of(capacity, j)
        there = blocks > 0
        if not there.any():
            require(columns is None, "there are slots for no window")
            continue
        sizes = part.slots_of(capacity, j)
        if part.in_rings:
            _around(*part.ends(keys), _missing(part, keys, apart), count)
        else:
            _check_count(sizes, count)
        base = np.zeros(len(keys), np.int64)
        base[there] = slots.take(blocks[there])
        words[keys, part.first + VALS + j] = base
        at = _in_ring(part, keys, apart)[1] if part.in_rings else stretches(base, sizes)[1]
        for column, values in zip(slots.columns, columns or (), strict=columns is not None):
            column[at] = check_array(values, column.dtype, count, "partials")


def _dump_cells(part: KeyedWindows, of: Join, keys: np.ndarray, apart: Middle | None) -> SavedWindows:
    """The cells, and in one list the slots of all rings."""
    save = _saver(part, of.dump)
    cells = []
    for key in keys.tolist():
        f, e, o, p, r = part.plain.cells[key]
        store = part.plain.stores[key]
        registers = None
        if r is not None:
            registers = [save(value) if name in part.partials else value for name, value in r._asdict().items()]
        slots = None
        if store is not None and part.in_rings:
            slots = store.mask
        elif store is not None:
            slots = (
                [save(v) for v in store.vals], [save(v) for v in store.aggs], [int(i) for i in store.links], store.mask
            )  # fmt: skip
        cells.append((f, e, o, save(p), registers, slots))
    if not part.in_rings:
        return [cells, None]
    which, at = _in_ring(part, keys, apart)
    stores = part.plain.stores
    return [cells, [save(stores[k].vals[i]) for k, i in zip(keys[which].tolist(), at.tolist(), strict=True)]]


def _load_cells(part: KeyedWindows, of: Partials, keys: np.ndarray, dumped: SavedWindows, apart: Middle | None) -> None:
    read = _saver(part, of.load)
    cells, ring = dumped
    stores = part.plain.stores
    for key, (f, e, o, p, registers, slots) in zip(keys.tolist(), cells, strict=True):
        r: Any = None
        if registers is not None:
            fields = zip(part.algorithm.registers._fields, registers, strict=True)
            r = part.algorithm.registers(*(read(value) if name in part.partials else value for name, value in fields))
        part.plain.cells[key] = (f, e, o, read(p), r)
        if slots is not None and part.in_rings:
            held = 0 if r is None else r.E - r.F
            require(type(slots) is int and 0 <= held <= slots + 1, "slices of a window")
            stores[key] = new_store(part.algorithm, part.form, int(blocks_of(np.array([held]))[0]))
        elif slots is not None:
            vals, aggs, links, mask = slots
            stores[key] = Store([read(v) for v in vals], [read(v) for v in aggs], list(links), mask)
    if not part.in_rings:
        return
    which, at = _in_ring(part, keys, apart, len(ring))
    for k, i, value in zip(keys[which].tolist(), at.tolist(), ring, strict=True):
        stores[k].vals[i] = read(value)


def dump_partials(part: KeyedWindows, group: Group, values: Any, change: Change) -> Any:
    """Partials of a window's slots as plain values; `change` gives labels other numbers."""
    if part.form.compiled:
        return _relabelled(group, values, change)
    return list(map(_saver(part, group.of.dump), values))


def load_partials(part: KeyedWindows, group: Group, values: Any, change: Change) -> Any:
    """The inverse of `dump_partials`."""
    if part.form.compiled:
        return _relabelled(group, values, change)
    return list(map(_saver(part, Partials(group.of, ["object"]).load), values))


def _relabelled(group: Group, columns: tuple, change: Change) -> tuple:
    changed = list(columns)
    for place, (_, of) in group.labels().items():
        changed[place] = change(of, changed[place])
    return tuple(changed)


def _saver(part: KeyedWindows, change: Callable) -> Callable:
    """`change` for a partial that may be missing, or counted."""
    if part.algorithm.counted:
        return lambda partial: None if partial is None else (partial[0], change(partial[1]))
    return lambda partial: None if partial is None else change(partial)


def label_columns(state: State) -> Iterator[tuple[str, np.ndarray]]:
    """Where the state holds numbers of labels: (the column whose labels they are, the numbers), to be changed there."""
    for _, part, group in _kept(state):
        for place, (_, of) in (group.labels() if part.form.compiled else {}).items():
            for word in _label_words(part, place):
                yield of, state.table.words[:, word]
            for slots in part.slots[:2]:
                yield of, slots.columns[place]


def relabel(state: State, content: Saved, change: Change) -> None:
    """Changes the numbers of labels in what `dump` gave."""
    words = content["words"].reshape(-1, content["width"])
    for (_, part, group), dumped in zip(_kept(state), content["groups"], strict=True):
        if not part.form.compiled:
            continue
        for place, (_, of) in group.labels().items():
            for word in _label_words(part, place):
                words[:, word] = change(of, words[:, word])
        for j in range(2):
            if dumped[j] is not None:
                dumped[j] = _relabelled(group, dumped[j], change)


def _kept(state: State) -> Iterator[tuple[str, KeyedWindows, Group]]:
    """All that holds partials: the name of the window (the first one of a ring), and the aggregates they are of."""
    for (name, *_), groups in state.groups.items():
        for kept, group in zip(groups, state.plan.arrangement.groups, strict=True):
            for part in kept.parts:
                yield name, part, group


def _label_words(part: KeyedWindows, place: int) -> list[int]:
    """The words of a key in which there is a number of a partial."""
    assert part.form.dtypes is not None
    width, first = len(part.form.dtypes), part.first + OWN + len(part.fields)
    return [first + j * width + place for j in range(1 + len(part.partials))]
