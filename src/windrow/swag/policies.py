"""Window slide policies (paper 4 §3.2, §4.1.3, §5.6), as functions of (total, old) for `enforce` and `slide_policy`.

`total` is the answer for the whole window, `old` that for its oldest part; the policy says whether that part goes.
Each of these is made for an aggregate with the fields it reads, named by `join(name=aggregate)`:

>>> from windrow import agg, swag
>>> w = swag.AMTA(agg.join(rows=agg.count(), peak=agg.max()))
>>> w.insert_many([5, 1, 4]); w.enforce(at_most(2)); w.query().peak
1
4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.aggregates.base import Aggregate

Policy = Callable[[Any, Any], bool]


def at_most(size: int) -> Policy:
    """Listing 3: the newest `size` rows stay. Reads `rows` (a count)."""

    def policy(total, old):
        return total.rows - old.rows >= size

    return policy


def within(span: Any) -> Policy:
    """Listing 1: what is `span` older than the newest row, or more, goes. Reads `newest` (the maximum of the time)."""

    def policy(total, old):
        return total.newest - old.newest >= span

    return policy


def sum_at_most(limit: Any) -> Policy:
    """§3.2: the newest rows that add up to `limit` at most stay. Reads `sum` and `last`, of values not below 0.

    A row goes where the rows from it on are too much: the total, without what is older than it.
    """

    def policy(total, old):
        return total.sum - old.sum + old.last > limit

    return policy


def from_the_maximum() -> Policy:
    """§5.6: what lies before the (first) maximum can never be the maximum again. Reads `peak`."""

    def policy(total, old):
        return old.peak < total.peak

    return policy


def from_the_longest_run() -> Policy:
    """§5.6: what lies before the longest increasing run goes. For the aggregate `longest_run`."""

    def policy(total, old):
        return old[0] <= total[1]

    return policy


def _lift(x):
    return (1, x, x, 1, 1, 1, 0)


def _combine(a, b):
    """(rows, first, last, run at the beginning, run at the end, longest run, rows before that run)."""
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    rising = a[2] < b[1]
    longest, before = a[5], a[6]
    across = a[4] + b[3] if rising else 0
    if across > longest:
        longest, before = across, a[0] - a[4]
    if b[5] > longest:
        longest, before = b[5], a[0] + b[6]
    return (
        a[0] + b[0],
        a[1],
        b[2],
        a[3] + b[3] if rising and a[3] == a[0] else a[3],
        b[4] + a[4] if rising and b[4] == b[0] else b[4],
        longest,
        before,
    )


def _lower(p):
    return (p[0], p[6], p[5])


def longest_run() -> Aggregate:
    """(rows, rows before the first longest run, its length): paper 4's LIS, with what its policy needs.

    >>> from windrow import swag
    >>> w = swag.AMTA(longest_run()); w.insert_many([5.0, 1.0, 2.0, 3.0, 0.0])
    >>> w.query(), w.enforce(from_the_longest_run()), w.query()
    ((5, 1, 3), 1, (4, 0, 3))
    """
    return Aggregate(_lift, _combine, _lower, (0, 0.0, 0.0, 0, 0, 0, 0), name="longest_run")
