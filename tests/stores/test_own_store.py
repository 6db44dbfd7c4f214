"""Two verbs are a store; and partials that are objects go there as the user's own bytes."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

import windrow
from tests.query.stored_cases import AGGREGATES, WINDOWS, pushed, small_pages, table
from windrow import agg, stores, swag
from windrow.errors import SnapshotError, StoreError

__all__ = ["small_pages"]  # a fixture for all tests here


class Own:
    """As the documentation has it: nothing but the two verbs."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}
        self.lock = threading.Lock()

    def get_many(self, keys):
        with self.lock:
            return [self.held.get(key) for key in keys]

    def write(self, batch, *, durable=False):
        with self.lock:
            if batch.guard is not None:
                stores.refuse(batch.guard, self.held.get(batch.guard[0]))
            for start, end in batch.ranges:
                for key in [key for key in self.held if start <= key < end]:
                    del self.held[key]
            self.held.update(batch.puts)


def test_it_is_a_store():
    assert isinstance(Own(), stores.Store) and not isinstance({}, stores.Store)


@pytest.mark.parametrize("remote", [None, True])
@pytest.mark.parametrize("cls", [swag.AMTA, swag.LogMTA])
def test_windows_by_hand(cls, remote):
    store = Own()
    if remote:
        store.remote = True
    w, rows = cls(agg.concat(), store=store, cache=16, buffer=16, name="own"), []
    for i in range(900):
        rows.append(chr(97 + i % 26))
        w.insert(rows[-1])
        if i % 7 == 0:
            w.evict()
            del rows[0]
        if i % 300 == 299:
            w.evict_many(100)
            del rows[:100]
            assert w.enforce(lambda total, old: len(old) <= 50) == 50
            del rows[:50]
            w.checkpoint()
            w = cls.open(agg.concat(), store, name="own")
        if i % 50 == 0:
            assert (w.query() or "") == "".join(rows)
    again = cls.resume(agg.concat(), w.snapshot(), store=store)
    assert again.query() == "".join(rows)
    with pytest.raises(StoreError, match="taken it over"):
        w.checkpoint()
    again.close()
    cls.forget(store, "own")
    assert not store.held


@pytest.mark.parametrize("name", ["periodic", "trailing, left", "policy"])
def test_a_stored_query(name):
    data, store = table(n=600), Own()
    made = {"time": "ts", "by": "k", "windows": WINDOWS[name], "aggregates": {"c": AGGREGATES["c"]}}
    assert pushed(windrow.Query(**made, store=store), data, 0.3) == pushed(windrow.Query(**made), data)
    live = windrow.Query(**made, store=(fresh := Own())).open()
    live.push({name: column[:300] for name, column in data.items()})
    assert fresh.held
    live.forget()
    assert not fresh.held


class Span:
    """A partial that nobody else knows: the rows' sum as a fraction, and their order."""

    def __init__(self, total: Fraction, order: str) -> None:
        self.total, self.order = total, order


def spans(**options) -> windrow.Aggregate:
    return windrow.Aggregate(
        lambda x: Span(Fraction(int(x), 3), f"{int(x)},"),
        lambda a, b: Span(a.total + b.total, a.order + b.order),
        lambda s: f"{s.total}: {s.order}",
        name="spans",
        **options,
    )


def dump(span: Span) -> bytes:
    return f"{span.total}|{span.order}".encode()


def load(data: bytes) -> Span:
    total, order = data.decode().split("|")
    return Span(Fraction(total), order)


@pytest.mark.parametrize("cls", [swag.AMTA, swag.LogMTA])
def test_objects_as_bytes(cls):
    own, store = spans(dump=dump, load=load), stores.memory()
    w, rows = cls(own, store=store, cache=16, buffer=16), list(range(300))
    w.insert_many(rows)
    w.evict_many(40)
    del rows[:40]
    expected = f"{Fraction(sum(rows), 3)}: {''.join(f'{x},' for x in rows)}"
    w.checkpoint()
    assert cls.open(own, store).query() == expected
    plain = cls(own)
    plain.insert_many(rows)
    assert cls.resume(own, plain.snapshot()).query() == expected
    with pytest.raises(SnapshotError, match="Span"):
        cls(spans(), store=stores.memory()).insert(1)
    assert not any(b"pickle" in value or b"Span" in value for _, value in store.scan(b"", b"\xff" * 9))


def test_objects_of_a_query_as_bytes():
    data = {"x": np.arange(500)}
    made = {"windows": windrow.win.trailing(300), "aggregates": {"s": spans(dump=dump, load=load)("x")}}
    expected = windrow.Query(**made).run(data)["s"].tolist()
    for store in (None, stores.memory()):
        query, found = windrow.Query(**made, store=store), []
        live = query.open()
        for at in range(0, 500, 90):
            found += live.push({"x": data["x"][at : at + 90]})["s"].tolist()
            live = query.resume(live.snapshot())
        assert found == expected


def test_dump_and_load_go_together():
    with pytest.raises(TypeError, match="go together"):
        spans(dump=dump)
    with pytest.raises(TypeError, match="must be functions"):
        spans(dump=b"x", load=load)
