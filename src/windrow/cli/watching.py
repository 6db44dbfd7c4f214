"""`windrow watch`: rows through a live query, which a local page shows."""

from __future__ import annotations

import io
import os
import sys
import time
import webbrowser
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv

from windrow.cli.ending import Usage
from windrow.cli.opening import rows_of
from windrow.cli.pipes import PIPE
from windrow.cli.query_file import QueryFile
from windrow.cli.reading import ARROW
from windrow.cli.run import Source
from windrow.cli.text_times import parsed
from windrow.errors import WindrowError

#: bytes that are read from a pipe at a time, at most
BLOCK = 1 << 20
#: pushes per second, at most, where rows come at a rate
PUSHES = 10


def watch(file: QueryFile, given: str, rate: float | None, port: int, opened: bool, stay: bool) -> None:
    """Pushes all rows, and keeps the page until it is interrupted."""
    file.query.store = None
    tables = piped(file) if given == PIPE else from_files(file, given)
    live = file.query.open()
    with live.serve(port) as page:
        print(f"{page.address} shows the query; Ctrl-C ends it", file=sys.stderr, flush=True)
        if opened and _screen():
            webbrowser.open(page.address)
        try:
            for table in tables if rate is None else paced(tables, rate):
                live.push(table)
            live.close()
            report = live.report
            print(f"{report.rows_in:,} rows in, {report.rows_out:,} results, {report.late:,} late, "
                  f"{report.rejected:,} rejected", file=sys.stderr, flush=True)  # fmt: skip
            while stay:
                time.sleep(1)
        except KeyboardInterrupt:
            print(file=sys.stderr)


def from_files(file: QueryFile, given: str) -> Iterator[pa.Table]:
    """The rows of files."""
    job = Source(file, rows_of(file, given, None))
    schema = job.schema()
    job.check_types(schema)
    schema = pa.schema([schema.field(name) for name in job.columns(schema)])
    for path in job.input.files:
        yield from job.input.batches(path, schema)


def paced(tables: Iterator[pa.Table], rate: float) -> Iterator[pa.Table]:
    """The same rows, so many per second."""
    each = max(1, round(rate / PUSHES))
    start, sent = time.monotonic(), 0
    for table in tables:
        for begin in range(0, table.num_rows, each):
            time.sleep(max(0.0, start + sent / rate - time.monotonic()))
            part = table.slice(begin, each)
            yield part
            sent += part.num_rows


def piped(file: QueryFile) -> Iterator[pa.Table]:
    """CSV from standard input, as it comes: all whole lines that are there make a push."""
    source, kept, head = sys.stdin.fileno(), b"", b""
    types: dict[str, pa.DataType] = {}
    while True:
        block = os.read(source, BLOCK)
        kept += block
        end = len(kept) if not block else _whole(kept)
        lines, kept = kept[:end], kept[end:]
        if not head and lines:
            head, _, lines = lines.partition(b"\n")
        if lines.strip():
            table = _table(file, head + b"\n" + lines, types)
            types.update({field.name: field.type for field in table.schema if field.type != pa.null()})
            yield table
        if not block:
            return


def _whole(text: bytes) -> int:
    """Where the last line ends that is whole: not within quotes."""
    end = text.rfind(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
    return end


def _table(file: QueryFile, text: bytes, types: dict[str, pa.DataType]) -> pa.Table:
    time_column = file.query.time
    known = {**{name: ARROW[kind] for name, kind in file.types.items()}, **types}
    if time_column is not None and not pa.types.is_integer(known.get(time_column, pa.string())):
        known[time_column] = pa.string()
    convert = pa.csv.ConvertOptions(
        column_types=known, null_values=["", *file.nulls], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    try:
        table = pa.csv.read_csv(
            io.BytesIO(text), parse_options=pa.csv.ParseOptions(delimiter=file.delimiter), convert_options=convert
        )
    except pa.ArrowInvalid as error:
        raise WindrowError(f"standard input: {error}") from None
    file.check_names(table.column_names, "standard input")
    if time_column is not None and pa.types.is_string(table[time_column].type):
        texts = table[time_column]
        if all(text is not None and text.strip().lstrip("+-").isdigit() for text in texts.to_pylist()):
            times = texts.cast(pa.int64())
        else:
            times = parsed(texts, types.get(time_column), time_column)
        table = table.set_column(table.column_names.index(time_column), time_column, times)
    if not types:
        try:
            file.check_types(table.schema, "standard input")
        except Usage as error:
            raise WindrowError(str(error)) from None
    return table


def _screen() -> bool:
    """Whether somebody could see a browser that opens."""
    if os.environ.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
