"""Forged snapshots: a valid one is taken apart, changed somewhere, and sealed again with the right checksum."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from windrow.engine.snapshot import opened, sealed
from windrow.errors import SnapshotError, WindrowError

#: what may come of a forgery
REFUSED, WORKS = "refused", "works"
INTS = (0, 1, -1, 2, 3, 7, 64, 1000, -1000, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**70)
OTHERS = (None, 0, -1, 1.5, "x", "", b"\0", True, (), [], (1, 2), float("nan"), [None], ("x", 3))
DTYPES = ("<i8", "<f8", "|b1", "<i4", "|u1", "<M8[us]")


def forged(data: bytes, rng: random.Random) -> bytes:
    """The snapshot with one, two or three changes."""
    content = _plain(opened(data))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = rng.choice(list(_places(content)))
        content = _changed(content, place, lambda value: mutated(value, rng))
    return sealed(content)


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value


def _places(value: Any, here: tuple = ()) -> Iterator[tuple]:
    """Where there is something to change. What tells the query and the layout is always checked, and left alone."""
    if here:
        yield here
    if isinstance(value, (tuple, list)):
        if len(value) == 2 and isinstance(value[0], str) and value[0] == "identity":
            return
        for i, part in enumerate(value):
            yield from _places(part, (*here, i))


def _changed(value: Any, place: tuple, change: Callable[[Any], Any]) -> Any:
    if not place:
        return change(value)
    parts = list(value)
    parts[place[0]] = _changed(parts[place[0]], place[1:], change)
    return type(value)(parts)


def mutated(value: Any, rng: random.Random) -> Any:
    """Something else in its place, of the same type for the most part."""
    if rng.random() < 0.1:
        return rng.choice(OTHERS)
    if isinstance(value, np.ndarray):
        return _array(value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((*INTS, value + 1, value - 1, -value, 2 * value))
    if isinstance(value, float):
        return rng.choice((0.0, -value, value + 1, float("inf"), float("nan"), 1e308))
    if isinstance(value, str):
        return rng.choice((value + "x", value[:-1], "", "us", "ns", "<f8", "int64", "float64", "object"))
    if isinstance(value, (tuple, list)) and value:
        parts = list(value)
        i = rng.randrange(len(parts))
        how = rng.randrange(4)
        if how == 0:
            del parts[i]
        elif how == 1:
            parts.insert(i, parts[i])
        elif how == 2:
            j = rng.randrange(len(parts))
            parts[i], parts[j] = parts[j], parts[i]
        else:
            parts[i] = mutated(parts[i], rng)
        return type(value)(parts)
    return rng.choice(OTHERS)


def _array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    changed = array.copy()
    how = rng.randrange(8)
    if how == 0:
        return changed[:-1]
    if how == 1:
        return np.concatenate([changed, changed[-1:]])
    if how == 2:
        return changed.astype(rng.choice(DTYPES)) if array.dtype.kind in "biufmM" else changed[:0]
    if how == 3:
        return changed[::-1].copy()
    if len(changed):
        for _ in range(rng.choice((1, 1, 2, 5))):
            i = rng.randrange(len(changed))
            if array.dtype.kind in "iu":
                before = int(changed[i])
                value = rng.choice((*INTS[:-1], before + 1, before - 1, before * 2, before + 64))
                changed[i] = np.array(value % 2**64, np.uint64).view(np.int64) if array.dtype == np.int64 else 1
            elif array.dtype.kind == "f":
                changed[i] = rng.choice((0.0, -1.0, 1e300, np.inf, np.nan, changed[i] + 1))
            elif array.dtype.kind == "b":
                changed[i] = not changed[i]
    return changed


def tried(resume: Callable[[bytes], Any], go_on: Callable[[Any], None], data: bytes) -> str:
    """What comes of a snapshot: it is refused as one, or all that follows works; anything else is raised."""
    try:
        live = resume(data)
    except SnapshotError:
        return REFUSED
    with contextlib.suppress(WindrowError, OverflowError):  # of what is counted, or of times that are too far apart
        go_on(live)
    return WORKS
