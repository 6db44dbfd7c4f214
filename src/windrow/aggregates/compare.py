"""When two answers are the same: exactly, but for the rounding of floats."""

from __future__ import annotations

import math
from typing import Any


def alike(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Equal, NaN to NaN included; floats within `tolerance`, relative to the larger (and absolute below 1).

    >>> alike((1, 0.1 + 0.2, float("nan")), (1, 0.3, float("nan")))
    True
    >>> alike("ab", "ba")
    False
    """
    if isinstance(a, float) or isinstance(b, float):
        try:
            x, y = float(a), float(b)
        except (TypeError, ValueError, OverflowError):
            return False
        if math.isnan(x) or math.isnan(y):
            return math.isnan(x) and math.isnan(y)
        return x == y or abs(x - y) <= tolerance * max(1.0, abs(x), abs(y))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return bool(a == b)
