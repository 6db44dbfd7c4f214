"""The command line: `windrow`. Thin: what it says is computed elsewhere."""

from windrow.cli.app import main

__all__ = ["main"]
