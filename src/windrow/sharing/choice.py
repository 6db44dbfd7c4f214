"""Which algorithm answers a window, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windrow.sharing.passes import FIT, TREE
from windrow.swag import ALGORITHMS
from windrow.windows.base import Window
from windrow.windows.kinds import Last, Periodic


@dataclass(frozen=True)
class Choice:
    """An algorithm, and why it is this one."""

    algorithm: str
    why: str


def choose(windows: Mapping[str, Window], algorithm: str, favor: str) -> dict[str, Choice]:
    """How each of the windows that share slices is answered from them."""
    if algorithm != "auto":
        able = ALGORITHMS[algorithm]
        if able.plain_only or able.counted:
            why = (
                f"{algorithm} was asked for, and keeps rows, not slices; a tree over the slices gives the same answers"
            )
            return {name: Choice(TREE, why) for name in windows}
        return {name: Choice(algorithm, "asked for by name") for name in windows}
    fifo, jumps = _costs(windows)
    if len(windows) > 1 and jumps < fifo:
        why = f"{len(windows)} windows over one set of slices: jumps that all share cost less than an algorithm each"
        return {name: Choice(FIT, why) for name in windows}
    return {name: _in_order(favor, "slices") for name in windows}


def for_rows(window: Window, algorithm: str, favor: str) -> Choice:
    """How a window over rows is kept."""
    if isinstance(window, Last):
        why = "a row does not tell which windows it will be in, so rows are kept, not slices (paper 3 §5.2)"
        return Choice("reactive_aggregator" if algorithm == "auto" else algorithm, why)
    if algorithm != "auto":
        return Choice(algorithm, "asked for by name")
    return _in_order(favor, "rows")


def _in_order(favor: str, what: str) -> Choice:
    if favor == "latency":
        return Choice("daba_lite", f"{what} come and go in order; constant time in the worst case was asked for")
    return Choice("two_stacks_lite", f"{what} come and go in order; the fastest for any associative combine")


def _costs(windows: Mapping[str, Window]) -> tuple[float, float]:
    """Combines for one unit of the measure: a window algorithm for each window, or jumps for all."""
    periodic = [w for w in windows.values() if isinstance(w, Periodic)]
    if len(periodic) < len(windows) or len({w.measure for w in periodic}) > 1:
        return (3.0 * len(windows) ** 2, 8.0 * len(windows))
    slices = _slices_a_unit(periodic)
    answers = sum(1 / w.every for w in periodic)
    longest = max(w.range for w in periodic) * slices
    return 3 * len(periodic) * slices + answers, slices + answers * math.log2(max(longest, 2))


def _slices_a_unit(periodic: list[Periodic]) -> float:
    """How often some window begins, at most."""
    distinct: dict[Any, None] = dict.fromkeys((w.every, w.origin % w.every) for w in periodic)
    return sum(1 / every for every, _ in distinct)
