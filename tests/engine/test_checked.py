"""Users' code gives the same answers and errors compiled as plain: ints that grow, numbers out of a domain."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import windrow
from windrow import agg, swag, win
from windrow.engine import policy_state, row_functions, row_kernels, user_windows
from windrow.engine.inputs import read_columns
from windrow.engine.kernel import whole

LOWEST, HIGHEST, NAN, INF = -(2**63), 2**63 - 1, math.nan, math.inf
#: a function, and arguments for which numba alone gives another answer than Python, or none where Python raises
CASES: dict[str, tuple[Any, list[tuple]]] = {
    "add": (lambda a, b: a + b, [(HIGHEST, 1), (LOWEST, -1), (2**62, 2**62)]),
    "subtract": (lambda a, b: a - b, [(LOWEST, 1), (HIGHEST, -1)]),
    "multiply": (lambda a, b: a * b, [(2**32, 2**31), (LOWEST, -1)]),
    "power": (lambda a, b: a**b, [(3, 40), (2, 63), (2, -1), (-2, 65)]),
    "square": (lambda a: a**2, [(2**32,)]),
    "inverse": (lambda a: a**-1, [(2,), (0,)]),
    "inverse of a float": (lambda a: a**-1, [(0.0,)]),
    "power of floats": (lambda a, b: a**b, [(0.0, -1.0), (-8.0, 0.5), (1e200, 2.0)]),
    "float to an int's power": (lambda a, b: a**b, [(1e200, 2), (0.0, -1)]),
    "shift": (lambda a, b: a << b, [(1, 63), (1, 64), (1, -1), (3, 62)]),
    "shift back": (lambda a, b: a >> b, [(1, -1), (-1, 64)]),
    "negative": (lambda a: -a, [(LOWEST,)]),
    "absolute": (lambda a: abs(a), [(LOWEST,)]),
    "quotient": (lambda a, b: a // b, [(LOWEST, -1), (1, 0)]),
    "remainder": (lambda a, b: a % b, [(1, 0)]),
    "ratio": (lambda a, b: a / b, [(1, 0), (1.0, 0.0)]),
    "sum": (lambda a: sum((a, a)), [(2**62,)]),
    "int": (lambda a: int(a), [(1e19,), (NAN,), (INF,), (-1e19,)]),
    "floor": (lambda a: math.floor(a), [(NAN,), (1e300,)]),
    "ceil": (lambda a: math.ceil(a), [(INF,)]),
    "round": (lambda a: round(a), [(NAN,), (1e30,)]),
    "sqrt": (lambda a: math.sqrt(a), [(-1.0,), (-1,)]),
    "log": (lambda a: math.log(a), [(0.0,), (-1.0,), (0,)]),
    "exp": (lambda a: math.exp(a), [(1000.0,), (1000,)]),
    "acos": (lambda a: math.acos(a), [(2.0,)]),
    "sin": (lambda a: math.sin(a), [(INF,)]),
    "math.pow": (lambda a, b: math.pow(a, b), [(0.0, -1.0), (1e300, 2.0)]),
}
#: what both can do
SAME: list[tuple[Any, list[tuple]]] = [
    (lambda a, b: a + b, [(2**62, 2**62 - 1), (LOWEST, 5)]),
    (lambda a, b: a * b, [(2**31, 2**31), (-(2**32), 2**31)]),
    (lambda a, b: a**b, [(3, 39), (2, 62), (-2, 63), (7, 0), (0, 0), (1, 10**6)]),
    (lambda a: a**2, [(2**31,), (-5,), (2.5,)]),
    (lambda a, b: a << b, [(1, 62), (-1, 62), (-5, 3)]),
    (lambda a, b: a >> b, [(-5, 63), (5, 1)]),
    (lambda a, b: a // b, [(LOWEST, 1), (-7, 2), (-7.5, 2.0), (1e300, 1.0), (INF, 3.0)]),
    (lambda a, b: a % b, [(-7, 3), (-7.5, 2.0), (LOWEST, -1)]),
    (lambda a: int(a), [(-3.7,), (9e18,), (True,), (-(2.0**63),)]),
    (lambda a: round(a), [(2.5,), (-0.5,)]),
    (lambda a: math.floor(a), [(-3.5,)]),
    (lambda a: math.sqrt(a), [(4,), (INF,), (NAN,)]),
    (lambda a: math.exp(a), [(-1e9,), (INF,), (2,)]),
    (lambda a: a * 3.0, [(1e308,), (NAN,)]),
]


@pytest.mark.parametrize("name", CASES)
def test_what_numba_would_get_wrong_raises(name: str) -> None:
    function, all_given = CASES[name]
    checked = whole("checked")(function).dispatcher
    for given in all_given:
        with pytest.raises(ArithmeticError if name in ("ratio", "remainder") else (ArithmeticError, ValueError)):
            checked(*given)


@pytest.mark.parametrize("number", range(len(SAME)))
def test_what_numba_gets_right_stays(number: int) -> None:
    function, all_given = SAME[number]
    checked = whole("checked")(function).dispatcher
    for given in all_given:
        wanted = function(*given)
        assert checked(*given) == wanted or (math.isnan(wanted) and math.isnan(checked(*given)))


def test_other_compiled_code_is_left_alone() -> None:
    assert numba.njit(lambda a, b: a + b)(HIGHEST, 1) == LOWEST
    assert math.isnan(numba.njit(lambda a: math.sqrt(a))(-1.0))


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can be compiled is."""
    monkeypatch.setattr(row_kernels, "COMPILE_AFTER", 0)
    monkeypatch.setattr(row_kernels, "SMALL", 0)
    monkeypatch.setattr(policy_state, "SMALL", 0)
    monkeypatch.setattr(policy_state, "worth_compiling", lambda key, rows: True)


