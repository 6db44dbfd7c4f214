"""collect_set, count_distinct, mode: equality as in Spark's grouping (every NaN is the same, and -0.0 is 0.0)."""

from __future__ import annotations

from typing import Any

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.values import bind, canonical


def lift_key(x):
    return (canonical(x),)


def merge_keys(a, b):
    return tuple(dict.fromkeys(a + b))  # each once, in order of first arrival


def load_keys(data: Any) -> tuple:
    return tuple(map(canonical, data))


def lift_set(x, *more):
    return frozenset(((canonical(x), *map(canonical, more)) if more else canonical(x),))


def union(a, b):
    return a | b


def dump_set(p: frozenset) -> tuple:
    return tuple(sorted(p, key=lambda key: (type(key).__name__, repr(key))))  # the same set, the same bytes


def load_set(data: Any) -> frozenset:
    return frozenset(tuple(map(canonical, key)) if isinstance(key, (tuple, list)) else canonical(key) for key in data)


def lift_pair(x):
    return ((canonical(x), 1),)


def merge_counts(a, b):
    counts = dict(a)
    for value, count in b:
        counts[value] = counts.get(value, 0) + count
    return tuple(counts.items())


def lower_mode(p):
    return max(p, key=lambda pair: pair[1])[0]  # the first of those that tie


def load_counts(data: Any) -> tuple:
    return tuple((canonical(value), count) for value, count in data)


COLLECT_SET = Builtin(
    "collect_set", lift_key, merge_keys, list, empty=[], result="list", load=load_keys, unordered=True
)
COUNT_DISTINCT = Builtin(
    "count_distinct", lift_set, union, len, commutative=True, empty=0, result="int64", dump=dump_set, load=load_set
)
#: it does not choose one of the column's own values: they are made canonical first
MODE = Builtin("mode", lift_pair, merge_counts, lower_mode, load=load_counts, result="input")


def collect_set(*columns: str, where: Any = None) -> Aggregate:
    """The distinct values as a list, in order of first arrival; nulls are left out, no rows give an empty list.

    The partial is a tuple of the distinct values; not commutative, since the order shows (Spark's is arbitrary). With
    `changes_only`, the same values in another order are no change.

    >>> from windrow import agg
    >>> a = agg.collect_set(); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(3)))
    [3, 5]
    """
    return bind(COLLECT_SET, columns, where)


def count_distinct(*columns: str, where: Any = None) -> Aggregate:
    """How many distinct values there are, or distinct rows of several columns; rows with a null are skipped.

    The partial is a frozenset of the distinct values; commutative. Counts for each value would make it invertible, but
    each step would still copy them all, so nothing would be won. No rows give 0.

    >>> from windrow import agg
    >>> a = agg.count_distinct(); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(3)))
    2
    """
    return bind(COUNT_DISTINCT, columns, where)


def mode(*columns: str, where: Any = None) -> Aggregate:
    """The most frequent value; of those that tie, the one that arrived first (Spark's choice is arbitrary).

    The partial is one (value, count) for each distinct value; not commutative (ties). Nulls are skipped.

    >>> from windrow import agg
    >>> a = agg.mode(); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(5)))
    5
    """
    return bind(MODE, columns, where)
