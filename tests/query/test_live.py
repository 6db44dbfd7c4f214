"""A stream gives what the batch gives: in any order within the lateness, in pushes of any size.

What is counted, for 42 kinds of windows: 1,176 permutations within the lateness, 28 a kind; 300 streams of several
windows with event time told from outside and states saved. `test_quick.py` has a few of them for the quick suite.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import windrow
from tests.query import brute
from tests.query.arrivals import fed, frame, lateness_of, pushes, shuffled, spelled, stream
from tests.query.cases import (
    KINDS,
    ONCE,
    PER_ROW,
    TIMED,
    Case,
    arrow_rows,
    assert_same,
    bag,
    one_pair_of_edges,
)
from windrow import agg, win
from windrow.errors import WindrowError

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow

PERMUTATIONS = 28  # for each of the kinds: 1,000 and more in all
#: windows over time alone: known to the microsecond when they are final
PROMPT = ("periodic_time", "periodic_time_gaps", "tumbling_time", "session_time", "last")


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


def test_lists_are_no_numbers():
    """`[1] + [2]` would be a sum of its own kind."""
    query = windrow.Query(windows=win.tumbling(2), aggregates={"n": agg.sum("x")})
    with pytest.raises(WindrowError, match=r"sum\(x\): a number is needed, not \[1\]"):
        query.open().push({"x": [[1], [2], [3]]})
