"""State goes on only where the same is computed: by hand, in a store, in a live query."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, stores, win
from windrow.engine.identity import described, facts
from windrow.errors import SnapshotError
from windrow.swag import ALGORITHMS, AMTA


def own(combine: Any = lambda a, b: a + b, lift: Any = lambda x: x, identity: Any = 0, **options: Any) -> Any:
    return windrow.Aggregate(lift, combine, identity=identity, name="own", **options)


def adding(step: Any) -> Any:
    return own(lift=lambda x: x + step)


class Offset:
    def __init__(self, by: int) -> None:
        self.by = by

    def lift(self, x: int) -> int:
        return x + self.by


class Buffer:
    def __init__(self, start: int) -> None:
        self.start = start

    def zero(self) -> int:
        return self.start

    def reduce(self, buffer: int, x: int) -> int:
        return buffer + x

    def merge(self, a: int, b: int) -> int:
        return a + b

    def finish(self, buffer: int) -> int:
        return buffer


TABLE = {"weight": 2}


def by_table(x: int) -> int:
    return x * TABLE["weight"]


#: pairs that compute different things under one name
DIFFERENT = {
    "another combine": lambda: (own(), own(lambda a, b: a + b + 0)),
    "another constant": lambda: (own(lift=lambda x: x + 1), own(lift=lambda x: x + 2)),
    "another lift": lambda: (own(), own(lift=lambda x: 2 * x)),
    "another identity": lambda: (own(identity=0), own(identity=0.0)),
    "another closure": lambda: (adding(1), adding(2)),
    "another closure, a dict": lambda: (
        (lambda table: own(lift=lambda x: table[x]))({1: 2}),
        (lambda table: own(lift=lambda x: table[x]))({1: 3}),
    ),
    "another closure, an array": lambda: (
        (lambda weights: own(lift=lambda x: weights[0] * x))(np.array([1])),
        (lambda weights: own(lift=lambda x: weights[0] * x))(np.array([2])),
    ),
    "another object": lambda: (own(lift=Offset(1).lift), own(lift=Offset(2).lift)),
    "swapped parts": lambda: (agg.join(agg.sum(), agg.max()), agg.join(agg.max(), agg.sum())),
    "a part's option": lambda: (agg.join(agg.top_k(k=2), agg.max()), agg.join(agg.top_k(k=3), agg.max())),
    "a part's function": lambda: (agg.join(agg.sum(), adding(1)), agg.join(agg.sum(), adding(2))),
    "parts' names": lambda: (agg.join(a=agg.sum(), b=agg.max()), agg.join(b=agg.sum(), a=agg.max())),
    "another k": lambda: (agg.top_k(k=2), agg.top_k(k=3)),
    "another n": lambda: (agg.last_n(n=2), agg.last_n(n=3)),
    "another separator": lambda: (agg.concat(sep="a"), agg.concat(sep="b")),
    "other edges": lambda: (agg.histogram(edges=[0, 1, 2]), agg.histogram(edges=[0, 1, 3])),
    "another form": lambda: (agg.variance(), agg.variance(form="paper")),
    "another q": lambda: (agg.approx_percentile(q=0.5), agg.approx_percentile(q=0.25)),
}


def filled(window: Any) -> Any:
    window.insert_many([1, 1, 1])
    return window


@pytest.mark.parametrize("case", DIFFERENT)
@pytest.mark.parametrize("name", ["daba", "reactive_aggregator", "amta", "fiba"])
def test_resume_by_hand(name: str, case: str) -> None:
    before, other = DIFFERENT[case]()
    data = filled(ALGORITHMS[name](before)).snapshot()
    for one, another in ((before, other), (other, before)):
        data = filled(ALGORITHMS[name](one)).snapshot()
        with pytest.raises(SnapshotError, match=r"another|with"):
            ALGORITHMS[name].resume(another, data)
    again, _ = DIFFERENT[case]()
    assert ALGORITHMS[name].resume(again, filled(ALGORITHMS[name](before)).snapshot()).query() is not None


@pytest.mark.parametrize("case", DIFFERENT)
def test_open_in_a_store(case: str) -> None:
    before, other = DIFFERENT[case]()
    store = stores.memory()
    w = filled(AMTA(before, store=store))
    data = w.snapshot()
    for call in (lambda: AMTA.open(other, store), lambda: AMTA.resume(other, data, store=store)):
        with pytest.raises(SnapshotError, match=r"another|with"):
            call()
    w.insert(1)  # nobody has taken it over
    w.checkpoint()
    again, _ = DIFFERENT[case]()
    assert len(AMTA.open(again, store)) == 4


@pytest.mark.parametrize("case", [case for case in DIFFERENT if "part" not in case])
def test_resume_a_query(case: str) -> None:
    def query(of: Any) -> windrow.Query:
        return windrow.Query(windows=win.tumbling(5), aggregates={"a": of("x")})

    before, other = DIFFERENT[case]()
    live = query(before).open()
    live.push({"x": [1, 1, 1]})
    data = live.snapshot()
    with pytest.raises(SnapshotError):
        query(other).resume(data)
    query(DIFFERENT[case]()[0]).resume(data)


def test_adopted_aggregators() -> None:
    from windrow.aggregates.adopted import adopted

    assert facts(adopted(Buffer(0))) == facts(adopted(Buffer(0))) != facts(adopted(Buffer(1)))


def test_globals_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = facts(own(lift=by_table))
    monkeypatch.setitem(TABLE, "weight", 3)
    assert facts(own(lift=by_table)) != before


def test_functions_that_call_themselves_or_each_other() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert facts(own(lift=even)) == facts(own(lift=even)) != facts(own(lift=odd))


def test_a_user_s_dataclass_counts_by_its_methods() -> None:
    @dataclasses.dataclass
    class One:
        n: int = 1

        def discretize(self, row: Any) -> tuple[int, int]:
            return 1, 0

    first = facts(win.user_defined(One))

    @dataclasses.dataclass
    class One:  # type: ignore[no-redef]
        n: int = 1

        def discretize(self, row: Any) -> tuple[int, int]:
            return 1, 1

    assert facts(win.user_defined(One)) != first


def test_the_same_in_every_process() -> None:
    program = (
        "import windrow; from windrow import agg; from windrow.engine.identity import facts\n"
        "w = {'a', 'b', 'c'}\n"
        "own = windrow.Aggregate(lambda x: x in w, lambda a, b: a or b, identity=False)\n"
        "print(facts(own), facts(agg.join(agg.top_k(k=2), agg.max())), facts(agg.histogram(edges=[1, 2])))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_code_of_another_python_is_not_compared() -> None:
    """Options, parts and identity are, all the same."""
    mine, other = described(own()), described(own(lambda a, b: b + a))
    assert mine.refuses(other)
    assert mine.refuses(other._replace(python="3.99")) is None
    assert mine.refuses(described(own(identity=1))._replace(python="3.99"))
    k2, k3 = described(agg.top_k(k=2)), described(agg.top_k(k=3))
    assert k2.refuses(k3._replace(python="3.99"))
