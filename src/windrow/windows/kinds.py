"""The kinds of windows, one file each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from windrow.windows.base import TIME, Window
from windrow.windows.landmark import Landmark
from windrow.windows.last import Last
from windrow.windows.policy import Policy
from windrow.windows.punctuated import Punctuated
from windrow.windows.session import Session
from windrow.windows.sliding import Periodic
from windrow.windows.trailing import Trailing
from windrow.windows.user_defined import Evicting, UserDefined

__all__ = [
    "Evicting", "Landmark", "Last", "Periodic", "Policy", "Punctuated", "Session", "Trailing", "UserDefined", "scaled",
]  # fmt: skip


#: what a kind may call its lengths
LENGTHS = ("range", "every", "origin", "gap", "tick")


def scaled(window: Window, factor: int) -> Window:
    """The same window over a time column with `factor` ticks a microsecond."""
    if factor == 1 or getattr(window, "measure", None) != TIME:
        return window
    changed: Any = replace  # every kind is a dataclass, which the base cannot say
    return changed(window, **{part: getattr(window, part) * factor for part in LENGTHS if hasattr(window, part)})


def between_ticks(window: Window, tick: int) -> str | None:
    """Which length of a window by time is no whole number of ticks, so that edges are told which no time can be."""
    if window.per_row or window.measure != TIME:
        return None
    lengths = [part for part in LENGTHS if part != "tick" and hasattr(window, part)]
    return next((part for part in lengths if getattr(window, part) % tick), None)
