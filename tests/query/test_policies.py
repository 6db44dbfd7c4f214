"""Policy windows of live queries: one engine, plain or compiled, that is all or nothing.

What is counted: 60 streams of several keys against a brute force, in pushes of any size, with policies and combines
that raise on the way, states saved and resumed, and both forms by turns.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.engine import policy_state
from windrow.engine.policy_state import PolicyState

FORMS = ["plain", "compiled"]


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """All steps in one form."""
    only(request.param, monkeypatch)
    return request.param


def only(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_state, "SMALL", 0 if form == "compiled" else sys.maxsize)
    monkeypatch.setattr(policy_state, "worth_compiling", lambda key, rows: form == "compiled")


class Broken(Exception):
    """What a policy or a combine raises."""


def joined(values: list[Any]) -> str:
    return "".join(str(value) for value in values if value is not None)


class Stream:
    """Rows of several keys by a brute force: lists of rows, every prefix tried."""

    def __init__(self, goes: Callable[[list[dict], int], bool]) -> None:
        self.windows: dict[str, list[dict]] = {}
        self.goes = goes

    def push(self, rows: list[dict]) -> list[str]:
        answers = []
        for row in rows:
            window = self.windows.setdefault(row["k"], [])
            window.append(row)
            gone = 0
            while gone < len(window) and self.goes(window, gone + 1):
                gone += 1
            del window[:gone]
            answers.append(joined([r["t"] for r in window]))
        return answers


#: evict, over, and the same by hand: (window, length of the oldest part) -> whether it goes
CASES: dict[str, tuple[Any, Any, Any]] = {
    "rows": (
        lambda total, old: total.n - old.n >= 5,
        {"n": agg.count()},
        lambda window, m: len(window) - m >= 5,
    ),
    "all or nothing": (
        lambda total, old: total.n >= 7,
        {"n": agg.count()},
        lambda window, m: len(window) >= 7,
    ),
    "values and nulls": (
        lambda total, old: total.there - old.there >= 3,
        {"there": agg.count("y"), "rows": agg.count()},
        lambda window, m: sum(r["y"] is not None for r in window[m:]) >= 3,
    ),
    "before the maximum": (
        lambda total, old: total.top is not None and (old.top is None or old.top < total.top),
        {"top": agg.max("y")},
        lambda window, m: (
            any(r["y"] is not None for r in window)
            and max((r["y"] for r in window[:m] if r["y"] is not None), default=-1)
            < max(r["y"] for r in window if r["y"] is not None)
        ),
    ),
    "not a number": (
        lambda total, old: total.sum != total.sum or total.n - old.n >= 6,
        {"sum": agg.sum("x"), "n": agg.count()},
        lambda window, m: any(r["x"] != r["x"] for r in window) or len(window) - m >= 6,
    ),
    "many at once": (
        lambda total, old: total.spent - old.spent >= 40 or total.spent >= 100,
        {"spent": agg.sum("z"), "top": agg.max("z")},
        lambda window, m: sum(r["z"] for r in window[m:]) >= 40 or sum(r["z"] for r in window) >= 100,
    ),
}


def rows_of(rng: random.Random, n: int) -> list[dict]:
    return [
        {
            "k": rng.choice("abc"),
            "t": rng.choice("uvwxyz"),
            "x": rng.choice([0.5, 1.5, float("nan"), 9.0]),
            "y": rng.choice([None, 1, 2, 3, 4]),
            "z": rng.randint(0, 9),
        }
        for _ in range(n)
    ]


#: columns of every type from the first push on
FIRST = [{"k": key, "t": "s", "x": 1.0, "y": 1, "z": 1} for key in "abc"]


def table(rows: list[dict]) -> dict[str, list]:
    return {name: [row[name] for row in rows] for name in FIRST[0]}


def query(name: str) -> windrow.Query:
    evict, over, _ = CASES[name]
    # the order of rows matters to the answer
    return windrow.Query(by="k", windows=win.policy(evict, over), aggregates={"word": agg.concat("t", sep="")})


def words(answer: Any) -> list[str]:
    return [word or "" for word in answer["word"].tolist()]


@pytest.mark.parametrize("name", CASES)
def test_a_stream_by_brute_force(name: str, form: str) -> None:
    for seed in range(3):
        rng = random.Random(f"policy {name} {seed}")
        live, brute = query(name).open(), Stream(CASES[name][2])
        for part in [FIRST] + [rows_of(rng, rng.choice([1, 2, 30])) for _ in range(12)]:
            assert words(live.push(table(part))) == brute.push(part)
        assert live.state is not None and live.state.walks["window"].compiled == (form == "compiled")


@pytest.mark.parametrize("name", CASES)
def test_both_forms_by_turns_and_states_saved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key's tree goes from objects to columns of numbers and back; a failed push leaves it where it was."""
    for seed in range(3):
        rng = random.Random(f"turns {name} {seed}")
        asked, brute = query(name), Stream(CASES[name][2])
        live = asked.open()
        for part in [FIRST] + [rows_of(rng, rng.choice([1, 5, 40])) for _ in range(14)]:
            only(rng.choice(FORMS), monkeypatch)
            if rng.random() < 0.5:
                state = live.state.walks["window"] if live.state is not None else None
                if state is not None and not rng.randrange(2):
                    state.compiled = False  # as after a snapshot: few rows are for plain Python
            if rng.random() < 0.4:
                live = asked.resume(live.snapshot())
            if rng.random() < 0.4 and live.state is not None:
                with monkeypatch.context() as patch:
                    patch.setattr("windrow.step.step._by_row", _broken)
                    with pytest.raises(Broken):
                        live.push(table(rows_of(rng, 20)))
            assert words(live.push(table(part))) == brute.push(part)


