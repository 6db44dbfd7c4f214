"""Errors of aggregates and windows name the window in which they came up."""

from __future__ import annotations

from collections.abc import Callable

from windrow.engine.kernel import CompilationFailed
from windrow.errors import StoreError


class named:
    """An error that is raised within says where; those of the compiler and of a store are left as they are."""

    __slots__ = ("where",)

    def __init__(self, where: Callable[[], str]) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OverflowError):
            raise OverflowError(f"{error} ({self.where()})") from error
        if isinstance(error, Exception) and not isinstance(error, (CompilationFailed, StoreError)):
            error.add_note(f"in {self.where()}")
