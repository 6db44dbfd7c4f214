"""Whole tables in parts of a few rows, so that small tables take the ways of large ones."""

from __future__ import annotations

import pytest

from windrow.engine import grouping, placing
from windrow.sharing import passes
from windrow.step import slices, tables

#: one that is larger than any table here
HUGE = 1 << 40


def fold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sorted and taken in one piece, as those of small tables."""
    monkeypatch.setattr(slices, "FEW", HUGE)
    for module in (grouping, placing, passes):
        monkeypatch.setattr(module, "PART", HUGE)
    monkeypatch.setattr(tables, "RANGE", HUGE)


def fold_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are folded as they lie wherever that is possible, in small parts; keys are cut into small ranges."""
    for name, value in (("FEW", 0), ("PART", 7), ("PER_KEY", 2), ("WORTH", 0), ("GAIN", 10)):
        monkeypatch.setattr(slices, name, value)
    monkeypatch.setattr(passes, "PART", 11)
    monkeypatch.setattr(grouping, "PART", 5)
    monkeypatch.setattr(placing, "PART", 5)
    monkeypatch.setattr(tables, "RANGE", 1)
