"""The monoid of (rows, partial) in plain Python: an inverse must know when the last row that counts has gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.aggregates.base import Aggregate


def counted_monoid(aggregate: Aggregate) -> tuple[Callable, Callable, Callable, Callable]:
    """combine, inverse, lift and lower."""
    if hasattr(aggregate, "parts"):
        return _joined(aggregate, aggregate.parts)
    take_out = aggregate.core_inverse
    assert take_out is not None  # the algorithm has asked

    def combine(older, newer):
        if older is None:
            return newer
        if newer is None:
            return older
        return (older[0] + newer[0], aggregate.core_combine(older[1], newer[1]))

    def inverse(total, oldest):
        if oldest is None:
            return total
        if total[0] == oldest[0]:
            return None
        return (total[0] - oldest[0], take_out(total[1], oldest[1]))

    def lift(*row):
        partial = aggregate.monoid_lift(*row)
        return None if partial is None else (1, partial)

    def lower(partial):
        return aggregate.monoid_lower(None if partial is None else partial[1])

    return combine, inverse, lift, lower


def _joined(aggregate: Aggregate, parts: Any) -> tuple[Callable, Callable, Callable, Callable]:
    """Each part counts its own rows, since a null for one is none for another."""
    combines, inverses, lifts, _ = zip(*(counted_monoid(part) for part, _ in parts), strict=True)

    def combine(older, newer):
        if older is None:
            return newer
        if newer is None:
            return older
        return tuple(f(a, b) for f, a, b in zip(combines, older, newer, strict=True))

    def inverse(total, oldest):
        if oldest is None:
            return total
        return tuple(f(a, b) for f, a, b in zip(inverses, total, oldest, strict=True))

    def lift(*row):
        return tuple(f(*[row[i] for i in where]) for f, (_, where) in zip(lifts, parts, strict=True))

    def lower(partial):
        bare = None if partial is None else tuple(None if p is None else p[1] for p in partial)
        return aggregate.monoid_lower(bare)

    return combine, inverse, lift, lower
