"""Where the partials of a stored window live: for each key a few `swag.AMTA`s over the query's store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.compiler import CompilationFailed
from windrow.errors import StoreError
from windrow.sharing import passes
from windrow.sharing.groups import Group
from windrow.stores.keys import CHECKPOINT, of_window
from windrow.swag import AMTA, mta_ranges
from windrow.swag.mta_store import opened
from windrow.windows.base import Window
from windrow.windows.kinds import Periodic, Policy, Trailing

CLOCK = "clock"  # the part that tells where partials lie along the measure; groups are parts by number
BUFFER = CACHE = 2048  # partials: more than paper 4's 512, because rows come in batches


def storable(window: Window) -> bool:
    """Whether a live query with a store keeps this window there: rows come and go at its ends, oldest first."""
    return isinstance(window, (Periodic, Trailing, Policy))


@dataclass
class Shelf:
    """The trees of one window of a query: for each key a clock, and one for each group of aggregates."""

    store: Any
    name: str  # what their names begin with
    trees: dict[tuple[int, str], Any] = field(default_factory=dict)
    marks: dict[tuple[int, str], str] = field(default_factory=dict)  # the checkpoint of each that is of today
    names: list[str] = field(default_factory=list)  # of all that are or were
    guard: contextlib.ExitStack | None = None  # while it is there: what is touched can step back
    touched: set[tuple[int, str]] = field(default_factory=set)

    def tree(self, key: int, part: str, aggregate: Aggregate) -> Any:
        """One of them, to be changed."""
        at = key, part
        if at not in self.trees:
            name = self._called(at)
            if self.store.get(of_window(name, CHECKPOINT)) is not None:  # of a snapshot that nobody has gone on from
                AMTA.forget(self.store, name)
            self.names.append(name)
            self.trees[at] = AMTA(aggregate, store=self.store, buffer=BUFFER, cache=CACHE, name=name)
        if self.guard is not None and at not in self.touched:
            self.guard.enter_context(self.trees[at]._all_or_nothing())
        self.touched.add(at)
        self.marks.pop(at, None)
        return self.trees[at]

    def _called(self, at: tuple[int, str]) -> str:
        return f"{self.name}, key {at[0]}, {at[1]}"

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Steps back where what is done within raises."""
        count, marks = len(self.trees), dict(self.marks)
        self.touched = set()
        try:
            with contextlib.ExitStack() as self.guard:
                yield
            for at in self.touched:  # nothing was deleted as long as it might have had to step back
                self.trees[at]._sweep()
        except BaseException:
            while len(self.trees) > count:
                self.trees.popitem()[1].close()
            self.marks = marks
            raise
        finally:
            self.guard = None

    def checkpointed(self, mark: str) -> None:
        """Makes all durable; what has not changed stays as it was."""
        for at, tree in self.trees.items():
            if at not in self.marks:
                tree.checkpoint(note=mark)
        for at in self.trees:
            self.marks.setdefault(at, mark)

    def confirm(self) -> None:
        """All of a snapshot is durable: the next one must leave this one as it is."""
        for tree in self.trees.values():
            tree.confirm()

    def reference(self) -> list[tuple]:
        """What a snapshot keeps of it."""
        return [(key, part, mark) for (key, part), mark in self.marks.items()]

    def reopen(self, reference: list[tuple], aggregate: Callable[[str], Aggregate]) -> None:
        """The trees as they were at that snapshot; `SnapshotError` where the store does not have them any more."""
        for key, part, mark in reference:
            at = key, part
            tree: Any = opened(AMTA, aggregate(part), self.store, self._called(at), BUFFER, mark)
            tree.confirm()
            self.names.append(tree.window)
            self.trees[at], self.marks[at] = tree, mark

    def close(self, forget: bool) -> None:
        """Ends their threads; `forget`: what they have in the store goes, too."""
        for tree in self.trees.values():
            tree.close()
        self.trees, self.marks = {}, {}
        if forget:
            self.forget()

    def forget(self) -> None:
        """Deletes all of it from the store."""
        self.close(forget=False)
        for name in self.names:
            AMTA.forget(self.store, name)


def answered(
    shelf: Shelf, group: Group, part: str, key: int, slots: Any, lo: np.ndarray, hi: np.ndarray,
    tail: np.ndarray, prefixes: Any, begin: int,
) -> tuple[tuple, tuple]:  # fmt: skip
    """The answers of one key's windows; `Failed` with the number of one, counted from `begin`, where it raises."""
    tree = shelf.tree(key, part, group.of)
    out, valid = group.room(len(lo))
    done = np.zeros(1, np.int64)
    try:
        mta_ranges.answer(tree, group.form, slots, lo, hi, tail, prefixes, out, valid, done)
    except (CompilationFailed, StoreError):
        raise
    except Exception as error:
        raise passes.Failed(begin + int(done[0])) from error
    return out, valid


def part_of(slots: Any, start: int, end: int) -> Any:
    """Some of the slots."""
    return slots[start:end] if isinstance(slots, list) else tuple(column[start:end] for column in slots)
