"""What a store is: a few verbs over bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from windrow.errors import StoreError


@dataclass(frozen=True)
class Batch:
    """Writes that happen all or not at all: first the ranges go, then the values come.

    `guard` is a key and the value it must have at that moment; otherwise nothing is written and the store raises
    `StoreError`. A window's writes are guarded by the mark of its owner, so that a process that was given up for dead
    cannot write into what another one has taken over.
    """

    puts: tuple[tuple[bytes, bytes], ...] = ()
    ranges: tuple[tuple[bytes, bytes], ...] = ()  # [start, end)
    guard: tuple[bytes, bytes] | None = None


@runtime_checkable
class Store(Protocol):
    """Bytes by key, ordered by key. Safe to use from several threads."""

    #: a round trip is long enough to be worth a thread that reads ahead
    remote: bool
    #: seconds for which a store that does not answer is asked again
    patience: float

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of the keys, in one round trip."""

    def put(self, key: bytes, value: bytes) -> None:
        """Sets one value."""

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        """Writes a batch atomically, after all batches before it; `durable`: it is on disk when this returns."""

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `start` to `end` (excluded), in order."""

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Deletes the keys from `start` to `end` (excluded)."""

    def close(self) -> None:
        """Gives everything back. Twice is not an error; anything else afterwards is a `StoreError`."""


def refuse(guard: tuple[bytes, bytes], found: bytes | None) -> None:
    """Raises where a guard does not hold."""
    if found != guard[1]:
        how = "is gone: the store has lost data" if found is None else "is another's: another process has taken it over"
        raise StoreError(f"the window's mark in the store {how}; open the window again")
