"""Windows of many keys whose partials are columns of numbers, in plain Python: what few rows, or code of a user's that
numba refuses, go through.

The same loops run on the same words and slots as compiled, and log to the same log. Partials are Python's own there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from windrow.aggregates.base import Aggregate
from windrow.engine.columns import Store
from windrow.engine.forms import Form, plain_form
from windrow.engine.keyed import CAPACITY, HEAD, LINKS, OPEN, OWN, SLICE_E, SLICE_F, VALS, Access, KeyedWindows, Slots
from windrow.engine.table import bits


class Block(NamedTuple):
    """A key's block of slots."""

    slots: Slots
    base: int


def _read(block: Block, i: int) -> tuple:
    return tuple(column[block.base + i].item() for column in block.slots.columns)


def _write(block: Block, i: int, numbers: tuple) -> None:
    """Sets a slot, and logs what was there."""
    slots, at = block.slots, block.base + i
    if slots.at[1]:
        n = int(slots.at[0])
        if n >= slots.at[3]:
            slots.more_log(1)
        slots.at[HEAD + n] = at
        for log, column in zip(slots.log, slots.columns, strict=True):
            log[n] = column[at]
        slots.at[0] = n + 1
    for column, number in zip(slots.columns, numbers, strict=True):
        column[at] = number


def hand_form(windows: KeyedWindows, aggregate: Aggregate) -> Form:
    """The plain form over the slots of compiled windows."""
    freeze, thaw = windows.form.freeze, windows.form.thaw
    assert freeze is not None and thaw is not None

    def get(block: Block, i: int) -> Any:
        return thaw(_read(block, i))

    def put(block: Block, i: int, partial: Any) -> None:
        _write(block, i, freeze(partial))

    def get_link(block: Block, i: int) -> int:
        return int(block.slots.columns[0][block.base + i])

    def put_link(block: Block, i: int, value: int) -> None:
        _write(block, i, (value,))

    return replace(plain_form(aggregate), get=get, put=put, get_link=get_link, put_link=put_link, memo={})


def hand_access(windows: KeyedWindows) -> Access:
    """How plain loops reach compiled windows."""
    table, first, form = windows.table, windows.first, windows.form
    freeze, thaw, dtypes = form.freeze, form.thaw, form.dtypes
    assert freeze is not None and thaw is not None and dtypes is not None
    partials, fields = windows.partials, windows.fields

    def opened(state: None) -> None:
        return state

    def load(state: None, k: int) -> tuple:
        f, e, o = table.words[k, first + SLICE_F : first + OPEN + 1].tolist()
        r = windows.registers(k)
        return f, e, o, None, r._replace(**{name: thaw(getattr(r, name)) for name in partials})

    def save(state: None, k: int, f: int, e: int, o: int, p: Any, r: Any) -> None:
        """The open slice stays as it is: windows of rows have none."""
        row, at = table.words[k], first + OWN
        row[first + SLICE_F], row[first + SLICE_E], row[first + OPEN] = f, e, o
        for name in fields:
            row[at] = getattr(r, name)
            at += 1
        for name in partials:
            at += len(dtypes)
            row[at : at + len(dtypes)] = bits(freeze(getattr(r, name)), dtypes)

    def store(state: None, k: int) -> Store:
        row = table.words[k]
        bases = row[first + VALS : first + LINKS + 1].tolist()
        blocks = [Block(slots, base) for slots, base in zip(windows.slots, bases, strict=True)]
        return Store._make([*blocks, int(row[first + CAPACITY]) - 1])

    def full(s: Store, writes: int) -> bool:
        return False  # `_write` makes room itself

    return Access(opened, load, save, store, full)
