"""What the experiments on sharing count is what paper 3 counts."""

from __future__ import annotations

import math

import pytest

from benchmarks import sessions, sharing, slices
from benchmarks.base import Settings
from windrow import agg, swag, win


@pytest.fixture(scope="module")
def counts():
    """Combines of each technique for 20 windows of a tenth of the paper's sizes."""
    windows, warm, rows = sharing.workload(20, 2015, scale=10), 8_000, 14_000
    found = {t: sharing.counted(windows, t, range(rows), warm) for t in sharing.TECHNIQUES}
    return {**found, "naive": sharing.naive(windows, rows, warm)}


def test_all_techniques_report_the_same_windows(counts):
    assert len({row["reported"] for row in counts.values()}) == 1


def test_one_combine_a_row_fills_the_slices(counts):
    for name, row in counts.items():
        if name != "naive":
            assert row["all"] == row["combines"] + row["fill"]
            assert row["combines"] == row["update"] + row["merge"]
            assert row["fill"] == row["rows"] - row["partials"]


def test_the_ratios_of_paper_3(counts):
    combines = {name: row["combines"] for name, row in counts.items()}
    assert combines["cutty_eager"] < 0.7 * combines["pairs+"]
    assert combines["cutty_fit"] < 0.3 * combines["pairs+"]
    assert combines["cutty_lazy"] < 0.6 * combines["pairs"]
    assert 1.8 < counts["pairs"]["partials"] / counts["cutty_lazy"]["partials"] <= 2
    assert counts["ra"]["combines"] >= (math.log2(counts["ra"]["most"]) - 1) * counts["ra"]["rows"]
    assert combines["ra"] > 100 * combines["cutty_fit"] / 10  # slides of a tenth: ten times the windows a row
    assert combines["naive"] > combines["ra"]
    assert counts["cutty_fused"]["most"] < counts["cutty_eager"]["most"] < counts["pairs+"]["most"]


def test_naive_is_what_folding_takes():
    windows, rows = {"a": win.sliding(7, every=3), "b": win.sliding(4, every=4)}, 40
    total, found = swag.counting(agg.sum()), 0
    for w in windows.values():
        for end in range(w.range, rows, w.every):
            kept = [total.lift(x) for x in range(end - w.range, end)]
            for part in kept[1:]:
                kept[0] = total.combine(kept[0], part)
                found += 1
    assert sharing.naive(windows, rows, 0)["combines"] == found


def test_a_reactive_aggregator_that_waits_combines_less():
    windows = sharing.workload(3, 7, scale=100)
    waits, at_once = sharing.deferred(windows, 3_000, 800), sharing.counted(windows, "ra", range(3_000), 800)
    assert waits["reported"] == at_once["reported"]
    assert 0 < waits["combines"] < at_once["combines"]


def test_sessions_share_slices():
    rows = sessions.Rows({**sessions.transitions(4, 2_000, 1), "x": sessions.np.ones(2_000, int)})
    found = {t: sessions.counted(sessions.windows(4), t, rows, 0, "x") for t in sessions.TECHNIQUES}
    assert len({row["reported"] for row in found.values()}) == 1
    assert 20 * found["cutty_fit"]["combines"] < found["ra"]["combines"]
    assert found["cutty_fused"]["most"] <= 4 + 2


def test_slices_are_as_many_as_the_table_says():
    for row in slices.run(Settings("smoke")):
        assert row["in_a_window"] <= row["space"]
        assert row["most"] <= row["space"] + 1
        if row["technique"] == "cutty":
            assert row["most"] <= row["space"]
