"""`windrow run` gives what `Query.run` gives over the same rows, whatever the files; streams go on where they were."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

import windrow
from tests.cli.conftest import CALLS, QUERY
from windrow import agg, win
from windrow.cli import main, reading, streaming
from windrow.cli.query_file import QueryFile

MEANT = windrow.Query(
    time="ts",
    by="region",
    windows=win.sliding("2 hours", every="1 hour"),
    aggregates={"longest": agg.max("len"), "who": agg.concat("caller"), "names": agg.concat("caller", sep=",")},
    lateness="10 minutes",
)


def calls(n: int = 500, seed: int = 7, zone: str | None = None) -> pa.Table:
    """Rows in order of time, some of an equal one."""
    rng = np.random.default_rng(seed)
    times = 1_714_500_000_000_000 + np.sort(rng.integers(0, 10**11, n)) // 250_000 * 250_000
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")).cast(pa.timestamp("us", zone)),
            "region": pa.array(rng.choice(["north", "south", 'we"st, far'], n)),
            "caller": pa.array([f"c{i}" for i in range(n)]),
            "len": pa.array(rng.integers(0, 50, n)),
        }
    )


def write(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.name.endswith((".csv", ".csv.gz")):
        with pa.CompressedOutputStream(path, "gzip") if path.suffix == ".gz" else open(path, "wb") as sink:
            pa.csv.write_csv(table, sink)
    else:
        rows = ({**row, "ts": row["ts"].isoformat()} for row in table.to_pylist())
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def results(folder: Path | str) -> pa.Table:
    """All parts of a folder of results, in their order."""
    tables = []
    for part in sorted(Path(folder).iterdir()):
        assert part.name.startswith("part-"), part
        if part.suffix == ".parquet":
            tables.append(pq.read_table(part))
        elif part.suffix == ".csv":
            tables.append(pa.csv.read_csv(part))
        elif part.stat().st_size:
            tables.append(pa.json.read_json(part))
    return pa.concat_tables(tables, promote_options="permissive")


def same(found: pa.Table, meant: pa.Table, *, in_order: bool = False) -> None:
    """Equal in all columns; types may be those of another format."""
    assert found.column_names == meant.column_names
    found = found.cast(meant.schema)
    if not in_order:
        keys = [(n, "ascending") for n in ("region", "window", "start") if n in meant.column_names]
        found, meant = found.sort_by(keys), meant.sort_by(keys)
    assert found.to_pydict() == meant.to_pydict()


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("name", ["calls.parquet", "calls.csv", "calls.csv.gz", "calls.jsonl", "calls.jsonl.gz"])
def test_every_format(said, place, name, form):
    table = calls()
    write(table, place / name)
    code, out, err = said("run", "query.toml", "-i", name, "-o", "out", "--format", form)
    assert (code, err) == (0, "")
    meant = MEANT.run(table)
    assert out.startswith(f"500 rows in, {meant.num_rows} rows out, 0 late, 0 rejected, ")
    assert [part.name for part in Path("out").iterdir()] == [f"part-00000.{form}"]
    same(results("out"), meant, in_order=True)


@pytest.mark.parametrize("name", ["calls.parquet", "calls.csv", "calls.jsonl"])
def test_times_with_a_zone(said, place, name):
    table = calls(50, zone="UTC")
    write(table, place / name)
    assert said("run", "query.toml", "-i", name, "-o", "out")[0] == 0
    assert results("out").schema.field("start").type == pa.timestamp("us", "UTC")
    same(results("out"), MEANT.run(table), in_order=True)


@pytest.mark.parametrize("given", ["in", "in/*.csv", "in/**/*.csv"])
def test_folders_and_patterns(said, place, given):
    table = calls(300)
    for i, name in enumerate(("a.csv", "b.csv", "c.csv")):
        write(table.slice(100 * i, 100), place / "in" / name)
    Path("in/_notes.txt").write_text("not read")
    Path("in/.hidden").write_text("not read")
    assert said("run", "query.toml", "-i", given, "-o", "out")[0] == 0
    same(results("out"), MEANT.run(table), in_order=True)


def test_files_of_like_types_go_together(said, place):
    """A column of ints in one file, of floats in another, and missing beside trailing windows in a third."""
    Path("query.toml").write_text('[window]\nkind = "trailing"\nrange = 2\n[aggregates]\nt = "collect_list(x)"\n')
    Path("in").mkdir()
    Path("in/a.csv").write_text("x,y\n1,\n2,\n")
    Path("in/b.csv").write_text("x,z\n1.5,u\n")
    assert said("run", "query.toml", "-i", "in", "-o", "out", "--json")[0] == 0
    assert results("out").to_pylist() == [
        {"x": 1.0, "y": None, "z": None, "t": [1.0]},
        {"x": 2.0, "y": None, "z": None, "t": [1.0, 2.0]},
        {"x": 1.5, "y": None, "z": "u", "t": [2.0, 1.5]},
    ]


def test_named_windows_and_trailing_ones(said, place):
    table = calls(200)
    write(table, place / "calls.parquet")
    Path("query.toml").write_text(
        'time = "ts"\nby = "region"\n[windows.hour]\nkind = "trailing"\nrange = "1 hour"\n[windows.ten]\n'
        'kind = "trailing"\nrange = 10\n[aggregates]\nall = "concat(caller)"\n'
    )
    assert said("run", "query.toml", "-i", "calls.parquet", "-o", "out")[0] == 0
    meant = windrow.Query(
        time="ts", by="region", windows={"hour": win.trailing("1 hour"), "ten": win.trailing(10)},
        aggregates={"all": agg.concat("caller")},
    )  # fmt: skip
    same(results("out"), meant.run(table), in_order=True)
    assert said("run", "query.toml", "-i", "calls.parquet", "-o", "out2", "--stream")[0] == 0
    same(results("out2"), meant.run(table), in_order=True)


def test_what_is_no_time_is_rejected_and_counted(said, place):
    Path("calls.csv").write_text(CALLS + "soon,north,fay,99\n,south,gus,99\n2024-13-01 00:00,south,hal,99\n")
    for stream in ((), ("--stream",)):
        code, out, _ = said("run", "query.toml", "-i", "calls.csv", "-o", "out", "--json", "--overwrite", *stream)
        report = json.loads(out)
        assert (code, report["rows_in"], report["rejected"], report["output"]) == (0, 8, 3, "out")
        assert report["rows_out"] == results("out").num_rows
        assert 99 not in results("out")["longest"].to_pylist()


def test_lists_in_every_format(said, place):
    Path("query.toml").write_text('[window]\nkind = "tumbling"\nsize = 2\n[aggregates]\nall = "collect_list(caller)"\n')
    for form in ("parquet", "csv", "jsonl"):
        assert said("run", "query.toml", "-i", "calls.csv", "-o", form, "--format", form)[0] == 0
    assert results("parquet")["all"].to_pylist() == [["ann", "bob"], ["cid", "dan"]]
    assert results("jsonl")["all"].to_pylist() == [["ann", "bob"], ["cid", "dan"]]
    assert results("csv")["all"].to_pylist() == ['["ann", "bob"]', '["cid", "dan"]']


def test_types_that_are_said(said, place):
    Path("a.csv").write_text("code,x\n007,1\n008,2\n")
    Path("query.toml").write_text(
        'by = "code"\n[window]\nkind = "tumbling"\nsize = 1\n[aggregates]\ns = "collect_list(x)"\n'
        '[types]\ncode = "string"\nx = "float64"\n'
    )
    for stream in ((), ("--stream",)):
        assert said("run", "query.toml", "-i", "a.csv", "-o", "out", "--overwrite", *stream)[0] == 0
        found = results("out")
        assert (found["code"].to_pylist(), found["s"].type.value_type) == (["007", "008"], pa.float64())


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=len)
def test_no_rows(said, place, stream):
    Path("calls.csv").write_text(CALLS.splitlines()[0] + "\n")
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '"collect_list(len)"'))
    code, _, err = said("run", "query.toml", "-i", "calls.csv", "-o", "out", *stream)
    assert (code, err) == (0, "")
    assert results("out").column_names == ["region", "start", "end", "longest", "who", "names"]
    assert results("out").num_rows == 0


def test_overwrite_replaces(said, place):
    for form in ("csv", "jsonl", "parquet"):
        assert said("run", "query.toml", "-i", "calls.csv", "-o", "out", "--format", form, "--overwrite")[0] == 0
        assert [part.name for part in Path("out").iterdir()] == [f"part-00000.{form}"]
    assert sorted(entry.name for entry in place.iterdir()) == ["calls.csv", "out", "query.toml"]


# Streams.


def shuffled(table: pa.Table, minutes: int, seed: int = 3) -> pa.Table:
    """Rows that come up to so many minutes late."""
    rng = np.random.default_rng(seed)
    times = table["ts"].cast(pa.int64()).to_numpy()
    return table.take(np.argsort(times + rng.integers(0, minutes * 60_000_000, len(times)), kind="stable"))


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_stream_equals_the_batch(said, place, monkeypatch, suffix):
    monkeypatch.setattr(reading, "ROWS", 37)
    table = shuffled(calls(), 10)
    for i in range(5):
        write(table.slice(100 * i, 100), place / "in" / f"{i}.{suffix}")
    code, out, _ = said("run", "query.toml", "-i", "in", "-o", "out", "--stream")
    assert code == 0 and ", 0 late, " in out
    same(results("out"), MEANT.run(table))


STREAM = ("run", "query.toml", "-i", "in", "-o", "out", "--stream", "--checkpoint", "state")


ROCKS = 'store = { kind = "rocksdb", path = "store" }\n'


@pytest.mark.parametrize("store", ["", pytest.param(ROCKS, marks=pytest.mark.slow)], ids=["memory", "rocksdb"])
def test_a_stream_goes_on_with_new_files(said, place, monkeypatch, store):
    monkeypatch.setattr(streaming, "OFTEN", 0.0)  # a checkpoint after each batch
    Path("query.toml").write_text(store + QUERY)
    table = shuffled(calls(), 10)
    for i in range(5):
        write(table.slice(100 * i, 100), place / "in" / f"{i}.parquet")
        code, out, _ = said(*STREAM, *(("--close",) if i == 4 else ()))
        assert code == 0 and out.startswith(f"{100 * (i + 1)} rows in, ")
        if i == 2:
            assert said(*STREAM)[0] == 0  # nothing new
    same(results("out"), MEANT.run(table))
    assert not list(Path("out").glob(".*"))


def test_late_rows_are_counted(said, place):
    write(pa.concat_tables([calls(100), calls(1)]), place / "in" / "a.parquet")
    code, out, _ = said("run", "query.toml", "-i", "in", "-o", "out", "--stream", "--json")
    assert code == 0 and json.loads(out)["late"] == 1
    same(results("out"), MEANT.run(calls(100)))


def test_parts_of_a_process_that_died_are_removed(said, place):
    """It had written a part, and not yet the checkpoint that knows it."""
    table = calls(200)
    write(table.slice(0, 100), place / "in" / "0.parquet")
    assert said(*STREAM)[0] == 0
    before = Path("state/checkpoint").read_bytes()
    write(table.slice(100), place / "in" / "1.parquet")
    assert said(*STREAM, "--close")[0] == 0
    meant = results("out")
    Path("state/checkpoint").write_bytes(before)
    Path("out/.part-00002.parquet.tmp").write_bytes(b"half")
    assert said(*STREAM, "--close")[0] == 0
    assert results("out").to_pydict() == meant.to_pydict()
    same(results("out"), MEANT.run(table))


CHILD = """
import sys, time
from windrow.cli import main, reading, streaming
from windrow.local.live import Live

