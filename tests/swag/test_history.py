"""What has left the window has left no trace: 1e300, infinities and NaN come and go (semantics §5, §6)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from windrow import agg, swag
from windrow.errors import Unsupported
from windrow.swag import ALGORITHMS

W = 8
EPS = 2.0**-52
RNG = np.random.default_rng(6)
GUESTS = {"1e300": 1e300, "-1e300": -1e300, "inf": math.inf, "-inf": -math.inf, "nan": math.nan, "1e16": 1e16}
TRUE = {
    "sum": (agg.sum, math.fsum),
    "mean": (agg.mean, lambda v: math.fsum(v) / len(v)),
    "variance": (agg.variance, lambda v: np.var(v, ddof=1)),
    "stddev": (agg.stddev, lambda v: np.std(v, ddof=1)),
    "max": (agg.max, max),
    "min": (agg.min, min),
    "geometric_mean": (agg.geometric_mean, lambda v: math.exp(math.fsum(map(math.log, v)) / len(v))),
    "skewness": (agg.skewness, None),
    "value_range": (agg.value_range, lambda v: max(v) - min(v)),
}


@pytest.mark.parametrize("guest", GUESTS)
@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_is_left(algorithm: str, name: str, guest: str) -> None:
    make, true = TRUE[name]
    data = np.concatenate([RNG.uniform(0.5, 2, 5), [GUESTS[guest]], RNG.uniform(0.5, 2, 3 * W)])
    try:
        window = ALGORITHMS[algorithm](make())
    except Unsupported:
        pytest.skip("not for this algorithm")
    for i, value in enumerate(data.tolist()):
        window.insert(value)
        if len(window) > W:
            window.evict()
        if i >= 5 + W:
            content = data[i - W + 1 : i + 1].tolist()
            if true is None:
                fresh = type(window)(make())
                fresh.insert_many(content)
                want = fresh.query()
            else:
                want = true(content)
            assert window.query() == pytest.approx(want, abs=W * EPS * sum(map(abs, content)), rel=1e-12)


@pytest.mark.parametrize("w", [1, 3, 16, 300, 1000])
@pytest.mark.parametrize("name", ["sum", "mean", "stddev", "max", "min"])
def test_nothing_is_left_compiled(name: str, w: int) -> None:
    """The fused path over a whole array, against exact sums of each window alone."""
    make, true = TRUE[name]
    data = RNG.uniform(0.5, 2, 4 * w + 700)
    spots = {40 + i * (2 * w + 37) // 2: value for i, value in enumerate(GUESTS.values())}
    for spot, value in spots.items():
        if spot < len(data):
            data[spot] = value
    answers = swag.TwoStacksLite(make()).slide(data, w)
    for i in range(w, len(data), max(1, len(data) // 200)):
        content = data[i - w + 1 : i + 1]
        if np.isfinite(content).all() and np.abs(content).max() < 10 and (w > 1 or name != "stddev"):
            bound = w * EPS * np.abs(content).sum()
            assert answers[i] == pytest.approx(true(content.tolist()), abs=bound, rel=1e-12), i


def test_variance_of_a_constant_is_zero_and_never_negative() -> None:
    for value in (0.1, 1e8 + 0.1, 1e-300, -3.7):
        for w in (2, 7, 300):
            answers = swag.TwoStacksLite(agg.variance()).slide(np.full(2000, value), w)
            assert (answers[1:] == 0).all()
    near = 1e9 + RNG.uniform(0, 1e-6, 5000)
    for algorithm in ("two_stacks_lite", "daba", "amta"):
        assert (ALGORITHMS[algorithm](agg.variance()).slide(near, 50)[1:] >= 0).all()


def test_nan_and_infinity_follow_spark() -> None:
    nan, inf = math.nan, math.inf
    data = np.array([1.0, nan, 2.0, -inf, inf, -0.0, 0.0])
    for algorithm in ("recalculate", "two_stacks_lite", "daba", "flat_fit", "amta", "reactive_aggregator"):
        largest = ALGORITHMS[algorithm](agg.max()).slide(data, 2)
        smallest = ALGORITHMS[algorithm](agg.min()).slide(data, 2)
        np.testing.assert_array_equal(largest, [1.0, nan, nan, 2.0, inf, inf, 0.0])
        np.testing.assert_array_equal(smallest, [1.0, 1.0, 2.0, -inf, -inf, -0.0, 0.0])
    sums = swag.TwoStacksLite(agg.sum()).slide(data, 2)
    np.testing.assert_array_equal(sums, [1.0, nan, nan, -inf, nan, inf, 0.0])
