"""Every experiment at its smallest size. No time is asserted: what is asserted is that what was asked is in the CSV."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import (
    EXPERIMENTS,
    Experiment,
    Measure,
    Settings,
    child,
    machine,
    peers_child,
    results,
    run,
    streams,
    timing,
)
from benchmarks.base import AGREES
from windrow.errors import WindrowError

COLUMNS = {
    "throughput": {"aggregate", "window", "algorithm", "mrows", "rows", "repetition"},
    "latency": {"algorithm", "mean", "sigma", "p999", "max", "flips"},
    "combines": {"algorithm", "operation", "average", "worst"},
    "break-even": {"algorithm", "window", "seconds"},
    "coarse": {"m", "algorithm", "us_a_row", "combines_a_row"},
    "all-ranges": {"algorithm", "combines_a_slide", "slides_a_second"},
    "resizing": {"capacity", "us_a_row", "resizes"},
    "tumbling": {"algorithm", "us_a_firing"},
    "log-cost": {"window", "ns_a_row"},
    "memory": {"kind", "algorithm", "bytes"},
    "peers": {"kind", "library", "mrows"},
    "queries": {"case", "library", "rows", "seconds", "agrees"},
    "asking": {"days", "library", "seconds", "agrees"},
    "keys": {"keys", "mrows"},
    "pushes": {"case", "held", "rows", "micros"},
    "tables": {"case", "keys", "threads", "rows", "mrows"},
    "start-up": {"what", "seconds"},
    "compile-times": {"query", "aggregate", "kernels", "seconds"},
    "stream-state": {"range", "entries", "kilobytes", "ms"},
    "constant-size": {"kind", "window", "structure", "ns_a_row"},
    "bulk-eviction": {"evicted", "structure", "ms"},
    "analytics": {"aggregate", "structure", "ns_a_row"},
    "footprint": {"structure", "window", "resident_mb", "mrows_a_second"},
    "dimensions": {"dimensions", "windows", "ns_a_row"},
    "sharing": {"windows", "technique", "combines", "all", "partials", "most", "seconds"},
    "sessions": {"windows", "technique", "combines", "all", "partials", "most", "seconds"},
    "calls": {"library", "rows", "mrows", "agrees"},
    "windows": {"kind", "window", "form", "mrows", "between", "ms"},
    **{
        f"spark-{name}": {"case", "way", "us_a_row", "share"}
        for name in ("rows", "periodic", "udaf", "keys", "unkeyed", "stream")
    },
    "slices": {"range", "slide", "technique", "in_a_window", "most", "space"},
}


def marks(name):
    """Those on Spark run with the other tests on Spark; those that take long are behind the slow marker."""
    if not name.startswith("spark-"):
        return [pytest.mark.slow] if name in ("latency", "bulk-eviction") else []
    return [pytest.mark.spark] if name == "spark-rows" else [pytest.mark.spark, pytest.mark.slow]


NAMES = [pytest.param(name, marks=marks(name)) for name in EXPERIMENTS]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Each experiment is run once, when it is first asked for."""
    out, done = tmp_path_factory.mktemp("bench"), {}

    def outcome(name):
        if name not in done:
            done[name] = run(EXPERIMENTS[name], Settings("smoke", seed=7), out)
        return done[name]

    return outcome


@pytest.mark.parametrize("name", NAMES)
def test_csv_and_picture(outcomes, name):
    outcome = outcomes(name)
    rows = results.read_csv(outcome.csv)
    assert len(rows) == len(outcome.rows) > 0
    assert all(row["seed"] == 7 and row["cores"] >= 1 and row["cpu"] and row["memory_gb"] > 0 for row in rows)
    assert all(row["python"] and row["numpy"] and row["numba"] and row["windrow"] for row in rows)
    assert COLUMNS[name] <= {column for row in rows for column in row}
    assert outcome.png is not None
    assert outcome.png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_summary_and_notes(outcomes, name):
    outcome = outcomes(name)
    lines = results.summary(outcome.experiment.measure, outcome.rows)
    assert lines
    assert all(line["least"] <= line["median"] <= line["most"] for line in lines)
    assert results.table(outcome.experiment, outcome.rows).row_count == len(lines)
    baseline = outcome.experiment.measure.baseline
    at_baseline = [line for line in lines if baseline and line[outcome.experiment.measure.by[-1]] == baseline]
    assert all(line["ratio"] in (None, 1.0) for line in at_baseline)
    assert all("\n" not in note for note in outcome.notes)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_verdict_from_its_rows(outcomes, name):
    outcome = outcomes(name)
    rows = results.read_csv(outcome.csv)
    agrees, sentence = outcome.experiment.verdict(rows)
    assert outcome.verdict == (agrees, sentence)
    assert agrees in AGREES
    assert sentence.endswith("(smoke)")
    claims = outcome.experiment.claims(rows)
    assert claims
    assert all(claim.said and claim.found for claim in claims)


