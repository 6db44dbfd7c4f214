"""Queries without a file, standard input and output, text files of other forms, rejected rows, the page."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

ROWS = "ts,sensor,temp\n2024-05-01 06:01,hall,21.5\n2024-05-01 06:04,roof,14\n2024-05-01 06:12,hall,24.5\n"
WORDS = ("--window", "sliding 10 minutes every 5 minutes", "--aggregate", "hottest=max(temp)", "--by", "sensor",
         "--time", "ts")  # fmt: skip
FILE = """\
time = "ts"
by = ["sensor"]
[window]
kind = "sliding"
range = "10 minutes"
every = "5 minutes"
[aggregates]
hottest = "max(temp)"
"""


@pytest.fixture
def rows(place):
    Path("data.csv").write_text(ROWS)
    Path("q.toml").write_text(FILE)


def piped(monkeypatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False))


def test_a_query_in_words_is_the_query_in_a_file(said, rows, monkeypatch):
    code, words, err = said("run", *WORDS, "data.csv")
    assert code == 0 and re.fullmatch(r"3 rows in, 6 rows out, 0 late, 0 rejected, .* standard output\n", err)
    assert said("run", "q.toml", "-i", "data.csv")[1] == words
    assert said("run", "q.toml", "-i", "data.csv", "-o", "out", "--format", "csv")[0] == 0
    assert Path("out/part-00000.csv").read_text() == words
    piped(monkeypatch, ROWS)
    assert said("run", *WORDS, "-")[1] == words
    piped(monkeypatch, ROWS)
    assert (
        said("run", "q.toml", "--input", "-", "--output", "-", "--stream")[1].splitlines()[0] == words.splitlines()[0]
    )


def test_other_text_files(said, rows):
    Path("data.csv").write_text(ROWS.replace(",", ";").replace("14", "n/a"))
    code, out, _ = said("run", *WORDS, "data.csv", "--delimiter", ";", "--null", "n/a", "--format", "jsonl")
    assert code == 0 and out.count('"hottest": null') == 2
    Path("q.toml").write_text('delimiter = ";"\nnulls = ["n/a"]\n' + FILE)
    assert said("run", "q.toml", "-i", "data.csv", "--format", "jsonl")[1] == out


def test_rejected_rows_are_told(said, rows):
    Path("data.csv").write_text(ROWS + "soon,hall,3\n,hall,4\n")
    for more in ((), ("--stream",)):
        err = said("run", *WORDS, "data.csv", *more)[2]
        assert "2 rejected" in err
        assert "rejected: data.csv, row 4: ts 'soon' is no time\nrejected: data.csv, row 5: ts is empty\n" in err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "give a query"),
        (("--window", "sliding 5 every 1", "data.csv"), "aggregates are missing"),
        (("--window", "slidin 5 every 1", "data.csv"), "did you mean 'sliding'?"),
        (("--window", "policy x", "data.csv"), "needs a query file"),
        (("--window", "tumbling 5", "--aggregate", "count()"), "give the rows"),
        (("--window", "tumbling 5", "--window", "tumbling 6", "--aggregate", "count()", "data.csv"), "need names"),
        (("--window", "tumbling 5", "--aggregate", "maxx(temp)", "data.csv"), "did you mean 'max'?"),
        (("--window", "tumbling 5", "--aggregate", "max(tem)", "data.csv"), "did you mean 'temp'?"),
        (("--window", "tumbling 5", "-a", "max(temp)", "-a", "max(temp)", "data.csv"), "there 2 times"),
        (("--window", "tumbling 5 every 3", "--aggregate", "count()", "data.csv"), "the query:"),
        (("--window", "tumbling 5", "--aggregate", "count()", "data.csv", "--delimiter", ";;"), "one character"),
        (("--window", "tumbling 5", "--aggregate", "count()", "data.csv", "--format", "parquet"), "needs a folder"),
        (("q.toml", "--time", "ts", "--input", "data.csv"), "--time goes with --window"),
    ],
)
def test_bad_words(said, rows, words, part):
    code, out, err = said("run", *words)
    assert (code, out) == (2, "") and part in err and err.count("\n") == 1, err


def test_every_summary_is_whole_and_completion_is_there(said):
    out = said("--help")[1]
    assert "..." not in out.split("Commands:")[1] and "--install-completion" in out
    for command in ("run", "watch", "explain", "algorithms", "warm"):
        assert command in out
    shell = {**os.environ, "_WINDROW_COMPLETE": "complete_bash", "COMP_WORDS": "windrow al", "COMP_CWORD": "1"}
    made = subprocess.run([sys.executable, "-c", "from windrow.cli import main; main()"], env=shell, timeout=60,
                          capture_output=True, text=True)  # fmt: skip
    assert made.stdout.split() == ["algorithms"]


def test_watch_shows_rows_from_a_pipe_as_they_come(rows):
    """Rows that came are on the page while the pipe is open."""
    command = [sys.executable, "-c", "import sys; from windrow.cli import main; sys.exit(main())", "watch", *WORDS, "-"]
    process = subprocess.Popen([*command, "--no-open", "--no-stay"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stderr is not None
    address = process.stderr.readline().split()[0].decode()
    process.stdin.write(ROWS.encode())
    process.stdin.flush()
    with urllib.request.urlopen(f"{address}events", timeout=60) as events:
        assert any(b'"rows_in": "3"' in line for line in events)
    process.stdin.write(b"2024-05-01 06:14,hall,1\n")
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stderr.read().decode().startswith("4 rows in, 6 results, 0 late, 0 rejected")


def test_watch_shows_a_file(rows, said):
    code, out, err = said("watch", "q.toml", "--input", "data.csv", "--no-open", "--no-stay", "--rate", "1000")
    assert (code, out) == (0, "") and "3 rows in, 6 results" in err
