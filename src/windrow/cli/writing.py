"""Output: a folder of part files that appears when it is complete, and not at all where something fails."""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from windrow.aggregates.values import encodes
from windrow.cli.ending import Usage
from windrow.errors import WindrowError

#: what a folder of results holds, and nothing else: ours, and what Spark leaves beside its files
RESULT = re.compile(r"part-.*|_SUCCESS|_spark_metadata|\..*\.crc")


class Folder:
    """Where results go.

    Args:
        path: the folder.
        form: "parquet", "csv" or "jsonl".
        overwrite: results that are there already may be replaced.
    """

    def __init__(self, path: Path, form: str, overwrite: bool) -> None:
        self.path, self.form = path, form
        if not encodes(str(path.resolve())):
            raise Usage(f"--output {path}: the folder's name is not UTF-8 text")
        if path.exists() and not path.is_dir():
            raise Usage(f"--output {path}: is a file, and a folder is wanted")
        if not path.resolve().parent.is_dir():
            raise Usage(f"--output {path}: the folder {path.resolve().parent} does not exist")
        there = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        if there and not overwrite:
            raise Usage(f"--output {path}: the folder is there and not empty; --overwrite replaces results")
        others = [name for name in there if not RESULT.fullmatch(name)]
        if others:
            raise Usage(f"--output {path}: holds {others[0]}, which is no result; --overwrite replaces only results")
        beside = path.resolve()
        self.new = beside.with_name(f".{beside.name}.new-{secrets.token_hex(4)}")

    @contextmanager
    def made(self) -> Iterator[Folder]:
        """The new folder is there in the block; what has not been moved into place by then is gone afterwards."""
        try:
            self.new.mkdir()
        except OSError as error:
            raise WindrowError(f"--output {self.path}: cannot be written: {error.strerror or error}") from error
        try:
            yield self
        finally:
            shutil.rmtree(self.new, ignore_errors=True)

    def move(self) -> None:
        """The new folder takes its place, and that of older results."""
        old = self.path.resolve()
        if not old.exists():
            self.new.rename(old)
            return
        aside = self.new.with_name(self.new.name.replace(".new-", ".old-"))
        old.rename(aside)
        try:
            self.new.rename(old)
        except OSError:
            aside.rename(old)
            raise
        shutil.rmtree(aside, ignore_errors=True)

    def part(self, number: int) -> Path:
        """The file of a part, in the new folder."""
        return self.new / part_name(number, self.form)


def part_name(number: int, form: str) -> str:
    """What a part is called.

    >>> part_name(3, "csv")
    'part-00003.csv'
    """
    return f"part-{number:05}.{form}"


class Part:
    """One file of results, written table by table. Under its name only when it is complete."""

    def __init__(self, path: Path, form: str) -> None:
        self.path, self.form, self.rows = path, form, 0
        self.hidden = path.with_name(f".{path.name}.tmp")
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Adds rows; the first table's columns are the file's."""
        try:
            if self.form == "csv":
                table = _flat(table)
            if self._writer is None:
                self._writer = self._opened(table.schema)
            self._writer.write(table)
        except (pa.ArrowException, OSError) as error:
            raise WindrowError(f"{self.path}: cannot be written as {self.form}: {error}") from error
        self.rows += table.num_rows

    def done(self) -> None:
        """Closes the file and gives it its name; to be on the disk when this returns."""
        if self._writer is not None:
            self._writer.close()
            with self.hidden.open("rb") as file:
                os.fsync(file.fileno())
            self.hidden.rename(self.path)

    def drop(self) -> None:
        """Nothing is left of it."""
        if self._writer is not None:
            self._writer.close()
            self.hidden.unlink(missing_ok=True)

    def _opened(self, schema: pa.Schema) -> Any:
        if self.form == "parquet":
            return pq.ParquetWriter(self.hidden, schema)
        return pa.csv.CSVWriter(self.hidden, schema) if self.form == "csv" else JsonLines(self.hidden)


class JsonLines:
    """One JSON object a row. NaN and infinities are texts, as Spark writes them: JSON has no word for them."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8")

    def write(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self.file.write(json.dumps(jsonable(row), ensure_ascii=False, allow_nan=False) + "\n")

    def close(self) -> None:
        self.file.close()


def jsonable(value: Any) -> Any:
    """A value as JSON can say it.

    >>> jsonable({"a": float("nan"), "b": [datetime.date(2024, 5, 1), Decimal("1.50")], "c": b"x"})
    {'a': 'NaN', 'b': ['2024-05-01', '1.50'], 'c': 'eA=='}
    """
    if isinstance(value, dict):
        return {str(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(part) for part in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (datetime.date, datetime.time)):  # datetimes are dates
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, (Decimal, datetime.timedelta)) else value


def _flat(table: pa.Table) -> pa.Table:
    """Without what a CSV file has no form for: lists and structs become JSON."""
    for i, field in enumerate(table.schema):
        column = table[field.name]
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, column.cast(field.type.value_type))
        elif pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_duration(field.type):
            texts = [
                None if value is None else json.dumps(jsonable(value), ensure_ascii=False)
                for value in column.to_pylist()
            ]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table
