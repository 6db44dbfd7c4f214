"""Keys: one window's things lie together, and numbers order as numbers do.

name's length (2 bytes)  name (UTF-8)  kind (1 byte)  [ level (1 byte)  page (8 bytes, offset by 2^63) ]
"""

from __future__ import annotations

from functools import cache

from windrow.aggregates.values import encodes
from windrow.errors import StoreError

CHECKPOINT, PREVIOUS, OWNER, PAGE = b"c", b"d", b"o", b"p"


def ordered(number: int) -> bytes:
    """Eight bytes that sort as the number does, negative ones too.

    >>> numbers = [-2**63, -256, -1, 0, 1, 255, 256, 2**63 - 1]
    >>> sorted(numbers, key=ordered) == numbers
    True
    """
    return (number + 2**63).to_bytes(8, "big")


@cache
def of_window(name: str, kind: bytes) -> bytes:
    """A key that a window has once. No window's keys begin with another's."""
    if not encodes(name):
        raise StoreError(f"no window can be called {name!r}: half of a surrogate pair is no text")
    raw = name.encode()
    if not 0 < len(raw) < 2**16:
        raise StoreError(f"a window's name has 1 to 65,535 bytes, not {len(raw)}")
    return len(raw).to_bytes(2, "big") + raw + kind


def of_page(name: str, level: int, page: int) -> bytes:
    """
    >>> of_page("w", 3, -1) < of_page("w", 3, 0) < of_page("w", 4, -5)
    True
    """
    return of_window(name, PAGE) + bytes([level]) + ordered(page)


def all_of(name: str) -> tuple[bytes, bytes]:
    """The range of everything a window has."""
    return of_window(name, b""), of_window(name, b"\xff")
