"""Runs a command line and gives its exit code: 0 done, 1 a failure of the run, 2 bad usage; errors on one line.

The benchmarks and the demo end in the same way, so they call this as well.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

from windrow.cli.ending import Interrupted, Usage


def new_app(help: str | None = None, completion: bool = False) -> typer.Typer:
    """A command line in plain text, whose errors are left to `exit_code`."""
    return typer.Typer(
        help=help,
        no_args_is_help=False,
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def console() -> Console:
    """Where results go; wide enough for tables where it is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=150)


def exit_code(app: typer.Typer, arguments: Sequence[str] | None, program: str, name: str) -> int:
    """Runs a command line. Its help calls it `program`, and its errors begin with `name`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [word for word in given if word != "--debug"]  # it may stand anywhere
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(args=given, prog_name=program, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return complain(name, "interrupted", 130)
    except Interrupted as end:
        return complain(name, str(end), 130)
    except Exception as error:
        usage = isinstance(error, Usage) or getattr(error, "exit_code", None) == 2
        if debug and not usage:
            raise
        if type(error).__name__ == "Abort":
            return complain(name, "interrupted", 130)
        said = (
            error.format_message() if usage and hasattr(error, "format_message") else str(error) or type(error).__name__
        )
        said = "; ".join([said, *getattr(error, "__notes__", ())])
        return complain(name, said, 2 if usage else 1)


def complain(name: str, said: str, code: int) -> int:
    """One line to standard error."""
    # a file's name need not be text
    text = " ".join(said.split()).encode(errors="backslashreplace").decode()
    print(f"{name}: {text}", file=sys.stderr)
    return code
