"""A column of a CSV file that is almost all numbers is not compared as texts."""

from __future__ import annotations

from pathlib import Path

import pytest

QUERY = """
{more}
[window]
kind = "tumbling"
size = 2
[aggregates]
most = "max(temp)"
"""
ROWS = "temp,id\n9,1\n10,x\n{text},2\n7,3\n"


@pytest.fixture
def ran(said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def run(more: str, text: str = "n/a", types: str = "") -> tuple[int, str]:
        Path("q.toml").write_text(QUERY.format(more=more) + types)
        Path("a.csv").write_text(ROWS.format(text=text))
        code, _, errors = said("run", "q.toml", "--input", "a.csv", "--output", "out", "--format", "csv")
        return code, errors if code else Path("out").glob("*.csv").__next__().read_text()

    return run


def test_it_is_refused_with_row_and_text(ran) -> None:
    code, errors = ran("")
    assert code == 1
    assert """a.csv: column 'temp' holds numbers, and 'n/a' in row 3 is none; say nulls = ["n/a"]""" in errors


def test_the_query_can_say_what_means_null(ran) -> None:
    code, result = ran('nulls = ["n/a", "-"]')
    assert code == 0 and [line.split(",")[-1] for line in result.split()[1:]] == ["10", "7"]


def test_the_query_can_say_that_they_are_texts(ran) -> None:
    code, result = ran("", types='[types]\ntemp = "string"\n')
    assert code == 0 and "n/a" in result


@pytest.mark.parametrize("wrong", ['nulls = "n/a"', "nulls = [1]"])
def test_nulls_is_a_list_of_texts(ran, wrong: str) -> None:
    code, errors = ran(wrong)
    assert code == 2 and "'nulls' is a list of texts" in errors
