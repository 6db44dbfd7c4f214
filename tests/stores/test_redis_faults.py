"""A Redis server that is killed and stopped in mid-flight: a typed error or a correct continuation, no wrong answer."""

import collections
import random
import threading
import time

import pytest

from tests.stores.faults import hashed, order
from tests.stores.servers import Server, needs_server
from windrow import stores
from windrow.errors import StoreError, StoreUnavailable, WindrowError
from windrow.swag import AMTA

pytestmark = needs_server


class Trouble(threading.Thread):
    """Kills the server and starts it again, or stops it for a while, so many times."""

    def __init__(self, server: Server, times: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.times, self.rng, self.done = server, times, random.Random(seed), 0

    def run(self) -> None:
        for _ in range(self.times):
            time.sleep(self.rng.uniform(0.02, 0.15))
            if self.rng.random() < 0.5:
                self.server.kill()
                time.sleep(self.rng.choice([0, 0.1, 0.5]))
                self.server.start()
            else:
                self.server.pause()
                time.sleep(self.rng.choice([0.05, 0.6]))
                self.server.go_on()
            self.done += 1


def again(w, store, durable):
    """The window from its last checkpoint, as soon as the server lets us; the rows it must hold."""
    while True:
        try:
            opened = AMTA.open(order, store)
            w.close()
            return opened, list(durable[opened.number, opened.inserted, len(opened)])
        except StoreUnavailable:
            time.sleep(0.05)


def troubled(folder, times: int, seed: int = 1) -> collections.Counter:
    """Inserts, evictions and checkpoints while the server comes and goes; rows that were refused are tried again."""
    server, seen, rng, rows, i = Server(folder), collections.Counter(), random.Random(seed), [], 0
    try:
        store = stores.redis(server.url, timeout=0.3, patience=0.2)
        w = AMTA(order, store=store, cache=16, buffer=16)
        trouble = Trouble(server, times, seed)
        trouble.start()
        durable = {}
        while trouble.is_alive():
            step = rng.random()
            try:
                if step < 0.8:
                    for _ in range(30):
                        w.insert(i % 1000)
                        rows.append(i % 1000)
                        i += 1
                elif step < 0.9:
                    k = rng.randrange(len(rows) + 1) if rng.random() < 0.3 else min(len(rows), 40)
                    w.evict_many(k)
                    del rows[:k]
                elif step < 0.97:
                    durable[w.number + 1, w.inserted, len(w)] = list(rows)  # durable it may be even where it raises
                    w.checkpoint()
                    seen["checkpoints"] += 1
                elif w.number:
                    raise StoreError("as if the process had died")
                seen["done"] += 1
            except StoreUnavailable:
                seen["StoreUnavailable"] += 1  # it has not happened, and may be tried again
            except StoreError:
                w, rows = again(w, store, durable)
                seen["opened"] += 1
            assert len(w) == len(rows)
            assert (w.query() or 0) == hashed(rows), "a wrong answer"
            if len(rows) > 3000:
                try:
                    w.evict_many(2500)
                    del rows[:2500]
                except StoreUnavailable:
                    seen["StoreUnavailable"] += 1
        trouble.join()
        seen["troubles"] = trouble.done
        w.checkpoint()  # the server is back: everything goes on
        last = AMTA.open(order, store)
        last.check_invariants()
        assert (last.query() or 0) == hashed(rows) and len(last) == len(rows)
        w.close()
        last.close()
        store.close()
    finally:
        server.kill()
    return seen


def test_a_server_that_comes_and_goes(tmp_path):
    seen = troubled(tmp_path, 6)
    assert seen["troubles"] == 6 and seen["done"] > 10


@pytest.mark.slow
def test_a_server_that_comes_and_goes_50_times(tmp_path):
    seen = troubled(tmp_path, 50)
    print(dict(seen))
    assert seen["troubles"] == 50 and min(seen["StoreUnavailable"], seen["opened"], seen["checkpoints"]) > 0


def test_a_server_that_forgets_everything(tmp_path):
    """Without persistence a restart loses all pages and the mark of the owner: an error that says so."""
    server = Server(tmp_path, persistent=False)
    try:
        store = stores.redis(server.url, timeout=1, patience=0.5)
        w = AMTA(order, store=store, cache=16, buffer=16)
        for i in range(1000):
            w.insert(i)
        w.checkpoint()
        server.kill()
        server.start()
        with pytest.raises(WindrowError, match="missing in the store"):
            w.evict_many(500)
        with pytest.raises(WindrowError, match="lost data"):
            w.checkpoint()
        with pytest.raises(WindrowError, match="no checkpoint"):
            AMTA.open(order, store)
        w.close()
    finally:
        server.kill()
