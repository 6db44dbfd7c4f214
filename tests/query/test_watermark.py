"""What is late and what is final: the watermark to the microsecond, told from outside, and from the far future."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.query.cases import arrow_rows
from windrow import agg, win
from windrow.errors import WindrowError

#: kernels for every kind of window and column: minutes of compiling
pytestmark = pytest.mark.slow


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
