"""LogMTA and AMTA over a store (paper 4 §4.1.5, §4.2): windows that outgrow memory and outlive the process.

    store = stores.rocksdb("/var/lib/windrow")
    w = swag.AMTA(agg.max(), store=store, name="load")
    w.insert(3); w.evict_many(1000); w.enforce(policy); w.query()
    w.checkpoint()                                                   # durable up to here
    w = swag.AMTA.open(agg.max(), store, name="load")                # after a crash: from there on

An operation that raises, because of the store or the aggregate, has not happened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate, same
from windrow.engine import batch, snapshot
from windrow.engine.columns import copied, copied_slots, move, read, room, write
from windrow.engine.identity import described
from windrow.errors import OptionError, SnapshotError, StoreError, Unsupported, WrongType
from windrow.stores.base import Batch, Store
from windrow.stores.keys import CHECKPOINT, OWNER, PREVIOUS, all_of, of_page, of_window
from windrow.swag import amta, log_mta, mta_batch, mta_checkpoint, mta_pages
from windrow.swag.base import Monoid, Swag
from windrow.swag.mta_checkpoint import Checkpoint, new_epoch
from windrow.swag.mta_io import Pager
from windrow.swag.mta_layers import Layered
from windrow.swag.mta_levels import MonoidTree, TreeKernel
from windrow.swag.mta_paging import A, in_layers, layered


class Stored(Layered):
    """What both have in common beyond the layers: a name, checkpoints, and batches that happen wholly or not at all."""

    number = 0  # of the last checkpoint
    inserted = 0  # rows since the window was made, those that are gone included
    note: Any = None  # what the last checkpoint was given to keep
    confirmed: tuple[bytes, list[int]] | None = None  # a checkpoint that is kept beside the last one: it, its heads
    _latest: tuple[bytes, list[int]] | None = None
    _before: tuple | None = None  # the layers as they were at `begin`

    def __init__(
        self,
        aggregate: Aggregate,
        *,
        capacity: int = 16,
        store: Any = None,
        buffer: int = 512,
        cache: int = 512,
        name: str = "window",
        reopened: bool = False,
    ) -> None:
        if not isinstance(store, Store):
            raise WrongType(f"store is one of windrow.stores, not {store!r}")
        if cache < 16 or buffer < 1:
            raise OptionError(f"a cache of at least 16 and a buffer of at least 1 partials, not {cache} and {buffer}")
        self.store, self.window, self.buffer = store, name, buffer
        self.cache = 1 << (cache - 1).bit_length()
        self.page, self.algorithm = self.cache // 2, in_layers(type(self).algorithm, self.cache)
        self.epochs, self.kept, self.swept, self._staged = [(new_epoch(), [])], None, [], {}
        self._dump, self._load_partial = (getattr(aggregate, what, same) for what in ("dump", "load"))
        self._untried = not getattr(aggregate, "builtin", False)
        super().__init__(aggregate, capacity=capacity)
        if not reopened:
            if store.get_many([of_window(name, CHECKPOINT)])[0] is not None:
                raise StoreError(
                    f"window {name!r} is in {store!r} already: AMTA.open(aggregate, store, name=...) goes on with it, "
                    "AMTA.forget(store, name) deletes it"
                )
            self._claim(Batch(ranges=(all_of(name),)))

    def _claim(self, batch_: Batch) -> None:
        """Makes the window this process's own; whoever had it before cannot write any more."""
        guard = of_window(self.window, OWNER), new_epoch().to_bytes(8, "big")
        self.store.write(Batch((*batch_.puts, guard), batch_.ranges), durable=True)
        self.pager = Pager(self.store, self.window, guard, self.buffer, self.page)

    def _key(self, level: int, page: int) -> bytes:
        return of_page(self.window, level, page)

    # Rows.

    def insert(self, *row: Any) -> None:
        """Adds the newest row: one value, or one for each argument of the aggregate's lift."""
        if self._sample is not None:
            self._try_laws(row)
        self.insert_partial(self._lift(row))

    def insert_partial(self, partial: Any) -> None:
        """Adds the aggregate of several rows (None: of none) as one."""
        self._become(None)
        if self._untried and partial is not None:  # that it cannot be stored is better said now than a page later
            snapshot.packed(self._dump(partial))
            self._untried = False
        if len(self) == self.capacity:
            self._grow(2 * self.capacity)
        if not self.room:
            self._flush()
        self.r = self._step(self.k.insert, partial)
        self.room -= 1
        self.inserted += 1

    def insert_many(self, rows: Iterable[Any]) -> None:
        """Inserts every row; an array of numbers in one compiled loop. All or nothing."""
        with self._all_or_nothing():
            if isinstance(rows, np.ndarray) and rows.ndim == 1:
                columns = batch.read_columns(rows)
                if mta_batch.inserted(self, columns):
                    return
                rows = columns[0].objects()
            for row in rows:
                self.insert(*row) if isinstance(row, tuple) else self.insert(row)

    def slide(self, values: Any, window: Any, *, times: Any = None, keys: Any = None, closed: str = "right") -> Any:
        """One answer for each row, over the `window` rows that end with it. Compiled where it can be.

        By rows only. For a duration, keep the time beside the values and say what goes: `slide_policy`.
        """
        if times is not None or keys is not None:
            raise Unsupported("a stored window slides by rows; by time: slide_policy; with keys: one window a key")
        with self._all_or_nothing():
            return mta_batch.slid(self, batch.read_columns(values), window)

    def slide_policy(self, values: Any, policy: Any) -> Any:
        with self._all_or_nothing():
            return super().slide_policy(values, policy)

    slide_policy.__doc__ = MonoidTree.slide_policy.__doc__

    def slide_between(self, values: Any, lo: Any, hi: Any) -> Any:
        """Not for stored windows."""
        raise Unsupported("a stored window cannot slide_between; AMTA without a store can")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Steps back to a copy of the layers. Pages that were written meanwhile belong to an epoch that is over."""
        self._check_not_asking()
        if self.pinned:
            yield
            return
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.pinned, self._before = self.pinned - 1, None

    def begin(self) -> None:
        """What follows can be taken back, until `commit` or `rollback`. Meanwhile nothing is deleted from the store.

        A row that comes or goes overwrites no slot that is in use: a new element has a position of its own, and one
        that goes is passed over. So slots are copied when the first of them is about to be (`_keep_slots`), which is
        once in a page of rows, and not for each step.
        """
        self._check_not_asking()
        s = self.s
        state = replace(self.state, store=s._replace(aggs=copied_slots(s.aggs), links=s.links.copy()))
        self._before = state, self.carry, self.inserted, self._sample and list(self._sample)
        self.pinned += 1

    def _keep_slots(self) -> None:
        if self._before is not None and self._before[0].store.vals is self.s.vals:
            state, *rest = self._before
            self._before = replace(state, store=state.store._replace(vals=copied_slots(self.s.vals))), *rest

    def commit(self) -> None:
        """What was done since `begin` stays."""
        self.pinned, self._before = self.pinned - 1, None
        self._sweep()

    def rollback(self) -> None:
        """As it was at `begin`."""
        assert self._before is not None
        self._restore(self._before)
        self.pinned, self._before = self.pinned - 1, None

    def _saved(self) -> tuple:
        return *super()._saved(), self.inserted, self._sample and list(self._sample)

    def _restore(self, saved: tuple) -> None:
        *rest, self.inserted, self._sample = saved
        super()._restore(tuple(rest))
        self.s = copied(self.s)  # who saved may step back twice
        self._staged.clear()
        self.epochs = [*self.epochs, (new_epoch(), [int(self.s.links[A + l]) // self.page for l in range(self.levels)])]
        self._measure()

    # Checkpoints.

    def confirm(self) -> None:
        """The last checkpoint is one to come back to: the next one is written beside it, and not in its place."""
        self.confirmed = self._latest

    def checkpoint(self, note: Any = None) -> int:
        """Makes what was inserted durable, and says which checkpoint it is. O(log n) pages are written at most.

        Args:
            note: plain values to keep with it, such as how far the input has been read; `open` gives them back as
                `note`. `inserted` says how many rows the window had taken in.
        """
        self._check_not_asking()
        self._flush()
        self._drop_epochs()
        r = self._registers(self.r, self.form.thaw) if self.form.compiled else self.r
        stack = [self.hand.get(self.s.aggs, i) for i in range(getattr(r, "S", 0))]
        marks = [list(self._marks(l)[:3]) for l in range(self.levels)]
        tails = [self._encoded_tail(l) for l in range(r.h)]
        state = Checkpoint(
            algorithm=self.name,
            aggregate=described(self.of),
            window=self.window,
            number=self.number + 1,
            inserted=self.inserted,
            cache=self.cache,
            epochs=[[epoch, first] for epoch, first in self.epochs],
            marks=marks,
            registers={n: int(v) for n, v in r._asdict().items() if n not in self.partial_registers},
            partials=mta_pages.from_objects([*(getattr(r, n) for n in self.partial_registers), *stack], self._dump),
            tails=tails,
            note=note,
        )
        value, puts = mta_checkpoint.sealed(state), []
        if self.confirmed is not None:
            puts.append((of_window(self.window, PREVIOUS), self.confirmed[0]))
        self.pager.commit((of_window(self.window, CHECKPOINT), value), *puts)
        self.number, self.note = state.number, note
        self.kept = [H // self.page for H, _, _ in marks]
        self._latest = value, self.kept
        if self.confirmed is not None:
            self.kept = [min(pair) for pair in zip_longest(self.kept, self.confirmed[1], fillvalue=0)]
        self._sweep(least=1)
        self.pager.send()
        return self.number

    def _encoded_tail(self, l: int) -> mta_pages.Body:
        H, T, a, _ = self._marks(l)
        slot = self.k.levels.slot
        at = [slot(self.s, l, p) for p in range(max(a, H), T)]
        if isinstance(self.s.vals, list):
            return mta_pages.from_objects([self.s.vals[i] for i in at], self._dump)
        return mta_pages.from_columns([column[at] for column in self.s.vals], self.form.signature)

    def _drop_epochs(self) -> None:
        """Forgets epochs of which no page is left."""
        heads = [self._marks(l)[0] // self.page for l in range(self.levels)]
        while len(self.epochs) > 1 and all(
            (self.epochs[1][1] + [0] * self.levels)[l] <= heads[l] for l in range(self.levels)
        ):
            del self.epochs[0]

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """A checkpoint, and a reference to it: `resume(aggregate, data, store=store)`."""
        number = self.checkpoint(self.note)
        return snapshot.sealed((self.name, tuple(described(self.of)), "stored", self.window, number, None), key)

    def close(self) -> None:
        """Ends the threads of this window. The store stays open; rows since the last checkpoint are given up."""
        self.pager.close()

    def _resume(self, found: Checkpoint) -> None:
        """The layers as the checkpoint has them, and the pages of the heads."""
        self.number, self.inserted, self.note = found.number, found.inserted, found.note
        tails = [mta_pages.decoded(tail) for tail in found.tails]
        kinds = {tail.signature for tail in tails}
        if len(kinds) == 1 and () not in kinds:  # columns throughout: no need to make objects of them
            form = batch.form_for(self.of, *kinds.pop())
            if form is not None:
                self._use(form)
        self.capacity = 1 << max(2, len(found.marks) - 3)
        self.s = self._new_store(self.capacity)
        self.epochs = [(epoch, list(first)) for epoch, first in found.epochs]
        for l, (H, T, a) in enumerate(found.marks):
            self.s.links[2 * l], self.s.links[2 * l + 1] = H, T
            for mark in (A + l, A + 64 + l):
                self.s.links[mark] = a
        partials = self._slots(mta_pages.decoded(found.partials))
        names, P = self.partial_registers, self.page
        kept = [read(partials, i) for i in range(room(partials))] if partials else []
        self.r = self.registers(**found.registers, **dict(zip(names, kept[: len(names)], strict=True)))
        for i, partial in enumerate(kept[len(names) :]):
            write(self.s.aggs, i, partial)
        places = []
        for l, tail in enumerate(tails):
            H, T, a, _ = self._marks(l)
            at = 3 * self.cache * l + self.cache + (np.arange(max(a, H), T) & (2 * self.cache - 1))
            move(self._slots(tail), np.arange(len(at)), self.s.vals, at)
            if a > H:
                places.append((l, H // P))
        pages = self._load(places)
        for (l, page), slots in zip(places, pages, strict=True):
            self._install(l, page, slots)
        self._staged.clear()
        self.kept = [H // P for H, _, _ in found.marks]
        self.swept = list(self.kept)
        self._refresh_heads()
        self._measure()

    def _refresh_heads(self) -> None:
        """Values above a head that single evictions changed are not in its page; AMTA does not look at them."""

    def check_invariants(self) -> None:
        super().check_invariants()
        self.check_layers()
        self._staged.clear()


def amta_kernel(m: Monoid) -> TreeKernel:
    return amta.kernel(m, layered(0))


def log_mta_kernel(m: Monoid) -> TreeKernel:
    return log_mta.kernel(m, layered(1))


class StoredAMTA(Stored, amta.AMTA):
    """AMTA with O(log n) pages in memory and the rest in a store."""

    algorithm = replace(amta.ALGORITHM, kernel=amta_kernel)

    def _inserts(self, free: int, l: int) -> int:
        return max(free - 2, 0) << l  # a level gets one element for two of the level below

    def _sought(self, s: Any, r: Any, goes: Callable[[Any], bool]) -> int:
        self._keep_slots()  # heads are computed anew
        return super()._sought(s, r, goes)


class StoredLogMTA(Stored, log_mta.LogMTA):
    """LogMTA with O(log n) pages in memory and the rest in a store."""

    algorithm = replace(log_mta.ALGORITHM, kernel=log_mta_kernel)

    def begin(self) -> None:
        super().begin()
        self._keep_slots()  # each row changes elements that are there: the tail's, and the head's

    def _inserts(self, free: int, l: int) -> int:
        return max(free - 4, 0) // 4  # a row may make a level anew each time: a gap, a pair, and itself

    def _refresh_heads(self) -> None:
        self.hk.levels.refresh(self.s, self.r.h)


def stored(cls: type) -> type:
    """The stored kin of a tree aggregator."""
    kin: dict[type, type] = {amta.AMTA: StoredAMTA, log_mta.LogMTA: StoredLogMTA}
    return cls if issubclass(cls, Stored) else kin[cls]


def opened(
    cls: type[Swag],
    aggregate: Aggregate,
    store: Store,
    name: str,
    buffer: int,
    note: Any = None,
    number: int | None = None,
) -> Stored:
    """`AMTA.open`; with a note, at the checkpoint that was given it, be it the last one or the one kept beside it.

    With a number, the last checkpoint must have it. All is checked before the window is taken over: who is refused has
    taken nothing from its owner.
    """
    keys = [of_window(name, CHECKPOINT), of_window(name, PREVIOUS)]
    _, found = _chosen(store.get_many(keys), name, cls.name, aggregate, note, number)
    tails = [mta_pages.decoded(tail) for tail in (found.partials, *found.tails)]
    for signature in {tail.signature for tail in tails if tail.objects is None}:
        if batch.form_for(aggregate, *signature) is None:
            raise SnapshotError(f"the checkpoint of window {name!r} holds columns that {aggregate.name} cannot read")
    w: Any = stored(cls)(aggregate, store=store, buffer=buffer, cache=found.cache, name=name, reopened=True)
    w._claim(Batch())
    values = store.get_many(keys)  # again: only now can its owner, who may not be dead yet, write no more
    value, found = _chosen(values, name, cls.name, aggregate, note, number)
    # what was evicted before the checkpoint or written after it is of no use, or in the way of what comes
    doomed = [(keys[1], keys[1] + b"\0")]
    for l, (H, _, a) in enumerate(found.marks):
        for first, end in ((0, min(H, a) // w.page), (a // w.page, 2**62)):
            doomed.append((of_page(name, l, first), of_page(name, l, end)))
    puts = ((keys[0], value),) if value != values[0] else ()
    store.write(Batch(puts, tuple(doomed), w.pager.guard), durable=True)
    w._resume(found)
    w.epochs.append((new_epoch(), [a // w.page for _, _, a in found.marks]))
    w._latest = value, list(w.kept)
    return w


def _chosen(
    values: list, name: str, algorithm: str, aggregate: Aggregate, note: Any, number: int | None
) -> tuple[bytes, Checkpoint]:
    """The last checkpoint, which must have this number; with a note, the one that has it."""
    last = values[0]
    for value in values if note is not None else ():
        if value is not None:
            found = mta_checkpoint.opened(value, name, algorithm, aggregate)
            if found.note == note:
                return value, found
    if note is not None:
        has = "has moved on" if last is not None else "has no checkpoint of it"
        raise SnapshotError(f"window {name!r}: the store {has}; the checkpoint that is asked for is not there any more")
    found = mta_checkpoint.opened(last, name, algorithm, aggregate)
    if number is not None and found.number != number:
        raise SnapshotError(
            f"the snapshot refers to checkpoint {number} of window {name!r}, "
            f"and the store has checkpoint {found.number}"
        )
    return last, found
