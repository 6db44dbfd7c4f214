"""Sizes and lengths of time in words."""

from __future__ import annotations


def sized(count: int) -> str:
    """Bytes in words.

    >>> sized(900), sized(12_345), sized(3_000_000_000)
    ('900 bytes', '12.3 KB', '3.0 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} bytes"


def lasting(seconds: float) -> str:
    """A length of time in words.

    >>> lasting(0.25), lasting(200), lasting(3 * 86400 + 7200), lasting(-5)
    ('0.2 s', '3 min 20 s', '3 d 2 h', '5.0 s ahead')
    """
    if seconds < 0:
        return f"{lasting(-seconds)} ahead"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for big, small, one, two in ((86400, 3600, "d", "h"), (3600, 60, "h", "min"), (60, 1, "min", "s")):
        if whole >= big:
            return f"{whole // big:,} {one} {whole % big // small} {two}"
    return f"{whole} s"
