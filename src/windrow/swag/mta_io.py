"""Pages of one window on their way to a store and back (paper 4 §4.1.5: "the buffer").

Pages are written by a thread, in the order they came, a batch at a time; until the store has them they are read from
here. Where the store is slower than the stream, `ready` waits; where it is gone, `ready` says so, and the pages stay
here until a later call finds it again. All writes can be repeated without harm.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from windrow.errors import StoreError, StoreUnavailable
from windrow.stores.base import Batch, Store, is_remote
from windrow.stores.keys import of_page

T = TypeVar("T")
Place = tuple[int, int]  # level, page

BACKLOG = 32  # buffers that may wait before a writer does
IDLE = 0.2  # seconds after which the thread ends; the next batch starts another
PAUSE = 0.05  # between two attempts


class Pager:
    """Reads and writes the pages of one window. One thread calls it; its own threads are its own affair.

    Args:
        store: where to.
        name: the window's.
        guard: the mark of its owner.
        buffer: partials that wait before they are written.
        size: partials in a page.
    """

    def __init__(self, store: Store, name: str, guard: tuple[bytes, bytes], buffer: int, size: int) -> None:
        self.store, self.name, self.guard, self.size = store, name, guard, size
        self.patience = float(getattr(store, "patience", 0.0))
        self.batch = max(1, buffer // size)  # pages
        self.puts: list[tuple[bytes, bytes]] = []  # not given to the thread yet
        self.ranges: list[tuple[bytes, bytes]] = []
        self.waiting: dict[bytes, bytes] = {}  # not in the store yet, for all we know
        self.queue: list[Batch] = []
        self.error: StoreError | None = None
        self.closed = False
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.readers: ThreadPoolExecutor | None = None
        self.ahead: dict[Place, Future] = {}
        self.reads = self.trips = self.writes = 0  # pages read from the store, round trips for them, batches written

    def _check(self) -> None:
        if self.closed:
            raise StoreError(f"window {self.name!r} is closed; open it again")

    # Writing.

    def ready(self) -> None:
        """Waits until there is room for more; raises where the store is gone. To be called before a window changes."""
        self._check()
        with self.changed:
            while not self.error and len(self.queue) > BACKLOG:
                self._wake()
                self.changed.wait(1.0)
            self._raise()

    def put(self, level: int, page: int, value: bytes) -> None:
        """One page, to be written."""
        key = of_page(self.name, level, page)
        with self.changed:
            self.waiting[key] = value
        self.puts.append((key, value))
        if len(self.puts) >= self.batch:
            self.send()

    def drop(self, level: int, first: int, end: int) -> None:
        """Pages that nobody will read again, to be deleted with the next batch."""
        self.ranges.append((of_page(self.name, level, first), of_page(self.name, level, end)))

    def send(self) -> None:
        """Gives the thread what there is."""
        if self.puts or self.ranges:
            with self.changed:
                self.queue.append(Batch(tuple(self.puts), tuple(self.ranges), self.guard))
                self._wake()
            self.puts, self.ranges = [], []

    def flush(self) -> None:
        """Returns when the store has everything; raises where it does not take it."""
        self.send()
        with self.changed:
            while self.queue and not self.error:
                self._wake()
                self.changed.wait(1.0)
            self._raise()

    def commit(self, *puts: tuple[bytes, bytes]) -> None:
        """Values, together and durable, and all that was put before them."""
        self.flush()
        self._patiently(lambda: self.store.write(Batch(puts, guard=self.guard), durable=True))

    def _raise(self) -> None:
        """Tells of an error once; what waits is tried again at the next occasion."""
        error, self.error = self.error, None
        if error is not None:
            raise type(error)(f"{error}; {sum(len(b.puts) for b in self.queue)} pages wait to be written") from error

    def _wake(self) -> None:
        if self.queue and self.thread is None and self.error is None:
            self.thread = threading.Thread(target=self._run, name=f"windrow {self.name}", daemon=True)
            self.thread.start()
        self.changed.notify_all()

    def _run(self) -> None:
        """The thread: writes batches in order, as many as wait in one go."""
        while True:
            with self.changed:
                if not self.queue:
                    self.changed.wait(IDLE)
                if not self.queue:
                    self.thread = None
                    return
                taken = self._together()
            error: StoreError | None = None
            try:
                self._patiently(lambda: self.store.write(taken[1]))  # noqa: B023 - called at once
            except StoreError as raised:
                error = raised
            except Exception as raised:  # a store with a bug must not make the window wait for ever
                error = StoreError(f"the store failed: {raised!r}")
            with self.changed:
                if error is None:
                    del self.queue[: taken[0]]
                    for key, value in taken[1].puts:
                        if self.waiting.get(key) is value:
                            del self.waiting[key]
                    self.writes += 1
                else:
                    self.error, self.thread = error, None
                self.changed.notify_all()
                if error is not None:
                    return

    def _together(self) -> tuple[int, Batch]:
        """The first batches of the queue as one: up to the first that deletes."""
        count, puts = 1, list(self.queue[0].puts)
        while count < len(self.queue) and not self.queue[count].ranges:
            puts += self.queue[count].puts
            count += 1
        return count, Batch(tuple(puts), self.queue[0].ranges, self.guard)

    # Reading.

    def fetch(self, places: Sequence[Place]) -> list[bytes | None]:
        """Pages, from what waits here, from what was read ahead, and the rest from the store in one round trip."""
        self._check()
        found: dict[Place, bytes | None] = {}
        with self.changed:
            for place in places:
                value = self.waiting.get(of_page(self.name, *place))
                if value is not None:
                    found[place] = value
        for place in places:
            future = self.ahead.pop(place, None)
            if place not in found and future is not None:
                with contextlib.suppress(StoreError):  # asked again below
                    found[place] = future.result()
        missing = [place for place in places if place not in found]
        if missing:
            keys = [of_page(self.name, *place) for place in missing]
            self.reads += len(missing)
            self.trips += 1
            found.update(zip(missing, self._patiently(lambda: self.store.get_many(keys)), strict=True))
        return [found[place] for place in places]

    def read_ahead(self, places: Sequence[Place]) -> None:
        """Begins to fetch pages that will be wanted, where a round trip is long."""
        if not is_remote(self.store) or self.closed:
            return
        wanted = set(places)
        for place in [place for place in self.ahead if place not in wanted]:
            del self.ahead[place]
        for place in wanted - self.ahead.keys():
            key = of_page(self.name, *place)
            with self.changed:
                if key in self.waiting:
                    continue
            if self.readers is None:
                self.readers = ThreadPoolExecutor(1, thread_name_prefix=f"windrow {self.name} reads")
            self.reads += 1
            self.ahead[place] = self.readers.submit(self._one, key)

    def _one(self, key: bytes) -> bytes | None:
        return self.store.get_many([key])[0]

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Asks again for a while where the store does not answer."""
        until = time.monotonic() + self.patience
        while True:
            try:
                return ask()
            except StoreUnavailable:
                if time.monotonic() >= until:
                    raise
                time.sleep(PAUSE)

    def close(self) -> None:
        """Ends the threads. What was not checkpointed is given up."""
        self.closed = True
        with self.changed:
            self.queue.clear()
            self.changed.notify_all()
            thread: Any = self.thread
        if thread is not None:
            thread.join(timeout=5 + self.patience)
        if self.readers is not None:
            self.readers.shutdown(wait=True, cancel_futures=True)
