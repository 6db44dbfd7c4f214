"""The windows of many keys, each kept by one algorithm from step to step.

What an algorithm keeps of a key is its registers, some words of the key's row, and its slots, a block of a pool. A loop
(`engine.keyed_loops`) loads the registers where the rows of a key begin and puts them back where they end. Every write
to a slot is logged, so that a step that fails is taken back at the price of what it wrote.

The same loops run plain: there a key's cell is a tuple, its slots are lists, and the form's journal logs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.algorithm import Algorithm, Operations
from windrow.engine.columns import Store
from windrow.engine.forms import Form
from windrow.engine.kernel import cached, cached_loop, once, whole
from windrow.engine.keyed_access import (
    CAPACITY,
    OWN,
    SLICE_F,
    VALS,
    Access,
    Cells,
    PlainCells,
    compiled_access,
    keyed_form,
    plain_access,
)
from windrow.engine.pointers import HEAD
from windrow.engine.state import WindowState, by_hand, new_store
from windrow.engine.state import grown as grown_window
from windrow.engine.table import Pool, Table, bits, blocks_of, grown, stretches

#: growing a window asks nothing of its aggregate
NO_AGGREGATE = Aggregate(lift=lambda x: x, combine=lambda a, b: a)


class Slots(Pool):
    """A pool whose writes are logged."""

    def __init__(self, dtypes: Sequence[Any]) -> None:
        super().__init__(dtypes)
        self.at = np.zeros(HEAD, np.int64)  # entry 1: whether writes are logged
        self.log = tuple(np.zeros(0, dtype) for dtype in dtypes)
        self.arrays = *self.columns, self.at, *self.log  # as loops take them

    def take(self, sizes: np.ndarray) -> np.ndarray:
        bases = super().take(sizes)
        self.arrays = *self.columns, self.at, *self.log
        return bases

    def more_log(self, writes: int) -> None:
        """Room for more writes."""
        wanted = max(2 * len(self.log[0]), int(self.at[0]) + 2 * writes, 256)
        self.at, self.log = grown(self.at, HEAD + wanted), tuple(grown(column, wanted) for column in self.log)
        self.at[3] = min(len(self.at) - HEAD, len(self.log[0]))
        self.arrays = *self.columns, self.at, *self.log

    def commit(self) -> None:
        self.at[0] = 0
        super().commit()

    def rollback(self) -> None:
        n = int(self.at[0])
        at = self.at[HEAD : HEAD + n][::-1]
        for column, log in zip(self.columns, self.log, strict=True):
            column[at] = log[:n][::-1]  # the oldest write of a slot is the last to be taken back
        self.at[0] = 0
        super().rollback()


@cached
@whole("numpy")
def _too_small(words, capacity, keys, peak):
    """Whether a key has less room than it needs."""
    small = False
    for j in range(len(keys)):
        small |= peak[j] > words[keys[j], capacity]
    return small


class KeyedWindows:
    """For each key one window of an algorithm, with the slice that is open beside it."""

    def __init__(self, table: Table, form: Form, algorithm: Algorithm) -> None:
        self.table, self.form, self.algorithm = table, keyed_form(form), algorithm
        self.partials: tuple[str, ...] = algorithm.partial_registers
        self.slots: tuple[Slots, ...] = ()  # vals, aggs, links
        self.used: tuple[Slots, ...] = ()  # those of them that the algorithm has any slots of
        self._cells: Cells | None = None  # as long as words and arrays are the same
        self._arrays: list[tuple] = []
        if not form.compiled:
            self.plain = PlainCells([], [])
            self.before: list[tuple] = []
            return
        assert form.dtypes is not None
        self.fields = [name for name in algorithm.registers._fields if name not in self.partials]
        empty = by_hand(algorithm, self.form)[1].clear(Store((), (), [0] * 256, 0))
        ints = [int(getattr(empty, name)) for name in self.fields]
        none = bits(form.identity, form.dtypes) * (1 + len(self.partials))
        words = [0] * OWN + ints + none
        self.first, self.width = table.add(words), len(words)
        self.slots = Slots(form.dtypes), Slots(form.dtypes), Slots([np.int64])
        self.used = tuple(slots for slots, size in zip(self.slots, algorithm.layout(8), strict=True) if size)

    @property
    def kernel(self) -> Operations:
        """The algorithm over the form, made once."""
        return once(self.form.memo, (self.algorithm, "keyed"), lambda: self.algorithm.kernel(self.form))

    def loop(self, name: str, make: Callable[..., Callable], *more: Any) -> Callable:
        """A loop over these windows, made once a process for the form and the algorithm, and kept on disk."""

        def made() -> Callable:
            loop = make(self.form, self.kernel, self.access(), *more)
            return cached_loop(loop) if self.form.compiled else loop

        return once(self.form.memo, (self.algorithm, name), made)

    def access(self) -> Access:
        """How loops reach the windows."""
        if not self.form.compiled:
            return plain_access()
        return compiled_access(self.form, self.algorithm.registers, self.partials)

    def grow(self, keys: int) -> None:
        """Room for so many keys (where the table does not make it)."""
        if not self.form.compiled and keys > len(self.plain.cells):
            more = keys - len(self.plain.cells)
            self.plain.cells.extend([(0, 0, 0, self.form.identity, None)] * more)
            self.plain.stores.extend([None] * more)

    def forget(self, keys: np.ndarray) -> None:
        """The keys give their slots back; their words are the table's to clear."""
        if not self.form.compiled:
            for k in keys.tolist():
                self.before.append((k, self.plain.cells[k], self.plain.stores[k]))
                self.plain.cells[k], self.plain.stores[k] = (0, 0, 0, self.form.identity, None), None
            return
        capacity = self.word(keys, CAPACITY)
        for j, slots in enumerate(self.slots):
            slots.give_up(self.word(keys, VALS + j), self.blocks_of(capacity, j))

    def word(self, keys: np.ndarray, word: int) -> np.ndarray:
        return self.table.words[keys, self.first + word]

    def cells(self) -> Any:
        """What the loops work on."""
        if not self.form.compiled:
            return self.plain
        words, arrays = self.table.words, [slots.arrays for slots in self.used]
        if self._cells is None or self._cells.words is not words or not all(map(is_, self._arrays, arrays)):
            parts = [slots.arrays if slots in self.used else () for slots in self.slots]
            self._cells, self._arrays = Cells(words, words.shape[1], self.first, *parts), arrays
        return self._cells

    # A step.

    def begin(self, keys: np.ndarray, peak: np.ndarray, logs: bool = True) -> None:
        """Makes room for `peak` slices of each key; with `logs`, the step can be taken back."""
        if not self.form.compiled:
            self._journal().keeps = logs
            if logs:
                self.before += [(k, self.plain.cells[k], self.plain.stores[k]) for k in keys.tolist()]
            for k, rows in zip(keys.tolist(), peak.tolist(), strict=True):
                self._room_plain(k, rows)
            return
        for slots in self.used:
            slots.at[1] = logs
        if _too_small(self.table.words, self.first + CAPACITY, keys, peak):
            small = np.flatnonzero(peak > self.word(keys, CAPACITY))
            self._resize(keys[small], blocks_of(peak[small]))

    def shrink(self, keys: np.ndarray, slices: np.ndarray) -> None:
        """After a loop, where keys have fewer slices: they give back most room that is not needed."""
        wanted = blocks_of(slices)
        if self.form.compiled:
            large = self.word(keys, CAPACITY) > 16 * wanted
            if large.any():
                self._resize(keys[large], wanted[large])
            return
        for k, capacity in zip(keys.tolist(), wanted.tolist(), strict=True):
            store = self.plain.stores[k]
            if store.mask >= 16 * capacity:
                f, e, o, p, r = self.plain.cells[k]
                window = self._resized(store, r, capacity)
                self.plain.stores[k], self.plain.cells[k] = window.store, (f, e, o, p, window.registers)

    def more_log(self, writes: int) -> None:
        """Room in the log, which is full."""
        for slots in self.used:
            slots.more_log(writes)

    def commit(self) -> None:
        """The step stays."""
        for slots in self.used:
            slots.commit()
        if not self.form.compiled:
            self.before = []
            self._journal().undo.clear()

    def rollback(self) -> None:
        """The step is taken back; the table's words are its owner's to write back."""
        for slots in self.used:
            slots.rollback()
        if not self.form.compiled:
            self._journal().rollback()
            for k, cell, store in reversed(self.before):
                self.plain.cells[k], self.plain.stores[k] = cell, store
            self.before = []

    def _journal(self) -> Any:
        assert self.form.journal is not None
        return self.form.journal

    # Room.

    def _room_plain(self, k: int, rows: int) -> None:
        f, e, o, p, r = self.plain.cells[k]
        store = self.plain.stores[k]
        if store is not None and store.mask >= rows - 1:
            return
        capacity = int(blocks_of(np.array([rows]))[0])
        if store is None:
            store = new_store(self.algorithm, self.form, capacity)
            self.plain.cells[k] = (f, e, o, p, self.kernel.clear(store))
        else:
            window = self._resized(store, r, capacity)
            store, self.plain.cells[k] = window.store, (f, e, o, p, window.registers)
        self.plain.stores[k] = store

    def _resized(self, store: Store, r: Any, capacity: int) -> WindowState:
        """A store of another size with the same slices, and the registers for it: rows may lie elsewhere."""
        before = WindowState(self.algorithm, NO_AGGREGATE, self.form, store, r, store.mask + 1)
        return grown_window(before, capacity)

    def slots_of(self, capacity: np.ndarray, j: int) -> np.ndarray:
        """How many slots windows of these capacities have; 0: none."""
        different, at = np.unique(capacity, return_inverse=True)
        return np.array([self.algorithm.layout(c)[j] if c else 0 for c in different.tolist()], np.int64)[at]

    def blocks_of(self, capacity: np.ndarray, j: int) -> np.ndarray:
        """The sizes of their blocks: no larger than what lies in them."""
        if self.in_rings:
            return capacity if j == 0 else np.zeros_like(capacity)
        return self.slots_of(capacity, j)

    def _resize(self, keys: np.ndarray, capacity: np.ndarray) -> None:
        """Blocks of other sizes, with what is in the old ones."""
        words, first = self.table.words, self.first
        old = words[keys, first + CAPACITY]
        before = words[keys, first + VALS : first + VALS + 3]
        for j, slots in enumerate(self.slots):
            sizes = self.blocks_of(capacity, j)
            if sizes.any():
                words[keys, first + VALS + j] = slots.take(sizes)
                slots.give_up(before[:, j], self.blocks_of(old, j))
        words[keys, first + CAPACITY] = capacity
        filled = old > 0
        if self.in_rings:
            self._move_rings(keys[filled], before[filled, 0], old[filled])
            return
        for k, base, size in zip(keys[filled].tolist(), before[filled].tolist(), old[filled].tolist(), strict=True):
            window = self._resized(self.store(base, size), self.registers(k), int(words[k, first + CAPACITY]))
            self.fill(k, window.store)
            ints = [getattr(window.registers, name) for name in self.fields]  # partials stay as they are
            words[k, first + OWN : first + OWN + len(ints)] = ints
        for k in keys[~filled].tolist():  # what the algorithm wants to find in its slots
            base, size = words[k, first + VALS : first + VALS + 3].tolist(), int(words[k, first + CAPACITY])
            if self.algorithm.new_store is not None:  # 0, or what another key has left, is not its empty slot
                self.fill(k, new_store(self.algorithm, self.form, size))
            by_hand(self.algorithm, self.form)[1].clear(self.store(base, size))

    def store(self, base: list[int], capacity: int) -> Store:
        """A key's slots as arrays."""
        sizes = self.algorithm.layout(capacity)
        parts = [
            tuple(column[b : b + size] for column in slots.columns)
            for slots, b, size in zip(self.slots, base, sizes, strict=True)
        ]
        return Store(parts[0], parts[1], parts[2][0], capacity - 1)

    def fill(self, k: int, store: Store) -> None:
        """Sets a key's slots."""
        for j, (slots, new) in enumerate(zip(self.slots, (store.vals, store.aggs, (store.links,)), strict=True)):
            base = int(self.table.words[k, self.first + VALS + j])
            for column, values in zip(slots.columns, new, strict=True):
                column[base : base + len(values)] = values

    @property
    def in_rings(self) -> bool:
        """Whether a key's slots are a ring from F to E and nothing else."""
        algorithm = self.algorithm
        ring = algorithm.new_store is None and algorithm.layout(8) == (8, 0, 0)
        return ring and {"F", "E"} <= set(algorithm.registers._fields)

    def register(self, keys: np.ndarray, name: str) -> np.ndarray:
        """A register of some keys that holds an int."""
        if self.form.compiled:
            return self.word(keys, OWN + self.fields.index(name))
        found = (self.plain.cells[k][4] for k in keys.tolist())
        return np.array([0 if r is None else getattr(r, name) for r in found], np.int64)

    def ends(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F and E of the keys' rings."""
        return self.register(keys, "F"), self.register(keys, "E")

    def shift(self, keys: np.ndarray) -> np.ndarray:
        """What a slice's number is more than its position in the ring."""
        if self.form.compiled:
            return self.word(keys, SLICE_F) - self.register(keys, "F")
        return np.array([self.plain.cells[k][0] for k in keys.tolist()], np.int64) - self.register(keys, "F")

    def slots_at(self, keys: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Where positions of these keys' rings lie: in the pool, or in the key's own list."""
        if self.form.compiled:
            return self.word(keys, VALS) + (positions & (self.word(keys, CAPACITY) - 1))
        stores = self.plain.stores
        return np.array([p & stores[k].mask for k, p in zip(keys.tolist(), positions.tolist(), strict=True)], np.int64)

    def _move_rings(self, keys: np.ndarray, base: np.ndarray, size: np.ndarray) -> None:
        """Slots that are a ring from F to E and nothing else."""
        first, end = self.ends(keys)
        which, at = stretches(first, end - first)
        source = base[which] + (at & (size[which] - 1))
        target = self.slots_at(keys[which], at)
        for column in self.slots[0].columns:
            column[target] = column[source]

    def registers(self, k: int) -> Any:
        """A key's registers."""
        assert self.form.dtypes is not None
        row, at = self.table.words[k], self.first + OWN
        values: dict[str, Any] = {}
        for name in self.fields:
            values[name] = int(row[at])
            at += 1
        at += len(self.form.dtypes)
        for name in self.partials:
            values[name] = tuple(
                row[at + j : at + j + 1].view(dtype if dtype.kind == "f" else np.int64)[0].item()
                for j, dtype in enumerate(self.form.dtypes)
            )
            at += len(self.form.dtypes)
        return self.algorithm.registers._make(values[name] for name in self.algorithm.registers._fields)
