"""A few of the random tables and streams of the slow tests beside it, for the quick suite.

The aggregates run in plain Python, through the same windows, slices and algorithms: compiling them for each kind takes
minutes. One set is compiled, for a few kinds.
"""

from __future__ import annotations

import random

import pytest

from tests.query import arrivals
from tests.query import test_peers as peers
from tests.query.cases import KINDS, ONCE, PER_ROW, arrow_rows, assert_same, draw_case, one_pair_of_edges
from tests.query.test_random import check, several
from windrow import swag


@pytest.mark.parametrize("kind", KINDS)
def test_tables(kind):
    for seed in range(8):
        case = draw_case(kind, 10_000 + seed)
        case.plain = True
        check(case)


@pytest.mark.parametrize("kind", ["periodic_time", "session_time", "punctuated_column", "landmark_time"])
def test_tables_compiled(kind):
    """Without keys or with some, nulls or none; one set of aggregates, so that few kernels are made."""
    for seed in range(8):
        case = draw_case(kind, 11_000 + seed)
        case.aggregates = "commutative"
        check(case)


def test_several_windows():
    for seed in range(10):
        for kinds in (list(ONCE), [kind for kind in PER_ROW if kind.startswith("trailing")]):
            case = several(kinds, 12_000 + seed)
            case.plain = True
            check(case)


@pytest.mark.parametrize("kind", KINDS)
def test_any_order_and_a_snapshot_in_between(kind):
    for seed in range(3):
        case = arrivals.stream(kind, 13_000 + seed)
        case.plain = True
        rng = random.Random(f"quick {kind} {seed}")
        lateness = arrivals.lateness_of(case, rng)
        query = case.query(lateness=arrivals.spelled(lateness))
        parts = arrivals.pushes(arrivals.shuffled(case.table.rows(), lateness, rng), rng)
        stop = rng.randint(0, len(parts))
        running = query.open()
        got = arrivals.fed(running, parts[:stop], case)
        running = query.resume(running.snapshot())
        got += arrivals.fed(running, parts[stop:], case) + arrow_rows(running.close())
        assert_same(
            got if case.per_row else one_pair_of_edges(got),
            case.expected(),
            f"{case}, lateness {lateness}, stop {stop}",
        )


@pytest.fixture
def few(monkeypatch):
    """The comparisons with other libraries, of few tables."""
    monkeypatch.setattr(peers, "TABLES", 12)
    monkeypatch.setattr(peers, "OURS", {name: swag.counting(aggregate) for name, aggregate in peers.OURS.items()})


duck = peers.duck


@pytest.mark.parametrize("closed", ["right", "both"])
def test_trailing_time_elsewhere(few, duck, closed):
    peers.test_trailing_time_equals_duckdb_range_frames(duck, closed)
    peers.test_trailing_time_equals_polars_rolling(closed)


def test_periodic_elsewhere(few, duck):
    peers.test_sliding_time_equals_duckdb(duck)
    peers.test_tumbling_time_equals_duckdb_time_bucket(duck)
    peers.test_sliding_time_equals_polars_group_by_dynamic()


def test_trailing_rows_elsewhere(few, duck):
    peers.test_trailing_rows_equal_duckdb_rows_frames(duck)
    peers.test_trailing_rows_equal_polars_rolling_rows()
