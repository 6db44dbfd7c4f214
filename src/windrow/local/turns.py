"""Calls of one object take turns: each sees whole calls of other threads, never half of one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from windrow.errors import WindrowError

F = TypeVar("F", bound=Callable[..., Any])


def in_turn(method: F) -> F:
    """A method of what has a `turn`, a `threading.RLock`: calls of it, and of others like it, take turns."""

    @functools.wraps(method)
    def alone(self: Any, *arguments: Any, **options: Any) -> Any:
        if self.turn._is_owned():  # by this thread: from an aggregate or a window of the query itself
            raise WindrowError("a query cannot be used by its own aggregates or windows while it takes in rows")
        with self.turn:
            return method(self, *arguments, **options)

    return cast(F, alone)
