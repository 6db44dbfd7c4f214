"""The state of some keys as plain values, and back: what snapshots and pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict, cast

import numpy as np

from windrow.aggregates.joins import Join
from windrow.engine.columns import Store
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import AGGS, CAPACITY, LINKS, OWN, VALS
from windrow.engine.state import new_store
from windrow.engine.table import blocks_of, stretches
from windrow.engine.walking import BASE, F0, SIZE, E, F, WalkState
from windrow.errors import SnapshotError
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
    if content["width"] != state.table.words.shape[1] or len(content["words"]) != len(keys) * content["width"]:
        raise SnapshotError("the saved state has another layout than this query")
    state.table.words[keys] = content["words"].reshape(len(keys), content["width"])
    apart: dict[str, Middle] = {}
    if state.chunks is not None:
        state.chunks.load(keys, content.get("owners", []))
        apart = state.chunks.missing(keys)
    trees = iter(content["trees"])
    for (name, walk), parts in zip(state.walks.items(), content["walks"], strict=True):
        _load_walk(walk, keys, parts, apart.get(name))
        for part, of in walk.kept:
            _load_windows(part, of, keys, next(trees), None)
    for (name, part, group), dumped in zip(_kept(state), content["groups"], strict=True):
        _load_windows(part, group.of, keys, dumped, apart.get(name))
    for window, dumped in zip(state.stored.values(), content.get("stored", []), strict=True):
        window.load(dumped, keys)
    due = state.table.words[keys, DUE]
    there = due < np.iinfo(np.int64).max
    state.due.push(keys[there], due[there])
    state.commit()


def _around(first: np.ndarray, end: np.ndarray, apart: Middle | None) -> tuple[np.ndarray, np.ndarray]:
    """(which, at): for each stretch its numbers from first to end, without those that lie apart.

    >>> which, at = _around(np.array([0, 7]), np.array([9, 8]), (np.array([2, 0]), np.array([7, 0])))
    >>> which.tolist(), at.tolist()
    ([0, 0, 0, 0, 1], [0, 1, 7, 8, 7])
    """
    if apart is None:
        return stretches(first, end - first)
    low = np.clip(apart[0], first, end)
    high = np.clip(apart[1], low, end)
    begin, stop = np.stack([first, high], 1).ravel(), np.stack([low, end], 1).ravel()
    which, at = stretches(begin, stop - begin)
    return which // 2, at


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
    mine = keys[sized]
    first, end = walk.word(mine, F), walk.word(mine, E)
    sizes = blocks_of(end - first)
    words = walk.table.words
    words[mine, walk.first + BASE] = walk.ring.take(sizes)
    words[mine, walk.first + SIZE] = sizes
    which, at = _around(first, end, None if apart is None else (apart[0][sized], apart[1][sized]))
    slot = walk.slots_at(mine[which], at)
    for column, values in zip(walk.ring.columns, columns, strict=True):
        column[slot] = values
    if isinstance(walk, UserState):
        assert objects is not None
        walk.objects.update(
            {key: dict(state) for key, state in zip(keys.tolist(), objects, strict=True) if state is not None}
        )


def _in_ring(part: KeyedWindows, keys: np.ndarray, apart: Middle | None) -> tuple[np.ndarray, np.ndarray]:
    """(which, slots): for each key the slots of its ring, without what was evicted, which would only take room."""
    missing = apart
    if apart is not None:
        shift = part.shift(keys)
        missing = apart[0] - shift, apart[1] - shift
    which, at = _around(*part.ends(keys), missing)
    return which, part.slots_at(keys[which], at)


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


def _load_windows(part: KeyedWindows, of: Join, keys: np.ndarray, dumped: SavedWindows, apart: Middle | None) -> None:
    if not part.form.compiled:
        _load_cells(part, of, keys, dumped, apart)
        return
    capacity = part.word(keys, CAPACITY)
    for j, (slots, columns) in enumerate(zip(part.slots, dumped, strict=True)):
        blocks = part.blocks_of(capacity, j)
        there = blocks > 0
        if not there.any():
            continue
        base = np.zeros(len(keys), np.int64)
        base[there] = slots.take(blocks[there])
        part.table.words[keys, part.first + VALS + j] = base
        at = _in_ring(part, keys, apart)[1] if part.in_rings else stretches(base, part.slots_of(capacity, j))[1]
        if len(at) != (0 if columns is None else len(columns[0])):
            raise SnapshotError("the saved state does not fit together: slots are missing")
        for column, values in zip(slots.columns, columns or (), strict=columns is not None):
            column[at] = values


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


def _load_cells(part: KeyedWindows, of: Join, keys: np.ndarray, dumped: SavedWindows, apart: Middle | None) -> None:
    read = _saver(part, of.load)
    cells, ring = dumped
    stores = part.plain.stores
    for key, (f, e, o, p, registers, slots) in zip(keys.tolist(), cells, strict=True):
        r = None
        if registers is not None:
            fields = zip(part.algorithm.registers._fields, registers, strict=True)
            r = part.algorithm.registers(*(read(value) if name in part.partials else value for name, value in fields))
        part.plain.cells[key] = (f, e, o, read(p), r)
        if slots is not None and part.in_rings:
            stores[key] = new_store(part.algorithm, part.form, slots + 1)
        elif slots is not None:
            vals, aggs, links, mask = slots
            stores[key] = Store([read(v) for v in vals], [read(v) for v in aggs], list(links), mask)
    if not part.in_rings:
        return
    which, at = _in_ring(part, keys, apart)
    if len(at) != len(ring):
        raise SnapshotError("the saved state does not fit together: slots are missing")
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
    return list(map(_saver(part, group.of.load), values))


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
