"""Slide policies over tables: both forms equal the definition, carried rows go on, errors name the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from windrow import agg, win
from windrow.aggregates.base import Aggregate
from windrow.engine import policy_state
from windrow.engine.inputs import Column, read_columns
from windrow.engine.policy_state import PolicyState
from windrow.engine.row_kernels import COMPILE_AFTER, SMALL
from windrow.errors import WindrowError


def policy_bounds(
    evict: Callable, over: Mapping[str, Aggregate], columns: Mapping[str, Column], seg: np.ndarray, fresh: np.ndarray,
    *, form: str = "auto",
) -> np.ndarray:  # fmt: skip
    """`Policy.first_rows`, in plain Python, or compiled whatever the number of rows is."""
    window = win.policy(evict, over)
    with pytest.MonkeyPatch.context() as patch:
        if form == "compiled":
            patch.setattr(policy_state, "SMALL", 0)
            patch.setattr(policy_state, "worth_compiling", lambda key, rows: True)
            patch.setattr(PolicyState, "_run_plain", None)
        elif form == "plain":
            patch.setattr(policy_state, "worth_compiling", lambda key, rows: False)
        return window.first_rows(columns, seg, fresh)


def table(**columns: Any) -> dict[str, Column]:
    return {name: read_columns(values)[0] for name, values in columns.items()}


def latest(values: list) -> Any:
    return max((v for v in values if v is not None), default=None)


def total_of(values: list) -> Any:
    there = [v for v in values if v is not None]
    return sum(there) if there else None


def longest_run(values: list) -> int:
    best = run = 1
    for a, b in pairwise(values):
        run = run + 1 if a < b else 1
        best = max(best, run)
    return best


# policy: evict, over, and for each field how a list of rows gives it
SIZE = (
    lambda total, old: total.n - old.n >= 3,
    {"n": agg.count()},
    {"n": lambda rows: len(rows)},
)
RANGE = (
    lambda total, old: total.newest - old.newest >= 10,
    {"newest": agg.max("ts")},
    {"newest": lambda rows: latest([r["ts"] for r in rows])},
)
AT_MOST_10 = (  # what would be left with the last row of `old` is too much still
    lambda total, old: total.s - old.s + old.oldest_left > 10,
    {"s": agg.sum("x"), "oldest_left": agg.last("x")},
    {"s": lambda rows: total_of([r["x"] for r in rows]), "oldest_left": lambda rows: rows[-1]["x"]},
)
BEFORE_THE_MAXIMUM = (
    lambda total, old: old.top < total.top,
    {"top": agg.max("x")},
    {"top": lambda rows: latest([r["x"] for r in rows])},
)
BEFORE_THE_LONGEST_RUN = (
    lambda total, old: old.run < total.run,
    {"run": agg.longest_increasing_run("x")},
    {"run": lambda rows: longest_run([r["x"] for r in rows])},
)
EVERYTHING = (lambda total, old: True, {"n": agg.count()}, {"n": len})
NOTHING = (lambda total, old: False, {"n": agg.count()}, {"n": len})
POLICIES = [SIZE, RANGE, AT_MOST_10, BEFORE_THE_MAXIMUM, BEFORE_THE_LONGEST_RUN, EVERYTHING, NOTHING]
NAMES = ["size", "range", "at_most_10", "maximum", "run", "everything", "nothing"]


def by_definition(evict: Any, facts: dict, rows: list[dict], seg: list[int], fresh: list[int]) -> list[int]:
    lows = []
    for k in range(len(seg) - 1):
        first = seg[k]
        for i in range(seg[k], seg[k + 1]):
            if i >= fresh[k]:
                window = rows[first : i + 1]
                total = SimpleNamespace(**{name: fact(window) for name, fact in facts.items()})
                gone = 0
                while gone < len(window):
                    old = SimpleNamespace(**{name: fact(window[: gone + 1]) for name, fact in facts.items()})
                    if not evict(total, old):
                        break
                    gone += 1
                first += gone
            lows.append(first)
    return lows


def stream(xs: list[int], steps: list[int]) -> tuple[dict[str, Column], list[dict]]:
    times = np.cumsum(steps).tolist()
    return table(x=xs, ts=times), [{"x": x, "ts": t} for x, t in zip(xs, times, strict=True)]


def test_sum_at_most_10_as_in_paper_4() -> None:
    evict, over, _ = AT_MOST_10
    columns = table(x=[2, 2, 3, 3, 4])
    for form in ("plain", "compiled"):
        assert policy_bounds(evict, over, columns, np.array([0, 5]), np.array([0]), form=form).tolist() == [
            0,
            0,
            0,
            0,
            2,
        ]


def test_four_time_units_as_in_paper_4_figure_2() -> None:
    columns = table(ts=[1, 2, 3, 4, 8])
    for form in ("plain", "compiled"):
        found = policy_bounds(
            lambda total, old: total.t - old.t >= 4,
            {"t": agg.max("ts")},
            columns,
            np.array([0, 5]),
            np.array([0]),
            form=form,
        )
        assert found.tolist() == [0, 0, 0, 0, 4]


@pytest.mark.parametrize(("evict", "over", "facts"), POLICIES, ids=NAMES)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=30), st.data())
def test_plain_equals_the_definition(evict: Any, over: Any, facts: Any, rows: list, data: Any) -> None:
    columns, listed = stream([x for x, _ in rows], [step for _, step in rows])
    cut = data.draw(st.integers(0, len(rows)))
    seg, fresh = [0, cut, len(rows)], [data.draw(st.integers(0, cut)), cut]
    found = policy_bounds(evict, over, columns, np.array(seg), np.array(fresh), form="plain")
    assert found.tolist() == by_definition(evict, facts, listed, seg, fresh)


@pytest.mark.parametrize(("evict", "over", "facts"), POLICIES, ids=NAMES)
def test_compiled_equals_plain(evict: Any, over: Any, facts: Any) -> None:
    random = np.random.default_rng(5)
    for n in (1, 2, 7, 60, 400):
        columns, _ = stream(random.integers(0, 7, n).tolist(), random.integers(0, 6, n).tolist())
        seg = np.sort(np.r_[0, random.integers(0, n + 1, 3), n])
        fresh = np.array([random.integers(a, z + 1) for a, z in pairwise(seg)])
        plain, compiled = (policy_bounds(evict, over, columns, seg, fresh, form=form) for form in ("plain", "compiled"))
        assert plain.dtype == compiled.dtype == np.int64
        assert plain.tolist() == compiled.tolist()


@pytest.mark.parametrize(("evict", "over", "facts"), POLICIES, ids=NAMES)
def test_carried_rows_go_on(evict: Any, over: Any, facts: Any) -> None:
    """Batches that begin with the rows still in the window give what one batch does."""
    random = np.random.default_rng(6)
    n = 80
    columns, _ = stream(random.integers(0, 7, n).tolist(), random.integers(0, 6, n).tolist())
    whole = policy_bounds(evict, over, columns, np.array([0, n]), np.array([0]), form="plain")
    first = 0
    for a, z, form in [(0, 1, "plain"), (1, 30, "compiled"), (30, 31, "plain"), (31, n, "compiled")]:
        cut = {name: Column(c.values[first:z], None, c.dtype) for name, c in columns.items()}
        lo = policy_bounds(evict, over, cut, np.array([0, z - first]), np.array([a - first]), form=form)
        assert (lo[a - first :] + first).tolist() == whole[a:z].tolist()
        first += int(lo[-1])


def test_nulls_are_none_and_counts_are_0() -> None:
    columns = table(x=[None, 3, None, None, 4, 1])
    over = {"top": agg.max("x"), "n": agg.count("x"), "rows": agg.count()}

    def evict(total, old):
        if old.top is None:
            return old.n == 0 and total.rows > 2
        return total.top is not None and old.top < total.top

    for form in ("plain", "compiled"):
        found = policy_bounds(evict, over, columns, np.array([0, 6]), np.array([0]), form=form)
        assert found.tolist() == [0, 0, 1, 1, 4, 4]


def test_an_order_of_rows_that_matters() -> None:
    """`old` and `total` are combined from the oldest to the newest, in whatever stack they lie."""
    columns = table(x=list("abacabad"))
    whole: list[tuple[str, str]] = []

    def evict(total, old):
        whole.append((total.text, old.text))
        return len(total.text) - len(old.text) >= 3

    found = policy_bounds(evict, {"text": agg.concat("x", sep="")}, columns, np.array([0, 8]), np.array([0]))
    assert found.tolist() == [0, 0, 0, 1, 2, 3, 4, 5]
    assert all(total.startswith(old) and total in "abacabad" for total, old in whole)


def test_times_are_microseconds_in_both_forms() -> None:
    columns = {"ts": read_columns(np.array([0, 30, 59, 60, 61], "M8[s]"))[0]}
    for form in ("plain", "compiled"):
        found = policy_bounds(
            lambda total, old: total.t - old.t >= 60_000_000, {"t": agg.max("ts")}, columns, np.array([0, 5]),
            np.array([0]), form=form,
        )  # fmt: skip
        assert found.tolist() == [0, 0, 0, 1, 1]


def test_it_costs_a_few_combines_a_row() -> None:
    calls = 0

    def combine(a, b):
        nonlocal calls
        calls += 1
        return a + b

    counted = windrow.Aggregate(lift=lambda x: 1, combine=combine, identity=None)
    for size in (10, 1000):
        calls = 0
        n = 5000
        policy_bounds(
            lambda total, old: total.n - old.n >= size, {"n": counted("x")}, table(x=np.zeros(n, int)),
            np.array([0, n]), np.array([0]), form="plain",
        )  # fmt: skip
        assert calls <= 8 * n


def test_a_users_aggregate_compiles_too() -> None:
    spread = windrow.Aggregate(
        lift=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), lower=lambda p: p[1] - p[0],
        identity=(2**62, -(2**62)),
    )  # fmt: skip
    columns = table(x=[5, 6, 1, 2, 9, 8, 4])
    found = [
        policy_bounds(
            lambda total, old: total.spread > 3 and old.spread <= 1, {"spread": spread("x")}, columns, np.array([0, 7]),
            np.array([0]), form=form,
        ).tolist()
        for form in ("plain", "compiled")
    ]  # fmt: skip
    assert found[0] == found[1] == [0, 0, 2, 2, 4, 4, 6]


def test_any_number_of_rows_leaves_in_a_few_calls() -> None:
    """Paper 4 §4.2.4: log2 n single evictions, then a search of log2 n levels."""
    calls = []

    def evict(total, old):
        calls.append(1)
        return total.newest - old.newest >= 1_000_000

    n = 100_000
    for form in (agg.max("ts"), agg.max("ts")("ts")):  # columns of numbers, or objects
        calls.clear()
        columns = table(ts=np.r_[np.arange(n), 5_000_000])
        found = policy_bounds(evict, {"newest": form}, columns, np.array([0, n + 1]), np.array([n]), form="plain")
        assert found[-1] == n
        assert 0 < len(calls) <= 100


@pytest.mark.parametrize("form", ["plain", "auto"])
def test_an_error_names_the_row(form: str) -> None:
    columns = table(x=np.r_[np.ones(SMALL, int), 0, 3])
    seg = np.array([0, SMALL + 2])
    evict = lambda total, old: 6 // total.last > 9
    n = COMPILE_AFTER
    over = {"last": agg.last("x")}
    policy_bounds(evict, over, table(x=np.ones(n, int)), np.array([0, n]), np.array([0]), form=form)
    with pytest.raises(ZeroDivisionError) as raised:
        policy_bounds(evict, over, columns, seg, np.array([0]), form=form)
    assert raised.value.__notes__ == [f"in the policy, at row {SMALL} of its key"]
    bad = windrow.Aggregate(lift=lambda x: 1 // x, combine=lambda a, b: a + b, identity=None)
    with pytest.raises(ZeroDivisionError) as raised:
        policy_bounds(evict, {"last": bad("x")}, columns, seg, np.array([0]), form=form)
    assert raised.value.__notes__ == [f"in the policy, at row {SMALL} of its key"]


def test_many_rows_are_compiled_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PolicyState, "_run_plain", None)
    n = COMPILE_AFTER
    evict, over, _ = SIZE
    assert policy_bounds(evict, over, {}, np.array([0, n]), np.array([0]))[-1] == n - 3


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(WindrowError, match="the policy's aggregates read 'y'; there are 'x'"):
        policy_bounds(SIZE[0], {"n": agg.max("y")}, table(x=[1]), np.array([0, 1]), np.array([0]))


def test_what_numba_raises_and_python_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """None == 3 is False. Compiled code raises there, so the rows go through once more, from the last that was sure."""
    monkeypatch.setattr(policy_state, "SMALL", 0)
    monkeypatch.setattr(policy_state, "worth_compiling", lambda key, rows: True)
    compiled: list[bool] = []
    run = PolicyState._run_compiled

    def watched(*given: Any) -> bool:
        compiled.append(run(*given))
        return compiled[-1]

    monkeypatch.setattr(PolicyState, "_run_compiled", watched)
    xs = [3] * 20_000 + [None, 3, 4, None, 3]
    window = win.policy(lambda total, old: old.newest == 3, over={"newest": agg.max("x")})
    first = window.first_rows(table(x=xs), np.array([0, len(xs)]), np.array([0]))
    assert compiled == [False]
    assert first[:20_000].tolist() == list(range(1, 20_001))
    assert first[20_000:].tolist() == [20_000] * 5


def test_no_rows() -> None:
    for form in ("plain", "compiled"):
        assert len(policy_bounds(SIZE[0], SIZE[1], {}, np.array([0]), np.array([], int), form=form)) == 0
        assert len(policy_bounds(SIZE[0], SIZE[1], {}, np.array([0, 0]), np.array([0]), form=form)) == 0
