"""bloom, count_min, frequent_items: which values there are, and how often."""

from __future__ import annotations

import copy
import hashlib
import math
from dataclasses import dataclass
from typing import Any

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.sketches import datasketches
from windrow.aggregates.tokens import token
from windrow.aggregates.values import at_least_one, between, bind, canonical


@dataclass(frozen=True)
class BloomFilter:
    """The answer of `bloom`: may hold a value it never saw, never the other way round."""

    bits: int
    size: int
    hashes: int

    def might_contain(self, x: Any) -> bool:
        mask = bloom_mask(x, self.size, self.hashes)
        return self.bits & mask == mask

    __contains__ = might_contain

    def __repr__(self) -> str:
        return f"BloomFilter({self.bits.bit_count()} of {self.size} bits set, {self.hashes} hashes)"


def bloom_mask(x: Any, size: int, hashes: int) -> int:
    """The bits of one value: double hashing (Kirsch and Mitzenmacher) of a stable 128-bit hash."""
    digest = hashlib.blake2b(repr(token(x)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    start, step = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little") | 1
    mask = 0
    for i in range(hashes):
        mask |= 1 << ((start + i * step) % size)
    return mask


def bloom(column: str | None = None, items: int = 1000, fpp: float = 0.03, *, where: Any = None) -> Aggregate:
    """A Bloom filter of the values, for `items` distinct ones at a share `fpp` of false positives.

    The answer has `might_contain(value)`. The partial is a bit set in one Python int, of 1.44·log2(1/fpp) bits for each
    item, so that combining is one `|` in C; commutative. Nulls are skipped; every NaN is the same.

    >>> from windrow import agg
    >>> a = agg.bloom(); seen = a.lower(a.combine(a.lift("x"), a.lift("y")))
    >>> seen.might_contain("x"), seen.might_contain("z")
    (True, False)
    """
    at_least_one("bloom", "items", items)
    between("bloom", "fpp", fpp, 0.0, 1.0)
    size = max(8, math.ceil(-items * math.log(fpp) / math.log(2) ** 2))
    hashes = max(1, round(size / items * math.log(2)))

    def lift(x: Any) -> int:
        return bloom_mask(x, size, hashes)

    aggregate = Builtin(
        "bloom",
        lift,
        lambda a, b: a | b,
        lambda bits: BloomFilter(bits, size, hashes),
        commutative=True,
        dump=lambda bits: bits.to_bytes((size + 7) // 8, "little"),
        load=lambda data: int.from_bytes(data, "little"),
    )
    return bind(aggregate, (column,), where)


class Frequencies:
    """The answer of `count_min`: `estimate(x)` is never below how often x came."""

    def __init__(self, partial: Any) -> None:
        self._partial = partial

    def estimate(self, x: Any) -> int:
        if isinstance(self._partial, tuple):
            return dict(self._partial).get(token(x), 0)
        return round(self._partial.get_estimate(token(x)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frequencies) and self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> Any:
        return dict(self._partial) if isinstance(self._partial, tuple) else self._partial.serialize()

    def __repr__(self) -> str:
        total = (
            sum(count for _, count in self._partial)
            if isinstance(self._partial, tuple)
            else round(self._partial.total_weight)
        )
        return f"Frequencies({total} values)"


#: up to so many distinct values a count_min partial is a list of exact counts: a table for every row would be dear
SPARSE = 64


def count_min(
    column: str | None = None, relative_error: float = 0.01, confidence: float = 0.99, *, where: Any = None
) -> Aggregate:
    """How often each value came, by a Count-Min sketch: an answer with `estimate(value)`.

    An estimate is never too low, and too high by at most `relative_error` of all rows with probability `confidence`.
    The partial is exact for up to 64 distinct values, then a table of e/relative_error × ln(1/(1-confidence))
    floats; commutative. Which of the two it is depends on the values alone, not on how they were
    combined. Nulls are skipped.

    >>> from windrow import agg
    >>> a = agg.count_min(); a.lower(a.combine(a.combine(a.lift("x"), a.lift("y")), a.lift("x"))).estimate("x")
    2
    """
    package = datasketches()
    between("count_min", "relative_error", relative_error, 0.0, 1.0)
    between("count_min", "confidence", confidence, 0.0, 1.0)
    buckets = package.count_min_sketch.suggest_num_buckets(relative_error)
    hashes = package.count_min_sketch.suggest_num_hashes(confidence)

    def lift(x: Any) -> tuple:
        return ((token(x), 1),)

    def fill(sketch: Any, pairs: tuple) -> None:
        for item, count in pairs:
            sketch.update(item, count)

    def combine(a: Any, b: Any) -> Any:
        if isinstance(a, tuple) and isinstance(b, tuple):
            counts = dict(a)
            for item, count in b:
                counts[item] = counts.get(item, 0) + count
            if len(counts) <= SPARSE:  # in one order, so that equal counts are equal partials
                return tuple(sorted(counts.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))
            sketch = package.count_min_sketch(hashes, buckets)
            fill(sketch, tuple(counts.items()))
            return sketch
        dense, other = (b, a) if isinstance(a, tuple) else (a, b)
        sketch = copy.copy(dense)
        if isinstance(other, tuple):
            fill(sketch, other)
        else:
            sketch.merge(other)
        return sketch

    aggregate = Builtin(
        "count_min",
        lift,
        combine,
        Frequencies,
        commutative=True,
        dump=lambda p: p if isinstance(p, tuple) else p.serialize(),
        load=lambda data: (
            tuple((item, count) for item, count in data)
            if isinstance(data, (tuple, list))
            else package.count_min_sketch.deserialize(bytes(data))
        ),
    )
    return bind(aggregate, (column,), where)


def frequent_items(column: str | None = None, k: int = 64, *, where: Any = None) -> Aggregate:
    """The most frequent values as (value, estimate) pairs, the most frequent first, at most k of them.

    By the mergeable summaries of Misra and Gries (Agarwal et al. 2012, what DataSketches does too, but for any value
    and with nothing random): exact for up to k distinct values, then an estimate is too high by at most n/(k+1),
    and every value more frequent than that is listed. The partial is at most k (value, count) pairs and what was
    taken off; not commutative (values that tie are listed as they arrived). Nulls are skipped.

    >>> from windrow import agg
    >>> a = agg.frequent_items(); a.lower(a.combine(a.combine(a.lift("x"), a.lift("y")), a.lift("y")))
    [('y', 2), ('x', 1)]
    """
    size = at_least_one("frequent_items", "k", k)

    def lift(x: Any) -> tuple:
        return (((canonical(x), 1),), 0)

    def combine(a: tuple, b: tuple) -> tuple:
        counts = dict(a[0])
        for value, count in b[0]:
            counts[value] = counts.get(value, 0) + count
        taken = a[1] + b[1]
        if len(counts) > size:
            cut = sorted(counts.values(), reverse=True)[size]
            counts = {value: count - cut for value, count in counts.items() if count > cut}
            taken += cut
        return (tuple(counts.items()), taken)

    def lower(p: tuple) -> list[tuple[Any, int]]:
        pairs = [(value, count + p[1]) for value, count in p[0]]
        return sorted(pairs, key=lambda pair: -pair[1])

    def load(data: Any) -> tuple:
        return (tuple((canonical(value), count) for value, count in data[0]), data[1])

    return bind(Builtin("frequent_items", lift, combine, lower, load=load), (column,), where)
