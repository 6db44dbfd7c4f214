"""A picture that notebooks show, and that can be saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from windrow.drawing import svg
from windrow.drawing.scene import Panel


class Picture:
    """SVG in light and dark. A notebook shows it; `save(path)` writes it; `str()` is its text."""

    def __init__(self, panels: Sequence[Panel], title: str, notes: Sequence[str] = (), theme: str = "auto") -> None:
        self.panels, self.title, self.notes = tuple(panels), title, tuple(notes)
        self._text = svg.drawn(self.panels, title, self.notes, theme)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the SVG, and returns where it is."""
        where = Path(path)
        where.write_text(self._text + "\n", encoding="utf-8", newline="\n")
        return where

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        lanes = [lane for panel in self.panels for lane in panel.lanes]
        bars = sum(len(bars) for lane in lanes for bars in lane.groups.values())
        return f"<Picture of {self.title}: {sum(len(lane.dots) for lane in lanes)} rows, {bars} windows>"

    def _repr_svg_(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._text
