"""The windows of many keys, each kept by one algorithm from step to step.

What an algorithm keeps of a key is its registers, one row of a table, and its slots, one block of an arena. A loop
(`engine.keyed_loops`) loads both where the rows of a key begin and puts the registers back where they end. Every write
to a slot is logged, so that a step that fails is taken back at the price of what it wrote.

The same loops run plain: there a key's cell is a tuple, its slots are lists, and the form's journal logs.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.arena import Blocks, Mark, grown, powers_of_two, stretches
from windrow.engine.columns import Store, accessors
from windrow.engine.forms import Form

#: compiled: a row of ints and some partials for each key, and blocks of slots.
#: ints: slices f to e are in the algorithm, `o`: a slice is open; then the algorithm's ints. parts: the open slice first
Cells = namedtuple("Cells", "ints parts vals vals_base vals_size aggs aggs_base aggs_size links links_base links_size")
PlainCells = namedtuple("PlainCells", "cells stores")
OWN = 3  # f, e, o
#: what the loops keep free in the log for one operation, beside one write for each slice of the window
SPARE = 128


class Access(NamedTuple):
    """How a loop reaches what is kept of a key."""

    load: Callable  # (cells, k) -> (f, e, o, open slice, registers)
    save: Callable  # (cells, k, f, e, o, open slice, registers)
    store: Callable  # (cells, k) -> Store
    full: Callable  # (cells, writes) -> whether the log may not have room for so many more


class Saved(NamedTuple):
    """What takes a step back."""

    keys: np.ndarray
    blocks: tuple[Mark, ...]
    ints: Any
    parts: Any


@cache
def _logged(width: int) -> tuple[Callable, Callable]:
    """`put` and `view` for slots that log: (columns, positions logged, columns logged, [entries, logs?, base]).

    Generated for their width, because numba wants constant indices into a tuple of columns.
    """
    scope: dict[str, Any] = {}
    fields, log, head = range(width), width, 2 * width + 1
    exec(
        "def put(slots, i, partial):\n"
        f"    head = slots[{head}]\n"
        "    if head[1] != 0:\n"
        f"        slots[{log}][head[0]] = head[2] + i\n"
        + "".join(f"        slots[{log + 1 + j}][head[0]] = slots[{j}][i]\n" for j in fields)
        + "        head[0] += 1\n"
        + "".join(f"    slots[{j}][i] = partial[{j}]\n" for j in fields)
        + "def view(slots, base, size):\n"
        f"    slots[{head}][2] = base\n"
        f"    return ({', '.join(f'slots[{j}][base:base + size]' for j in fields)}, "
        + ", ".join(f"slots[{j}]" for j in range(log, head + 1))
        + ")\n",
        scope,
    )
    return scope["put"], scope["view"]


def logging_form(form: Form) -> Form:
    """The form as algorithms over an arena see it: `put` and `put_link` log what they overwrite."""
    if not form.compiled:
        return form
    assert form.dtypes is not None
    if "logging" not in form.memo:
        jit = form.jit
        put_one = jit(_logged(1)[0])

        def put_link(links, i, value):
            put_one(links, i, (value,))

        def get_link(links, i):
            return links[0][i]

        form.memo["logging"] = replace(
            form, put=jit(_logged(len(form.dtypes))[0]), put_link=jit(put_link), get_link=jit(get_link), memo={}
        )
    return form.memo["logging"]


def access(form: Form, registers: Any, partials: Sequence[str]) -> Access:
    """How loops over this form reach the registers of an algorithm."""
    return _compiled_access(form, registers, partials) if form.compiled else _plain_access()


def _plain_access() -> Access:
    def load(state, k):
        return state.cells[k]

    def save(state, k, f, e, o, p, r):
        state.cells[k] = (f, e, o, p, r)

    def store(state, k):
        return state.stores[k]

    def full(state, writes):
        return False

    return Access(load, save, store, full)


def _compiled_access(form: Form, registers: Any, partials: Sequence[str]) -> Access:
    assert form.dtypes is not None
    jit, get, put = form.jit, form.get, form.jit(accessors(len(form.dtypes))[1])  # registers are not logged
    view, link_view = jit(_logged(len(form.dtypes))[1]), jit(_logged(1)[1])
    ints = [name for name in registers._fields if name not in partials]
    wide = 1 + len(partials)
    place = {name: f"s.ints[k, {OWN + j}]" for j, name in enumerate(ints)}
    place |= {name: f"get(s.parts, k * {wide} + {1 + j})" for j, name in enumerate(partials)}
    writes = [f"    s.ints[k, {OWN + j}] = r.{name}\n" for j, name in enumerate(ints)]
    writes += [f"    put(s.parts, k * {wide} + {1 + j}, r.{name})\n" for j, name in enumerate(partials)]
    scope: dict[str, Any] = {"Registers": registers, "get": get, "put": put}
    exec(
        "def load(s, k):\n"
        f"    r = Registers({', '.join(place[name] for name in registers._fields)})\n"
        f"    return s.ints[k, 0], s.ints[k, 1], s.ints[k, 2], get(s.parts, k * {wide}), r\n"
        "def save(s, k, f, e, o, p, r):\n"
        "    s.ints[k, 0] = f\n    s.ints[k, 1] = e\n    s.ints[k, 2] = o\n"
        f"    put(s.parts, k * {wide}, p)\n" + "".join(writes),
        scope,
    )
    log, head = len(form.dtypes), 2 * len(form.dtypes) + 1

    def store(s, k):
        vals = view(s.vals, s.vals_base[k], s.vals_size[k])
        aggs = view(s.aggs, s.aggs_base[k], s.aggs_size[k])
        links = link_view(s.links, s.links_base[k], s.links_size[k])
        return Store(vals, aggs, links, s.ints[k, s.ints.shape[1] - 1] - 1)

    def full(s, writes):
        if s.vals[head][1] == 0:
            return False
        return (
            s.vals[head][0] + writes > len(s.vals[log])
            or s.aggs[head][0] + writes > len(s.aggs[log])
            or s.links[3][0] + writes > len(s.links[1])
        )

    return Access(jit(scope["load"]), jit(scope["save"]), jit(store), jit(full))


class _Slots:
    """Blocks of slots that log their writes."""

    def __init__(self, dtypes: Sequence[Any]) -> None:
        self.blocks = Blocks()
        self.columns = tuple(np.zeros(0, dtype) for dtype in dtypes)
        self.head = np.zeros(3, np.int64)
        self.at = np.zeros(0, np.int64)
        self.log = tuple(np.zeros(0, dtype) for dtype in dtypes)

    def room(self, writes: int) -> None:
        """A log for so many writes in all."""
        if len(self.at) < writes:
            self.at, self.log = grown(self.at, writes), tuple(grown(column, writes) for column in self.log)

    def view(self) -> tuple:
        return (*self.columns, self.at, *self.log, self.head)

    def undo(self) -> None:
        n = int(self.head[0])
        for column, log in zip(self.columns, self.log, strict=True):
            column[self.at[:n][::-1]] = log[:n][::-1]  # the oldest write of a slot is the last to be taken back
        self.head[0] = 0


class KeyedWindows:
    """For each key one window of an algorithm, with the slice that is open beside it.

    Args:
        form: of the aggregate.
        algorithm: the class of `windrow.swag` that keeps the windows.
    """

    def __init__(self, form: Form, algorithm: Any) -> None:
        self.form, self.algorithm = logging_form(form), algorithm
        self.partials = algorithm.partial_registers
        self.access = access(self.form, algorithm.registers, self.partials)
        self.kernel = algorithm.kernel(self.form)
        self.size = 0
        self._saved: Saved | None = None
        if not form.compiled:
            self.plain = PlainCells([], [])
            return
        assert form.dtypes is not None
        ints = len(algorithm.registers._fields) - len(self.partials)
        self.ints = np.zeros((0, OWN + ints + 1), np.int64)  # the last one is the capacity
        self.parts = tuple(np.zeros(0, dtype) for dtype in form.dtypes)
        self.vals, self.aggs, self.links = _Slots(form.dtypes), _Slots(form.dtypes), _Slots([np.int64])
        self.first = self._first()

    @property
    def slots(self) -> tuple[_Slots, ...]:
        return self.vals, self.aggs, self.links

    def _first(self) -> tuple:
        """The registers of an empty window."""
        store = Store((), (), [0] * 256, 0)
        quiet = self.algorithm.kernel(_python(self.form))
        return quiet.clear(store)

    def grow(self, keys: int) -> None:
        """Room for more keys, whose windows are empty."""
        before, self.size = self.size, max(self.size, keys)
        if self.size == before:
            return
        if not self.form.compiled:
            cell = (0, 0, 0, self.form.identity, None)
            self.plain.cells.extend(cell for _ in range(self.size - before))
            self.plain.stores.extend(None for _ in range(self.size - before))
            return
        self.ints = grown(self.ints, self.size)
        wide = 1 + len(self.partials)
        self.parts = tuple(grown(column, len(self.ints) * wide) for column in self.parts)
        for slots in self.slots:
            slots.blocks.grow(len(self.ints))
        self._clear(np.arange(before, len(self.ints)))

    def _clear(self, keys: np.ndarray) -> None:
        """Empty windows, as the algorithm begins them."""
        fields = self.algorithm.registers._fields
        ints = [int(getattr(self.first, name)) for name in fields if name not in self.partials]
        self.ints[keys] = [0, 0, 0, *ints, 0]
        wide, identity = 1 + len(self.partials), self.form.identity
        for j in range(wide):
            for column, number in zip(self.parts, identity, strict=True):
                column[keys * wide + j] = number

    def forget(self, keys: np.ndarray) -> None:
        """The keys' windows become empty and give their slots back."""
        if not self.form.compiled:
            for k in keys.tolist():
                self.plain.cells[k], self.plain.stores[k] = (0, 0, 0, self.form.identity, None), None
            return
        for slots in self.slots:
            slots.blocks.release(keys)
        self._clear(keys)

    def cells(self) -> Any:
        """What the loops work on."""
        if not self.form.compiled:
            return self.plain
        arrays: list[Any] = [self.ints, self.parts]
        for slots in self.slots:
            arrays += [slots.view(), slots.blocks.base, slots.blocks.size]
        return Cells(*arrays)

    # A step.

    def begin(self, keys: np.ndarray, peak: np.ndarray, logs: bool = True) -> None:
        """Makes room for `peak` slices of each key; with `logs`, the step can be taken back."""
        if not self.form.compiled:
            assert self.form.journal is not None
            self.form.journal.undo.clear()
            listed = keys.tolist()
            cells = [self.plain.cells[k] for k in listed]
            self._saved = Saved(keys, (), cells, [self.plain.stores[k] for k in listed]) if logs else None
            for k, rows in zip(listed, peak.tolist(), strict=True):
                self._room_plain(k, rows)
            return
        if logs:
            wide = 1 + len(self.partials)
            at = (keys[:, None] * wide + np.arange(wide)).ravel()
            self._saved = Saved(
                keys, tuple(slots.blocks.mark(keys) for slots in self.slots), self.ints[keys],
                tuple(column[at] for column in self.parts),
            )  # fmt: skip
        for slots in self.slots:
            slots.head[:] = 0, int(logs), 0
        small = np.flatnonzero(peak > self.ints[keys, -1])
        if len(small):
            self._enlarge(keys[small], powers_of_two(peak[small]))

    def more_log(self, writes: int) -> None:
        """Doubles the log; it is full."""
        for slots in self.slots:
            slots.room(max(2 * len(slots.at), int(slots.head[0]) + 2 * writes, 1024))

    def commit(self) -> None:
        """The step is over, and stays."""
        self._saved = None
        if self.form.compiled:
            for slots in self.slots:
                slots.blocks.commit()
                slots.head[0] = 0
        elif self.form.journal is not None:
            self.form.journal.undo.clear()

    def rollback(self) -> None:
        """As it was when the step began."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        if not self.form.compiled:
            assert self.form.journal is not None
            self.form.journal.rollback()
            for k, cell, store in zip(saved.keys.tolist(), saved.ints, saved.parts, strict=True):
                self.plain.cells[k], self.plain.stores[k] = cell, store
            return
        for slots, mark in zip(self.slots, saved.blocks, strict=True):
            slots.undo()
            slots.blocks.rollback(mark)
        self.ints[saved.keys] = saved.ints
        wide = 1 + len(self.partials)
        at = (saved.keys[:, None] * wide + np.arange(wide)).ravel()
        for column, before in zip(self.parts, saved.parts, strict=True):
            column[at] = before

    # Room.

    def _room_plain(self, k: int, rows: int) -> None:
        f, e, o, p, r = self.plain.cells[k]
        store = self.plain.stores[k]
        if store is not None and store.mask >= rows - 1:
            return
        capacity = int(powers_of_two(np.array([max(rows, 1)]))[0])
        if store is None:
            vals, aggs, links = self.algorithm.layout(self._window(), capacity)
            store = Store([None] * vals, [None] * aggs, [0] * links, capacity - 1)
            self.plain.cells[k] = (f, e, o, p, self.kernel.clear(store))
        else:
            window = self._window()
            window.s, window.r, window.capacity = store, r, store.mask + 1
            window._grow(capacity)
            store = window.s
        self.plain.stores[k] = store

    def _window(self) -> Any:
        """A window by hand that borrows its state: it knows how to grow."""
        window = object.__new__(self.algorithm)
        window.form = window.m = self.form if not self.form.compiled else _python(self.form)
        window.k = self.algorithm.kernel(window.m)
        return window

    def _enlarge(self, keys: np.ndarray, capacity: np.ndarray) -> None:
        """Larger blocks, with what is in the old ones."""
        window = self._window()
        layouts = {c: window.layout(c) for c in np.unique(capacity).tolist()}
        before = [(s.blocks.base[keys], s.blocks.size[keys]) for s in self.slots]
        for j, slots in enumerate(self.slots):
            wanted = np.fromiter((layouts[c][j] for c in capacity.tolist()), np.int64, len(keys))
            if wanted.any():
                slots.blocks.enlarge(keys, wanted)
                slots.columns = tuple(grown(column, slots.blocks.used) for column in slots.columns)
        old = self.ints[keys, -1].copy()
        self.ints[keys, -1] = capacity
        filled = np.flatnonzero(old > 0)
        ring = window.layout(8) == (8, 0, 0) and {"F", "E"} <= set(self.algorithm.registers._fields)
        if ring:
            self._move_rings(keys[filled], before[0][0][filled], old[filled])
        else:
            for i in filled.tolist():
                self._move(int(keys[i]), int(old[i]), [(int(b[i]), int(s[i])) for b, s in before])
        if not ring:  # empty windows: what the algorithm wants to find in its slots
            for k in keys[old == 0].tolist():
                self.kernel_clear(k)

    def kernel_clear(self, k: int) -> None:
        """Lets the algorithm clear its new slots."""
        window = self._window()
        store = self._store(k)
        r = window.k.clear(store)
        fields = [name for name in self.algorithm.registers._fields if name not in self.partials]
        self.ints[k, OWN:-1] = [int(getattr(r, name)) for name in fields]

    def _store(self, k: int) -> Store:
        parts = []
        for slots in self.slots:
            base, size = int(slots.blocks.base[k]), int(slots.blocks.size[k])
            parts.append(tuple(column[base : base + size] for column in slots.columns))
        return Store(parts[0], parts[1], parts[2][0], int(self.ints[k, -1]) - 1)

    def _move_rings(self, keys: np.ndarray, base: np.ndarray, size: np.ndarray) -> None:
        """Rings of slots, whose entries are found by F and E."""
        fields = [name for name in self.algorithm.registers._fields if name not in self.partials]
        first, end = self.ints[keys, OWN + fields.index("F")], self.ints[keys, OWN + fields.index("E")]
        which, at = stretches(first, end - first)
        source = base[which] + (at & (size[which] - 1))
        target = self.vals.blocks.base[keys[which]] + (at & (self.ints[keys[which], -1] - 1))
        for column in self.vals.columns:
            column[target] = column[source]

    def _move(self, k: int, capacity: int, before: list[tuple[int, int]]) -> None:
        """The slots of any algorithm, as its window by hand grows."""
        window = self._window()
        parts = [
            tuple(column[base : base + size] for column in slots.columns)
            for slots, (base, size) in zip(self.slots, before, strict=True)
        ]
        window.s = Store(parts[0], parts[1], parts[2][0], capacity - 1)
        window.r, window.capacity = self.registers(k), capacity
        window._grow(int(self.ints[k, -1]))
        for slots, grown_slots in zip(self.slots, (window.s.vals, window.s.aggs, (window.s.links,)), strict=True):
            base = int(slots.blocks.base[k])
            for column, values in zip(slots.columns, grown_slots, strict=False):
                column[base : base + len(values)] = values

    def registers(self, k: int) -> Any:
        """A key's registers."""
        wide, j, place = 1 + len(self.partials), 0, {}
        for name in self.algorithm.registers._fields:
            if name in self.partials:
                at = k * wide + 1 + self.partials.index(name)
                place[name] = tuple(column[at].item() for column in self.parts)
            else:
                place[name] = int(self.ints[k, OWN + j])
                j += 1
        return self.algorithm.registers(**place)


def _python(form: Form) -> Form:
    """The form for Python over the columns of an arena."""
    from windrow.engine.forms import interpreted

    return interpreted(form)
