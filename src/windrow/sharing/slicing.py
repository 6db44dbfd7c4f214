"""Slicing: where a stream is cut so that windows can be put together from slices (paper 3 §2.3, §6, Table 1, Fig. 7).

| technique | cuts | slices a window of range r, slide s needs |
|---|---|---|
| `panes` | at every multiple of gcd(r, s) | r / gcd(r, s) |
| `pairs` | where a window begins or ends | ⌈2r/s⌉ |
| `cutty` | where a window begins | ⌈r/s⌉ + 1 |

Edges of several windows are the union of theirs. They are kept as arithmetic progressions, never listed as a whole: the
least common multiple of a hundred slides is astronomical.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from windrow.errors import WindrowError


@dataclass(frozen=True)
class Edges:
    """The union of progressions (step, offset): all offset + k·step.

    >>> (pairs(10, 3) | cutty(8, 4)).between(0, 10)
    [0, 1, 3, 4, 6, 7, 8, 9]
    """

    progressions: tuple[tuple[int, int], ...]

    def __or__(self, other: Edges) -> Edges:
        return Edges(tuple(dict.fromkeys(self.progressions + other.progressions)))

    def between(self, start: int, stop: int) -> list[int]:
        """The edges from `start` to before `stop`, in order."""
        found: set[int] = set()
        for step, offset in self.progressions:
            found.update(range(start + (offset - start) % step, stop, step))
        return sorted(found)

    def after(self, at: int) -> int:
        """The first edge after `at`."""
        return min(at + 1 + (offset - at - 1) % step for step, offset in self.progressions)

    def number(self, at: int) -> int:
        """How many edges of each progression there are up to `at`, added: it changes where an edge is passed."""
        return sum((at - offset) // step for step, offset in self.progressions)

    @property
    def period(self) -> int:
        """After this length the edges repeat: the composite slide of paper 5 §2.3."""
        return math.lcm(*(step for step, _ in self.progressions))


def _checked(range: int, every: int) -> None:
    if range < 1 or every < 1:
        raise WindrowError(f"range and slide are whole numbers above 0, not {range} and {every}")


def panes(range: int, every: int, origin: int = 0) -> Edges:
    """Slices of one size, the greatest common divisor of range and slide [paper 3's 17]."""
    _checked(range, every)
    step = math.gcd(range, every)
    return Edges(((step, origin % step),))


def pairs(range: int, every: int, origin: int = 0) -> Edges:
    """Two slices a slide, of range mod slide and the rest; one where slide divides range [paper 3's 16]."""
    _checked(range, every)
    return Edges(tuple(dict.fromkeys(((every, origin % every), (every, (origin + range) % every)))))


def cutty(range: int, every: int, origin: int = 0) -> Edges:
    """One slice a slide: only where a window begins."""
    _checked(range, every)
    return Edges(((every, origin % every),))


TECHNIQUES = {"panes": panes, "pairs": pairs, "cutty": cutty}


def shared(technique: str, windows: Iterable[tuple[int, int] | tuple[int, int, int]]) -> Edges:
    """The edges of several windows, each (range, slide) or (range, slide, origin).

    >>> shared("cutty", [(6, 2), (8, 4)]).between(0, 8)
    [0, 2, 4, 6]
    """
    found = Edges(())
    for window in windows:
        found |= TECHNIQUES[technique](*window)
    return found


def in_window(technique: str, range: int, every: int) -> int:
    """How many slices the window [0, range) is put together from, counted.

    >>> [in_window(technique, 10, 3) for technique in ("panes", "pairs", "cutty")]
    [10, 7, 4]
    """
    return len(TECHNIQUES[technique](range, every).between(0, range))


@dataclass(frozen=True)
class Complexity:
    """A row of Table 1: partials kept, and calls of combine, for one window of range r and slide s."""

    space_lazy: int
    space_eager: int
    update_lazy: int
    update_eager: float  # at worst
    update_amortised: float
    merge_lazy: int
    merge_eager: float


def table(technique: str, range: int, every: int) -> Complexity:
    """Table 1 as printed; "ra" is a slice a row.

    Errata: for Panes, the amortised update "log(⌈r/gcd⌉) + gcd - 1" is for gcd(r, s) rows, not for one; here it is
    divided by them, as elsewhere in the table. Cutty's eager merge is printed "log(⌈a⌉)": log(⌈r/s⌉ + 1) is meant.

    >>> [table(technique, 10, 3).space_lazy for technique in ("cutty", "pairs", "panes", "ra")]
    [5, 7, 10, 10]
    """
    _checked(range, every)
    windows = -(-range // every)
    kept, rows_a_slice = {
        "cutty": (windows + 1, float(every)),
        "pairs": (-(-2 * range // every), every / 2),
        "panes": (range // math.gcd(range, every), float(math.gcd(range, every))),
        "ra": (range, 1.0),
    }[technique]
    eager = {"cutty": -(-2 * range // every) + 1, "pairs": -(-4 * range // every)}.get(technique, 2 * kept)
    height = math.log2(windows if technique == "cutty" else kept)
    amortised = (height - 1) / rows_a_slice + 1 if technique != "ra" else height
    return Complexity(kept, eager, 1, height, amortised, kept, math.log2(kept))
