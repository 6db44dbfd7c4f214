"""The README's tables are made from the benchmarks' results."""

import csv
import importlib.util

import pytest

from tests.docs.blocks import ROOT

spec = importlib.util.spec_from_file_location("update_readme", ROOT / "docs" / "update_readme.py")
update_readme = importlib.util.module_from_spec(spec)
spec.loader.exec_module(update_readme)

NAMES = ("case", "way", "repetition", "rows", "us_a_row")


def write(path, rows):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, NAMES)
        table.writeheader()
        table.writerows(dict(zip(NAMES, row, strict=True)) for row in rows)


@pytest.fixture
def results(tmp_path):
    for name in update_readme.ON_SPARK:
        write(
            tmp_path / f"{name}.csv",
            [
                ("24 h", "windrow", 0, 2_000_000, 1.0),
                ("24 h", "windrow", 1, 2_000_000, 3.0),
                ("24 h", "windrow on one core", 0, 2_000_000, 5.0),
                ("24 h", "Spark's frames", 0, 1_000, 2_000.0),
                ("24 h", "Spark's frames", 1, 1_000, 1_500.0),
            ],
        )
    return tmp_path


def test_spark_is_compared_within_repetitions(results):
    lines = update_readme.against_spark(results).splitlines()
    assert len([line for line in lines if "24 h" in line]) == len(update_readme.ON_SPARK)
    assert lines[2] == "| 2 M, sliding, 24 h | **2** | Spark's frames | 1,750‡ | 1,250x as fast (500 – 2,000) |"
    assert lines[-2].startswith("‡")


def test_the_readme_shows_some_cases(results):
    lines = update_readme.against_spark(results, (("spark-rows", "24 h"),)).splitlines()
    assert [line for line in lines if "24 h" in line] == [
        "| 2 M, trailing, 24 h | **2** | Spark's frames | 1,750‡ | 1,250x as fast (500 – 2,000) |"
    ]


def test_libraries_are_columns(tmp_path):
    path = tmp_path / "queries.csv"
    names = ("case", "library", "rows", "seconds", "windrow", "peers")
    rows = [("an hour", "windrow", 10, 0.5), ("an hour", "polars", 5, 2.0), ("a session", "windrow", 10, 3.0)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *((*row, "0.1", "polars 2") for row in rows)])
    lines = update_readme.as_users_call_them(path).splitlines()
    assert lines[0] == "| seconds per million rows | windrow | Polars |"
    assert lines[2:4] == ["| an hour | **0.5** | 2‡ |", "| a session | **3** | – |"]


def test_what_is_between_the_marks_is_replaced():
    text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb"
    assert update_readme.between(text, "x", "new") == "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb"


@pytest.mark.parametrize(
    ("page", "name", "lines"),
    [
        ("README.md", "queries", 6),
        ("README.md", "spark", 9),
        ("docs/speed.md", "queries", 6),
        ("docs/speed.md", "spark", 15),
        ("docs/speed.md", "peers", 15),
    ],
)
def test_the_pages_have_the_tables(page, name, lines):
    table = (ROOT / page).read_text().split(f"<!-- {name}:begin -->")[1].split(f"<!-- {name}:end -->")[0]
    assert table.count("\n|") > lines
