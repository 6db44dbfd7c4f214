"""What a step gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.step.groups import Answer


@dataclass(frozen=True)
class Ended:
    """The windows of one name that have ended, with their answers."""

    window: str
    key: np.ndarray
    start: np.ndarray
    end: np.ndarray
    ended: np.ndarray | None  # False: the window is still open, its end not known; None: all have ended
    answers: dict[str, Answer]


@dataclass(slots=True)
class Seen:
    """What a step did for one window."""

    windows: int
    slices: int
    held: int  # slices of a key at once, at most


@dataclass(slots=True, eq=False)
class Results:
    """What a step gives."""

    keys: np.ndarray  # that it touched
    by_row: dict[str, dict[str, Answer]]  # for windows by row, an answer for each row
    ended: list[Ended]
    seen: dict[str, Seen]  # what it took, for each window that has slices
    rows_of: dict[str, np.ndarray | slice] = field(default_factory=dict)  # `by_row` is of these rows; not named: of all