reading.ROWS = 40
push = Live.push
def slow(self, rows):
    found = push(self, rows)
    print("pushed", flush=True)
    time.sleep(0.1)
    return found
Live.push = slow
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupt_stops_cleanly_and_the_same_command_goes_on(said, place):
    """A real SIGINT to a real process, in the middle of the second file."""
    table = shuffled(calls(), 10)
    for i in range(5):
        write(table.slice(100 * i, 100), place / "in" / f"{i}.csv")
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *STREAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(windrow.__file__).parents[1])},
    )  # fmt: skip
    with child:
        for _ in range(4):
            assert child.stdout.readline() == "pushed\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert err.count("\n") == 1 and "1 of 5 files" in err and "goes on from there" in err, err
    assert not list(Path("out").glob(".*"))
    assert 0 < results("out").num_rows < MEANT.run(table).num_rows
    code, out, _ = said(*STREAM, "--close")
    assert code == 0 and out.startswith("500 rows in, ")
    same(results("out"), MEANT.run(table))


@pytest.mark.slow
def test_a_process_that_is_killed(said, place):
    """Killed anywhere, between a part and its checkpoint too: in the end each result is there once."""
    table = shuffled(calls(2000), 10)
    for i in range(5):
        write(table.slice(400 * i, 400), place / "in" / f"{i}.csv")
    for seed in range(6):
        often = CHILD.replace("0.1", "0.01").replace("reading.ROWS = 40", "reading.ROWS, streaming.OFTEN = 40, 0")
        child = subprocess.Popen(
            [sys.executable, "-c", often, *STREAM], stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(windrow.__file__).parents[1])},
        )  # fmt: skip
        with child:
            for _ in range(3 + seed):
                child.stdout.readline()
            time.sleep(seed * 0.004)
            child.kill()
        assert child.returncode == -signal.SIGKILL
    code, out, _ = said(*STREAM, "--close")
    assert code == 0 and out.startswith("2,000 rows in, ")
    same(results("out"), MEANT.run(table))


