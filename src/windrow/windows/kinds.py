"""The kinds of windows, as frozen facts. Nothing here runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from windrow.aggregates.base import Aggregate
from windrow.windows.base import TIME, Measure, Window
from windrow.windows.durations import spelled
from windrow.windows.predicates import Predicate


@dataclass(frozen=True)
class Periodic(Window):
    """[origin + k·every, origin + k·every + range) for each k."""

    kind: ClassVar[str] = "sliding"
    range: Any
    every: Any
    origin: Any
    measure: Measure

    def __str__(self) -> str:
        size = self.measure.spelled(self.range)
        if self.range == self.every:
            return f"tumbling, {size}"
        return f"sliding, {size} every {self.measure.spelled(self.every)}"


@dataclass(frozen=True)
class Trailing(Window):
    """Ends at each row."""

    kind: ClassVar[str] = "trailing"
    per_row: ClassVar[bool] = True
    range: Any
    closed: str
    measure: Measure

    def __str__(self) -> str:
        return f"trailing, {self.measure.spelled(self.range)}, closed {self.closed}"


@dataclass(frozen=True)
class Session(Window):
    """Ends when nothing came for `gap`."""

    kind: ClassVar[str] = "session"
    gap: Any
    measure: Measure

    def __str__(self) -> str:
        return f"session, gap {self.measure.spelled(self.gap)}"


@dataclass(frozen=True)
class Punctuated(Window):
    """From one row where the predicate holds to the next."""

    kind: ClassVar[str] = "punctuated"
    by_content: ClassVar[bool] = True
    predicate: Predicate
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return self.predicate.columns or ()

    def __str__(self) -> str:
        return f"punctuated, {self.predicate.text}"


@dataclass(frozen=True)
class Landmark(Window):
    """From a row where `begin` holds up to every multiple of `every` after it, until the next such row."""

    kind: ClassVar[str] = "landmark"
    by_content: ClassVar[bool] = True
    begin: Predicate
    every: Any
    measure: Measure

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(self.begin.columns or ()), *super().columns)

    def __str__(self) -> str:
        return f"landmark, {self.begin.text}, every {self.measure.spelled(self.every)}"


@dataclass(frozen=True)
class Last(Window):
    """At every multiple of `every`, the last n rows."""

    kind: ClassVar[str] = "last"
    deterministic: ClassVar[bool] = False
    n: int
    every: int
    origin: int
    measure: Measure = TIME

    def __str__(self) -> str:
        return f"last {self.n:,} rows every {spelled(self.every)}"


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


@dataclass(frozen=True)
class UserDefined(Window):
    """For each row, how many windows begin with it and how many end before it (paper 3 §3.2)."""

    kind: ClassVar[str] = "user_defined"
    by_content: ClassVar[bool] = True
    discretize: Any
    measure: Measure

    def __str__(self) -> str:
        made = self.discretize if isinstance(self.discretize, type) else type(self.discretize)
        return f"user-defined, {made.__name__}"


def scaled(window: Window, factor: int) -> Window:
    """The same window over a time column with `factor` ticks a microsecond."""
    if factor == 1 or getattr(window, "measure", None) != TIME:
        return window
    lengths = ("range", "every", "origin", "gap")
    changed: Any = replace  # every kind is a dataclass, which the base cannot say
    return changed(window, **{part: getattr(window, part) * factor for part in lengths if hasattr(window, part)})
