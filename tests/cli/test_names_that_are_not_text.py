"""File names and values of the command line that are not UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

QUERY = 'time = "t"\ntime_unit = "us"\n[window]\nkind = "tumbling"\nsize = "2 us"\n[aggregates]\nm = "max(x)"\n'
ODD = os.fsdecode(b"odd\xff")  # as the command line gives bytes that are not UTF-8


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.toml").write_text(QUERY)
    Path("a.csv").write_text("t,x\n1,a\n2,b\n")


@pytest.mark.usefixtures("here")
def test_names_of_files(said) -> None:
    try:
        Path(ODD + ".csv").write_text("t,x\n1,a\n")
    except OSError:
        pytest.skip("this file system has no such names")
    code, _, errors = said("run", "q.toml", "--input", ODD + ".csv", "--output", "out")
    assert code == 2 and "the file's name is not UTF-8 text" in errors
    code, _, errors = said("run", "q.toml", "--input", "a.csv", "--output", ODD)
    assert code == 2 and "the folder's name is not UTF-8 text" in errors
    assert not Path(ODD).exists()


@pytest.mark.usefixtures("here")
def test_values_and_predicates(said) -> None:
    Path("bad.jsonl").write_text('{"t": 1, "x": "\\ud800"}\n')
    code, _, errors = said("run", "q.toml", "--input", "bad.jsonl", "--output", "out")
    assert code != 0 and "bad.jsonl" in errors and "surrogate" in errors and "Traceback" not in errors
    Path("bad.toml").write_text(QUERY.replace("m =", '"\\ud800" ='))
    code, _, errors = said("explain", "bad.toml")
    assert code == 2 and "bad.toml:7" in errors
