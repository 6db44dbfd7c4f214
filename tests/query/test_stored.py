"""A live query with a store answers as without one, and holds a few pages of its windows in memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

import windrow
from tests.query import arrivals
from tests.query.cases import KINDS, arrow_rows, assert_same, one_pair_of_edges
from tests.query.stored_cases import AGGREGATES, ROWS, WINDOWS, asked, pushed, rows_of, small_pages, table
from windrow import agg, stores, win
from windrow.step import shelf

__all__ = ["small_pages"]  # a fixture for all tests here


@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("name", WINDOWS)
def test_the_answer_does_not_depend_on_the_store(name, by):
    data = table()
    expected = pushed(asked(WINDOWS[name], by=by), data)
    assert expected
    for again in (0.0, 0.4):
        assert pushed(asked(WINDOWS[name], stores.memory(), by=by), data, again) == expected


def against_the_definition(kind, seed, plain):
    """Rows in any order within the lateness, in pushes of any size; now and then saved and gone on with."""
    case = arrivals.stream(kind, seed)
    case.plain = plain
    rng = random.Random(f"stored {kind} {seed}")
    lateness = arrivals.lateness_of(case, rng)
    query = case.query(lateness=arrivals.spelled(lateness), store=stores.memory())
    parts = arrivals.pushes(arrivals.shuffled(case.table.rows(), lateness, rng), rng, most=20)
    live, got = query.open(), []
    for part in parts:
        got += arrivals.fed(live, [part], case)
        if rng.random() < 0.3:
            live = query.resume(live.snapshot())
    got += arrow_rows(live.close())
    assert_same(got if case.per_row else one_pair_of_edges(got), case.expected(), f"{case}, lateness {lateness}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_equals_its_definition(kind):
    for seed in range(6):
        against_the_definition(kind, 21_000 + seed, plain=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("periodic", "trailing", "policy"))])
def test_every_kind_equals_its_definition_compiled(kind):
    for seed in range(12):
        against_the_definition(kind, 22_000 + seed, plain=False)


@pytest.mark.parametrize("name", ["periodic", "trailing", "policy"])
def test_over_rocksdb(name, tmp_path):
    data = table(1)
    store = stores.rocksdb(tmp_path / "db", memory=1 << 20)
    assert pushed(asked(WINDOWS[name], store), data, 0.3) == pushed(asked(WINDOWS[name]), data)
    store.close()


def test_rows_that_come_late_and_changes_only():
    data, rng = table(2), random.Random(2)
    order = sorted(range(ROWS), key=lambda i: data["ts"][i].astype(int) + rng.randrange(20_000_000))
    mixed = {name: column[order] for name, column in data.items()}
    options = {"lateness": "20 seconds", "by": "k", "changes_only": True}
    commutes = {"s": agg.sum("x"), "m": agg.max("f")}  # without a store such rows go straight into their slices
    for aggregates in (commutes, AGGREGATES):
        expected = pushed(asked(WINDOWS["periodic"], aggregates=aggregates, **options), mixed)
        assert pushed(asked(WINDOWS["periodic"], stores.memory(), aggregates=aggregates, **options), mixed) == expected


def test_several_windows_of_which_one_stays_in_memory():
    data = table(3)
    windows = {
        "a": win.sliding("300 seconds", every="20 seconds"),
        "b": win.session("3 seconds"),
        "c": WINDOWS["periodic"],
    }
    expected = pushed(asked(windows, partial=True), data)
    query = asked(windows, stores.memory(), partial=True)
    assert pushed(query, data, 0.3) == expected
    assert "kept in memory" in query.explain()


def test_memory_holds_a_few_pages(monkeypatch):
    monkeypatch.setattr(shelf, "CACHE", 64)
    n, window = 60_000, 40_000
    store = stores.memory()
    live = windrow.Query(windows=win.trailing(window), aggregates={"s": agg.sum("x")}, store=store).open()
    plain = windrow.Query(windows=win.trailing(window), aggregates={"s": agg.sum("x")}).open()
    for at in range(0, n, 10_000):
        rows = {"x": np.arange(at, at + 10_000)}
        assert (live.push(rows)["s"] == plain.push(rows)["s"]).all()
    (stored,) = live.state.stored.values()
    (tree,) = stored.shelf.trees.values()
    assert len(tree) == window
    assert not any(stored.left)
    assert tree.inserted == n
    assert len(tree._live()) <= 3 * shelf.CACHE * (window.bit_length() + 1)
    assert len(live.snapshot()) < 2000 < window < len(plain.snapshot())


@pytest.mark.parametrize(
    "window",
    [win.trailing("400 seconds"), win.trailing("400 seconds", closed="left"), win.sliding("400 seconds", "10 ms")],
)
def test_memory_does_not_know_every_row_or_slice(monkeypatch, window):
    """Where they lie along the measure is in the store, too."""
    monkeypatch.setattr(shelf, "CACHE", 64)
    query = windrow.Query(time="ts", windows=window, aggregates={"s": agg.sum("x")}, store=stores.memory())
    live = query.open()
    for at in range(0, 40_000, 500):
        i = np.arange(at, at + 500)
        live.push({"ts": (i * 10).astype("M8[ms]"), "x": i})
    (stored,) = live.state.stored.values()
    assert min(len(tree) for tree in stored.shelf.trees.values()) > 39_000
    assert stored.walk.ring.used < 4000
    assert all(len(slots[0]) <= 1 for left in stored.left for slots in left.values())
    assert len(live.snapshot()) < 3000


def test_rings_give_back_what_a_large_push_took():
    query = windrow.Query(
        time="ts", by="k", windows=win.trailing("1 hour"), aggregates={"n": agg.count()}, store=stores.memory()
    )
    live = query.open()
    for key in range(8):
        i = key * 4000 + np.arange(4000)
        live.push({"ts": (i * 10).astype("M8[ms]"), "k": np.full(4000, key)})
    assert live.state.walks["window"].ring.used < 3 * 4096


@pytest.mark.parametrize("closed", ["right", "left", "both", "none"])
def test_what_no_row_to_come_needs_leaves_the_trees(closed):
    """Of a key that falls silent, too; and when it comes back nothing is amiss."""
    data = table(13, 300)
    window = win.trailing("20 seconds", closed=closed)
    live, plain = (asked(window, store, by="k").open() for store in (stores.memory(), None))
    for at in range(0, 300, 50):
        part = {name: column[at : at + 50] for name, column in data.items()}
        assert rows_of([live.push(part)]) == rows_of([plain.push(part)])
        (stored,) = live.state.stored.values()
        assert any(len(tree) for tree in stored.shelf.trees.values())
        if at == 100:
            when = np.datetime64(part["ts"][-1] + 21_000_000)
            assert rows_of([live.advance(when)]) == rows_of([plain.advance(when)])
            assert not any(len(tree) for tree in stored.shelf.trees.values())
            assert not any(stored.left)
            data["ts"] += np.where(np.arange(300) > at, np.timedelta64(60, "s"), np.timedelta64(0, "s"))
    assert rows_of([live.close()]) == rows_of([plain.close()])


LIMIT = 3.0


def test_a_policy_is_pythons_own_over_a_store():
    """It sees its globals as they are, and a division by zero raises."""
    global LIMIT
    at_most = win.policy(lambda total, old: total.n - old.n >= LIMIT, over={"n": agg.count()})
    live = asked(at_most, stores.memory(), time=None, aggregates={"n": agg.count()}).open()
    rows, counts = {"x": np.arange(600)}, []
    for limit in (3.0, 5.0, 2.0):
        LIMIT = limit
        counts.append(live.push(rows)["n"].tolist()[-1])
    LIMIT = 3.0
    assert counts == [3, 5, 2]
    divides = win.policy(lambda total, old: 1.0 / (total.s - 5.0) > 2.0, over={"s": agg.sum("x")})
    for store in (None, stores.memory()):
        live = asked(divides, store, time=None, aggregates={"n": agg.count()}).open()
        live.push({"x": np.array([1.0] * 3)})
        with pytest.raises(ZeroDivisionError):
            live.push({"x": np.array([1.0] * 600)})
        assert live.push({"x": np.array([0.5])})["n"].tolist() == [4]


def test_what_has_left_the_window_leaves_the_store(monkeypatch):
    monkeypatch.setattr(shelf, "CACHE", 64)
    store, page, window = stores.memory(), 32, 2000
    live = windrow.Query(windows=win.trailing(window), aggregates={"s": agg.sum("x")}, store=store).open()
    for at in range(0, 60_000, 1000):
        live.push({"x": np.arange(at, at + 1000)})
        if at in (30_000, 58_000, 59_000):  # what the last two need stays
            live.snapshot()
    (tree,) = live.state.stored["window"].shelf.trees.values()
    tree.pager.flush()
    assert len(store._held) < 2 * (window + 3000) // page + 64  # of 60,000 rows


def test_nothing_is_left_in_the_store_when_no_snapshot_refers_to_it():
    store = stores.memory()
    assert pushed(asked(WINDOWS["trailing"], store), table(9))
    assert not store._held


def test_a_table_does_not_need_the_store():
    store = stores.memory()
    store.close()  # whoever asks it now is refused
    query, data = asked(WINDOWS["periodic"], store), table()
    assert rows_of([query.run(data)]) == rows_of([asked(WINDOWS["periodic"]).run(data)])
    assert "stores.memory(): live, the partials of its slices are there" in query.explain(data)
    assert "run() does not use it" in query.explain()


@pytest.mark.parametrize("store", [None, stores.memory()])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_rows_that_go_back_along_a_column_are_rejected(store, closed):
    """Behind those of the batches before, too."""
    query = asked(win.trailing(10.0, on="d", closed=closed), store, time=None, aggregates={"s": agg.sum("x")})
    live = query.open()
    out = [live.push({"d": [5.0, 20.0, 21.0], "x": [1, 2, 4]}), live.push({"d": [3.0, 22.0], "x": [8, 16]})]
    out.append(live.close())
    expected = {"left": [None, None, 2, 6], "right": [1, 2, 6, 22]}[closed]
    assert [row[-1] for row in rows_of(out)] == expected
    assert live.report.rejected == 1
