"""Compiled kernels: kept across processes under a name that says what they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import windrow
from windrow import agg, swag
from windrow.engine import batch
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.kernel import cached, whole

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


#: prints how a kernel answers for each factor; `fibonacci` is too long to become a part of `run`
TWO_FUNCTIONS = """
import sys, numba
from windrow.engine.kernel import cached, whole

def kernel(factor):
    @numba.njit
    def fibonacci(n):
        if n > 30:
            raise ValueError("too large")
        return n * factor if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def run(n):
        return fibonacci(n)

    return cached(whole("numpy")(run)).dispatcher

for factor in sys.argv[1:]:
    made = kernel(int(factor))
    print(made(10), sum(made.stats.cache_hits.values()))
"""


def test_kernels_of_two_processes_keep_their_own_functions(tmp_path: Path) -> None:
    """Both processes compile a function of the same name and signature, each as its second one."""

    def ask(*factors: int) -> list[str]:
        command = [sys.executable, "-c", TWO_FUNCTIONS, *map(str, factors)]
        environment = {**os.environ, "WINDROW_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split("\n")

    assert ask(1)[0] == "55 0"
    assert ask(2)[0] == "110 0"
    assert ask(1, 2, 3)[:3] == ["55 1", "110 1", "165 0"]
    assert ask(3, 2, 1)[:3] == ["165 1", "110 1", "55 1"]


def test_forked_processes_number_their_functions_apart() -> None:
    program = (
        "import os, windrow.engine.compiler\n"
        "from numba.core.bytecode import FunctionIdentity\n"
        "if os.fork(): os.wait()\n"
        "print(next(FunctionIdentity._unique_ids), flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    one, other = map(int, done.stdout.split())
    assert abs(one - other) > 1_000_000


def test_code_of_another_signature_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))

    def fresh():
        def halved(x):
            return x / 2

        return cached(whole("numpy")(halved)).dispatcher

    assert fresh()(3) == 1.5
    (code,) = tmp_path.iterdir()
    for_ints = code.read_bytes()
    assert fresh()(3.0) == 1.5
    (other,) = set(tmp_path.iterdir()) - {code}
    other.write_bytes(for_ints)
    again = fresh()
    assert again(3.0) == 1.5
    assert not sum(again.stats.cache_hits.values())


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


def test_fingerprints_tell_how_a_function_is_compiled() -> None:
    def ratio(a, b):
        return a // b

    raises, goes_on = numba.njit(error_model="python")(ratio), numba.njit(error_model="numpy")(ratio)
    assert raises(4, 2) == goes_on(4, 2)
    assert fingerprint(raises) == fingerprint(numba.njit(error_model="python")(ratio)) != fingerprint(goes_on)
    assert fingerprint(lambda: raises(1, 0)) != fingerprint(lambda: goes_on(1, 0))


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
