"""Reads data for a query: a frame, with the columns beside its own that aggregates' inputs are (`windows.inputs`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from windrow import frames
from windrow.engine.inputs import Column
from windrow.engine.three_valued import Evaluation
from windrow.errors import WindrowError, brief
from windrow.frames import Frame, Type
from windrow.frames.types import BOOL, DIGITS, FLOAT64, INT64, NULL, TEXT
from windrow.query import Query
from windrow.windows.expressions import Node
from windrow.windows.inputs import Input

_TRUTHS = frozenset(("and", "or", "not", "null", "in", "<", "<=", ">", ">=", "==", "!="))


def read_for(query: Query, data: Any) -> Frame:
    """A frame that has all columns which the query's aggregates take."""
    return with_inputs(query, frames.read(data))


def with_inputs(query: Query, frame: Frame) -> Frame:
    """The frame, with its derived columns."""
    for name, given in query.inputs.items():
        if name in frame.names:
            raise WindrowError(f"the data has a column {name!r}, which the query derives: rename it")
        for column in given.columns or ():
            frame.check(column)
        frame.derive(name, *_column(given, frame), given.source)
    return frame


def _column(given: Input, frame: Frame) -> tuple[Column, Type]:
    columns = _Readable(frame)
    column, kind = _values(given, frame, columns)
    if given.where is None:
        return column, kind
    holds = given.where.mask(columns, frame.rows)
    mask = holds if column.mask is None else holds & column.mask
    return Column(column.values, None if mask.all() else mask, column.dtype), kind.nullable(True)


def _values(given: Input, frame: Frame, columns: Mapping[str, Column]) -> tuple[Column, Type]:
    """The column without its condition."""
    if given.tree is None:
        return Column(np.ones(frame.rows, bool), None, np.dtype(bool)), BOOL
    if given.source is not None:
        return frame.column(given.source), frame.type(given.source)
    kind = type_of(given.tree, frame, given.text)
    values, there = Evaluation(given.text, columns).value(given.tree)
    values = np.broadcast_to(values, frame.rows)
    there = None if there is None else np.broadcast_to(there, frame.rows)
    values = _fitted(given.text, values, there, kind)
    return Column(values, None if there is None or there.all() else there, values.dtype), kind


def _fitted(text: str, values: np.ndarray, there: np.ndarray | None, kind: Type) -> np.ndarray:
    """Values of an expression in the one type that its columns' types tell."""
    dtype = np.dtype(kind.kind if kind.told else object)
    if values.dtype == dtype:
        return np.array(values)
    known = values if there is None else np.where(there, values, 0)  # what is null is no number
    try:
        return known.astype(dtype)
    except OverflowError:
        at = next(i for i, value in enumerate(known.tolist()) if not -(2**63) <= value < 2**63)
        what = f"{known[at]} in row {at} does not fit a 64-bit integer"
        raise WindrowError(f"expression {brief(text)!r}: {what}") from None


class _Readable(Mapping[str, Column]):
    """The columns of a frame, read when asked for."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __getitem__(self, name: str) -> Column:
        if name not in self.frame.names:
            raise KeyError(name)
        return self.frame.column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.frame.names)

    def __len__(self) -> int:
        return len(self.frame.names)


def type_of(node: Node, frame: Frame, text: str) -> Type:
    """The type of an expression, told by those of the columns alone."""

    def inner(part: Node) -> Type:
        return type_of(part, frame, text)

    def refused(why: str) -> WindrowError:
        return WindrowError(f"expression {brief(text)!r}: {brief(text[node.start : node.end])} {why}")

    if node.kind in _TRUTHS:
        return BOOL
    if node.kind == "column":
        return _plainly(frame.type(str(node.value)))
    if node.kind == "literal":
        kinds = {bool: BOOL, int: INT64, float: FLOAT64, str: TEXT}
        return kinds.get(type(node.value), NULL)
    if node.kind in ("lower", "upper"):
        return TEXT
    if node.kind == "length":
        return INT64
    if node.kind in ("coalesce", "least", "greatest", "case"):
        values = node.parts if node.kind != "case" else (*node.parts[:-1][1::2], node.parts[-1])
        kinds_of = [kind for kind in map(inner, values) if kind.told]
        if any(kind.name not in ("int", "float", "bool", "text", "object") for kind in kinds_of):
            raise refused("is of numbers, truths and texts, not of times or decimals, as an input of an aggregate")
        names = {kind.name for kind in kinds_of}
        if names <= {"int", "float", "bool"} and len(names) > 1:
            return FLOAT64 if "float" in names else INT64
        if len(names - {"text"}) > 1 or ("text" in names and not names <= {"text", "object"}):
            raise refused(f"has {' and '.join(sorted(names))} for one value")
        return next((kind for kind in kinds_of if kind.name != "text"), kinds_of[0] if kinds_of else NULL)
    kinds_of = [inner(part) for part in node.parts]
    decimals = [kind for kind in kinds_of if kind.name == "decimal"]
    if decimals:
        scale = max(kind.scale for kind in kinds_of) if node.kind != "*" else sum(kind.scale for kind in kinds_of)
        whole = all(kind.name in ("decimal", "int") for kind in kinds_of)
        if node.kind not in ("+", "-", "*", "negative", "abs") or not whole or scale > DIGITS:
            raise refused("is of decimals, which add and multiply with decimals and whole numbers only")
        return Type("decimal", scale=scale)
    if node.kind == "/" or any(kind.name == "float" for kind in kinds_of):
        return FLOAT64
    return INT64


def _plainly(kind: Type) -> Type:
    """What an expression makes of a column: times count microseconds."""
    if kind.name in ("int", "uint", "timestamp", "duration", "date"):
        return INT64
    named = {"float": FLOAT64, "bool": BOOL, "text": TEXT}
    return named.get(kind.name, kind)
