"""The keys of a live query by number. A key that is forgotten leaves its number to another one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

#: NaN is one key, and equal to itself only as one object
_NAN = float("nan")


def one_nan(part: Any) -> Any:
    """The value; every NaN becomes the same one."""
    return _NAN if part != part else part


class Keys:
    """Values of the key columns -> number. With one key column the values themselves, with several tuples of them."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.numbers: dict[Hashable, int] = {} if width else {(): 0}
        self.values: list[Any] = [] if width else [()]
        self._free: list[int] = []
        self._new: list[int] = []  # since the last commit

    def __len__(self) -> int:
        """One more than the largest number that was ever given."""
        return len(self.values)

    def number(self, columns: Sequence[Sequence[Any]]) -> np.ndarray:
        """The numbers of some keys, given as columns of Python's objects."""
        listed: Any = columns[0] if self.width == 1 else list(zip(*columns, strict=True))
        numbers = self.numbers
        found = [numbers.get(value, -1) for value in listed]
        for i, number in enumerate(found):
            if number < 0:
                value = listed[i]
                value = one_nan(value) if self.width == 1 else tuple(one_nan(part) for part in value)
                found[i] = numbers[value] if value in numbers else self._add(value)
        return np.array(found, np.int64)

    def _add(self, value: Any) -> int:
        if self._free:
            number = self._free.pop()
            self.values[number] = value
        else:
            number = len(self.values)
            self.values.append(value)
        self.numbers[value] = number
        self._new.append(number)
        return number

    def extend(self, columns: Sequence[Sequence[Any]]) -> np.ndarray:
        """The numbers of some keys none of which is known yet, NaN being `one_nan`; an error where one is."""
        listed = columns[0] if self.width == 1 else list(zip(*columns, strict=True))
        first = len(self.values)
        numbers = range(first, first + len(listed))
        before = len(self.numbers)
        self.numbers.update(zip(listed, numbers, strict=True))
        self.values.extend(listed)
        if len(self.numbers) != before + len(listed):
            raise ValueError("a key is there twice")
        return np.arange(first, first + len(listed))

    def columns(self, numbers: Sequence[int]) -> list[list[Any]]:
        """The values of some keys, column by column."""
        return [self.column(numbers, i) for i in range(self.width)]

    def column(self, numbers: Sequence[int], i: int) -> list[Any]:
        """The values of some keys in one of the key columns."""
        if self.width == 1:
            return [self.values[number] for number in numbers]
        return [self.values[number][i] for number in numbers]

    def all(self) -> np.ndarray:
        """The numbers of all keys, ascending."""
        if len(self.numbers) == len(self.values):
            return np.arange(len(self.values))
        return np.sort(np.fromiter(self.numbers.values(), np.int64, len(self.numbers)))

    def forget(self, numbers: Sequence[int]) -> None:
        """These keys are known no more."""
        if self.width:
            for number in numbers:
                del self.numbers[self.values[number]]
                self.values[number] = None
                self._free.append(number)

    def commit(self) -> np.ndarray:
        """The keys that are new stay; which they are."""
        new, self._new = self._new, []
        return np.array(new, np.int64)

    def rollback(self) -> None:
        """Without the keys that are new."""
        new, self._new = self._new, []
        self.forget(new[::-1])
