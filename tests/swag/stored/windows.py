"""Small windows over a store, and aggregates whose answers tell the order of rows."""

import pytest

from windrow import Aggregate, stores
from windrow.swag import AMTA, LogMTA

text = Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity="", name="text")
both = pytest.mark.parametrize("algorithm", [AMTA, LogMTA])

#: order matters, and it is numbers: the hash of a sequence, and what the next one is multiplied by
order = Aggregate(
    lift=lambda x: (x, 31),
    combine=lambda a, b: ((a[0] * b[1] + b[0]) % 1_000_003, a[1] * b[1] % 1_000_003),
    lower=lambda p: p[0],
    identity=(0, 1),
    name="order",
)


def hashed(rows):
    value = 0
    for row in rows:
        value = (value * 31 + row) % 1_000_003
    return value


def small(algorithm, aggregate, store=None, **options):
    return algorithm(aggregate, store=store or stores.memory(), **{"cache": 16, "buffer": 16, **options})


def text_length():
    return Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity=0, name="length")
