"""The literals of an `in`, made ready once: a row is looked up, not compared with each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Choices:
    """Equality is that of `==` in expressions: ints beside floats count as floats, other values are compared exactly.

    >>> choices = Choices.of([1, 2.5, None]); choices.holds(np.array([1, 2, 3])).tolist(), choices.null
    ([True, False, False], True)
    """

    known: frozenset
    ints: np.ndarray  # sorted, those of 64 bits
    floats: np.ndarray  # sorted
    numbers: np.ndarray  # both as floats, sorted
    kinds: tuple[str, ...]  # in words, of the literals that are not null
    null: bool  # whether None is one of them

    @classmethod
    def of(cls, literals: Iterable[Any]) -> Choices:
        found = list(dict.fromkeys(literals))
        known = [value for value in found if value is not None]
        numbers = [value for value in known if not isinstance(value, str)]
        ints = [int(value) for value in numbers if isinstance(value, int)]
        short = np.array(sorted(value for value in ints if -(2**63) <= value < 2**63), np.int64)
        floats = np.array(sorted(value for value in numbers if isinstance(value, float)), np.float64)
        # an int beyond 64 bits is no float but the one that it is exactly
        long = [value for value in map(_float, ints) if value is not None]
        return cls(
            frozenset(known),
            short,
            floats,
            np.sort(np.concatenate([short.astype(np.float64), floats, np.array(long, np.float64)])),
            tuple(dict.fromkeys(map(_kind, known))),
            None in found,
        )

    def changed(self, change: Callable[[Any], Any]) -> Choices:
        """The same with each literal changed."""
        return Choices.of([*map(change, self.known), *([None] if self.null else [])])

    def holds(self, values: np.ndarray) -> np.ndarray:
        """For each value whether it is one of the literals, None aside."""
        if values.dtype.kind == "f":
            return _among(values, self.numbers)
        if values.dtype.kind in "bi":
            return _among(values.astype(np.int64), self.ints) | _among(values.astype(np.float64), self.floats)
        flat = [self.has(value) for value in values.astype(object).reshape(-1)]
        return np.array(flat, bool).reshape(values.shape)

    def has(self, value: Any) -> bool:
        try:
            return value in self.known
        except TypeError:  # a list, say, has no hash, and is equal to no literal
            return False


def _among(values: np.ndarray, choices: np.ndarray) -> np.ndarray:
    if not len(choices):
        return np.zeros(values.shape, bool)
    places = np.minimum(np.searchsorted(choices, values), len(choices) - 1)
    return choices[places] == values


def _float(value: int) -> float | None:
    try:
        return float(value) if float(value) == value else None
    except OverflowError:
        return None


def _kind(value: Any) -> str:
    return "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
