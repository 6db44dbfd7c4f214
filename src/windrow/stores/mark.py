"""How far a RocksDB was durable, noted beside it.

RocksDB takes a log whose end is missing for one that a crash has torn, and opens without a word at an older state: what
`checkpoint` had said was durable is gone, and nobody knows. So synced writes are counted, within the store and, once
they are made, in a small file beside it; a store that opens with a lower count is refused. Two slots are written in
turn: a crash in mid-write leaves the other.

    slot: number (8 bytes)  checksum (8 bytes, BLAKE2b)
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from windrow.errors import StoreError

NAME = "WINDROW_DURABLE"
SLOT = 16


class Mark:
    """The file; `reached` raises where the store is behind it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.slot = 0
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def reached(self, number: int) -> None:
        """Compares the count that the store has come back with."""
        held = os.pread(self.file, 2 * SLOT, 0)
        slots = [_number(held[i : i + SLOT]) for i in (0, SLOT)]
        known = [n for n in slots if n is not None]
        if os.fstat(self.file).st_size and not known:
            raise StoreError(f"{self.path} is damaged, so nobody can tell whether the store is whole")
        if known and number < max(known):
            raise StoreError(f"the store has lost writes that were durable: it holds {number} of {max(known)}")
        if known:
            self.slot = 1 - slots.index(max(known))

    def note(self, number: int) -> None:
        """So many writes are durable."""
        raw = number.to_bytes(8, "big")
        os.pwrite(self.file, raw + _checksum(raw), self.slot * SLOT)
        os.fdatasync(self.file)
        self.slot = 1 - self.slot

    def close(self) -> None:
        os.close(self.file)


def _number(slot: bytes) -> int | None:
    return int.from_bytes(slot[:8], "big") if len(slot) == SLOT and _checksum(slot[:8]) == slot[8:] else None


def _checksum(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=8).digest()
