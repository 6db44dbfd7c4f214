"""The command line: `windrow`. Thin: what it says is computed elsewhere. It needs the extra `cli`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    try:
        from windrow.cli import app  # not above: the command is installed without the extra, too
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        print("windrow: the command line needs rich and typer: pip install '.[cli]' in a checkout", file=sys.stderr)
        return 2
    return app.main(arguments)
