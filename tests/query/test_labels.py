"""Labels of live queries: the right ones come back, and those that nothing refers to any more are forgotten."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.query import cases
from tests.query.cases import assert_same
from windrow import agg, stores, win
from windrow.local import labels

WINDOWS = {
    "sliding": win.sliding("8 s", every="2 s"),
    "rows": win.sliding(7, every=3),
    "session": win.session("2 s"),
    "trailing": win.trailing("5 s"),
    "trailing rows": win.trailing(6),
    "last": win.last(5, every="3 s"),
    "punctuated": win.punctuated("x > 80"),
    "policy": win.policy(lambda total, old: total["n"] > 9, {"n": agg.count()}),
}
VALUES = {
    "texts": (pa.string(), lambda i: f"order {i}"),
    "ints": (pa.int64(), lambda i: i),
    "floats": (pa.float64(), lambda i: i / 4),
    "bytes": (pa.binary(), lambda i: b"%d" % i),
    "decimals": (pa.decimal128(12, 2), lambda i: Decimal(i) / 4),
    "times": (pa.timestamp("us"), lambda i: datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=i)),
    "lists": (pa.list_(pa.int64()), lambda i: [i, i % 3]),
    "few": (pa.string(), lambda i: "abc"[i % 3]),
}
AGGREGATES = {"top": agg.max_by("order", "x"), "low": agg.min_by("order", "x"), "one": agg.first("order")}


BAD = 12345.0


def refused(x):
    if x == BAD:
        raise ValueError("not that")
    return x


def arrow_rows(result: pa.Table) -> list[dict]:
    """Rows that can be compared: lists as texts."""
    return [{n: str(v) if isinstance(v, list) else v for n, v in row.items()} for row in cases.arrow_rows(result)]


def rows(n: int, values: str, nulls: bool = True) -> pa.Table:
    rng = np.random.default_rng(n)
    kind, make = VALUES[values]
    orders = [None if nulls and rng.random() < 0.1 else make(i) for i in range(n)]
    return pa.table(
        {
            "ts": pa.array(np.cumsum(rng.integers(0, 3_000_000, n)), pa.timestamp("us")),
            "key": pa.array(rng.choice(["a", "b"], n)),
            "x": rng.integers(0, 100, n).astype(float),
            "order": pa.array(orders, kind),
        }
    )


def pushed(live, table: pa.Table, sizes=(1, 40, 3, 0, 17)):
    """The table in pieces, and what each gave."""
    at, i = 0, 0
    while at < table.num_rows:
        yield live.push(table.slice(at, sizes[i % len(sizes)]))
        at, i = at + sizes[i % len(sizes)], i + 1


def bounded(live, kept: int) -> bool:
    return all(len(values) <= kept for values in live.labels.values.values())


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(labels, "FEW", 8)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("window", WINDOWS)
def test_labels_are_right_and_forgotten(window, values):
    query = windrow.Query(time="ts", by="key", windows=WINDOWS[window], aggregates=AGGREGATES)
    table = rows(1200, values)
    live = query.open()
    found = []
    for result in pushed(live, table):
        found += arrow_rows(result)
        # what two keys' windows hold, doubled, and what a push brings after that
        assert bounded(live, 2 * 100 + 40), {n: len(v) for n, v in live.labels.values.items()}
    found += arrow_rows(live.close())
    assert_same(found, arrow_rows(query.run(table)), window)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("window", WINDOWS)
def test_they_go_through_snapshots_and_failed_batches(window):
    picky = windrow.Aggregate(refused, max, identity=-1.0, commutative=True)
    aggregates = {**AGGREGATES, "picky": picky("x")}
    query = windrow.Query(time="ts", by="key", windows=WINDOWS[window], aggregates=aggregates)
    table = rows(600, "texts")
    live = query.open()
    found = []
    for at in range(0, 600, 25):
        good = table.slice(at, 25)
        known = {name: len(values) for name, values in live.labels.values.items()}
        with pytest.raises(ValueError, match="not that"):
            live.push(good.set_column(2, "x", pa.array([BAD] * len(good))))
        assert all(len(values) <= known.get(name, 0) for name, values in live.labels.values.items())
        found += arrow_rows(live.push(good))
        live = query.resume(live.snapshot())
    found += arrow_rows(live.close())
    assert_same(found, arrow_rows(query.run(table)), window)


@pytest.mark.usefixtures("few")
def test_a_store_refers_to_labels_for_good(tmp_path):
    """So they are kept, one for each different value."""
    query = windrow.Query(time="ts", by="key", windows=WINDOWS["sliding"], aggregates=AGGREGATES, store=stores.memory())
    table = rows(600, "few")
    live = query.open()
    found = [row for result in pushed(live, table) for row in arrow_rows(result)]
    assert all(len(values) <= 4 for values in live.labels.values.values())
    found += arrow_rows(live.close())
    assert_same(found, arrow_rows(query.run(table)), "sliding")


def test_a_number_is_the_same_for_the_same_value():
    from windrow.engine.inputs import Column, object_array

    def numbers(*values):
        array = object_array(values)
        return known.numbers("x", Column(array, None, array.dtype)).tolist()

    known = labels.Labels()
    assert numbers("a", "b", None, "a") == [0, 1, 2, 0]
    assert numbers("b", "c", None) == [1, 3, 2]
    assert numbers(1, True, 1.0, [1], [1], 1) == [4, 5, 6, 7, 7, 4]
    known.cut({"x": 3})
    assert numbers("c", "a") == [3, 0]
