"""Stores that lose, tear and reorder writes, and the run they do it to."""

from __future__ import annotations

import random

from tests.swag.stored.windows import hashed, order
from windrow import stores
from windrow.errors import WindrowError
from windrow.stores import Batch
from windrow.swag import AMTA


class Recorder(type(stores.memory())):
    """Remembers every write."""

    def __init__(self):
        super().__init__()
        self.batches: list[Batch] = []

    def write(self, batch, **options):
        super().write(batch, **options)
        self.batches.append(batch)


def recorded(writes: int, seed: int = 1):
    """A run of so many writes with crashes in between: the batches, and the rows at each checkpoint."""
    rng, store = random.Random(seed), Recorder()
    w = AMTA(order, store=store, cache=16, buffer=8)
    rows, states = [], {}
    while len(store.batches) < writes:
        for _ in range(rng.randrange(1, 60)):
            rows.append(rng.randrange(1000))
            w.insert(rows[-1])
        k = rng.choice([0, 0, 5, len(rows) // 2])
        w.evict_many(k)
        del rows[:k]
        w.pager.flush()
        if rng.random() < 0.15:
            states[w.checkpoint()] = list(rows)
        if rng.random() < 0.04 and states:
            w.close()
            w = AMTA.open(order, store)
            rows = list(states[w.number])
    w.close()
    return store.batches, states


def replayed(batches, fault: str, at: int, rng: random.Random):
    """A store to which the batches were written, but for a fault at one of them."""
    store = stores.memory()
    batches = list(batches)
    if fault == "lost":
        del batches[at]
    elif fault == "torn":
        puts = list(batches[at].puts)
        if puts:
            i = rng.randrange(len(puts))  # what came before it is there, what comes after it is not
            key, value = puts[i]
            puts = [*puts[:i], (key, value[: rng.randrange(len(value) + 1)])]
        batches[at] = Batch(tuple(puts), batches[at].ranges if rng.random() < 0.5 else ())
    elif fault == "reordered" and at + 1 < len(batches):
        later = min(at + rng.randrange(1, 6), len(batches) - 1)
        batches.insert(later, batches.pop(at))
    if fault != "none":
        del batches[at + rng.randrange(1, 80) :]  # and soon after it a crash
    for batch in batches:
        store.write(Batch(batch.puts, batch.ranges))  # a disk asks for no guard
    return store


def verdict(store, states) -> str:
    """ "right" (and of which checkpoint), or the name of the error; AssertionError where an answer is wrong."""
    try:
        w = AMTA.open(order, store)
        rows = list(states[w.number])
        while True:
            assert len(w) == len(rows), (len(w), len(rows))
            assert (w.query() or 0) == hashed(rows), "a wrong answer"
            if not rows:
                return f"checkpoint {w.number}"
            k = min(len(rows), 13)
            w.evict_many(k) if len(rows) % 2 else [w.evict() for _ in range(k)]
            del rows[:k]
            w.insert(len(rows))
            rows.append(len(rows))
            if len(rows) < 14:
                w.evict_many(len(rows))
                rows.clear()
    except WindrowError as error:
        return type(error).__name__
