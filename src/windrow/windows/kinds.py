"""The kinds of windows, one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from windrow.aggregates.base import Aggregate
from windrow.windows.base import TIME, Measure, Window
from windrow.windows.landmark import Landmark
from windrow.windows.last import Last
from windrow.windows.punctuated import Punctuated
from windrow.windows.session import Session
from windrow.windows.sliding import Periodic
from windrow.windows.trailing import Trailing
from windrow.windows.user_defined import UserDefined

__all__ = [
    "Landmark", "Last", "Periodic", "Policy", "Punctuated", "Session", "Trailing", "UserDefined", "scaled",
]  # fmt: skip


@dataclass(frozen=True)
class Policy(Window):
    """After each row, `evict(total, old)` says how much of the oldest part goes."""

    kind: ClassVar[str] = "policy"
    per_row: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False
    evict: Callable[[Any, Any], bool]
    over: tuple[tuple[str, Aggregate], ...]
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, aggregate in self.over for name in aggregate.columns))

    def __str__(self) -> str:
        return f"policy over {', '.join(f'{name}={aggregate!r}' for name, aggregate in self.over)}"


def scaled(window: Window, factor: int) -> Window:
    """The same window over a time column with `factor` ticks a microsecond."""
    if factor == 1 or getattr(window, "measure", None) != TIME:
        return window
    lengths = ("range", "every", "origin", "gap")
    changed: Any = replace  # every kind is a dataclass, which the base cannot say
    return changed(window, **{part: getattr(window, part) * factor for part in lengths if hasattr(window, part)})
