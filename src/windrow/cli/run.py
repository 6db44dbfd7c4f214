"""`windrow run` in this process: a whole table, or files one after the other through a live query (`streaming`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from windrow.cli.ending import Usage
from windrow.cli.query_file import QueryFile
from windrow.cli.reading import Input
from windrow.cli.writing import Folder, Part
from windrow.errors import WindrowError
from windrow.local.intake import named_columns, reads_any_column
from windrow.query import Report


@dataclass(frozen=True)
class Source:
    """A query and the rows for it."""

    file: QueryFile
    input: Input

    def schema(self) -> pa.Schema:
        """The input's columns, checked against those that the query names."""
        return self.input.schema()

    def check_types(self, schema: pa.Schema) -> pa.Schema:
        """Refuses types that do not go with the query; a value that spoils a column of numbers is the data's fault."""
        query = self.file.query
        read = [name for window in query.windows.values() for name in window.columns]
        read += [name for a in query.aggregates.values() for taken in a.columns for name in query.sources(taken)]
        try:
            self.input.refuse_almost_numbers(read)
            return self.file.check_types(schema, self.input.given)
        except Usage as error:
            why = self.input.made_text(read)
            if why:
                raise WindrowError(f"{error}{why}") from error
            raise
        finally:
            self.input.forget()

    def columns(self, schema: pa.Schema) -> list[str]:
        """The columns that have to be read: all of them come back beside trailing windows."""
        query = self.file.query
        if query.per_row or reads_any_column(query):
            return schema.names
        return named_columns(query) or schema.names[:1]


@dataclass(frozen=True)
class Job(Source):
    """What is to be done, as the command line says it."""

    output: Path
    form: str
    overwrite: bool = False
    checkpoint: Path | None = None
    close: bool = False

    def __post_init__(self) -> None:
        out, given = self.output.resolve(), Path(self.input.given).resolve()
        if given.is_dir() and (out == given or given in out.parents):
            raise Usage(f"--output {self.output}: is inside the input, where the next run would read it")
        if any(out in file.resolve().parents for file in self.input.files):
            raise Usage(f"--output {self.output}: holds the input")


def batch(job: Job) -> Report:
    """The whole input as one table."""
    folder = Folder(job.output, job.form, job.overwrite)
    with shown() as step:
        step("looking at the input", 0)
        schema = job.schema()
        if job.input.form == "parquet":
            job.check_types(schema)
        step(f"reading {len(job.input.files)} file(s)", 0.1)
        table = job.input.table(job.columns(schema))
        if job.input.form != "parquet":
            job.check_types(table.schema)
        with folder.made():
            step("running", 0.4)
            result = job.file.query.run(table)
            step("writing", 0.8)
            part = Part(folder.part(0), job.form)
            part.write(result)
            part.done()
            folder.move()
    return job.file.query.report


@contextmanager
def shown() -> Iterator[Any]:
    """A bar on a terminal, nothing elsewhere: `step(what, how far)`."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda what, part: progress.update(task, description=what, completed=part)
