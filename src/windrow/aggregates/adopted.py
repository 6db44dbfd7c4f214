"""Aggregates written for another library: Spark's Python `Aggregator`, with zero, reduce, merge and finish."""

from __future__ import annotations

import copy
from typing import Any

from windrow.aggregates.base import Aggregate

METHODS = ("zero", "reduce", "merge", "finish")


def is_aggregator(value: Any) -> bool:
    """Whether it has the four methods of Spark's `Aggregator`; the class itself need not be there."""
    return all(callable(getattr(value, method, None)) for method in METHODS)


def adopted(aggregator: Any, returns: Any = None) -> Aggregate:
    """A Spark `Aggregator` (an object, or a class without arguments) as an aggregate, run through its `merge`.

    As in Spark, `reduce` sees nulls, and a window without rows is `finish(zero())`. Buffers may be changed in place:
    each call gets its own copy.

    >>> class Longest:
    ...     def zero(self): return [""]
    ...     def reduce(self, buffer, text): return self.merge(buffer, [text or ""])
    ...     def merge(self, a, b):
    ...         a[0] = max(a[0], b[0], key=len)
    ...         return a
    ...     def finish(self, buffer): return buffer[0]
    >>> longest = adopted(Longest)
    >>> longest.lower(longest.combine(longest.lift("hay"), longest.lift("windrow")))
    'windrow'
    """
    made = aggregator() if isinstance(aggregator, type) else aggregator

    def lift(*row: Any) -> Any:
        return made.reduce(made.zero(), *row)

    def combine(older: Any, newer: Any) -> Any:
        return made.merge(copy.deepcopy(older), copy.deepcopy(newer))

    def lower(buffer: Any) -> Any:
        return made.finish(copy.deepcopy(buffer))

    name = type(made).__name__
    aggregate = Aggregate(lift, combine, lower, identity=made.zero(), name=name, returns=returns)
    aggregate.numeric = lambda dtypes: None  # methods of an object: nothing that could be compiled
    aggregate.needs, aggregate.empty = (), made.finish(made.zero())
    return aggregate
