"""A stream that is stopped and resumed gives the same rest; another query's state is refused, and so is a damaged one.

What is counted, for 42 kinds of windows: 504 states taken at any point and resumed, 12 a kind, and 42 resumed in a new
process.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import windrow
from tests.query.arrivals import fed, frame, lateness_of, pushes, shuffled, spelled, stream
from tests.query.cases import KINDS, arrow_rows, assert_same, bag
from tests.query.own_windows import Counted
from windrow import agg, win
from windrow.errors import SnapshotError, WindrowError

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_at_any_point_gives_the_same_rest(kind):
    for seed in range(4):
        case = stream(kind, 600 + seed)
        rng = random.Random(f"snapshot {kind} {seed}")
        lateness = lateness_of(case, rng)
        parts = pushes(shuffled(case.table.rows(), lateness, rng), rng)
        stops = {rng.randint(0, len(parts)) for _ in range(3)}
        live = case.query(lateness=spelled(lateness)).open()
        sent_: list[dict] = []
        for at_ in range(len(parts) + 1):
            if at_ in stops:
                state = live.snapshot()
                assert isinstance(state, bytes)
                assert live.snapshot() == state  # looking changes nothing
                other = case.query(lateness=spelled(lateness)).resume(state)
                assert other.report == live.report
                rest = fed(other, parts[at_:], case) + arrow_rows(other.close())
                assert_same(sent_ + rest, case.expected(), f"after push {at_}, lateness {lateness}: {case}")
            if at_ < len(parts):
                sent_ += arrow_rows(live.push(frame(parts[at_], case)))


def test_a_state_goes_through_many_hands():
    """Saved and resumed after every push: as if nothing had been."""
    for kind in KINDS:
        case = stream(kind, 800)
        query = case.query()
        live, got = query.open(), []
        for part in pushes(case.table.rows(), random.Random(kind), 12):
            live = query.resume(live.snapshot())
            got += arrow_rows(live.push(frame(part, case)))
        live = query.resume(live.snapshot())
        assert_same(got + arrow_rows(live.close()), case.expected(), str(case))


RESUME = """
import json, sys
from tests.query.test_snapshots import elsewhere
json.dump(elsewhere(json.load(sys.stdin)), sys.stdout)
"""


def elsewhere(told: dict) -> dict:
    """What a new process does with saved states: the rest of each stream."""
    rests = {}
    for kind, state in told.items():
        case = stream(kind, 700, rows=30)
        other = case.query(lateness="3 microseconds").resume(bytes.fromhex(state))
        rows = case.table.rows()
        got = fed(other, [rows[15:20], rows[20:]], case) + arrow_rows(other.close())
        rests[kind] = sorted(map(str, bag(got).elements()))
    return rests


def test_a_snapshot_resumes_in_a_new_process():
    states, rests = {}, {}
    for kind in KINDS:
        case = stream(kind, 700, rows=30)
        rows = case.table.rows()
        live = case.query(lateness="3 microseconds").open()
        fed(live, [rows[:7], rows[7:15]], case)
        states[kind] = live.snapshot().hex()
        got = fed(live, [rows[15:20], rows[20:]], case) + arrow_rows(live.close())
        rests[kind] = sorted(map(str, bag(got).elements()))
    root = Path(__file__).parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", RESUME], input=json.dumps(states), capture_output=True, text=True, cwd=root, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout.splitlines()[-1]) == rests


def example(**changes):
    options = {
        "time": "ts",
        "by": ["k"],
        "windows": win.sliding("10 microseconds", every="5 microseconds"),
        "aggregates": {"s": agg.sum("v")},
        "lateness": "3 microseconds",
    }
    return windrow.Query(**{**options, **changes})


OTHERS = {
    "by": {"by": ["j"]},
    "no keys": {"by": []},
    "window": {"windows": win.sliding("10 microseconds", every="4 microseconds")},
    "kind": {"windows": win.session("10 microseconds")},
    "aggregate": {"aggregates": {"s": agg.max("v")}},
    "column": {"aggregates": {"s": agg.sum("k")}},
    "name": {"aggregates": {"t": agg.sum("v")}},
    "origin": {"windows": win.sliding("10 microseconds", every="5 microseconds", origin=2)},
    "separator": {"aggregates": {"s": agg.concat("v", sep=";")}},
    "lateness": {"lateness": "4 microseconds"},
    "changes": {"changes_only": True},
    "partial": {"partial": True},
}


def saved() -> bytes:
    live = example().open()
    live.push(pa.table({"ts": [1, 7, 30], "k": [1, 2, 1], "v": [1, 2, 3], "j": [0, 0, 0]}))
    return live.snapshot()


@pytest.mark.parametrize("what", OTHERS)
def test_another_querys_state_is_refused(what):
    with pytest.raises(SnapshotError, match="quer"):
        example(**OTHERS[what]).resume(saved())


PAIRS = {
    "closed": (win.trailing("9 us"), win.trailing("9 us", closed="both")),
    "a float's last digit": (win.tumbling(1.0000001, on="v"), win.tumbling(1.0000002, on="v")),
    "an instance": (win.user_defined(Counted(4, 2)), win.user_defined(Counted(5, 2))),
    "a function": (win.punctuated(lambda row: row.v > 1), win.punctuated(lambda row: row.v > 2)),
    "a policy": (
        win.policy(lambda total, old: total.n - old.n > 2, over={"n": agg.count()}),
        win.policy(lambda total, old: total.n - old.n > 3, over={"n": agg.count()}),
    ),
    "last": (win.last(3, every="5 us"), win.last(3, every="5 us", origin=1)),
}


@pytest.mark.parametrize("what", PAIRS)
def test_a_window_that_differs_a_little_is_another_query(what):
    one, other = PAIRS[what]
    live = example(windows=one).open()
    live.push(pa.table({"ts": [1, 7, 30], "k": [1, 2, 1], "v": [1, 2, 3]}))
    state = live.snapshot()
    example(windows=one).resume(state)
    with pytest.raises(SnapshotError, match="quer"):
        example(windows=other).resume(state)


def test_a_damaged_state_is_refused():
    state = saved()
    example().resume(state)
    for at_ in range(0, len(state), max(1, len(state) // 60)):
        broken = bytearray(state)
        broken[at_] ^= 0x10
        with pytest.raises(SnapshotError):
            example().resume(bytes(broken))
    for size in (0, 1, 8, len(state) // 2, len(state) - 1):
        with pytest.raises(SnapshotError):
            example().resume(state[:size])
    with pytest.raises(SnapshotError):
        example().resume(state + b"\0")
    with pytest.raises(SnapshotError):
        example().resume(b"not a state at all, but long enough to look like one")


def test_an_error_leaves_the_stream_as_it_was():
    """A push that fails is as if it had not been."""
    query = windrow.Query(time="ts", windows=win.tumbling("10 microseconds"), aggregates={"s": agg.sum("v")})
    live = query.open()
    live.push(pa.table({"ts": [1], "v": [2**62]}))
    before = live.snapshot()
    with pytest.raises((OverflowError, WindrowError)):
        live.push(pa.table({"ts": [2, 20], "v": [2**62, 1]}))
    assert live.snapshot() == before
    assert arrow_rows(live.push(pa.table({"ts": [2, 20], "v": [1, 1]}))) == [{"start": 0, "end": 10, "s": 2**62 + 1}]
