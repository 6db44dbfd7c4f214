"""The kinds of windows, one file each."""

from __future__ import annotations

from windrow.windows.base import LENGTHS, TIME, Window
from windrow.windows.landmark import Landmark
from windrow.windows.last import Last
from windrow.windows.policy import Policy
from windrow.windows.punctuated import Punctuated
from windrow.windows.session import LimitedSession, Session
from windrow.windows.sliding import Periodic, RightClosed
from windrow.windows.trailing import Trailing
from windrow.windows.user_defined import Evicting, UserDefined

__all__ = [
    "Evicting", "Landmark", "Last", "LimitedSession", "Periodic", "Policy", "Punctuated", "RightClosed", "Session",
    "Trailing", "UserDefined",
]  # fmt: skip


def between_ticks(window: Window, tick: int) -> str | None:
    """Which length of a window by time is no whole number of ticks, so that edges are told which no time can be."""
    if window.per_row or window.measure != TIME:
        return None
    lengths = [part for part in LENGTHS if hasattr(window, part)]
    return next((part for part in lengths if getattr(window, part) % tick), None)
