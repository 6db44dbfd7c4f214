"""Aggregates over numbers that stand for other values: times, durations, categories that are in an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.aggregates.joins import Join
from windrow.engine.inputs import Column
from windrow.errors import WindrowError
from windrow.frames.times import NANOS
from windrow.frames.types import Order, Type
from windrow.step.held import Held

#: marks the ranks of a column whose type puts its categories in order
RANK_OF = "\2"


@dataclass(frozen=True)
class TimeAnswer:
    """What answers are that the engine counts in a column's unit, or in finer ones."""

    dtype: np.dtype
    units: int = 1  # of the answer, in one of the column's; for answers that are floats

    def read(self, values: np.ndarray, there: np.ndarray | None) -> np.ndarray:
        """Numbers as times or durations."""
        if values.dtype == object:
            counts = [0 if value is None else _count(value) for value in values.tolist()]
            return np.array(counts, np.int64).view(self.dtype)
        if values.dtype.kind == "f":
            known = values if there is None else np.where(there, values, 0.0)
            values = np.rint(known * self.units).astype(np.int64)
        return values.astype(np.int64, copy=False).view(self.dtype)


def _count(value: Any) -> int:
    return int(value.astype(np.int64)) if isinstance(value, np.generic) else int(value)


def ranked_columns(aggregate: Aggregate, types: Mapping[str, Type]) -> dict[str, Order]:
    """The columns whose values an aggregate compares by an order that their type gives."""
    found = {aggregate.columns[i]: types.get(aggregate.columns[i]) for i in aggregate.compares}
    return {name: of.order for name, of in found.items() if of is not None and of.order is not None}


def over_ranks(aggregate: Aggregate, types: Mapping[str, Type]) -> tuple[Aggregate, Order | None] | None:
    """The aggregate over ranks instead of categories that are in order, and what its answers are; None: there is none.

    It compares ranks. What looks at single values (a mode, a user's own aggregate) takes the categories themselves.
    """
    of = types.get(aggregate.columns[0]) if aggregate.columns else None
    if aggregate.result == "range" and of is not None and of.order is not None:
        raise WindrowError(
            f"{aggregate!r}: column '{aggregate.columns[0]}' holds categories, which are in order and have no distance"
        )
    ordered = ranked_columns(aggregate, types)
    if not ordered:
        return None
    if isinstance(aggregate, Join):
        raise WindrowError(
            f"{aggregate!r}: column '{next(iter(ordered))}' holds categories in an order; "
            "give each aggregate over it a name of its own instead of a join"
        )
    names = [RANK_OF + n if i in aggregate.compares and n in ordered else n for i, n in enumerate(aggregate.columns)]
    chosen = 0 in aggregate.compares and aggregate.result in ("input", "list")
    return aggregate(*names), ordered.get(aggregate.columns[0]) if chosen else None


def over_times(aggregate: Aggregate, own: list[Column]) -> tuple[Aggregate, TimeAnswer | None]:
    """The aggregate as it is over times or durations, and what its answers are; None: what they are anyway."""
    result = aggregate.result
    if result not in ("sum", "mean", "range", "product") or own[0].kind != "int64" or own[0].dtype.kind not in "mM":
        return aggregate, None
    dtype = own[0].dtype
    unit, count = np.datetime_data(dtype)
    if result == "range":
        return aggregate, TimeAnswer(np.dtype(f"m8[{count}{unit}]"))
    if result == "sum" and dtype.kind == "m":
        return aggregate, TimeAnswer(dtype)
    if result != "mean" or unit not in NANOS:
        what = "times" if dtype.kind == "M" else "durations"
        raise WindrowError(
            f"{aggregate!r}: column '{aggregate.columns[0]}' holds {what} ({dtype}), which have no {result}"
        )
    fine = "ns" if unit == "ns" else "us"
    units = NANOS[unit] * count // NANOS[fine]
    suited = aggregate if aggregate.over_times is None else aggregate.over_times(units)(*aggregate.columns)
    suited.combines = aggregate.combines
    return suited, TimeAnswer(np.dtype(f"{dtype.kind}8[{fine}]"), units)


def ranks_of(names: Iterable[str], rows: Held, types: Mapping[str, Type]) -> dict[str, Column]:
    """The ranks of some columns of rows, as aggregates name them."""
    found = {}
    for name in names:
        order = types[name].order
        assert order is not None
        found[RANK_OF + name] = order.ranks(rows.column(name))
    return found


def check_ranked(aggregates: Iterable[Aggregate], types: Mapping[str, Type], known: Iterable[str]) -> None:
    """Raises where a column had no type so far, and turns out to be compared by the order of its categories."""
    wanted = {name for aggregate in aggregates for name in ranked_columns(aggregate, types)}
    for name in sorted(wanted.difference(known)):
        raise WindrowError(
            f"column '{name}' had no type before, and holds categories in an order now; "
            "give it this type from the first push on"
        )
