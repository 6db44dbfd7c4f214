"""A window that is fired every m rows, by hand: m go, m come, one query. For the experiments of paper 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.sliding import algorithm
from benchmarks.timing import Setup
from windrow import Aggregate, swag
from windrow.swag.base import Swag


def fire(w: Any, fresh: list[float]) -> Any:
    """As many rows out as come in, then the answer. In bulk only where the algorithm has an operation for it."""
    bulk = type(w).insert_many is not Swag.insert_many and len(fresh) > 1
    if type(w).evict_many is not Swag.evict_many and len(fresh) > 1:
        w.evict_many(len(fresh))
    else:
        for _ in fresh:
            w.evict()
    if bulk:
        w.insert_many(fresh)
    else:
        for value in fresh:
            w.insert(value)
    return w.query()


def full(name: str, aggregate: Aggregate, values: list[float], window: int) -> Any:
    """A window with its first rows."""
    w = algorithm(name)(aggregate, capacity=window)
    w.insert_many(values[:window])
    w.query()
    return w


def fired(name: str, make: Callable[[], Aggregate], values: list[float], window: int, m: int) -> Setup:
    """For `timing`: the window full, then fired every m rows until the values end."""

    def setup() -> Callable[[], None]:
        w = full(name, make(), values, window)

        def go() -> None:
            for start in range(window, len(values), m):
                fire(w, values[start : start + m])

        return go

    return setup


def combines(name: str, make: Callable[[], Aggregate], values: list[float], window: int, m: int) -> float:
    """Calls of combine a row in the same run."""
    counted = swag.counting(make())
    w = full(name, counted, values, window)
    counted.combines = 0
    for start in range(window, len(values), m):
        fire(w, values[start : start + m])
    return counted.combines / (len(values) - window)
