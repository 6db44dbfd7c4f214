"""join: several aggregates as one, so that a window is kept once for all of them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, cast

from windrow.aggregates.base import Aggregate, Builtin
from windrow.aggregates.values import without_condition
from windrow.errors import OptionError, WindrowError, WrongType


class Join(Builtin):
    """What `join` makes. `parts` lists (aggregate, positions of its columns in the row)."""

    parts: list[tuple[Aggregate, tuple[int, ...]]]


def place(aggregates: list[Aggregate]) -> tuple[tuple[str, ...], list[tuple[int, ...]]]:
    """The columns of the whole, and which of them each aggregate takes."""
    columns = tuple(dict.fromkeys(name for aggregate in aggregates for name in aggregate.columns))
    positions = []
    for aggregate in aggregates:
        least, _ = aggregate.arity
        if aggregate.columns or (columns and least == 0):
            positions.append(tuple(columns.index(name) for name in aggregate.columns))
        elif columns:
            raise WindrowError(f"join: {aggregate.name} names no column while others do; name one for each or for none")
        else:
            positions.append(tuple(range(max(least, 1))))
    return columns, positions


def join(*aggregates: Aggregate, **named: Aggregate) -> Join:
    """Several aggregates as one: the answer is the tuple of theirs (a named tuple for `join(total=..., peak=...)`).

    Bound to columns, each takes its own; bare, each takes the first values of the row. A null for one skips only that
    one. The partial is the tuple of partials; commutative, selective never, invertible where all are.

    >>> from windrow import agg
    >>> a = agg.join(agg.sum(), agg.max()); a.lower(a.combine(a.lift(3), a.lift(5)))
    (8, 5)
    >>> agg.join(agg.sum("x"), agg.max("y"), agg.count()).columns
    ('x', 'y')
    """
    components = [*aggregates, *named.values()]
    if not components or (aggregates and named):
        raise OptionError("join: give aggregates, or name=aggregate pairs, not both and not none")
    for component in components:
        if not isinstance(component, Aggregate):
            raise WrongType(f"join takes aggregates such as agg.max(), got {component!r}")
        without_condition(component, "join")
    answer = cast(Any, namedtuple("Joined", list(named)))._make if named else tuple
    return _join(components, answer)


def _join(components: list[Aggregate], answer: Any) -> Join:
    columns, positions = place(components)
    placed = list(zip(components, positions, strict=True))

    def lift(*row: Any) -> tuple:
        return tuple(part.monoid_lift(*[row[i] for i in where]) for part, where in placed)

    def combine(a: tuple, b: tuple) -> tuple:
        return tuple(part.monoid_combine(x, y) for part, x, y in zip(components, a, b, strict=True))

    def inverse(total: tuple, oldest: tuple) -> tuple:
        return tuple(part.monoid_inverse(x, y) for part, x, y in zip(components, total, oldest, strict=True))

    def lower(p: tuple) -> Any:
        return answer(part.monoid_lower(x) for part, x in zip(components, p, strict=True))

    def dump(p: tuple) -> tuple:
        return tuple(None if x is None else _dump(part)(x) for part, x in zip(components, p, strict=True))

    def load(data: Any) -> tuple:
        return tuple(None if x is None else _load(part)(x) for part, x in zip(components, data, strict=True))

    if len(components) == 1:  # the same, three times as fast
        ((only, own),) = placed
        lift_one, combine_one, lower_one = only.monoid_lift, only.monoid_combine, only.monoid_lower

        def lift(*row: Any) -> tuple:
            return (lift_one(*[row[i] for i in own]),)

        def combine(a: tuple, b: tuple) -> tuple:
            return (combine_one(a[0], b[0]),)

        def lower(p: tuple) -> Any:
            return answer((lower_one(p[0]),))

    invertible = all(part.inverse is not None for part in components)
    joined = Join(
        "join",
        lift,
        combine,
        lower,
        inverse=inverse if invertible else None,
        commutative=all(part.commutative for part in components),
        needs=(),
        empty=answer(part.monoid_lower(None) for part in components),
        dump=dump,
        load=load,
    )
    joined.parts, joined.columns = placed, columns
    joined.compares = tuple(sorted({where[i] for part, where in placed for i in part.compares}))
    if not invertible and all(part.invertible for part in components):
        joined.exact = _join([part if part.inverse is not None else _exact(part) for part in components], answer)
    return joined


def _exact(part: Aggregate) -> Aggregate:
    exact = part.exact
    assert exact is not None  # the caller asked `invertible`
    return exact(*part.columns) if part.columns else exact


def _dump(part: Aggregate) -> Any:
    return getattr(part, "dump", lambda partial: partial)


def _load(part: Aggregate) -> Any:
    return getattr(part, "load", lambda data: data)
