"""Windows of all kinds in one live query against their definitions: with snapshots in between, and with failures."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import windrow
from tests.query.cases import arrow_rows, one_pair_of_edges
from tests.sharing.streams import AGGREGATES, expected, ordered, table, windows
from windrow import agg, swag, win
from windrow.swag import ALGORITHMS

TYPES = {"ts": pa.int64(), "km": pa.float64(), "letter": pa.string(), "number": pa.int64()}
TYPES |= {"flag": pa.bool_(), "price": pa.float64()}


def arrow(rows: list[dict]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def told(result: pa.Table) -> list[tuple]:
    rows = one_pair_of_edges(arrow_rows(result))
    return [(row["window"], row["start"], row["end"], row["answer"]) for row in rows]


def parts(rnd: random.Random, rows: list[dict]) -> list[list[dict]]:
    found, at = [], 0
    while at < len(rows):
        size = rnd.choice([1, 1, 2, 7])
        found.append(rows[at : at + size])
        at += size
    return found


def query(ours: dict, aggregate: windrow.Aggregate, **options: object) -> windrow.Query:
    """In plain Python: only walks are compiled."""
    return windrow.Query(time="ts", windows=ours, aggregates={"answer": swag.counting(aggregate)}, **options)


@pytest.mark.parametrize("algorithm", ["auto", *(name for name in ALGORITHMS if name != "subtract_on_evict")])
def test_every_kind_equals_its_definition(algorithm: str) -> None:
    for seed in range(120 if algorithm == "auto" else 12):
        rnd = random.Random(f"{algorithm} {seed}")
        aggregate = rnd.choice([*AGGREGATES, "concat"])
        ours, theirs = windows(rnd, rnd.randint(1, 4))
        rows, partial = table(rnd, rnd.randint(1, 40)), rnd.random() < 0.5
        live = query(ours, AGGREGATES[aggregate][0], partial=partial, algorithm=algorithm).open()
        found = []
        for part in parts(rnd, rows):
            found += told(live.push(arrow(part)))
            if rnd.random() < 0.1 and part[-1]["ts"] is not None:
                found += told(live.advance(part[-1]["ts"]))
        found += told(live.close())
        assert ordered(found) == expected(rows, theirs, aggregate, partial), (seed, ours)
        columns = {w.measure.column for w in ours.values() if w.measure.column}
        gone = sum(any(row[c] is None for c in ("ts", *columns)) for row in rows)
        assert (live.report.rejected, live.report.late) == (gone, 0), (seed, ours)


def test_a_snapshot_at_any_point_goes_on_the_same() -> None:
    for seed in range(40):
        rnd = random.Random(1000 + seed)
        aggregate = rnd.choice(list(AGGREGATES))
        ours, theirs = windows(rnd, 3)
        rows = table(rnd, 30)
        of = query(ours, AGGREGATES[aggregate][0])
        live, found = of.open(), []
        for part in parts(rnd, rows):
            if rnd.random() < 0.3:
                live = of.resume(live.snapshot())
            found += told(live.push(arrow(part)))
        found += told(live.close())
        assert ordered(found) == expected(rows, theirs, aggregate, False), (seed, ours)


def test_a_push_that_raises_has_never_been() -> None:
    armed = [False]

    def combine(a: str, b: str) -> str:
        if armed[0] and "!" in a + b and random.Random(a + b).random() < 0.5:
            raise ValueError("no")
        return a + b

    words = windrow.Aggregate(lambda x: x, combine, identity="", name="words")("letter")
    failures = 0
    for seed in range(20):
        rnd = random.Random(seed)
        ours, theirs = windows(rnd, 3)
        rows = table(rnd, 30, nulls=False)
        for row in rows:
            row["letter"] = rnd.choice("abc!")
        live, found = query(ours, words).open(), []
        for part in parts(rnd, rows):
            before = live.snapshot()
            armed[0] = True
            try:
                result = live.push(arrow(part))
            except ValueError:
                failures += 1
                armed[0] = False
                assert live.snapshot() == before
                result = live.push(arrow(part))
            armed[0] = False
            found += told(result)
        found += told(live.close())
        assert ordered(found) == expected(rows, theirs, "concat", False), (seed, ours)
    assert failures > 20


def test_an_overflow_names_the_window_and_leaves_no_trace() -> None:
    live = query({"w": win.sliding(2, every=1)}, agg.sum("number")).open()
    live.push(arrow([{**dict.fromkeys(TYPES), "ts": 0, "number": 2**63 - 1}]))
    before = live.snapshot()
    with pytest.raises(OverflowError, match="window 'w' from 0 to 2"):
        live.push(arrow([{**dict.fromkeys(TYPES), "ts": 1, "number": 1}]))
    assert live.snapshot() == before
