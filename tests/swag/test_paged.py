"""A window by hand: no insert moves what is there, what leaves is let go of, and columns are converted page by page."""

from __future__ import annotations

import gc
import random
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.swag.cases import affine
from windrow import Aggregate, agg, swag
from windrow.engine.paged import SIZE, Paged
from windrow.errors import Unsupported
from windrow.swag import ALGORITHMS, Recalculate

#: those whose entries keep their places; the trees of papers 1 and 4 are laid out anew when they grow
ENDLESS = [name for name, kind in ALGORITHMS.items() if kind.algorithm.endless]
#: the most slots that an insert writes
WRITES = {"two_stacks": 2, "aba": 2, "daba": 4, "daba_uncached": 4, "daba_lite": 3, "b_int": 13, "flat_fit": 2}


def window(name: str, aggregate: Aggregate) -> Any:
    return ALGORITHMS[name](aggregate)


def test_the_algorithms_of_papers_2_and_5_are_endless() -> None:
    papers = "two_stacks two_stacks_lite aba daba daba_uncached daba_lite flat_fit b_int recalculate subtract_on_evict"
    assert set(ENDLESS) == set(papers.split())


@pytest.mark.parametrize("name", ENDLESS)
def test_no_insert_moves_what_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each insert writes a few slots, whatever the size; no page is ever copied; no insert takes much memory."""
    written, put = [0], Paged.__setitem__

    def counted(self: Paged, i: int, value: Any) -> None:
        written[0] += 1
        put(self, i, value)

    monkeypatch.setattr(Paged, "__setitem__", counted)
    w = window(name, agg.sum())
    pages: dict[tuple[int, int], int] = {}
    tracemalloc.start()
    try:
        for i in range(1 << 12):
            written[0] = 0
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            w.insert(i)
            if i:  # the first one of all makes the window
                assert tracemalloc.get_traced_memory()[1] - before < 16_384, i
                assert written[0] <= WRITES.get(name, 1), i
            if i % 256 == 0:
                there = {(j, n): id(page) for j, slots in enumerate(w.s[:3]) for n, page in slots.pages()}
                assert pages.items() <= there.items()
                pages = there
    finally:
        tracemalloc.stop()
    assert len(w) == 1 << 12 and pages


@pytest.mark.parametrize("name", ENDLESS)
def test_memory_is_given_back(name: str) -> None:
    """A window of 20 rows takes as little after it had 5,000 as before; so does one that has slid for long."""

    def held() -> int:
        return sum(len(slots) for slots in w.s[:3])

    w = window(name, agg.sum())
    w.insert_many(range(20))
    small = held()
    w.insert_many(range(5000))
    assert held() >= 5000
    for _ in range(2000):
        w.evict()
    w.evict_many(3000)
    assert len(w) == 20
    for i in range(300):  # Two-Stacks gives the rest back with its next flip
        w.insert(i)
        w.evict()
    assert held() <= small + (14 if name == "b_int" else 3) * SIZE
    assert w.query() == sum(range(280, 300))


class Thing:
    """A partial that can be watched."""

    def __init__(self, text: str) -> None:
        self.text = text


def things(alive: weakref.WeakSet) -> Aggregate:
    """Concatenation of things; `alive` has those that rows were lifted to."""

    def lift(x: str) -> Thing:
        made = Thing(x)
        alive.add(made)
        return made

    return Aggregate(
        lift, lambda a, b: Thing(a.text + b.text), lambda p: p.text, identity=Thing(""), name="things",
        inverse=lambda total, old: Thing(total.text[len(old.text) :]),
    )  # fmt: skip


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", ENDLESS)
def test_what_was_evicted_is_let_go_of(name: str, batch: bool) -> None:
    alive: weakref.WeakSet = weakref.WeakSet()
    aggregate = things(alive)
    w, rows, rnd = window(name, aggregate), "", random.Random(name)
    w._sample = None  # the laws are not what is tried here
    for step in range(400):
        if batch and step % 100 == 99:
            more = "".join(rnd.choice("abc") for _ in range(70))
            w.slide(list(more), len(rows) + 20)
            rows = (rows + more)[-len(rows) - 20 :]
        elif rows and rnd.random() > (0.6 if step % 200 < 100 else 0.4):
            count = rnd.choice([1, 1, min(7, len(rows))])
            w.evict() if count == 1 else w.evict_many(count)
            rows = rows[count:]
        else:
            rows += rnd.choice("abc")
            w.insert(rows[-1])
        if step % 3 == 0:
            assert w.query() == (rows or None)
        gc.collect(0)
        assert len(alive) <= len(rows) + 1, step
    w.evict_many(len(rows))
    gc.collect()
    assert not alive


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_query_asked_again_makes_no_combine(name: str) -> None:
    total = swag.counting(agg.sum())
    w, rows = window(name, total), list(range(40))
    w.insert_many(rows)

    def changes() -> Iterator[None]:
        yield w.insert(7), rows.append(7)
        yield w.evict(), rows.pop(0)
        yield w.insert_many([3, 4]), rows.extend([3, 4])
        yield w.evict_many(11), rows.__delitem__(slice(11))
        if name == "flat_fat":
            yield w.update({2: 100}), rows.__setitem__(1, 100)
        if name == "reactive_aggregator":
            yield w.evict_at(3), rows.pop(3)
        if name == "fiba":
            yield w.insert(9, time=w.oldest), rows.insert(1, 9)
        if name in ("amta", "log_mta"):
            yield w.enforce(lambda whole, old: whole - old > 200), rows.__delitem__(slice(len(rows) - len(w)))
        yield w.slide([5, 6], len(rows)), rows.__delitem__(slice(2)), rows.extend([5, 6])
        yield w.evict_many(len(rows)), rows.clear()

    for _ in changes():
        assert w.query() == (sum(rows) if rows else None)
        before = w.of.combines
        assert [w.query() for _ in range(3)] == [sum(rows) if rows else None] * 3
        assert w.of.combines == before


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_answer_is_the_callers_to_change(name: str) -> None:
    if name == "subtract_on_evict":
        pytest.skip("no inverse")
    w = window(name, agg.collect_list())
    w.insert_many("ab")
    w.query().append("c")
    assert w.query() == ["a", "b"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_undo_journal_is_empty_after_each_call(name: str) -> None:
    w = window(name, agg.sum())
    for call in (lambda: w.insert_many(range(500)), lambda: w.insert(1), w.query, w.evict, lambda: w.evict_many(100)):
        call()
        assert not w.form.journal.undo
    with pytest.raises(TypeError):
        w.insert_many([1, 2, "x"])
    assert not w.form.journal.undo
    assert len(w) == 400


@contextmanager
def conversions(form: Any) -> Iterator[list[int]]:
    """How many partials of the form become objects, or objects partials of it."""
    count, thaw, freeze = [0], form.thaw, form.freeze

    def counted(convert: Callable) -> Callable:
        def call(partial: Any) -> Any:
            count[0] += 1
            return convert(partial)

        return call

    object.__setattr__(form, "thaw", counted(thaw))
    object.__setattr__(form, "freeze", counted(freeze))
    try:
        yield count
    finally:
        object.__setattr__(form, "thaw", thaw)
        object.__setattr__(form, "freeze", freeze)


@pytest.mark.parametrize("name", [*(n for n in ENDLESS if n != "subtract_on_evict"), "flat_fat", "amta", "log_mta"])
def test_a_step_after_a_slide_converts_some_pages(name: str) -> None:
    """By hand after a batch, and a batch after that: what nobody looks at is not converted, row by row.

    Subtract-on-evict has to: the numbers of a running aggregate do not tell how many rows they are of.
    """
    n, rows = 1 << 13, np.arange(3 << 13)
    w, size = window(name, agg.sum()), n - n // 4
    w.slide(rows[: 2 * n], size)  # no flip is due, and there is room
    if not w.form.compiled:
        pytest.skip("runs in plain Python")
    with conversions(w.form) as count:
        w.insert(int(rows[2 * n]))
        w.evict()
        if name not in ("recalculate", "flat_fit"):  # they look at every row
            assert w.query() == rows[: 2 * n + 1][-size:].sum()
        assert count[0] <= 40 * SIZE
        before = count[0]
        answers = w.slide(rows[2 * n + 1 : 2 * n + 5], size)
        assert answers.tolist() == [rows[: 2 * n + i][-size:].sum() for i in range(2, 6)]
        assert count[0] - before <= 40 * SIZE
    w.check_invariants() if name == "two_stacks_lite" else None


def listed(answers: Any) -> list:
    """Answers of a join as tuples, be they columns or objects."""
    return list(zip(*(a.tolist() for a in answers), strict=True)) if isinstance(answers, tuple) else answers.tolist()


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("make", [affine, lambda: agg.join(agg.sum(), agg.count()), agg.max])
def test_by_hand_and_by_batch_in_turn(name: str, make: Callable[[], Aggregate]) -> None:
    try:
        w, oracle = window(name, make()), Recalculate(make())
    except Unsupported:
        pytest.skip("not for this algorithm")
    rnd, n = random.Random(f"{name} {make().name}"), 300
    for step in range(60):
        kind = rnd.random()
        if kind < 0.3:
            values = [rnd.choice([-1, 1, 0, 2]) for _ in range(rnd.choice([1, 5, 150, 400]))]
            room = max(n, len(w))
            got, expected = w.slide(values, room), oracle.slide(values, room)
            assert listed(got) == listed(expected)
        elif kind < 0.6:
            for _ in range(rnd.choice([1, 3, 90])):
                value = rnd.choice([-1, 1, 0, 2, None])
                w.insert(value)
                oracle.insert(value)
        else:
            count = rnd.choice([min(1, len(w)), len(w) // 3, len(w)])
            w.evict_many(count)
            oracle.evict_many(count)
        assert len(w) == len(oracle)
        if rnd.random() < 0.7:
            assert w.query() == oracle.query(), step
        if step % 10 == 0:
            again = type(w).resume(make(), w.snapshot())
            assert again.query() == oracle.query()
            w = again if rnd.random() < 0.5 else w
    w.check_invariants()
