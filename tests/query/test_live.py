"""A stream gives what the batch gives: in any order within the lateness, in pushes of any size, stopped and resumed.

What is counted, for 38 kinds of windows: 1,064 permutations within the lateness, 28 a kind; 300 streams of several
windows with event time told from outside and states saved; 456 states taken at any point and resumed, 12 a kind, and
38 resumed in a new process. `test_quick.py` has a few of them for the quick suite.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.query import brute
from tests.query.cases import (
    KINDS,
    ONCE,
    PER_ROW,
    TIMED,
    Case,
    Table,
    arrow_rows,
    assert_same,
    bag,
    draw_case,
    one_pair_of_edges,
)
from tests.query.own_windows import Counted
from windrow import agg, win
from windrow.errors import SnapshotError, WindrowError

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow

PERMUTATIONS = 28  # for each of the kinds: 1,000 and more in all
#: windows over time alone: known to the microsecond when they are final
PROMPT = ("periodic_time", "periodic_time_gaps", "tumbling_time", "session_time", "last")


def stream(kind: str, seed: int, **how) -> Case:
    """A case whose rows come in the order of time; the columns that windows are measured on grow with it."""
    case = draw_case(kind, 5000 + seed, in_order=True, **how)
    case.time = "ts"
    rng = random.Random(f"stream {kind} {seed}")
    rows = [row for row in case.table.rows() if row["ts"] is not None]
    far, whole = 0, 0
    for row in rows:
        far, whole = far + rng.choice([0, 1, 2, 12]), whole + rng.choice([0, 1, 1, 5])
        row["d"], row["e"] = far / 8 - 2, whole - 3
    case.table = Table.of(rows, case.table)
    return case


def shuffled(rows: list[dict], lateness: int, rng: random.Random) -> list[dict]:
    """An arrival in which no row is late, and rows of one time stay in their order."""
    arrival = sorted(rows, key=lambda row: row["ts"] + rng.randint(0, lateness))
    waiting: dict[int, list[dict]] = {}
    for row in rows:
        waiting.setdefault(row["ts"], []).append(row)
    return [waiting[row["ts"]].pop(0) for row in arrival]


def pushes(rows: list[dict], rng: random.Random, most: int = 7) -> list[list[dict]]:
    parts, at = [], 0
    while at < len(rows):
        size = rng.randint(0, most)
        parts.append(rows[at : at + size])
        at += size
    return parts


def frame(rows: list[dict], case: Case) -> pa.Table:
    return Table.of(rows, case.table).arrow()


def fed(live, parts: list[list[dict]], case: Case) -> list[dict]:
    got: list[dict] = []
    for part in parts:
        got += arrow_rows(live.push(frame(part, case)))
    return got


def lateness_of(case: Case, rng: random.Random) -> int:
    times = [row["ts"] for row in case.table.rows()] or [0]
    return rng.choice([0, 1, (max(times) - min(times)) // 5, (max(times) - min(times)) * 2])


def spelled(lateness: int) -> str:
    return f"{lateness} microseconds"


@pytest.mark.parametrize("kind", KINDS)
def test_any_order_within_the_lateness(kind):
    for seed in range(PERMUTATIONS):
        case = stream(kind, seed)
        rng = random.Random(f"order {kind} {seed}")
        lateness = lateness_of(case, rng)
        arrival = shuffled(case.table.rows(), lateness, rng)
        live = case.query(lateness=spelled(lateness)).open()
        got = fed(live, pushes(arrival, rng), case) + arrow_rows(live.close())
        assert_same(got, case.expected(), f"lateness {lateness}, {case}\narrival {[r['ts'] for r in arrival]}")
        assert live.report.late == 0 and live.report.rejected == 0
        assert live.report.rows_in == len(arrival) and live.report.rows_out == len(got)


@pytest.mark.parametrize("kind", KINDS)
def test_the_union_of_what_is_sent_is_the_batch(kind):
    """The same query, run and fed."""
    for seed in range(5):
        case = stream(kind, 100 + seed)
        rng = random.Random(seed)
        query = case.query()
        live = query.open()
        got = fed(live, pushes(case.table.rows(), rng), case) + arrow_rows(live.close())
        assert_same(got, arrow_rows(query.run(case.table.arrow())), str(case))


def several(kinds: list[str], seed: int) -> Case:
    """Several windows over one stream, over any measures."""
    rng = random.Random(f"several live {seed}")
    cases = [stream(kind, seed) for kind in rng.sample(kinds, rng.randint(2, 4))]
    first = cases[rng.randrange(len(cases))]
    return Case(
        f"several live, seed {seed}",
        first.table,
        {f"w{at}": case.oracle for at, case in enumerate(cases)},
        {f"w{at}": case.windows for at, case in enumerate(cases)},
        first.aggregates,
        first.by,
        first.options,
    )


@pytest.mark.parametrize("kinds", [list(ONCE), [kind for kind in PER_ROW if kind.startswith("trailing")]], ids=len)
def test_several_windows_with_advances_and_snapshots(kinds):
    """All at once: windows that share, rows out of order, event time told from outside, states saved and resumed."""
    for seed in range(150):
        case = several(kinds, seed)
        rng = random.Random(f"all {seed}")
        lateness = lateness_of(case, rng)
        query = case.query(lateness=spelled(lateness))
        live, got = query.open(), []
        newest = told = -(2**62)
        taken, behind = [], 0
        for part in pushes(shuffled(case.table.rows(), lateness, rng), rng):
            for row in part:
                if row["ts"] >= max(newest - lateness, told):
                    taken.append(row)
                else:
                    behind += 1
                newest = max(newest, row["ts"])
            got += arrow_rows(live.push(frame(part, case)))
            if part and rng.random() < 0.2:
                told = max(told, part[-1]["ts"] - rng.choice([0, 0, 1, lateness // 2]))
                got += arrow_rows(live.advance(told))
            if rng.random() < 0.2:
                live = query.resume(live.snapshot())
        got += arrow_rows(live.close())
        if not case.per_row:
            got = one_pair_of_edges(got)
        assert live.report.late == behind
        if live.report.rejected == 0:
            assert_same(got, case.expected(taken), f"lateness {lateness}, {case}")


def test_peers_by_time_and_peers_along_a_column():
    """A row that waits for peers along the column is still a peer of others by time."""
    windows = {"t": win.trailing("1 us"), "c": win.trailing(1, on="e")}
    query = windrow.Query(time="ts", windows=windows, aggregates={"n": agg.count()})
    table = pa.table({"ts": [5, 5, 7], "e": [5, 6, 6]})
    live = query.open()
    got = arrow_rows(live.push(table)) + arrow_rows(live.close())
    assert [(row["n_t"], row["n_c"]) for row in got] == [(2, 1), (2, 2), (1, 2)]
    assert got == arrow_rows(query.run(table))


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_keys(kind):
    case = stream(kind, 0, rows=1500, keys=1000)
    rng = random.Random(kind)
    lateness = lateness_of(case, rng)
    live = case.query(lateness=spelled(lateness)).open()
    arrival = shuffled(case.table.rows(), lateness, rng)
    got = fed(live, pushes(arrival, rng, most=300), case) + arrow_rows(live.close())
    assert_same(got, case.expected(), f"lateness {lateness}, {case}")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in TIMED])
def test_without_a_time_rows_come_in_their_order(kind):
    for seed in range(6):
        case = stream(kind, 200 + seed)
        case.time = None
        live = case.query().open()
        got = fed(live, pushes(case.table.rows(), random.Random(seed)), case) + arrow_rows(live.close())
        assert_same(got, case.expected(), str(case))


@pytest.mark.parametrize("kind", PROMPT)
def test_a_window_is_sent_when_the_watermark_reaches_its_end(kind):
    """Not before, not later, and only once; what is late is given back and changes nothing."""
    for seed in range(20):
        case = stream(kind, 300 + seed)
        rng = random.Random(f"prompt {kind} {seed}")
        lateness = lateness_of(case, rng)
        arrival = shuffled(case.table.rows(), lateness, rng)
        if rng.random() < 0.5:
            rng.shuffle(arrival)  # now some are late
        live = case.query(lateness=spelled(lateness)).open()
        so_far: list[dict] = []
        sent: list[dict] = []
        late_rows = 0
        for part in pushes(arrival, rng):
            before = len(brute.in_time(so_far, "ts", lateness)[1])
            so_far += part
            sent += arrow_rows(live.push(frame(part, case)))
            taken, late = brute.in_time(so_far, "ts", lateness)
            watermark = max((row["ts"] for row in taken), default=0) - lateness
            final = [row for row in case.expected(taken) if row["end"] <= watermark]
            assert_same(sent, final, f"watermark {watermark}, lateness {lateness}, {case}\n{[r['ts'] for r in so_far]}")
            assert bag(arrow_rows(live.late)) == bag(late[before:])
            late_rows = len(late)
        sent += arrow_rows(live.close())
        assert_same(sent, case.expected(brute.in_time(arrival, "ts", lateness)[0]), str(case))
        assert live.report.late == late_rows


@pytest.mark.parametrize("kind", KINDS)
def test_late_rows_change_nothing(kind):
    for seed in range(6):
        case = stream(kind, 400 + seed)
        if kind.endswith(("float", "int")) or "float" in kind or "_int" in kind:
            continue  # where the measure is a column, what is left must still grow with time; see below
        rng = random.Random(f"late {kind} {seed}")
        arrival = case.table.rows()
        rng.shuffle(arrival)
        lateness = lateness_of(case, rng) // 3
        taken, late = brute.in_time(arrival, "ts", lateness)
        live = case.query(lateness=spelled(lateness)).open()
        got = fed(live, pushes(arrival, rng), case) + arrow_rows(live.close())
        assert_same(got, case.expected(taken), f"lateness {lateness}, {case}\narrival {[r['ts'] for r in arrival]}")
        assert live.report.late == len(late)


@pytest.mark.parametrize("kind", ["periodic_float", "session_int", "trailing_float_right", "trailing_int_both"])
def test_a_column_does_not_go_back(kind):
    """Live, a row that is behind the newest value of its key is rejected: its windows may have been sent."""
    for seed in range(8):
        case = stream(kind, 900 + seed)
        rng = random.Random(seed)
        column = "d" if "float" in kind else "e"
        rows, newest, taken = case.table.rows(), {}, []
        for row in rows:
            if rng.random() < 0.2:
                row[column] -= rng.choice([0, 1, 4])
            key = brute.key_of(row, case.by)
            if row[column] >= newest.get(key, row[column]):
                newest[key] = row[column]
                taken.append(row)
        live = case.query().open()
        got = fed(live, pushes(rows, rng), case) + arrow_rows(live.close())
        assert_same(got, case.expected(taken), str(case))
        assert live.report.rejected == len(rows) - len(taken)


def test_rows_without_a_time_are_given_back():
    live = windrow.Query(time="ts", windows=win.tumbling("10 microseconds"), aggregates={"n": agg.count()}).open()
    sent = live.push(pa.table({"ts": pa.array([1, None, 12, None], pa.int64()), "v": [1, 2, 3, 4]}))
    assert arrow_rows(sent) == [{"start": 0, "end": 10, "n": 1}]
    assert live.rejected.to_pylist() == [{"ts": None, "v": 2}, {"ts": None, "v": 4}]
    live.push(pa.table({"ts": [13], "v": [5]}))
    assert live.rejected.num_rows == 0
    assert live.report.rejected == 2 and live.report.rows_in == 5
    assert arrow_rows(live.close()) == [{"start": 10, "end": 20, "n": 2}]


def test_a_rejected_row_is_an_error_with_strict():
    query = windrow.Query(
        time="ts", windows=win.tumbling("10 microseconds"), aggregates={"n": agg.count()}, strict=True
    )
    table = pa.table({"ts": pa.array([1, None], pa.int64())})
    with pytest.raises(WindrowError, match="1"):
        query.run(table)
    with pytest.raises(WindrowError, match="1"):
        query.open().push(table)


# ---------------------------------------------------------------------------------------- the watermark


def counts(lateness: str = "5 microseconds", **options):
    query = windrow.Query(
        time="ts",
        windows=win.tumbling("10 microseconds"),
        aggregates={"n": agg.count()},
        lateness=lateness,
        **options,
    )
    return query.open()


def at(*times: int) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64())})


def sent(result: pa.Table) -> list[tuple]:
    return [(row["start"], row["end"], row["n"]) for row in arrow_rows(result)]


def test_a_row_exactly_at_the_watermark_is_in_time():
    live = counts()
    live.push(at(20))
    assert sent(live.push(at(15, 14))) == []
    assert arrow_rows(live.late) == [{"ts": 14}] and live.report.late == 1
    assert sent(live.close()) == [(10, 20, 1), (20, 30, 1)]


def test_within_one_push_the_rows_before_make_a_row_late():
    live = counts("0 microseconds")
    assert sent(live.push(at(5, 9, 7, 9, 12, 11))) == [(0, 10, 3)]
    assert arrow_rows(live.late) == [{"ts": 7}, {"ts": 11}]
    live.push(at(13))
    assert live.late.num_rows == 0 and live.report.late == 2  # `late` is of the last push, the report counts all
    assert sent(live.close()) == [(10, 20, 2)]


def test_a_window_ends_where_the_watermark_reaches_its_end():
    live = counts()
    assert sent(live.push(at(3, 14))) == []
    assert sent(live.push(at(15))) == [(0, 10, 1)]  # 15 - 5 = 10
    assert sent(live.push(at(15))) == []
    assert sent(live.close()) == [(10, 20, 3)]


def test_advance_makes_windows_final_and_rows_late():
    live = counts()
    live.push(at(3, 12))
    assert sent(live.advance(9)) == []
    assert sent(live.advance(10)) == [(0, 10, 1)]
    assert sent(live.advance(4)) == []  # time does not go back
    assert sent(live.push(at(10, 9))) == []
    assert arrow_rows(live.late) == [{"ts": 9}]
    assert sent(live.advance(20)) == [(10, 20, 2)]
    assert sent(live.close()) == []


def test_advance_takes_what_the_column_holds():
    import datetime

    day = datetime.datetime(2024, 3, 1)
    query = windrow.Query(time="ts", windows=win.tumbling("1 day"), aggregates={"n": agg.count()})
    live = query.open()
    assert live.push(pa.table({"ts": [day]})).num_rows == 0
    assert live.advance(day + datetime.timedelta(hours=23)).num_rows == 0
    final = live.advance(day + datetime.timedelta(days=1))
    assert final.to_pylist() == [{"start": day, "end": day + datetime.timedelta(days=1), "n": 1}]


def test_a_row_from_the_far_future():
    """It makes everything before it final, at once, however many empty windows lie between; what comes then is late."""
    live = counts()
    live.push(at(1))
    assert sent(live.push(at(2**61))) == [(0, 10, 1)]
    assert sent(live.push(at(2, 3))) == []
    assert live.report.late == 2
    start = 2**61 // 10 * 10
    assert sent(live.close()) == [(start, start + 10, 1)]


def test_a_lateness_that_reaches_before_all_time():
    """1700 less 10,000 days is before what 64 bits of nanoseconds can tell: nothing is late, nothing wraps."""
    query = windrow.Query(
        time="ts", windows=win.tumbling("1 day"), aggregates={"n": agg.count()}, lateness="10000 days"
    )
    live = query.open()
    days = pa.array(np.array(["1700-01-02", "1700-01-01"], "M8[ns]"))
    got = arrow_rows(live.push(pa.table({"ts": days})))
    assert live.report.late == 0 and got == []
    assert [row["n"] for row in arrow_rows(live.close())] == [1, 1]


def test_nothing_after_close():
    live = counts()
    live.push(at(1))
    assert sent(live.close()) == [(0, 10, 1)]
    with pytest.raises(WindrowError, match="closed"):
        live.push(at(2))


def test_an_empty_push_and_an_empty_stream():
    live = counts()
    assert sent(live.push(at())) == []
    assert sent(live.push(at(1))) == []
    assert sent(live.push(at())) == []
    assert sent(live.close()) == [(0, 10, 1)]
    never = counts()
    closed = never.close()
    assert not any(len(column) for column in closed.values())


@pytest.mark.parametrize("window", [win.tumbling("10 us"), win.trailing("3 us"), win.session("9 us"), win.tumbling(2)])
def test_results_are_of_one_type_from_push_to_push(window):
    """Also those that are empty, so that they can be put below one another."""
    query = windrow.Query(
        time="ts", by=["k"], windows=window, aggregates={"n": agg.count(), "top": agg.max("w")}, lateness="5 us"
    )
    live = query.open()
    table = pa.table({"ts": [1, 2, 30], "k": [1, 2, 1], "w": ["a", "b", "c"]})
    parts = [live.push(table.slice(i, 1)) for i in range(3)] + [live.close()]
    assert pa.concat_tables(parts).schema == query.run(table).schema


def test_a_late_row_joins_two_sessions():
    query = windrow.Query(
        time="ts",
        windows=win.session("5 microseconds"),
        aggregates={"c": agg.concat("w"), "n": agg.count()},
        lateness="20 microseconds",
    )
    live = query.open()
    live.push(pa.table({"ts": [0, 8], "w": ["a", "c"]}))
    live.push(pa.table({"ts": [4], "w": ["b"]}))
    assert arrow_rows(live.close()) == [{"start": 0, "end": 13, "c": "abc", "n": 3}]


def test_changes_only_goes_on_from_push_to_push():
    live = counts("0 microseconds", changes_only=True)
    assert sent(live.push(at(1, 11))) == [(0, 10, 1)]
    assert sent(live.push(at(21))) == []
    assert sent(live.push(at(22, 31))) == [(20, 30, 2)]
    assert sent(live.close()) == [(30, 40, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_changes_only_is_the_same_live(kind):
    for seed in range(3):
        case = stream(kind, 500 + seed)
        case.options["changes_only"] = True
        rng = random.Random(seed)
        lateness = lateness_of(case, rng)
        live = case.query(lateness=spelled(lateness)).open()
        arrival = shuffled(case.table.rows(), lateness, rng)
        got = fed(live, pushes(arrival, rng), case) + arrow_rows(live.close())
        assert_same(got, case.expected(), f"lateness {lateness}, {case}")


# ---------------------------------------------------------------------------------------------- snapshots


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
from tests.query.test_live import elsewhere
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


def test_lists_are_no_numbers():
    """`[1] + [2]` would be a sum of its own kind."""
    query = windrow.Query(windows=win.tumbling(2), aggregates={"n": agg.sum("x")})
    with pytest.raises(WindrowError, match=r"sum\(x\): a number is needed, not \[1\]"):
        query.open().push({"x": [[1], [2], [3]]})
