"""FiBA's nodes: what each aggregates by its place in the tree, how that is repaired, and how an edit is undone.

A B-tree of arity mu to 2 mu with rows in inner nodes too. With kids k and rows v, a node reads k0 v0 k1 ... and keeps

    INNER   Π↑ = all of its subtree
    LEFT    Π↙ = v0 k1 v1 ... (all but k0) ⊕ Π↙ of the parent, if that is not the root: what lies between the left
            finger and the root, read from below
    RIGHT   Π↘ = Π↘ of the parent, if that is not the root ⊕ k0 v0 ... (all but the last kid)
    ROOT    Π  = v0 k1 ... (all but the first and the last kid); all, where it is a leaf

so that the window is Π↙(left finger) ⊕ Π(root) ⊕ Π↘(right finger), and an edit near a finger stays near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

INNER, LEFT, RIGHT, ROOT, GONE = "inner", "left", "right", "root", "gone"


class Node:
    """One node. `size` counts its rows as the aggregate takes them in, but for what `agg` has from the parent."""

    __slots__ = ("agg", "height", "kids", "parent", "role", "rows", "size", "times")

    def __init__(self, height: int, role: str, times: list, rows: list, kids: list[Node]) -> None:
        self.height, self.role = height, role
        self.times, self.rows, self.kids = times, rows, kids
        self.parent: Node | None = None
        self.agg: Any = None
        self.size = 0

    @property
    def arity(self) -> int:
        return len(self.times) + 1

    def own_kids(self) -> range:
        """Which kids its aggregate takes in."""
        return range(self.role in (LEFT, ROOT), len(self.kids) - (self.role in (RIGHT, ROOT)))

    def copy(self) -> Node:
        """The subtree in memory of its own."""
        twin = Node(self.height, self.role, [*self.times], [*self.rows], [kid.copy() for kid in self.kids])
        twin.agg, twin.size = self.agg, self.size
        for kid in twin.kids:
            kid.parent = twin
        return twin

    def saved(self, dump: Callable[[Any], Any]) -> tuple:
        """The subtree without its aggregates, as nested tuples."""
        return [*self.times], [dump(row) for row in self.rows], [kid.saved(dump) for kid in self.kids]


class Nodes:
    """A tree's nodes, fingers and aggregates; `FibaTree` adds what is done with them."""

    root: Node
    left: Node  # the left finger: the leaf of the oldest rows
    right: Node  # the right finger

    def __init__(self, combine: Callable[[Any, Any], Any], identity: Any, mu: int) -> None:
        self.combine, self.identity, self.mu = combine, identity, mu
        self.clear()

    def clear(self) -> None:
        self.root = self.left = self.right = Node(0, ROOT, [], [], [])
        self.root.agg = self.identity
        self.n = 0
        self.undo: dict[Node, tuple] = {}  # nodes as they were before this edit
        self.dirty: dict[Node, None] = {}  # nodes whose aggregate this edit has made wrong

    def copy(self) -> Any:
        twin = type(self)(self.combine, self.identity, self.mu)
        twin.n, twin.root = self.n, self.root.copy()
        twin.left, twin.right = ends(twin.root)
        return twin

    def resume(self, state: tuple, load: Callable[[Any], Any]) -> None:
        """Becomes the tree whose root was `saved`."""

        def build(role: str, times: list, rows: list, kids: list) -> Node:
            last = len(kids) - 1
            built = []
            for i, kid in enumerate(kids):
                left, right = i == 0 and role in (LEFT, ROOT), i == last and role in (RIGHT, ROOT)
                built.append(build(LEFT if left else RIGHT if right else INNER, *kid))
            node = Node(built[0].height + 1 if built else 0, role, times, [load(row) for row in rows], built)
            for kid in built:
                kid.parent = node
            if role == INNER:
                self.aggregate(node)
            self.n += len(times)
            return node

        self.root = build(ROOT, *state)
        self.left, self.right = ends(self.root)
        self.repair(new_root=True)
        self.undo.clear()

    # Edits: all or nothing.

    def edit(self, change: Callable, *arguments: Any) -> None:
        """Runs a change of the tree and repairs the aggregates; a combine that raises undoes it all."""
        before = self.root, self.left, self.right, self.n
        self.undo.clear()
        self.dirty.clear()
        try:
            change(*arguments)
            self.repair(self.root is not before[0])
        except BaseException:
            self.root, self.left, self.right, self.n = before
            for node, fields in self.undo.items():
                node.parent, node.role, node.agg, node.size = fields[:4]
                node.times, node.rows, node.kids = fields[4:]
            raise
        finally:
            self.undo.clear()
            self.dirty.clear()

    def touch(self, node: Node, dirty: bool = True) -> None:
        """To be called before a node is changed."""
        if node not in self.undo:
            self.undo[node] = (
                node.parent, node.role, node.agg, node.size, [*node.times], [*node.rows], [*node.kids],
            )  # fmt: skip
        if dirty:
            self.dirty[node] = None

    def adopt(self, parent: Node, kids: list[Node]) -> None:
        for kid in kids:
            self.touch(kid, dirty=False)
            kid.parent = parent

    def repair(self, new_root: bool = False) -> None:
        """Recomputes what an edit made wrong: Π↑ from below, then the root, then each spine down to its finger."""
        root = self.root
        by_height: list[list[Node]] = [[] for _ in range(root.height + 1)]
        for node in self.dirty:
            if node.role != GONE:
                by_height[node.height].append(node)
        reach = {LEFT: -1, RIGHT: -1, ROOT: -1}  # the highest spine node to recompute
        for height, nodes in enumerate(by_height):
            for node in dict.fromkeys(nodes):
                if node.role == INNER:
                    self.aggregate(node)
                    assert node.parent is not None
                    by_height[height + 1].append(node.parent)
                else:
                    reach[node.role] = height
        if new_root:
            reach = dict.fromkeys(reach, root.height - 1)
        if new_root or reach[ROOT] >= 0:
            self.aggregate(root)
        for finger, role in ((self.left, LEFT), (self.right, RIGHT)):
            for node in reversed([*spine(finger, reach[role])]):
                self.aggregate(node)

    def aggregate(self, node: Node) -> None:
        """Sets a node's aggregate and size from its rows, its kids and, on a spine, its parent."""
        self.touch(node, dirty=False)
        agg, size = self.definition(node)
        node.agg, node.size = agg, size

    def definition(self, node: Node) -> tuple[Any, int]:
        """What a node's aggregate and size are to be."""
        own, parts, size = node.own_kids(), [], len(node.times)
        for i in range(node.arity):
            if i in own:
                parts.append(node.kids[i].agg)
                size += node.kids[i].size
            if i < len(node.rows):
                parts.append(node.rows[i])
        parent = node.parent
        if parent is not None and parent is not self.root:
            if node.role == LEFT:
                parts.append(parent.agg)
            elif node.role == RIGHT:
                parts.insert(0, parent.agg)
        return self.fold(parts), size

    def fold(self, parts: list) -> Any:
        if not parts:
            return self.identity
        total = parts[0]
        for part in parts[1:]:
            total = self.combine(total, part)
        return total


def spine(finger: Node, height: int) -> Iterator[Node]:
    """The nodes from a finger up to a height, the root left out."""
    node: Node | None = finger
    while node is not None and node.role != ROOT and node.height <= height:
        yield node
        node = node.parent


def ends(root: Node) -> tuple[Node, Node]:
    """The first and the last leaf."""
    first = last = root
    while first.kids:
        first, last = first.kids[0], last.kids[-1]
    return first, last
