"""Expressions over columns with nulls: SQL's three-valued logic, on NumPy.

* Null is contagious, but `false and null` is false and `true or null` is true. A predicate that is null does not hold.
* NaN is equal to itself and larger than any number, as in Spark.
* Ints do not wrap: what leaves 64 bits goes on in Python's own ints. Ints beside floats count as floats.
* What is divided by zero is null; `//` and `%` round down, as in Python.
* Times are int64 microseconds; text beside a time is read as one, in UTC where it names no offset. True and False count
  as 1 and 0 in arithmetic.
* `least` and `greatest` skip nulls, and `case` takes the first condition that is true.
"""

from __future__ import annotations

import datetime
import difflib
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.row_views import numbers
from windrow.errors import WindrowError, brief


class Operand(NamedTuple):
    """Values, and where there are any (None: everywhere). Literals have no dimension, columns one."""

    values: np.ndarray
    there: np.ndarray | None
    time: bool = False  # the numbers are times


class Evaluation:
    """One expression's tree (`windows.expressions.Node`) over one set of columns."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        self.text, self.columns = text, columns
        self._known: dict[int, Operand] = {}  # what stands in the tree twice is worked out once

    def condition(self, node: Any) -> np.ndarray:
        """Where it is true: neither false nor null."""
        found = self._truth(node)
        return found.values if found.there is None else found.values & found.there

    def value(self, node: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """The values, and where there are any (None: everywhere)."""
        return self._operand(node)[:2]

    def _operand(self, node: Any) -> Operand:
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._found(node)
        return found

    def _found(self, node: Any) -> Operand:
        with np.errstate(all="ignore"):
            match node.kind:
                case "column":
                    return self._column(node.value)
                case "literal":
                    return _literal(node.value)
                case "and" | "or":
                    return self._connected(node)
                case "not":
                    inner = self._truth(node.parts[0])
                    return Operand(~inner.values, inner.there)
                case "null":
                    there = self._operand(node.parts[0]).there
                    return Operand(np.array(False) if there is None else ~there, None)
                case "in":
                    return self._among(node)
                case "negative" | "abs":
                    inner = self._number(node.parts[0])
                    return Operand(_UNARY[node.kind](inner.values), inner.there)
                case "lower" | "upper" | "length":
                    return self._of_text(node)
                case "coalesce":
                    return self._first([(None, part) for part in node.parts])
                case "case":
                    when, last = node.parts[:-1], node.parts[-1]
                    return self._first([*zip(when[::2], when[1::2], strict=True), (None, last)], every=True)
                case "least" | "greatest":
                    return self._extreme(node)
            if node.kind in _COMPARE:
                return self._compared(node)
            return self._computed(node)

    def _column(self, name: str) -> Operand:
        if name not in self.columns:
            close = difflib.get_close_matches(name, self.columns, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            known = ", ".join(map(repr, self.columns))
            raise WindrowError(
                f"expression {brief(self.text)!r}: there is no column {name!r}{hint} (there are {known})"
            )
        column = self.columns[name]
        return Operand(numbers(column), column.mask, column.dtype.kind == "M" and column.values.dtype != object)

    def _connected(self, node: Any) -> Operand:
        """and, or: Kleene's. `or` is the `and` of opposites."""
        turned = node.kind == "or"
        total: Operand | None = None
        for part in node.parts:
            found = self._truth(part)
            one = Operand(found.values ^ turned, found.there)
            total = one if total is None else _both(total, one)
        assert total is not None
        return Operand(total.values ^ turned, total.there)

    def _compared(self, node: Any) -> Operand:
        a, b = (self._operand(part) for part in node.parts)
        if a.time != b.time:
            a, b = self._as_time(node, a, b.time), self._as_time(node, b, a.time)
        kinds = _kind(a), _kind(b)
        if None not in kinds and kinds[0] != kinds[1] and not set(kinds) <= {"number", "truth"}:
            raise self._wrong(node, f"compares {kinds[0]} with {kinds[1]}")
        return self._elementwise(node, _COMPARE[node.kind], a, b, bool)

    def _as_time(self, node: Any, operand: Operand, beside: bool) -> Operand:
        """A text beside times as a time."""
        value = operand.values.item() if beside and operand.values.ndim == 0 else None
        if not isinstance(value, str):
            return operand
        return Operand(np.array(self._micros(node, value)), operand.there)

    def _micros(self, node: Any, text: str) -> int:
        try:
            return micros_of(text)
        except (ValueError, OverflowError):
            raise self._wrong(node, f"compares times with {text!r}, which is none") from None

    def _among(self, node: Any) -> Operand:
        """in: true where it is one of the literals, else null where one of them is null."""
        (part,), choices = node.parts, node.value
        values, there, time = found = self._operand(part)
        if time and "text" in choices.kinds:
            choices = choices.changed(lambda value: self._micros(node, value) if isinstance(value, str) else value)
        kind = _kind(found)
        for other in choices.kinds:
            if kind is not None and other != kind and not {other, kind} <= {"number", "truth"}:
                raise self._wrong(node, f"compares {kind} with {other}")
        equal = choices.holds(values)
        if not choices.null:
            return Operand(equal, there)
        return Operand(equal, equal if there is None else equal & there)

    def _of_text(self, node: Any) -> Operand:
        found = self._operand(node.parts[0])
        if _kind(found) not in (None, "text"):
            raise self._wrong(node.parts[0], f"is {_kind(found)}, not text")
        flat = [_TEXT[node.kind](value) if isinstance(value, str) else None for value in found.values.reshape(-1)]
        values = np.empty(len(flat), object)
        values[:] = flat
        if node.kind == "length":
            values = np.array([0 if value is None else value for value in flat], np.int64)
        return Operand(values.reshape(found.values.shape), found.there)

    def _first(self, choices: list[tuple[Any, Any]], every: bool = False) -> Operand:
        """Of each row the first value whose condition is true (None: always); one that is null counts if `every`."""
        parts = [(None if when is None else self.condition(when), self._operand(then)) for when, then in choices]
        values = self._alike(choices[0][1], [value for _, value in parts])
        shape = np.broadcast_shapes(
            *(v.values.shape for v in values), *(np.shape(w) for w, _ in parts if w is not None)
        )
        found = np.zeros(shape, values[0].values.dtype) if values[0].values.dtype != object else np.full(shape, None)
        there, open_ = np.zeros(shape, bool), np.ones(shape, bool)
        for (when, _), value in zip(parts, values, strict=True):
            known = np.broadcast_to(True if value.there is None else value.there, shape)
            mine = open_ & (True if when is None else when) if every else open_ & known
            found[mine] = np.broadcast_to(value.values, shape)[mine]
            there[mine] = known[mine]
            open_ = open_ & ~mine
        return Operand(found, None if there.all() else there, values[0].time)

    def _extreme(self, node: Any) -> Operand:
        """Nulls are skipped, as Spark does; NaN is the largest."""
        parts = self._alike(node, [self._operand(part) for part in node.parts])
        total = parts[0]
        for part in parts[1:]:
            less = self._elementwise(node, _less, part, total, bool)
            wins = (
                less.values
                if node.kind == "least"
                else ~less.values & ~self._elementwise(node, _equal, part, total, bool).values
            )
            mine, old = (np.broadcast_to(True if o.there is None else o.there, wins.shape) for o in (part, total))
            takes = (mine & wins & (less.there if less.there is not None else True)) | (mine & ~old)
            known = mine | old
            values = np.where(takes, part.values, total.values)
            total = Operand(values, None if known.all() else known, part.time)
        return total

    def _alike(self, node: Any, parts: list[Operand]) -> list[Operand]:
        """Values that can stand in one column: numbers become floats beside floats."""
        kinds = list(dict.fromkeys(kind for part in parts if (kind := _kind(part)) is not None))
        if len(kinds) > 1 and not set(kinds) <= {"number", "truth"}:
            raise self._wrong(node, f"has {' and '.join(kinds)} for one value")
        known = [part for part in parts if _kind(part) is not None]
        if len({part.time for part in known}) > 1:
            raise self._wrong(node, "has times and numbers for one value")
        if not known:
            return [Operand(np.full(part.values.shape, None), part.there) for part in parts]
        dtype = np.result_type(*(part.values.dtype for part in known)) if len(kinds) == 1 else np.dtype(np.float64)
        if len(kinds) > 1 and not any(part.values.dtype == np.float64 for part in known):
            dtype = np.dtype(np.int64 if all(part.values.dtype != object for part in known) else object)
        empty = [_kind(part) is None for part in parts]
        return [
            Operand(np.zeros(p.values.shape, dtype) if none else p.values.astype(dtype), p.there, known[0].time)
            for p, none in zip(parts, empty, strict=True)
        ]

    def _computed(self, node: Any) -> Operand:
        a, b = (self._number(part) for part in node.parts)
        if node.kind in ("/", "//", "%"):
            zero = self._elementwise(node, _COMPARE["=="], b, _literal(0), bool)
            if (zero.values & (True if zero.there is None else zero.there)).any():
                there = ~zero.values if b.there is None else b.there & ~zero.values
                b = Operand(np.where(zero.values, b.values.dtype.type(1), b.values), there)
        return self._elementwise(node, _ARITHMETIC[node.kind], a, b, object)

    def _elementwise(self, node: Any, function: Callable, a: Operand, b: Operand, kind: type) -> Operand:
        there = _known(a, b)
        if object not in (a.values.dtype, b.values.dtype):
            return Operand(function(a.values, b.values), there)
        # objects: one by one, and only where there are any
        pair = np.broadcast_arrays(a.values, b.values, True if there is None else there)
        older, newer, where = (np.atleast_1d(part) for part in pair)
        answers: np.ndarray = np.zeros(where.shape, kind)
        try:
            answers[where] = function(older[where].astype(object), newer[where].astype(object))
        except (TypeError, ArithmeticError) as error:
            raise self._wrong(node, f"does not go: {error}") from error
        return Operand(answers.reshape(pair[0].shape), there)

    def _truth(self, node: Any) -> Operand:
        found = self._operand(node)
        kind = _kind(found)
        if kind is None:  # nothing but nulls
            return Operand(np.zeros(found.values.shape, bool), found.there)
        if kind != "truth":
            hint = f"; compare it, as in {self._place(node)} != 0" if kind == "number" else ""
            raise self._wrong(node, f"is {kind}, not true or false{hint}")
        if found.values.dtype == object:
            found = Operand(np.equal(found.values, True).astype(bool), found.there)
        return found

    def _number(self, node: Any) -> Operand:
        found = self._operand(node)
        kind = _kind(found)
        if kind not in (None, "number", "truth"):
            raise self._wrong(node, f"is {kind}, not a number")
        return Operand(found.values.astype(np.int64), found.there) if found.values.dtype == bool else found

    def _place(self, node: Any) -> str:
        return brief(self.text[node.start : node.end])

    def _wrong(self, node: Any, why: str) -> WindrowError:
        return WindrowError(f"expression {brief(self.text)!r}: {self._place(node)} {why}")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TEXT: dict[str, Callable[[str], Any]] = {"lower": str.lower, "upper": str.upper, "length": len}


