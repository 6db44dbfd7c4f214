"""What a store is: a few verbs over bytes."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Bytes by key. Two verbs are all that windows and queries ask for; both are safe to call from several threads.

    A store that cannot be reached now and may be later raises `StoreUnavailable`; any other trouble is a `StoreError`.
    Two attributes are read where a store has them: `remote` (True: a round trip is long, so that pages are read ahead
    by a thread, and more of them at a time) and `patience` (seconds for which a store that is unavailable is asked
    again; 0 otherwise). The stores of this package have more verbs, for people who look into them: get, put, scan,
    delete_range, close.
    """

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of the keys, None where there is none; in one round trip."""

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        """Writes a batch atomically, after all batches before it; `durable`: it is on disk when this returns.

        First the guard is compared (`refuse`), then keys in the ranges go, compared as bytes, then the values come.
        """


def is_remote(store: Store) -> bool:
    """Whether a round trip to the store is long."""
    return bool(getattr(store, "remote", False))


def refuse(guard: tuple[bytes, bytes], found: bytes | None) -> None:
    """Raises where a guard does not hold."""
    if found != guard[1]:
        how = "is gone: the store has lost data" if found is None else "is another's: another process has taken it over"
        raise StoreError(f"the window's mark in the store {how}; open the window again")
