"""The keys of a live query by number. A key that is forgotten leaves its number to another one."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.integer_index import IntegerIndex

#: NaN is one key, and equal to itself only as one object
_NAN = float("nan")
#: with more keys than these, or more rows at once, integers are numbered by compiled code
FEW = 1 << 10


def one_nan(part: Hashable) -> Hashable:
    """The value; every NaN becomes the same one."""
    return _NAN if part != part else part


def are_integers(columns: Sequence[Column]) -> bool:
    """Whether the key columns hold integers and no nulls."""
    for column in columns:
        if column.mask is not None or column.dtype.kind not in "iu" or column.kind != "int64":
            return False
    return True


def _parts(key: Hashable) -> tuple:
    return key if isinstance(key, tuple) else (key,)


def _integers(values: np.ndarray | list[Hashable]) -> np.ndarray | list[Hashable]:
    if isinstance(values, list) and set(map(type, values)) == {int}:
        with contextlib.suppress(OverflowError):
            return np.array(values, np.int64)
    return values


class Keys:
    """Values of the key columns -> number: an `IntegerIndex` for many keys that are integers, else a dict."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._numbers: dict[Hashable, int] = {} if width else {(): 0}  # by value; by tuple for several columns
        self._values: list = [] if width else [()]
        self._free: list[int] = []
        self._new: list[int] = []  # since the last commit
        self._integers: IntegerIndex | None = None
        self._mixed = False  # keys that are no integers have come: the dict serves for good

    def __len__(self) -> int:
        """One more than the largest number that was ever given."""
        return len(self._values) if self._integers is None else self._integers.given

    @property
    def count(self) -> int:
        """How many keys are known."""
        return len(self._numbers) if self._integers is None else len(self._integers)

    def number(self, columns: Sequence[Column]) -> np.ndarray:
        """The number of each row's key, which is integers (`are_integers`)."""
        if self._integers is None and not self._mixed and max(len(columns[0].values), len(self._values)) > FEW:
            self._to_integers()
        if self._integers is None:
            return self.number_objects([column.objects() for column in columns])
        if len(columns) == 1:
            return self._integers.number(columns[0].values.reshape(-1, 1))
        return self._integers.number(np.stack([column.values for column in columns], 1))

    def number_objects(self, columns: Sequence[list]) -> np.ndarray:
        """The number of each row's key, whatever its values are."""
        if self._integers is not None:
            self._to_objects()
        listed = columns[0] if self.width == 1 else list(zip(*columns, strict=True))
        numbers = self._numbers
        found: list[Any] = list(map(numbers.get, listed))
        if None in found:
            for i in [i for i, number in enumerate(found) if number is None]:
                value = listed[i]
                value = one_nan(value) if self.width == 1 else tuple(map(one_nan, value))
                found[i] = numbers[value] if value in numbers else self._add(value)
        return np.array(found, np.int64)

    def _add(self, value: Hashable) -> int:
        if self._free:
            number = self._free.pop()
            self._values[number] = value
        else:
            number = len(self._values)
            self._values.append(value)
        self._numbers[value] = number
        self._new.append(number)
        return number

    def _to_integers(self) -> None:
        """Moves to an integer index, where all keys so far are integers of 64 bits."""
        nothing = (0,) * self.width  # in place of a key that was forgotten
        free = set(self._free)
        keys = [nothing if i in free else _parts(key) for i, key in enumerate(self._values)]
        if not all(type(part) is int for key in keys for part in key):
            self._mixed = True
            return
        self._integers = IntegerIndex(self.width)
        self._integers.fill(np.array(keys, np.int64).reshape(-1, self.width), self._free, self._new)
        self._numbers, self._values, self._free, self._new = {}, [], [], []

    def _to_objects(self) -> None:
        """Moves to a dict: a key has come that is not an integer."""
        index = self._integers
        assert index is not None
        self._integers, self._mixed = None, True
        keys = [tuple(row) if self.width > 1 else row[0] for row in index.words[: index.given].tolist()]
        there = index.used[: index.given].tolist()
        self._values = [key if known else None for key, known in zip(keys, there, strict=True)]
        self._numbers = {key: i for i, key in enumerate(keys) if there[i]}
        self._free = [i for i, known in enumerate(there) if not known]
        self._new = index.take_new().tolist()

    def extend(self, columns: Sequence[np.ndarray | list[Hashable]]) -> np.ndarray:
        """The numbers of some keys none of which is known yet, NaN being `one_nan`; an error where one is."""
        if all(isinstance(column, np.ndarray) for column in columns) and not self._values:
            return self._extend_integers(np.stack([np.asarray(column) for column in columns], 1))
        if self._integers is not None:
            self._to_objects()
        parts = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
        listed = list(parts[0]) if self.width == 1 else list(zip(*parts, strict=True))
        first, before = len(self._values), len(self._numbers)
        self._numbers.update(zip(listed, range(first, first + len(listed)), strict=True))
        self._values.extend(listed)
        if len(self._numbers) != before + len(listed):
            raise ValueError("a key is there twice")
        return np.arange(first, first + len(listed))

    def _extend_integers(self, keys: np.ndarray) -> np.ndarray:
        if self._integers is None:
            self._integers = IntegerIndex(self.width)
        numbers = self._integers.number(keys)
        if len(self._integers.take_new()) != len(keys):
            raise ValueError("a key is there twice")
        return numbers

    def columns(self, numbers: np.ndarray) -> list[np.ndarray | list[Hashable]]:
        """The values of some keys, column by column."""
        return [self.column(numbers, i) for i in range(self.width)]

    def column(self, numbers: np.ndarray, i: int) -> np.ndarray | list[Hashable]:
        """The values of some keys in one of the key columns: an array of integers, or Python's objects."""
        if self._integers is not None:
            return self._integers.words[numbers, i]
        values = self._values
        if self.width == 1:
            return [values[number] for number in numbers.tolist()]
        return [values[number][i] for number in numbers.tolist()]

    def saved(self, numbers: np.ndarray) -> list[np.ndarray | list[Hashable]]:
        """The values of some keys to be saved, as `extend` takes them: integers as arrays, which are fast to write."""
        return [_integers(column) for column in self.columns(numbers)]

    def all(self) -> np.ndarray:
        """The numbers of all keys, ascending."""
        if self._integers is not None:
            return self._integers.numbers()
        if len(self._numbers) == len(self._values):
            return np.arange(len(self._values))
        return np.sort(np.fromiter(self._numbers.values(), np.int64, len(self._numbers)))

    def forget(self, numbers: np.ndarray) -> None:
        """These keys are known no more."""
        if self._integers is not None:
            self._integers.forget(numbers)
        elif self.width:
            for number in numbers.tolist():
                del self._numbers[self._values[number]]
                self._values[number] = None
                self._free.append(number)

    def commit(self) -> np.ndarray:
        """The keys that are new stay; which they are."""
        if self._integers is not None:
            return self._integers.take_new()
        if not self._new:
            return _NONE
        new, self._new = self._new, []
        return np.array(new, np.int64)

    def rollback(self) -> None:
        """Without the keys that are new."""
        self.forget(self.commit()[::-1])


_NONE = np.empty(0, np.int64)
