"""Slide policies as text, `total.n - old.n >= 100`: the language of predicates over the fields of `over`.

The text is parsed by the same allow-list as predicates (`windows.expressions`) and worked out by the functions below,
one for each operation: nothing is evaluated as code. Null is as in predicates: contagious, and does not hold.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from windrow.engine.choices import Choices
from windrow.errors import WindrowError
from windrow.windows.expressions import Node, parse

_FIELD = re.compile(r"('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`)|\b(total|old)\s*\.\s*([^\W\d]\w*)")
Worked = Callable[[Any, Any], Any]  # (total, old) -> the value, None for null


@dataclass(frozen=True)
class SlidePolicy:
    """`evict(total, old)` of `win.policy`, said in a text.

    >>> from types import SimpleNamespace as Fields
    >>> SlidePolicy("total.n - old.n >= 100")(Fields(n=150), Fields(n=50))
    True
    """

    text: str

    def __call__(self, total: Any, old: Any) -> bool:
        return _worked_out(self.text)(total, old) is True

    def check(self, names: Iterable[str]) -> None:
        """Raises where the text is no expression, or reads what is not there."""
        known = [f"{part}.{name}" for name in names for part in ("total", "old")]
        for name in _columns(_tree(self.text)):
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise WindrowError(f"evict reads {name!r}; {hint}")
        _worked_out(self.text)


def _tree(text: str) -> Node:
    """Fields stand for columns, whose names may hold a dot where they are in backquotes."""
    return parse(_FIELD.sub(lambda found: found[1] or f"`{found[2]}.{found[3]}`", text))


def _columns(node: Node) -> Iterator[str]:
    if node.kind == "column":
        yield str(node.value)
    for part in node.parts:
        yield from _columns(part)


@lru_cache(maxsize=64)
def _worked_out(text: str) -> Worked:
    return _function(_tree(text))


def _function(node: Node) -> Worked:
    parts = [_function(part) for part in node.parts]
    match node.kind:
        case "column":
            whole, name = str(node.value).split(".", 1)
            get = operator.attrgetter(name)
            return (lambda total, old: get(total)) if whole == "total" else (lambda total, old: get(old))
        case "literal":
            value = node.value
            return lambda total, old: value
        case "and" | "or":
            return _connected(parts, decides=node.kind == "or")
        case "not":
            (part,) = parts
            return _of_known(lambda a: not a, part)
        case "null":
            (part,) = parts
            return lambda total, old: part(total, old) is None
        case "in":
            (part,), choices = parts, node.value
            assert isinstance(choices, Choices)
            return _of_known(lambda a: choices.has(a) or (None if choices.null else False), part)
        case "negative" | "abs":
            return _of_known(operator.neg if node.kind == "negative" else abs, *parts)
        case "lower" | "upper" | "length":
            return _of_known({"lower": str.lower, "upper": str.upper, "length": len}[node.kind], *parts)
        case "coalesce" | "least" | "greatest":
            return _of_some(_CHOICE[node.kind], parts)
        case "case":
            return _case(parts)
    if node.kind in ("/", "//", "%"):
        divide = _BINARY[node.kind]
        return _of_known(lambda a, b: None if b == 0 else divide(a, b), *parts)
    return _of_known(_BINARY[node.kind], *parts)


def _connected(parts: list[Worked], decides: bool) -> Worked:
    """and, or: one part that `decides` is enough, and null is neither."""

    def run(total: Any, old: Any) -> Any:
        found = [part(total, old) for part in parts]
        return decides if decides in found else None if None in found else not decides

    return run


def _of_known(function: Callable, *parts: Worked) -> Worked:
    def run(total: Any, old: Any) -> Any:
        values = [part(total, old) for part in parts]
        return None if None in values else function(*values)

    return run


def _of_some(choose: Callable, parts: list[Worked]) -> Worked:
    """Of those values that are not null."""

    def run(total: Any, old: Any) -> Any:
        known = [value for part in parts if (value := part(total, old)) is not None]
        return reduce(choose, known) if known else None

    return run


def _case(parts: list[Worked]) -> Worked:
    choices = list(zip(parts[:-1:2], parts[1::2], strict=True))

    def run(total: Any, old: Any) -> Any:
        found = next((then for when, then in choices if when(total, old) is True), parts[-1])
        return found(total, old)

    return run


def _less(a: Any, b: Any) -> bool:
    """NaN is larger than any number, as everywhere here."""
    return a < b or (b != b and a == a)


def _equal(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


_CHOICE: dict[str, Callable[[Any, Any], Any]] = {
    "coalesce": lambda a, b: a,
    "least": lambda a, b: b if _less(b, a) else a,
    "greatest": lambda a, b: b if _less(a, b) else a,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": lambda a, b: not _less(b, a),
    ">=": lambda a, b: not _less(a, b),
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
}
