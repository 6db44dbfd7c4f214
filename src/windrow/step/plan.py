"""What a query needs of its rows: windows, groups of aggregates, algorithms. Frozen; the state is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.step.groups import Arrangement
from windrow.windows.base import TIME, Measure, Window


@dataclass(frozen=True)
class Plan:
    """What `step` runs."""

    windows: Mapping[str, Window]
    arrangement: Arrangement
    algorithms: Mapping[str, str]  # for each window, what keeps it
    dtypes: Mapping[Measure, np.dtype] = field(default_factory=dict)  # of each column that is a measure
    partial: bool = False
    rings: tuple[tuple[str, ...], ...] = ()  # windows that share a ring of slices, or of rows: then the longest first
    columns: Mapping[str, Column] = field(default_factory=dict)  # like those of the rows, to tell their types
    store: Any = None  # where the partials of some windows are
    stored: tuple[str, ...] = ()  # which windows those are
    stamps: str | None = None  # what timestamps are counted in; None: times are integers, or there are none

    def dtype(self, window: Window) -> np.dtype:
        """The type of a window's measure."""
        return self.dtypes.get(window.measure, np.dtype(np.int64))

    def spelled(self, window: Window, edge: Any) -> str:
        """Where a window begins or ends, as a person writes it."""
        in_time = window.measure == TIME or window.edges_in_time
        return self.told(TIME if in_time else window.measure, edge)

    def told(self, measure: Measure | None, edge: Any) -> str:
        """A place on a measure, as a person writes it."""
        if self.stamps is None or measure != TIME:
            return str(edge)
        unit: Any = self.stamps
        day, clock = str(np.datetime64(int(edge), unit)).split("T")
        return f"{day} {clock.rstrip('0').rstrip('.') if clock[8:].strip('.0') else clock[:8]}"

    def ring(self, name: str) -> tuple[str, ...]:
        """The windows with which a window shares its ring; only itself where it has one of its own."""
        return self._ring_of[name]

    @cached_property
    def _ring_of(self) -> dict[str, tuple[str, ...]]:
        return {name: next((ring for ring in self.rings if name in ring), (name,)) for name in self.windows}
