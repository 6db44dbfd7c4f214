"""What was changed, so that it can be taken back: a row that fails half-way has never been there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Undo:
    """Changes to dicts and attributes, remembered. A dict's keys may come back in another order.

    >>> undo, table = Undo(), {"a": 1}
    >>> undo.put(table, "a", 2); undo.put(table, "b", 3); undo.rollback(); table
    {'a': 1}
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Callable, tuple]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        self.steps.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def put(self, table: dict, key: Any, value: Any) -> None:
        self._remember(table, key)
        table[key] = value

    def drop(self, table: dict, key: Any) -> Any:
        self._remember(table, key)
        return table.pop(key)

    def later(self, function: Callable, *arguments: Any) -> None:
        """To be called if it all goes back."""
        self.steps.append((function, arguments))

    def rollback(self) -> None:
        while self.steps:
            function, arguments = self.steps.pop()
            function(*arguments)

    def _remember(self, table: dict, key: Any) -> None:
        before = table.get(key, _ABSENT)
        if before is _ABSENT:
            self.steps.append((table.pop, (key, None)))
        else:
            self.steps.append((table.__setitem__, (key, before)))
