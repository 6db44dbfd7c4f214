"""Saved state: a fixed layout with version and checksum, never pickle.

    b"WINDROW\\0"  version (2 bytes)  checksum (16 bytes, BLAKE2b of what follows)  msgpack of the state

Columns of numbers are stored as their bytes. Other partials are nested tuples of plain values, written with one tag for
each type that msgpack does not know, and read by a fixed table: nothing in a snapshot can name code.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgpack
import numpy as np

from windrow.errors import SnapshotError

MAGIC = b"WINDROW\0"
VERSION = 1
HEAD = len(MAGIC) + 2 + 16

_WRITE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    Decimal: ("decimal", str),
    datetime.datetime: ("datetime", datetime.datetime.isoformat),
    datetime.date: ("date", datetime.date.isoformat),
    datetime.timedelta: ("timedelta", lambda d: [d.days, d.seconds, d.microseconds]),
    np.datetime64: ("numpy time", lambda t: [t.dtype.str, int(t.astype(np.int64))]),
    np.timedelta64: ("numpy time", lambda t: [t.dtype.str, int(t.astype(np.int64))]),
}
_READ: dict[str, Callable[[Any], Any]] = {
    "decimal": Decimal,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*parts),
    "numpy time": lambda parts: np.int64(parts[1]).view(parts[0]),
    "int": int,
    "tuple": lambda parts: tuple(map(unpacked, parts)),
    "list": lambda parts: list(map(unpacked, parts)),
    "array": lambda parts: np.frombuffer(parts[1], np.dtype(parts[0])).copy(),
}


def packed(value: Any) -> Any:
    """A value as msgpack can hold it.

    >>> unpacked(packed((1, 2**80, ["x", None], Decimal("0.1"))))
    (1, 1208925819614629174706176, ['x', None], Decimal('0.1'))
    """
    if value is None or type(value) in (bool, float, str, bytes):
        return value
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else ["int", str(value)]
    if isinstance(value, (tuple, list)):
        return ["tuple" if isinstance(value, tuple) else "list", [packed(part) for part in value]]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return ["array", [value.dtype.str, value.tobytes()]]
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return packed(value.item())
    if type(value) in _WRITE:
        tag, write = _WRITE[type(value)]
        return [tag, write(value)]
    raise SnapshotError(f"a {type(value).__name__} cannot be saved in a snapshot")


def unpacked(value: Any) -> Any:
    """The inverse of `packed`."""
    if not isinstance(value, list):
        return value
    tag, content = value
    return _READ[tag](content)


def sealed(state: Any) -> bytes:
    """The state as bytes."""
    body = msgpack.packb(packed(state))
    return MAGIC + VERSION.to_bytes(2, "big") + hashlib.blake2b(body, digest_size=16).digest() + body


def opened(data: bytes) -> Any:
    """The state of `sealed` bytes; `SnapshotError` where they are not whole, or of another version."""
    if data[: len(MAGIC)] != MAGIC or len(data) < HEAD:
        raise SnapshotError("this is no windrow snapshot")
    version = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "big")
    if version != VERSION:
        raise SnapshotError(f"the snapshot has version {version}, this windrow reads version {VERSION}")
    body = data[HEAD:]
    if hashlib.blake2b(body, digest_size=16).digest() != data[len(MAGIC) + 2 : HEAD]:
        raise SnapshotError("the snapshot is damaged: its checksum does not match")
    return unpacked(msgpack.unpackb(body, strict_map_key=True))
