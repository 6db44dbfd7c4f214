"""Snapshots that somebody has changed, with the right checksum: refused as such, or a state with which all works."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import windrow
from tests.query.forger import REFUSED, WORKS, forged, tried
from windrow import agg, stores, swag, win
from windrow.errors import SnapshotError, WindrowError

FORGERIES = 60


class Pairs:
    """Windows of two rows."""

    def __init__(self) -> None:
        self.n = 0

    def discretize(self, row: Any) -> tuple[int, int]:
        self.n = (self.n or 0) + 1  # a forger may have put None there
        return (1, 1) if self.n % 2 and self.n > 1 else (self.n % 2, 0)


class LastThree(Pairs):
    """Each row begins a window; all but the last three rows go."""

    def discretize(self, row: Any) -> tuple[int, int]:
        self.n = (self.n or 0) + 1  # a forger may have put None there
        return 1, int(self.n > 2)

    def evict(self, row: Any) -> int:
        return int(self.n > 3)


TIMED = {"time": "ts"}
LATE = {"time": "ts", "lateness": "1 second"}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "trailing rows": (win.trailing(3), {}),
    "trailing": (win.trailing("3 seconds"), LATE),
    "trailing, waiting": (win.trailing("3 seconds", closed="left"), TIMED),
    "trailing on": (win.trailing(2.5, on="up"), {}),
    "ranges": ({"a": win.trailing(5), "b": win.trailing(6)}, {"algorithm": "flat_fit"}),
    "tumbling": (win.tumbling("2 seconds"), LATE),
    "sliding": (win.sliding("4 seconds", every="1 second"), TIMED),
    "sliding rows": (win.sliding(4, every=2), {}),
    "sliding on": (win.sliding(3.0, every=1.0, on="up"), {}),
    "shared": ({"a": win.sliding(4, every=1), "b": win.sliding(6, every=2)}, {}),
    "session": (win.session("2 seconds"), LATE),
    "punctuated": (win.punctuated("x > 3"), {}),
    "landmark": (win.landmark("x > 3", every="2 seconds"), TIMED),
    "last": (win.last(3, every="2 seconds"), TIMED),
    "user-defined": (win.user_defined(Pairs), {}),
    "evicting": (win.user_defined(LastThree), {}),
    "policy": (win.policy(lambda total, old: total.n - old.n >= 3, over={"n": agg.count()}), {}),
    "changes": (win.tumbling("2 seconds"), {**TIMED, "changes_only": True}),
}
ALGORITHMS = [name for name in swag.ALGORITHMS if name not in ("fiba", "subtract_on_evict", "daba_uncached")]
KINDS |= {name: (win.sliding("4 seconds", every="1 second"), {**TIMED, "algorithm": name}) for name in ALGORITHMS}
PLAIN = {"c": agg.concat("t", ",")}
LABELS = {"w": agg.max_by("t", "x"), **PLAIN}
COMPILED = {"m": agg.max("x")}


def rows(i: int, n: int = 12) -> dict[str, Any]:
    rng = np.random.default_rng(i)
    ts = 5_000_000 * i + np.sort(rng.integers(0, 5_000_000, n))
    texts = np.array(["a", "b", "c"], object)[rng.integers(0, 3, n)]
    return {"ts": ts, "k": rng.integers(0, 3, n), "x": rng.integers(0, 9, n), "up": ts / 1e6, "t": texts}


def forgeries(kind: str, aggregates: dict[str, Any], count: int = FORGERIES) -> Counter:
    windows, options = KINDS[kind]
    query = windrow.Query(by="k", windows=windows, aggregates=aggregates, **options)
    live = query.open()
    for i in range(3):
        live.push(rows(i))
    data = live.snapshot()

    def go_on(again: Any) -> None:
        again.push(rows(3))
        query.resume(again.snapshot()).push(rows(4, 3))
        again.push(rows(40))
        again.close()

    assert tried(query.resume, go_on, data) == WORKS
    rng = random.Random(kind)
    return Counter(tried(query.resume, go_on, forged(data, rng)) for _ in range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_plain(kind: str) -> None:
    assert forgeries(kind, PLAIN)[REFUSED] > FORGERIES / 3


def test_labels() -> None:
    assert forgeries("sliding", LABELS, 2 * FORGERIES)[REFUSED] > FORGERIES / 3


PROGRAM = """
import faulthandler, sys
faulthandler.enable()
faulthandler.dump_traceback_later(240, exit=True)  # a state with which a step never ends
from tests.query import test_forged
for kind in sys.argv[1:]:
    print(kind, dict(test_forged.forgeries(kind, test_forged.COMPILED, 150)), flush=True)
