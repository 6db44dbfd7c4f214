"""Large rings in chunks: of a key with many slices, only the chunks that a step can touch have to be in memory.

Slices of a key are numbered for good, and chunk c has the slices from c * CHUNK on. The chunks in which the oldest and
the newest slice lie stay with the key. Those between them, its middle, may lie apart, each by itself. Before a step
touches such a chunk it is fetched: the window kind says how many slices leave at most, and the algorithm which slots it
looks at then. One chunk has the slices of the walk's ring and the partials of all groups of aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from windrow.engine.keyed import KeyedWindows
from windrow.engine.table import grown
from windrow.engine.walking import E, F, Runs, WalkState
from windrow.step.groups import Group
from windrow.step.state import State
from windrow.windows.base import Window

#: slices from numbers on to others (excluded), one pair for each key
Middle = tuple[np.ndarray, np.ndarray]
#: slices of a chunk
CHUNK = 64
#: a key with as many slices has chunks that lie apart
LARGE = 256


class Chunk(NamedTuple):
    """CHUNK slices of a key: entries of the walk's ring, and for each group of aggregates the partials."""

    ring: tuple[np.ndarray, ...]
    partials: list[Any]

    @property
    def whole(self) -> bool:
        """Whether all parts have as many slices as a chunk has."""
        columns = [*self.ring, *(c for part in self.partials for c in ([part] if isinstance(part, list) else part))]
        return all(len(column) == CHUNK for column in columns)

    def same(self, other: Chunk) -> bool:
        """Whether nothing was changed; objects are never changed in place."""
        pairs = zip(self.partials, other.partials, strict=True)
        return _same(self.ring, other.ring) and all(_same(mine, theirs) for mine, theirs in pairs)


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, list):
        return all(a is b for a, b in zip(mine, theirs, strict=True))
    return all(a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True))


