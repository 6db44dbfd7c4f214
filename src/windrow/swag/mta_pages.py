"""Partials as bytes: a page of a level, as it lies in a store.

    b"WRP"  version (1)  kind (1)  epoch (8)  checksum (16: SHA-256 of the key, what stands before, and the body)  body

The checksum covers the key, so that a page under another page's key is found out, and the epoch, which says in which
life of the window the page was written (`mta_checkpoint`). Three kinds of body, told apart by `kind`:

* OBJECTS: a msgpack list of partials, in the encoding of snapshots (a fixed table of tags; nothing names code);
* NUMBERS: columns of the numbers that plain partials consist of, with one of nulls;
* COLUMNS: columns as the compiled form has them, with the types of the input they were compiled for.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgpack
import numpy as np

from windrow.engine.snapshot import TEXTS, packed, unpacked
from windrow.errors import DamagedPage

MAGIC, VERSION = b"WRP", 1
HEAD = struct.Struct(">3sBBQ")
DIGEST = 16
OBJECTS, NUMBERS, COLUMNS = 0, 1, 2
TYPES: dict[type, str] = {float: "<f8", int: "<i8", bool: "|b1"}


class Body(NamedTuple):
    """Partials, encoded."""

    kind: int
    data: bytes


class Partials(NamedTuple):
    """Partials, decoded: as plain objects still to be loaded, or as columns of a compiled form with this signature."""

    objects: list | None
    columns: tuple[np.ndarray, ...] = ()
    signature: tuple = ()


def from_objects(partials: Sequence[Any], dump: Callable[[Any], Any]) -> Body:
    """Plain partials: as columns where they are numbers, or tuples of numbers, of the same types throughout.

    >>> [decoded(from_objects(p, lambda x: x)).objects for p in ([1, None, 3], [(1, 2.0)], ["a", 1])]
    [[1, None, 3], [(1, 2.0)], ['a', 1]]
    >>> from_objects([1, None, 3], lambda x: x).kind == NUMBERS
    True
    """
    dumped = [None if p is None else dump(p) for p in partials]
    there = [p for p in dumped if p is not None]
    bare = bool(there) and type(there[0]) in TYPES
    rows = [(p,) for p in there] if bare else there
    if rows and all(type(row) is tuple and len(row) == len(rows[0]) for row in rows):
        columns = list(zip(*rows, strict=True))
        kinds = [set(map(type, column)) for column in columns]
        if columns and all(len(kind) == 1 and kind <= TYPES.keys() for kind in kinds):
            try:
                arrays = [np.array(c, TYPES[k.pop()]) for c, k in zip(columns, kinds, strict=True)]
            except OverflowError:  # an int beyond 64 bits
                pass
            else:
                nulls = np.array([p is None for p in dumped])
                return Body(NUMBERS, _joined([bare, len(dumped)], [np.packbits(nulls), *arrays]))
    return Body(OBJECTS, msgpack.packb([packed(p) for p in dumped], unicode_errors=TEXTS))


def from_columns(columns: Sequence[np.ndarray], signature: tuple) -> Body:
    """Partials as the compiled form has them."""
    kinds, masked = signature
    return Body(COLUMNS, _joined([list(kinds), list(masked)], columns))


def decoded(body: Body) -> Partials:
    """The inverse of both; raises ValueError or a kin of it where the bytes are none of ours."""
    if body.kind == OBJECTS:
        return Partials([unpacked(p) for p in msgpack.unpackb(body.data, unicode_errors=TEXTS)])
    facts, arrays = _parted(body.data)
    if body.kind == COLUMNS:
        kinds, masked = facts
        return Partials(None, tuple(arrays), (tuple(kinds), tuple(masked)))
    bare, count = facts
    rows = iter(arrays[1].tolist() if bare else zip(*(array.tolist() for array in arrays[1:]), strict=True))
    return Partials([None if null else next(rows) for null in np.unpackbits(arrays[0], count=count).tolist()])


def _joined(facts: list, arrays: Sequence[np.ndarray]) -> bytes:
    """Facts and columns: a msgpack head with the columns' types and lengths, then their bytes."""
    head = msgpack.packb([facts, [[a.dtype.newbyteorder("<").str, len(a)] for a in arrays]])
    return b"".join(
        [
            len(head).to_bytes(4, "big"),
            head,
            *(a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays),
        ]
    )


def _parted(data: bytes) -> tuple[list, list[np.ndarray]]:
    at = 4 + int.from_bytes(data[:4], "big")
    facts, shapes = msgpack.unpackb(data[4:at])
    arrays = []
    for dtype, length in shapes:
        array = np.frombuffer(data, np.dtype(dtype), length, at)
        arrays.append(array)
        at += array.nbytes
    return facts, arrays


def sealed(key: bytes, epoch: int, body: Body) -> bytes:
    """A page as a store keeps it."""
    head = HEAD.pack(MAGIC, VERSION, body.kind, epoch)
    return head + _digest(key, head, body.data) + body.data


def opened(key: bytes, epoch: int, value: bytes | None, what: str) -> Partials:
    """The partials of a page that must be of this epoch; `DamagedPage`, which names it, where anything is wrong."""
    if value is None:
        raise DamagedPage(f"{what} is missing in the store")
    if len(value) < HEAD.size + DIGEST:
        raise DamagedPage(f"{what} is damaged: it has {len(value)} bytes")
    magic, version, kind, found = HEAD.unpack_from(value)
    if magic == MAGIC and version != VERSION:
        raise DamagedPage(f"{what} has version {version} or is damaged; this windrow reads version {VERSION}")
    body = value[HEAD.size + DIGEST :]
    if magic != MAGIC or _digest(key, value[: HEAD.size], body) != value[HEAD.size : HEAD.size + DIGEST]:
        raise DamagedPage(f"{what} is damaged: its checksum does not match")
    if found != epoch:
        raise DamagedPage(f"{what} is of another life of the window: a write was lost")
    try:
        return decoded(Body(kind, body))
    except Exception as error:
        raise DamagedPage(f"{what} cannot be read: {error}") from error


def _digest(key: bytes, head: bytes, body: bytes) -> bytes:
    """SHA-256, cut off: processors compute it twice as fast as BLAKE2, and pages are hashed on each way."""
    digest = hashlib.sha256(key, usedforsecurity=False)
    digest.update(head)
    digest.update(body)
    return digest.digest()[:DIGEST]
