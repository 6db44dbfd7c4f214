"""`enforce` on every algorithm, against a plain list."""

from __future__ import annotations

import random

import numpy as np
import pytest

import windrow
from windrow import agg, swag
from windrow.errors import Unsupported, WindrowError

#: they do not keep each row's own partial; what the error names instead
REFUSE = {"two_stacks_lite": "TwoStacks", "daba_lite": "DABA", "flat_fit": "updates=True"}
MAKERS = {name: cls for name, cls in swag.ALGORITHMS.items() if name not in REFUSE}
MAKERS["flat_fit_updates"] = lambda aggregate, **options: swag.FlatFIT(aggregate, updates=True, **options)
over_all = pytest.mark.parametrize("name", MAKERS)


def words() -> windrow.Aggregate:
    """Not commutative, and with an inverse for Subtract on Evict."""
    return windrow.Aggregate(
        lambda x: x, lambda a, b: a + b, inverse=lambda total, old: total[len(old) :], identity="", name="words"
    )


def gone(rows: list[str], policy) -> int:
    """How many rows go: the longest oldest part that the policy holds for."""
    total, k = "".join(rows), 0
    while k < len(rows) and policy(total, "".join(rows[: k + 1])):
        k += 1
    return k


@over_all
def test_against_a_list(name):
    rnd = random.Random(name)
    for capacity in (1, 16):
        w, rows = MAKERS[name](words(), capacity=capacity), []
        for _ in range(400):
            what = rnd.random()
            if what < 0.6:
                row = rnd.choice("abcdefgh") * rnd.randint(1, 3)
                w.insert(row)
                rows.append(row)
            elif what < 0.65 and rows:
                w.evict()
                del rows[0]
            elif what < 0.7:
                k = rnd.randint(0, len(rows))
                w.evict_many(k)
                del rows[:k]
            else:
                keep, stop = rnd.choice([(0, "-"), (2, "-"), (10, "-"), (40, "-"), (5, "a"), (0, "h")])

                def policy(total, old, keep=keep, stop=stop):
                    assert total.startswith(old)
                    return len(total) - len(old) >= keep and stop not in old

                k = gone(rows, policy)
                assert w.enforce(policy) == k
                del rows[:k]
            assert (len(w), w.query() or "") == (len(rows), "".join(rows))
        w.check_invariants()