def micros_of(text: str) -> int:
    """A time as microseconds since 1970; in UTC where it names no offset.

    >>> micros_of("1970-01-02"), micros_of("1970-01-01T02:00:00+02:00")
    (86400000000, 0)
    """
    when = datetime.datetime.fromisoformat(text)
    when = when.replace(tzinfo=datetime.UTC) if when.tzinfo is None else when
    return (when - _EPOCH) // datetime.timedelta(microseconds=1)


def _literal(value: Any) -> Operand:
    if value is None:
        return Operand(np.array(None, object), np.array(False))
    if isinstance(value, str) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        return Operand(np.array(value, object), None)
    return Operand(np.array(value), None)


def _known(a: Operand, b: Operand) -> np.ndarray | None:
    if a.there is None or b.there is None:
        return b.there if a.there is None else a.there
    return a.there & b.there


def _both(a: Operand, b: Operand) -> Operand:
    """and: false wherever one is known to be false."""
    values = a.values & b.values
    if a.there is None and b.there is None:
        return Operand(values, None)
    a_there, b_there = (np.array(True) if operand.there is None else operand.there for operand in (a, b))
    return Operand(values, (a_there & b_there) | (a_there & ~a.values) | (b_there & ~b.values))


def _kind(operand: Operand) -> str | None:
    """What the values are, in words; None: nothing but nulls."""
    values, there = operand[:2]
    if values.dtype != object:
        return "truth" if values.dtype == bool else "number"
    flat = values.reshape(-1)
    where = np.broadcast_to(True if there is None else there, flat.shape)
    if not where.any():
        return None
    value = flat[int(np.argmax(where))]
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (int, float, Decimal, np.number)):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def _has_nan(values: np.ndarray) -> bool:
    return values.dtype == np.float64 and bool(np.isnan(values).any())


