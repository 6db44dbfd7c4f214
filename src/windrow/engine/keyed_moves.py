"""A key's window goes from partials that are objects to columns of numbers, and back, at the cost of what it holds."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import CAPACITY, OWN, SLICE_E, SLICE_F, VALS
from windrow.engine.state import WindowState, converted
from windrow.engine.table import bits


def move(k: int, source: KeyedWindows, target: KeyedWindows, aggregate: Aggregate) -> None:
    """A key's window, which has no open slice, leaves `source` for `target`; both can be taken back."""
    f, e, before = _window(k, source, aggregate)
    after = converted(before, target.form)
    _put(k, target, f, e, after)
    source.forget(np.array([k]))
    if source.form.compiled:
        columns = slice(source.first, source.first + source.width)
        source.table.words[k, columns] = source.table.first[columns]


def _window(k: int, windows: KeyedWindows, aggregate: Aggregate) -> tuple[int, int, WindowState]:
    if windows.form.compiled:
        row = windows.table.words[k, windows.first : windows.first + OWN].tolist()
        f, e, store, r = row[SLICE_F], row[SLICE_E], windows.store(row[VALS:], row[CAPACITY]), windows.registers(k)
    else:
        f, e, _, _, r = windows.plain.cells[k]
        store = windows.plain.stores[k]
    return f, e, WindowState(windows.algorithm, aggregate, windows.form, store, r, store.mask + 1)


def _put(k: int, windows: KeyedWindows, f: int, e: int, window: WindowState) -> None:
    form, r = windows.form, window.registers
    if not form.compiled:
        windows.before.append((k, windows.plain.cells[k], windows.plain.stores[k]))
        windows.plain.cells[k], windows.plain.stores[k] = (f, e, 0, form.identity, r), window.store
        return
    assert form.dtypes is not None
    windows.begin(np.array([k]), np.array([window.capacity]))
    windows.fill(k, window.store)
    row = windows.table.words[k, windows.first : windows.first + windows.width]
    row[SLICE_F], row[SLICE_E] = f, e
    row[OWN : OWN + len(windows.fields)] = [getattr(r, name) for name in windows.fields]
    partials = (form.identity, *(getattr(r, name) for name in windows.partials))
    row[OWN + len(windows.fields) :] = [word for partial in partials for word in bits(partial, form.dtypes)]
