"""FlatFIT as paper 5 §3.1 and §4.2 have it: rows that are rewritten, windows out of step, and 2n space."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.swag.cases import affine
from windrow import Aggregate, agg
from windrow.engine.paged import SIZE
from windrow.errors import SnapshotError
from windrow.swag import FlatFIT, Recalculate, counting


def slots(w: FlatFIT) -> int:
    """Slots for partials and for pointers."""
    return sum(len(some) for some in w.s[:3])


@pytest.mark.parametrize("n", [100, 1000, 1024, 1025, 3000])
@pytest.mark.parametrize("ranges", [(1,), (1, 7, 90)])
def test_2n_space(n: int, ranges: tuple[int, ...]) -> None:
    """§4.2: n partials and n pointers, not those of the next power of two; here up to some pages at the ends."""
    w = FlatFIT(agg.sum())
    w.insert_many(range(n))
    for i in range(300):
        w.insert(i)
        w.evict()
        w.query_many([n, *ranges])
        assert 2 * n <= slots(w) <= 2 * n + 7 * SIZE
    w.evict_many(n - 10)
    assert slots(w) <= 2 * 10 + 7 * SIZE


def test_rows_are_rewritten() -> None:
    for seed in range(15):
        rnd = random.Random(seed)
        w, rows = FlatFIT(agg.concat(), updates=True), []
        for step in range(150):
            move = rnd.random()
            if rows and move < 0.3:
                count = rnd.choice([1, len(rows) // 2 or 1])
                w.evict_many(count)
                del rows[:count]
            elif move < 0.7 or not rows:
                rows.append(chr(97 + step % 26))
                w.insert(rows[-1])
            else:
                at = rnd.sample(range(len(rows)), rnd.randint(1, min(4, len(rows))))
                new = {i + 1: rnd.choice("ABCDEF") for i in at}
                w.update(new)
                for location, letter in new.items():
                    rows[location - 1] = letter
            if rows and rnd.random() < 0.6:
                ranges = [rnd.randint(1, len(rows)) for _ in range(3)]
                assert w.query_many(ranges) == ["".join(rows[-k:]) for k in ranges]
                assert w.query() == "".join(rows)
            w.check_invariants()
            if step % 50 == 49:
                w = FlatFIT.resume(agg.concat(), w.snapshot())


def test_rows_of_a_batch_are_rewritten() -> None:
    """Compiled: the rows go with the window, into columns and back."""
    rows = np.random.default_rng(3).choice([-1, 1, 2], 40)
    w, oracle = FlatFIT(affine(), updates=True), Recalculate(affine())
    assert w.slide(rows, 20).tolist() == oracle.slide(rows, 20).tolist()
    assert w.form.compiled
    w.update([(1, 2), (20, -1), (7, 0)])
    kept = rows[-20:].tolist()
    kept[0], kept[19], kept[6] = 2, -1, 0
    again = Recalculate(affine())
    again.insert_many(kept)
    assert w.query() == again.query()
    assert w.slide([1, 2], 20).tolist() == again.slide([1, 2], 20).tolist()


def test_an_update_makes_no_combine_and_one_that_fails_changes_nothing() -> None:
    total = counting(agg.sum())
    w = FlatFIT(total, updates=True)
    w.insert_many(range(50))
    w.query()
    before = total.combines
    w.update({3: 100})
    assert total.combines == before
    assert w.query() == sum(range(50)) - 2 + 100

    picky = FlatFIT(Aggregate(lambda x: x + 0, lambda a, b: a + b, identity=0), updates=True)
    picky.insert_many([1, 2, 3])
    with pytest.raises(TypeError):
        picky.update({1: 10, 2: "x"})
    for wrong in (0, 4):
        with pytest.raises(IndexError):
            picky.update({wrong: 1})
    with pytest.raises(ValueError, match="twice"):
        picky.update([(1, 5), (1, 6)])
    picky.update({})
    assert picky.query() == 6


def test_without_updates_there_is_no_update() -> None:
    assert not hasattr(FlatFIT(agg.sum()), "update")
    w = FlatFIT(agg.sum(), updates=True)
    w.insert(1)
    with pytest.raises(SnapshotError, match="flat_fit_updates"):
        Recalculate.resume(agg.sum(), w.snapshot())


def test_rows_that_come_and_go_out_of_step() -> None:
    """§3.1, non-FIFO: a window that overflows goes on, at a few combines for each step."""
    concat = counting(agg.concat())
    w, rows, steps = FlatFIT(concat, capacity=4), "", 0
    for grow, shrink in ((100, 0), (0, 60), (300, 20), (0, 319), (50, 10)):
        for i in range(grow):
            rows += chr(97 + i % 26)
            w.insert(rows[-1])
            assert w.query() == rows
        for _ in range(shrink):
            w.evict()
            rows = rows[1:]
            assert w.query() == rows
        steps += grow + shrink
    assert concat.combines <= 4 * steps
