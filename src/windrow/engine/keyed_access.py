"""How loops reach what is kept of a key: its registers in the key's row, its slots in a pool.

Compiled loops work on addresses (`engine.pointers`), and what they do with them is generated for the types of a
partial and the registers of an algorithm. Plain loops find a tuple and lists.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from windrow.engine.columns import Journal, Store
from windrow.engine.forms import Form
from windrow.engine.kernel import once
from windrow.engine.pointers import reader, width, writer

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
#: the head of a log: entries, whether to log, the base of the block that is written to, room; then positions
HEAD = 4


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
def _reach(dtypes: tuple[str, ...], jit: Callable, own: bool) -> _Reach:
    """Generated for the types, because numba wants constant indices into a tuple of columns.

    Slots are (addresses of the columns, address of the log's positions, addresses of the log's columns).
    """
    n = len(dtypes)
    fields, everything = range(n), 2 * n + 1
    scope: dict[str, Any] = {f"read_{kind}": reader(kind, None, own) for kind in {"int64", *dtypes}}
    scope |= {f"write_{kind}": writer(kind, None, own) for kind in {"int64", *dtypes}}
    kept = "".join(
        f"        write_{dtypes[j]}(slots[{n + 1 + j}], n, read_{dtypes[j]}(slots[{j}], i))\n" for j in fields
    )
    exec(
        f"def get(slots, i):\n    return ({''.join(f'read_{dtypes[j]}(slots[{j}], i), ' for j in fields)})\n"
        "def log(slots, i, partial):\n"
        f"    if read_int64(slots[{n}], 1) != 0:\n"
        f"        n = read_int64(slots[{n}], 0)\n"
        f"        write_int64(slots[{n}], {HEAD} + n, read_int64(slots[{n}], 2) + i)\n"
        f"{kept}"
        f"        write_int64(slots[{n}], 0, n + 1)\n"
        + "".join(f"    write_{dtypes[j]}(slots[{j}], i, partial[{j}])\n" for j in fields)
        + f"def addresses(arrays):\n    return ({''.join(f'arrays[{j}].ctypes.data, ' for j in range(everything))})\n"
        "def view(slots, base):\n"
        f"    write_int64(slots[{n}], 2, base)\n"
        f"    return ({''.join(f'slots[{j}] + base * {width(dtypes[j])}, ' for j in fields)}"
        f"{''.join(f'slots[{j}], ' for j in range(n, everything))})\n"
        "def full(slots, writes):\n"
        f"    log = slots[{n}]\n"
        "    return read_int64(log, 1) != 0 and read_int64(log, 0) + writes > read_int64(log, 3)\n",
        scope,
    )
    return _Reach(*(jit(scope[name]) for name in _Reach._fields))


def keyed_form(form: Form) -> Form:
    """The form as algorithms over a pool see it: slots are addresses, and writes to them are logged."""
    if not form.compiled:
        journal = Journal()  # its own: one step may be taken back while another is not
        return replace(form, put=journal.put, put_link=journal.put, journal=journal, memo={})
    return once(form.memo, "keyed", lambda: _keyed_form(form))


def _keyed_form(form: Form) -> Form:
    assert form.dtypes is not None
    jit, links = form.jit, _reach(("int64",), form.jit, form.own)
    reach = _reach(tuple(dtype.name for dtype in form.dtypes), jit, form.own)
    get_one, log_one = links.get, links.log

    def put_link(slots, i, value):
        log_one(slots, i, (value,))

    def get_link(slots, i):
        return get_one(slots, i)[0]

    return replace(form, get=reach.get, put=reach.log, put_link=jit(put_link), get_link=jit(get_link), memo={})


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


def compiled_access(form: Form, registers: Any, partials: Sequence[str], layout: Sequence[int]) -> Access:
    """How compiled loops reach the registers of an algorithm, and its slots.

    `layout`: how many slots of each sort (vals, aggs, links) a window has; of which it has none, none is looked for.
    """
    assert form.dtypes is not None
    jit, kinds = form.jit, [dtype.name for dtype in form.dtypes]
    slots, links = _reach(tuple(kinds), jit, form.own), _reach(("int64",), jit, form.own)
    scope: dict[str, Any] = {"Registers": registers, "Store": Store, "Cells": Cells}
    for kind in {"int64", *kinds}:
        # a bool has a word of its own, too
        scope[f"read_{kind}"], scope[f"write_{kind}"] = reader(kind, 8, form.own), writer(kind, 8, form.own)
    reads, writes = {}, []
    at = OWN
    for name in [name for name in registers._fields if name not in partials]:
        reads[name] = f"read_int64(row, {at})"
        writes.append(f"    write_int64(row, {at}, r.{name})\n")
        at += 1
    for name in ("", *partials):
        reads[name] = "(" + "".join(f"read_{kind}(row, {at + j}), " for j, kind in enumerate(kinds)) + ")"
        source = f"r.{name}" if name else "p"
        writes += [f"    write_{kind}(row, {at + j}, {source}[{j}])\n" for j, kind in enumerate(kinds)]
        at += len(kinds)
    reaches = {"vals": (slots, VALS), "aggs": (slots, AGGS), "links": (links, LINKS)}
    there = [name for name, size in zip(reaches, layout, strict=True) if size]
    for name in there:
        for verb in ("view", "full", "addresses"):
            scope[f"{verb}_{name}"] = getattr(reaches[name][0], verb)
    opened = {name: f"addresses_{name}(s.{name})" if name in there else "()" for name in reaches}
    stores = {
        name: f"view_{name}(s.{name}, read_int64(row, {base}))" if name in there else "()"
        for name, (_, base) in reaches.items()
    }
    find = "    row = s.words + k * s.row\n"
    exec(
        "def opened(s):\n"
        "    address = s.words.ctypes.data + 8 * s.first\n"
        f"    return Cells(address, 8 * s.row, 0, {opened['vals']}, {opened['aggs']}, {opened['links']})\n"
        f"def load(s, k):\n{find}"
        f"    r = Registers({', '.join(reads[name] for name in registers._fields)})\n"
        f"    return read_int64(row, {SLICE_F}), read_int64(row, {SLICE_E}), read_int64(row, {OPEN}), {reads['']}, r\n"
        f"def save(s, k, f, e, o, p, r):\n{find}"
        f"    write_int64(row, {SLICE_F}, f)\n    write_int64(row, {SLICE_E}, e)\n    write_int64(row, {OPEN}, o)\n"
        + "".join(writes)
        + f"def store(s, k):\n{find}"
        f"    return Store({stores['vals']}, {stores['aggs']}, {stores['links']}, read_int64(row, {CAPACITY}) - 1)\n"
        "def full(s, writes):\n"
        f"    return {' or '.join(f'full_{name}(s.{name}, writes)' for name in there) or 'False'}\n",
        scope,
    )
    return Access(*(jit(scope[name]) for name in Access._fields))
