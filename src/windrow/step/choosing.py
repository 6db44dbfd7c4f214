"""Which algorithm keeps a window, and why; and which windows share a ring."""

from __future__ import annotations

from collections.abc import Mapping

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
) -> Plan:
    """The plan of a query over rows with columns like these. `windows` are in the unit of its time column."""
    algorithm = query.algorithm
    if algorithm in ("auto", "fiba"):
        algorithm = "daba_lite" if query.favor == "latency" else "two_stacks_lite"
    shared: tuple[str, ...] = ()
    if query.algorithm in ("auto", "flat_fit") and query.favor == "throughput":
        shared = _sharing(windows)
    return Plan(windows, arrangement, dict.fromkeys(windows, algorithm), dtypes, query.partial, shared, columns)


def _sharing(windows: Mapping[str, Window]) -> tuple[str, ...]:
    """The largest set of windows whose slices are shared: they are cut along one measure, wherever one begins."""
    by_measure: dict[Measure, list[str]] = {}
    for name, window in windows.items():
        if window.shares:
            by_measure.setdefault(window.measure, []).append(name)
    largest = max(by_measure.values(), key=len, default=[])
    return tuple(largest) if len(largest) > 1 else ()
