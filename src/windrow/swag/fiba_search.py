"""FiBA's questions to its tree: where a row goes, how many rows come before a time, what a range aggregates to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from windrow.swag.fiba_node import INNER, LEFT, Node, Nodes


class Searched(Nodes):
    """The tree as it is asked; nothing here changes it."""

    # Finger search: O(log d) for the d-th row from either end.

    def leaf_for(self, time: Any) -> Node:
        """The leaf where a row of this time goes, after all rows of equal time: climbs from both fingers at once."""
        left, right = self.left, self.right
        while True:
            if left.parent is None or right.parent is None or not time < right.parent.times[-1]:
                return self.down(right, time)
            if time < left.parent.times[0]:
                return self.down(left, time)
            left, right = left.parent, right.parent

    def next_leaf_for(self, time: Any, leaf: Node) -> Node:
        """The same from the leaf of a row that is not newer."""
        node = leaf
        while node.parent is not None:
            parent = node.parent
            i = parent.kids.index(node)
            if i < len(parent.times) and time < parent.times[i]:
                break
            node = parent
        return self.down(node, time)

    def bound(self, node: Node) -> list:
        """The time of the row that follows a node's subtree; [] where none does."""
        while node.parent is not None:
            i = node.parent.kids.index(node)
            if i < len(node.parent.times):
                return [node.parent.times[i]]
            node = node.parent
        return []

    def down(self, node: Node, time: Any) -> Node:
        while node.kids:
            node = node.kids[bisect_right(node.times, time)]
        return node

    # Aggregates and counts.

    def total(self) -> Any:
        if not self.root.kids:
            return self.root.agg
        return self.combine(self.combine(self.left.agg, self.root.agg), self.right.agg)

    def count_before(self, time: Any, inclusive: bool) -> int:
        """How many rows are before a time (or at it), from the left finger upwards and down again."""
        find = bisect_right if inclusive else bisect_left
        node = self.left
        sizes = [node.size]  # of the left spine's subtrees
        while node.parent is not None and find(node.times, time) == len(node.times):
            node = node.parent
            sizes.append(sizes[-1] + node.size)
        count = 0
        while True:
            i = find(node.times, time)
            count += i
            for kid in node.kids[:i]:
                count += sizes[kid.height] if kid.role == LEFT else kid.size
            if not node.kids:
                return count
            node = node.kids[i]

    def between(self, start: Any, end: Any) -> Any:
        """The rows of start <= time < end."""
        return self.fold([*self.parts(self.root, start, end, False, False)])

    def parts(self, node: Node, start: Any, end: Any, after: bool, before: bool) -> Iterator[Any]:
        """Partials that make up a node's share of a range, knowing that it lies `after` its start, `before` its end."""
        if after and before and node.role == INNER:
            yield node.agg
            return
        a = 0 if after else bisect_left(node.times, start)
        z = len(node.times) if before else bisect_left(node.times, end)
        for i in range(a, z + 1):
            if node.kids:
                yield from self.parts(node.kids[i], start, end, after or i > a, before or i < z)
            if i < z:
                yield node.rows[i]

    def rows_of(self, node: Node) -> Iterator[Any]:
        """The rows of a subtree, oldest first."""
        if not node.kids:
            yield from node.rows
            return
        for kid, row in zip(node.kids, node.rows, strict=False):  # the last kid has no row after it
            yield from self.rows_of(kid)
            yield row
        yield from self.rows_of(node.kids[-1])
