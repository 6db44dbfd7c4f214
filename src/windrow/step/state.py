"""What a query knows of each key: a row of words, and blocks of slots."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from windrow.engine.due import Due
from windrow.engine.forms import Form, plain_form
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_asks import by_ask, by_ask_waiting, newest
from windrow.engine.keyed_loops import by_row, by_row_waiting, shared, slice_at, sliced
from windrow.engine.keyed_ranges import by_ranges, by_ranges_waiting, ranges_answered
from windrow.engine.table import Table, bits
from windrow.engine.walking import WalkState
from windrow.engine.walks import HIGHEST, LOWEST
from windrow.step.groups import Group
from windrow.step.plan import Plan
from windrow.step.sharing import SharedRing
from windrow.step.shelf import Shelf
from windrow.step.stored import StoredWindow
from windrow.swag import ALGORITHMS
from windrow.swag.flat_fit import fusing, traverse
from windrow.windows.base import TIME, Window

if TYPE_CHECKING:
    from windrow.step.chunks import Chunks

#: words that every key has: how many rows it had, and when it is due
COUNT, DUE = 0, 1
_NO_KEYS = np.empty(0, np.int64)


class GroupState:
    """The partials of one window, or of several that share a ring, and one group of aggregates."""

    def __init__(self, table: Table, windows: Sequence[Window], group: Group, algorithm: str) -> None:
        kept = ALGORITHMS[algorithm].algorithm
        form = _form_for(group, algorithm)
        self.windows = KeyedWindows(table, form, kept)
        self.queue: KeyedWindows | None = None
        self.shared, self.per_row = len(windows) > 1, windows[0].per_row
        if self.per_row and getattr(windows[0], "waits", False):
            self.queue = KeyedWindows(table, form, ALGORITHMS["recalculate"].algorithm)
        self.parts = [self.windows] if self.queue is None else [self.windows, self.queue]
        self._loops: dict[bool, Callable] = {}
        self._asks: Callable | None = None

    def loop(self, over_slices: bool) -> Callable:
        """The loop that takes rows through the windows, or slices that were folded elsewhere."""
        if over_slices not in self._loops:
            self._loops[over_slices] = self._loop(over_slices)
        return self._loops[over_slices]

    def _loop(self, over_slices: bool) -> Callable:
        windows, queue = self.windows, self.queue
        what, lift = (" of slices", slice_at(windows.form)) if over_slices else ("", windows.form.lift_at)
        waiting = () if queue is None else (queue.kernel, queue.access())

        def jumps() -> Callable:
            return traverse(windows.form)

        if not self.per_row:
            if self.shared:
                return windows.loop("shared" + what, shared, lift, lambda: (jumps(), fusing(windows.form)))
            return windows.loop("sliced" + what, sliced, lift)
        if self.shared:
            if queue is not None:
                return windows.loop("by ranges, waiting", by_ranges_waiting, jumps, *waiting)
            return windows.loop("by ranges", by_ranges, jumps)
        if queue is not None:
            return windows.loop("by row, waiting", by_row_waiting, *waiting)
        return windows.loop("by row", by_row)

    def asks(self) -> Callable:
        """The loop that answers rows that ask."""
        if self._asks is None:
            windows = self.windows
            make = by_ask if self.queue is None else by_ask_waiting
            waiting = () if self.queue is None else (self.queue.access(),)
            if self.shared:
                answered = partial(ranges_answered, windows.form, lambda: traverse(windows.form))
            else:
                answered = partial(newest, windows.form, windows.kernel)
            name = f"by ask{', ranges' if self.shared else ''}{', waiting' if waiting else ''}"
            self._asks = windows.loop(name, make, answered, *waiting)
        return self._asks


def _form_for(group: Group, algorithm: str) -> Form:
    """The group's form; where the algorithm takes out what it put in, one that has an exact inverse."""
    kept = ALGORITHMS[algorithm]
    if not kept.counted or (group.form.compiled and group.form.inverse is not None):
        return group.form
    return plain_form(kept(group.of).of, counted=True)


