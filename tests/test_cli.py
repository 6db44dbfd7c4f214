"""The command line: exit codes, one line an error, and that each command says what it should."""

from __future__ import annotations

import subprocess
import sys

import pytest

import windrow
from windrow import swag
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


def test_version(said):
    assert said("--version") == (0, f"windrow {windrow.__version__}\n", "")


def test_help(said):
    for words in ((), ("--help",), ("run", "--help"), ("explain", "--help"), ("algorithms", "--help")):
        code, out, err = said(*words)
        assert (code, err) == (0, "")
        assert "Usage: windrow" in out


def test_the_commands_are_those_of_the_package(said):
    """The benchmarks and the demo belong to the checkout."""
    for word in ("bench", "demo"):
        assert said(word)[0] == 2


def test_algorithms_lists_them_all(said):
    code, out, _ = said("algorithms")
    assert code == 0
    assert all(name in out for name in swag.ALGORITHMS)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("frob",), "frob"),
        (("algorithms", "--frob"), "--frob"),
        (("explain",), "QUERY.toml"),
        (("algorithms", "--for", "nope", "--debug"), "unknown aggregate 'nope'"),
    ],
)
def test_bad_usage_is_one_line_and_2(said, words, part):
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("windrow: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("package", ["rich", "typer"])
def test_without_the_extra_it_says_what_to_install(package):
    """In a process of its own, where nothing of the package is imported yet; the library itself is imported."""
    code = f"import sys; sys.modules[{package!r}] = None; from windrow.cli import main; sys.exit(main(['--version']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    told = "windrow: the command line needs rich and typer: pip install '.[cli]' in a checkout of windrow\n"
    assert ended.stderr == told


def test_progress_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    shown = windrow.spark.progress(None)
    with pytest.raises(WindrowError, match=r"progress needs the package rich: pip install '\.\[cli\]'"), shown:
        pass


def test_no_other_part_imports_rich_or_typer():
    """All modules but those of the command line, where both are missing."""
    code = """
import importlib, pkgutil, sys
sys.modules["rich"] = sys.modules["typer"] = None
import windrow
for found in pkgutil.walk_packages(windrow.__path__, "windrow."):
    if not found.name.startswith("windrow.cli."):
        importlib.import_module(found.name)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
