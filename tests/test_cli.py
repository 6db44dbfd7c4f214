"""The command line: exit codes, one line an error, and that each command says what it should."""

from __future__ import annotations

import pytest

import windrow
from windrow import swag
from windrow.cli import main


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