"""


def test_compiled() -> None:
    """In a process of its own, which a read or write out of bounds would end."""
    kinds = ["trailing", "tumbling", "sliding", "shared", "session", "policy"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *kinds], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(REFUSED) == len(kinds)


@pytest.mark.slow
def test_compiled_with_all_kinds() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *KINDS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stored() -> None:
    """What a snapshot of a stored query has in itself; what is in the store has checksums of its own."""
    query = windrow.Query(
        by="k", time="ts", windows=win.sliding("4 seconds", every="1 second"), aggregates=PLAIN, store=stores.memory()
    )
    live = query.open()
    for i in range(3):
        live.push(rows(i))
    data = live.snapshot()

    rng = random.Random(1)
    found = Counter(tried(query.resume, lambda again: None, forged(data, rng)) for _ in range(FORGERIES))
    assert found[REFUSED] > FORGERIES / 3


@pytest.mark.parametrize("algorithm", swag.ALGORITHMS)
@pytest.mark.parametrize("columns", [False, True])
def test_by_hand(algorithm: str, columns: bool) -> None:
    kind, aggregate = swag.ALGORITHMS[algorithm], agg.count() if algorithm == "subtract_on_evict" else agg.max()
    window = kind(aggregate)
    window.insert_many([3, 1, 4, 1, 5, 9, 2, 6])
    window.evict_many(3)
    if columns and algorithm != "fiba":
        window.slide(np.arange(9), 5)

    def go_on(again: Any) -> None:
        again.insert(7)
        again.query()
        while len(again) > 2:
            again.evict()
        again.query()
        if algorithm != "fiba":
            again.slide(np.arange(20), 6)

    rng, data = random.Random(algorithm), window.snapshot()
    found = Counter(tried(lambda d: kind.resume(aggregate, d), go_on, forged(data, rng)) for _ in range(FORGERIES))
    assert found[REFUSED] > FORGERIES / 3


def test_keys() -> None:
    query = windrow.Query(by="k", windows=win.trailing(3), aggregates={"c": agg.concat("t", ",")})
    live, key = query.open(), b"a secret of some bytes"
    live.push(rows(0))
    signed, plain = live.snapshot(key=key), live.snapshot()
    assert query.resume(signed, key=key).push(rows(1))["c"].tolist() == query.resume(plain).push(rows(1))["c"].tolist()
    with pytest.raises(SnapshotError, match="is signed"):
        query.resume(signed)
    with pytest.raises(SnapshotError, match="is not signed"):
        query.resume(plain, key=key)
    with pytest.raises(SnapshotError, match="not signed under this key"):
        query.resume(signed, key=b"another secret, as long")
    for i in (0, 8, 9, 12, 41, 42, 60, len(signed) - 1):
        with pytest.raises(SnapshotError):
            query.resume(signed[:i] + bytes([signed[i] ^ 1]) + signed[i + 1 :], key=key)
    for wrong in (b"", b"short", "a text that is long enough", 7):
        with pytest.raises(WindrowError, match="key= is a secret"):
            live.snapshot(key=wrong)
    window = swag.AMTA(agg.max())
    window.insert_many([1, 3, 2])
    assert swag.AMTA.resume(agg.max(), window.snapshot(key=key), key=key).query() == 3
    with pytest.raises(SnapshotError):
        swag.AMTA.resume(agg.max(), window.snapshot(), key=key)
