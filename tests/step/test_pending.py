"""Rows that wait: released in the order in which they came, whatever order their times have."""

from __future__ import annotations

import random

import numpy as np

import windrow
from windrow import agg, win
from windrow.engine.inputs import Column
from windrow.step.held import Held
from windrow.step.pending import Pending


def held(times: list[int], values: list[int]) -> Held:
    column = Column(np.array(values), None, np.dtype(np.int64))
    return Held(np.zeros(len(times), np.int64), np.array(times), {"x": column})


def test_against_a_list() -> None:
    for seed in range(50):
        rnd, pending = random.Random(seed), Pending()
        brute: list[tuple[int, int]] = []
        count = 0
        for _ in range(40):
            times = [rnd.randrange(60) for _ in range(rnd.randrange(6))]
            numbers = list(range(count, count + len(times)))
            count += len(times)
            pending.add(held(times, numbers))
            brute += zip(times, numbers, strict=True)
            until, inclusive = rnd.randrange(60), rnd.random() < 0.5
            ready = [(t, n) for t, n in brute if t < until or (inclusive and t == until)]
            brute = [pair for pair in brute if pair not in ready]
            released = pending.release(until, inclusive)
            got = [] if released is None else released[0].columns["x"].values.tolist()
            assert got == [n for _, n in ready]
            assert len(pending) == len(brute)
            assert pending.oldest == min((t for t, _ in brute), default=None)
            assert len(pending.runs) <= 7
            assert pending.waiting.any(np.array([0, 1])).tolist() == [bool(brute), False]


def test_the_arrays_of_a_push_may_be_used_again() -> None:
    query = windrow.Query(time="t", windows=win.trailing(10), aggregates={"s": agg.sum("x")}, lateness="1 minute")
    live, t, x = query.open(), np.zeros(2, np.int64), np.zeros(2, np.int64)
    for i in range(3):
        t[:], x[:] = [2 * i, 2 * i + 1], [1, 10]
        live.push({"t": t, "x": x})
    t[:], x[:] = -1, -1
    out = live.close()
    assert out["t"].tolist() == [0, 1, 2, 3, 4, 5] and out["s"].tolist() == [1, 11, 12, 22, 23, 33]
