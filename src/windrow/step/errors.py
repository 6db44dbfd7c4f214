"""Errors of aggregates and windows name the window in which they came up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.engine.kernel import CompilationFailed
from windrow.errors import StoreError, WrongType


class named:
    """An error that is raised within says where; those of the compiler and of a store are left as they are."""

    __slots__ = ("columns", "where")

    def __init__(self, where: Callable[[], str], columns: Sequence[str] = ()) -> None:
        """`columns`: what is read there, for errors about their values."""
        self.where, self.columns = where, columns

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OverflowError):
            raise OverflowError(f"{error} ({self.where()})") from error
        if isinstance(error, WrongType) and self.columns:
            raise WrongType(f"{error}; look at {', '.join(repr(n) for n in self.columns)} ({self.where()})") from error
        if isinstance(error, Exception) and not isinstance(error, (CompilationFailed, StoreError)):
            error.add_note(f"in {self.where()}")
