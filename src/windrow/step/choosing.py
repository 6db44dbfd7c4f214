"""Which algorithm keeps a window, and why; and which windows share a ring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.query import Query
from windrow.sharing.groups import Arrangement
from windrow.step.plan import Plan
from windrow.windows.base import Measure, Window


def planned(
    query: Query,
    windows: Mapping[str, Window],
    arrangement: Arrangement,
    dtypes: Mapping[Measure, np.dtype],
    columns: Mapping[str, Column],
    store: Any = None,
) -> Plan:
    """The plan of a query over rows with columns like these. `windows` are in the unit of its time column.

    `store`: where windows that can be in a store are to be; None: all are in memory.
    """
    stored = () if store is None else tuple(name for name, window in windows.items() if window.storable)
    shared = _sharing(query, {name: window for name, window in windows.items() if name not in stored})
    alone = dict.fromkeys(windows, _alone(query))
    return Plan(windows, arrangement, alone, dtypes, query.partial, shared, columns, store, stored)


def algorithms(query: Query) -> set[str]:
    """The algorithms that keep the windows of a query."""
    shared = _sharing(query, query.windows)
    return ({"flat_fit"} if shared else set()) | ({_alone(query)} if len(shared) < len(query.windows) else set())


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
    return f"{what} come and go in order; the fastest for any associative combine"


def _sharing(query: Query, windows: Mapping[str, Window]) -> tuple[str, ...]:
    """The windows whose slices are shared, along whatever measures: a slice begins where any of them begins."""
    if query.algorithm not in ("auto", "flat_fit") or query.favor != "throughput":
        return ()  # FlatFIT is constant on average, not in the worst case
    shared = tuple(name for name, window in windows.items() if window.shares)
    return shared if len(shared) > 1 else ()
