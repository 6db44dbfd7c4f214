"""What the experiments on sharing count is what paper 3 counts."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import windrow
from benchmarks import sessions, sharing, slices, slicing
from benchmarks.base import Settings
from windrow import agg, swag, win


@pytest.fixture(scope="module")
def counts():
    """Combines of each technique for 20 windows of a tenth of the paper's sizes."""
    windows, warm, rows = sharing.workload(20, 2015, scale=10), 8_001, 14_001
    found = {t: sharing.modelled(windows, t, rows, warm) for t in sharing.TECHNIQUES}
    return {**found, "query": sharing.queried(windows, rows, warm, 50), "naive": sharing.naive(windows, rows, warm)}


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
    assert combines["query"] < 0.3 * combines["pairs+"]
    assert combines["query"] < combines["pairs_fit"]
    assert combines["cutty_lazy"] < 0.6 * combines["pairs"]
    assert 1.8 < counts["pairs"]["partials"] / counts["query"]["partials"] <= 2
    assert counts["ra"]["combines"] >= (math.log2(counts["ra"]["most"]) - 1) * counts["ra"]["rows"]
    assert combines["ra"] > 100 * combines["query"] / 10  # slides of a tenth: ten times the windows a row
    assert combines["naive"] > combines["ra"]
    assert counts["cutty_eager"]["most"] < counts["pairs+"]["most"]


def test_a_query_is_cutty_on_flat_fit(counts):
    """It cuts where Alg. 1 cuts, and combines as often as FlatFIT over the same slices."""
    windows, warm, rows = sharing.workload(20, 2015, scale=10), 8_001, 14_001
    sizes = [(w.range, w.every) for w in windows.values()]
    fit = slicing.modelled(slicing.cuts("cutty", sizes, rows), slicing.periodic(sizes, rows), rows, "fit", warm)
    query = counts["query"]
    assert query["partials"] == fit.slices == counts["cutty_eager"]["partials"]
    assert query["combines"] == pytest.approx(fit.merge, rel=0.02)
    assert counts["cutty_eager"]["most"] <= query["most"] <= counts["cutty_eager"]["most"] + 10  # those of one step


def test_what_a_step_tells_is_what_a_live_query_does():
    """The same combines and windows through `open` and `push`, and the same windows in a table."""
    windows, rows = sharing.workload(5, 3, scale=100), 2_000
    stepping = sharing.queried(windows, rows, 0, 10)
    total = swag.counting(agg.sum("x"))
    query = windrow.Query(windows=windows, aggregates={"total": total})
    live = query.open()
    sent = sum(len(live.push({"x": np.ones(10, np.int64)})["total"]) for _ in range(rows // 10))
    assert (sent, query.aggregates["total"].combines) == (stepping["reported"], stepping["all"])
    before = query.aggregates["total"].combines
    assert len(query.run({"x": np.ones(rows, np.int64)})["total"]) == sent
    assert query.aggregates["total"].combines - before <= stepping["all"]


def test_naive_is_what_folding_takes():
    windows, rows = {"a": win.sliding(7, every=3), "b": win.sliding(4, every=4)}, 40
    total, found = swag.counting(agg.sum()), 0
    for w in windows.values():
        for end in range(w.range, rows + 1, w.every):
            kept = [total.lift(x) for x in range(end - w.range, end)]
            for part in kept[1:]:
                kept[0] = total.combine(kept[0], part)
                found += 1
    assert sharing.naive(windows, rows, 0)["combines"] == found


def test_a_reactive_aggregator_that_waits_combines_less():
    windows = sharing.workload(3, 7, scale=100)
    waits, at_once = sharing.deferred(windows, 3_000, 800), sharing.modelled(windows, "ra", 3_000, 800)
    assert waits["reported"] == at_once["reported"]
    assert 0 < waits["combines"] < at_once["combines"]


def test_sessions_share_slices():
    flags = sessions.transitions(4, 2_000, 1)
    found = {t: sessions.modelled(flags, t) for t in sessions.TECHNIQUES} | {"query": sessions.queried(flags, 7)}
    assert len({row["reported"] for row in found.values()}) == 1
    assert 20 * found["cutty_fit"]["combines"] < found["ra"]["combines"]
    assert found["cutty_fit"]["partials"] < 2_000 / 20


def test_sessions_of_a_query_have_a_slice_each():
    """No combine but those that fill the open slice of each, and one slice is all that is kept of it."""
    flags = sessions.transitions(4, 2_000, 1)
    query = sessions.queried(flags, 7)
    assert (query["combines"], query["most"]) == (0, 4)
    assert query["all"] == sum(2_000 - int(column.sum()) for column in flags.values())


@pytest.mark.parametrize("n", [4, 16, 64])
def test_stores_cost_what_table_1_says(n):
    """Lazy: nothing to append, n - 1 to merge. A tree: log2 n - 1 to append, at most 2 log2 n to merge, 2n slots."""
    for make, update, merge in ((slicing.Lazy, 0, n - 1), (slicing.Eager, math.log2(n) - 1, 2 * math.log2(n))):
        store = make()
        for _ in range(n):
            store.append(1)
        for _ in range(3 * n):
            store.drop(1)
            before = store.combines
            store.append(1)
            assert store.combines - before == update
            before = store.combines
            assert store.newest(n) == n
            assert store.combines - before <= merge
        assert store.slots == (2 * n if make is slicing.Eager else n)


def test_stores_give_any_suffix():
    rnd, kept = random.Random(3), []
    stores = [make() for make in slicing.STORES.values()]
    for i in range(300):
        if kept and rnd.random() < 0.4:
            gone = rnd.randint(1, len(kept))
            kept = kept[gone:]
            for store in stores:
                store.drop(gone)
        kept.append(i)
        count = rnd.randint(1, len(kept))
        for store in stores:
            store.append(i)
            assert store.newest(count) == sum(kept[-count:])


def test_slices_are_as_many_as_the_table_says():
    for row in slices.run(Settings("smoke")):
        assert row["in_a_window"] <= row["space"]
        assert row["most"] <= row["space"] + 1
        if row["technique"] in ("cutty", "query"):
            assert row["most"] <= row["space"]
