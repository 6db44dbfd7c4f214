"""What waits of each key, at the price of what a step touches: how much, and where it lies."""

from __future__ import annotations

import numpy as np

from windrow.engine.table import count_keys, grown, stretches


class Waiting:
    """Counts by key number. `commit` or `rollback` ends a step, as for the state."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, np.int64)
        self._moves: list[tuple[np.ndarray, int]] = []  # of this step

    def add(self, keys: np.ndarray, by: int = 1) -> None:
        """So many more for each key in the list; a key may be there several times."""
        if len(keys):
            if not count_keys(self._counts, keys, by):
                self._counts = grown(self._counts, int(keys.max()) + 1)
                count_keys(self._counts, keys, by)
            self._moves.append((keys, by))

    def any(self, keys: np.ndarray) -> np.ndarray:
        """Of which of the keys something waits."""
        found = np.zeros(len(keys), bool)
        there = keys < len(self._counts)
        found[there] = self._counts[keys[there]] > 0
        return found

    def commit(self) -> None:
        self._moves = []

    def rollback(self) -> None:
        for keys, by in reversed(self._moves):
            count_keys(self._counts, keys, -by)
        self._moves = []


class KeyIndex:
    """Where the rows of a key lie in a run that is sorted by time. Made when it is first asked for."""

    def __init__(self) -> None:
        self._found: tuple[np.ndarray, np.ndarray] | None = None  # places by key, and the keys there

    def find(self, codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The places of all rows of these keys, which are ascending; `codes` are the keys of the run's rows."""
        if self._found is None:
            at = np.argsort(codes, kind="stable")
            self._found = at, codes[at]
        at, known = self._found
        first = known.searchsorted(keys)
        _, places = stretches(first, known.searchsorted(keys, "right") - first)
        return at[places]
