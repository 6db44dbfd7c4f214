"""The Reactive Aggregator against paper 1 §5 (Fig. 5, §5.1.1, §5.1.2, Theorem 4.1) and against a list."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tests.swag.cases import affine
from tests.swag.test_flat_fat import compare_batches, compare_sequences, raising
from windrow import Aggregate, agg
from windrow.swag.counting import counting
from windrow.swag.reactive_aggregator import ReactiveAggregator


def letters(n: int) -> list[str]:
    return [chr(ord("a") + i % 26) for i in range(n)]


def buffer(w: ReactiveAggregator) -> tuple[list, int, int]:
    """a[1..n] (None is ⊥), F and B, from 1 as in the paper."""
    return w.s.vals[w.capacity :], (w.r.F & w.s.mask) + 1, ((w.r.E - 1) & w.s.mask) + 1


def test_figure_5() -> None:
    w = ReactiveAggregator(agg.concat(sep=","), capacity=4)
    trace = [
        ("4", ["4", None, None, None], 1, 1, "4"),
        ("7", ["4", "7", None, None], 1, 2, "4,7"),
        ("3", ["4", "7", "3", None], 1, 3, "4,7,3"),
        ("2", ["4", "7", "3", "2"], 1, 4, "4,7,3,2"),
        (None, [None, "7", "3", "2"], 2, 4, "7,3,2"),
        ("9", ["9", "7", "3", "2"], 2, 1, "7,3,2,9"),  # inverted: aggregate() would say 9,7,3,2
    ]
    for event, slots, front, back, answer in trace:
        w.insert(event) if event else w.evict()
        texts, *ends = buffer(w)
        assert (["".join(t) if t else None for t in texts], *ends) == (slots, front, back)
        assert w.query() == answer
        w.check_invariants()
    assert w.capacity == 4


@pytest.mark.parametrize("n", [16, 64, 256])
def test_theorem_4_1(n: int) -> None:
    """m events and one query: m(1 + ⌈log(n/m)⌉) combines, and at most 2 log n + 1 for an inverted buffer."""
    concat = counting(agg.concat())
    w = ReactiveAggregator(concat, capacity=n)
    w.insert_many(letters(n))
    w.query()
    rnd = random.Random(n)
    for m in [1, 2, 3, n // 4, n // 2, n - 1, *(rnd.randint(1, n) for _ in range(10))]:
        normal = w.r.F % n == 0
        concat.combines = 0
        w.evict_many(min(m, len(w) - n // 4))  # not below a quarter: the buffer stays
        gone = n - len(w)
        w.insert_many(letters(gone))
        assert concat.combines == 0  # the update waits for the query
        answer = w.query()
        reading = 0 if normal and w.r.F % n == 0 else 2 * math.log2(n) + 1
        # the slots that rows left are those that the new ones took: `gone` changes
        assert concat.combines <= gone * (1 + math.ceil(math.log2(n / gone))) + reading
        assert len(answer) == n == w.capacity
        w.check_invariants()


def test_batches_of_insertions_into_room() -> None:
    for n, m in [(64, 1), (64, 5), (64, 17), (256, 100), (256, 3)]:
        concat = counting(agg.concat())
        w = ReactiveAggregator(concat, capacity=n)
        w.insert_many(letters(n // 2))
        w.query()
        concat.combines = 0
        m = min(m, n // 2)
        w.insert_many(letters(m))
        assert w.query() == "".join(letters(n // 2) + letters(m))
        assert concat.combines <= m * (1 + math.ceil(math.log2(n / m)))
        concat.combines = 0
        assert w.query() and concat.combines == 0  # aggregate() makes none


def test_many_events_without_a_query_are_one_update() -> None:
    concat = counting(agg.concat())
    w = ReactiveAggregator(concat, capacity=16)
    for x in letters(1000):
        if len(w) == 16:
            w.evict()
        w.insert(x)
    assert w.query() == "".join(letters(1000)[-16:])
    assert concat.combines <= 15 + 2 * 4 + 1


def test_a_slot_that_is_left_and_taken_is_updated_once() -> None:
    """A window as large as its buffer: log n combines a slide for the update, not twice that."""
    total = counting(agg.concat())
    w = ReactiveAggregator(total, capacity=64)
    w.insert_many(letters(64))
    w.query()
    for x in letters(640):
        w.evict()
        w.insert(x)
        total.combines = 0
        w.query()
        assert total.combines <= 6 + 2 * 6 + 1


def test_compact_at_three_quarters() -> None:
    """§5.1.1: the buffer is full, and at most 3/4 of it are rows: closed up; else doubled."""
    w, rows = ReactiveAggregator(agg.concat(), capacity=16), letters(16)
    w.insert_many(rows)
    for k in (3, 5, 7, 9):  # leaves 12 = 3/4 of 16
        w.evict_at(k)
        del rows[k]
    assert (len(w), w.r.E - w.r.F) == (12, 16)
    w.insert("A")
    rows.append("A")
    assert (w.capacity, w.r.F, w.r.E) == (16, 0, 13)
    assert w.query() == "".join(rows)
    w.insert_many("BCD")
    rows += "BCD"
    for k in (3, 5, 7):  # 13 are more than 3/4
        w.evict_at(k)
        del rows[k]
    w.insert("E")
    rows.append("E")
    assert (w.capacity, w.r.F, w.r.E) == (32, 0, 14)
    assert w.query() == "".join(rows)
    w.check_invariants()


def test_resize_at_full_and_at_a_quarter() -> None:
    w = ReactiveAggregator(agg.concat(), capacity=4)
    w.insert_many(letters(16))
    assert w.capacity == 16
    w.insert("x")
    assert w.capacity == 32
    w.evict_many(9)
    assert (len(w), w.capacity) == (8, 32)  # a quarter is not less than a quarter
    w.evict()
    assert (len(w), w.capacity) == (7, 16)
    w.evict_at(3)
    assert w.capacity == 16
    w.evict_many(6)
    assert (len(w), w.capacity) == (0, 4)
    w.check_invariants()
    many = ReactiveAggregator(agg.concat(), capacity=4)
    many.insert_many(letters(1000))
    assert many.capacity == 1024
    many.evict_many(999)
    assert (many.capacity, many.query()) == (4, letters(1000)[-1])


def test_rows_leave_in_any_order() -> None:
    for seed in range(24):
        rnd = random.Random(seed)
        w, rows = ReactiveAggregator(agg.concat(), capacity=4), []
        growth, asked = rnd.choice([0.45, 0.5, 0.6]), rnd.choice([0.2, 1.0])
        for step in range(200):
            action = rnd.random()
            if not rows or action < growth:
                rows.append(chr(97 + step % 26))
                w.insert(rows[-1])
            elif action < 0.65:
                w.evict()
                rows.pop(0)
            elif action < 0.95:
                k = rnd.choice([0, len(rows) - 1, rnd.randrange(len(rows))])
                w.evict_at(k)
                del rows[k]
            elif action < 0.975:
                some = letters(rnd.randint(0, 9))
                w.insert_many(some)
                rows += some
            else:
                count = rnd.randint(0, len(rows))
                w.evict_many(count)
                del rows[:count]
            assert len(w) == len(rows)
            w.check_invariants()
            if rnd.random() < asked:
                assert w.query() == ("".join(rows) or None), (seed, step)
                w.check_invariants()
            if step % 50 == 49:
                w = ReactiveAggregator.resume(agg.concat(), w.snapshot())


def test_out_of_order_eviction_costs_one_path() -> None:
    concat = counting(agg.concat())
    w = ReactiveAggregator(concat, capacity=64)
    w.insert_many(letters(64))
    w.query()
    concat.combines = 0
    w.evict_at(30)
    w.query()
    assert concat.combines == 6


@pytest.mark.parametrize("m", [1, 7, 32, 128, 500])
def test_evictions_out_of_order_keep_theorem_4_2(m: int) -> None:
    """m of them and one query are one update: m(1 + ⌈log(n/m)⌉) combines."""
    n = 1024
    concat, rnd = counting(agg.concat()), random.Random(m)
    w, rows = ReactiveAggregator(concat, capacity=n), letters(n)
    w.insert_many(rows)
    w.query()
    concat.combines = 0
    for _ in range(m):
        k = rnd.randrange(1, len(rows))
        w.evict_at(k)
        del rows[k]
    assert concat.combines == 0
    assert w.query() == "".join(rows)
    assert concat.combines <= m * (1 + math.ceil(math.log2(n / m)))
    w.check_invariants()


def test_an_eviction_out_of_order_looks_at_few_slots() -> None:
    """O(log n): nothing but the row's own slot is read or written in the buffer, and log n counts of holes."""
    w = ReactiveAggregator(agg.max(), capacity=2**12)
    w.insert_many(range(2**12))
    w.query()
    for k in range(2000, 10, -7):  # never the front or the back
        w.evict_at(k)
        assert w.form.journal is not None and len(w.form.journal.undo) <= 4
    assert len(w._holes.counts) <= 2**12
    w.check_invariants()


