"""Wrong queries, wrong files, wrong words: one line that names the thing, the right exit code, and nothing written."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import CALLS, QUERY

RUN = ("run", "query.toml", "--input", "calls.csv", "--output", "out")
WINDOW = '[window]\nkind = "sliding"\nrange = "2 hours"\nevery = "1 hour"\n'


def tree(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder, hidden files too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def refused(said, place, words, code, *parts):
    """Runs it: one line with these parts, nothing on standard output, the folder as it was before."""
    before = tree(place)
    got, out, err = said(*words)
    assert err.startswith("windrow: ") and err.count("\n") == 1, err
    assert "Traceback" not in err
    for part in parts:
        assert part in err, err
    assert (got, out) == (code, ""), err
    assert tree(place) == before


# The query: exit code 2, with file and line.

CHANGED = [  # what is in the good query, what stands there instead, what is said
    ('time = "ts"', "time = ts", ":1: ", "Invalid value"),
    ('time = "ts"', 'time = "ts', ":1: "),
    ('time = "ts"', 'time = "ts"\ntime = "at"', ":2: ", "overwrite"),
    ('time = "ts"', 'tine = "ts"', ":1: unknown key 'tine'; did you mean 'time'?"),
    ('time = "ts"', "time = 5", ":1: 'time' is a text, not 5"),
    ('time = "ts"', 'time = "tss"', ":1: calls.csv has no column 'tss'; did you mean 'ts'?", "caller"),
    ('time = "ts"', 'time = "region"', "column 'region': 'north' is no time"),
    ('time = "ts"', "", ":5: sliding, 2 hours every 1 hour: it is measured by event time"),
    ('by = ["region"]', "by = 7", ":2: 'by' is the name of a column"),
    ('by = ["region"]', "by = [1, 2]", ":2: 'by' is the name of a column"),
    ('by = ["region"]', 'by = ["region", "region"]', ":2: by names a column twice"),
    ('by = ["region"]', 'by = ["Region"]', ":2: calls.csv has no column 'Region'; did you mean 'region'?"),
    ('"10 minutes"', '"10 parsecs"', ":3: '10 parsecs': unknown unit 'parsecs'"),
    ('"10 minutes"', '"1 month"', ":3: '1 month': a month has no exact length"),
    ('"10 minutes"', '"-1 minute"', ":3: lateness must not be negative"),
    ('"10 minutes"', '""', ":3: "),
    ('"10 minutes"', "10", ":3: 'lateness' is a text, not 10"),
    ('lateness = "10 minutes"', 'algorithm = "dabba"', ":3: algorithm is auto or one of"),
    ('lateness = "10 minutes"', 'algorithm = "subtract_on_evict"', ":3: ", "max"),
    ('lateness = "10 minutes"', 'favor = "speed"', ":3: favor is throughput or latency, not 'speed'"),
    ('lateness = "10 minutes"', 'slicing = "bread"', ":3: unknown key 'slicing'"),
    ('lateness = "10 minutes"', 'threads = "two"', ":3: 'threads' is a whole number, not 'two'"),
    ('lateness = "10 minutes"', "threads = 0", ":3: threads is a whole number of at least 1, not 0"),
    ('lateness = "10 minutes"', "strict = 1", ":3: 'strict' is true or false, not 1"),
    ('lateness = "10 minutes"', 'partial = "yes"', ":3: 'partial' is true or false"),
    ('lateness = "10 minutes"', 'store = "rocksdb"', ":3: 'store' is a table"),
    ('lateness = "10 minutes"', 'store = { kind = "rocks", path = "s" }', ":3: unknown store 'rocks'; did you mean"),
    ('lateness = "10 minutes"', 'store = { kind = "rocksdb" }', ":3: store needs 'path'"),
    ('lateness = "10 minutes"', 'store = { kind = "redis", url = 5 }', ":3: 'url' is a text"),
    ('lateness = "10 minutes"', 'store = { path = "s" }', ":3: store needs 'kind'"),
    ('lateness = "10 minutes"', 'types = { len = "integer" }', ":3: unknown type 'integer'"),
    ('lateness = "10 minutes"', 'types = { leng = "int64" }', ":3: calls.csv has no column 'leng'"),
    ("[window]", "[widow]", ":5: unknown key 'widow'; did you mean 'window'?"),
    ("[window]", "[sliding]", ":5: unknown key 'sliding'", "[windows.NAME]"),
    ("[window]", "[windows]", ":6: windows by name are tables, [windows.NAME]"),
    ("[window]", "[windows.a]\nkind = 'tumbling'\nsize = '1 hour'\n[window]", ":5: give [window], or several"),
    (WINDOW, "", "a window is missing"),
    ('"sliding"', '"slidding"', ":6: unknown kind of window 'slidding'; did you mean 'sliding'?"),
    ('kind = "sliding"', "", ":5: window needs 'kind'"),
    ('kind = "sliding"', "kind = 3", ":6: unknown kind of window 3"),
    ('every = "1 hour"', 'evry = "1 hour"', ":8: unknown key 'evry'; did you mean 'every'?"),
    ('every = "1 hour"', "", ":5: a window of kind sliding needs 'every'"),
    ('every = "1 hour"', 'every = "0 hours"', ":8: every must be more than 0"),
    ('every = "1 hour"', "every = 5", "range is measured in time, every in rows"),
    ('every = "1 hour"', "every = 1.5", ":8: every is a duration such as '10 minutes'"),
    ('every = "1 hour"', "every = true", ":8: every is a duration"),
    ('every = "1 hour"', 'every = "1 hour"\norigin = "noon"', ":9: ", "noon"),
    ('every = "1 hour"', 'every = "1 hour"\non = "len"', "with on='len'"),
    ('"2 hours"', '"-2 hours"', ":7: range must be more than 0"),
    ('"2 hours"', "-2", ":7: range must be more than 0"),
    ('"2 hours"', '"two hours"', ":7: ", "'two hours' is no duration"),
    ('"2 hours"', '"292471209 weeks"', ":7: ", "64 bits"),
    (WINDOW, '[window]\nkind = "session"\ngap = 5\n', ":7: gap is a duration"),
    (WINDOW, '[window]\nkind = "trailing"\nrange = 3\nclosed = "up"\n', ":8: closed is right, left, both or none"),
    (WINDOW, '[window]\nkind = "punctuated"\npredicate = "len <"\n', ":7: expression 'len <'"),
    (WINDOW, '[window]\nkind = "punctuated"\npredicate = "__import__(\'os\')"\n', ":7: expression", "only functions"),
    (WINDOW, '[window]\nkind = "punctuated"\npredicate = 3\n', ":7: 'predicate' is a text, not 3"),
    (WINDOW, '[window]\nkind = "punctuated"\npredicate = "lenn > 3"\n', ":5: calls.csv has no column 'lenn'"),
    (WINDOW, '[window]\nkind = "landmark"\nbegin = "len > 3"\nevery = 0\n', ":8: every must be more than 0"),
    (WINDOW, '[window]\nkind = "last"\nn = "5 rows"\nevery = "1 hour"\n', ":7: ", "unknown unit 'rows'"),
    (
        WINDOW,
        '[window]\nkind = "last"\nn = 5\nevery = 5\n',
        ":8: every is measured in rows, as n is; that is win.sliding(5, every=5)",
    ),
    (WINDOW, '[window]\nkind = "policy"\nevict = "total.n > 3"\nover = 5\n', ":8: 'over' is a table"),
    (
        WINDOW,
        '[window]\nkind = "policy"\nevict = "total.m > 3"\nover = { n = "count()" }\n',
        ":7: evict reads 'total.m'",
    ),
    (WINDOW, '[window]\nkind = "policy"\nevict = "open(1)"\nover = { n = "count()" }\n', ":7: ", "only functions"),
    (
        WINDOW,
        '[window]\nkind = "policy"\nevict = "total.n > 3"\nover = { n = "cout()" }\n',
        ":8: unknown aggregate 'cout'",
    ),
    (WINDOW, '[window]\nkind = "user_defined"\nclass = "os:system"\n', ":7: os:system is Python code", "--allow-code"),
    (WINDOW, '[windows.a]\nkind = "tumbling"\nsize = 2\n[windows.b]\nkind = "trailing"\nrange = 2\n', "does not mix"),
    ('"max(len)"', '"maxx(len)"', ":11: unknown aggregate 'maxx'; did you mean 'max'?"),
    ('"max(len)"', '"max len"', ":11: 'max len' is no aggregate: write \"max(len)\""),
    ('"max(len)"', '"max(len, caller)"', ":11: max takes 1 column(s), got 2"),
    ('"max(len)"', '"max()"', ":11: max needs a column"),
    ('"max(len)"', '"first_n(len, n=3)"', ":11: ", "long form"),
    ('"max(len)"', '"first_n(len)"', ":11: first_n", "n"),
    ('"max(len)"', "3", ":11: an aggregate is a text or a table, not 3"),
    ('"max(len)"', '"max(lenn)"', ":11: calls.csv has no column 'lenn'; did you mean 'len'?"),
    ('"max(len)"', '"sum(caller)"', ":11: sum(caller): a number is needed", "'caller' holds string"),
    ('"max(len)"', '{ function = "top_k", columns = "len", kk = 3 }', ":11: unknown key 'kk'; did you mean 'k'?"),
    ('"max(len)"', '{ function = "top_k", columns = "len", k = 0 }', ":11: top_k", "k"),
    ('"max(len)"', '{ functon = "max", columns = "len" }', ":11: an aggregate needs 'function'"),
    ('"max(len)"', '{ function = "max", columns = 3 }', ":11: columns are names of columns, not 3"),
    ('"max(len)"', '{ function = "join", columns = "len" }', ":11: unknown aggregate 'join'"),
    ('"max(len)"', '{ code = "json:dumps", columns = "len" }', ":11: json:dumps is Python code", "--allow-code"),
    ('"max(len)"', '{ code = "json", columns = "len" }', ":11: code is named as 'module:Name'"),
    ("longest =", "start =", ":11: two columns of the result would be called 'start'"),
    ("longest =", "region =", ":11: two columns of the result would be called 'region'"),
    ("who =", "longest =", ":12: ", "overwrite"),
    (QUERY[QUERY.index("[aggregates]") :], "", "aggregates are missing"),
    (QUERY[QUERY.index("longest =") :], "", ":10: aggregates are missing"),
]


@pytest.mark.parametrize("change", CHANGED, ids=lambda c: " ".join(c[1].split())[-50:] or "without " + c[0][:20])
def test_a_bad_query(said, place, change):
    good, bad, *parts = change
    assert good in QUERY
    Path("query.toml").write_text(QUERY.replace(good, bad, 1))
    # what only the values can tell is a failure of the run
    refused(said, place, RUN, 1 if "is no time" in parts[0] else 2, "query.toml" if parts[0][0] == ":" else "", *parts)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\xff\xfe", "query.toml: not UTF-8 text (byte 0)"),
        (b"", "aggregates are missing"),
        (b"time = [", ":1: "),
        (b"[window\nkind = 3", ":1: "),
        (b"\x00", ":1: "),
        (b'{"time": "ts"}', ":1: "),
        (b"time = " + b"[" * 5000, "query.toml: cannot be read: "),
        (b"time = " + b"9" * 5000, "query.toml: cannot be read: "),
    ],
    ids=lambda content: str(content)[:30],
)
def test_no_query_at_all(said, place, content, part):
    Path("query.toml").write_bytes(content)
    refused(said, place, RUN, 2, "query.toml", part)
    refused(said, place, ("explain", "query.toml"), 2, "query.toml", part)


def test_the_query_is_not_there(said, place):
    refused(said, place, ("run", "q.toml", *RUN[2:]), 2, "q.toml: cannot be read: No such file")
    refused(said, place, ("run", ".", *RUN[2:]), 2, "cannot be read: Is a directory")
    refused(said, place, ("explain", "q.toml"), 2, "q.toml: cannot be read")


def test_code_that_cannot_be_loaded(said, place):
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '{ code = "no_such_module:x", columns = "len" }'))
    refused(said, place, (*RUN, "--allow-code"), 2, "query.toml:11: no_such_module:x cannot be loaded")
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '{ code = "json:dumps", columns = "len" }'))
    refused(said, place, (*RUN, "--allow-code"), 2, "query.toml:11: json:dumps is no windrow.Aggregate")


# The words of the command.


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("run",), "QUERY"),
        (("run", "query.toml"), "--input"),
        ((*RUN, "--engine", "flink"), "--engine"),
        ((*RUN, "--format", "xls"), "--format"),
        ((*RUN, "--input-format", "xml"), "--input-format"),
        ((*RUN, "--checkpoint", "state"), "--checkpoint goes with --stream"),
        ((*RUN, "--stream", "--close"), "--close goes with --checkpoint"),
        ((*RUN, "--stream", "--engine", "spark"), "--stream on Spark needs --checkpoint"),
        ((*RUN, "--frob"), "--frob"),
        ((*RUN, "more"), "more"),
        (("explain",), "QUERY"),
        (("explain", "query.toml", "--engine", "spark"), "needs --input"),
        (("explain", "query.toml", "--input", "none.csv"), "there is no such file"),
        (("algorithms", "--for", "maxx"), "did you mean 'max'?"),
        (("run", "query.toml", "--input", "none.csv", "--output", "out"), "--input none.csv: there is no such file"),
        (("run", "query.toml", "--input", "none/*.csv", "--output", "out"), "no file matches the pattern"),
        (("run", "query.toml", "--input", "query.toml", "--output", "out"), "query.toml is neither .parquet nor .csv"),
        ((*RUN[:5], "no/such/out"), "does not exist"),
        ((*RUN[:5], "calls.csv"), "--output calls.csv: is a file"),
        ((*RUN[:5], "."), "holds the input"),
    ],
    ids=lambda value: " ".join(value)[-60:] if isinstance(value, tuple) else "",
)
def test_bad_words(said, place, words, part):
    refused(said, place, words, 2, part)


def test_a_folder_without_files(said, place):
    Path("empty").mkdir()
    Path("empty/_SUCCESS").touch()
    refused(said, place, ("run", "query.toml", "-i", "empty", "-o", "out"), 2, "--input empty: the folder has no files")


def test_a_folder_of_different_kinds(said, place):
    Path("in").mkdir()
    Path("in/a.csv").write_text(CALLS)
    Path("in/b.jsonl").write_text("{}\n")
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "out"), 2, "different kinds", "a.csv", "b.jsonl")


def test_output_inside_the_input(said, place):
    Path("in").mkdir()
    Path("in/a.csv").write_text(CALLS)
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "in/out"), 2, "is inside the input")
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "in", "--overwrite"), 2, "is inside the input")


def test_output_that_is_there(said, place):
    Path("out").mkdir()
    Path("out/part-00000.parquet").write_bytes(b"precious")
    refused(said, place, RUN, 2, "--output out", "--overwrite")
    Path("out/letters.txt").write_text("precious, too")
    refused(said, place, (*RUN, "--overwrite"), 2, "letters.txt, which is no result")
    refused(said, place, (*RUN, "--stream"), 2, "--output out")
    refused(said, place, (*RUN, "--stream", "--checkpoint", "state"), 2, "state has no checkpoint to go on from")


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/proc/version"), reason="needs a place nobody can write")
def test_output_that_cannot_be_written(said, place):
    words = (*RUN[:5], "/proc/windrow-out")  # not even root can write there
    refused(said, place, words, 1, "--output /proc/windrow-out: cannot be written")
    refused(said, place, (*words, "--stream"), 1, "--output /proc/windrow-out: cannot be written")
    refused(
        said, place, (*RUN, "--stream", "--checkpoint", "/proc/state"), 2, "--checkpoint /proc/state: cannot be used"
    )


# The input.

BAD_FILES = [  # name, content, exit code, what is said
    ("a.csv", b"", 1, "Empty CSV file"),
    ("a.csv", b"\n\n", 1, "CSV"),
    ("a.csv", CALLS.replace("41", "41,7", 1).encode(), 1, "Expected 4 columns, got 5"),
    ("a.csv", CALLS.replace("ann,41", "ann", 1).encode(), 1, "Expected 4 columns, got 3"),
    ("a.csv", CALLS.replace("len", "caller", 1).encode(), 1, "the column 'caller' is there 2 times"),
    (
        "a.csv",
        CALLS.replace(",3\n", ",three\n").encode(),
        1,
        "'len' holds numbers, and 'three' in row 2 is none; say nulls = ",
    ),
    ("a.csv", CALLS.replace("ann", "\udcff").encode(errors="surrogateescape"), 1, "column 'caller' is not UTF-8 text"),
    ("a.csv", CALLS.replace("2024-05-01 06:10", "2024-05-01 06:10Z").encode(), 1, "with and without a zone"),
    ("a.csv", CALLS.replace("2024-", "May 1st, ").replace("May 1st, ", "1st of May ").encode(), 1, "is no time; write"),
    ("a.csv", CALLS.replace("ts,", "at,").encode(), 2, "a.csv has no column 'ts'"),
    ("a.csv.gz", b"no gzip at all", 1, "a.csv.gz: "),
    ("a.csv.gz", gzip.compress(CALLS.encode())[:-20], 1, "a.csv.gz: "),
    ("a.jsonl", b"", 1, "Empty JSON"),
    ("a.jsonl", b'{"ts": "2024-05-01 06:10"\n', 1, "JSON parse error"),
    ("a.jsonl", b"[1, 2]\n", 1, "JSON parse error"),
    ("a.jsonl", b'{"len": 1}\n{"len": "x"}\n', 1, "changed from number to string"),
    ("a.jsonl", b'{"ts": "2024-05-01 06:10", "len": 1}\n', 2, "has no column 'region'"),
    ("a.jsonl", b'{"ts": 1.5, "region": "n", "len": 1, "caller": "a"}\n', 2, "column 'ts' of a.jsonl holds double"),
    (
        "a.jsonl",
        b'{"ts": {"x": 1}, "region": "n", "len": 1, "caller": "a"}\n',
        2,
        "column 'ts' of a.jsonl holds struct",
    ),
    ("a.parquet", b"", 1, "a.parquet: Parquet file size is 0 bytes"),
    ("a.parquet", b"this is no Parquet at all", 1, "a.parquet: "),
    ("a.parquet", b"PAR1" + bytes(30) + b"PAR1", 1, "a.parquet: "),
]


@pytest.mark.parametrize("stream", [(), ("--stream",), ("--stream", "--checkpoint", "state")], ids=len)
@pytest.mark.parametrize("case", BAD_FILES, ids=lambda c: f"{c[0]} {c[3]}")
def test_a_bad_file(said, place, case, stream):
    name, content, code, part = case
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '"sum(len)"'))
    Path(name).write_bytes(content)
    refused(said, place, ("run", "query.toml", "-i", name, "-o", "out", *stream), code, name, part)


def parquet(name, **columns):
    pq.write_table(pa.table(columns), name)


GOOD = {"ts": pa.array([1, 2], pa.timestamp("us")), "region": ["n", "s"], "caller": ["a", "b"], "len": [1, 2]}


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=len)
@pytest.mark.parametrize(
    ("changed", "code", "part"),
    [
        ({"ts": ["2024-05-01", "2024-05-02"]}, 2, "query.toml:1: column 'ts' of a.parquet holds string"),
        ({"ts": [1.5, 2.5]}, 2, "query.toml:1: column 'ts' of a.parquet holds double"),
        ({"ts": [True, False]}, 2, "query.toml:1: column 'ts' of a.parquet holds bool"),
        ({"len": ["1", "2"]}, 2, "query.toml:11: sum(len): a number is needed: in a.parquet, 'len' holds string"),
    ],
    ids=str,
)
def test_parquet_of_wrong_types(said, place, changed, code, part, stream):
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '"sum(len)"'))
    parquet("a.parquet", **{**GOOD, **changed})
    refused(said, place, ("run", "query.toml", "-i", "a.parquet", "-o", "out", *stream), code, part)


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=len)
def test_an_aggregate_called_as_a_column(said, place, stream):
    Path("query.toml").write_text('[window]\nkind = "trailing"\nrange = 2\n[aggregates]\nlen = "max(len)"\n')
    refused(said, place, (*RUN, *stream), 2, "query.toml:5: the data has a column 'len' already")


@pytest.mark.parametrize("stream", [(), ("--stream",), ("--stream", "--checkpoint", "state")], ids=len)
def test_a_second_file_that_is_broken(said, place, stream):
    Path("in").mkdir()
    parquet("in/a.parquet", **GOOD)
    whole = Path("in/a.parquet").read_bytes()
    Path("in/b.parquet").write_bytes(whole[:-40] + bytes(40))
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "out", *stream), 1, "b.parquet: ")
    Path("in/b.parquet").write_bytes(whole.replace(b"region", b"Region"))
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "out", *stream), 2, "b.parquet has no column 'region'")
    parquet("in/b.parquet", **{**GOOD, "len": ["x", "y"]})
    refused(
        said, place, ("run", "query.toml", "-i", "in", "-o", "out", *stream), 1, "b.parquet: column 'len' holds string"
    )
    damaged = bytearray(whole)
    damaged[8:60] = bytes(52)
    Path("in/b.parquet").write_bytes(damaged)
    refused(said, place, ("run", "query.toml", "-i", "in", "-o", "out", *stream), 1, "b.parquet: ")


def test_a_value_late_in_a_stream(said, place, monkeypatch):
    """Types are told from the first block; what does not fit them later is refused with its row."""
    from windrow.cli import reading

    monkeypatch.setattr(reading, "BLOCK", 128)
    Path("calls.csv").write_text(CALLS + "2024-05-01 09:00,south,fay,twelve\n")
    refused(said, place, (*RUN, "--stream"), 1, "calls.csv: ", "Row #7", "twelve")


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=len)
def test_a_value_that_is_not_of_the_type_that_was_said(said, place, stream):
    Path("query.toml").write_text(QUERY + '[types]\nlen = "int64"\n')
    Path("calls.csv").write_text(CALLS.replace(",3\n", ",three\n"))
    refused(said, place, (*RUN, *stream), 1, "calls.csv: ", "Row #3", "int64", "three")


def test_strict_rows(said, place):
    Path("query.toml").write_text("strict = true\n" + QUERY)
    Path("calls.csv").write_text(CALLS + "soon,south,fay,3\n")
    refused(said, place, RUN, 1, "row 5 has no time in column 'ts'")
    refused(said, place, (*RUN, "--stream"), 1, "calls.csv: ", "has no time in column 'ts'")


@pytest.mark.slow  # compiles
def test_a_sum_that_overflows(said, place):
    Path("query.toml").write_text(QUERY.replace('"max(len)"', '"sum(len)"'))
    Path("calls.csv").write_text(CALLS.replace(",41", f",{2**63 - 1}"))
    refused(said, place, RUN, 1, "does not fit a 64-bit integer")


# Checkpoints.


def begun(said, place):
    """A stream over one file, with a checkpoint."""
    Path("in").mkdir()
    Path("in/a.csv").write_text(CALLS)
    words = ("run", "query.toml", "-i", "in", "-o", "out", "--stream", "--checkpoint", "state")
    assert said(*words)[0] == 0
    return words


def test_a_checkpoint_of_another_query(said, place):
    words = begun(said, place)
    Path("query.toml").write_text(QUERY.replace("2 hours", "3 hours"))
    refused(said, place, words, 2, "--checkpoint state: the snapshot is of another query: its windows")


def test_a_damaged_checkpoint(said, place):
    words = begun(said, place)
    whole = Path("state/checkpoint").read_bytes()
    for damaged in (whole[:-1], whole[:40] + b"x" + whole[41:], b"", b"hello"):
        Path("state/checkpoint").write_bytes(damaged)
        refused(said, place, words, 1, "--checkpoint state: cannot be read: ")


def test_a_checkpoint_that_is_gone(said, place):
    words = begun(said, place)
    Path("state/checkpoint").unlink()
    Path("state/lock").unlink()
    refused(said, place, words, 2, "--output out", "state has no checkpoint to go on from")


def test_results_that_are_gone(said, place):
    words = begun(said, place)
    Path("out/part-00000.parquet").unlink()
    refused(said, place, words, 2, "--output out: has no part-00000.parquet, which the checkpoint knows")


def test_a_file_that_has_grown(said, place):
    words = begun(said, place)
    Path("in/a.csv").write_text(CALLS + "2024-05-01 09:50,north,fay,1\n")
    refused(said, place, words, 2, "a.csv: has changed since the stream read it")


def test_other_words_for_a_checkpoint(said, place):
    words = begun(said, place)
    refused(said, place, (*words, "--format", "csv"), 2, "--format csv: the stream began with parquet")
    refused(said, place, (*words, "--overwrite"), 2, "--overwrite")
    refused(
        said, place, (*words, "--engine", "spark"), 2, "--checkpoint state: is that of a stream with --engine local"
    )
    assert said(*words, "--close")[0] == 0
    refused(said, place, words, 2, "--checkpoint state: the stream was closed")


def test_a_checkpoint_that_is_something_else(said, place):
    Path("state").mkdir()
    Path("state/metadata").write_text("of Spark")
    refused(said, place, (*RUN, "--stream", "--checkpoint", "state"), 2, "--checkpoint state: holds metadata")
    refused(said, place, (*RUN, "--stream", "--checkpoint", "calls.csv"), 2, "--checkpoint calls.csv: cannot be used")


def test_a_store_that_does_not_outlive_the_process(said, place):
    Path("query.toml").write_text('store = { kind = "memory" }\n' + QUERY)
    refused(said, place, (*RUN, "--stream", "--checkpoint", "state"), 2, "query.toml:1: a store in memory")


def test_a_bad_file_in_the_middle_keeps_what_was_done(said, place):
    """The results so far and their checkpoint stay as they are; with the file mended, the stream goes on."""
    words = begun(said, place)
    Path("in/b.csv").write_text("ts,region,caller,len\n2024-05-01 11:00,north,gus,five\n")
    refused(said, place, words, 1, "b.csv: ", "five")
    Path("in/b.csv").write_text("ts,region,caller,len\n2024-05-01 11:00,north,gus,5\n")
    assert said(*words)[0] == 0
