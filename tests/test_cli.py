"""The command line: exit codes, one line an error, and that each command says what it should."""

from __future__ import annotations

import json

import pytest

import windrow
from windrow import swag
from windrow.bench import EXPERIMENTS, Experiment, Measure
from windrow.cli import bench as bench_command
from windrow.cli import main
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
    monkeypatch.setattr(bench_command, "EXPERIMENTS", changed)
    return changed


def test_version(said):
    assert said("--version") == (0, f"windrow {windrow.__version__}\n", "")


def test_help(said):
    for words in ((), ("--help",), ("bench", "--help"), ("demo", "--help"), ("algorithms", "--help")):
        code, out, err = said(*words)
        assert (code, err) == (0, "")
        assert "Usage: windrow" in out


def test_algorithms_lists_them_all(said):
    code, out, _ = said("algorithms")
    assert code == 0
    assert all(name in out for name in swag.ALGORITHMS)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("bench", "nope"), "no experiment named nope; there are: throughput, "),
        (("bench", "--frob"), "--frob"),
        (("bench", "--quick", "--full"), "exclude each other"),
        (("bench", "--seed", "x"), "--seed"),
        (("frob",), "frob"),
        (("demo", "--frob"), "--frob"),
        (("bench", "nope", "--debug"), "no experiment named nope"),
    ],
)
def test_bad_usage_is_one_line_and_2(said, words, part):
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("windrow: ")
    assert err.count("\n") == 1


def test_bench_list(said):
    code, out, _ = said("bench", "--list")
    assert code == 0
    assert all(name in out for name in EXPERIMENTS)
    code, out, _ = said("bench", "--list", "--json")
    assert [e["name"] for e in json.loads(out)] == list(EXPERIMENTS)


def test_bench_runs_and_writes(said, experiments, tmp_path):
    code, out, _ = said("bench", "tiny", "--quick", "--out", str(tmp_path), "--seed", "5")
    assert code == 0
    assert "a tiny one" in out
    assert "b is slower" in out
    assert (tmp_path / "tiny.png").exists()
    assert ",5,quick," in (tmp_path / "tiny.csv").read_text()


def test_bench_json_is_json(said, experiments, tmp_path):
    code, out, _ = said("bench", "--json", "--out", str(tmp_path))
    assert code == 0
    [result] = json.loads(out)
    assert (result["name"], len(result["rows"]), result["machine"]["level"]) == ("tiny", 4, "normal")
    assert [line["ratio"] for line in result["summary"]] == [1.0, 0.5]


def test_a_failed_run_is_one_line_and_1(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=WindrowError("it broke\nin two lines"))
    code, _, err = said("bench", "tiny", "--out", str(tmp_path))
    assert (code, err.strip().splitlines()[-1]) == (1, "windrow: it broke in two lines")
    with pytest.raises(WindrowError):
        main(["bench", "tiny", "--out", str(tmp_path), "--debug"])


def test_any_other_error_is_one_line_and_1(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=ZeroDivisionError("division by zero"))
    code, _, err = said("bench", "tiny", "--out", str(tmp_path))
    assert (code, err.strip().splitlines()[-1]) == (1, "windrow: division by zero")


def test_one_failure_does_not_stop_the_others(said, experiments, tmp_path):
    experiments.clear()
    experiments.update(bad=tiny("bad", WindrowError("broken")), good=tiny("good"))
    code, out, err = said("bench", "--out", str(tmp_path))
    assert code == 1
    assert "a tiny one" in out
    assert "bad failed: broken" in err
    assert "1 of 2 experiments failed: bad" in err


def test_an_unwritable_directory_is_one_line_and_1(said, experiments, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = said("bench", "tiny", "--out", str(tmp_path / "file"))
    assert code == 1
    assert err.strip().splitlines()[-1].startswith("windrow: ")


def test_an_interrupt_is_130(said, experiments, tmp_path):
    experiments["tiny"] = tiny(fails=KeyboardInterrupt())
    assert said("bench", "tiny", "--out", str(tmp_path))[0] == 130
