"""The discretizer: which rows windows begin and end with, kind by kind; and that a row can be taken back."""

from __future__ import annotations

import random

import pytest

from tests.sharing.streams import table, windows
from windrow import win
from windrow.engine import snapshot
from windrow.errors import Unsupported, WindrowError
from windrow.sharing.discretizer import NOTHING, Discretizer
from windrow.windows.base import TIME
from windrow.windows.kinds import Landmark, Last, Periodic, Session
from windrow.windows.predicates import Predicate


def events(window, rows, *, partial=False, close=True):
    """For each row that is marked: (its number, starts of what begins, (start, end) of what ends)."""
    one = Discretizer({"w": window}, partial=partial, timed=isinstance(rows[0], int))
    found = []
    for i, row in enumerate(rows):
        marked = one.row(row if isinstance(row, dict) else {}, row if isinstance(row, int) else None)
        found.append((i, [b.start for b in marked.begins], [(e.start, e.end) for e in marked.ends if e.told]))
    if close:
        found.append(("close", [], [(e.start, e.end) for e in one.close().ends if e.told]))
    return [event for event in found if event[1] or event[2]]


def test_windows_by_time_begin_with_their_first_row():
    assert events(Periodic(10, 5, 0, TIME), [-3, 1, 1, 4, 5, 40]) == [
        (0, [-10, -5], []),
        (1, [0], [(-10, 0)]),
        (4, [5], [(-5, 5)]),
        (5, [35, 40], [(0, 10), (5, 15)]),
        ("close", [], [(35, 45), (40, 50)]),
    ]


def test_windows_shorter_than_their_distance():
    assert events(Periodic(2, 10, 1, TIME), [0, 1, 2, 3, 12, 13]) == [
        (1, [1], []),
        (3, [], [(1, 3)]),
        (4, [11], []),
        (5, [], [(11, 13)]),
    ]


def test_windows_of_rows_count_from_0_and_report_only_whole_ones():
    assert events(win.sliding(4, every=3, origin=1), [{}] * 7) == [(1, [1], []), (4, [4], []), (5, [], [(1, 5)])]
    last = events(win.sliding(4, every=3, origin=1), [{}] * 7, partial=True)[-1]
    assert last == ("close", [], [(4, 8)])


def test_floats_begin_and_end_where_floats_do():
    edge = 3 * 0.1  # above 0.3
    rows = [{"x": x} for x in (0.0, 0.1, 0.2, 0.3, edge)]
    assert events(win.tumbling(0.1, on="x"), rows)[3:5] == [
        (4, [edge], [(0.2, 0.2 + 0.1)]),
        ("close", [], [(edge, edge + 0.1)]),
    ]
    # 1.7 / 0.1 is rounded up to 17, whose edge is above 1.7; 4.3 / 0.1 is rounded below 43, whose edge is 4.3
    assert events(win.tumbling(0.1, on="x"), [{"x": 1.7}, {"x": 4.3}]) == [
        (0, [16 * 0.1], []),
        (1, [43 * 0.1], [(16 * 0.1, 16 * 0.1 + 0.1)]),
        ("close", [], [(43 * 0.1, 43 * 0.1 + 0.1)]),
    ]
    with pytest.raises(WindrowError, match=r"row 0: .*too far from 0"):
        Discretizer({"w": win.tumbling(0.1, on="x")}).row({"x": 1e300})


def test_sessions_end_a_gap_after_their_last_row():
    assert events(Session(5, TIME), [1, 3, 7, 12, 16, 40]) == [
        (0, [1], []),
        (3, [12], [(1, 12)]),  # exactly at last + gap
        (5, [40], [(12, 21)]),
        ("close", [], [(40, 45)]),
    ]


def test_a_session_ends_when_time_says_so():
    one = Discretizer({"w": Session(5, TIME)})
    one.row({}, 1)
    assert one.advance(5) == NOTHING
    assert [(e.start, e.end) for e in one.advance(6).ends] == [(1, 6)]
    assert [b.start for b in one.row({}, 6).begins] == [6]
    assert one.advance(3) == NOTHING  # time does not go back


