"""The commands of `windrow`; how they end is in `exits`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import windrow
from windrow.cli.ending import Usage
from windrow.cli.exits import console, exit_code, new_app

app = new_app(completion=True, help="Sliding-window aggregation, exact at constant cost per row.")


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


#: a query without a file, and how text files are read
Windows = Annotated[
    list[str] | None,
    typer.Option(
        "--window", "-w", help="A query without a file: 'sliding 10 minutes every 1 minute'; NAME=... for several."
    ),
]
Aggregates = Annotated[
    list[str] | None, typer.Option("--aggregate", "-a", help="With --window: 'hottest=max(temp)'. Once for each.")
]
By = Annotated[list[str] | None, typer.Option("--by", help="With --window: a key column. Once for each.")]
Time = Annotated[str | None, typer.Option("--time", help="With --window: the event-time column.")]
Lateness = Annotated[
    str | None, typer.Option("--lateness", help="With --window: how late rows may come, '10 minutes'.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of CSV files: one character, or tab.")]
Nulls = Annotated[list[str] | None, typer.Option("--null", help="A text of CSV files that means null. Once for each.")]
FirstWord = Annotated[
    str | None, typer.Argument(metavar="[QUERY.toml]", help="The query; with --window: the input, as --input.")
]
GivenInput = Annotated[
    str | None, typer.Option("--input", "-i", help="A file, a folder, a pattern in quotes, or - for standard input.")
]


def asked(
    first: str | None, given: str | None, windows: list[str] | None, aggregates: list[str] | None,
    by: list[str] | None, time: str | None, lateness: str | None, delimiter: str | None, nulls: list[str] | None,
    allow_code: bool,
) -> tuple[Any, str]:  # fmt: skip
    """The query, from a file or from words, and the input."""
    from dataclasses import replace

    from windrow.cli import toml_file
    from windrow.cli.query_file import QueryFile
    from windrow.cli.query_words import from_words

    extra = {name: value for name, value in (("delimiter", delimiter), ("nulls", nulls)) if value}
    if windows:
        if first is not None and given is not None:
            raise Usage(f"the input is said twice: {first} and --input {given}")
        source = from_words(windows, aggregates or [], by=by, time=time, lateness=lateness)
        given = first or given
    else:
        for option, value in (("--aggregate", aggregates), ("--by", by), ("--time", time), ("--lateness", lateness)):
            if value:
                raise Usage(f"{option} goes with --window; a query file says it itself")
        if first is None:
            raise Usage("give a query: QUERY.toml, or --window 'sliding 10 minutes every 1 minute' and --aggregate")
        source = toml_file.read(Path(first))
    if given is None:
        raise Usage("give the rows: --input FILE, or - for standard input")
    return QueryFile(replace(source, content={**source.content, **extra}), allow_code=allow_code), given


@app.command(short_help="Runs a query over files, or over standard input.")
def run(
    query: FirstWord = None,
    given: GivenInput = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder for the results; - (or none): standard output.")
    ] = None,
    windows: Windows = None,
    aggregates: Aggregates = None,
    by: By = None,
    time_column: Time = None,
    lateness: Lateness = None,
    engine: InEngine = Engine.local,
    stream: Annotated[bool, typer.Option("--stream", help="Files one after the other, in bounded memory.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="With --stream: where the state is kept, so that the same command goes on.")
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="With --checkpoint: no more rows will come, windows that are open end.")
    ] = False,
    form: Annotated[
        Form | None, typer.Option("--format", help="Of the results: parquet in a folder, csv on standard output.")
    ] = None,
    input_form: InputForm = None,
    delimiter: Delimiter = None,
    nulls: Nulls = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Results in the folder are replaced.")] = False,
    allow_code: AllowCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Runs a query over Parquet, CSV or JSON lines. Results go into a folder, or to standard output.

    windrow run QUERY.toml --input calls.csv --output longest

    windrow run -w 'sliding 10 minutes every 1 minute' -a 'hottest=max(temp)' --by sensor --time ts data.csv
    """
    from windrow.cli.opening import opened
    from windrow.cli.pipes import PIPE, given_out, taken_in

    piped = output is None or str(output) == PIPE
    if checkpoint is not None and not stream:
        raise Usage("--checkpoint goes with --stream")
    if checkpoint is not None and (piped or given == PIPE):
        raise Usage("--checkpoint goes on with files: it needs --output DIR, and no standard input")
    if close and (checkpoint is None or engine is Engine.spark):
        raise Usage("--close goes with --checkpoint and --engine local; without a checkpoint a stream is always closed")
    if stream and engine is Engine.spark and checkpoint is None:
        raise Usage("--stream on Spark needs --checkpoint DIR")
    start = time.perf_counter()
    here = engine is Engine.local
    words = query, given, windows, aggregates, by, time_column, lateness, delimiter, nulls
    file, source = asked(*words, allow_code)
    kind = None if input_form is None else str(input_form)
    with taken_in(source, kind) as rows, given_out(output, form and str(form)) as (folder, result_form):
        job = opened(
            file, rows, input_form, allow_code=allow_code, live=stream and here, output=folder, form=result_form,
            overwrite=overwrite, checkpoint=checkpoint, close=close,
        )  # fmt: skip
        if here:
            from windrow.cli import run, streaming

            report = streaming.stream(job) if stream else run.batch(job)
        else:
            from windrow.cli import on_spark

            report = on_spark.stream(job) if stream else on_spark.batch(job)
    seconds = time.perf_counter() - start
    where = sys.stderr if piped else sys.stdout
    if as_json:
        said = {**asdict(report), "seconds": round(seconds, 3), "output": PIPE if piped else str(output)}
        print(json.dumps(said), file=where)
    else:
        print(
            f"{report.rows_in:,} rows in, {report.rows_out:,} rows out, {report.late:,} late, {report.rejected:,} "
            f"rejected, {seconds:.1f} seconds: {'standard output' if piped else output}", file=where,
        )  # fmt: skip
        for line in job.input.rejections():
            print(line, file=sys.stderr)


@app.command(short_help="Shows a query on a local page while rows go through it.")
def watch(
    query: FirstWord = None,
    given: GivenInput = None,
    windows: Windows = None,
    aggregates: Aggregates = None,
    by: By = None,
    time_column: Time = None,
    lateness: Lateness = None,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0.001, help="Rows per second of a file; all at once if not said.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the page; 0: any that is free.")] = 0,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Show the page in a browser.")] = True,
    stay: Annotated[bool, typer.Option("--stay/--no-stay", help="After the last row, until Ctrl-C.")] = True,
    delimiter: Delimiter = None,
    nulls: Nulls = None,
    allow_code: AllowCode = False,
) -> None:
    """Pushes rows through a live query, and shows it on a page of this machine: rates, watermark, newest windows.

    windrow watch QUERY.toml --input calls.csv --rate 100

    sensors | windrow watch --window 'tumbling 1 minute' --aggregate 'max(temp)' --time ts -

    CSV from standard input is taken in as it comes.
    """
    from windrow.cli import watching
    from windrow.cli.opening import need_pyarrow

    need_pyarrow()
    words = query, given, windows, aggregates, by, time_column, lateness, delimiter, nulls
    file, source = asked(*words, allow_code)
    watching.watch(file, source, rate, port, opened, stay)


@app.command(short_help="The plan of a query: slices, algorithms, why, at what cost.")
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


@app.command(short_help="The algorithms: what each asks, costs, and can do.")
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


@app.command(short_help="Compiles kernels before they are needed.")
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
