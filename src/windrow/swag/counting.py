"""`counting`: an aggregate that counts the calls of its combine, as the papers' theorems do."""

from __future__ import annotations

import copy

from windrow.aggregates.base import Aggregate


def counting(aggregate: Aggregate) -> Aggregate:
    """The same aggregate, with `.combines`: how often an algorithm has called combine (identities included).

    It always runs in plain Python.

    >>> from windrow import agg, swag
    >>> total = swag.counting(agg.sum())
    >>> w = swag.Recalculate(total)
    >>> for x in (1, 2, 3): w.insert(x)
    >>> w.query(), total.combines
    (6, 3)
    """
    counted = copy.copy(aggregate)
    counted.combines = 0
    return counted
