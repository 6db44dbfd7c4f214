"""What the experiments over `slide` share: which pairs there are, and a full window that is then slid on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Setup
from windrow import Aggregate, agg, swag
from windrow.errors import Unsupported, WindrowError
from windrow.swag.base import Swag

MAKERS: dict[str, Callable[[], Aggregate]] = {
    "sum": agg.sum,
    "max": agg.max,
    "max of flights": agg.max,
    "mean": agg.mean,
    "geometric_mean": agg.geometric_mean,
    "stddev": agg.stddev,
    "min_count": agg.min_count,
    "max_by": agg.max_by,
    "bloom": agg.bloom,
    "collect_list": agg.collect_list,
}


def columns(aggregate: str, values: np.ndarray) -> Any:
    """The values as this aggregate takes them: max_by also wants which row it was."""
    return (np.arange(len(values)), values) if aggregate == "max_by" else values


def cut(values: Any, start: int, end: int) -> Any:
    """Rows start to end of a column or of several."""
    return tuple(c[start:end] for c in values) if isinstance(values, tuple) else values[start:end]


@functools.cache
def compiles(algorithm: str, aggregate: str) -> bool | None:
    """Whether `slide` of this pair is compiled; None where the algorithm refuses the aggregate. Compiles it, too."""
    try:
        w = swag.ALGORITHMS[algorithm](MAKERS[aggregate]())
    except Unsupported:
        return None
    sample = columns(aggregate, np.linspace(1.0, 2.0, 64))
    w.slide(cut(sample, 0, 8), 8)
    w.slide(cut(sample, 8, 64), 8)
    return w.form.compiled


def filled(algorithm: str, aggregate: str, values: Any, window: int) -> Setup:
    """For `timing`: fills a new window with `window` rows, untimed; the run slides it over the rest."""

    def setup() -> Callable[[], Any]:
        w = swag.ALGORITHMS[algorithm](MAKERS[aggregate]())  # grows once, when the first batch comes
        w.slide(cut(values, 0, window), window)
        rest = cut(values, window, len(values[0]) if isinstance(values, tuple) else len(values))
        return lambda: w.slide(rest, window)

    return setup


def algorithm(name: str) -> type[Swag]:
    """An algorithm of the one list; says so where the list has none of that name."""
    if name not in swag.ALGORITHMS:
        raise WindrowError(f"this experiment needs the algorithm {name}, which this version has not")
    return swag.ALGORITHMS[name]
