"""Inputs of aggregates that are no columns of the data: expressions, and columns of which a condition takes some rows.

`derived` makes columns of them, by a name that says what they are. All that runs a query sees columns only.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.aggregates.base import Aggregate
from windrow.aggregates.values import Expression
from windrow.errors import WindrowError
from windrow.windows.expressions import Node, parse
from windrow.windows.predicates import Predicate, columns_of


@dataclass(frozen=True)
class Input:
    """A column that is derived: the value of an expression, null where the condition is not true."""

    tree: Node | None  # None: true
    text: str
    where: Predicate | None

    @property
    def source(self) -> str | None:
        """The column whose values these are, where it is one."""
        return str(self.tree.value) if self.tree is not None and self.tree.kind == "column" else None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that it reads; None: its condition does not say."""
        own = () if self.tree is None else columns_of(self.tree)
        if self.where is None:
            return own
        return None if self.where.columns is None else tuple(dict.fromkeys([*own, *self.where.columns]))


def derived(aggregate: Aggregate, inputs: dict[str, Input]) -> Aggregate:
    """The aggregate over columns alone; those that are derived are put into `inputs`."""
    where = None if aggregate.where is None else Predicate.parse(aggregate.where)
    if where is None and not any(isinstance(column, Expression) for column in aggregate.columns):
        return aggregate
    places = range(len(aggregate.columns)) if aggregate.needs is None else aggregate.needs
    if where is not None and aggregate.columns and not places:
        raise WindrowError(f"{aggregate!r}: it counts nulls, too, so that where= could leave no row out")
    columns = []
    for place, column in enumerate(aggregate.columns):
        tree = parse(column) if isinstance(column, Expression) else Node("column", (), column, 0, len(column))
        condition = where if place in places else None
        if condition is None and tree.kind == "column":
            columns.append(str(tree.value))
        else:
            columns.append(_named(Input(tree, str(column), condition), inputs))
    if where is not None and not aggregate.columns:
        if aggregate.arity[1] == 0:
            raise WindrowError(f"{aggregate!r}: where= leaves out rows by making a column null; it takes no column")
        columns.append(_named(Input(None, "", where), inputs))
    made = aggregate(*columns)
    made.where = None
    return made


def _named(found: Input, inputs: dict[str, Input]) -> str:
    """The name by which the column is known; the same for the same input."""
    condition = "" if found.where is None else f"where {found.where.text}"
    name = stem = f"{found.text} {condition}".strip()
    count = 1
    while inputs.setdefault(name, found) != found:  # functions may have one name
        count += 1
        name = f"{stem} ({count})"
    return name
