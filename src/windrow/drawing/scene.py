"""What a picture shows: rows as dots, windows as bars, in lanes over one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.drawing.axis import Axis

#: characters of a text in a picture; the whole of it is in the tooltip
LONGEST = 22


@dataclass(frozen=True)
class Dot:
    """One row: its place along the axis, the text above it, and its tooltip."""

    place: float
    label: str = ""
    told: str = ""


@dataclass(frozen=True)
class Bar:
    """One window: where it begins and ends, the places of the rows that it holds, and its answers."""

    start: float
    end: float
    rows: Sequence[float] = ()
    answers: Sequence[str] = ()
    edges: str = "[)"
    told: str = ""
    label: str = ""  # left of it


@dataclass
class Lane:
    """The rows and windows of one key."""

    title: str = ""
    dots: list[Dot] = field(default_factory=list)
    groups: dict[str, list[Bar]] = field(default_factory=dict)  # by the window's name, "" where it has none


@dataclass(frozen=True)
class Panel:
    """Lanes over one axis."""

    axis: Axis
    lanes: Sequence[Lane]
    columns: Sequence[str] = ()  # the names of the answers
    dots: str = ""  # the name of what stands above the dots
    mark: float | None = None  # such as the watermark
    marked: str = ""


def shown(value: Any) -> str:
    """An answer as a text.

    >>> shown(0.1 + 0.2), shown(None), shown([1.0, 2.5]), shown("ann")
    ('0.3', 'null', '[1, 2.5]', 'ann')
    """
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def short(text: str, longest: int = LONGEST) -> str:
    """The text, cut where it is too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
