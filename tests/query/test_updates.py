"""`emit="update"`: after every push, the latest of all that was sent is the answer over what has come in time.

What is expected is brute force over the rows so far, with the windows that the data ends inside. Nothing unchanged is
sent, and what is sent as final is what `emit="final"` sends.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import windrow
from tests.query import brute
from tests.query.arrivals import frame, lateness_of, pushes, shuffled, spelled, stream
from tests.query.cases import KINDS, ONCE, PER_ROW, Case, arrow_rows, bag, one_pair_of_edges, plain
from windrow import agg, win
from windrow.errors import SnapshotError, WindrowError


class Receiver:
    """Keeps the latest row of each window, as a table with upserts does."""

    def __init__(self, case: Case) -> None:
        self.case, self.rows, self.final = case, {}, []

    def told(self, row: dict) -> tuple:
        """What tells a result apart from others."""
        case = self.case
        if case.per_row:
            return (row["number"],)
        window = case.windows[row["window"]] if isinstance(case.windows, dict) else case.windows
        edges = ["start"] if window.unique_start else ["start", "end"]
        return tuple(plain(row.get(name)) for name in ["window", *case.by, *edges])

    def take(self, rows: list[dict], about: str) -> None:
        for row in sorted(_different(rows), key=lambda row: row["final"] is not None):  # withdrawals come first
            what = self.told(row)
            now = {name: plain(value) for name, value in row.items()}
            if now["final"] is None:
                assert what in self.rows and not self.rows[what]["final"], f"{about}\nwithdrawn: {row}"
                del self.rows[what]
                continue
            was = self.rows.get(what)
            assert was is None or not was["final"], f"{about}\nafter it was final: {row}"
            assert was != now, f"{about}\nunchanged: {row}"
            self.rows[what] = now
            if now["final"]:
                self.final.append(row)

    def latest(self) -> list[dict]:
        return [without_final(row) for row in self.rows.values()]


def _different(rows: list[dict]) -> list[dict]:
    """Windows of one's own may begin and end at the same places, and then have the same rows."""
    return list({tuple((name, plain(value)) for name, value in row.items()): row for row in rows}.values())


def without_final(row: dict) -> dict:
    return {name: value for name, value in row.items() if name != "final"}


def sent(result: Any, case: Case) -> list[dict]:
    rows = arrow_rows(result)
    return rows if case.per_row else one_pair_of_edges(rows)


def drawn(kind: str, seed: int, **how: Any) -> tuple[Case, random.Random]:
    """Rows have numbers: otherwise equal ones could not be told apart. Nor could a user's windows of equal times."""
    case = stream(kind, seed, **how)
    columns = case.table.columns
    columns["number"] = list(range(len(columns["ts"])))
    if kind.startswith("user"):
        columns["ts"] = [when + i for i, when in enumerate(columns["ts"])]
    if case.table.time_type == pa.int64():
        case.table.time_type = pa.timestamp("us")  # integers may look like seconds
    return case, random.Random(f"updates {kind} {seed}")


def check(case: Case, rng: random.Random, resumes: bool = False, **options: Any) -> None:
    lateness = lateness_of(case, rng)
    arrival = shuffled(case.table.rows(), rng.choice([0, lateness, lateness, 3 * lateness]), rng)
    query = case.query(lateness=spelled(lateness), emit="update", **{"compile": "never", **options})
    live, receiver, so_far = query.open(), Receiver(case), []
    early = replace(case, options={**case.options, "partial": True})
    for part in pushes(arrival, rng):
        receiver.take(sent(live.push(frame(part, case)), case), str(case))
        so_far += part
        taken = brute.in_time(so_far, "ts", lateness)[0]
        found, wanted = bag(receiver.latest()), bag(early.expected(taken))
        assert set(found) == set(wanted), f"{case}\nmissing: {wanted - found}\ntoo much: {found - wanted}"
        if resumes and rng.random() < 0.3:
            live = query.resume(live.snapshot())
    receiver.take(sent(live.close(), case), str(case))
    final = set(bag(list(map(without_final, receiver.final))))
    assert final == set(bag(case.expected(brute.in_time(so_far, "ts", lateness)[0]))), str(case)


