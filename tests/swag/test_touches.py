"""An algorithm that says which slots so many operations can touch touches no other ones."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from windrow import agg
from windrow.aggregates import join
from windrow.engine.forms import plain_form
from windrow.engine.state import new_store
from windrow.swag import ALGORITHMS

TOLD = [name for name, window in ALGORITHMS.items() if window.algorithm.touches is not None]
ROOM = 1 << 14


def test_the_two_that_queries_use_tell_it() -> None:
    assert set(TOLD) == {"two_stacks_lite", "daba_lite"}


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("seed", range(40))
def test_nothing_else_is_touched(name: str, seed: int) -> None:
    rnd, algorithm = random.Random(seed), ALGORITHMS[name].algorithm
    form = plain_form(join(agg.concat()))
    touched: set[int] = set()
    get, put = form.get, form.put

    def watched_get(slots, i):
        touched.add(i)
        return get(slots, i)

    def watched_put(slots, i, partial):
        touched.add(i)
        put(slots, i, partial)

    kernel = algorithm.kernel(replace(form, get=watched_get, put=watched_put, memo={}))
    store = new_store(algorithm, form, ROOM)
    r = kernel.clear(store)
    flips = 0
    for _ in range(60):
        size, before = kernel.size(r), r
        evictions, inserts = rnd.randrange(min(size, rnd.choice([1, 2, 30])) + 1), rnd.randrange(rnd.choice([2, 3, 60]))
        known = r._asdict()
        # bounds, as the engine has them: there may be fewer
        more = np.array([evictions + rnd.randrange(3)]), np.array([inserts + rnd.randrange(3)])
        stretches = algorithm.touches(lambda register, k=known: np.array([k[register]]), *more)
        allowed = {i for low, high in stretches for i in range(int(low[0]), int(high[0]))}
        touched.clear()
        operations = ["evict"] * evictions + ["insert"] * inserts
        rnd.shuffle(operations)
        for operation in operations:
            if operation == "insert":
                r = kernel.insert(store, r, form.lift_at((["x"],), (None,), 0))
            elif kernel.size(r):
                r = kernel.evict(store, r)
            if kernel.size(r) and rnd.random() < 0.7:
                kernel.query(store, r)
        there = {i for i in touched if before.F <= i < before.E}  # what is new is not asked for
        assert there <= allowed, sorted(there - allowed)
        flips += r.B != before.B
        assert r.E < ROOM
    assert flips > 0
