"""LogMTA and AMTA over a store: the answers of windows in memory, whatever happens in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.swag.stored.windows import both, hashed, order, small, text
from windrow import agg, stores, swag
from windrow.swag import AMTA, LogMTA

steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(1, 70)),
        st.tuples(st.just("evict"), st.integers(1, 40)),
        st.tuples(st.just("bulk"), st.floats(0, 1)),
        st.tuples(st.just("policy"), st.floats(0, 1)),
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("crash"), st.none()),
    ),
    max_size=30,
)


@both
@given(steps=steps, aggregate=st.sampled_from(["concat", "text", "join"]))
@settings(max_examples=25)
def test_as_recalculated(algorithm, steps, aggregate):
    """Any sequence of operations, checkpoints and crashes."""
    make = {
        "concat": agg.concat,
        "text": lambda: text,
        "join": lambda: agg.join(agg.concat(), agg.last_n(n=2), agg.count()),
    }
    store, letters = stores.memory(), iter("abcdefghijklmnopqrstuvwxyz" * 400)
    w, truth = small(algorithm, make[aggregate](), store), swag.Recalculate(make[aggregate]())
    durable = None
    for what, size in steps:
        n = len(truth)
        if what == "insert":
            for _ in range(size):
                letter = next(letters)
                w.insert(letter)
                truth.insert(letter)
        elif what == "evict":
            for _ in range(min(size, n)):
                w.evict()
                truth.evict()
        elif what == "bulk":
            w.evict_many(int(size * n))
            truth.evict_many(int(size * n))
        elif what == "policy":
            k = int(size * n)
            long = (lambda a: len(a or "")) if aggregate != "join" else (lambda a: a[2])
            assert w.enforce(lambda total, old: long(old) <= k) == k
            truth.evict_many(k)
        elif what == "checkpoint":
            w.checkpoint(note=n)
            durable = truth.snapshot()
        elif durable is not None:
            w = algorithm.open(make[aggregate](), store)
            truth = swag.Recalculate.resume(make[aggregate](), durable)
        w.check_invariants()
        assert len(w) == len(truth) and w.query() == truth.query()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [AMTA, LogMTA])
def test_compiled_and_by_hand_in_turn(algorithm, tmp_path):
    rng, rows = np.random.default_rng(3), []
    store = stores.rocksdb(tmp_path / "db")
    w = small(algorithm, order, store)
    for step in range(40):
        kind = rng.integers(6)
        new = rng.integers(0, 1000, rng.integers(1, 150))
        if kind == 0:
            w.insert_many(new)
            rows += new.tolist()
        elif kind == 1:
            size = max(len(rows), int(rng.integers(1, 900)))
            got = w.slide(new, size)
            for i, row in enumerate(new.tolist()):
                rows = [*rows, row][-size:]
                if i % 50 == 0 or i == len(new) - 1:
                    assert got[i] == hashed(rows), step
        elif kind == 2:
            for row in new.tolist()[:60]:
                w.insert(row)
                rows.append(row)
        elif kind == 3:
            k = int(rng.integers(0, len(rows) + 1))
            w.evict_many(k)
            del rows[:k]
        elif kind == 4:
            for _ in range(min(len(rows), 40)):
                w.evict()
                del rows[0]
        elif kind == 5:
            w.checkpoint(note=[step, "x"])
            w.close()
            w = algorithm.open(order, store)
            assert w.note == [step, "x"]
        if step % 8 == 0:
            w.check_invariants()
        assert len(w) == len(rows) and (w.query() or 0) == hashed(rows), step
    store.close()


@pytest.mark.parametrize(
    "aggregate", [agg.sum, agg.max, agg.mean, agg.stddev, agg.count, lambda: agg.top_k(k=3), agg.longest_increasing_run]
)
def test_aggregates_as_in_memory(aggregate):
    """Partials go through pages without a change: the same answers, to the last bit."""
    hand, mine = small(AMTA, aggregate()), AMTA(aggregate())
    for i, value in enumerate(np.random.default_rng(1).normal(size=500).tolist()):
        for w in (hand, mine):
            w.insert(None if i % 5 == 3 else value)
            if len(w) > 233:
                w.evict()
        assert hand.query() == mine.query()


@pytest.mark.parametrize(
    ("aggregate", "nulls"), [(agg.sum, False), pytest.param(agg.mean, True, marks=pytest.mark.slow)]
)  # a kernel takes seconds to compile
def test_compiled_as_by_hand(aggregate, nulls):
    values = np.random.default_rng(1).normal(size=500)
    if nulls:
        values = np.ma.masked_array(values, np.random.default_rng(2).random(500) < 0.2)
    got, w = small(AMTA, aggregate()).slide(values, 233), AMTA(aggregate())
    for answer, value in zip(got.tolist(), values.tolist(), strict=True):
        w.insert(value)
        if len(w) > 233:
            w.evict()
        assert answer == pytest.approx(w.query(), rel=1e-12, nan_ok=True)


def test_text_and_wide_ints_and_sketches():
    for make, rows in (
        (agg.concat, ["ä", "", "b"] * 60),
        (agg.max, [2**70, 3, -1] * 60),
        (agg.approx_count_distinct, list(range(180))),
        (lambda: agg.collect_list(), [1, "x", None, 2.5] * 45),
    ):
        store = stores.memory()
        w, truth = small(AMTA, make(), store), swag.Recalculate(make())
        for row in rows:
            w.insert(row)
            truth.insert(row)
        w.checkpoint()
        w = AMTA.open(make(), store)
        w.evict_many(100)
        truth.evict_many(100)
        assert str(w.query()) == str(truth.query())
