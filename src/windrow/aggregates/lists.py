"""first_n, last_n, collect_list, concat, top_k: tuples of values, in order of arrival or of size."""

from __future__ import annotations

from typing import Any

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.values import at_least_one, bind
from windrow.errors import OptionError


def lift_item(x):
    return (x,)


def chain(a, b):
    return a + b


def drop_oldest(total, oldest):
    return total[len(oldest) :]


COLLECT_LIST = Builtin("collect_list", lift_item, chain, list, inverse=drop_oldest, empty=[], result="list")


def collect_list(*columns: str, where: Any = None) -> Aggregate:
    """All values in order, as a list; nulls are left out, as in Spark, and no rows give an empty list.

    The partial is a tuple as long as the window; not commutative, with an exact inverse.

    >>> from windrow import agg
    >>> a = agg.collect_list(); a.lower(a.combine(a.lift(3), a.lift(5)))
    [3, 5]
    """
    return bind(COLLECT_LIST, columns, where)


def concat(column: str | None = None, sep: str = "", *, where: Any = None) -> Aggregate:
    """The values as text, in order, with `sep` between them (Spark's listagg); nulls are left out.

    The partial is the tuple of texts, joined at the end; not commutative, with an exact inverse. What is not text
    goes through `str`.

    >>> from windrow import agg
    >>> a = agg.concat(sep=","); a.lower(a.combine(a.lift("x"), a.lift("y")))
    'x,y'
    """
    if not isinstance(sep, str):
        raise OptionError(f"concat: sep must be text, got {sep!r}")

    def lower(p: tuple) -> str | None:
        return sep.join(p) if p else None

    return bind(Builtin("concat", lift_text, chain, lower, inverse=drop_oldest, result="text"), (column,), where)


def lift_text(x):
    return (str(x),)


def first_n(column: str | None = None, n: int | None = None, *, where: Any = None) -> Aggregate:
    """The first n values in order of arrival, as a list; nulls are left out.

    The partial is a tuple of at most n; not commutative.

    >>> from windrow import agg
    >>> a = agg.first_n(n=2); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(4)))
    [3, 5]
    """
    size = at_least_one("first_n", "n", n)

    def combine(a: tuple, b: tuple) -> tuple:
        return a if len(a) == size else (a + b)[:size]

    return bind(Builtin("first_n", lift_item, combine, list, result="list"), (column,), where)


def last_n(column: str | None = None, n: int | None = None, *, where: Any = None) -> Aggregate:
    """The last n values in order of arrival, as a list; nulls are left out.

    The partial is a tuple of at most n; not commutative.

    >>> from windrow import agg
    >>> a = agg.last_n(n=2); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(4)))
    [5, 4]
    """
    size = at_least_one("last_n", "n", n)

    def combine(a: tuple, b: tuple) -> tuple:
        return b if len(b) == size else (a + b)[-size:]

    return bind(Builtin("last_n", lift_item, combine, list, result="list"), (column,), where)


def rank(x: Any) -> tuple:
    """Spark's order: NaN above all."""
    return (x != x, x)


def top_k(column: str | None = None, k: int | None = None, *, where: Any = None) -> Aggregate:
    """The k largest values, the largest first, as a list; NaN is the largest, nulls are left out.

    The partial is a sorted tuple of at most k; commutative.

    >>> from windrow import agg
    >>> a = agg.top_k(k=2); a.lower(a.combine(a.combine(a.lift(3), a.lift(5)), a.lift(4)))
    [5, 4]
    """
    size = at_least_one("top_k", "k", k)

    def combine(a: tuple, b: tuple) -> tuple:
        return tuple(sorted(a + b, key=rank, reverse=True)[:size])

    return bind(
        Builtin("top_k", lift_item, combine, list, commutative=True, result="list", compares=(0,)), (column,), where
    )
