"""What claims are made of: medians by key, and when a figure is near enough to a paper's to say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks import results
from benchmarks.base import Measure, Row

#: other machines, other languages: a ratio or a time within this factor of the paper's, or better, is the paper's
NEAR = 2.0


def at_least(found: float, paper: float) -> bool:
    """Whether a figure of which more is better is the paper's, or better."""
    return found >= paper / NEAR


def at_most(found: float, paper: float) -> bool:
    """Whether a figure of which less is better is the paper's, or better."""
    return found <= paper * NEAR


def medians(rows: Sequence[Row], by: Sequence[str], value: str, kind: str | None = None) -> dict[tuple, float]:
    """The median of a column for each group."""
    lines = results.summary(Measure(tuple(by), value, "", kind=kind), rows)
    return {tuple(line[name] for name in by): line["median"] for line in lines}


def ratios(measure: Measure, rows: Sequence[Row]) -> dict[tuple, float]:
    """How many times better than the baseline each group is, as in the table."""
    lines = results.summary(measure, rows)
    return {tuple(line[name] for name in measure.by): line["ratio"] for line in lines if line["ratio"] is not None}


def span(values: Iterable[float], end: str = "") -> str:
    """The least and the most of some figures.

    >>> span([3.14159, 1, 2], "x")
    '1x to 3.14x'
    """
    listed = sorted(values)
    low, high = (results.figure(value) + end for value in (listed[0], listed[-1]))
    return low if low == high else f"{low} to {high}"


def listed(pairs: Iterable[tuple[Any, float]], end: str = "") -> str:
    """Names with their figures.

    >>> listed([("max", 1.5), ("sum", 1000)], " ms")
    'max 1.5 ms, sum 1,000 ms'
    """
    return ", ".join(f"{name} {results.figure(value)}{end}" for name, value in pairs)
