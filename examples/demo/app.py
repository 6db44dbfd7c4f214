"""The options of `python -m examples.demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from examples.demo import show
from windrow.cli.exits import console, exit_code, new_app

app = new_app()


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Where demo.html is written; a temporary folder if not said.")
    ] = None,
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Show the page where there is a screen.")] = True,
    spark: Annotated[bool, typer.Option(help="Run on Spark; without it, in this process only.")] = True,
    debug: Annotated[bool, typer.Option("--debug", help="On an error, the whole traceback.")] = False,
) -> None:
    """The flights that left New York in 2013 as one query: in this process, as a batch and as a stream on Spark.

    The longest delay of the last 24 hours for each airport, every ten minutes, with sessions and a window of our own
    beside it; the same rows from all three, then Spark's own window() for comparison. It ends with a page of pictures,
    which needs no network. The first run compiles for some seconds; later ones find the kernels on disk.
    """
    show.show(console(), out, opened, spark)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    return exit_code(app, arguments, program="python -m examples.demo", name="demo")
