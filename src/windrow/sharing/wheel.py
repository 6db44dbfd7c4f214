"""The shared plan of periodic windows (paper 5 §2.3, Example 1 and Fig. 6): a wheel that turns once a composite slide.

The composite slide is the least common multiple of the slides. Each slide is repeated within it, its fragments are
marked as edges, and at each edge it is known beforehand which windows are answered and from how many partials. Where
two windows mark the same place, they share it.

The wheel needs slides that have a small common multiple; `Wheel` refuses others, and `Rates` tells what a plan of any
windows costs without turning it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windrow.errors import Unsupported, WindrowError
from windrow.sharing.slicing import TECHNIQUES, Edges, shared
from windrow.windows.base import ROWS
from windrow.windows.kinds import Periodic

#: edges of a wheel that can be listed
MOST_EDGES = 1_000_000
#: and that a person reads
MOST_TOLD = 12


@dataclass(frozen=True)
class Edge:
    """A place in the composite slide where a partial ends, a window is answered, or both."""

    at: int
    length: int  # of the partial that ends here; 0: none does, windows are answered from within a partial
    answered: tuple[str, ...]
    partials: tuple[int, ...]  # for each of those, how many partials it is put together from


class Wheel:
    """What happens in one composite slide, once every window has begun.

    >>> from windrow import win
    >>> wheel = Wheel({"q1": win.sliding(6, every=2), "q2": win.sliding(8, every=4)})
    >>> wheel.slide, [(edge.at, edge.answered, edge.partials) for edge in wheel.edges], wheel.size
    (4, [(2, ('q1',), (3,)), (4, ('q1', 'q2'), (3, 4))], 4)

    Args:
        windows: periodic ones, on one measure, in whole numbers.
        slicing: "pairs", as paper 5 has it, "panes" or "cutty".
    """

    def __init__(self, windows: Mapping[str, Periodic], slicing: str = "pairs") -> None:
        if slicing not in TECHNIQUES:
            raise WindrowError(f"slicing is {', '.join(TECHNIQUES)}, not {slicing!r}")
        self.windows, self.slicing = dict(windows), slicing
        cut_by(windows)
        self.cuts = shared(slicing, [(w.range, w.every, w.origin) for w in windows.values()])
        self.slide = math.lcm(*(w.every for w in windows.values()))
        most = sum(self.slide // step for step, _ in self.cuts.progressions)
        if most > MOST_EDGES:
            raise Unsupported(
                f"the slides have {self.slide:,} as least common multiple: a wheel of up to {most:,} edges; "
                "windrow.sharing.wheel.Rates needs none"
            )

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """In order; the last is the end of the composite slide where something happens there."""
        cut = self.cuts.between(1, self.slide + 1)
        answers: dict[int, list[str]] = {at: [] for at in cut}
        for name, w in self.windows.items():
            for at in Edges(((w.every, w.origin + w.range),)).between(1, self.slide + 1):
                answers.setdefault(at, []).append(name)
        before = dict(zip(cut, [cut[-1] - self.slide, *cut], strict=False)) if cut else {}
        return tuple(
            Edge(at, at - before.get(at, at), tuple(names), tuple(self._parts(at, self.windows[n]) for n in names))
            for at, names in sorted(answers.items())
        )

    @property
    def partials(self) -> int:
        """How many partials a composite slide produces."""
        return sum(edge.length > 0 for edge in self.edges)

    @property
    def size(self) -> int:
        """The longest window in partials: wSize of paper 5, Alg. 1, line 6."""
        return max(most for edge in self.edges for most in edge.partials)

    def combines(self, store: str) -> float:
        """Expected calls of combine a composite slide, beyond the one a row that fills the open partial."""
        return Rates(self.windows, self.slicing, self.partials / self.slide, self.size).combines(store) * self.slide

    def _parts(self, at: int, w: Periodic) -> int:
        """How many partials lie in the window that ends at `at`, an open one included."""
        start = at - w.range
        cut = self._cuts_of_a_turn
        turns, first = divmod(start, self.slide)
        more, last = divmod(at, self.slide)
        return (more - turns) * len(cut) + bisect_left(cut, last) - bisect_left(cut, first)

    @cached_property
    def _cuts_of_a_turn(self) -> list[int]:
        return self.cuts.between(0, self.slide)


def cut_by(windows: Mapping[str, Any]) -> Any:
    """The measure of windows that one plan can be made for; `Unsupported` where there is none."""
    measures = set()
    for name, w in windows.items():
        if not isinstance(w, Periodic):
            raise Unsupported(f"{name}: {w} is not periodic, its edges are not known beforehand")
        if not isinstance(w.range, int) or not isinstance(w.every, int) or not isinstance(w.origin, int):
            raise Unsupported(f"{name}: {w} is measured in floats, which have no least common multiple")
        measures.add(w.measure)
    if len(measures) != 1:
        raise Unsupported(f"one plan is for windows on one measure, not on {', '.join(sorted(map(str, measures)))}")
    return measures.pop()


class Rates:
    """What a plan costs, for each unit of the measure (for windows of rows: a row). Estimates, from above.

    Args:
        partials: how many are produced a unit, where that is known; else edges that fall together are counted apart.
        size: the longest window in partials, where that is known.

    >>> from windrow import win
    >>> rates = Rates({"a": win.sliding(60_000, every=1_000), "b": win.sliding(20_000, every=500)})
    >>> rates.partials, rates.answers, rates.size, round(rates.combines("eager"), 4)
    (0.002, 0.003, 120, 0.0275)
    """

    def __init__(
        self, windows: Mapping[str, Periodic], slicing: str = "cutty", partials: float | None = None, size: int = 0
    ) -> None:
        cut_by(windows)
        edges = shared(slicing, [(w.range, w.every, w.origin) for w in windows.values()])
        self.slicing = slicing
        self.partials = partials if partials is not None else _rate(edges)
        self.answers = sum(1 / w.every for w in windows.values())
        self.size = size or math.ceil(max(w.range for w in windows.values()) * self.partials)
        self.lengths = [(1 / w.every, max(1.0, w.range * self.partials)) for w in windows.values()]

    def combines(self, store: str) -> float:
        """Beyond the one a row that fills the open partial. With "cutty" an answer takes in the open partial, too."""
        height = max(1, math.ceil(math.log2(self.size + 1)))
        opened = self.answers if self.slicing == "cutty" else 0.0
        if store == "lazy":
            return opened + sum(rate * (length - 1) for rate, length in self.lengths)
        if store == "eager":  # each append goes up the whole tree, a walk meets half of the siblings on its way
            return opened + self.partials * height + self.answers * height / 2
        if (
            store == "fit"
        ):  # three an answer for one window (paper 5 §4.1); that more windows add half a log is measured
            each = 3 + math.log2(len(self.lengths)) / 2
            return opened + sum(rate * min(each, length - 1) for rate, length in self.lengths)
        raise WindrowError(f"store is lazy, eager or fit, not {store!r}")


def _rate(edges: Edges) -> float:
    """Edges a unit: exact for progressions that contain each other, else from above."""
    steps = edges.progressions
    alone = [
        (step, offset)
        for step, offset in steps
        if not any(
            other != (step, offset) and step % other[0] == 0 and (offset - other[1]) % other[0] == 0 for other in steps
        )
    ]
    return sum(1 / step for step, _ in alone)


def described(windows: Mapping[str, Periodic], slicing: str = "cutty", store: str = "eager") -> list[str]:
    """The plan in sentences, for `explain()`.

    >>> from windrow import win
    >>> windows = {"q1": win.sliding(6, every=2), "q2": win.sliding(8, every=4)}
    >>> for line in described(windows, "pairs", "fit"): print(line)
    composite slide 4 rows (least common multiple of 2, 4): 2 partials, of which the longest window takes 4
    after 2 rows: q1; after 4 rows: q1, q2
    expected: 0.5 partials and 1.75 combines a row beyond the one that fills the open slice
    """
    measure = cut_by(windows)
    unit = "row" if measure == ROWS else f"unit of {measure}"
    slides = ", ".join(str(every) for every in sorted({w.every for w in windows.values()}))
    try:
        wheel: Wheel | None = Wheel(windows, slicing)
    except Unsupported:
        wheel = None
    if wheel is None:
        rates = Rates(windows, slicing)
        lines = [f"no composite slide: {slides} have no small common multiple"]
    else:
        rates = Rates(windows, slicing, wheel.partials / wheel.slide, wheel.size)
        lines = [
            f"composite slide {measure.spelled(wheel.slide)} (least common multiple of {slides}): "
            f"{wheel.partials:,} partials, of which the longest window takes {wheel.size:,}"
        ]
        answered = [edge for edge in wheel.edges if edge.answered]
        if len(answered) <= MOST_TOLD:
            told = (f"after {measure.spelled(edge.at)}: {', '.join(edge.answered)}" for edge in answered)
            lines.append("; ".join(told))
    expected = f"{rates.partials:.3g} partials and {rates.combines(store):.3g} combines a {unit}"
    return [*lines, f"expected: {expected} beyond the one that fills the open slice"]
