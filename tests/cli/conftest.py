"""A folder with a query and some calls, and a way to run commands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.cli import main

QUERY = """\
time = "ts"
by = ["region"]
lateness = "10 minutes"

[window]
kind = "sliding"
range = "2 hours"
every = "1 hour"

[aggregates]
longest = "max(len)"
who = "concat(caller)"
names = { function = "concat", columns = ["caller"], sep = "," }
"""
CALLS = """\
ts,region,caller,len
2024-05-01 06:10,north,ann,41
2024-05-01 06:40,north,bob,3
2024-05-01 07:05,south,cid,41
2024-05-01 08:50:00.5,north,dan,12
2024-05-01 08:45,south,eve,7
"""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The working directory, with query.toml and calls.csv in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.toml").write_text(QUERY)
    (tmp_path / "calls.csv").write_text(CALLS)
    return tmp_path


@pytest.fixture
def said(capsys):
    """Runs a command line: (exit code, standard output, standard error)."""

    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run