def _broken(state: Any, ring: Any, runs: Any, rows: Any, *_: Any) -> Any:
    for name in ring:
        state.plan.windows[name].bounds(state.walks[name], runs, rows)
    raise Broken


def test_a_policy_that_raises_leaves_all_as_it_was(form: str) -> None:
    rng = random.Random(7)

    def evict(total, old):
        return total.n - old.n >= 4 and 1 // (1 - total.bad) > 0  # a division by zero where a row is bad

    over = {"n": agg.count(), "bad": agg.sum("bad")}
    live = windrow.Query(windows=win.policy(evict, over), aggregates={"word": agg.concat("t", sep="")}).open()
    brute, failed, taken = Stream(lambda window, m: len(window) - m >= 4), 0, 0
    for i in range(25):
        part = [{"k": "k", "t": rng.choice("xyz")} for _ in range(rng.choice([1, 3, 20]) if i else 5)]
        bad = rng.randrange(len(part)) if i and rng.random() < 0.4 else None
        pushed = {"t": [r["t"] for r in part], "bad": [int(i == bad) for i in range(len(part))]}
        if bad is None:
            assert words(live.push(pushed)) == brute.push(part)
            taken += len(part)
            continue
        failed += 1
        before = live.snapshot()
        with pytest.raises(ZeroDivisionError) as raised:
            live.push(pushed)
        assert raised.value.__notes__ == [f"in the policy, at row {taken + bad} of its key"]
        assert live.snapshot() == before
    assert failed > 3
    assert live.state is not None and live.state.walks["window"].compiled == (form == "compiled")


def test_a_combine_that_raises_leaves_all_as_it_was() -> None:
    def combine(a, b):
        if b == "!":
            raise Broken
        return a + b

    text = windrow.Aggregate(lift=lambda t: t, combine=combine, identity=None)
    evict = lambda total, old: len(total.text) - len(old.text) >= 6
    live = windrow.Query(windows=win.policy(evict, {"text": text("t")}), aggregates={"n": agg.count()}).open()
    pushed = 0
    for i in range(40):
        if i % 3 == 2:
            before = live.snapshot()
            with pytest.raises(Broken) as raised:
                live.push({"t": list("abcdefgh!jk")})
            assert any("in the policy, at row" in note for note in raised.value.__notes__)
            assert live.snapshot() == before
        else:
            pushed += i % 4 + 1
            assert live.push({"t": ["x"] * (i % 4 + 1)})["n"].tolist()[-1] == min(pushed, 6)


def test_a_push_that_evicts_100_000_rows_asks_a_few_times() -> None:
    calls = []

    def evict(total, old):
        calls.append(1)
        return total.newest - old.newest >= 1_000_000

    windows = win.policy(evict, over={"newest": agg.max("ts")})
    live = windrow.Query(windows=windows, aggregates={"n": agg.count()}).open()
    live.push({"ts": np.arange(100_000)})
    calls.clear()
    assert live.push({"ts": [5_000_000]})["n"].tolist() == [1]
    assert len(calls) <= 100


LIMIT = 3
settings: Any = types.ModuleType("settings")


def test_globals_are_read_as_they_are(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 3
    settings.LIMIT = 3
    policies = {
        "global": lambda total, old: total.n - old.n >= LIMIT,
        "closure": lambda total, old: total.n - old.n >= limit,
        "module": lambda total, old: total.n - old.n >= settings.LIMIT,
    }
    for evict in policies.values():
        settings.LIMIT = limit = 3
        monkeypatch.setitem(globals(), "LIMIT", 3)
        windows = win.policy(evict, over={"n": agg.count()})
        live = windrow.Query(windows=windows, aggregates={"n": agg.count()}).open()
        assert live.push({"x": [0] * 6})["n"].tolist() == [1, 2, 3, 3, 3, 3]
        settings.LIMIT = limit = 2
        monkeypatch.setitem(globals(), "LIMIT", 2)
        assert live.push({"x": [0] * 2})["n"].tolist() == [2, 2]
        state = live.state.walks["window"]
        assert isinstance(state, PolicyState) and state.compiled == (form == "compiled")
