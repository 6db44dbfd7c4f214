"""One function for each (library, aggregate): a float64 column and a window in, one answer a row out.

A missing library is left out, not an error. Everything answers from the first row on.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import windrow
from windrow import agg, swag

Call = Callable[[np.ndarray, int], np.ndarray]
Prepare = Callable[[np.ndarray], Callable[[int], Any]]

#: the largest rise within the window: (lowest, highest, best rise), older rows to the left
RISE = windrow.Aggregate(
    lift=lambda x: (x, x, 0.0),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1]), max(max(a[2], b[2]), b[1] - a[0])),
    lower=lambda p: p[2],
    identity=(math.inf, -math.inf, 0.0),
    name="largest rise",
)


def rise(window: np.ndarray) -> float:
    """The same of one window, as a function that pandas and Polars can be given (and numba can compile)."""
    lowest, best = window[0], 0.0
    for x in window:
        lowest = min(lowest, x)
        best = max(best, x - lowest)
    return best


def rise_numpy(window: np.ndarray) -> float:
    """The same without a loop in Python."""
    values = np.asarray(window)
    return float((values - np.minimum.accumulate(values)).max())


def windrow_calls() -> dict[str, Prepare]:
    makers = {
        "min": agg.min,
        "max": agg.max,
        "sum": agg.sum,
        "mean": agg.mean,
        "stddev": agg.stddev,
        "user's own": lambda: RISE,
    }

    def of(make: Callable[[], Any]) -> Prepare:
        return lambda x: lambda w: swag.TwoStacksLite(make()).slide(x, w)

    def arg_max(x: np.ndarray) -> Callable[[int], Any]:
        places = np.arange(len(x))
        return lambda w: swag.TwoStacksLite(agg.max_by()).slide((places, x), w)

    return {**{name: of(make) for name, make in makers.items()}, "arg-max": arg_max}


def pandas_calls(pd: Any) -> dict[str, Prepare]:
    def of(method: str, **options: Any) -> Prepare:
        def prepare(x: np.ndarray) -> Callable[[int], Any]:
            series = pd.Series(x)
            return lambda w: getattr(series.rolling(w, min_periods=1), method)(**options)

        return prepare

    named = {"min": "min", "max": "max", "sum": "sum", "mean": "mean", "stddev": "std"}
    own = of("apply", func=rise, raw=True, engine="numba", engine_kwargs={"nopython": True, "parallel": False})
    return {**{name: of(method) for name, method in named.items()}, "user's own": own}


def pandas_cython_calls(pd: Any) -> dict[str, Prepare]:
    def own(x: np.ndarray) -> Callable[[int], Any]:
        series = pd.Series(x)
        return lambda w: series.rolling(w, min_periods=1).apply(rise_numpy, raw=True, engine="cython")

    return {"user's own": own}


def polars_calls(pl: Any) -> dict[str, Prepare]:
    def of(method: str, *arguments: Any) -> Prepare:
        def prepare(x: np.ndarray) -> Callable[[int], Any]:
            series = pl.Series(x)
            return lambda w: getattr(series, method)(*arguments, window_size=w, min_samples=1).to_numpy()

        return prepare

    named = {"min": "min", "max": "max", "sum": "sum", "mean": "mean", "stddev": "std"}
    return {
        **{name: of(f"rolling_{method}") for name, method in named.items()},
        "user's own": of("rolling_map", rise_numpy),
    }


def bottleneck_calls(bn: Any) -> dict[str, Prepare]:
    def of(method: str, **options: Any) -> Prepare:
        return lambda x: lambda w: getattr(bn, method)(x, window=w, min_count=1, **options)

    def arg_max(x: np.ndarray) -> Callable[[int], Any]:
        places = np.arange(len(x))
        return lambda w: places - bn.move_argmax(x, window=w, min_count=1)  # it counts back from the newest row

    named = {"min": "min", "max": "max", "sum": "sum", "mean": "mean"}
    return {**{n: of(f"move_{m}") for n, m in named.items()}, "stddev": of("move_std", ddof=1), "arg-max": arg_max}


def numbagg_calls(nb: Any) -> dict[str, Prepare]:
    def of(method: str) -> Prepare:
        return lambda x: lambda w: getattr(nb, method)(x, window=w, min_count=1)

    return {"sum": of("move_sum"), "mean": of("move_mean"), "stddev": of("move_std")}


def duckdb_calls(duckdb: Any) -> dict[str, Prepare]:
    def of(expression: str) -> Prepare:
        def prepare(x: np.ndarray) -> Callable[[int], Any]:
            connection = duckdb.connect()
            connection.execute("SET threads = 1")
            connection.execute("SET enable_progress_bar = false")  # it would print into our answers
            frame = {"i": np.arange(len(x)), "x": x}
            connection.register("given", frame)
            connection.execute("CREATE TABLE t AS SELECT i, x FROM given ORDER BY i")

            def ask(w: int) -> np.ndarray:
                over = f"OVER (ORDER BY i ROWS BETWEEN {w - 1} PRECEDING AND CURRENT ROW)"
                answers = connection.execute(f"SELECT i, {expression} {over} AS a FROM t").fetchnumpy()
                found, places = answers["a"], answers["i"]
                if not (places[:-1] < places[1:]).all():
                    found = found[np.argsort(places)]
                return np.ma.filled(found.astype(np.float64), np.nan) if np.ma.isMaskedArray(found) else found

            return ask

        return prepare

    named = {
        "min": "min(x)",
        "max": "max(x)",
        "arg-max": "arg_max(i, x)",
        "sum": "sum(x)",
        "mean": "avg(x)",
        "stddev": "stddev_samp(x)",
    }
    return {name: of(expression) for name, expression in named.items()}


MAKERS: dict[str, tuple[str, Callable[[Any], dict[str, Prepare]]]] = {
    "pandas": ("pandas", pandas_calls),
    "pandas (cython apply)": ("pandas", pandas_cython_calls),
    "polars": ("polars", polars_calls),
    "bottleneck": ("bottleneck", bottleneck_calls),
    "numbagg": ("numbagg", numbagg_calls),
    "duckdb": ("duckdb", duckdb_calls),
}


def libraries() -> dict[str, dict[str, Prepare]]:
    """windrow and every peer that is installed."""
    found = {"windrow": windrow_calls()}
    for name, (package, make) in MAKERS.items():
        try:
            found[name] = make(importlib.import_module(package))
        except ImportError:
            continue
    return found