@over_all
def test_after_slide(name):
    """A window of columns, compiled where it can be: the newest values alone, which is not commutative."""
    inverse = name == "subtract_on_evict"
    w = MAKERS[name](agg.sum() if inverse else agg.last())
    for start in (0, 100):
        w.slide(np.arange(start, start + 40), 12)
        rows = list(range(start + 28, start + 40))
        if inverse:
            k = w.enforce(lambda total, old: old <= total // 3)
            expected = next(k for k in range(12) if sum(rows[: k + 1]) > sum(rows) // 3)
        else:
            k, expected = w.enforce(lambda total, old: old < total - 5), 6
        assert k == expected
        rows = [*rows[k:], 7]
        w.insert(7)
        assert (len(w), w.query()) == (len(rows), sum(rows) if inverse else 7)
        w.check_invariants()
        assert w.enforce(lambda total, old: True) == len(rows)
        assert len(w) == 0 and w.query() == type(w)(w.of).query()
        assert w.enforce(lambda total, old: 1 // 0) == 0, "nobody is asked about an empty window"


@over_all
def test_words_after_slide(name):
    w = MAKERS[name](words())
    w.slide(list("abcdefghij"), 6)
    assert w.enforce(lambda total, old: "g" not in old) == 2
    w.insert("k")
    assert w.query() == "ghijk"
    assert w.slide(["l"], 6).tolist() == ["ghijkl"]
    assert w.enforce(lambda total, old: total != old) == 5 and w.query() == "l"
    w.check_invariants()


@over_all
def test_nulls_and_several_values(name):
    if name != "subtract_on_evict":
        w = MAKERS[name](agg.join(rows=agg.count(), text=agg.concat()))
        w.insert_many(["a", None, "b", None, None, "c"])
        assert w.enforce(lambda total, old: total.text != "abc") == 0
        assert w.enforce(lambda total, old: old.text in (None, "", "a")) == 2
        assert w.query().text == "bc" and len(w) == 4
    w = MAKERS[name](agg.sum())
    w.insert_many([None, 3, None, 4])
    assert w.enforce(lambda total, old: old is None or total - old >= 4) == 3
    assert (len(w), w.query()) == (1, 4)


@over_all
def test_a_policy_that_raises(name):
    for when in (0, 3, 9):
        w = MAKERS[name](words())
        w.insert_many("abcdefghijklmnop")
        w.evict_many(3)

        def policy(total, old, when=when):
            return 1 // (len(old) <= when) == 1

        with pytest.raises(ZeroDivisionError):
            w.enforce(policy)
        assert (len(w), w.query()) == (13, "defghijklmnop")
        w.insert("q")
        w.evict()
        assert w.query() == "efghijklmnopq"
        w.check_invariants()


def test_a_combine_that_raises():
    """The rows' own combine fails while the policy is asked, or in an eviction: nothing has gone."""

    def combine(a, b):
        if broken:
            raise ZeroDivisionError
        return a + b

    for name, make in MAKERS.items():
        broken = False
        w = make(windrow.Aggregate(lambda x: x, combine, inverse=lambda t, o: t[len(o) :], identity="", name="weak"))
        w.insert_many("abcdefghijklm")
        w.query()

        def policy(total, old):
            nonlocal broken
            broken = len(old) > 3
            return len(old) < 9

        with pytest.raises(ZeroDivisionError):
            w.enforce(policy)
        broken = False
        assert (len(w), w.query()) == (13, "abcdefghijklm"), name
        w.check_invariants()


USES = {
    "insert": lambda w: w.insert("z"),
    "insert_many": lambda w: w.insert_many(["y", "z"]),
    "evict": lambda w: w.evict(),
    "evict_many": lambda w: w.evict_many(2),
    "query": lambda w: w.query(),
    "enforce": lambda w: w.enforce(lambda total, old: True),
    "slide": lambda w: w.slide(["z"], 3),
    "slide_between": lambda w: w.slide_between(["z"], [0], [1]),
    "snapshot": lambda w: w.snapshot(),
}
#: what single algorithms have beyond
MORE = {
    "evict_to": lambda w: w.evict_to(3),
    "query_range": lambda w: w.query_range(2, 4) if isinstance(w, swag.FiBA) else w.query_range(2),
    "query_many": lambda w: w.query_many([1, 2]),
    "evict_at": lambda w: w.evict_at(2),
    "compact": lambda w: w.compact(),
    "update": lambda w: w.update({1: "z"}),
    "prefix": lambda w: w.prefix(2),
    "range": lambda w: w.range(2, 3),
}


@over_all
def test_the_window_is_out_of_reach(name):
    probe = MAKERS[name](words())
    for use, act in (USES | {use: act for use, act in MORE.items() if hasattr(probe, use)}).items():
        w = MAKERS[name](words())
        w.insert_many("abcdefgh")
        with pytest.raises(WindrowError, match="a policy cannot use the window"):
            w.enforce(lambda total, old, w=w, act=act: len(old) < 3 or act(w) is None)

        def careful(total, old, w=w, act=act):
            with pytest.raises(WindrowError, match="a policy cannot use the window"):
                act(w)
            return len(old) <= 4

        assert w.enforce(careful) == 4, use
        w.insert("i")
        assert w.query() == "efghi", use
        w.check_invariants()


@pytest.mark.parametrize("name", REFUSE)
def test_refused_where_rows_are_not_kept(name):
    w = swag.ALGORITHMS[name](words())
    for rows in ("", "abc"):
        w.insert_many(rows)
        with pytest.raises(Unsupported, match=REFUSE[name]):
            w.enforce(lambda total, old: True)
        assert (w.query() or "") == rows


def test_fiba_by_time():
    """The oldest are those of the least times, whenever they came; in a tree of several levels."""
    rnd, w = random.Random(7), swag.FiBA(words(), mu=2)
    times = rnd.sample(range(1000), 300)
    w.insert_many([f"{t:03}" for t in times], times=times)
    left = sorted(times)
    for keep in (299, 290, 211, 210, 50, 3, 0):
        w.enforce(lambda total, old, keep=keep: len(total) - len(old) >= 3 * keep)
        left = left[len(left) - keep :]
        assert (w.query() or "") == "".join(f"{t:03}" for t in left)
        w.check_invariants()


def test_reactive_aggregator_with_holes():
    w, rows = swag.ReactiveAggregator(words()), list("abcdefghijklm")
    w.insert_many(rows)
    for k in (5, 2, 2, 1):
        w.evict_at(k)
        del rows[k]
    assert w.enforce(lambda total, old: "g" not in old) == 2
    assert w.query() == "".join(rows[2:])
    w.check_invariants()


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("amta", "log_mta", "fiba")])
def test_amortised(name):
    """One partial and one question more than rows that go, however many are held."""
    read = []
    for size in (64, 4096):
        w, asked = MAKERS[name](words()), []
        w.insert_many("a" * size)
        w.evict()
        w.enforce(lambda total, old, asked=asked: asked.append(old) is None and len(old) <= 5)
        assert len(asked) == 6 and len(w) == size - 6
        read.append(asked)
    assert read[0] == read[1]
