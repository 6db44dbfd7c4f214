"""skewness and kurtosis against exact fractions: however small the spread is beside the mean, in windows that slide."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import windrow
from windrow import agg, swag, win

N, W = 160, 24
#: mean and spread; the last ones spread over a few neighbouring floats only
MAGNITUDES = [(0.0, 1.0), (1e8, 1.0), (1e8, 1e-3), (-1e8, 1e-6), (1e8, 1e-7), (1e12, 1e-3), (1e15, 1.0), (1e-8, 1e-20)]
SHAPES = {"s": agg.skewness, "k": agg.kurtosis}


def exact(values: list[float]) -> tuple[float, float] | tuple[None, None]:
    x = [Fraction(v) for v in values]
    mean = sum(x) / len(x)
    m2, m3, m4 = (sum((v - mean) ** power for v in x) / len(x) for power in (2, 3, 4))
    if m2 == 0:
        return None, None
    # exactly, and scaled: the powers of a small spread are no floats
    return math.copysign(math.sqrt(m3 * m3 / m2**3), m3), float(m4 / m2**2) - 3.0


def noise(base: float, spread: float, n: int = N) -> list[float]:
    rnd = random.Random(f"{base} {spread}")
    return [base + spread * rnd.expovariate(1) for _ in range(n)]


def close(found: float | None, expected: float | None, n: int = W) -> bool:
    if expected is None or found is None:
        return found is expected is None
    return abs(found - expected) <= 16 * n * 2.0**-52 * max(1.0, abs(expected))


def check(skews: list, kurts: list, x: list[float]) -> None:
    for i, found in enumerate(zip(skews, kurts, strict=True)):
        expected = exact(x[max(0, i - W + 1) : i + 1])
        for one, other in zip(found, expected, strict=True):
            assert close(one, other), (i, found, expected)


@pytest.mark.parametrize(("base", "spread"), MAGNITUDES)
@pytest.mark.parametrize("compile", ["never", "always"])
def test_windows_that_slide(compile: str, base: float, spread: float) -> None:
    x = noise(base, spread)
    aggregates = {name: make("x") for name, make in SHAPES.items()}
    query = windrow.Query(time="t", windows=win.trailing(W), aggregates=aggregates, compile=compile)
    data = {"t": np.arange(N), "x": np.array(x)}
    batch = query.run(data)
    live = query.open()
    parts = [live.push({name: column[a : a + 40] for name, column in data.items()}) for a in range(0, N, 40)]
    for results in ([batch], parts):
        skews, kurts = (
            [None if math.isnan(v) else v for r in results for v in np.ma.filled(r[c], math.nan).tolist()]
            for c in ("s", "k")
        )
        check(skews, kurts, x)


@pytest.mark.parametrize(("base", "spread"), MAGNITUDES)
@pytest.mark.parametrize("algorithm", [swag.TwoStacks, swag.DABA, swag.FlatFAT, swag.FlatFIT, swag.AMTA])
def test_by_hand(algorithm: type, base: float, spread: float) -> None:
    x = noise(base, spread)
    skews, kurts = [], []
    for make, found in ((agg.skewness, skews), (agg.kurtosis, kurts)):
        window = algorithm(make())
        for value in x:
            window.insert(value)
            if len(window) > W:
                window.evict()
            found.append(window.query())
    check(skews, kurts, x)


@pytest.mark.parametrize("make", SHAPES.values())
def test_many_rows_one_after_the_other(make) -> None:
    x = noise(1e8, 1e-6, 5000)
    window = swag.TwoStacks(make())
    window.insert_many(x)
    assert close(window.query(), exact(x)[make is agg.kurtosis], len(x))


@pytest.mark.parametrize("make", SHAPES.values())
@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, 1e160, -1e300, 5e-324])
def test_equal_values_have_no_shape(make, value: float) -> None:
    aggregate = make()
    partial = aggregate.identity
    for _ in range(7):
        partial = aggregate.combine(partial, aggregate.lift(value))
        partial = aggregate.combine(aggregate.identity, aggregate.combine(partial, aggregate.identity))
    assert aggregate.lower(partial) is None
    assert partial[0] == 7.0 and partial[1] == value and not any(partial[2:])


@pytest.mark.parametrize("make", SHAPES.values())
def test_the_identity_changes_no_bit(make) -> None:
    aggregate = make()
    partial = aggregate.lift(1e8)
    for value in noise(1e8, 1e-6, 20):
        partial = aggregate.combine(partial, aggregate.lift(value))
        assert aggregate.combine(aggregate.identity, partial) == partial
        assert aggregate.combine(partial, aggregate.identity) == partial


@pytest.mark.parametrize("guest", [1e300, -1e300, math.inf, math.nan])
@pytest.mark.parametrize("compile", ["never", "always"])
def test_what_has_left_leaves_no_trace(compile: str, guest: float) -> None:
    x = noise(1e8, 1e-6)
    x[30] = guest
    aggregates = {name: make("x") for name, make in SHAPES.items()}
    query = windrow.Query(time="t", windows=win.trailing(W), aggregates=aggregates, compile=compile)
    found = query.run({"t": np.arange(N), "x": np.array(x)})
    for i in [*range(2, 30), *range(30 + W, N)]:
        expected = exact(x[max(0, i - W + 1) : i + 1])
        assert close(float(found["s"][i]), expected[0]) and close(float(found["k"][i]), expected[1])
    assert all(math.isnan(v) for v in np.ma.filled(found["k"], math.nan)[30 : 30 + W].tolist())
