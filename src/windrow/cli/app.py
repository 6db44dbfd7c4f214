"""The commands of `windrow`; how they end is in `exits`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import windrow
from windrow.cli.ending import Usage
from windrow.cli.exits import console, exit_code, new_app

app = new_app("Sliding-window aggregation, exact at constant cost per row.")


class Engine(StrEnum):
    """Where a query runs."""

    local = "local"
    spark = "spark"


class Form(StrEnum):
    """How files are written."""

    parquet = "parquet"
    csv = "csv"
    jsonl = "jsonl"


QueryPath = Annotated[Path, typer.Argument(metavar="QUERY.toml", help="The query: see docs/command_line.md.")]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="The query may name Python code, module:Name, which then runs.")
]
InputForm = Annotated[
    Form | None, typer.Option("--input-format", help="What the input files are, where their names do not tell.")
]
InEngine = Annotated[Engine, typer.Option(help="In this process, or on Spark.")]


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"windrow {windrow.__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and end.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="On an error, the whole traceback.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    query: QueryPath,
    given: Annotated[str, typer.Option("--input", "-i", help="A file, a folder, or a pattern in quotes.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the results.")],
    engine: InEngine = Engine.local,
    stream: Annotated[bool, typer.Option("--stream", help="Files one after the other, in bounded memory.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="With --stream: where the state is kept, so that the same command goes on.")
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="With --checkpoint: no more rows will come, windows that are open end.")
    ] = False,
    form: Annotated[Form, typer.Option("--format", help="Of the results.")] = Form.parquet,
    input_form: InputForm = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Results in the folder are replaced.")] = False,
    allow_code: AllowCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Runs a query over Parquet, CSV or JSON lines and writes the results into a folder."""
    from windrow.cli.opening import opened

    if checkpoint is not None and not stream:
        raise Usage("--checkpoint goes with --stream")
    if close and (checkpoint is None or engine is Engine.spark):
        raise Usage("--close goes with --checkpoint and --engine local; without a checkpoint a stream is always closed")
    if stream and engine is Engine.spark and checkpoint is None:
        raise Usage("--stream on Spark needs --checkpoint DIR")
    start = time.perf_counter()
    here = engine is Engine.local
    job = opened(
        query, given, input_form, allow_code=allow_code, live=stream and here, output=output, form=str(form),
        overwrite=overwrite, checkpoint=checkpoint, close=close,
    )  # fmt: skip
    if here:
        from windrow.cli import run, streaming

        report = streaming.stream(job) if stream else run.batch(job)
    else:
        from windrow.cli import on_spark

        report = on_spark.stream(job) if stream else on_spark.batch(job)
    seconds = time.perf_counter() - start
    if as_json:
        print(json.dumps({**asdict(report), "seconds": round(seconds, 3), "output": str(output)}))
    else:
        print(
            f"{report.rows_in:,} rows in, {report.rows_out:,} rows out, {report.late:,} late, {report.rejected:,} "
            f"rejected, {seconds:.1f} seconds: {output}"
        )


@app.command()
def explain(
    query: QueryPath,
    given: Annotated[str | None, typer.Option("--input", "-i", help="Rows to measure on: as for run.")] = None,
    engine: InEngine = Engine.local,
    input_form: InputForm = None,
    allow_code: AllowCode = False,
) -> None:
    """The plan of a query: how each window is sliced, which algorithm answers it, why, and at what cost."""
    from windrow.cli.query_file import QueryFile

    file = QueryFile(query, allow_code=allow_code)
    if given is None:
        if engine is Engine.spark:
            raise Usage("--engine spark needs --input: the plan depends on the columns' types")
        print(file.query.explain())
        return
    from windrow.cli.opening import planned

    print(planned(file, given, input_form, engine is Engine.spark))


@app.command()
def algorithms(
    words: Annotated[list[str] | None, typer.Argument(help="Words that the card must hold, such as bulk.")] = None,
    aggregate: Annotated[str | None, typer.Option("--for", help="Only those that take this aggregate.")] = None,
    out_of_order: Annotated[
        bool, typer.Option("--out-of-order", help="Only those whose rows may come, leave or change in any order.")
    ] = False,
    worst_case: Annotated[
        bool, typer.Option("--worst-case", help="Only those with constant time in the worst case.")
    ] = False,
    bulk: Annotated[bool, typer.Option("--bulk", help="Only those that take many changes at once.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """The algorithms: what each asks of the aggregate, what it costs, and the paper it is from."""
    from windrow.cli import cards

    cards.show(console(), cards.chosen(words or [], aggregate, out_of_order, worst_case, bulk), as_json)


@app.command()
def warm(
    query: Annotated[
        Path | None, typer.Argument(metavar="[QUERY.toml]", help="A query; without one, what everyday queries use.")
    ] = None,
    given: Annotated[str | None, typer.Option("--input", "-i", help="With a query: its data, as for run.")] = None,
    input_form: InputForm = None,
    allow_code: AllowCode = False,
    target: Annotated[Path | None, typer.Option("--to", help="Also packs the kernels into this file.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Takes kernels from a file that --to made. It must be one you trust.")
    ] = None,
) -> None:
    """Compiles kernels before they are needed, so that no query waits for the compiler."""
    from windrow.cli import warming

    if query is None and given is not None:
        raise Usage("--input goes with a query")
    if query is not None and given is None:
        raise Usage("a query needs --input: the kernels depend on the columns' types")
    warming.warm(query, given, input_form, allow_code, target, source)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    return exit_code(app, arguments, program="windrow", name="windrow")
