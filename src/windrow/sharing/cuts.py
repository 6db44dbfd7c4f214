"""Which rows begin a slice: the techniques of `slicing`, for any windows and one row at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from windrow.sharing.discretizer import Discretizer, Marked
from windrow.windows.base import Measure, Window
from windrow.windows.kinds import Periodic


class Cutty:
    """Where a window begins."""

    always = False  # it wants to be asked for rows without marks, too

    def __init__(self, windows: Mapping[str, Window]) -> None:
        pass

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        return bool(marked.begins)


class Pairs(Cutty):
    """Where a window begins or ends."""

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        return bool(marked.begins or marked.ends)


class Rows(Cutty):
    """Everywhere: a slice a row, as the Reactive Aggregator has it."""

    always = True

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        return True


class Panes(Pairs):
    """At each multiple of gcd(range, every), too, where there is such a number."""

    always = True

    def __init__(self, windows: Mapping[str, Window]) -> None:
        self.panes: dict[tuple[Measure, int, int], None] = {}
        for window in windows.values():
            if isinstance(window, Periodic) and isinstance(window.range, int) and isinstance(window.every, int):
                step = math.gcd(window.range, window.every)
                self.panes[window.measure, step, window.origin % step] = None

    def __call__(self, marked: Marked, at: Discretizer) -> bool:
        if super().__call__(marked, at):
            return True
        for measure, step, offset in self.panes:
            place = at.measures.index(measure)
            before, now = at.previous[place], at.newest[place]
            if before is not None and (now - offset) // step > (before - offset) // step:
                return True
        return False


CUTS: dict[str, type[Cutty]] = {"cutty": Cutty, "pairs": Pairs, "panes": Panes, "rows": Rows}
