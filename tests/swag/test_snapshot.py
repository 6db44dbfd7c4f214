"""Saved state: it goes on elsewhere, and what is damaged or foreign is refused."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from tests.swag.cases import CASES, Case
from tests.swag.test_equivalence import agree
from windrow import agg, swag
from windrow.engine import snapshot
from windrow.errors import SnapshotError, Unsupported
from windrow.swag import ALGORITHMS


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_goes_on(name: str, case: Case) -> None:
    """Saved after some rows by hand and resumed, the window answers as the one that was not."""
    try:
        window = ALGORITHMS[name](case.make())
    except Unsupported:
        pytest.skip("not for this algorithm")
    rnd = random.Random(f"{name} {case.name}")
    for i in range(30):
        window.insert(*(case.row(rnd) if i % 7 else (None,) * len(case.row(rnd))))
        if i % 3 == 2:
            window.evict()
    again = type(window).resume(case.make(), window.snapshot())
    for _ in range(15):
        row = case.row(rnd)
        for one in (window, again):
            one.insert(*row)
            one.evict()
        assert agree(case, again.query(), window.query())
    again.check_invariants()
    assert len(again) == len(window)


def test_columns_keys_and_times_go_on_in_another_process() -> None:
    window = swag.DABA(agg.max())
    first = window.slide([5, 1, 4, 2], 3, times=[1, 2, 3, 3], keys=["a", "a", "b", "b"], closed="left")
    assert first.tolist() == [None, 5, None, None]
    program = (
        "import sys; from windrow import agg, swag\n"
        "w = swag.DABA.resume(agg.max(), sys.stdin.buffer.read())\n"
        "print(w.slide([7, 0], 3, times=[5, 6], keys=['b', 'b'], closed='left').tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=window.snapshot(), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[4, 7]"
    assert window.slide([7, 0], 3, times=[5, 6], keys=["b", "b"], closed="left").tolist() == [4, 7]


def test_refused() -> None:
    window = swag.DABA(agg.max())
    window.insert_many([1, 2, 3])
    data = window.snapshot()
    with pytest.raises(SnapshotError, match=r"daba with max.*aba with max"):
        swag.ABA.resume(agg.max(), data)
    with pytest.raises(SnapshotError, match="min"):
        swag.DABA.resume(agg.min(), data)
    with pytest.raises(SnapshotError, match="no windrow snapshot"):
        swag.DABA.resume(agg.max(), b"something else")
    with pytest.raises(SnapshotError, match="version 9"):
        swag.DABA.resume(agg.max(), data[:8] + (9).to_bytes(2, "big") + data[10:])


def test_every_flipped_bit_is_found() -> None:
    window = swag.AMTA(agg.sum())
    window.slide(np.arange(20), 8)
    data = window.snapshot()
    for i in range(len(data)):
        damaged = data[:i] + bytes([data[i] ^ (1 << i % 8)]) + data[i + 1 :]
        with pytest.raises(SnapshotError):
            swag.AMTA.resume(agg.sum(), damaged)
        with pytest.raises(SnapshotError):
            swag.AMTA.resume(agg.sum(), data[:i])


def test_what_cannot_be_saved_is_refused() -> None:
    with pytest.raises(SnapshotError, match="object"):
        snapshot.packed(object())