@dataclass
class Rings:
    """The rings of one window, for all keys."""

    window: Window
    walk: WalkState
    parts: list[tuple[KeyedWindows, Group]]

    def middle(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each key its middle: chunks from the first number to the second (excluded)."""
        first, end = self.walk.word(keys, F), self.walk.word(keys, E)
        low = first // CHUNK + 1
        return low, np.maximum((end - 1) // CHUNK, low)

    def size(self, keys: np.ndarray) -> np.ndarray:
        """How many slices each key has."""
        return self.walk.word(keys, E) - self.walk.word(keys, F)

    def touched(self, runs: Runs) -> list[tuple[np.ndarray, np.ndarray]]:
        """Stretches of slice numbers that a step can touch, for each run."""
        first = self.walk.word(runs.key, F)
        evictions = self.window.evictions(self.walk, runs)
        if evictions is None:
            return [(first, self.walk.word(runs.key, E))]
        found = [(first, first + evictions + 1)]
        inserts = runs.end - runs.begin + 1  # the open slice becomes one more
        for part, _ in self.parts:
            shift = part.shift(runs.key)
            assert part.algorithm.touches is not None
            touched = part.algorithm.touches(partial(part.register, runs.key), evictions, inserts)
            found += [(low + shift, high + shift) for low, high in touched]
        return found

    def get(self, key: int, chunk: int) -> Chunk:
        """A chunk as it is in memory now."""
        keys, numbers = np.full(CHUNK, key), np.arange(chunk * CHUNK, (chunk + 1) * CHUNK)
        at = self.walk.slots_at(keys, numbers)
        partials: list[Any] = []
        for part, _ in self.parts:
            slots = part.slots_at(keys, numbers - part.shift(keys[:1]))
            if part.form.compiled:
                partials.append(tuple(column[slots] for column in part.slots[0].columns))
            else:
                store = part.plain.stores[key]
                partials.append([store.vals[i] for i in slots.tolist()])
        return Chunk(tuple(column[at] for column in self.walk.ring.columns), partials)

    def put(self, key: int, chunk: int, content: Chunk) -> None:
        """Puts a chunk where a step finds it."""
        keys, numbers = np.full(CHUNK, key), np.arange(chunk * CHUNK, (chunk + 1) * CHUNK)
        at = self.walk.slots_at(keys, numbers)
        for column, values in zip(self.walk.ring.columns, content.ring, strict=True):
            column[at] = values
        for (part, _), values in zip(self.parts, content.partials, strict=True):
            slots = part.slots_at(keys, numbers - part.shift(keys[:1]))
            if part.form.compiled:
                for column, mine in zip(part.slots[0].columns, values, strict=True):
                    column[slots] = mine
            else:
                store = part.plain.stores[key]
                for i, value in zip(slots.tolist(), values, strict=True):
                    store.vals[i] = value


def rings_of(state: State) -> dict[str, Rings]:
    """The windows whose rings can lie in chunks."""
    found = {}
    none = np.empty(0, np.int64)
    for name, window in state.plan.windows.items():
        if window.per_row or name in state.stored or state.plan.ring(name) != (name,):
            continue
        parts = [
            (kept.windows, group)
            for kept, group in zip(state.groups[name,], state.plan.arrangement.groups, strict=True)
        ]
        rings = Rings(window, state.walks[name], parts)
        known = window.evictions(rings.walk, Runs(none, none, none, none)) is not None
        if known and all(part.in_rings and part.algorithm.touches is not None for part, _ in parts):
            found[name] = rings
    return found


@dataclass
class Apart:
    """What lies apart of one window's rings: the owner of each key's chunks (0: it has none), and those fetched."""

    rings: Rings
    owner: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    #: the middle of each key that has an owner, as it was before the step
    before: dict[int, tuple[int, int]] = field(default_factory=dict)
    fetched: dict[tuple[int, int], Chunk] = field(default_factory=dict)  # by key and chunk

    def owners(self, keys: np.ndarray) -> np.ndarray:
        """The owners of these keys' chunks."""
        if len(keys):
            self.owner = grown(self.owner, int(keys.max()) + 1)
        return self.owner[keys]

    def load(self, keys: np.ndarray, owners: np.ndarray) -> None:
        """The middles of the keys that have owners lie apart."""
        self.owners(keys)
        self.owner[keys] = owners
        mine = keys[owners > 0]
        low, high = self.rings.middle(mine)
        self.before.update(zip(mine.tolist(), zip(low.tolist(), high.tolist(), strict=True), strict=True))

    def missing(self, keys: np.ndarray) -> Middle:
        """For each key the slices that lie apart."""
        low, high = self.rings.middle(keys)
        return low * CHUNK, np.where(self.owners(keys) > 0, high, low) * CHUNK

    def settle(self, key: int, low: int, high: int, large: bool, entries: Entries) -> None:
        """After a step: writes chunks of a key's middle that are new or changed, removes those that are not in it."""
        begin, end = self.before.get(key, (0, 0))
        here = {chunk for chunk in range(low, high) if not begin <= chunk < end or (key, chunk) in self.fetched}
        owner = int(self.owner[key])
        first = low - 1
        if begin <= first < end and (key, first) not in self.fetched:
            raise RuntimeError(f"the oldest slices of a key were not fetched: chunk {first} of {begin} to {end}")
        if large or len(here) < high - low:
            owner = self.owner[key] = owner or entries.new_owner()
            for chunk in sorted(here):
                content = self.rings.get(key, chunk)
                before = self.fetched.get((key, chunk))
                if before is None or not content.same(before):
                    entries.write(self.rings, owner, chunk, content)
        else:
            low = high
            self.owner[key] = 0
        for chunk in range(begin, end):
            if not low <= chunk < high:
                entries.remove(owner, chunk)


class Entries(Protocol):
    """Where chunks lie that lie apart."""

    def new_owner(self) -> int: ...

    def read(self, rings: Rings, owner: int, chunk: int) -> Chunk: ...

    def write(self, rings: Rings, owner: int, chunk: int, content: Chunk) -> None: ...

    def remove(self, owner: int, chunk: int) -> None: ...


class Chunks:
    """The chunks of a state that lie apart."""

    def __init__(self, state: State, entries: Entries) -> None:
        self.apart = {name: Apart(rings) for name, rings in rings_of(state).items()}
        self.entries = entries

    def load(self, keys: np.ndarray, owners: Sequence[np.ndarray]) -> None:
        """Keys that were taken up, with the owners of their chunks, for each window."""
        for apart, mine in zip(self.apart.values(), owners, strict=True):
            apart.load(keys, mine)

    def owners(self, keys: np.ndarray) -> list[np.ndarray]:
        """The owners of these keys' chunks, for each window."""
        return [apart.owners(keys) for apart in self.apart.values()]

    def missing(self, keys: np.ndarray) -> dict[str, Middle]:
        """For each window and key the slices that lie apart."""
        return {name: apart.missing(keys) for name, apart in self.apart.items()}

    def settle(self, keys: np.ndarray) -> None:
        """After a step, for all keys that are left: what lies apart is written."""
        for apart in self.apart.values():
            low, high = apart.rings.middle(keys)
            large = (apart.rings.size(keys) >= LARGE) & (high > low)
            for i in np.flatnonzero(large | (apart.owners(keys) > 0)).tolist():
                apart.settle(int(keys[i]), int(low[i]), int(high[i]), bool(large[i]), self.entries)
            for key in apart.before.keys() - set(keys.tolist()):
                apart.settle(key, 0, 0, False, self.entries)

    def fetch(self, name: str, runs: Runs) -> None:
        """Before a step over these runs: fetches what it can touch."""
        apart = self.apart.get(name)
        if apart is None or not apart.before:
            return
        mine = np.flatnonzero(apart.owners(runs.key) > 0)
        if not len(mine):
            return
        some = Runs(*(column[mine] for column in runs))
        for low, high in apart.rings.touched(some):
            for key, first, last in zip(some.key.tolist(), low.tolist(), high.tolist(), strict=True):
                begin, end = apart.before[key]
                for chunk in range(max(begin, first // CHUNK), min(end, -(-last // CHUNK))):
                    if (key, chunk) not in apart.fetched:
                        content = self.entries.read(apart.rings, int(apart.owner[key]), chunk)
                        apart.fetched[key, chunk] = content
                        apart.rings.put(key, chunk, content)
