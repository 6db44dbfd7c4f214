"""longest_increasing_run: an aggregate over the order of rows, by what is at both ends of a stretch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.picks import ZERO
from windrow.aggregates.values import bind


def lift_run(x):
    return (1, x, x, 1, 1, 1)


def combine_runs(a, b):
    """Partials are (rows, first, last, run at the beginning, run at the end, longest run)."""
    rising = (a[2] < b[1]) | ((b[1] != b[1]) & (a[2] == a[2]))  # NaN is the largest
    joined = rising | (a[0] == 0) | (b[0] == 0)  # rows of 0: the compiled identity
    across = a[4] + b[3] if joined else 0
    longest = a[5] if a[5] > b[5] else b[5]
    return (
        a[0] + b[0],
        a[1] if a[0] > 0 else b[1],
        b[2] if b[0] > 0 else a[2],
        a[3] + (b[3] if joined & (a[3] == a[0]) else 0),
        b[4] + (a[4] if joined & (b[4] == b[0]) else 0),
        across if across > longest else longest,
    )


def lower_run(p):
    return p[5]


def numeric_run(dtypes: Sequence[str]) -> Numeric:
    zero = ZERO[dtypes[0]]
    return Numeric(lift_run, combine_runs, lower_run, (0, zero, zero, 0, 0, 0), answer="int64")


LONGEST_INCREASING_RUN = Builtin(
    "longest_increasing_run", lift_run, combine_runs, lower_run, result="int64", numeric=numeric_run, compares=(0,)
)


def longest_increasing_run(*columns: str, where: Any = None) -> Aggregate:
    """How many rows the longest run of strictly increasing values has; nulls are skipped, and break no run.

    The partial is six numbers; not commutative. NaN is the largest value.

    >>> from windrow import agg
    >>> a = agg.longest_increasing_run(); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(4)))
    2
    """
    return bind(LONGEST_INCREASING_RUN, columns, where)