@pytest.mark.parametrize("kind", KINDS)
def test_the_latest_of_all_that_was_sent(kind):
    for seed in range(3):
        case, rng = drawn(kind, seed)
        check(case, rng, resumes=seed % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_sequences(kind):
    for seed in range(3, 28):
        case, rng = drawn(kind, seed)
        check(case, rng, resumes=seed % 3 == 1)


@pytest.mark.parametrize("kinds", [ONCE, PER_ROW], ids=["once", "by row"])
def test_several_windows(kinds):
    for seed in range(12):
        rng = random.Random(f"several {seed}")
        chosen = rng.sample([kind for kind in kinds if not kind.startswith("user")], 3)
        cases = [drawn(kind, seed)[0] for kind in chosen]
        case = replace(
            cases[0],
            about=f"several, seed {seed}",
            oracle={f"w{i}": other.oracle for i, other in enumerate(cases)},
            windows={f"w{i}": other.windows for i, other in enumerate(cases)},
        )
        check(case, rng, resumes=seed % 2 == 1)


COMPILED = ["periodic_time", "session_time", "trailing_time_right", "periodic_rows"]


@pytest.mark.parametrize("kind", [COMPILED[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in COMPILED[1:])])
def test_compiled(kind):
    case, rng = drawn(kind, 3, rows=30)
    check(replace(case, aggregates="commutative"), rng, compile="always")


def values(result: Any) -> dict:
    return {name: column if isinstance(column, list) else column.tolist() for name, column in result.items()}


def sessions(**options: Any) -> windrow.Query:
    return windrow.Query(
        time="t", time_unit="s", windows=win.session("5 seconds"), lateness="10 seconds",
        aggregates={"n": agg.count(), "s": agg.sum("x")}, emit="update", compile="never", **options,
    )  # fmt: skip


def test_a_window_that_is_none_any_more_is_withdrawn():
    """A late row joins two sessions: the later one does not begin there any more."""
    live = sessions().open()
    assert values(live.push({"t": [100, 108], "x": [1, 2]})) == {
        "start": [100, 108], "end": [105, 113], "n": [1, 1], "s": [1, 2], "final": [False, False],
    }  # fmt: skip
    assert values(live.push({"t": 104, "x": 4})) == {
        "start": [108, 100], "end": [113, 113], "n": [0, 3], "s": [None, 7], "final": [None, False],
    }  # fmt: skip
    assert values(live.close()) == {"start": [100], "end": [113], "n": [3], "s": [7], "final": [True]}


def test_a_row_that_turns_out_to_go_back_is_withdrawn():
    """Along a column rows are taken in by time: a late row with a higher value leaves no place for the next one."""
    live = windrow.Query(
        time="t", time_unit="s", windows=win.trailing(5, on="km"), lateness="10 seconds",
        aggregates={"n": agg.count()}, emit="update", compile="never",
    ).open()  # fmt: skip
    assert values(live.push({"t": [100, 108], "km": [1, 2]}))["n"] == [1, 2]
    found = values(live.push({"t": 104, "km": 3}))
    assert found == {"t": [108, 104], "km": [2, 3], "n": [None, 2], "final": [None, False]}
    found = values(live.close())
    assert found == {"t": [100, 104], "km": [1, 3], "n": [1, 2], "final": [True, True]}
    assert live.report.rejected == 1


def test_advance_sends_what_it_makes_final_and_nothing_else():
    live = sessions().open()
    live.push({"t": [100, 108], "x": [1, 2]})
    assert values(live.advance(106))["final"] == [True]
    assert values(live.advance(107))["final"] == []
    assert values(live.push({"t": 99, "x": 1}))["final"] == [] and live.report.late == 1


def test_a_push_that_fails_changes_nothing():
    """Also where rows are early, and the step that fails is one that would be taken back."""

    def combine(a: int, b: int) -> int:
        if a + b == 13:
            raise ValueError("thirteen")
        return a + b

    total = windrow.Aggregate(lift=lambda x: x, combine=combine, identity=0)
    for window in (win.sliding("4 seconds", every="2 seconds"), win.trailing("4 seconds"), win.tumbling(4)):
        query = windrow.Query(
            time="t", time_unit="s", by="k", windows=window, lateness="10 seconds", aggregates={"s": total("x")},
            emit="update", compile="never",
        )  # fmt: skip
        live, other = query.open(), query.open()
        for mine in (live, other):
            mine.push({"t": [101, 102], "k": ["a", "b"], "x": [6, 5]})
        before = live.snapshot()
        with pytest.raises(ValueError, match="thirteen"):
            live.push({"t": [103, 103], "k": ["b", "a"], "x": [1, 7]})
        assert live.snapshot() == before
        rows = {"t": [103, 100], "k": ["b", "a"], "x": [1, 2]}
        assert values(live.push(rows)) == values(other.push(rows))
        assert values(live.close()) == values(other.close())


def test_floats_that_did_not_change_are_not_sent():
    """A late row changes the order of additions in later windows: they hold the same rows as before."""
    live = windrow.Query(
        time="t", time_unit="s", windows=win.sliding("8 seconds", every="1 second"), lateness="1000 seconds",
        aggregates={"s": agg.sum("x"), "l": agg.last("x")}, emit="update", compile="never",
    ).open()  # fmt: skip
    rng = random.Random(5)
    live.push({"t": list(range(100, 160)), "x": [rng.random() for _ in range(60)]})
    found = values(live.push({"t": 120, "x": rng.random()}))
    assert found["start"] == list(range(113, 121))


def test_a_table_gives_each_window_once():
    found = values(sessions().run({"t": [100, 104, 120], "x": [1, 2, 3]}))
    assert found == {"start": [100, 120], "end": [109, 125], "n": [2, 1], "s": [3, 3], "final": [True, True]}
    rows = windrow.Query(windows=win.trailing(2), aggregates={"s": agg.sum("x")}, emit="update")
    assert values(rows.run({"x": [1, 2, 3]})) == {"x": [1, 2, 3], "s": [1, 3, 5], "final": [True, True, True]}


def test_what_is_refused():
    made = {"windows": win.tumbling(2), "aggregates": {"s": agg.sum("x")}}
    with pytest.raises(WindrowError, match="emit is final or update, not 'early'"):
        windrow.Query(**made, emit="early")
    with pytest.raises(WindrowError, match="without changes_only"):
        windrow.Query(**made, emit="update", changes_only=True)
    with pytest.raises(WindrowError, match="without store="):
        windrow.Query(**made, emit="update", store=windrow.stores.memory())
    with pytest.raises(WindrowError, match="called 'final'"):
        windrow.Query(windows=win.tumbling(2), aggregates={"final": agg.sum("x")}, emit="update")
    rows = windrow.Query(windows=win.trailing(2), aggregates={"s": agg.sum("x")}, emit="update", compile="never")
    with pytest.raises(WindrowError, match="has a column 'final'"):
        rows.open().push({"x": [1], "final": [1]})
    live = windrow.Query(**made, emit="update", compile="never").open()
    live.push({"x": [1]})
    with pytest.raises(SnapshotError, match="emit is update, here it is final"):
        windrow.Query(**made).resume(live.snapshot())


def test_the_plan_says_it():
    assert "sent again where they change" in sessions().explain()
