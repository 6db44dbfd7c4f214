"""RocksDB, in this process and on this machine's disk: the default where a window must outlive or outgrow memory.

The package rocksdict drives it, in raw mode: bytes in, bytes out. (Its default mode pickles.)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from windrow.errors import StoreError, how_to_install
from windrow.stores.base import Batch, refuse
from windrow.stores.mark import Mark

T = TypeVar("T")

#: how many synced writes there were, in the store itself; RocksDB's own sequence number is another after a recovery
DURABLE = b"\0\0durable"


class RocksStore:
    """One RocksDB. One process at a time has it open; RocksDB's own lock file sees to that."""

    remote = False
    patience = 0.0

    def __init__(self, path: str | os.PathLike[str], *, memory: int = 64 << 20) -> None:
        try:
            import rocksdict
        except ImportError:
            raise StoreError(f"stores.rocksdb needs the package rocksdict: {how_to_install('rocksdb')}") from None
        self.path = Path(path)
        self._rocks = rocksdict
        self._synced = rocksdict.WriteOptions()
        self._synced.sync = True
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._db: Any = rocksdict.Rdict(str(self.path), _options(rocksdict, memory))
        except Exception as error:
            raise StoreError(f"RocksDB at {self.path} cannot be opened: {_told(error)}") from error
        self._syncing = threading.Lock()  # marks are noted in the order of the writes
        self._mark = Mark(self.path)
        try:
            self._durable = int.from_bytes(self.get(DURABLE) or b"", "big")
            self._mark.reached(self._durable)
        except StoreError:
            self.close()
            raise

    def get(self, key: bytes) -> bytes | None:
        return self._do(lambda db: db.get(key))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._do(lambda db: db.get(list(keys))) if keys else []

    def put(self, key: bytes, value: bytes) -> None:
        self._do(lambda db: db.put(key, value))

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        together = self._rocks.WriteBatch(raw_mode=True)
        kept = False
        for start, end in batch.ranges:
            together.delete_range(start, end)
            kept = kept or start <= DURABLE < end
        if kept:
            together.put(DURABLE, self._durable.to_bytes(8, "big"))
        for key, value in batch.puts:
            together.put(key, value)
        if batch.guard is not None:  # no other process can have the store open, so nothing comes in between
            refuse(batch.guard, self.get(batch.guard[0]))
        if not durable:
            self._do(lambda db: db.write(together))
            return
        with self._syncing:
            number = self._durable + 1
            together.put(DURABLE, number.to_bytes(8, "big"))
            self._do(lambda db: db.write(together, self._synced))
            self._durable = number
            try:
                self._mark.note(number)
            except OSError as error:
                raise StoreError(f"{self._mark.path} cannot be written: {error.strerror}") from error

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        pairs = self._do(lambda db: db.items(from_key=start))
        while True:
            pair = self._do(lambda db: next(pairs, None))
            if pair is None or pair[0] >= end:
                return
            if pair[0] != DURABLE:
                yield pair

    def delete_range(self, start: bytes, end: bytes) -> None:
        self.write(Batch(ranges=((start, end),)))

    def close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            self._mark.close()
            try:
                db.close()
            except Exception as error:  # what was durable is so; the rest could not be flushed
                raise StoreError(f"RocksDB at {self.path} did not close well: {_told(error)}") from error

    def _do(self, ask: Callable[[Any], T]) -> T:
        db = self._db
        if db is None:
            raise StoreError(f"the store at {self.path} is closed")
        try:
            return ask(db)
        except Exception as error:  # rocksdict has no types for them
            raise StoreError(f"RocksDB at {self.path}: {_told(error)}") from error

    def __repr__(self) -> str:
        return f"stores.rocksdb({str(self.path)!r})"


def _told(error: Exception) -> str:
    """RocksDB's message, with what it means where that is not plain."""
    text = str(error)
    for sign, meaning in (
        ("No space left", "the disk is full"),
        ("File too large", "the limit for the size of a file is reached"),
        ("Corruption", "a file is damaged"),  # its text may speak of a block
        ("While lock file", "another process (or this one) has it open"),
        ("lock hold by", "another process (or this one) has it open"),
    ):
        if sign in text:
            return f"{meaning} ({text})"
    return text


def _options(rocks: Any, memory: int) -> Any:
    """`memory` bytes for write buffers and cache together; nothing is compressed: partials do not compress well."""
    options = rocks.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(max(memory // 4, 1 << 16))
    options.set_max_write_buffer_number(2)
    options.set_max_background_jobs(2)
    options.set_max_open_files(-1)
    options.set_keep_log_file_num(2)
    options.set_compression_type(rocks.DBCompressionType.none())
    # A torn last record is a crash in mid-write and is dropped. Damage anywhere else is an error, not a shorter log.
    options.set_wal_recovery_mode(rocks.DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_paranoid_checks(True)
    table = rocks.BlockBasedOptions()
    table.set_block_cache(rocks.Cache(max(memory // 4, 1 << 16)))
    table.set_cache_index_and_filter_blocks(False)
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return options


def rocksdb(path: str | os.PathLike[str], *, memory: int = 64 << 20) -> RocksStore:
    """An embedded RocksDB in the folder `path`, which is made where there is none.

    Args:
        path: a folder of its own.
        memory: bytes that RocksDB may use for write buffers and cache.
    """
    return RocksStore(path, memory=memory)
