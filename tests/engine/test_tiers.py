"""Few rows run plain, many compiled, with the same answers to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

import windrow
from tests.aggregates.test_compiled import CASES
from windrow import agg, win
from windrow.engine import background, compiler, kernel  # numba is there: to import it would count, too
from windrow.engine.kernel import cached, compiling, whole

WINDOWS = {"sliding": win.sliding("5 seconds", every="2 seconds"), "trailing": win.trailing("5 seconds")}
TWO = ("weighted_mean", "corr", "covar_samp", "regr_slope", "max_by", "min_by")  # of two columns


def every_aggregate() -> dict[str, windrow.Aggregate]:
    """All that compile, over floats with NaN and inf, and over ints where that is another kernel."""
    found = {}
    for name, kinds in CASES:
        make = getattr(agg, name)
        columns = ("x", "y") if name in TWO else ("b",) if name.startswith("bool") else ("x",)
        found[name] = make(*columns)
        if ("int64",) in kinds:
            found[f"{name}_of_ints"] = make("y")
    return found


def pushes(seed: int) -> list[dict[str, np.ndarray]]:
    rnd = np.random.default_rng(seed)
    found = []
    for step in range(8):
        n = int(rnd.integers(1, 12))
        x = rnd.normal(size=n).round(2) * 10.0 ** rnd.integers(-3, 4, n)
        x[rnd.random(n) < 0.1] = rnd.choice([np.nan, np.inf, -np.inf, -0.0])
        found.append(
            {
                "t": np.sort(rnd.integers(0, 4_000_000, n)) + 4_000_000 * step,
                "k": rnd.integers(0, 3, n),
                "x": x,
                "y": rnd.integers(-50, 50, n),
                "b": rnd.random(n) < 0.5,
            }
        )
    return found


#: of each sort one, for the usual run of the tests: 40 kernels take a minute to compile
SOME = ("sum", "sum_of_ints", "variance", "corr", "max_by", "longest_increasing_run")


def answers(window: str, modes: list[str], names: Collection[str]) -> list[dict[str, np.ndarray]]:
    """What a live query gives that runs each push in another mode."""
    aggregates = {name: of for name, of in every_aggregate().items() if name in names}
    query = windrow.Query(time="t", by="k", windows=WINDOWS[window], aggregates=aggregates)
    live = query.open()
    found = []
    for rows, mode in zip(pushes(3), modes, strict=True):
        query.compile = kernel.checked_mode(mode)
        found.append(live.push(rows))
    return [*found, live.close()]


def same_bits(one: list[dict[str, np.ndarray]], other: list[dict[str, np.ndarray]]) -> None:
    for a, b in zip(one, other, strict=True):
        assert list(a) == list(b)
        for name in a:
            left, right = np.ma.getdata(a[name]), np.ma.getdata(b[name])
            assert left.dtype == right.dtype, name
            assert np.array_equal(np.ma.getmaskarray(a[name]), np.ma.getmaskarray(b[name])), name
            if left.dtype.kind == "f":
                assert np.array_equal(left, right, equal_nan=True), name
                there = ~np.isnan(left)
                assert np.array_equal(np.signbit(left[there]), np.signbit(right[there])), name
            else:
                assert repr(left.tolist()) == repr(right.tolist()), name


def check_switching(window: str, names: Collection[str]) -> None:
    plain = answers(window, ["never"] * 8, names)
    same_bits(plain, answers(window, ["always"] * 8, names))
    same_bits(plain, answers(window, ["never"] * 4 + ["always"] * 4, names))
    same_bits(plain, answers(window, ["always", "never"] * 4, names))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_query_that_switches_gives_the_same_bits(window: str) -> None:
    check_switching(window, SOME)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_switching_with_every_aggregate(window: str) -> None:
    check_switching(window, every_aggregate())


FIRST = """
import sys
import numpy as np
import windrow
from windrow import agg, win
assert not {"numba", "pandas", "pyarrow", "polars", "pyspark"} & set(sys.modules), "import windrow is not light"
rows = {"t": np.arange(10) * 1_000_000, "k": list("abababcabc"), "x": np.arange(10.0), "w": list("abcdefghij")}
queries = [
    windrow.Query(time="t", windows=win.sliding("4 seconds", every="2 seconds"), aggregates={"m": agg.max("x")}),
    windrow.Query(time="t", by="k", windows=win.sliding("4 seconds", every="2 seconds"),
                  aggregates={"m": agg.max("x"), "c": agg.max_count("x"), "b": agg.max_by("w", "x")}),
    windrow.Query(time="t", by="k", windows=win.trailing("4 seconds"),
                  aggregates={"s": agg.sum("x"), "n": agg.count(), "m": agg.max("x")}),
    windrow.Query(time="t", by="k", windows={"a": win.trailing("4 seconds"), "b": win.trailing(3)},
                  aggregates={"s": agg.sum("x"), "n": agg.count(), "m": agg.mean("x"), "d": agg.stddev("x")}),
    windrow.Query(time="t", by="k", windows=win.session("2 seconds"), aggregates={"s": agg.sum("x")}),
    windrow.Query(time="t", windows=win.tumbling(3), aggregates={"s": agg.sum("x"), "l": agg.last("w")}),
    windrow.Query(time="t", windows=win.policy(lambda total, old: total.n > 3, over={"n": agg.count()}),
                  aggregates={"s": agg.sum("x")}),
    windrow.Query(time="t", windows=win.tumbling(3), aggregates={
        "own": windrow.Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity=0.0, returns="float64")("x")}),
]
for query in queries:
    query.run(rows)
