"""FlatFAT against paper 1 §4 (Theorem 4.2, Fig. 3 and 4) and against a list."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from tests.swag.cases import affine
from windrow import Aggregate, agg
from windrow.errors import WindrowError
from windrow.swag.base import Swag
from windrow.swag.counting import counting
from windrow.swag.flat_fat import FlatFAT

# What the tests of the other structures over rings and trees ask, too.


def compare_sequences(algorithm: type[Swag], sequences: int = 40, steps: int = 150) -> None:
    """Random insertions, evictions and queries of strings against a list, from the smallest capacity on."""
    for seed in range(sequences):
        rnd = random.Random(seed)
        window, rows = algorithm(agg.concat(), capacity=1), []
        growth, asked = rnd.choice([0.4, 0.5, 0.6]), rnd.choice([0.1, 0.5, 1.0])
        for step in range(steps):
            if rows and rnd.random() > growth:
                window.evict()
                rows.pop(0)
            else:
                rows.append(chr(97 + step % 26))
                window.insert(rows[-1])
            window.check_invariants()
            assert len(window) == len(rows)
            if rnd.random() < asked:
                assert window.query() == ("".join(rows) or None), (seed, step)
                window.check_invariants()
        while rows:
            window.evict()
            rows.pop(0)
        assert window.query() is None
        with pytest.raises(IndexError):
            window.evict()


def compose(rows: list[int]) -> int:
    total = 0
    for x in rows:
        total = total * x + 1
    return total


ORACLES = {agg.sum: sum, agg.max: max, affine: compose}


def compare_batches(algorithm: type[Swag], make: Any) -> None:
    """Compiled: by rows (around powers of two), by key, by irregular times in two batches, and between any bounds."""
    oracle = ORACLES[make]
    rng = np.random.default_rng(7)
    n = 300
    x = rng.choice([-1, 1, 2], n) if make is affine else rng.integers(-50, 50, n)
    rows = x.tolist()
    for w in (1, 2, 3, 7, 8, 9, 31, 32, 33):
        window = algorithm(make())
        assert window.slide(x, w).tolist() == [oracle(rows[max(0, i + 1 - w) : i + 1]) for i in range(n)], w
        assert window.form.compiled
        window.check_invariants()
    keys = np.repeat(np.arange(60), 5)
    got = algorithm(make()).slide(x, 9, keys=keys).tolist()
    assert got == [oracle(rows[i // 5 * 5 : i + 1]) for i in range(n)]
    times = np.cumsum(rng.choice([0, 1, 1, 2, 7, 40], n))
    times[150:] += 1  # rows of one time come in one batch
    for duration in (1, 5, 23, 60):
        window = algorithm(make())
        got = [y for part in (slice(0, 150), slice(150, n)) for y in window.slide(x[part], duration, times=times[part])]
        assert got == [oracle(x[(times > t - duration) & (times <= t)].tolist()) for t in times], duration
    lo, hi = np.sort(rng.integers(0, n, n)), np.sort(rng.integers(0, n, n))
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi) + 1
    got = algorithm(make()).slide_between(x, lo, hi).tolist()
    assert got == [oracle(rows[a:z]) for a, z in zip(lo, hi, strict=True)]
    if make is agg.max:  # nulls, and only nulls
        half = np.ma.masked_array(x, rng.random(n) < 0.7)
        got = algorithm(make()).slide(half, 4).tolist()
        seen = [[v for v in half[max(0, i - 3) : i + 1].tolist() if v is not None] for i in range(n)]
        assert got == [max(v) if v else None for v in seen]
        window = algorithm(make())  # the same rows again by hand, where what was a number may now be a null
        window.slide(x[:40], 8)
        for i in range(12):
            window.query()
            window.evict()
            window.insert(None)
            assert window.query() == max(rows[33 + i : 40], default=None)
        window.check_invariants()


# FlatFAT's own.


def letters(n: int) -> list[str]:
    return [chr(ord("a") + i % 26) for i in range(n)]


def test_figures_3_and_4() -> None:
    """Eight leaves; a[1], a[2], a[4] and a[7] change: six nodes are computed anew."""
    concat = counting(agg.concat())
    fat = FlatFAT.new(concat, "abcdefgh")
    assert concat.combines == 7
    nodes = ["".join(partial) for partial in fat.s.vals[1:]]
    assert nodes == ["abcdefgh", "abcd", "efgh", "ab", "cd", "ef", "gh", *"abcdefgh"]
    concat.combines = 0
    assert fat.prefix(7) == "abcdefg"
    assert concat.combines == 2  # T(e) ⊕ T(c) ⊕ a[7]
    concat.combines = 0
    fat.update([(1, "A"), (2, "B"), (4, "D"), (7, "G")])
    assert concat.combines == 6
    assert fat.aggregate() == "ABcDefGh"
    fat.check_invariants()


@pytest.mark.parametrize("n", [1, 2, 4, 8, 64, 256])
def test_theorem_4_2(n: int) -> None:
    rnd = random.Random(n)
    concat = counting(agg.concat())
    rows = letters(n)
    fat = FlatFAT.new(concat, rows)
    assert concat.combines == n - 1  # (i)
    for m in sorted({1, 2, 3, n // 2, n - 1, n, rnd.randint(1, n)}):
        if not 1 <= m <= n:
            continue
        changes = {i + 1: rnd.choice("ABCDEF") for i in rnd.sample(range(n), m)}
        for i, value in changes.items():
            rows[i - 1] = value
        concat.combines = 0
        fat.update(changes if m % 2 else list(changes.items()))
        assert concat.combines <= m * (1 + math.ceil(math.log2(n / m)))  # (ii)
        concat.combines = 0
        assert fat.aggregate() == "".join(rows)
        assert concat.combines == 0
        for i in range(1, n + 1):
            concat.combines = 0
            assert fat.prefix(i) == "".join(rows[:i])
            assert concat.combines <= math.log2(n)  # (iii)
            concat.combines = 0
            assert fat.suffix(i) == "".join(rows[i - 1 :])
            assert concat.combines <= math.log2(n)
        fat.check_invariants()


@pytest.mark.parametrize("n", [0, 3, 5, 11])
def test_sizes_that_are_no_power_of_two(n: int) -> None:
    concat = counting(agg.concat())
    fat = FlatFAT.new(concat, letters(n))
    assert concat.combines == max(0, n - 1)
    assert fat.aggregate() == ("".join(letters(n)) or None)
    for i in range(1, n + 1):
        assert fat.suffix(i) == "".join(letters(n)[i - 1 :])
        assert fat.prefix(i) == "".join(letters(n)[:i])


def test_locations_are_checked() -> None:
    fat = FlatFAT.new(agg.concat(), "abc")
    for wrong in (0, 4, -1):
        with pytest.raises(IndexError):
            fat.prefix(wrong)
        with pytest.raises(IndexError):
            fat.suffix(wrong)
        with pytest.raises(IndexError):
            fat.update({wrong: "x"})
        with pytest.raises(IndexError):
            fat.range(wrong, 2)
        with pytest.raises(IndexError):
            fat.range(2, wrong)
    with pytest.raises(ValueError, match="twice"):
        fat.update([(1, "x"), (1, "y")])
    assert fat.aggregate() == "abc"


def test_update_prefix_suffix_wherever_the_buffer_turns() -> None:
    """Locations count from the oldest row, on an inverted buffer, too."""
    rnd = random.Random(1)
    fat, rows = FlatFAT(agg.concat(), capacity=8), []
    turned = 0
    for step in range(600):
        if rows and (rnd.random() < 0.48 or len(rows) == 8):
            fat.evict()
            rows.pop(0)
        else:
            rows.append(chr(97 + step % 26))
            fat.insert(rows[-1])
        if rows and rnd.random() < 0.5:
            changes = {i + 1: chr(65 + step % 26) for i in rnd.sample(range(len(rows)), rnd.randint(1, len(rows)))}
            fat.update(changes)
            for i, value in changes.items():
                rows[i - 1] = value
        fat.check_invariants()
        turned += (fat.r.E - 1) % 8 < fat.r.F % 8
        for i in range(1, len(rows) + 1):
            assert (fat.prefix(i), fat.suffix(i)) == ("".join(rows[:i]), "".join(rows[i - 1 :]))
            j = rnd.randint(i, len(rows))
            assert fat.range(i, j) == "".join(rows[i - 1 : j])
        assert fat.aggregate() == ("".join(rows) or None)
    assert turned > 100 and fat.capacity == 8


def test_a_full_window_of_constant_size_pays_for_a_slot_once() -> None:
    """Evictions from an inverted buffer make no combine, and an insertion one on average."""
    concat = counting(agg.concat())
    fat = FlatFAT.new(concat, letters(64))
    concat.combines = 0
    for x in letters(640):
        fat.evict()
        fat.insert(x)
    assert concat.combines <= 640 * 1.2
    concat.combines = 0
    fat.query()
    assert concat.combines <= 2 * 6 + 1


def raising(when: list[str]) -> Aggregate:
    """Concatenation that raises as soon as it meets `when`."""

    def combine(a: str, b: str) -> str:
        if when and when[0] in a + b:
            raise RuntimeError("no")
        return a + b

    return Aggregate(lambda x: x, combine, identity="", name="raising")


def test_a_combine_that_raises_leaves_the_window_as_it_was() -> None:
    when: list[str] = []
    fat = FlatFAT(raising(when), capacity=4)
    fat.insert_many("abcdefgh")
    fat.evict_many(3)
    fat.insert_many("ij")
    assert fat.s.mask < fat.r.E - 1  # inverted: d e f g h | i j
    before = list(fat.s.vals), fat.r, fat.capacity
    for wrong, call in [
        ("jk", lambda: fat.insert_many("kl")),
        ("ij", lambda: fat.query()),
        ("Xh", lambda: fat.update({4: "X", 1: "D"})),
        ("gh", lambda: fat.suffix(2)),
    ]:
        when[:] = [wrong]
        with pytest.raises(RuntimeError):
            call()
        when.clear()
        assert (list(fat.s.vals), fat.r, fat.capacity) == before
        fat.check_invariants()
    assert fat.query() == "defghij"


def test_growth_that_raises_changes_nothing() -> None:
    when: list[str] = []
    fat = FlatFAT(raising(when), capacity=4)
    fat.insert_many("abcdef")
    fat.evict_many(2)
    fat.insert_many("ghij")
    assert len(fat) == fat.capacity == 8
    before = fat.s, list(fat.s.vals), fat.r
    when[:] = ["ef"]
    with pytest.raises(RuntimeError):
        fat.insert("k")
    when.clear()
    assert (fat.s, list(fat.s.vals), fat.r, fat.capacity) == (*before, 8)
    fat.insert("k")
    assert fat.query() == "cdefghijk"


def test_sequences() -> None:
    compare_sequences(FlatFAT)


@pytest.mark.parametrize("make", [agg.sum, agg.max, affine])
def test_compiled(make) -> None:
    compare_batches(FlatFAT, make)


def test_compiled_goes_on_by_hand() -> None:
    fat = FlatFAT(agg.sum())
    assert fat.slide(np.arange(100), 20)[-1] == sum(range(80, 100))
    assert (fat.prefix(2), fat.suffix(20), fat.aggregate()) == (80 + 81, 99, sum(range(80, 100)))
    fat.update({1: 0})
    fat.check_invariants()
    assert fat.query() == sum(range(81, 100))


@pytest.mark.parametrize("n", [1, 2, 8, 64])
def test_any_range_takes_at_most_2_log_n_combines(n: int) -> None:
    concat = counting(agg.concat())
    rows = letters(n)
    fat = FlatFAT.new(concat, rows)
    for i in range(1, n + 1):
        for j in range(i, n + 1):
            concat.combines = 0
            assert fat.range(i, j) == "".join(rows[i - 1 : j])
            assert concat.combines <= 2 * math.log2(n)


def test_every_call_by_hand_goes_on_after_a_batch() -> None:
    """After a slide, and after one that was refused."""
    for refused in (False, True):
        for call, answer in (
            (lambda fat: fat.update({}), None),
            (lambda fat: fat.update({1: 1}), None),
            (lambda fat: fat.prefix(2), 6 + 7),
            (lambda fat: fat.suffix(3), 8 + 9),
            (lambda fat: fat.range(2, 3), 7 + 8),
        ):
            fat = FlatFAT(agg.sum())
            fat.slide(np.arange(10), 4)
            if refused:
                with pytest.raises(OverflowError):
                    fat.slide(np.full(6, 2**62), 4)
                with pytest.raises(WindrowError, match="holds object now"):
                    fat.slide(["text"], 4)
            assert call(fat) == answer
            fat.check_invariants()