def columns(**values: Any) -> dict:
    return {name: read_columns(column)[0] for name, column in values.items()}


def test_predicates_answer_as_in_python(many_rows: None) -> None:
    given = columns(x=[1, 2**40, -3, 2**62], f=[4.0, 0.5, 9.0, 1.0])
    for function in (
        lambda row: row.x * row.x > 10,
        lambda row: row.x + row.x > 10,
        lambda row: row.x**2 > 10,
        lambda row: int(row.f * 1e19) > 10**19,
    ):
        plain = row_functions.holds(function, given, None, 4, "plain")
        assert row_functions.holds(function, given, None, 4).tolist() == plain.tolist()
    with pytest.raises(ValueError, match="math domain error") as raised:
        row_functions.holds(lambda row: math.sqrt(row.x) > 1, given, None, 4)
    assert raised.value.__notes__ == ["in the predicate, at row 2"]


class Growing:
    """A window begins where a sum that grows beyond 64 bits is above 2**64."""

    total = 0

    def discretize(self, row):
        self.total += row.x * 4
        return int(self.total > 2**62), 0


class Growing64:
    total = 0

    def discretize(self, row):
        self.total += row.x * 4
        return int(self.total > 1000), 0


@pytest.mark.parametrize("made", [Growing, Growing64])
def test_window_classes_answer_as_in_python(made: type, many_rows: None) -> None:
    given, seg = columns(x=[1, 2**40, -3, 2**62, 2**62]), np.array([0, 5])
    plain = user_windows.discretize_rows(made, given, seg, [None], form="plain")
    ours = user_windows.discretize_rows(made, given, seg, [None])
    assert ours.begins.tolist() == plain.begins.tolist() and ours.ends.tolist() == plain.ends.tolist()
    assert ours.states == plain.states
    assert plain.states[0] is not None and plain.states[0]["total"] > 2**63


def test_policies_answer_as_in_python(many_rows: None) -> None:
    windows = win.policy(lambda total, old: (total.s - old.s) * 4 >= 2**63, over={"s": agg.sum("x")})
    query = windrow.Query(windows=windows, aggregates={"n": agg.count()})
    assert query.run({"x": [2**60, 2**60, 2**60, 2**60]})["n"].tolist() == [1, 2, 2, 2]


def test_aggregates_do_not_wrap() -> None:
    total = windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0)
    doubled = windrow.Aggregate(lambda x: x * 2, lambda a, b: max(a, b), identity=0)
    values = np.array([1, 2**62, 2**62, 2**62])
    for algorithm in (swag.TwoStacksLite, swag.DABA):
        with pytest.raises(OverflowError, match="window of row 2"):
            algorithm(total).slide(values, 2)
        assert algorithm(total).slide(values[:2], 2).tolist() == [1, 2**62 + 1]
    for aggregate in (total, doubled):
        for windows in (win.trailing(2), win.tumbling(2), win.sliding(4, every=2)):
            query = windrow.Query(windows=windows, aggregates={"a": aggregate("x")})
            with pytest.raises(OverflowError, match="window"):
                query.run({"x": values})
            live = query.open()
            live.push({"x": values[:1]})
            before = live.snapshot()
            with pytest.raises(OverflowError, match="window"):
                live.push({"x": values[1:]})
            assert live.snapshot() == before