def test_one_checkpoint_one_process(said, place):
    from windrow.cli import checkpoints

    write(calls(10), place / "in" / "a.parquet")
    with checkpoints.held(Path("state")):
        code, _, err = said(*STREAM)
    assert (code, err) == (2, "windrow: --checkpoint state: another process is running on it\n")


def test_debug_shows_the_traceback(place):
    Path("calls.csv").write_bytes(b"")
    with pytest.raises(windrow.errors.WindrowError):
        main(["run", "query.toml", "-i", "calls.csv", "-o", "out", "--debug"])


def test_without_pyarrow(said, place, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = said("run", "query.toml", "-i", "calls.csv", "-o", "out")
    assert (code, err) == (1, "windrow: files are read by pyarrow: pip install '.[files]' in a checkout of windrow\n")
    assert said("explain", "query.toml")[0] == 0


# The other commands.


def test_explain(said, place):
    code, out, err = said("explain", "query.toml")
    assert (code, err) == (0, "")
    assert out.strip() == QueryFile(Path("query.toml")).query.explain().strip()
    code, out, _ = said("explain", "query.toml", "--input", "calls.csv")
    assert code == 0 and "measured over 5 rows of 2 keys" in out


def names(said, *words):
    code, out, err = said("algorithms", *words, "--json")
    assert (code, err) == (0, "")
    return {card["name"] for card in json.loads(out)}


def test_algorithms_by_what_they_can_do(said):
    assert names(said) == set(windrow.swag.ALGORITHMS)
    assert names(said, "--out-of-order", "out") | {"fiba"} <= names(said, "--out-of-order")
    assert names(said, "--worst-case", "--for", "max") == {"daba", "daba_uncached", "daba_lite"}
    assert "subtract_on_evict" in names(said, "--for", "count")
    assert {"amta", "log_mta", "fiba"} <= names(said, "--bulk")
    assert names(said, "policy") == {"amta", "log_mta"}
    assert names(said, "two", "stacks", "LITE") == {"two_stacks_lite"}
    code, out, err = said("algorithms", "nosuch")
    assert (code, out) == (2, "") and err.startswith("windrow: no algorithm's card has 'nosuch'; there are recalculate")
    assert "did you mean two_stacks?" in said("algorithms", "two_stakcs")[2]
    for aggregate in ("top_k", "histogram", "approx_percentile", "first_n"):
        assert "daba" in names(said, "--for", aggregate)
    code, out, _ = said("algorithms", "--bulk")
    assert code == 0 and "amta" in out and "daba" not in out
