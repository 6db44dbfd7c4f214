"""Where partials lie: a list of objects (plain), or one NumPy column for each number of a partial (compiled).

Both are reached by `get(slots, i)` and `put(slots, i, partial)`, so that an algorithm is written once. The compiled
pair is generated for its width, because numba wants constant indices into a tuple of columns.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

#: partials in a row: a column for each of their numbers, or objects
Slots: TypeAlias = "tuple[np.ndarray, ...] | list"

#: What an algorithm may keep: two arrays of partials, one of ints, and the mask of its rings.
Store = namedtuple("Store", "vals aggs links mask")


@cache
def accessors(width: int) -> tuple[Callable, Callable, Callable]:
    """`get`, `put` and `cut` (rows a to b, as views) for partials of `width` numbers.

    >>> get, put, cut = accessors(2)
    >>> slots = (np.zeros(3), np.zeros(3, np.int64))
    >>> put(slots, 1, (2.5, 7)); [float(v) for v in get(slots, 1)]
    [2.5, 7.0]
    """
    scope: dict[str, Any] = {}
    fields = range(width)
    source = (
        f"def get(slots, i):\n    return ({', '.join(f'slots[{j}][i]' for j in fields)},)\n"
        "def put(slots, i, partial):\n" + "\n".join(f"    slots[{j}][i] = partial[{j}]" for j in fields) + "\n"
        f"def cut(slots, a, b):\n    return ({', '.join(f'slots[{j}][a:b]' for j in fields)},)\n"
    )
    exec(source, scope)
    return scope["get"], scope["put"], scope["cut"]


class Journal:
    """`put` for plain slots that remembers what it overwrote, so that a combine that raises can be undone."""

    def __init__(self) -> None:
        self.undo: list[tuple[Any, int, Any]] = []
        self.keeps = True  # else nothing is remembered: for a step that nobody takes back

    def put(self, slots: Any, i: int, partial: Any) -> None:
        if self.keeps:
            self.undo.append((slots, i, slots[i]))
        slots[i] = partial

    def rollback(self, start: int = 0) -> None:
        """Undoes all puts since there were `start`."""
        while len(self.undo) > start:
            slots, i, before = self.undo.pop()
            slots[i] = before


def allocate(dtypes: Sequence[np.dtype] | None, size: int) -> Any:
    """`size` slots: columns of the given types, or a list where there are none."""
    if dtypes is None:
        return [None] * size
    return tuple(np.zeros(size, dtype) for dtype in dtypes)


def room(slots: Any) -> int:
    """How many partials the slots hold."""
    return len(slots) if isinstance(slots, list) else len(slots[0])


def move(source: Any, at: np.ndarray, target: Any, to: np.ndarray) -> None:
    """Copies the slots `at` of `source` to the slots `to` of `target`, whatever kind both are."""
    if not isinstance(source, tuple):
        for i, j in zip(at.tolist(), to.tolist(), strict=True):
            target[j] = source[i]
        return
    for column, other in zip(source, target, strict=True):
        other[to] = column[at]


def read(slots: Any, i: int) -> Any:
    """One partial, whichever kind the slots are."""
    return tuple(column[i].item() for column in slots) if isinstance(slots, tuple) else slots[i]


def write(slots: Any, i: int, partial: Any) -> None:
    """Sets one partial, whichever kind the slots are."""
    if not isinstance(slots, tuple):
        slots[i] = partial
        return
    for column, number in zip(slots, partial, strict=True):
        column[i] = number


def copied(store: Store) -> Store:
    """The same store in memory of its own."""
    return Store(copied_slots(store.vals), copied_slots(store.aggs), store.links.copy(), store.mask)


def copied_slots(slots: Any) -> Any:
    """The same slots in memory of their own."""
    return tuple(column.copy() for column in slots) if isinstance(slots, tuple) else slots.copy()
