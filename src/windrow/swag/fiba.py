"""FiBA: the finger B-tree aggregator, for rows that come out of order.

K. Tangwongsan, M. Hirzel, S. Schneider: Optimal and General Out-of-Order Sliding-Window Aggregation (VLDB 2019), with
the bulk operations of the same authors' Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and
Insertions (VLDB 2023).
The tree is of objects, not of arrays, so this one runs in plain Python only.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any

from windrow.aggregates.base import Aggregate, same
from windrow.aggregates.compare import alike
from windrow.engine.forms import Form
from windrow.engine.loaded import require
from windrow.engine.state import WindowState
from windrow.errors import OptionError
from windrow.swag.base import Algorithm, Card, Kernel, Monoid, Swag
from windrow.swag.fiba_node import INNER, LEFT, RIGHT, ROOT, Node, ends
from windrow.swag.fiba_tree import FibaTree

#: all else is in the store, which is the tree
Registers = namedtuple("Registers", "n")


def after(newest: Any) -> Any:
    """The time of a row that comes without one: 1 after the newest, or, where times are no whole numbers, with it."""
    return newest + 1 if isinstance(newest, Integral) else newest


def kernel(m: Monoid) -> Kernel:
    """Rows in order, as the driver brings them. The tree itself undoes what a combine that raises has left half-way."""

    def clear(s):
        s.clear()
        return Registers(0)

    def insert(s, r, v):
        s.insert(after(s.right.times[-1]) if s.n else 0, v)
        return Registers(s.n)

    def evict(s, r):
        s.evict(1)
        return Registers(s.n)

    def query(s, r):
        return s.total()

    def size(r):
        return r.n

    return Kernel(clear, insert, evict, query, size)


def layout(capacity: int) -> tuple[int, int, int]:
    return 0, 0, 0


def grow(state: WindowState, capacity: int) -> WindowState:
    """A tree has no room to speak of."""
    return replace(state, capacity=capacity)


@cache
def algorithm_of(mu: int) -> Algorithm:
    """FiBA over trees of this least arity."""

    def new_store(form: Form, capacity: int) -> FibaTree:
        return FibaTree(form.combine, form.identity, mu)

    return Algorithm(
        name="fiba",
        kernel=kernel,
        registers=Registers,
        layout=layout,
        card=Card(
            order="any",
            requires="associative",
            time="amortised O(log d), in order O(1); bulk operations amortised O(log) per run",
            space="n + n/mu",
            paper="VLDB 2019, 2023",
            note="plain Python only",
        ),
        plain_only=True,
        new_store=new_store,
        grow=grow,
    )


ALGORITHM = algorithm_of(4)


class FiBA(Swag):
    """Rows by time, in any order of arrival: O(log d) for a row that is d rows from the nearer end, O(1) in order.

    Rows of equal time stay in the order of their arrival.

    >>> from windrow import agg
    >>> w = FiBA(agg.concat())
    >>> for letter, time in (("a", 1), ("c", 5), ("b", 3)): w.insert(letter, time=time)
    >>> w.query(), w.oldest, w.newest, w.query_range(3, 5)
    ('abc', 1, 5, 'b')
    >>> w.evict_to(5); w.query()
    2
    'c'

    Args:
        mu: the least arity of a node; the largest is twice that.
    """

    algorithm = ALGORITHM
    s: Any  # a FibaTree

    def __init__(self, aggregate: Aggregate, *, capacity: int = 16, mu: int = 4) -> None:
        if mu < 2:
            raise OptionError(f"mu must be at least 2, not {mu}")
        self.mu, self.algorithm = mu, algorithm_of(mu)
        super().__init__(aggregate, capacity=capacity)

    def insert(self, *row: Any, time: Any = None) -> None:
        """Adds a row at its time, after the rows of equal time; without one, after the newest."""
        if self._sample is not None:
            self._try_laws(row)
        partial = self._lift(row)
        if time is None:
            self.r = self._step(self.k.insert, partial)
        else:
            self.s.insert(_checked(time), partial)
            self._counted()

    def insert_many(self, rows: Iterable[Any], times: Iterable[Any] | None = None) -> None:
        """Inserts every row, in bulk: nodes are split and their aggregates computed once per run. All or nothing."""
        rows = [row if isinstance(row, tuple) else (row,) for row in rows]
        for row in rows if self._sample is not None else ():
            if self._sample is not None:
                self._try_laws(row)
        partials = [self._lift(row) for row in rows]
        if times is None:
            stamps, newest = [], self.newest
            for _ in partials:
                newest = 0 if newest is None else after(newest)
                stamps.append(newest)
        else:
            stamps = [_checked(time) for time in times]
        if len(stamps) != len(partials):
            raise OptionError(f"{len(partials)} rows, but {len(stamps)} times")
        self.s.insert_run(sorted(zip(stamps, partials, strict=True), key=lambda row: row[0]))
        self._counted()

    def evict_many(self, count: int) -> None:
        """Drops the `count` oldest rows: O(log count), amortised. IndexError where there are fewer."""
        self._check_not_asking()
        if not 0 <= count <= len(self):
            raise IndexError(f"cannot evict {count} of {len(self)} rows")
        self.s.evict(count)
        self._counted()

    def evict_to(self, time: Any, *, inclusive: bool = False) -> int:
        """Drops the rows before `time` (`inclusive`: at it, too); how many there were."""
        count = self.s.count_before(_checked(time), inclusive)
        self.evict_many(count)
        return count

    def query_range(self, t_from: Any, t_to: Any) -> Any:
        """The aggregate of the rows of t_from <= time < t_to: O(log n)."""
        self._check_not_asking()
        return self._answer(self.s.between(_checked(t_from), _checked(t_to)))

    @property
    def oldest(self) -> Any:
        """The time of the oldest row; None where there is none."""
        return self.s.left.times[0] if self.s.n else None

    @property
    def newest(self) -> Any:
        """The time of the newest row; None where there is none."""
        return self.s.right.times[-1] if self.s.n else None

    # Within.

    def _oldest_first(self) -> Iterator[Any]:
        return self.s.rows_of(self.s.root)

    def _counted(self) -> None:
        self.r, self._known = Registers(self.s.n), None

    def _state(self) -> tuple:
        """The tree's shape, times and rows: the aggregates follow from them."""
        dump = getattr(self.of, "dump", same)
        return self.mu, self.s.root.saved(lambda partial: None if partial is None else dump(partial))

    def _set_state(self, mu: int, tree: tuple) -> None:  # type: ignore[override]
        load = getattr(self.of, "load", same)
        require(type(mu) is int and mu >= 2, "the arity of its nodes")
        self.mu, self.algorithm = mu, algorithm_of(mu)
        self.s = self._new_store(self.capacity)
        self.s.resume(tree, lambda partial: None if partial is None else load(partial))
        self._counted()
        self.check_invariants()

    def check_invariants(self) -> None:
        """Arities, depth, order of times, the place of each node, and its aggregate and size by definition."""
        tree = self.s
        assert (tree.root.role, tree.root.parent) == (ROOT, None)
        assert (tree.left, tree.right) == ends(tree.root), "fingers"
        assert not tree.undo and not tree.dirty
        times = [*self._walk(tree.root)]
        assert len(times) == tree.n == len(self), (len(times), tree.n, len(self))
        assert all(not b < a for a, b in pairwise(times)), "times are not sorted"

    def _walk(self, node: Node) -> Iterable[Any]:
        """Checks a subtree, and gives its times."""
        tree = self.s
        least = 1 if node.role == ROOT and not node.kids else 2 if node.role == ROOT else tree.mu
        assert least <= node.arity <= 2 * tree.mu, f"arity {node.arity} of a node of role {node.role}"
        assert len(node.rows) == len(node.times)
        assert len(node.kids) == (node.arity if node.height else 0), "every leaf is at height 0"
        agg, size = tree.definition(node)
        assert node.size == size, f"size {node.size}, and it should be {size}"
        a, b = self._answer(node.agg), self._answer(agg)
        assert alike(a, b), f"aggregate of a node of role {node.role}: {a!r}, and it should be {b!r}"
        for i, kid in enumerate(node.kids):
            assert kid.parent is node and kid.height == node.height - 1
            first, last = i == 0, i == len(node.kids) - 1
            left, right = first and node.role in (LEFT, ROOT), last and node.role in (RIGHT, ROOT)
            assert kid.role == (LEFT if left else RIGHT if right else INNER), (kid.role, node.role, i)
            yield from self._walk(kid)
            if not last:
                yield node.times[i]
        if not node.kids:
            yield from node.times


def _checked(time: Any) -> Any:
    if time is None or time != time:
        raise OptionError(f"{time!r} is no time")
    return time