def test_combines_are_the_theorems(outcomes):
    worst = {(r["algorithm"], r["operation"]): r["worst"] for r in outcomes("combines").rows}
    assert all(worst["daba", operation] <= most for operation, most in (("insert", 3), ("evict", 2), ("query", 1)))
    n = 8
    [slide] = [
        r
        for r in outcomes("combines").rows
        if (r["algorithm"], r["operation"], r["window"]) == ("flat_fit", "slide", n)
    ]
    assert slide["average"] == pytest.approx(3 * (n - 1) / (n + 1))


def test_all_ranges_cost_what_the_paper_says(outcomes):
    counts = {r["algorithm"]: r["combines_a_slide"] for r in outcomes("all-ranges").rows}
    assert counts["flat_fit"] == 7
    assert counts["naive"] == 8 * 7 / 2


def test_resizing_did_resize(outcomes):
    rows = outcomes("resizing").rows
    assert all((r["resizes"] > 2) == (r["capacity"] == "oscillating") for r in rows)


def test_windrow_has_no_history(outcomes):
    tested = [r for r in outcomes("peers").rows if r["kind"] == "history" and r["library"] == "windrow"]
    assert tested
    assert all(r["passed"] for r in tested)
    checked = [r for r in outcomes("peers").rows if r["kind"] == "check"]
    assert checked
    assert all(r["agrees"] for r in checked)


def test_the_history_test_fails_who_should_fail():
    def running_sum(x):
        def ask(w):
            total, answers = 0.0, []
            for i, value in enumerate(x.tolist()):
                total += value - (x[i - w] if i >= w else 0.0)
                answers.append(total)
            return np.array(answers)

        return ask

    rows = peers_child.history({"naive": {"sum": running_sum}}, ["sum"])
    assert [r["passed"] for r in rows] == [False] * len(peers_child.POISONS)


def test_experiments_say_what_they_are():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert all((experiment.title, experiment.expected, experiment.paper, experiment.asked))
    assert set(COLUMNS) == set(EXPERIMENTS)


def test_ratios_are_taken_within_a_repetition():
    rows = [
        {"who": who, "repetition": i, "seconds": seconds}
        for who, taken in (("slow", (4.0, 40.0, 4.0)), ("fast", (2.0, 10.0, 1.0)))
        for i, seconds in enumerate(taken)
    ]
    slow, fast = results.summary(Measure(("who",), "seconds", "s", baseline="slow"), rows)
    assert (fast["median"], fast["least"], fast["most"], fast["ratio"]) == (2.0, 1.0, 10.0, 4.0)
    assert slow["ratio"] == 1.0
    [_, more] = results.summary(Measure(("who",), "seconds", "s", baseline="slow", less_is_better=False), rows)
    assert more["ratio"] == 0.25


def test_competitors_take_turns():
    order = []
    runs = {name: (lambda name=name: lambda: order.append(name)) for name in "ab"}
    assert [(name, i) for name, i, _ in timing.interleaved(runs, 2)] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert order == ["a", "b", "a", "b"]


def test_csv_goes_and_comes_back(tmp_path):
    rows = [{"a": 1, "b": 0.5, "c": "x, y", "d": True}, {"a": 2, "e": "n/4"}]
    results.write_csv(tmp_path / "t.csv", rows, {"seed": 3})
    assert results.read_csv(tmp_path / "t.csv") == [{"seed": 3, **row} for row in rows]


def test_a_missing_matplotlib_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    experiment = Experiment("e", "t", "p", "x", lambda s: [{"v": 1.0}], lambda r, f: None, Measure((), "v", "s"))
    outcome = run(experiment, Settings("smoke"), tmp_path)
    assert outcome.png is None
    assert ".[bench]" in outcome.hint
    assert outcome.csv.exists()


def test_a_child_that_fails_says_why():
    with pytest.raises(WindrowError, match="no such luck"):
        list(child.lines("raise SystemExit('no such luck')", None))
    assert list(child.lines("print('a library prints'); print([2])", None)) == [[2]]


def test_streams_repeat_and_have_their_shape():
    one, two = streams.debs(1000, seed=1), streams.debs(1000, seed=1)
    assert all((one[name] == two[name]).all() for name in one)
    assert (np.diff(one["ts"]) == 10_000).all()
    assert all((one[f"energy{i}"] > 0).all() and one[f"state{i}"].dtype == bool for i in (1, 2, 3))
    assert not (streams.energy(10, 1) == streams.energy(10, 2)).any()


def test_machine_facts():
    facts = machine.facts(("numpy", "no-such-package"))
    assert facts["peers"].startswith("numpy ")
    assert "no-such" not in facts["peers"]
    assert math.isfinite(facts["memory_gb"])
