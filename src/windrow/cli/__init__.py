"""The command line: `windrow`. Thin: what it says is computed elsewhere. It needs the extra `cli`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from windrow.errors import how_to_install

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    try:
        from windrow.cli import app  # not above: the command is installed without the extra, too
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        print(f"windrow: the command line needs rich and typer: {how_to_install('cli')}", file=sys.stderr)
        return 2
    return app.main(arguments)
