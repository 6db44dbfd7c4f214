"""How a command ends other than well: what it raises for `exits.exit_code` to say in one line."""

from __future__ import annotations


class Usage(Exception):
    """Bad usage, or a bad query: exit code 2."""


class Interrupted(Exception):
    """Stopped on purpose at a place from which the same command goes on: exit code 130."""
