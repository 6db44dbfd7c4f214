"""Which rows begin a slice: the techniques of `slicing`, for any windows and one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from windrow.sharing.discretizer import Discretizer, Marked
from windrow.sharing.slicing import Edges, pairs, panes
from windrow.windows.base import Measure, Window
from windrow.windows.kinds import Periodic

NEVER = 2**62  # rows away


class Cutty:
    """Where a window begins."""

    ends: ClassVar[bool] = False  # cut where a window ends, too

    def __init__(self, windows: Mapping[str, Window]) -> None:
        self.edges: dict[Measure, Edges] = {}  # cut there, whatever begins or ends
        for window in windows.values():
            whole = isinstance(window, Periodic) and isinstance(window.range, int) and isinstance(window.every, int)
            if whole and isinstance(window, Periodic):
                own = self.known(window)
                if own is not None:
                    self.edges[window.measure] = self.edges.get(window.measure, Edges(())) | own

    def known(self, window: Periodic) -> Edges | None:
        """The edges of a periodic window in whole numbers that do not depend on the rows."""
        return None

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        if marked.begins or (self.ends and marked.ends):
            return True
        for measure, edges in self.edges.items():
            place = at.measures.index(measure)
            before, now = at.previous[place], at.newest[place]
            if before is not None and edges.number(now) > edges.number(before):
                return True
        return False

    def quiet(self, at: Discretizer) -> int:
        """How many of the next rows are not cut, where only rows are counted."""
        return min((edges.after(at.rows - 1) - at.rows for edges in self.edges.values()), default=NEVER)


class Pairs(Cutty):
    """Where a window begins or ends; for periodic ones at both fragments of a slide, from the first row on."""

    ends = True

    def known(self, window: Periodic) -> Edges | None:
        return pairs(window.range, window.every, window.origin)


class Panes(Pairs):
    """At each multiple of gcd(range, every); where there is no such number, as `Pairs`."""

    def known(self, window: Periodic) -> Edges | None:
        return panes(window.range, window.every, window.origin)


class Rows(Cutty):
    """Everywhere: a slice a row, as the Reactive Aggregator has it."""

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        return True

    def quiet(self, at: Discretizer) -> int:
        return 0


CUTS: dict[str, type[Cutty]] = {"cutty": Cutty, "pairs": Pairs, "panes": Panes, "rows": Rows}
