"""Input files: Parquet, CSV or JSON lines; one file, a folder or a pattern; as one table, or batch by batch.

Columns of text files have the types that pyarrow finds, or those of the query's [types]. The time column is read as
text and parsed here, so that all files, and all blocks of one, give the same type.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from windrow.aggregates.values import encodes
from windrow.cli.ending import Usage
from windrow.cli.text_times import parsed
from windrow.errors import WindrowError

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst")
ARROW = {
    "string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_(),
    "timestamp": pa.timestamp("us"), "date": pa.date32(),
}  # fmt: skip
#: bytes of a text file that are looked at to tell its columns, and that are read at a time
BLOCK = 8 << 20
#: rows that are pushed at a time
ROWS = 1 << 18
#: rejected rows that are told one by one
TOLD = 10
#: so many text files are looked at before anything is read; the others when it is their turn
PEEKED = 16
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


class Input:
    """Where the rows are.

    Args:
        given: a file, a folder (all files in it, of folders below it too) or a pattern such as `calls/2024-*.csv`.
        form: "parquet", "csv" or "jsonl"; None: by the files' names.
        types: by column, one of `ARROW`: for text files.
        time: the time column.
        check: `check(names, where)` is asked about each file's columns, and raises where the query needs others; about
            those of all files for JSON, whose rows may lack some.
    """

    def __init__(
        self,
        given: str,
        form: str | None,
        types: dict[str, str],
        time: str | None,
        check: Callable[[list[str], str], None],
        nulls: Sequence[str] = (),
        delimiter: str = ",",
    ) -> None:
        self.given, self.time, self.check, self.nulls, self.delimiter = given, time, check, nulls, delimiter
        self.files, self.root = _readable(given)
        self.form = form or _form(self.files)
        self.types = {name: ARROW[kind] for name, kind in types.items()}
        self._time_type: pa.DataType | None = None  # of text files: what the time column becomes
        self._at: tuple[Path, int] | None = None  # the file that is read, and how many of its rows were read before
        self._lost: list[str] = []  # rows whose time is no time
        self._seen: list[tuple[Path, pa.Table]] = []  # what was read of text files last, for `made_text`

    def name(self, file: Path) -> str:
        """A file's name within the input."""
        return file.relative_to(self.root).as_posix()

    def schema(self) -> pa.Schema:
        """Columns and types: of all Parquet files; of text files as far as their beginnings tell."""
        schemas = []
        for file in self.files if self.form == "parquet" else self.files[:PEEKED]:
            with _named(file):
                self._names(file)
                schemas.append(pq.read_schema(file).remove_metadata() if self.form == "parquet" else self._peeked(file))
        unified = self._unified(schemas)
        if self.form == "jsonl":
            self.check(unified.names, self.given)
        return unified

    def remember(self, schema: pa.Schema) -> None:
        """The schema is that of an earlier call: times of text files become what they became then."""
        if self.form != "parquet" and self.time is not None:
            self._time_type = schema.field(self.time).type

    def table(self, columns: list[str] | None) -> pa.Table:
        """All rows, in the order of the files' names; `columns`: only these."""
        self.forget()
        tables = []
        for file in self.files:
            self._at = file, 0
            with _named(file):
                tables.append(self._whole(file, columns))
            self._at = None
            self._seen.append((file, tables[-1]))
        target = self._unified([table.schema for table in tables])
        return pa.concat_tables([_conformed(t, target, f) for t, f in zip(tables, self.files, strict=True)])

    def batches(self, file: Path, schema: pa.Schema) -> Iterator[pa.Table]:
        """One file's rows, some at a time, as columns of this schema."""
        read = 0
        with _named(file):
            for batch in self._batches(file, schema):
                table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
                for begin in range(0, table.num_rows, ROWS):
                    self._at = file, read + begin
                    timed = self._timed(table.slice(begin, ROWS))
                    self._at = None
                    yield _conformed(timed, schema, file)
                read += table.num_rows

    # Parquet says what it holds; text has to be looked at.

    def _names(self, file: Path) -> list[str]:
        """The columns of a file, checked; of JSON none, since only its rows tell."""
        if self.form == "jsonl":
            return []
        if self.form == "parquet":
            names = pq.read_schema(file).names
        else:
            with pa.input_stream(str(file), compression="detect", buffer_size=1 << 16) as source:
                names = next(
                    csv.reader(io.TextIOWrapper(source, "utf-8-sig", "replace", newline=""), delimiter=self.delimiter),
                    [],
                )
        for name, count in Counter(names).items():
            if count > 1:
                raise WindrowError(f"{file}: the column {name!r} is there {count} times")
        if names:  # pyarrow says that a file is empty
            self.check(names, str(file))
        return names

    def _whole(self, file: Path, columns: list[str] | None) -> pa.Table:
        if self.form == "parquet":
            return pq.ParquetFile(file).read(columns=columns)  # without those that it does not have
        if self._time_type is None:
            self._peeked(file)
        try:
            if self.form == "csv":
                return self._timed(_checked(self._csv(file, columns, whole=True), file))
            table = self._json(file, whole=True)
        except pa.ArrowInvalid:
            for _ in self._stream(file):  # one thread: its error names the row
                pass
            raise
        return self._timed(table if columns is None else table.select([c for c in columns if c in table.column_names]))

    def _batches(self, file: Path, schema: pa.Schema) -> Iterator[Any]:
        self._names(file)
        if self.form == "parquet":
            yield from pq.ParquetFile(file).iter_batches(ROWS, columns=schema.names)
            return
        if self._time_type is None:
            self._peeked(file)
        yield from self._stream(file, schema)

    def _stream(self, file: Path, schema: pa.Schema | None = None) -> Iterator[Any]:
        if self.form == "csv":
            reader = self._csv(file, None if schema is None else schema.names, whole=False, schema=schema)
        else:
            reader = self._json(file, whole=False, schema=schema)
        yield from reader

    def _peeked(self, file: Path) -> pa.Schema:
        """Names and types of a text file, from its first block; the time column's type is settled by the first file."""
        table = self._first_block(file)
        if self._time_type is None and self.time in table.column_names and table[self.time].type != pa.null():
            table = self._settled_time(table, file)
        self._seen.append((file, table))
        return _checked(self._timed(table), file).schema

    def _first_block(self, file: Path) -> pa.Table:
        reader = self._stream(file)
        first = next(reader, None)
        if first is not None:
            return pa.Table.from_batches([first])
        return (self._csv(file, None, whole=True) if self.form == "csv" else pa.table({})).slice(0, 0)

    def _settled_time(self, table: pa.Table, file: Path) -> pa.Table:
        """Finds the type of the time column; the block as it is read from now on."""
        kind = table[self.time].type
        if self.time in self.types:
            self._time_type = self.types[self.time]
        elif pa.types.is_string(kind) or pa.types.is_temporal(kind):
            self._time_type = pa.timestamp("us")  # for now: the texts are looked at for zones
            table = self._first_block(file)
            self._time_type = parsed(table[self.time], None, self.time or "").type
        else:
            self._time_type = kind
        return table

    def _as_text(self) -> bool:
        """Whether the time column is read as text, once that is known."""
        return self._time_type is not None and pa.types.is_timestamp(self._time_type)

    def _timed(self, table: pa.Table) -> pa.Table:
        if self._time_type is None or self.time is None or self.time not in table.column_names:
            return table
        column = table[self.time]
        if self._as_text() and pa.types.is_string(column.type):
            texts, column = column, parsed(column, self._time_type, self.time)
            if self._at is not None and column.null_count:
                self._note(texts, column)
        elif pa.types.is_temporal(column.type):
            column = column.cast(self._time_type)
        return table.set_column(table.column_names.index(self.time), self.time, column)

    def _note(self, texts: pa.ChunkedArray, times: pa.ChunkedArray) -> None:
        """Remembers the first rows that are rejected, and why."""
        assert self._at is not None
        file, before = self._at
        for row in pc.indices_nonzero(times.is_null())[: TOLD + 1 - len(self._lost)].to_pylist():
            text = texts[row].as_py()
            why = "is empty" if text is None else f"{text!r} is no time"
            self._lost.append(f"rejected: {file}, row {before + row + 1}: {self.time} {why}")

    def rejections(self) -> list[str]:
        """Which rows were rejected because of their time, and why: the first of them."""
        more = ["rejected: there are more"] if len(self._lost) > TOLD else []
        return self._lost[:TOLD] + more

    def _said_types(self, schema: pa.Schema | None) -> dict[str, pa.DataType]:
        """The types to read columns of text files by; pyarrow finds those of the others."""
        types = dict(self.types) if schema is None else {f.name: f.type for f in schema if f.type != pa.null()}
        if self.time is not None and self._as_text():
            types[self.time] = pa.string()
        return types

    def _csv(self, file: Path, columns: list[str] | None, *, whole: bool, schema: pa.Schema | None = None) -> Any:
        names = self._names(file)
        convert = pa.csv.ConvertOptions(
            column_types=self._said_types(schema),
            include_columns=None if columns is None else [name for name in columns if name in names],
            null_values=["", *self.nulls],  # an empty field is null, "" an empty text: as on Spark
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        read = pa.csv.ReadOptions(block_size=BLOCK, use_threads=whole)
        parse = pa.csv.ParseOptions(delimiter=self.delimiter)
        reader = pa.csv.read_csv if whole else pa.csv.open_csv
        return reader(file, read_options=read, parse_options=parse, convert_options=convert)

    def _json(self, file: Path, *, whole: bool, schema: pa.Schema | None = None) -> Any:
        types = self._said_types(schema)
        parse = pa.json.ParseOptions(
            explicit_schema=pa.schema(list(types.items())) if types else None,
            unexpected_field_behavior="infer" if schema is None else "ignore",
        )
        read = pa.json.ReadOptions(block_size=BLOCK, use_threads=whole)
        return (pa.json.read_json if whole else pa.json.open_json)(file, read_options=read, parse_options=parse)

    def _unified(self, schemas: list[pa.Schema]) -> pa.Schema:
        unified = schemas[0]
        for schema, file in zip(schemas[1:], self.files[1:], strict=False):
            for name in set(schema.names) & set(unified.names):
                pair = [pa.schema([each.field(name)]) for each in (unified, schema)]
                try:
                    pa.unify_schemas(pair, promote_options="permissive")
                except pa.ArrowTypeError:
                    raise WindrowError(
                        f"{file}: column {name!r} holds {schema.field(name).type}, and in files before "
                        f"{unified.field(name).type}{self.made_text([name])}"
                    ) from None
            unified = pa.unify_schemas([unified, schema], promote_options="permissive")
        if self.form == "parquet":
            return unified
        # where no row has a value, nothing tells a type: times are times, anything else is a number as good as another
        untold = {name: pa.float64() for name in unified.names} | {self.time: pa.timestamp("us")}
        return pa.schema([f.with_type(untold[f.name]) if f.type == pa.null() else f for f in unified])

    def forget(self) -> None:
        """What was looked at need not be kept any longer."""
        self._seen = []

    def refuse_almost_numbers(self, columns: list[str]) -> None:
        """An error where most values of a column are numbers and some are not: they would be compared as texts."""
        for name in columns:
            for file, table in self._seen if name not in self.types else ():
                if name in table.column_names and pa.types.is_string(table[name].type):
                    numbers = pc.match_substring_regex(table[name], NUMBER).drop_null()
                    if 2 * (pc.sum(numbers).as_py() or 0) > len(numbers):
                        row = pc.index(pc.match_substring_regex(table[name], NUMBER).fill_null(True), False).as_py()
                        value = table[name][row].as_py()
                        raise WindrowError(
                            f"{file}: column {name!r} holds numbers, and {value!r} in row {row + 1} is none; say "
                            f'nulls = [{json.dumps(value)}] where that means null, or [types] {name} = "string"'
                        )

    def made_text(self, columns: list[str]) -> str:
        """Why a column of numbers was read as text: its first value that is none. "" where it is text throughout."""
        for name in columns:
            for file, table in self._seen:
                if name in table.column_names and pa.types.is_string(table[name].type):
                    numbers = pc.match_substring_regex(table[name], NUMBER)
                    row = pc.index(numbers.fill_null(True), False).as_py()
                    if pc.any(numbers).as_py() and row >= 0:
                        return f"; {table[name][row].as_py()!r} in row {row + 1} of {file} makes {name!r} text"
        return ""


def _readable(given: str) -> tuple[list[Path], Path]:
    """Files whose names pyarrow can be told."""
    files, folder = _found(given)
    for file in files:
        if not encodes(str(file)):
            raise Usage(f"--input {file}: the file's name is not UTF-8 text")
    return files, folder


def _found(given: str) -> tuple[list[Path], Path]:
    """The files in the order of their names, and the folder that they are named from."""
    path = Path(given)
    if path.is_dir():
        inside = [
            Path(folder) / name for folder, _, names in os.walk(path) for name in names
            if not any(part.startswith((".", "_")) for part in (Path(folder) / name).relative_to(path).parts)
        ]  # fmt: skip
        if not inside:
            raise Usage(f"--input {given}: the folder has no files")
        return sorted(inside, key=lambda file: file.relative_to(path).as_posix()), path
    if path.exists():
        return [path], path.parent
    if not glob.has_magic(given):
        raise Usage(f"--input {given}: there is no such file or folder")
    matched = sorted(Path(name) for name in glob.glob(given, recursive=True) if not Path(name).is_dir())
    if not matched:
        raise Usage(f"--input {given}: no file matches the pattern")
    parts = Path(given).parts
    return matched, Path(*parts[: next(i for i, part in enumerate(parts) if glob.has_magic(part))])


def _form(files: list[Path]) -> str:
    kinds: dict[Path, str] = {}
    for file in files:
        suffix = (Path(file.stem).suffix if file.suffix in PACKED else file.suffix).lower()
        kinds[file] = FORMATS.get(suffix, "")
        if not kinds[file]:
            raise Usage(
                f"--input: {file} is neither .parquet nor .csv nor .jsonl by its name; --input-format says what it is"
            )
    if len(set(kinds.values())) > 1:
        one, other = (next(f for f in files if kinds[f] == kind) for kind in sorted(set(kinds.values()))[:2])
        raise Usage(f"--input: files of different kinds, such as {one} and {other}; a pattern can tell them apart")
    return kinds[files[0]]


class _named:
    """Errors of pyarrow's inside name the file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, WindrowError):
            raise WindrowError(f"{self.file}: {error}" if str(self.file) not in str(error) else str(error)) from error
        if isinstance(error, (pa.ArrowException, OSError)):
            raise WindrowError(f"{self.file}: {str(error) or type(error).__name__}") from error


def _checked(table: pa.Table, file: Path) -> pa.Table:
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise WindrowError(f"{file}: column {field.name!r} is not UTF-8 text")
    return table


def _conformed(table: pa.Table, schema: pa.Schema, file: Path) -> pa.Table:
    """The table with just these columns, of these types; null where it has none."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
            continue
        column = table[field.name]
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException as error:
            raise WindrowError(
                f"{file}: column {field.name!r} holds {column.type}, which does not fit {field.type}: {error}"
            ) from None
    return pa.table(columns, schema=schema.remove_metadata())
