"""The trees of a window that is in a store: for each key some `swag.AMTA`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.stores.keys import CHECKPOINT, of_window
from windrow.swag import AMTA
from windrow.swag.mta_store import opened

BUFFER = CACHE = 2048  # partials: more than paper 4's 512, because rows come in batches


class Shelf:
    """Trees by key and part. A step changes them in place; `commit` or `rollback` ends it."""

    def __init__(self, store: Any, name: str) -> None:
        """`name` is what the names of all trees begin with."""
        self.store, self.name = store, name
        self.trees: dict[tuple[int, str], Any] = {}
        self.made = 0  # trees so far; each has its number in its name
        self.referred = False  # a snapshot refers to the trees
        self._names: dict[str, None] = {}  # of all trees that are or were
        self._marks: dict[tuple[int, str], str] = {}  # the checkpoint of each tree that has not changed since
        self._touched: dict[tuple[int, str], str | None] = {}  # in this step, with their marks
        self._new = 0  # of these, how many were made; they are the last ones

    def tree(self, key: int, part: str, aggregate: Aggregate) -> Any:
        """A tree, to be changed."""
        at = key, part
        if at not in self._touched:
            if at not in self.trees:
                self._make(at, aggregate)
            self.trees[at].begin()
            self._touched[at] = self._marks.pop(at, None)
        return self.trees[at]

    def _make(self, at: tuple[int, str], aggregate: Aggregate) -> None:
        name = f"{self.name}, tree {self.made}, {at[1]}"
        self._names[name] = None
        if (
            self.store.get_many([of_window(name, CHECKPOINT)])[0] is not None
        ):  # of a snapshot that nobody has gone on from
            AMTA.forget(self.store, name)
        self.trees[at] = AMTA(aggregate, store=self.store, buffer=BUFFER, cache=CACHE, name=name)
        self.made += 1
        self._new += 1

    def commit(self) -> None:
        """The step stays."""
        for at in self._touched:
            self.trees[at].commit()
        self._touched, self._new = {}, 0

    def rollback(self) -> None:
        """The step is taken back."""
        while self._new:
            at, tree = self.trees.popitem()
            tree.close()
            self._touched.pop(at, None)
            self._new, self.made = self._new - 1, self.made - 1
        for at, mark in self._touched.items():
            self.trees[at].rollback()
            if mark is not None:
                self._marks[at] = mark
        self._touched = {}

    # Snapshots.

    def checkpoint(self, mark: str) -> None:
        """Makes all trees durable; what has not changed stays as it was."""
        for at, tree in self.trees.items():
            if at not in self._marks:
                tree.checkpoint(note=mark)
        for at in self.trees:
            self._marks.setdefault(at, mark)

    def confirm(self) -> None:
        """All of a snapshot is durable: the next one must leave this one as it is."""
        for tree in self.trees.values():
            tree.confirm()
        self.referred = True

    def reference(self) -> list[tuple[int, str, str, str]]:
        """What a snapshot keeps of the trees: key, part, name and checkpoint of each."""
        return [(*at, self.trees[at].window, mark) for at, mark in self._marks.items()]

    def reopen(self, reference: list[tuple[int, str, str, str]], aggregate: Callable[[str], Aggregate]) -> None:
        """The trees as they were at that snapshot; `SnapshotError` where the store does not have them any more."""
        self.referred = True
        for key, part, name, mark in reference:
            tree: Any = opened(AMTA, aggregate(part), self.store, name, BUFFER, mark)
            tree.confirm()
            self._names[name] = None
            self.trees[key, part], self._marks[key, part] = tree, mark

    def close(self) -> None:
        """Ends the trees' threads; what no snapshot refers to leaves the store."""
        self._end()
        if not self.referred:
            self._clear()

    def delete(self) -> None:
        """Deletes all of it from the store, whoever refers to it."""
        self._end()
        self._clear()

    def _end(self) -> None:
        for tree in self.trees.values():
            tree.close()
        self.trees, self._marks = {}, {}

    def _clear(self) -> None:
        for name in self._names:
            AMTA.forget(self.store, name)
