"""Compiled kernels: kept across processes under a name that says what they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow
from windrow import agg, swag
from windrow.engine import batch
from windrow.engine.fingerprint import Unhashable, fingerprint

UNKNOWN = object()
PROGRAM = """
import sys, numpy as np, windrow
from windrow import agg, swag
from windrow.engine import compiler
compiled = []
from numba.core import event
class Listener(event.Listener):
    def on_start(self, e): compiled.append(e.data["dispatcher"].py_func.__name__)
    def on_end(self, e): pass
with event.install_listener("numba:compile", Listener()):
    print({expression})
print(len(compiled))
"""


def run(expression: str, cache: Path | str) -> tuple[str, int]:
    environment = {**os.environ, "WINDROW_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(expression=expression)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer, compiled = done.stdout.strip().splitlines()
    return answer, int(compiled)


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    rows = "np.array([1.0, 3.0, 2.0, 0.5])"
    wanted = {
        f"swag.DABA(agg.max()).slide({rows}, 2).tolist()": "[1.0, 3.0, 3.0, 2.0]",
        f"swag.TwoStacksLite(agg.sum()).slide({rows}, 2).tolist()": "[1.0, 4.0, 5.0, 2.5]",
    }
    for expression, right in wanted.items():
        answer, first = run(expression, tmp_path)
        assert answer == right
        assert first > 0
        assert run(expression, tmp_path) == (answer, 0)


def test_one_kernel_is_never_taken_for_another(tmp_path: Path) -> None:
    """The same lines of source with another combine, another constant, another global: other kernels."""
    template = (
        "swag.DABA(windrow.Aggregate(lift=lambda x: x{lift}, combine=lambda a, b: {combine}, identity={identity}))"
        ".slide(np.array([1.0, 3.0, 2.0]), 2).tolist()"
    )
    wanted = {
        ("", "a + b", "0.0"): "[1.0, 4.0, 5.0]",
        ("", "a * b", "1.0"): "[1.0, 3.0, 6.0]",
        (" + 1", "a * b", "1.0"): "[2.0, 8.0, 12.0]",
        ("", "max(a, b)", "-1e9"): "[1.0, 3.0, 3.0]",
        ("", "min(a, b)", "1e9"): "[1.0, 1.0, 2.0]",
    }
    for (lift, combine, identity), answer in wanted.items():
        expression = template.format(lift=lift, combine=combine, identity=identity)
        assert run(expression, tmp_path)[0] == answer


def test_damaged_files_are_compiled_again(tmp_path: Path) -> None:
    expression = "swag.TwoStacks(agg.count()).slide(np.array([1.0, 3.0]), 2).tolist()"
    run(expression, tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:40])
    assert run(expression, tmp_path)[0] == "[1, 2]"


def test_without_a_cache() -> None:
    answer, compiled = run("swag.TwoStacks(agg.count()).slide(np.array([1.0]), 2).tolist()", "")
    assert (answer, compiled > 0) == ("[1]", True)


def test_fingerprints_follow_functions() -> None:
    def maker(k: int):
        def inner(x):
            return x + k

        return lambda x: inner(x)

    assert fingerprint(maker(1)) == fingerprint(maker(1)) != fingerprint(maker(2))
    with pytest.raises(Unhashable):
        fingerprint(lambda x, y=UNKNOWN: x)


def test_a_users_aggregate_compiles_or_runs_plain() -> None:
    cases = [
        (windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0.0), True, [1.5, 4.0, 4.5]),
        (windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=0), True, [1.5, 4.0, 4.5]),  # ints widen
        (
            windrow.Aggregate(lambda x: (x, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda p: p[0] / p[1], (0, 0)),
            True,
            [1.5, 2.0, 2.25],
        ),
        (windrow.Aggregate(lambda x: [x], lambda a, b: a + b, identity=[]), False, [[1.5], [1.5, 2.5], [2.5, 2.0]]),
        # what numba cannot do runs in plain Python, with the same answers
        (windrow.Aggregate(lambda x: float(f"{x}"), lambda a, b: a + b, identity=0.0), False, [1.5, 4.0, 4.5]),
    ]
    for aggregate, compiled, answers in cases:
        for algorithm in (swag.TwoStacksLite, swag.DABALite):
            window = algorithm(aggregate)
            assert window.slide(np.array([1.5, 2.5, 2.0]), 2).tolist() == answers
            assert window.form.compiled is compiled


def test_a_users_division_by_zero_raises_and_names_the_row() -> None:
    vwap = windrow.Aggregate(
        lift=lambda price, volume: (price * volume, volume),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: s[0] / s[1],
        identity=(0.0, 0.0),
    )
    for algorithm in (swag.TwoStacksLite, swag.DABA):
        window = algorithm(vwap)
        assert window.slide(([10.0, 20.0], [1.0, 3.0]), 2).tolist() == [10.0, 17.5]
        with pytest.raises(ZeroDivisionError) as caught:
            window.slide(([1.0, 1.0, 1.0], [1.0, 0.0, 0.0]), 2)
        assert "window of row 2" in caught.value.__notes__[0]
        assert window.query() == 17.5


def test_lawless_aggregates_are_refused() -> None:
    from windrow.errors import LawError

    minus = windrow.Aggregate(lambda x: x, lambda a, b: a - b, identity=0)
    with pytest.raises(LawError, match="not associative"):
        swag.DABA(minus).slide([1, 2, 3], 2)
    window = swag.DABA(minus)
    with pytest.raises(LawError):
        window.insert_many([1, 2, 3])
    assert len(window) == 0
    wrong = windrow.Aggregate(lambda x: x, lambda a, b: a + b, identity=1)
    with pytest.raises(LawError, match="identity=1"):
        swag.TwoStacks(wrong).slide([1, 2, 3], 2)

    def greedy(a: list, b: list) -> list:
        a.extend(b)
        return a

    with pytest.raises(LawError, match="changes its arguments"):
        swag.TwoStacks(windrow.Aggregate(lambda x: [x], greedy, identity=[])).slide([1, 2, 3], 2)


def test_a_form_is_not_shared_where_nulls_mean_something_else() -> None:
    rows = [None, 3, None]
    for order in ((True, False), (False, True)):
        for skips in order:
            answers = swag.DABA(agg.first(ignorenulls=skips)).slide(rows, 2).tolist()
            assert answers == ([None, 3, 3] if skips else [None, None, 3])


def test_forms_are_made_once() -> None:
    window, other = swag.DABA(agg.max()), swag.DABA(agg.max())
    for one in (window, other):
        one.slide([1.0, 2.0], 2)
    assert window.form is other.form
    assert batch.form_for(agg.max(), ("float64",), (False,)) is window.form
    assert batch.form_for(agg.min(), ("float64",), (False,)) is not window.form
