"""Saved state: a fixed layout with version and checksum, never pickle.

    b"WINDROW\\0"  version (2 bytes)  checksum (16 bytes, BLAKE2b of what follows)  msgpack of the state

With a key there is a signature instead of the checksum (32 bytes, HMAC-SHA256 of all the rest), and the highest bit of
the version is set. A checksum tells damage; only a signature tells a forgery.

Columns of numbers are stored as their bytes. Other partials are nested tuples of plain values, written with one tag for
each type that msgpack does not know, and read by a fixed table: nothing in a snapshot can name code.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgpack
import numpy as np

from windrow.errors import SnapshotError, StoreError, WindrowError

#: in the version: there is a signature
SIGNED = 0x8000
#: a shorter key is none
SHORTEST_KEY = 16
#: the kinds of arrays that are ever saved
_KINDS = "biufcmMSU"


@dataclass(frozen=True)
class Envelope:
    """What saved state is wrapped in."""

    what: str
    magic: bytes
    version: int
    called: str  # what the version is a version of
    hint: str = ""  # what helps where it is another one

    def seal(self, body: bytes, key: bytes | None = None) -> bytes:
        """The body with its head."""
        if key is None:
            head = self.magic + self.version.to_bytes(2, "big")
            return head + hashlib.blake2b(body, digest_size=16).digest() + body
        head = self.magic + (self.version | SIGNED).to_bytes(2, "big")
        return head + hmac.digest(checked_key(key), head + body, "sha256") + body

    def open(self, data: bytes, name: str, key: bytes | None = None) -> bytes:
        """The body; `SnapshotError` where it is not whole, of another version, or not signed under the key."""
        data, start = bytes(data), len(self.magic) + 2
        if data[: len(self.magic)] != self.magic or len(data) < start + 16:
            raise SnapshotError(f"{name} is damaged, or this is no {self.what}")
        version = int.from_bytes(data[len(self.magic) : start], "big")
        signed, version = version & SIGNED, version & ~SIGNED
        if version != self.version:
            raise SnapshotError(
                f"{name} has {self.called} {version}, this windrow reads {self.called} {self.version}{self.hint}"
            )
        if signed:
            if key is None:
                raise SnapshotError(f"{name} is signed: the key= that it was signed with is needed")
            body = data[start + 32 :]
            if not hmac.compare_digest(
                hmac.digest(checked_key(key), data[:start] + body, "sha256"), data[start : start + 32]
            ):
                raise SnapshotError(f"{name} is damaged, or not signed under this key")
            return body
        if key is not None:
            raise SnapshotError(f"{name} is not signed, and with key= nothing else is believed")
        body = data[start + 16 :]
        if hashlib.blake2b(body, digest_size=16).digest() != data[start : start + 16]:
            raise SnapshotError(f"{name} is damaged: its checksum does not match")
        return body


def checked_key(key: object) -> bytes:
    """A key to sign with; `WindrowError` where it is none."""
    if not isinstance(key, (bytes, bytearray)) or len(key) < SHORTEST_KEY:
        raise WindrowError(f"key= is a secret of {SHORTEST_KEY} bytes or more, for example secrets.token_bytes(32)")
    return bytes(key)


@contextlib.contextmanager
def believed(name: str) -> Iterator[None]:
    """While saved state is read: whatever goes wrong is a `SnapshotError`, but for a store that fails."""
    try:
        yield
    except (SnapshotError, StoreError):
        raise
    except Exception as error:
        told = f": {error}" if str(error) else ""
        raise SnapshotError(f"{name} does not fit together ({type(error).__name__}{told})") from error


SNAPSHOT = Envelope("windrow snapshot", b"WINDROW\0", 1, "version")

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
    "array": lambda parts: _array(*parts),
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


#: half of a surrogate pair is a character to Python, though not in UTF-8: it is kept
TEXTS = "surrogatepass"


def to_bytes(value: Any) -> bytes:
    r"""msgpack of a value.

    >>> from_bytes(to_bytes(("a", "\ud800"))) == ("a", "\ud800")
    True
    """
    return msgpack.packb(packed(value), unicode_errors=TEXTS)


def from_bytes(data: bytes) -> Any:
    """The inverse of `to_bytes`."""
    return unpacked(msgpack.unpackb(data, strict_map_key=True, unicode_errors=TEXTS))


def _array(dtype: str, data: bytes) -> np.ndarray:
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in _KINDS:
        raise SnapshotError(f"the saved state has an array of {dtype!r}")
    return np.frombuffer(data, np.dtype(dtype)).copy()


def sealed(state: Any, key: bytes | None = None) -> bytes:
    """The state as bytes."""
    return SNAPSHOT.seal(to_bytes(state), key)


def opened(data: bytes, key: bytes | None = None) -> Any:
    """The state of `sealed` bytes; `SnapshotError` where they are not whole, of another version, or cannot be read."""
    body = SNAPSHOT.open(data, "the snapshot", key)
    with believed("the snapshot"):
        return from_bytes(body)
