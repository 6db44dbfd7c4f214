"""Predicates: where a window begins, said by a column, an expression or a function of the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.row_functions import holds
from windrow.engine.row_views import read_by
from windrow.engine.three_valued import Evaluation
from windrow.errors import WindrowError
from windrow.windows.expressions import Node, parse


@dataclass(frozen=True)
class Predicate:
    """What `Predicate.parse` makes; two are equal where they were given the same text or the same function.

    >>> Predicate.parse("price < 10 and side == 'buy'").columns
    ('price', 'side')
    """

    #: for people: the expression, or the name of the function
    text: str
    #: the columns that it reads; None: it does not say, it may be any
    columns: tuple[str, ...] | None = field(compare=False)
    tree: Node | None = field(default=None, compare=False, repr=False)
    function: Callable[[Any], Any] | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, given: Any) -> Predicate:
        """From a column's name, an expression such as "price < 10", or a function of the row.

        Raises `WindrowError` for what is none of these; an expression is refused with the place.
        """
        if isinstance(given, Predicate):
            return given
        if isinstance(given, str):
            if not given.strip():
                raise WindrowError("a predicate is a column's name, an expression or a function, not an empty text")
            bare = given.strip()
            name = bare.isidentifier() and bare != "None" and bare.lower() not in ("true", "false", "null")
            tree = Node("column", (), bare, 0, len(bare)) if name else parse(bare)
            return cls(bare, columns_of(tree), tree)
        if callable(given):
            named = getattr(given, "__qualname__", None) or type(given).__qualname__
            return cls(f"function {named}", read_by(given), function=given)
        raise WindrowError(
            "a predicate is a column's name, an expression such as 'price < 10' or a function of the row, "
            f"not {given!r}"
        )

    def mask(self, columns: Mapping[str, Column], n: int) -> np.ndarray:
        """For each of the n rows whether the predicate holds; null: it does not.

        >>> price = Column(np.array([12.0, 9.0, 0.0]), np.array([True, True, False]), np.dtype(float))
        >>> Predicate.parse("price < 10").mask({"price": price}, 3).tolist()
        [False, True, False]
        """
        if self.function is not None:
            return holds(self.function, columns, self.columns, n)
        assert self.tree is not None
        found = Evaluation(self.text, columns).condition(self.tree)
        return np.array(np.broadcast_to(found, n), bool)


def columns_of(tree: Node) -> tuple[str, ...]:
    """The columns that an expression reads."""
    return tuple(dict.fromkeys(_names(tree)))


def _names(node: Node) -> Iterator[str]:
    if node.kind == "column":
        yield str(node.value)
    for part in node.parts:
        yield from _names(part)
