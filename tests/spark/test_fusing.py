"""Slices of a ring that windows of a stream share: fused from trigger to trigger, and the batch answer."""

from __future__ import annotations

import numpy as np
import pytest

import windrow
from tests.spark import stream_cases as cases
from tests.spark.test_buckets import same, streamed
from windrow import win
from windrow.spark import buckets
from windrow.step.sharing import SharedRing

WINDOWS = {"long": win.sliding("45 minutes", every="15 minutes"), "short": win.tumbling("1 minute")}


@pytest.mark.parametrize("aggregates", [cases.ORDERED, cases.IN_ANY_ORDER], ids=["ordered", "in any order"])
@pytest.mark.parametrize("divided", [False, True], ids=["one page", "divided pages"])
def test_what_is_sent_is_the_batch_answer(aggregates, divided, monkeypatch):
    if divided:
        monkeypatch.setattr(buckets, "LARGEST", 1)
    rng, gone, most = np.random.default_rng(3), [], []
    asked = windrow.Query(
        time="ts", by="k", windows=WINDOWS, aggregates=cases.plainly(aggregates), lateness="300 seconds"
    )
    fused = SharedRing._fused

    def watched(ring, keys, keep, end):
        found = fused(ring, keys, keep, end)
        gone.append(int((found.place < 0).sum()))
        most.append(int((end - keep).max(initial=0)))
        return found

    monkeypatch.setattr(SharedRing, "_fused", watched)
    table = cases.rows(rng, "sliding", n=600, keys=("a", "b", None))
    stream, expected = streamed(asked, table, "sliding", rng, batches=30)
    same(stream, expected)
    assert expected.num_rows > 50 and sum(gone) > 50
    assert max(most) <= 8  # of 45 in the long window: 3 long windows and a short one are open
