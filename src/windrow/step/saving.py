"""The state of some keys as plain values, and back: what snapshots and pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NotRequired, TypeAlias, TypedDict, cast

import numpy as np

from windrow.aggregates.joins import Join
from windrow.engine.columns import Store
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import AGGS, CAPACITY, LINKS, OWN, VALS
from windrow.engine.table import blocks_of, stretches
from windrow.engine.walking import BASE, F0, SIZE, E, F, WalkState
from windrow.errors import SnapshotError
from windrow.sharing.groups import Group
from windrow.step.state import DUE, State
from windrow.windows.user_defined import UserState

#: of a walk: which keys have a ring, the columns of all rings, the objects of user-defined windows
SavedWalk: TypeAlias = "tuple[np.ndarray, tuple[np.ndarray, ...], list | None]"
#: of windows and a group of aggregates: the columns of each pool of slots, or where they are objects a cell per key
SavedWindows: TypeAlias = list


class Saved(TypedDict):
    """The state of some keys."""

    width: int  # of a key's row of words
    words: np.ndarray
    walks: list[SavedWalk]
    trees: list[SavedWindows]  # what kinds of windows keep themselves
    groups: list[SavedWindows]
    stored: NotRequired[list]  # of windows in a store, what is in memory and where the rest is


def saved(pairs: Iterable[tuple[str, object]]) -> Saved:
    """The same from its items, as they are in a snapshot."""
    return cast("Saved", dict(pairs))


def dump(state: State, keys: np.ndarray) -> Saved:
    """What is known of these keys."""
    words = state.table.words[keys]
    walks, trees, groups = [], [], []
    for walk in state.walks.values():
        walks.append(_dump_walk(walk, keys))
        words[:, [walk.first + BASE, walk.first + SIZE, walk.first + F0]] = 0
        for part, of in walk.kept:
            trees.append(_dump_windows(part, of, keys))
            _without_blocks(part, words)
    for part, group in _kept(state):
        groups.append(_dump_windows(part, group.of, keys))
        _without_blocks(part, words)
    content: Saved = {
        "width": words.shape[1], "words": words.ravel(), "walks": walks, "trees": trees, "groups": groups,
    }  # fmt: skip
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
    trees = iter(content["trees"])
    for walk, parts in zip(state.walks.values(), content["walks"], strict=True):
        _load_walk(walk, keys, parts)
        for part, of in walk.kept:
            _load_windows(part, of, keys, next(trees))
    for (part, group), dumped in zip(_kept(state), content["groups"], strict=True):
        _load_windows(part, group.of, keys, dumped)
    for window, dumped in zip(state.stored.values(), content.get("stored", []), strict=True):
        window.load(dumped, keys)
    due = state.table.words[keys, DUE]
    there = due < np.iinfo(np.int64).max
    state.due.push(keys[there], due[there])
    state.commit()


def _dump_walk(walk: WalkState, keys: np.ndarray) -> SavedWalk:
    first, end = walk.word(keys, F), walk.word(keys, E)
    sized = walk.word(keys, SIZE) > 0
    first, count = first[sized], (end - first)[sized]
    which, at = stretches(first, count)
    k = keys[sized][which]
    slot = walk.word(k, BASE) + (at & (walk.word(k, SIZE) - 1))
    objects = None
    if isinstance(walk, UserState):
        objects = [_pairs(walk.objects.get(key)) for key in keys.tolist()]
    return sized, tuple(column[slot] for column in walk.ring.columns), objects


def _pairs(state: dict[str, object] | None) -> list | None:
    return None if state is None else list(state.items())


def _load_walk(walk: WalkState, keys: np.ndarray, parts: SavedWalk) -> None:
    sized, columns, objects = parts
    mine = keys[sized]
    first, end = walk.word(mine, F), walk.word(mine, E)
    sizes = blocks_of(end - first)
    words = walk.table.words
    words[mine, walk.first + BASE] = begin = walk.ring.take(sizes)
    words[mine, walk.first + SIZE] = sizes
    which, at = stretches(first, end - first)
    slot = begin[which] + (at & (sizes[which] - 1))
    for column, values in zip(walk.ring.columns, columns, strict=True):
        column[slot] = values
    if isinstance(walk, UserState):
        assert objects is not None
        walk.objects.update(
            {key: dict(state) for key, state in zip(keys.tolist(), objects, strict=True) if state is not None}
        )


def _dump_windows(part: KeyedWindows, of: Join, keys: np.ndarray) -> SavedWindows:
    if not part.form.compiled:
        return [_dump_cell(part, of, key) for key in keys.tolist()]
    capacity = part.word(keys, CAPACITY)
    dumped = []
    for j, slots in enumerate(part.slots):
        sizes = part.slots_of(capacity, j)
        base = part.word(keys, VALS + j)
        which, at = stretches(base, sizes)
        columns = tuple(column[at] for column in slots.columns) if len(at) else None
        if columns is not None and part.in_rings:  # what was evicted would only take room
            first, end = part.ends(keys)
            unused = ((at - base[which] - first[which]) & (capacity[which] - 1)) >= (end - first)[which]
            for column in columns:
                column[unused] = 0
        dumped.append(columns)
    return dumped


def _load_windows(part: KeyedWindows, of: Join, keys: np.ndarray, dumped: SavedWindows) -> None:
    if not part.form.compiled:
        for key, cell in zip(keys.tolist(), dumped, strict=True):
            _load_cell(part, of, key, cell)
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
        _, at = stretches(base, part.slots_of(capacity, j))
        if columns is None or len(columns[0]) != len(at):
            raise SnapshotError("the saved state does not fit together: slots are missing")
        for column, values in zip(slots.columns, columns, strict=True):
            column[at] = values


def _dump_cell(part: KeyedWindows, of: Join, key: int) -> tuple:
    save = _saver(part, of.dump)
    f, e, o, p, r = part.plain.cells[key]
    store = part.plain.stores[key]
    registers = None
    if r is not None:
        registers = [save(value) if name in part.partials else value for name, value in r._asdict().items()]
    slots = None
    if store is not None:
        slots = [save(v) for v in store.vals], [save(v) for v in store.aggs], [int(i) for i in store.links], store.mask
    return f, e, o, save(p), registers, slots


def _load_cell(part: KeyedWindows, of: Join, key: int, cell: tuple) -> None:
    read = _saver(part, of.load)
    f, e, o, p, registers, slots = cell
    r = None
    if registers is not None:
        fields = zip(part.algorithm.registers._fields, registers, strict=True)
        r = part.algorithm.registers(*(read(value) if name in part.partials else value for name, value in fields))
    part.plain.cells[key] = (f, e, o, read(p), r)
    if slots is not None:
        vals, aggs, links, mask = slots
        part.plain.stores[key] = Store([read(v) for v in vals], [read(v) for v in aggs], list(links), mask)


def _saver(part: KeyedWindows, change: Callable) -> Callable:
    """`change` for a partial that may be missing, or counted."""
    if part.algorithm.counted:
        return lambda partial: None if partial is None else (partial[0], change(partial[1]))
    return lambda partial: None if partial is None else change(partial)


def label_columns(state: State) -> Iterator[tuple[str, np.ndarray]]:
    """Where the state holds numbers of labels: (the column whose labels they are, the numbers), to be changed there."""
    for part, group in _kept(state):
        for place, (_, of) in (group.labels() if part.form.compiled else {}).items():
            for word in _label_words(part, place):
                yield of, state.table.words[:, word]
            for slots in part.slots[:2]:
                yield of, slots.columns[place]


def relabel(state: State, content: Saved, change: Callable[[str, np.ndarray], np.ndarray]) -> None:
    """Changes the numbers of labels in what `dump` gave."""
    words = content["words"].reshape(-1, content["width"])
    for (part, group), dumped in zip(_kept(state), content["groups"], strict=True):
        for place, (_, of) in (group.labels() if part.form.compiled else {}).items():
            for word in _label_words(part, place):
                words[:, word] = change(of, words[:, word])
            for j in range(2):
                if dumped[j] is not None:
                    columns = list(dumped[j])
                    columns[place] = change(of, columns[place])
                    dumped[j] = tuple(columns)


def _kept(state: State) -> Iterator[tuple[KeyedWindows, Group]]:
    """All that holds partials, with the aggregates they are of."""
    for groups in state.groups.values():
        for kept, group in zip(groups, state.plan.arrangement.groups, strict=True):
            for part in kept.parts:
                yield part, group


def _label_words(part: KeyedWindows, place: int) -> list[int]:
    """The words of a key in which there is a number of a partial."""
    assert part.form.dtypes is not None
    width, first = len(part.form.dtypes), part.first + OWN + len(part.fields)
    return [first + j * width + place for j in range(1 + len(part.partials))]