def test_an_interrupt_before_a_hole_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    w, rows = ReactiveAggregator(agg.concat(), capacity=16), letters(16)
    w.insert_many(rows)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("windrow.swag.holes.Holes.add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            w.evict_at(3)  # the row is gone all the same
    del rows[3]
    w.evict_at(5)
    del rows[5]
    assert w.query() == "".join(rows)
    w.check_invariants()


def test_resume_keeps_capacity_and_what_waits() -> None:
    w, rows = ReactiveAggregator(agg.concat(), capacity=64), letters(50)
    w.insert_many(rows)
    w.query()
    for k in (40, 3, 17, 30):
        w.evict_at(k)
        del rows[k]
    again = ReactiveAggregator.resume(agg.concat(), w.snapshot())
    again.check_invariants()
    assert (again.capacity, again.minimum) == (64, 64)
    again.evict_at(20)
    del rows[20]
    assert again.query() == "".join(rows)
    again.evict_many(40)
    assert (again.capacity, again.query()) == (64, "".join(rows[40:]))  # room for 64 rows was asked for


def test_bad_calls_change_nothing() -> None:
    w = ReactiveAggregator(agg.concat())
    w.insert_many("abc")
    for call in (lambda: w.evict_at(3), lambda: w.evict_at(-1), lambda: w.evict_many(4), lambda: w.evict_many(-1)):
        with pytest.raises(IndexError):
            call()
    assert w.query() == "abc"

    def lift(x: str) -> str:
        if x == "!":
            raise RuntimeError("no")
        return x

    w = ReactiveAggregator(Aggregate(lift, lambda a, b: a + b, identity=""), capacity=4)
    w.insert_many("abcd")
    with pytest.raises(RuntimeError):
        w.insert_many("ef!")
    w.check_invariants()
    assert w.query() == "abcd"


def test_a_combine_that_raises_leaves_the_window_as_it_was() -> None:
    when: list[str] = []
    w = ReactiveAggregator(raising(when), capacity=8)
    w.insert_many("abcdef")
    assert w.query() == "abcdef"
    w.insert_many("gh")
    before = list(w.s.vals), list(w.s.links), w.r
    when[:] = ["gh"]
    with pytest.raises(RuntimeError):
        w.query()
    assert (list(w.s.vals), list(w.s.links), w.r) == before
    w.check_invariants()
    w.evict_at(2)  # makes no combine
    before = list(w.s.vals), list(w.s.links), w.r
    with pytest.raises(RuntimeError):
        w.query()
    assert (list(w.s.vals), list(w.s.links), w.r) == before
    w.check_invariants()
    when.clear()
    assert w.query() == "abdefgh"


def test_holes_are_closed_before_a_batch() -> None:
    for make, rows in ((agg.max, [(7 * i) % 16 for i in range(16)]), (agg.concat, letters(16))):
        w = ReactiveAggregator(make(), capacity=16)
        w.insert_many(rows)
        for k in (3, 5, 7, 9):
            w.evict_at(k)
            del rows[k]
        more = rows[:6]
        total = max if make is agg.max else "".join
        got = w.slide(np.array(more), 14) if make is agg.max else w.slide(more, 14)
        every = rows + more
        assert list(got) == [total(every[max(0, i - 13) : i + 1]) for i in range(12, 18)]
        assert w.query() == total(every[-14:])
        w.check_invariants()


def test_a_key_of_few_rows_clears_few_slots() -> None:
    """`clear` writes above F..E only, whatever the capacity."""
    w = ReactiveAggregator(agg.concat(), capacity=1024)
    w.insert_many("abc")
    w.query()
    w.evict()
    w.insert("d")
    journal = w.form.journal
    assert journal is not None
    journal.undo.clear()
    w.r = w.k.clear(w.s)
    assert len(journal.undo) <= 4 * (2 + 11)
    w.check_invariants()
    assert all(partial is None for partial in w.s.vals)
    w.insert("x")
    assert w.query() == "x"


def test_sequences() -> None:
    compare_sequences(ReactiveAggregator)


@pytest.mark.parametrize("make", [agg.sum, agg.max, affine])
def test_compiled(make) -> None:
    compare_batches(ReactiveAggregator, make)
