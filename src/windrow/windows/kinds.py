"""The kinds of windows, one file each."""

from __future__ import annotations

from windrow.windows.landmark import Landmark
from windrow.windows.last import Last
from windrow.windows.policy import Policy
from windrow.windows.punctuated import Punctuated
from windrow.windows.session import Session
from windrow.windows.sliding import Periodic
from windrow.windows.trailing import Trailing
from windrow.windows.user_defined import Evicting, UserDefined

__all__ = [
    "Evicting", "Landmark", "Last", "Periodic", "Policy", "Punctuated", "Session", "Trailing", "UserDefined",
]  # fmt: skip
