"""The commands, and how they end: 0 done, 1 a failure of the run, 2 bad usage or a bad query; errors on one line."""

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
from rich.console import Console

import windrow
from windrow.cli.ending import Interrupted, Usage

app = typer.Typer(
    name="windrow",
    help="Sliding-window aggregation, exact at constant cost a row.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Where demo.html is written; a temporary folder if not said.")
    ] = None,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Show the page where there is a screen.")] = True,
    spark: Annotated[bool, typer.Option(help="Run on Spark; without it, in this process only.")] = True,
) -> None:
    """The flights that left New York in 2013 as one query: in this process, as a batch and as a stream on Spark.

    The longest delay of the last 24 hours for each airport, every ten minutes, with sessions and a window of our own
    beside it; the same rows from all three, then Spark's own window() for comparison. It ends with a page of pictures,
    which needs no network. The first run compiles for some seconds; later ones find the kernels on disk.
    """
    from windrow.cli import demo

    demo.show(console(), out, opened, spark)


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments to run; all where none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: all of them in ten minutes.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The papers' own sizes: hours.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (every repetition) instead of tables.")] = False,
    out: Annotated[Path, typer.Option(help="Where the CSVs, the pictures and report.html are written.")] = Path(
        "bench-results"
    ),
    seed: Annotated[int, typer.Option(help="The seed of all generated data.")] = 2015,
    listing: Annotated[bool, typer.Option("--list", help="Only say which experiments there are.")] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: only write report.html from the CSVs there are.")
    ] = False,
) -> None:
    """Runs the papers' experiments: a CSV, a picture and a table each, the paper's own result beneath; one report.

    Figures are ratios taken in one run on one machine, with their spread. Pictures and peers need windrow[bench].
    """
    from windrow.cli import bench as command

    if quick and full:
        raise Usage("--quick and --full exclude each other")
    unknown = command.unknown(names or [])
    if unknown:
        raise Usage(f"no experiment named {', '.join(unknown)}; there are: {', '.join(command.names())}")
    if listing:
        command.show_list(console(), as_json)
    elif report_only:
        command.write_report(console(), out)
    else:
        command.run(names or command.names(), "quick" if quick else "full" if full else "normal", as_json, out, seed)


def console() -> Console:
    """Where results go; wide enough for tables where it is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=150)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [word for word in given if word != "--debug"]  # it may stand anywhere
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(args=given, prog_name="windrow", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except Interrupted as end:
        return complain(str(end), 130)
    except Exception as error:
        usage = isinstance(error, Usage) or getattr(error, "exit_code", None) == 2
        if debug and not usage:
            raise
        if type(error).__name__ == "Abort":
            return complain("interrupted", 130)
        said = (
            error.format_message() if usage and hasattr(error, "format_message") else str(error) or type(error).__name__
        )
        said = "; ".join([said, *getattr(error, "__notes__", ())])
        return complain(said, 2 if usage else 1)


def complain(said: str, code: int) -> int:
    """One line to standard error."""
    print(f"windrow: {' '.join(said.split())}", file=sys.stderr)
    return code
