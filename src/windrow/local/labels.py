"""Labels: values that aggregates hand on without looking at them, such as whose price was the highest.

Partials and rows that are kept hold their numbers. A live query goes on for good, and most labels are never asked for:
those that nothing refers to any more are forgotten now and then, and the others numbered anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from windrow.engine.inputs import Column, object_array

#: fewer labels than these are not looked through
FEW = 1 << 16
#: of one of these types alone, a column's values are told apart as they are
PLAIN = {str, int, bytes}


class Labels:
    """Values by number, one for each different value."""

    def __init__(self) -> None:
        self.values: dict[str, list] = {}
        self._known: dict[tuple[str, type], dict] = {}  # for a column and a type: value -> number
        self._kept: dict[str, int] = {}  # how many there were when they were last looked through

    def numbers(self, name: str, column: Column) -> np.ndarray:
        """A number for each value of a column, the same for the same value."""
        values = self.values.setdefault(name, [])
        objects = column.objects()
        kinds = set(map(type, objects)) - {type(None)}
        kind = next(iter(kinds), str) if len(kinds) <= 1 and kinds <= PLAIN else object
        keys = list(map(_hashable, objects)) if kind is object else objects
        known = self._known.get((name, kind))
        if known is None:
            known = self._known[name, kind] = _numbered(values, kind)
        different = dict(zip(keys, objects, strict=True))  # so that only these are looked at one by one
        new = {key: value for key, value in different.items() if key not in known}
        known.update(zip(new, range(len(values), len(values) + len(new)), strict=True))
        values.extend(new.values())
        return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))

    def taken(self, name: str, numbers: np.ndarray, there: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The values of these numbers, and which of them are not null."""
        values = self.values.get(name, [])
        used, at = np.unique(np.where(True if there is None else there, numbers, -1), return_inverse=True)
        pool = object_array([values[i] if i >= 0 else None for i in used.tolist()])
        known = np.fromiter((value is not None for value in pool), bool, len(pool))
        return pool[at], known[at]

    def lengths(self) -> dict[str, int]:
        """How many numbers there are, for `cut`."""
        return {name: len(values) for name, values in self.values.items()} if self.values else {}

    def cut(self, lengths: dict[str, int]) -> None:
        """Forgets all numbers from these on."""
        for name, values in self.values.items():
            del values[lengths.get(name, 0) :]
        self.renew()

    def renew(self) -> None:
        """The values have been changed from outside."""
        self._known.clear()

    def tidy_columns(self, columns: Callable[[], Iterator[tuple[str, np.ndarray]]]) -> None:
        """Forgets labels that no number in the columns refers to; the numbers are changed there."""
        for name, values in self.values.items():
            if len(values) < 2 * max(FEW, self._kept.get(name, 0)):
                continue
            mine = [numbers for of, numbers in columns() if of == name]
            known = np.zeros(len(values), bool)
            for numbers in mine:
                known[numbers[(numbers >= 0) & (numbers < len(values))]] = True
            used = np.flatnonzero(known)
            self.values[name] = [values[i] for i in used.tolist()]
            self._known.clear()
            self._kept[name] = len(used)
            for numbers in mine:
                numbers[:] = _among(used, numbers)


def _numbered(values: list, kind: type) -> dict:
    if kind is object:
        return {_hashable(value): i for i, value in enumerate(values)}
    return {value: i for i, value in enumerate(values) if value is None or type(value) is kind}


def _hashable(value: Any) -> Any:
    """A dictionary key that tells 1, 1.0 and True apart; what cannot be one is known by its text."""
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return type(value), value


def _among(used: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Where each number is in `used`; one that means nothing becomes -1."""
    if not len(used):
        return np.full(len(numbers), -1)
    at = np.minimum(np.searchsorted(used, numbers), len(used) - 1)
    return np.where(used[at] == numbers, at, -1)
