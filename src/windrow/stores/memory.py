"""The store that is a dictionary: for tests, and to see what the others cost."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from windrow.errors import StoreError
from windrow.stores.base import Batch, refuse


class MemoryStore:
    """A dictionary with a lock. It lasts as long as the object does."""

    remote = False
    patience = 0.0

    def __init__(self) -> None:
        self._held: dict[bytes, bytes] = {}
        self._lock = threading.Lock()
        self._closed = False

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            self._check()
            return [self._held.get(key) for key in keys]

    def put(self, key: bytes, value: bytes) -> None:
        self.write(Batch(puts=((key, value),)))

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        with self._lock:
            self._check()
            if batch.guard is not None:
                refuse(batch.guard, self._held.get(batch.guard[0]))
            for start, end in batch.ranges:
                for key in self._between(start, end):
                    del self._held[key]
            self._held.update(batch.puts)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._lock:
            self._check()
            found = [(key, self._held[key]) for key in self._between(start, end)]
        yield from found

    def delete_range(self, start: bytes, end: bytes) -> None:
        self.write(Batch(ranges=((start, end),)))

    def close(self) -> None:
        self._closed = True

    def _between(self, start: bytes, end: bytes) -> list[bytes]:
        keys = sorted(self._held)
        return keys[bisect_left(keys, start) : bisect_left(keys, end)]

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the memory store is closed")

    def __repr__(self) -> str:
        return "stores.memory()"


def memory() -> MemoryStore:
    """A store in this process's memory.

    >>> store = memory()
    >>> store.put(b"a", b"1"); store.put(b"b", b"2")
    >>> store.write(Batch(puts=((b"c", b"3"),), ranges=((b"a", b"b"),)))
    >>> list(store.scan(b"a", b"z"))
    [(b'b', b'2'), (b'c', b'3')]
    """
    return MemoryStore()
