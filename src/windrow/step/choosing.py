"""Which algorithm keeps a window, and why; and which windows share a ring."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.inputs import Column
from windrow.query import Query
from windrow.step.groups import Arrangement
from windrow.step.plan import Plan
from windrow.swag import flat_fit
from windrow.windows.base import ROWS, Measure, Window

#: for windows by row along a measure other than rows: how many rows the longest is taken to have
LIKELY = 1000
#: with longer windows than this, the combines are counted of windows that are shorter in proportion, but not below FEW
MOST, FEW = 20_000, 64


def planned(
    query: Query,
    windows: Mapping[str, Window],
    arrangement: Arrangement,
    dtypes: Mapping[Measure, np.dtype],
    columns: Mapping[str, Column],
    store: Any = None,
    stamps: str | None = None,
) -> Plan:
    """The plan of a query over rows with columns like these. `windows` are in the unit of its time column.

    `store`: where windows that can be in a store are to be; None: all are in memory. `stamps`: as in `Plan`.
    """
    stored = () if store is None else tuple(name for name, window in windows.items() if window.storable)
    rings = _rings(query, {name: window for name, window in windows.items() if name not in stored})
    alone = dict.fromkeys(windows, _alone(query))
    return Plan(windows, arrangement, alone, dtypes, query.partial, rings, columns, store, stored, stamps)


def algorithms(query: Query) -> set[str]:
    """The algorithms that keep the windows of a query."""
    rings = _rings(query, query.windows)
    shared = sum(map(len, rings))
    return ({"flat_fit"} if rings else set()) | ({_alone(query)} if shared < len(query.windows) else set())


def _alone(query: Query) -> str:
    """What keeps a window that has a ring of its own."""
    if query.algorithm in ("auto", "fiba"):
        return "daba_lite" if query.favor == "latency" else "two_stacks_lite"
    return query.algorithm


def why(query: Query, window: Window) -> str:
    """Why a window of its own ring has the algorithm that it has."""
    what = "rows" if window.row_slices else "slices"
    if query.algorithm == "fiba":
        return f"fiba was asked for; {what} reach the window in order here, where this one takes less"
    if query.algorithm != "auto":
        return "asked for by name"
    if query.favor == "latency":
        return f"{what} come and go in order; constant time in the worst case was asked for"
    others = [other for other in query.windows.values() if other.ring == window.ring] if window.per_row else []
    apart = ""
    if window.ring is not None and len(others) > 1:
        together = shared_cost(others).together
        apart = f"; one FlatFIT for {len(others)} windows would take more combines, {together:.1f} per row"
    return f"{what} come and go in order; the fastest for any associative combine{apart}"


def _rings(query: Query, windows: Mapping[str, Window]) -> tuple[tuple[str, ...], ...]:
    """The windows that share a ring."""
    if query.algorithm not in ("auto", "flat_fit") or query.favor != "throughput":
        return ()  # FlatFIT is constant on average, not in the worst case
    found: dict[Hashable, list[str]] = {}
    for name, window in windows.items():
        if window.ring is not None:
            # a row without a place along a column is in other windows, unless it is refused
            along = None if query.strict else window.measure.column
            found.setdefault((window.ring, along), []).append(name)
    rings = []
    for names in found.values():
        mine = [windows[name] for name in names]
        if len(names) > 1 and not mine[0].per_row:
            rings.append(tuple(names))
        elif len(names) > 1:
            cost = shared_cost(mine)
            if query.algorithm == "flat_fit" or cost.together < cost.alone:
                rings.append(tuple(sorted(names, key=lambda name: -windows[name].length)))
    return tuple(rings)


class Cost(NamedTuple):
    """Combines per row of several windows by row."""

    together: float  # by one FlatFIT
    alone: float  # each by Two-Stacks Lite


def shared_cost(windows: Sequence[Window]) -> Cost:
    """What windows by row take that could share a ring. A row alone is no combine, so slices have nothing to save."""
    lengths = [window.length for window in windows]
    if windows[0].measure == ROWS:
        scale, least = min(1.0, MOST / max(lengths)), [min(length, FEW) for length in lengths]
    else:
        scale, least = LIKELY / (max(lengths) or 1.0), [FEW] * len(lengths)
    rows = (max(few, length * scale, 1) for few, length in zip(least, lengths, strict=True))
    return _cost(tuple(sorted(map(round, rows))))


@cache
def _cost(rows: tuple[int, ...]) -> Cost:
    return Cost(flat_fit.combines(rows), sum(3 - 2 / k for k in rows))
