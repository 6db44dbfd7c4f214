"""From the words of a command line to what is to be done: the query first, then where rows come from and go to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from windrow.cli.query_file import QueryFile
from windrow.errors import WindrowError, how_to_install


def opened(file: QueryFile, given: str, input_form: Any, *, allow_code: bool, live: bool, **words: Any) -> Any:
    """The job of `windrow run`, with everything checked that can be before rows are read.

    `live`: the query is opened for rows as they come, and may use its store; `words` are a `Job`'s other fields.
    """
    need_pyarrow()
    from windrow.cli.run import Job

    if live and words["checkpoint"] is not None and file.file.content.get("store", {}).get("kind") == "memory":
        file.file.refuse("a store in memory does not outlive the process: leave it out, or --checkpoint", "store")
    job = Job(file, rows_of(file, given, input_form), **words)
    if not live:
        file.query.store = None  # a batch has no use for it
    elif file.query.store is not None:  # opened only now: what is refused has touched nothing
        job = replace(job, file=QueryFile(file.given, allow_code=allow_code, open_store=True))
    return job


def planned(file: QueryFile, given: str, input_form: Any, spark: bool) -> str:
    """The plan over some input."""
    need_pyarrow()
    from windrow.cli.run import Source

    rows = rows_of(file, given, input_form)
    job = Source(file, rows)
    schema = job.schema()
    if spark:
        from windrow.cli import on_spark

        job.check_types(schema)
        file.query.store = None
        with on_spark.told():
            return file.query.explain(on_spark.rows(on_spark.session(file), job))
    if rows.form == "parquet":
        job.check_types(schema)
    table = rows.table(job.columns(schema))
    job.check_types(table.schema)
    return file.query.explain(table)


def few_rows(query: Path, given: str, input_form: Any, allow_code: bool, most: int) -> tuple[Any, Any]:
    """A query, and at most so many rows of its input."""
    need_pyarrow()
    from windrow.cli.run import Source

    file = QueryFile(query, allow_code=allow_code)
    rows = rows_of(file, given, input_form)
    job = Source(file, rows)
    table = rows.table(job.columns(job.schema()))
    job.check_types(table.schema)
    file.query.store = None
    return file.query, table.slice(0, most)


def rows_of(file: QueryFile, given: str, form: Any) -> Any:
    """The input of a query."""
    from windrow.cli.reading import Input

    return Input(given, form and str(form), file.types, file.query.time, file.check_names, file.nulls, file.delimiter)


def need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise WindrowError(f"files are read by pyarrow: {how_to_install('files')}") from None
