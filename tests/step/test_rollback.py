"""A push that fails is as if it had not been: the snapshot before and after are the same bytes, for every kind."""

from __future__ import annotations

import random

import numpy as np
import pytest

import windrow
from tests.query.own_windows import Counted, LastRows, Quiet
from windrow import agg, win
from windrow.swag import ALGORITHMS

WINDOWS = {
    "sliding": win.sliding("50 seconds", every="7 seconds"),
    "tumbling rows": win.tumbling(5),
    "session": win.session("9 seconds"),
    "punctuated": win.punctuated("x < 20"),
    "landmark": win.landmark("x < 10", every="20 seconds"),
    "last": win.last(4, every="11 seconds"),
    "last by time": win.last("30 seconds", every=3),
    "last by column": win.last(25, every="11 seconds", on="x"),
    "last every so much": win.last("30 seconds", every=20, every_on="x"),
    "trailing rows": win.trailing(6),
    "trailing time": win.trailing("40 seconds"),
    "trailing left": win.trailing("40 seconds", closed="left"),
    "trailing shared": {"5": win.trailing(5), "6": win.trailing(6)},
    "trailing left shared": {t: win.trailing(f"{t} seconds", closed="left") for t in ("35", "40")},
    "user-defined": win.user_defined(Counted),
    "user-defined by time": win.user_defined(Quiet(9_000_000)),
    "user-defined by eviction": win.user_defined(LastRows(4, 11_000_000)),
}
#: both raise for a value of 666, the one compiled, the other in plain Python; neither is commutative
COMPILED = windrow.Aggregate(
    lift=lambda x: (1 + 0 // (x - 666), x, x),
    combine=lambda a, b: b if a[0] == 0 else (a if b[0] == 0 else (a[0] + b[0], a[1], b[2])),
    lower=lambda p: p[1] * 1000 + p[2],
    identity=(0, 0, 0),
    name="first and last",
)
PLAIN = windrow.Aggregate(
    lift=lambda x: [0 // (x - 666) + x],
    combine=lambda a, b: a + b,
    lower=lambda p: str(p),
    identity=[],
    name="all",
)


def rows(rnd: random.Random, begin: int, count: int, bad: bool) -> dict[str, np.ndarray]:
    times = np.sort(np.array([begin + rnd.randrange(20) for _ in range(count)])) * 1_000_000
    values = np.array([rnd.randrange(100) for _ in range(count)])
    if bad:
        values[rnd.randrange(count)] = 666
    return {"t": times, "ts": times, "k": np.array([rnd.randrange(3) for _ in range(count)]), "x": values}


@pytest.mark.parametrize("of", [COMPILED, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_push_that_fails_leaves_no_trace(name: str, of: windrow.Aggregate) -> None:
    rnd = random.Random(name)
    aggregates = {"a": agg.max("x"), "b": of("x"), "c": agg.last("x")}
    query = windrow.Query(time="t", by="k", windows=WINDOWS[name], aggregates=aggregates, lateness="5 seconds")
    live, clean = query.open(), query.open()
    failed = 0
    for step in range(25):
        batch = rows(rnd, 100 * step, rnd.randrange(1, 12), bad=False)
        if step:
            bad, later = rows(rnd, 100 * step + 20, 9, bad=True), rows(rnd, 100 * step + 60, 1, bad=False)
            bad = {column: np.concatenate([batch[column], bad[column], later[column]]) for column in batch}
            before = live.snapshot()
            try:
                live.push(bad)
            except ZeroDivisionError:
                failed += 1
                assert live.snapshot() == before
            else:  # no window has looked at that row
                clean.push(bad)
                continue
        ours, theirs = live.push(batch), clean.push(batch)
        for column in theirs:
            assert ours[column].tolist() == theirs[column].tolist(), column
    assert failed > 5
    ours, theirs = live.close(), clean.close()
    assert all(ours[column].tolist() == theirs[column].tolist() for column in theirs)


def test_due_keys_are_not_lost_where_a_step_is_interrupted_at_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the due keys were taken out, before anything else is known of the step."""
    aggregates = {"all": agg.concat("x", ",")}
    query = windrow.Query(time="t", by="k", windows=WINDOWS["sliding"], aggregates=aggregates)
    live, clean = query.open(), query.open()
    rnd = random.Random("due")
    for step in range(10):
        batch, later = rows(rnd, 100 * step, 6, bad=False), np.int64(1_000_000 * (100 * step + 60))
        for of in (live, clean):
            of.push(batch)
        before = live.snapshot()
        with monkeypatch.context() as patch:
            patch.setattr("windrow.step.step._runs", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                live.advance(int(later))
        assert live.snapshot() == before
        ours, theirs = live.advance(int(later)), clean.advance(int(later))
        assert len(theirs["k"]) > 3
        assert all(ours[column].tolist() == theirs[column].tolist() for column in theirs)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("subtract_on_evict", "fiba")])
@pytest.mark.parametrize("window", ["sliding", "trailing rows", "trailing left"])
def test_every_algorithm_steps_back(window: str, algorithm: str) -> None:
    """In plain Python; compiled, some are tried here, and all by the slow test below."""
    steps_back(window, algorithm, PLAIN)


@pytest.mark.parametrize(
    ("window", "algorithm"), [("sliding", "amta"), ("trailing rows", "daba_lite"), ("trailing left", "flat_fit")]
)
def test_compiled_algorithms_step_back(window: str, algorithm: str) -> None:
    """One with levels and a stack, one with pointers into its queue, one with links: what each logs is different."""
    steps_back(window, algorithm, COMPILED)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("subtract_on_evict", "fiba")])
@pytest.mark.parametrize("window", ["sliding", "trailing rows", "trailing left"])
def test_every_compiled_algorithm_steps_back(window: str, algorithm: str) -> None:
    steps_back(window, algorithm, COMPILED)


def steps_back(window: str, algorithm: str, of: windrow.Aggregate) -> None:
    rnd = random.Random(algorithm)
    query = windrow.Query(time="t", by="k", windows=WINDOWS[window], aggregates={"a": of("x")}, algorithm=algorithm)
    live, clean = query.open(), query.open()
    for step in range(40):
        batch = rows(rnd, 20 * step, rnd.randrange(1, 30), bad=False)
        if step % 3 == 1:
            bad = rows(rnd, 20 * step, 30, bad=True)
            before = live.snapshot()
            with pytest.raises(ZeroDivisionError):
                live.push(bad)
            assert live.snapshot() == before
        ours, theirs = live.push(batch), clean.push(batch)
        assert all(ours[column].tolist() == theirs[column].tolist() for column in theirs)


@pytest.mark.parametrize("part", ["step.state.State.schedule", "step.state.State.commit"])
def test_an_interrupt_while_a_step_is_committed_loses_nothing(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is over: its rows count, and its keys are due, though the interrupt has come before they were noted."""
    query = windrow.Query(time="t", by="k", windows=win.tumbling("10 s"), aggregates={"n": agg.count()})
    live = query.open()
    live.push({"t": np.array([1, 2]) * 1_000_000, "k": [1, 2]})

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"windrow.{part}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            live.push({"t": np.array([3, 4]) * 1_000_000, "k": [3, 1]})
    live.snapshot()  # a snapshot is of a step that is over
    ended = live.advance(20_000_000)
    assert sorted(zip(ended["k"].tolist(), ended["n"].tolist(), strict=True)) == [(1, 2), (2, 1), (3, 1)]
