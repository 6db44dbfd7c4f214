"""The options of `python -m benchmarks`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import command
from windrow.cli.ending import Usage
from windrow.cli.exits import console, exit_code, new_app

app = new_app()


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
    debug: Annotated[bool, typer.Option("--debug", help="On an error, the whole traceback.")] = False,
) -> None:
    """Runs the papers' experiments: a CSV, a picture and a table each, the paper's own result beneath; one report.

    Figures are ratios taken in one run on one machine, with their spread. Pictures and peers need the extra bench.
    """
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    return exit_code(app, arguments, program="python -m benchmarks", name="benchmarks")
