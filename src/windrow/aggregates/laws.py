"""The monoid laws, tried on rows: what a user's aggregate must keep before a window trusts it."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.errors import LawError

#: how many rows are lifted, and how many triples of partials are tried
ROWS, TRIPLES = 24, 80

Row = tuple[Any, ...]


def default_rows(aggregate: Aggregate) -> list[Row]:
    """Rows of numbers, as many to a row as the aggregate takes: something to try before there are data."""
    least, _ = aggregate.arity
    width = max(least, 1)
    numbers = [1, 2, 3, 5, 0.5, -1, 7, 2.25, -4.5, 10, 3, 0, 100, -2]
    return [tuple(numbers[(i + 3 * j) % len(numbers)] for j in range(width)) for i in range(len(numbers))]


def check_laws(aggregate: Aggregate, rows: Iterable[Sequence[Any]], synthetic: bool = False) -> None:
    """Raises LawError, with the counter-example, where `aggregate` breaks a law on `rows`.

    Tried are associativity, the identity, what is claimed (inverse, commutative, selective), and that `combine` leaves
    its arguments as they were. Floats may differ by rounding. With `synthetic` rows, or rows that need never meet in
    one window, those that the aggregate's functions raise on are passed over: it need not be defined for them.

    >>> import windrow
    >>> halves = windrow.Aggregate(lambda x: x, lambda a, b: (a + b) / 2, identity=0.0)
    >>> check_laws(halves, [(1.0,), (2.0,), (4.0,)])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    windrow.errors.LawError: combine is not associative: ...
    """
    trial = _Trial(aggregate, synthetic)
    lifted = list(trial.lift_all(rows))
    for a, b, c in _triples(lifted):
        trial.attempt(trial.associative, a, b, c)
        trial.attempt(trial.pair, a, b)
    for witness in lifted:
        trial.attempt(trial.identity, witness)


def _triples(lifted: list) -> Iterator[tuple]:
    """Neighbours first, then a fixed random choice, so that the same aggregate is always judged alike."""
    yield from itertools.islice(zip(lifted, lifted[1:], lifted[2:], strict=False), TRIPLES // 2)
    if lifted:
        chance = random.Random(0)
        for _ in range(TRIPLES // 2):
            yield chance.choice(lifted), chance.choice(lifted), chance.choice(lifted)


class _Trial:
    """One aggregate before the laws. A witness is (row, partial)."""

    def __init__(self, aggregate: Aggregate, synthetic: bool) -> None:
        self.aggregate, self.synthetic = aggregate, synthetic

    def attempt(self, law: Any, *witnesses: Any) -> None:
        try:
            law(*witnesses)
        except LawError:
            raise
        except Exception:
            if not self.synthetic:
                raise

    def lift_all(self, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Row, Any]]:
        for row in itertools.islice(rows, ROWS):
            try:
                partial = self.aggregate.monoid_lift(*row)
            except Exception:
                if not self.synthetic:
                    raise
                continue
            if partial is not None:
                yield tuple(row), partial

    def combine(self, a: Any, b: Any, rows: Sequence[Row]) -> Any:
        before = self.frozen(a), self.frozen(b)
        result = self.aggregate.core_combine(a, b)
        for was, argument in zip(before, (a, b), strict=True):
            now = self.frozen(argument)
            if not self.close(was, now, was, now, exactly=True):
                self.refuse("combine changes its arguments, and partials are shared", rows, was, now)
        return result

    def frozen(self, partial: Any) -> Any:
        """A copy to compare with later; sketches and the like as what they are saved as."""
        dump = getattr(self.aggregate, "dump", None)
        kept = partial if dump is None else dump(partial)
        try:
            return copy.deepcopy(kept)
        except Exception:  # what cannot be copied cannot be watched
            return kept

    def identity(self, a: tuple) -> None:
        row, partial = a
        neutral = self.aggregate.identity
        if neutral is None:  # None is adjoined, and neutral by construction
            return
        for words, pair in (
            ("combine(identity, x) is not x", (neutral, partial)),
            ("combine(x, identity) is not x", (partial, neutral)),
        ):
            self.expect(f"identity={neutral!r} is not neutral: {words}", [row], self.combine(*pair, [row]), partial)

    def associative(self, a: tuple, b: tuple, c: tuple) -> None:
        rows = [a[0], b[0], c[0]]
        left = self.combine(self.combine(a[1], b[1], rows), c[1], rows)
        right = self.combine(a[1], self.combine(b[1], c[1], rows), rows)
        self.expect(
            "combine is not associative: combine(combine(a, b), c) differs from combine(a, combine(b, c))",
            rows,
            left,
            right,
            a[1],
            b[1],
            c[1],
        )

    def pair(self, a: tuple, b: tuple) -> None:
        rows = [a[0], b[0]]
        both = self.combine(a[1], b[1], rows)
        if self.aggregate.commutative:
            words = "combine is not commutative, but commutative=True: combine(a, b) differs from combine(b, a)"
            self.expect(words, rows, both, self.combine(b[1], a[1], rows))
        if self.aggregate.selective and not (self.same(both, a[1]) or self.same(both, b[1])):
            self.refuse("combine returns neither of its arguments, but selective=True", rows, both, (a[1], b[1]))
        if self.aggregate.core_inverse is not None:
            rest = self.aggregate.core_inverse(both, a[1])
            self.expect("inverse(combine(a, b), a) is not b", rows, rest, b[1], both, a[1])

    def same(self, left: Any, right: Any, *beside: Any) -> bool:
        if _opaque(left) or _opaque(right):
            left, right = (self.aggregate.core_lower(p) for p in (left, right))
            if _opaque(left) or _opaque(right):
                return True  # nothing to compare by
        return self.close(left, right, left, right, *beside)

    def close(self, left: Any, right: Any, *beside: Any, exactly: bool = False) -> bool:
        return _close(left, right, 0.0 if exactly else 1e-9 * _size(beside))

    def expect(self, words: str, rows: Sequence[Row], left: Any, right: Any, *beside: Any) -> None:
        if not self.same(left, right, *beside):
            self.refuse(words, rows, left, right)

    def refuse(self, words: str, rows: Sequence[Row], left: Any, right: Any) -> None:
        shown = ", ".join(repr(row[0]) if len(row) == 1 else repr(row) for row in rows)
        raise LawError(f"{words}. For the rows {shown}: {left!r} against {right!r} ({self.aggregate.name})")


def _opaque(value: Any) -> bool:
    """An object that only equals itself, or a tuple of such."""
    if isinstance(value, (tuple, list)):
        return any(map(_opaque, value))
    return value is not None and type(value).__eq__ is object.__eq__


def _size(value: Any) -> float:
    """The largest finite number in it: rounding is measured against that, since sums of large numbers may be small."""
    if isinstance(value, (int, float)):
        return min(abs(value), 1e300) if isinstance(value, int) or math.isfinite(value) else 0.0
    if isinstance(value, dict):
        return _size(list(value.values()))
    if hasattr(value, "tolist"):
        return _size(value.tolist())
    if isinstance(value, (tuple, list, set, frozenset)):
        return max(map(_size, value), default=0.0)
    return 0.0


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if hasattr(a, "tolist") or hasattr(b, "tolist"):  # NumPy's
        a, b = (v.tolist() if hasattr(v, "tolist") else v for v in (a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if not (math.isfinite(a) and math.isfinite(b)):
            # inf and NaN come by different ways through rounding and overflow; unchanged they must be themselves
            return tolerance > 0 or a == b or (a != a and b != b)
        return a == b or ((isinstance(a, float) or isinstance(b, float)) and abs(a - b) <= tolerance)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(_close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key], tolerance) for key in a)
    return bool(a == b) or (_opaque(a) and type(a) is type(b))
