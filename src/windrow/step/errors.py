"""Errors of aggregates and windows name the window in which they came up."""

from __future__ import annotations

from windrow.engine.compiler import CompilationFailed
from windrow.errors import StoreError


def named(error: Exception, where: str) -> None:
    """The error says where; those of the compiler and of a store are left as they are."""
    if isinstance(error, OverflowError):
        raise OverflowError(f"{error} ({where})") from error
    if not isinstance(error, (CompilationFailed, StoreError)):
        error.add_note(f"in {where}")