for query in queries[:-1]:  # to know the types of a user's own partials takes the compiler
    live = query.open()
    live.push(rows)
    live.close()
print("numba" in sys.modules)
"""


def test_few_rows_need_no_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "WINDROW_COMPILE": "auto", "WINDROW_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def total(values):
    found = 0.0
    for i in range(len(values)):
        found += values[i]
    return found


def test_a_call_over_many_rows_waits_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    made = cached(whole("numpy")(total))
    made(np.ones(10))
    assert not made.ready
    made(np.ones(int(1 + kernel.COMPILING / made.per_entry)))
    assert made.ready


def test_many_calls_compile_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    monkeypatch.setenv("WINDROW_CACHE_DIR", "")
    made = cached(whole("numpy")(total))
    made.spent = kernel.COMPILING
    assert made(np.ones(10)) == 10.0
    assert made.queued
    background.wait()
    assert made.ready
    assert made(np.ones(10)) == 10.0


def test_a_first_call_does_not_compile_beside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two would share the interpreter. A kernel that is called again is compiled long before it is paid for."""
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    monkeypatch.setenv("WINDROW_CACHE_DIR", "")
    made = cached(whole("numpy")(total))
    made.per_entry = 0.9 * kernel.COMPILING / 1001
    made(np.ones(1000))
    assert not made.queued and not made.ready
    made.spent = 0.3 * kernel.COMPILING
    made(np.ones(1000))
    assert made.queued


def test_a_slow_machine_compiles_slowly_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    spent = []
    for times_as_slow in (1.0, 1e6):
        monkeypatch.setattr(kernel, "pace", lambda times=times_as_slow: times)
        made = cached(whole("numpy")(total))
        made(np.ones(1000))
        spent.append((made.spent, made.per_entry))
    assert spent[1][0] < spent[0][0] and spent[1][1] < spent[0][1]
    monkeypatch.undo()
    assert 0 < kernel.pace() <= 10


def test_what_is_on_disk_is_loaded_early(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    first = cached(whole("numpy")(total))
    compiling("always", first, np.ones(3))
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    again = cached(whole("numpy")(total))
    again.spent = kernel.LOADING
    again(np.ones(3))
    assert again.ready and sum(again.dispatcher.stats.cache_hits.values()) == 1


def test_the_disk_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To know a kernel's name on disk takes a fingerprint of all that it consists of."""
    asked: list[tuple] = []
    monkeypatch.setenv("WINDROW_COMPILE", "auto")
    monkeypatch.setattr(compiler, "on_disk", lambda made, arguments: bool(asked.append(arguments)))
    made = cached(whole("numpy")(total))
    made.spent = kernel.LOADING
    for _ in range(5):
        assert made(np.ones(3)) == 3.0
    assert len(asked) == 1 and not made.ready


def test_never_means_never() -> None:
    made = cached(whole("numpy")(total))
    compiling("always", made, np.ones(3))
    calls: list[int] = []
    made.py_func = lambda values: calls.append(len(values))
    compiling("never", made, np.ones(3))
    assert calls == [3]
    assert made(np.ones(3)) == 3.0


def test_a_wrong_mode_is_refused() -> None:
    with pytest.raises(windrow.errors.WindrowError, match="'auto', 'always' or 'never', not 'fast'"):
        windrow.Query(windows=win.tumbling(3), aggregates={"n": agg.count()}, compile="fast")


def test_a_person_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from windrow.engine import compiler

    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    compiler._watch.seconds, compiler._watch.kernels = 2.34, 5
    kernel.tell_a_person()
    kernel.tell_a_person()
    assert capsys.readouterr().err.startswith("windrow compiled 5 kernels in 2.3 s.")
    compiler._watch.seconds = 2.0
    monkeypatch.setenv("WINDROW_QUIET", "1")
    kernel.tell_a_person()
    assert capsys.readouterr().err == ""
