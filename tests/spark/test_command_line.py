"""`windrow run --engine spark`: the same results as in this process, from the same files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
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
names = "concat(caller)"
longest = "max(len)"
"""
ROWS = [(f"2024-05-01 {6 + i // 12:02}:{i % 12 * 5:02}", "ns"[i % 3 == 0], f"c{i},", i * 7 % 41) for i in range(60)]


@pytest.fixture
def place(tmp_path, monkeypatch, spark) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.toml").write_text(QUERY)
    (tmp_path / "in").mkdir()
    return tmp_path


def write(rows, path: str) -> None:
    """Rows as a file; times with a fraction of a second are among them."""
    names = ("ts", "region", "caller", "len")
    rows = [(ts + ":30.5", *rest) if ts.endswith("5") else (ts, *rest) for ts, *rest in rows]
    if path.endswith(".csv"):
        lines = [",".join(names), *(f'{ts},{region},"{caller}",{n}' for ts, region, caller, n in rows)]
        Path(path).write_text("\n".join(lines) + "\n")
    elif path.endswith(".jsonl"):
        Path(path).write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        pq.write_table(table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us"))), path)


def results(folder: str, form: str) -> list[dict]:
    read = {"parquet": pq.read_table, "csv": pa.csv.read_csv, "jsonl": pa.json.read_json}[form]
    parts = [part for part in Path(folder).iterdir() if part.name.startswith("part-") and part.stat().st_size]
    table = pa.concat_tables([read(part) for part in parts], promote_options="permissive")
    edges = pa.timestamp("us")
    for name in ("start", "end"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(edges))
    return table.sort_by([("region", "ascending"), ("start", "ascending")]).to_pylist()


def ran(capsys, *words) -> dict:
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_same_results_as_here(place, capsys, form):
    write(ROWS[:30], f"in/a.{form}")
    write(ROWS[30:], f"in/b.{form}")
    if form == "csv":  # a time that is none is rejected, not an error
        with open("in/b.csv", "a") as file:
            file.write("soon,n,x,99\n")
    words = ("run", "query.toml", "-i", "in", "--format", form)
    here = ran(capsys, *words, "-o", "here")
    there = ran(capsys, *words, "-o", "there", "--engine", "spark")
    assert results("there", form) == results("here", form)
    assert {**there, "seconds": 0, "output": ""} == {**here, "seconds": 0, "output": ""}
    assert there["rejected"] == (form == "csv")
    assert main([*words, "-o", "there", "--engine", "spark"]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_a_failure_on_spark_is_one_line_and_leaves_nothing(place, capsys):
    Path("query.toml").write_text("strict = true\n" + QUERY)
    write(ROWS, "in/a.csv")
    with open("in/a.csv", "a") as file:
        file.write("soon,n,x,99\n")
    assert main(["run", "query.toml", "-i", "in", "-o", "out", "--engine", "spark"]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("windrow: ")]
    assert len(lines) == 1 and "no time" in lines[0], lines
    assert sorted(entry.name for entry in place.iterdir()) == ["in", "query.toml"]


def test_explain(place, capsys):
    write(ROWS, "in/a.csv")
    assert main(["explain", "query.toml", "-i", "in", "--engine", "spark"]) == 0
    assert "exchange" in capsys.readouterr().out.lower()


@pytest.mark.slow
def test_a_stream_goes_on_where_it_was(place, capsys):
    words = ("run", "query.toml", "-i", "in", "-o", "out", "--stream", "--checkpoint", "state", "--engine", "spark")
    write(ROWS[:30], "in/a.csv")
    first = ran(capsys, *words)
    write(ROWS[30:], "in/b.csv")
    second = ran(capsys, *words)
    assert (first["rows_in"], second["rows_in"]) == (30, 30)
    local = ("run", "query.toml", "-i", "in", "-o", "here", "--stream", "--checkpoint", "local")
    ran(capsys, *local)
    assert results("out", "parquet") == results("here", "parquet")
    assert first["rows_out"] + second["rows_out"] == len(results("here", "parquet"))
    assert main([*words, "--overwrite"]) == 2
