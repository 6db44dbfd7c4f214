"""What periodic windows that share a ring of slices repeat, for people who read a plan."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

#: edges that can be listed, and that a person reads
MOST_EDGES, MOST_TOLD = 1_000_000, 8


class Composite:
    """What periodic windows that share a ring repeat (paper 5 §2.3): the composite slide, and the edges in it.

    The composite slide is the least common multiple of the slides. An edge is where a slice begins, which with Cutty is
    where a window begins. Windows that begin at one place share it.

    >>> from windrow import win
    >>> shared = Composite([win.sliding(6, every=2), win.sliding(9, every=3)])
    >>> str(shared), shared.held
    ('composite slide 6 rows, with 4 edges in it (0, 2, 3, 4), 5 windows', 'at most 6 slices')
    >>> Composite([win.tumbling("1 day"), win.tumbling("1 minute")]).held
    'at most 4 slices'
    >>> str(Composite([win.sliding(1.5, every=0.5, on="mile"), win.tumbling(0.75, on="mile")]))
    'composite slide 1.5 of mile, with 4 edges in it (0, 0.5, 0.75, 1), 5 windows'
    """

    def __init__(self, windows: Sequence[Any]) -> None:
        self.measure, self.one_measure = windows[0].measure, len({window.measure for window in windows}) == 1
        self.even = all(window.even for window in windows)
        self.number = float if any(isinstance(window.every, float) for window in windows) else int
        slides = [Fraction(window.every) for window in windows]
        self.slide = Fraction(math.lcm(*(s.numerator for s in slides)), math.gcd(*(s.denominator for s in slides)))
        self.windows = int(sum(self.slide / every for every in slides))
        self.most_open = sum(window.most_open for window in windows)
        self.repeats = self.one_measure and self.even and self.windows <= MOST_EDGES
        edges: set[Fraction] = set()
        self.spans: list[tuple[Fraction, Fraction]] = []  # where windows begin, and how long they are
        for window, every in zip(windows, slides, strict=True) if self.repeats else ():
            begins = [Fraction(window.origin) % every + every * k for k in range(int(self.slide / every))]
            self.spans += [(begin, Fraction(window.range)) for begin in begins]
            edges.update(begins)
        self.edges = sorted(edges)

    def __str__(self) -> str:
        if not self.one_measure:
            return "no composite slide: the windows are along different measures"
        if not self.even:
            return "no composite slide: the days and months of a calendar are not all equally long"
        if not self.repeats:
            return "no composite slide: the slides have no small common multiple"
        told = f"with {len(self.edges):,} edge{'' if len(self.edges) == 1 else 's'} in it"
        if self.measure.kind != "time" and len(self.edges) <= MOST_TOLD:
            told += f" ({', '.join(f'{self.number(at):g}' for at in self.edges)})"
        return f"composite slide {self.measure.spelled(self.number(self.slide))}, {told}, {self.windows:,} windows"

    @property
    def held(self) -> str:
        """How many slices there are at most after a step."""
        most = max(2 * self.most_open, 1)
        if self.repeats:
            most = min(most, self.most_edges)
        return f"at most {most:,} slice{'' if most == 1 else 's'}"

    @property
    def fuses(self) -> bool:
        """Whether there can be so many slices that neighbours are fused."""
        return not self.repeats or self.most_edges > 2 * self.most_open

    @cached_property
    def most_edges(self) -> int:
        """How many edges lie in a window that is open, at most: as many slices there are where none are fused."""
        twice, most = [*self.edges, *(edge + self.slide for edge in self.edges)], 0
        for begin, span in self.spans:
            whole, rest = divmod(span, self.slide)
            inside = bisect_left(twice, begin + rest) - bisect_left(twice, begin)
            most = max(most, int(whole) * len(self.edges) + inside)
        return most
