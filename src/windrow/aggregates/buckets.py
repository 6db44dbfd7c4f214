"""histogram: counts by bucket."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.values import bind
from windrow.errors import OptionError


def check_edges(edges: Any) -> tuple:
    try:
        checked = tuple(edges)
        rising = all(a < b for a, b in itertools.pairwise(checked))
    except TypeError:
        checked, rising = (), False
    if isinstance(edges, (str, bytes)) or len(checked) < 2 or not rising:
        raise OptionError(f"histogram: edges must be two or more values, each larger than the last, got {edges!r}")
    return checked


def lower_histogram(p):
    return list(p[1:]) if p[0] else None


def add_counts(a, b):
    return tuple(x + y for x, y in zip(a, b, strict=True))


def subtract_counts(total, oldest):
    return tuple(x - y for x, y in zip(total, oldest, strict=True))


def histogram(column: str | None = None, edges: Sequence[Any] | None = None, *, where: Any = None) -> Aggregate:
    """`histogram(x, edges)`: how many values are in each bucket [e_i, e_i+1), the last one closed, as a list.

    The partial is (rows, a count for each bucket); commutative, with an exact inverse. Values outside of the edges, NaN
    among them, are in no bucket; nulls are skipped.

    >>> from windrow import agg
    >>> a = agg.histogram(edges=[0, 1, 2]); a.lower(a.combine(a.combine(a.lift(0.5), a.lift(2)), a.lift(7)))
    [1, 1]
    """
    borders = check_edges(edges)
    buckets = len(borders) - 1

    def lift(x: Any) -> tuple:
        counts = [1] + [0] * buckets
        if borders[0] <= x <= borders[-1]:
            counts[min(bisect_right(borders, x), buckets)] = 1
        return tuple(counts)

    aggregate = Builtin(
        "histogram",
        lift,
        add_counts,
        lower_histogram,
        inverse=subtract_counts,
        commutative=True,
        result="int64 list",
    )
    return bind(aggregate, (column,), where)
