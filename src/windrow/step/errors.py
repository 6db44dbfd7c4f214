"""Errors of aggregates and windows name the window in which they came up."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.engine.kernel import CompilationFailed
from windrow.errors import StoreError, WrongType


def named(error: Exception, where: str, columns: Sequence[str] = ()) -> None:
    """The error says where; those of the compiler and of a store are left as they are.

    `columns`: what is read there, for errors about their values.
    """
    if isinstance(error, OverflowError):
        raise OverflowError(f"{error} ({where})") from error
    if isinstance(error, WrongType) and columns:
        raise WrongType(f"{error}; look at {', '.join(repr(name) for name in columns)} ({where})") from error
    if not isinstance(error, (CompilationFailed, StoreError)):
        error.add_note(f"in {where}")