def test_punctuations_and_what_is_open_at_the_end():
    rows = [{"go": go} for go in (False, True, None, True, False)]
    assert events(win.punctuated("go"), rows) == [(1, [1], []), (3, [3], [(1, 3)])]
    assert events(win.punctuated(lambda row: row.go), rows, partial=True)[-1] == ("close", [], [(3, None)])


def test_landmarks_report_steps_that_have_rows():
    def run(partial):
        one = Discretizer({"w": Landmark(Predicate.parse("go"), 4, TIME)}, partial=partial)
        found = []
        for time, go in ((1, False), (5, True), (6, False), (17, False), (18, True), (19, False)):
            found += [(time, e.start, e.end, e.stays) for e in one.row({"go": go}, time).ends if e.told]
        return found + [("close", e.start, e.end, e.stays) for e in one.close().ends]

    whole = [(17, 5, 9, True), ("close", 18, 22, True)]
    assert run(partial=False) == whole
    assert run(partial=True) == [whole[0], (18, 5, 18, False), whole[1]]


def test_what_is_not_deterministic_says_what_expires_and_when_to_report():
    one = Discretizer({"w": Last(2, 5, 0)})
    assert not Last(2, 5, 0).deterministic
    said = []
    for time in (1, 2, 3, 11, 12):
        marked = one.row({}, time)
        said.append((dict(marked.expired), [(e.start, e.end) for e in marked.emits]))
    assert said == [({}, []), ({}, []), ({"w": 1}, []), ({"w": 1}, [(2, 5)]), ({"w": 1}, [])]
    assert [(e.start, e.end) for e in one.close().emits] == [(11, 15)]


def test_rows_without_a_place_are_rejected():
    one = Discretizer({"t": win.tumbling("1 second"), "x": win.tumbling(1.0, on="x")})
    assert one.row({"x": 1.0}, None) is None
    assert one.row({"x": None}, 1) is None
    assert one.row({"x": float("nan")}, 1) is None
    assert one.rows == 0
    with pytest.raises(WindrowError, match="row 0 has no column 'x'"):
        one.row({"y": 1}, 1)
    one.row({"x": 2.0}, 5)
    with pytest.raises(WindrowError, match=r"row 1 comes at 1.0 on x, after 2.0"):
        one.row({"x": 1.0}, 5)
    with pytest.raises(Unsupported, match="reports with each row"):
        Discretizer({"t": win.trailing(3)})


def test_an_exception_of_the_users_code_names_the_row_and_leaves_no_trace():
    class Fails:
        seen = 0

        def discretize(self, row):
            self.seen += 1
            if row["bad"]:
                raise ZeroDivisionError("user's own")
            return 1, 0

    one = Discretizer({"p": win.sliding(2, 1), "f": win.user_defined(Fails)})
    one.row({"bad": False})
    before = one.state()
    with pytest.raises(ZeroDivisionError, match="user's own") as caught:
        one.row({"bad": True})
    assert caught.value.__notes__ == ["at row 1"]
    assert one.state() == before
    assert [b.start for b in one.row({"bad": False}).begins] == [1, 1]


def test_a_row_can_be_taken_back_and_a_state_saved():
    for seed in range(60):
        rnd = random.Random(seed)
        ours, _ = windows(rnd, 3)
        one = Discretizer(ours, timed=True)
        for row in table(rnd, 30):
            before = snapshot.opened(snapshot.sealed(one.state()))
            first = one.row(row, row["ts"])
            one.undo()
            assert snapshot.opened(snapshot.sealed(one.state())) == before, (seed, ours)
            if rnd.random() < 0.2:
                one = Discretizer(ours, timed=True)
                one.resume(before)
            assert one.row(row, row["ts"]) == first, (seed, ours)
            if rnd.random() < 0.1 and row["ts"] is not None:
                before = one.state()
                first = one.advance(row["ts"] + 3)
                one.undo()
                assert one.state() == before