def _less(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = np.less(a, b)
    return found | (np.isnan(b) & ~_nan(a)) if _has_nan(b) else found


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = np.equal(a, b)
    return found | (np.isnan(a) & np.isnan(b)) if _has_nan(a) and _has_nan(b) else found


def _nan(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype == np.float64 else np.array(False)


def _overflows(a: np.ndarray, b: np.ndarray, kind: str, result: np.ndarray) -> bool:
    """Whether an operation on int64 has left their range."""
    if kind == "+":
        return bool((((a ^ result) & (b ^ result)) < 0).any())
    if kind == "-":
        return bool((((a ^ b) & (a ^ result)) < 0).any())
    if kind == "*":
        return bool((np.abs(a.astype(np.float64) * b.astype(np.float64)) >= 2.0**62).any())
    return bool(((a == -(2**63)) & (b == -1)).any())


def _whole(kind: str, function: Callable) -> Callable:
    """The operation, on Python's ints where 64 bits do not suffice."""

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = function(a, b)
        if a.dtype == b.dtype == np.int64 and kind != "/" and _overflows(a, b, kind, result):
            result = function(a.astype(object), b.astype(object))
        return np.asarray(result)

    return run


def _signed(function: Callable, of_objects: Callable) -> Callable:
    def run(a: np.ndarray) -> np.ndarray:
        if a.dtype != object and not (a.dtype == np.int64 and (a == -(2**63)).any()):
            return np.asarray(function(a))
        answers = a.astype(object)
        for at, value in np.ndenumerate(answers):
            if value is not None:  # a null
                answers[at] = of_objects(value)
        return answers

    return run


_UNARY = {"negative": _signed(np.negative, operator.neg), "abs": _signed(np.abs, abs)}
_COMPARE: dict[str, Callable] = {
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": lambda a, b: ~_less(b, a),
    ">=": lambda a, b: ~_less(a, b),
    "==": _equal,
    "!=": lambda a, b: ~_equal(a, b),
}
_ARITHMETIC = {
    kind: _whole(kind, function)
    for kind, function in {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.true_divide,
        "//": np.floor_divide,
        "%": np.remainder,
    }.items()
}
