"""variance, stddev, corr, covar_samp and regr_slope against exact fractions, however small the spread is."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win

N, W = 120, 24
#: mean and spread; some spread over a few neighbouring floats only
MAGNITUDES = [(0.0, 1.0), (1e8, 1.0), (-1e8, 1e-6), (1e8, 1e-7), (1e12, 1e-3), (1e15, 1.0), (1e-8, 1e-20)]
AGGREGATES = {
    "variance": agg.variance("x"),
    "var_pop": agg.var_pop("x"),
    "stddev": agg.stddev("x"),
    "stddev_pop": agg.stddev_pop("x"),
    "corr": agg.corr("x", "y"),
    "covar": agg.covar_samp("x", "y"),
    "slope": agg.regr_slope("y", "x"),
}


def exact(x: list[float], y: list[float]) -> dict[str, float | None]:
    xs, ys, n = [Fraction(v) for v in x], [Fraction(v) for v in y], len(x)
    mx, my = sum(xs) / n, sum(ys) / n
    xx, yy = sum((v - mx) ** 2 for v in xs), sum((v - my) ** 2 for v in ys)
    xy = sum((a - mx) * (b - my) for a, b in zip(xs, ys, strict=True))
    some, varies = n > 1, xx != 0
    corr = math.copysign(math.sqrt(xy * xy / (xx * yy)), xy) if varies and yy else None
    return {
        "variance": float(xx / (n - 1)) if some else None,
        "var_pop": float(xx / n),
        "stddev": math.sqrt(xx / (n - 1)) if some else None,
        "stddev_pop": math.sqrt(xx / n),
        "corr": corr if some else None,
        "covar": float(xy / (n - 1)) if some else None,
        "slope": float(xy / xx) if varies else None,
    }


def scales(x: list[float], y: list[float]) -> dict[str, float]:
    """What errors are measured by: a sum of products may cancel, the spreads do not."""
    found = exact(x, y)
    sx, sy = found["stddev_pop"], exact(y, x)["stddev_pop"]
    assert sx is not None and sy is not None
    own = {name: abs(found[name] or 0.0) for name in ("variance", "var_pop", "stddev", "stddev_pop")}
    return {**own, "corr": 1.0, "covar": 2 * sx * sy, "slope": sy / sx if sx else 0.0}


def noise(base: float, spread: float, seed: int, n: int = N) -> list[float]:
    rnd = random.Random(f"{base} {spread} {seed}")
    return [base + spread * rnd.expovariate(1) for _ in range(n)]


def check(found: dict[str, list], x: list[float], y: list[float]) -> None:
    for i in range(len(x)):
        mine = slice(max(0, i - W + 1), i + 1)
        expected, scale = exact(x[mine], y[mine]), scales(x[mine], y[mine])
        for name, values in found.items():
            value, right = values[i], expected[name]
            if value is None or right is None:
                assert value is right is None, (name, i, value, right)
            else:
                assert abs(value - right) <= 16 * W * 2.0**-52 * scale[name], (name, i, value, right)


@pytest.mark.parametrize(("base", "spread"), MAGNITUDES)
@pytest.mark.parametrize("compile", ["never", "always"])
def test_windows_that_slide(compile: str, base: float, spread: float) -> None:
    x, y = noise(base, spread, 1), noise(-3 * base, spread, 2)
    names = (
        list(AGGREGATES) if compile == "never" else ["stddev", "slope"]
    )  # the others' kernels differ in `lower` only
    aggregates = {name: AGGREGATES[name] for name in names}
    query = windrow.Query(windows=win.trailing(W), aggregates=aggregates, compile=compile)
    data = {"x": np.array(x), "y": np.array(y)}
    answers = [[query.run(data)]]
    if compile == "never":
        live = query.open()
        answers.append([live.push({n: column[a : a + 40] for n, column in data.items()}) for a in range(0, N, 40)])
    for results in answers:
        check({name: [v for r in results for v in np.ma.asarray(r[name]).tolist()] for name in names}, x, y)


@pytest.mark.parametrize("algorithm", [swag.TwoStacks, swag.DABA, swag.FlatFAT, swag.FlatFIT, swag.AMTA])
def test_by_hand(algorithm: type) -> None:
    x, y = noise(1e8, 1e-7, 3), noise(1e8, 1e-7, 4)
    found: dict[str, list] = {}
    for name, make in {"stddev": agg.stddev, "corr": agg.corr}.items():
        window = algorithm(make())
        for row in zip(x, y, strict=True):
            window.insert(*row[: 2 if name == "corr" else 1])
            if len(window) > W:
                window.evict()
            found.setdefault(name, []).append(window.query())
    check(found, x, y)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, 1e160, -1e300, 5e-324])
def test_equal_values_do_not_vary(value: float) -> None:
    variance, corr = agg.variance(), agg.corr()
    one, two = variance.identity, corr.identity
    for _ in range(7):
        one = variance.combine(one, variance.lift(value))
        two = corr.combine(two, corr.lift(value, value))
    assert variance.lower(one) == 0.0 and corr.lower(two) is None


@pytest.mark.parametrize("guest", [1e300, -1e300, math.inf, math.nan])
@pytest.mark.parametrize("compile", ["never", "always"])
def test_what_has_left_leaves_no_trace(compile: str, guest: float) -> None:
    x = noise(1e8, 1e-6, 5)
    x[30] = guest
    query = windrow.Query(windows=win.trailing(W), aggregates={"s": agg.stddev("x")}, compile=compile)
    found = query.run({"x": np.array(x)})["s"]
    for i in [*range(2, 30), *range(30 + W, N)]:
        right = exact(x[max(0, i - W + 1) : i + 1], x[max(0, i - W + 1) : i + 1])["stddev"]
        assert right is not None and abs(float(found[i]) - right) <= 16 * W * 2.0**-52 * right
