"""How loops reach what is kept of a key: its registers in the key's row, its slots in a pool.

Compiled loops work on addresses (`engine.pointers`). Plain loops find a tuple and lists.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from windrow.engine.columns import Journal, Store
from windrow.engine.driver import called
from windrow.engine.forms import Form
from windrow.engine.kernel import once
from windrow.engine.pointers import Addresses, Full, Get, Load, Log, Save, View

#: a key's words: slices f to e are in the algorithm, `o`: a slice is open; capacity and blocks; then the
#: algorithm's ints, the open slice and the algorithm's partials
SLICE_F, SLICE_E, OPEN, CAPACITY, VALS, AGGS, LINKS = range(7)
OWN = 7
#: what compiled loops work on: the table's words (their address and the bytes of a row), which word is the first one of
#: the windows, and the arrays of each pool with its log
Cells = namedtuple("Cells", "words row first vals aggs links")
PlainCells = namedtuple("PlainCells", "cells stores")
#: what loops keep free in the log for one operation, beside one write for each slice of the window
SPARE = 128


class Access(NamedTuple):
    """How a loop reaches what is kept of a key."""

    opened: Callable  # (cells) -> cells, as the others take them
    load: Callable  # (cells, k) -> (f, e, o, open slice, registers)
    save: Callable  # (cells, k, f, e, o, open slice, registers)
    store: Callable  # (cells, k) -> Store
    full: Callable  # (store, writes) -> whether the log may not have room for so many more


class _Reach(NamedTuple):
    """How compiled code reaches slots of some types, by their addresses."""

    get: Callable  # (slots, i) -> partial
    log: Callable  # (slots, i, partial): puts it there, and logs what was there
    addresses: Callable  # (columns and log as arrays) -> slots
    view: Callable  # (slots, base) -> slots of the block that begins there
    full: Callable  # (slots, writes) -> whether the log may not have room for so many more


@cache
def _reach(dtypes: tuple[str, ...], own: bool) -> _Reach:
    return _Reach(*(maker(dtypes, own) for maker in (Get, Log, Addresses, View, Full)))


def keyed_form(form: Form) -> Form:
    """The form as algorithms over a pool see it: slots are addresses, and writes to them are logged."""
    if not form.compiled:
        journal = Journal()  # its own: one step may be taken back while another is not
        return replace(form, put=journal.put, put_link=journal.put, journal=journal, memo={})
    return once(form.memo, "keyed", lambda: _keyed_form(form))


def _keyed_form(form: Form) -> Form:
    assert form.dtypes is not None
    jit, links = form.jit, _reach(("int64",), form.own)
    reach = _reach(tuple(dtype.name for dtype in form.dtypes), form.own)
    get_one, log_one = links.get, links.log

    def put_link(slots, i, value):
        log_one(slots, i, (value,))

    def get_link(slots, i):
        return get_one(slots, i)[0]

    return replace(called(form), get=reach.get, put=reach.log, put_link=jit(put_link), get_link=jit(get_link), memo={})


def plain_access() -> Access:
    """How plain loops reach what is kept of a key."""

    def opened(state):
        return state

    def load(state, k):
        return state.cells[k]

    def save(state, k, f, e, o, p, r):
        state.cells[k] = (f, e, o, p, r)

    def store(state, k):
        return state.stores[k]

    def full(s, writes):
        return False

    return Access(opened, load, save, store, full)


def compiled_access(form: Form, registers: Any, partials: Sequence[str]) -> Access:
    """How compiled loops reach the registers of an algorithm, and its slots."""
    assert form.dtypes is not None
    jit, kinds = form.jit, [dtype.name for dtype in form.dtypes]
    _, _, addresses, view, full_slots = _reach(tuple(kinds), form.own)
    _, _, _, view_links, full_links = _reach(("int64",), form.own)
    ints = [name for name in registers._fields if name not in partials]
    words: dict[str, Any] = {name: (OWN + j, "int64") for j, name in enumerate(ints)}
    at = OWN + len(ints)
    for name in ("", *partials):  # the open slice, then the algorithm's partials
        words[name] = tuple((at + j, kind) for j, kind in enumerate(kinds))
        at += len(kinds)
    own = [(word, "int64") for word in (SLICE_F, SLICE_E, OPEN)]
    shape = *own, words[""], registers._make(words[name] for name in registers._fields)
    load_row, save_row = Load(shape, form.own), Save(shape, form.own)
    load_blocks = Load(tuple((word, "int64") for word in (CAPACITY, VALS, AGGS, LINKS)))

    @jit
    def opened(s):
        address = addresses((s.words,))[0] + 8 * s.first
        return Cells(address, 8 * s.row, 0, addresses(s.vals), addresses(s.aggs), addresses(s.links))

    @jit
    def load(s, k):
        return load_row(s.words + k * s.row)

    @jit
    def save(s, k, f, e, o, p, r):
        save_row(s.words + k * s.row, (f, e, o, p, r))

    @jit
    def store(s, k):
        capacity, vals, aggs, links = load_blocks(s.words + k * s.row)
        return Store(view(s.vals, vals), view(s.aggs, aggs), view_links(s.links, links), capacity - 1)

    @jit
    def full(s, writes):
        return full_slots(s.vals, writes) | full_slots(s.aggs, writes) | full_links(s.links, writes)

    return Access(opened, load, save, store, full)
