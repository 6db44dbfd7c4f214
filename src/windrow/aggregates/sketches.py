"""approx_count_distinct (HLL) and approx_percentile (KLL), by Apache DataSketches: the extra `sketches`.

A partial is a sketch object that is never changed: `combine` merges into a new one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.tokens import token
from windrow.aggregates.values import between, bind, real
from windrow.errors import OptionError, how_to_install


def datasketches() -> Any:
    """The package, when the first sketch is asked for."""
    try:
        import datasketches as package
    except ImportError:
        raise ImportError(f"sketches need the package datasketches: {how_to_install('sketches')}") from None
    return package


def approx_count_distinct(column: str | None = None, rsd: float = 0.02, *, where: Any = None) -> Aggregate:
    """About how many distinct values there are, by HyperLogLog; `rsd` is the relative standard deviation, as in Spark.

    The partial is a sketch: a few bytes for each value at first, then about 1/rsd² bytes; commutative. Nulls are
    skipped, NaN counts as one value; no rows give 0. Next to exact for up to a few hundred values.

    >>> from windrow import agg
    >>> a = agg.approx_count_distinct(); a.lower(a.combine(a.combine(a.lift("x"), a.lift("y")), a.lift("x")))
    2
    """
    package = datasketches()
    between("approx_count_distinct", "rsd", rsd, 0.0, 1.0)
    lg_k = max(7, math.ceil(2 * math.log2(1.04 / rsd)))
    if lg_k > 21:
        raise OptionError(f"approx_count_distinct: rsd must be 0.00072 or more, got {rsd!r}; count_distinct is exact")
    kind = package.tgt_hll_type.HLL_8

    def lift(x: Any) -> Any:
        sketch = package.hll_sketch(lg_k, kind)
        sketch.update(token(x))
        return sketch

    def combine(a: Any, b: Any) -> Any:
        union = package.hll_union(lg_k)
        union.update(a)
        union.update(b)
        return union.get_result(kind)

    def lower(sketch: Any) -> int:
        return round(sketch.get_estimate())

    aggregate = Builtin(
        "approx_count_distinct",
        lift,
        combine,
        lower,
        commutative=True,
        empty=0,
        result="int64",
        dump=lambda sketch: sketch.serialize_compact(),
        load=lambda data: package.hll_sketch.deserialize(bytes(data)),
    )
    return bind(aggregate, (column,), where)


def check_ranks(q: Any) -> tuple[list[float], bool]:
    """The ranks asked for, and whether it is a single one."""
    single = not isinstance(q, (list, tuple, np.ndarray))
    ranks = [q] if single else list(q)
    number = all(isinstance(r, (int, float, np.number)) and not isinstance(r, bool) for r in ranks)
    if not ranks or not number or not all(0.0 <= r <= 1.0 for r in ranks):
        raise OptionError(f"approx_percentile: q must be a number from 0 to 1, or a list of them, got {q!r}")
    return [float(r) for r in ranks], single


def approx_percentile(
    column: str | None = None, q: float | Sequence[float] | None = None, k: int = 200, *, where: Any = None
) -> Aggregate:
    """`approx_percentile(x, q)`: about the smallest value that is not below a share q of all; a list for a list of q.

    By a KLL sketch: exact for up to k values, then off by about 1.3 % of the rank for k = 200, 0.2 % for k = 1200. The
    partial is a sketch of some 3·k floats; commutative. DataSketches draws random bits once there are
    more than k values: then the answer is within the same error, but not the same, from one run to the next.
    Nulls are skipped; NaN is the largest value, as in Spark; answers are floats.

    >>> from windrow import agg
    >>> a = agg.approx_percentile(q=0.5); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(4)))
    4.0
    """
    package = datasketches()
    ranks, single = check_ranks(q)
    if isinstance(k, bool) or not isinstance(k, int) or not 8 <= k <= 65535:
        raise OptionError(f"approx_percentile: k must be an integer from 8 to 65535, got {k!r}")

    # A partial is (sketch, NaNs): KLL passes over NaN.

    def lift(x: Any) -> tuple:
        value = real(x)
        sketch = package.kll_doubles_sketch(k)
        sketch.update(value)
        return (sketch, int(value != value))

    def combine(a: tuple, b: tuple) -> tuple:
        merged = copy.copy(a[0])
        merged.merge(b[0])
        return (merged, a[1] + b[1])

    def quantile(p: tuple, rank: float) -> float:
        sketch, nans = p
        n = sketch.n
        # the position among all values, rounded up as in Spark; a rank such as 0.7 must not slip past 7 of 10
        position = max(1, math.ceil(rank * (n + nans) - 1e-9))
        if position > n:
            return math.nan
        if position == 1:  # both ends are known exactly, however many values there were
            return sketch.get_min_value()
        return sketch.get_max_value() if position == n else sketch.get_quantile(position / n, True)

    def lower(p: tuple) -> float | list[float]:
        answers = [quantile(p, rank) for rank in ranks]
        return answers[0] if single else answers

    aggregate = Builtin(
        "approx_percentile",
        lift,
        combine,
        lower,
        commutative=True,
        result="float64" if single else "float64 list",
        dump=lambda p: (p[0].serialize(), p[1]),
        load=lambda data: (package.kll_doubles_sketch.deserialize(bytes(data[0])), data[1]),
    )
    return bind(aggregate, (column,), where)
