"""Random streams: rows out of order, cut into batches anywhere, and what must come out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow
from tests.query.own_windows import LastRows, Quiet
from windrow import agg, swag, win

START, SECOND = 10**15, 10**6
LATENESS = 300 * SECOND
#: a key that comes at the end and takes event time past all windows
END = "end"


def at_most_five(total, old):
    return total.n - old.n >= 5


@dataclass
class EveryThird:
    """A window begins at each third row; the one before it ends there."""

    n: int = 0

    def discretize(self, row):
        self.n += 1
        begins = self.n % 3 == 1
        return int(begins), int(begins and self.n > 3)


KINDS = {
    "sliding": win.sliding("10 minutes", every="7 minutes"),
    "long": win.sliding("50 minutes", every="2 minutes"),
    "gaps": win.sliding("1 minute", every="3 minutes"),
    "tumbling": win.tumbling("5 minutes"),
    "trailing": win.trailing("9 minutes", closed="both"),
    "trailing left": win.trailing("9 minutes", closed="left"),
    "trailing rows": win.trailing(5),
    "session": win.session("20 seconds"),
    "rows": win.sliding(10, every=3),
    "punctuated": win.punctuated("x > 6"),
    "landmark": win.landmark("x > 6", every="3 minutes"),
    "last": win.last(3, every="10 minutes"),
    "last by time": win.last("9 minutes", every=4),
    "last by column": win.last(25.0, every="10 minutes", on="m"),
    "policy": win.policy(at_most_five, over={"n": agg.count()}),
    "user-defined": win.user_defined(EveryThird),
    "user-defined by time": win.user_defined(Quiet(20 * SECOND)),
    "user-defined by eviction": win.user_defined(LastRows(3, 600 * SECOND)),
    "column": win.sliding(30.0, every=10.0, on="m"),
    "column session": win.session(5.0, on="m"),
    "column trailing": win.trailing(25.0, on="m"),
}

spread = windrow.Aggregate(
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
    identity=(1e300, -1e300),
    commutative=True,
)
#: with one that is not commutative, one of a user's own, one that hands on labels
ORDERED = {"n": agg.sum("x"), "text": agg.concat("s"), "who": agg.max_by("s", "x"), "spread": spread("m")}
IN_ANY_ORDER = {"n": agg.sum("x"), "who": agg.max_by("s", "x"), "spread": spread("m"), "rows": agg.count()}


def plainly(aggregates):
    """The aggregates without machine code, which would have to be compiled for each."""
    return {name: swag.counting(aggregate) for name, aggregate in aggregates.items()}


def query(kind, aggregates, by="k", lateness=LATENESS // SECOND, **options):
    options = {"time": "ts", "by": by, "lateness": f"{lateness} seconds"} | options
    return windrow.Query(windows=KINDS[kind], aggregates=aggregates, **options)


def rows(rng, kind, n=200, disorder=600, keys=("a", "b", None, "c", "d"), repeated=0.05):
    """Rows in the order of their arrival: each up to `disorder` seconds late, some of them twice.

    Rows of one time stay together, since which of them is first is part of some answers; along a column, rows that go
    back are rejected, so there they are in order.
    """
    ticks = np.sort(rng.integers(0, 3600, n)) * SECOND + START
    table = pa.table(
        {
            "ts": pa.array(ticks, pa.timestamp("us", "UTC")),
            "k": pa.array([keys[i] for i in rng.integers(0, len(keys), n)], pa.string()),
            "x": pa.array([None if v == 0 else int(v) for v in rng.integers(0, 9, n)], pa.int64()),
            "s": pa.array([str(i % 7) for i in range(n)]),
            "m": np.round(np.cumsum(rng.random(n) * 2), 3),
        }
    )
    if kind.startswith("column"):
        return table
    twice = np.sort(np.concatenate([np.arange(n), np.flatnonzero(rng.random(n) < repeated)]))
    table = table.take(twice)
    delay = {t: int(rng.integers(0, disorder + 1)) * SECOND for t in ticks.tolist()}
    arrival = [t + delay[t] for t in ticks[twice].tolist()]
    return table.take(np.argsort(arrival, kind="stable"))


def ending(table, kind):
    """Rows that end all windows, days later; along a column, each key has one of its own, and time goes on."""
    keys = [*(dict.fromkeys(table["k"].to_pylist()) if kind.startswith("column") else ()), END]
    n = len(keys)
    times = [START + 400_000 * SECOND] * (n - 1) + [START + 500_000 * SECOND]
    return pa.table(
        [pa.array(times, pa.timestamp("us", "UTC")), keys, [1] * n, ["-"] * n, [1e6] * n], schema=table.schema
    )


def without(table, late):
    """The rows that are not among the late ones."""
    left = Counter(map(repr, late.to_pylist()))
    stays = []
    for row in map(repr, table.to_pylist()):
        stays.append(left[row] == 0)
        left[row] -= not stays[-1]
    return table.filter(pa.array(stays, pa.bool_()))


def before_the_end(results, rows):
    """Without what the ending rows are in; `rows` came before them."""
    if "ts" in results.column_names:
        ended = pc.less(results["ts"], pa.scalar(START + 200_000 * SECOND, results["ts"].type))
    elif pa.types.is_timestamp(results["start"].type):
        ended = pc.less(results["start"], pa.scalar(START + 200_000 * SECOND, results["start"].type))
    elif pa.types.is_floating(results["start"].type):
        ended = pc.less(results["start"], 1e5)
    elif "k" in results.column_names:
        ended = pc.fill_null(pc.not_equal(results["k"], END), True)
    else:
        ended = pc.less_equal(results["end"], rows)
    return results.filter(ended)
