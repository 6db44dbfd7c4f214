"""What paper 3 counts: calls of combine, and partials."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counts:
    """Since the beginning. Combines are counted as `swag.counting` does, those with the identity included."""

    rows: int = 0
    rejected: int = 0
    fill: int = 0  # Alg. 1, line 12: at most one a row
    append: int = 0  # what the store does to itself: append, fuse, remove, resize ("update" in Fig. 8e-g)
    merge: int = 0  # line 11: the store's merge, and the open slice
    kept: int = 0  # the Reactive Aggregators of windows that are not deterministic
    slices: int = 0  # partials produced
    most: int = 0  # the most partials at a time, the open one included
    windows: int = 0  # reported

    @property
    def store(self) -> int:
        """What the paper counts: all beyond the one a row that fills the open slice."""
        return self.append + self.merge + self.kept

    @property
    def combines(self) -> int:
        """All."""
        return self.fill + self.store
