"""`python -m benchmarks`: its options, exit codes, one line an error, and that it says what it should."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import EXPERIMENTS, Experiment, Measure, command
from benchmarks.app import main
from tests.docs.blocks import ROOT
from windrow.errors import WindrowError


@pytest.fixture
def said(capsys):
    """Runs a command line: (exit code, standard output, standard error)."""

    def run(*words):
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def tiny(name="tiny", fails=None):
    def run(settings):
        for _ in settings.track(range(2), name):
            pass
        if fails:
            raise fails
        return [{"who": who, "repetition": i, "seconds": s} for who, s in (("a", 1.0), ("b", 2.0)) for i in range(2)]

    def draw(rows, figure):
        figure.subplots().plot([row["seconds"] for row in rows])

    return Experiment(
        name, "a tiny one", "9 Tab. 9", "b is slower", run, draw, Measure(("who",), "seconds", "s", baseline="a")
    )


@pytest.fixture
def experiments(monkeypatch):
    """The list of experiments, to be changed by a test."""
    changed = {"tiny": tiny()}
    monkeypatch.setattr(command, "EXPERIMENTS", changed)
    return changed


def test_help(said):
    code, out, err = said("--help")
    assert (code, err) == (0, "")
    assert "Usage: python -m benchmarks" in out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nope",), "no experiment named nope; there are: throughput, "),
        (("--frob",), "--frob"),
        (("--quick", "--full"), "exclude each other"),
        (("--seed", "x"), "--seed"),
        (("nope", "--debug"), "no experiment named nope"),
    ],
)
def test_bad_usage_is_one_line_and_2(said, words, part):
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("benchmarks: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("package", ["rich", "typer"])
def test_a_missing_extra_is_one_line_and_2(package):
    """In a process of its own, where nothing of the package is imported yet."""
    code = f"import runpy, sys; sys.modules[{package!r}] = None; runpy.run_module('benchmarks', run_name='__main__')"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("benchmarks: there is no package ") and "pip install '.[bench]'" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_list(said):
    code, out, _ = said("--list")
    assert code == 0
    assert all(name in out for name in EXPERIMENTS)
    code, out, _ = said("--list", "--json")
    assert [e["name"] for e in json.loads(out)] == list(EXPERIMENTS)


def test_runs_and_writes(said, experiments, tmp_path):
    code, out, _ = said("tiny", "--quick", "--out", str(tmp_path), "--seed", "5")
    assert code == 0
    assert "a tiny one" in out
    assert "b is slower" in out
    assert (tmp_path / "tiny.png").exists()
    assert ",5,quick," in (tmp_path / "tiny.csv").read_text()


def test_json_is_json(said, experiments, tmp_path):
    code, out, _ = said("--json", "--out", str(tmp_path))
    assert code == 0
    [result] = json.loads(out)
    assert (result["name"], len(result["rows"]), result["machine"]["level"]) == ("tiny", 4, "normal")
    assert [line["ratio"] for line in result["summary"]] == [1.0, 0.5]


def test_a_failed_run_is_one_line_and_1(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=WindrowError("it broke\nin two lines"))
    code, _, err = said("tiny", "--out", str(tmp_path))
    assert (code, err.strip().splitlines()[-1]) == (1, "benchmarks: it broke in two lines")
    with pytest.raises(WindrowError):
        main(["tiny", "--out", str(tmp_path), "--debug"])


def test_any_other_error_is_one_line_and_1(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=ZeroDivisionError("division by zero"))
    code, _, err = said("tiny", "--out", str(tmp_path))
    assert (code, err.strip().splitlines()[-1]) == (1, "benchmarks: division by zero")


def test_one_failure_does_not_stop_the_others(said, experiments, tmp_path):
    experiments.clear()
    experiments.update(bad=tiny("bad", WindrowError("broken")), good=tiny("good"))
    code, out, err = said("--out", str(tmp_path))
    assert code == 1
    assert "a tiny one" in out
    assert "bad failed: broken" in err
    assert "1 of 2 experiments failed: bad" in err


def test_an_unwritable_directory_is_one_line_and_1(said, experiments, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = said("tiny", "--out", str(tmp_path / "file"))
    assert code == 1
    assert err.strip().splitlines()[-1].startswith("benchmarks: ")


def test_an_interrupt_is_130(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=KeyboardInterrupt())
    assert said("tiny", "--out", str(tmp_path))[0] == 130
