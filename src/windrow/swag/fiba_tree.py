"""FiBA's edits of its tree: insertion of a sorted run, eviction of the oldest.

Insertion of one row is that of a run of one; so is eviction of one row, but for where it stops refilling.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any

from windrow.swag.fiba_node import GONE, INNER, LEFT, RIGHT, ROOT, Node
from windrow.swag.fiba_search import Searched


class FibaTree(Searched):
    """Rows by time; of equal times, by arrival."""

    # Insertion.

    def insert(self, time: Any, row: Any) -> None:
        leaf = self.right
        if leaf.arity < 2 * self.mu and not (leaf.times and time < leaf.times[-1]):  # in order: one combine
            agg = self.combine(leaf.agg, row) if self.n else row
            leaf.times.append(time)
            leaf.rows.append(row)
            leaf.agg = agg
            leaf.size += 1
            self.n += 1
        else:
            self.edit(self.absorb, [(time, row)])

    def insert_run(self, run: list[tuple[Any, Any]]) -> None:
        """Rows sorted by time, at once: each leaf and each inner node on the way is split and recomputed once."""
        if run:
            self.edit(self.absorb, run)

    def absorb(self, run: list[tuple[Any, Any]]) -> None:
        groups: dict[Node, list] = {}
        leaf = self.leaf_for(run[0][0])
        bound = self.bound(leaf)
        for time, row in run:
            if bound and not time < bound[0]:
                leaf = self.next_leaf_for(time, leaf)
                bound = self.bound(leaf)
            groups.setdefault(leaf, []).append((time, row))
        self.n += len(run)
        for leaf, rows in groups.items():
            self.touch(leaf)
            at = 0
            if not (leaf.times and rows[0][0] < leaf.times[-1]):
                leaf.times.extend(time for time, _ in rows)
                leaf.rows.extend(row for _, row in rows)
                continue
            for time, row in rows:
                at = bisect_right(leaf.times, time, at)
                leaf.times.insert(at, time)
                leaf.rows.insert(at, row)
        level = [*groups]
        while level:  # splits, level by level
            above: dict[Node, None] = {}
            for node in level:
                if node.arity > 2 * self.mu:
                    above[self.split(node)] = None
            level = [*above]

    def split(self, node: Node) -> Node:
        """Splits a node of any size into nodes of about 3/2 mu, each after the first beside it; their parent."""
        count = max(2, round(node.arity / (1.5 * self.mu)))
        self.touch(node)
        if node.parent is None:
            self.root = Node(node.height + 1, ROOT, [], [], [node])
            self.dirty[self.root] = None
            node.parent = self.root
        parent, role = node.parent, node.role
        self.touch(parent)
        bounds = [node.arity * i // count for i in range(count + 1)]  # of the kids; row b-1 stands before kid b
        pieces = [
            Node(node.height, INNER, node.times[a : b - 1], node.rows[a : b - 1], node.kids[a:b])
            for a, b in pairwise(bounds[1:])
        ]
        i = parent.kids.index(node)
        parent.times[i:i] = [node.times[b - 1] for b in bounds[1:-1]]
        parent.rows[i:i] = [node.rows[b - 1] for b in bounds[1:-1]]
        parent.kids[i + 1 : i + 1] = pieces
        del node.times[bounds[1] - 1 :], node.rows[bounds[1] - 1 :], node.kids[bounds[1] :]
        for piece in pieces:
            piece.parent = parent
            self.adopt(piece, piece.kids)
            self.dirty[piece] = None
        if role in (RIGHT, ROOT):
            node.role, pieces[-1].role = (LEFT if role == ROOT else INNER), RIGHT
            if node is self.right:
                self.right = pieces[-1]
        return parent

    # Eviction: along the left spine.

    def evict(self, k: int) -> None:
        """Drops the k oldest rows; whole subtrees without a look into them."""
        if k == self.n:
            self.clear()
        elif k == 1:
            self.edit(self.evict_oldest)
        elif k:
            self.edit(self.cut, k)

    def evict_oldest(self) -> None:
        leaf = self.left
        self.touch(leaf)
        del leaf.times[0], leaf.rows[0]
        self.n -= 1
        self.refill(leaf, self.mu)

    def cut(self, k: int) -> None:
        self.n -= k
        node = self.left
        below, within = 0, node.size  # rows in its first kid's subtree, and in its own
        while k > within and node.parent is not None:
            node = node.parent
            below, within = within, within + node.size
        while True:  # down from there: the new left spine. Each node gets more kids than it needs before one may go.
            self.touch(node)
            i = 0
            size = below
            while node.kids and i < len(node.times) and k > size:  # a kid and the row after it
                k -= size + 1
                i += 1
                size = node.kids[i].size  # not asked for where it is the last, on the right spine
            if not node.kids:
                i = k
            del node.times[:i], node.rows[:i], node.kids[:i]
            self.refill(node, self.mu + 1)
            if not node.kids:
                break
            node = node.kids[0]
            if node.role == INNER:
                self.touch(node)
                node.role = LEFT
            below = node.kids[0].size if node.kids else 0
        self.left = node

    def refill(self, node: Node, need: int) -> None:
        """Rows and kids for a node on the left spine that has too few: from its right neighbour, or all of it."""
        while node.arity < need and node.parent is not None:
            parent = node.parent
            if len(parent.kids) == 1:
                break  # a root with one kid
            other = parent.kids[1]
            for changed in (node, other, parent):
                self.touch(changed)
            both = node.arity + other.arity
            take = other.arity if both <= 2 * self.mu else max(need, both // 2) - node.arity
            self.adopt(node, other.kids[:take])
            node.times += [parent.times[0], *other.times[: take - 1]]
            node.rows += [parent.rows[0], *other.rows[: take - 1]]
            node.kids += other.kids[:take]
            if take < other.arity:
                parent.times[0], parent.rows[0] = other.times[take - 1], other.rows[take - 1]
                del other.times[:take], other.rows[:take], other.kids[:take]
                break
            del parent.times[0], parent.rows[0], parent.kids[1]
            if other.role == RIGHT:
                node.role = RIGHT
                if other is self.right:
                    self.right = node
            other.role = GONE
            node, need = parent, self.mu
        root = self.root
        while len(root.kids) == 1:  # the root has given all it had
            self.touch(root)
            self.touch(root.kids[0])
            root.role, root = GONE, root.kids[0]
            root.parent, root.role = None, ROOT
        self.root = root