class State:
    """Columns by key, and nothing else. A step changes it in place; `commit` or `rollback` ends the step."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.table = Table()
        self.table.add([0, HIGHEST])
        self.newest = {}
        for measure, dtype in plan.dtypes.items():
            lowest = -np.inf if dtype.kind == "f" else LOWEST
            self.newest[measure] = self.table.add(bits([lowest], [dtype]))
        self.walks: dict[str, WalkState] = {}
        self.groups: dict[tuple[str, ...], list[GroupState]] = {}  # by the windows of a ring
        self.stored: dict[str, StoredWindow] = {}
        called = f"query {secrets.token_hex(8)}"  # what the names of all that is in a store begin with
        for name, window in plan.windows.items():
            if name in plan.stored:
                self.walks[name] = walk = window.stored_state(self.table, plan.dtype(window))
                shelf = Shelf(plan.store, f"{called}, window {name}")
                self.stored[name] = StoredWindow(window, plan.arrangement.groups, walk, shelf)
                continue
            self.walks[name] = window.state_over(self.table, plan.dtype(window), plan.columns)
            if plan.ring(name) == (name,):
                self._keep((name,), plan.algorithms[name])
        self.rings: dict[tuple[str, ...], SharedRing] = {}
        for ring in plan.rings:
            if not plan.windows[ring[0]].per_row:
                self.rings[ring] = SharedRing(self.table, [self.walks[name] for name in ring])
            self._keep(ring, "flat_fit")
        self.parts = self._all_parts()  # all that has blocks of slots
        self.due = Due()
        self.until = LOWEST  # event time
        #: the windows by event time, which are due at some time
        self.timed = [(name, window) for name, window in plan.windows.items() if window.measure == TIME]
        self.counted = any(window.numbers_rows for window in plan.windows.values())
        self.chunks: Chunks | None = None  # of large rings that lie apart, if any do
        self._saved: tuple[np.ndarray, np.ndarray, int] | None = None

    def _keep(self, ring: tuple[str, ...], algorithm: str) -> None:
        windows = [self.plan.windows[name] for name in ring]
        self.groups[ring] = [GroupState(self.table, windows, g, algorithm) for g in self.plan.arrangement.groups]

    def _all_parts(self) -> list[WalkState | KeyedWindows | StoredWindow]:
        trees = (part for walk in self.walks.values() for part, _ in walk.kept)
        windows = (part for groups in self.groups.values() for g in groups for part in g.parts)
        return [*self.walks.values(), *trees, *windows, *self.stored.values()]

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; what partials in plain Python hold is not counted."""
        pools = [walk.ring for walk in self.walks.values()]
        pools += [slots for part in self.parts if isinstance(part, KeyedWindows) for slots in part.slots]
        return self.table.words.nbytes + sum(column.nbytes for pool in pools for column in pool.columns)

    def grow(self, keys: int) -> None:
        """Room for so many keys."""
        if keys > len(self.table.words):
            self.table.grow(keys)
            for part in self.parts:
                if isinstance(part, KeyedWindows):
                    part.grow(len(self.table.words))

    def start_at(self, row: int) -> None:
        """Keys begin with this row number; as long as there are none."""
        assert not len(self.table.words)
        self.table.first[COUNT] = row

    def known(self, keys: np.ndarray) -> np.ndarray:
        """Of which of the keys anything is known."""
        return (self.table.words[keys] != self.table.first).any(axis=1)

    def due_at(self, keys: np.ndarray) -> np.ndarray:
        """For each key the event time before which nothing of it becomes final or can be forgotten."""
        return self.table.words[keys, DUE]

    # A step.

    def begin(self, keys: np.ndarray) -> None:
        """A step that touches these keys (all different) begins."""
        self._saved = keys, self.table.words.take(keys, 0), self.until

    @property
    def touched(self) -> np.ndarray:
        """The keys that the step touches."""
        return _NO_KEYS if self._saved is None else self._saved[0]

    def commit(self) -> None:
        """The step stays."""
        self._saved = None
        self.due.commit()
        for part in self.parts:
            part.commit()

    def rollback(self) -> None:
        """As it was before the step; also where the step has taken out due keys and nothing else."""
        self.due.rollback()
        if self._saved is None:
            return
        keys, words, self.until = self._saved
        self._saved = None
        for part in self.parts:
            part.rollback()
        self.table.words[keys] = words

    def due_keys(self, until: int) -> np.ndarray:
        """The keys that are due by then, ascending. Until the step is over, the heap can take them back."""
        return self.due.pop(self.table.words, DUE, until)

    def schedule(self, keys: np.ndarray) -> bool:
        """Finds out when the keys are due next. Whether some may be `idle`."""
        if not self.timed:
            return True
        name, window = self.timed[0]
        when = window.due(self.walks[name], keys)
        for name, window in self.timed[1:]:
            when = np.minimum(when, window.due(self.walks[name], keys))
        return self.due.schedule(self.table.words, DUE, keys, when)

    def idle(self, keys: np.ndarray) -> np.ndarray:
        """Those of the keys that may be forgotten. A key that is due at some time is none of them."""
        if self.counted or self.newest or self.stored:  # a snapshot may refer to what a key has in a store
            return keys[:0]
        keys = keys[self.table.words[keys, DUE] == HIGHEST]
        for name, window in self.plan.windows.items():
            if len(keys):
                keys = keys[window.idle(self.walks[name], keys)]
        return keys

    def forget(self, keys: np.ndarray) -> None:
        """The keys' numbers may be given to other keys. Between steps: it cannot be taken back."""
        for part in self.parts:
            part.forget(keys)
            part.commit()
        self.table.forget(keys)

    # What is in a store.

    def checkpoint(self) -> None:
        """Makes it durable, beside what the last confirmed checkpoint has. `dump` refers to it."""
        mark = secrets.token_hex(8)
        for window in self.stored.values():
            window.shelf.checkpoint(mark)

    def confirm(self) -> None:
        """The last checkpoint is one to come back to."""
        for window in self.stored.values():
            window.shelf.confirm()

    def close(self) -> None:
        """No step comes any more. What no snapshot refers to leaves the store."""
        for window in self.stored.values():
            window.shelf.close()

    def delete(self) -> None:
        """No step comes any more, and nothing is left in the store."""
        for window in self.stored.values():
            window.shelf.delete()
