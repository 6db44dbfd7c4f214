"""Any value as an int or a text that hashes the same in every process and on every machine."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np

from windrow.aggregates.values import INT64_MAX, INT64_MIN, encodes
from windrow.errors import WrongType


def token(x: Any) -> int | str:
    """Equal values have equal tokens, as in Python (1, 1.0 and True are one), with every NaN the same.

    Texts get a letter in front: sketches of the `datasketches` package pass over an empty one.
    """
    if isinstance(x, str):
        return "s" + x if encodes(x) else "x" + x.encode(errors="surrogatepass").hex()
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, (bool, int)):
        return int(x) if INT64_MIN <= x <= INT64_MAX else f"i{x}"
    if isinstance(x, float):
        return token(int(x)) if x.is_integer() else f"f{x!r}"
    if isinstance(x, decimal.Decimal):
        return token(int(x)) if x.is_finite() and x == x.to_integral_value() else f"d{x.normalize()}"
    if isinstance(x, bytes):
        return "b" + x.hex()
    if isinstance(x, (datetime.date, datetime.time)):  # datetimes are dates
        return f"t{x.isoformat()}"
    if isinstance(x, datetime.timedelta):
        return f"u{x // datetime.timedelta(microseconds=1)}"
    if isinstance(x, (tuple, list)):
        return f"l{[token(part) for part in x]!r}"
    if x is None:
        return "n"
    raise WrongType(f"sketches take numbers, text, bytes, dates and tuples of these, not {type(x).__name__}")
