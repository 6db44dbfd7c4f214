"""From answers to result columns: one table over all windows, changes only where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windrow.aggregates.compare import alike
from windrow.engine.inputs import object_array
from windrow.frames import Frame, Instants, Output, Taken, Times, Values
from windrow.query import FINAL, Query
from windrow.step.groups import Answer
from windrow.step.results import Ended
from windrow.windows.base import TIME, Measure


def stacked(parts: Sequence[Answer]) -> Answer:
    """Answers below one another."""
    if len(parts) == 1:
        return parts[0]
    there = None
    if any(part.there is not None for part in parts):
        there = np.concatenate([np.ones(len(p.values), bool) if p.there is None else p.there for p in parts])
    return Answer(np.concatenate([part.values for part in parts]), there, parts[0].rows_of)


def output(answer: Answer, source: Frame | None = None) -> Output:
    """An answer as a column of the result; `source` has the rows that it may be of, where the result's own has not."""
    if answer.rows_of is None:
        return Values(answer.values, answer.there)
    rows = answer.values if answer.there is None else np.where(answer.there, answer.values, -1)
    return Taken(answer.rows_of if source is None else source.labels(answer.rows_of), rows)


def table(
    query: Query,
    found: Sequence[Ended],
    keys: Callable[[np.ndarray], dict[str, Output]],
    times: Times | None,
    made: Callable[[Answer], Output] = output,
) -> dict[str, Output]:
    """The result's columns: keys, the window's name, its edges, the aggregates."""
    columns: dict[str, Output] = keys(_together([f.key for f in found]))
    if query.named:
        sizes = [len(f.key) for f in found]
        columns["window"] = Values(np.repeat(object_array([f.window for f in found]), sizes), texts=True)
    for measure, (start, end) in query.edge_names().items():
        mine = [len(found) == 1 or query.measure(query.windows[f.window]) == measure for f in found]
        columns[start] = _edges(found, mine, measure, times, lambda f: (f.start, None))
        columns[end] = _edges(found, mine, measure, times, lambda f: (f.end, f.ended))
    for name in query.aggregates:
        columns[name] = made(stacked([f.answers[name] for f in found]))
    return columns


def _edges(
    found: Sequence[Ended], mine: Sequence[bool], measure: Measure, times: Times | None, side: Callable[[Ended], Any]
) -> Output:
    """The starts or ends of the windows of one measure, null for the others."""
    if len(found) == 1:
        both, known = side(found[0])
        return Instants(both, known, times) if measure == TIME and times is not None else Values(both, known)
    values, masks = [], []
    for f, own in zip(found, mine, strict=True):
        edge, there = side(f)
        values.append(edge if own else np.zeros(len(edge), np.int64))
        masks.append(np.full(len(edge), own) if there is None or not own else there)
    mask = np.concatenate(masks)
    known = None if mask.all() else mask
    both = np.concatenate(values)
    if measure == TIME:
        assert times is not None
        return Instants(both.astype(np.int64, copy=False), known, times)
    return Values(both, known)


class LastAnswers(dict[int, tuple]):
    """The last answers of each key. What a step changes can be taken back."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[int, tuple | None] = {}

    def __setitem__(self, key: int, row: tuple) -> None:
        self._before.setdefault(key, self.get(key))
        super().__setitem__(key, row)

    def commit(self) -> None:
        self._before.clear()

    def rollback(self) -> None:
        for key, row in self._before.items():
            if row is None:
                del self[key]
            else:
                super().__setitem__(key, row)
        self._before.clear()


def _together(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def changed(query: Query, key: np.ndarray, answers: Mapping[str, Answer], last: dict[int, tuple]) -> np.ndarray:
    """Which results, sorted by key, differ from the one before of the same key; `last` goes on to the next batch.

    To differ from the result before is to differ from the last one that was sent: what lies between was equal to it.
    """
    answers = {name: comparable(a) if query.aggregates[name].unordered else a for name, a in answers.items()}
    n = len(key)
    differs = np.ones(n, bool)
    if not n:
        return differs
    differs[1:] = key[1:] != key[:-1]
    for answer in answers.values():
        values, there = answer.values, answer.there
        new = np.asarray(values[1:] != values[:-1], bool)
        if values.dtype.kind == "f":
            new &= ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        if there is not None:
            new = (new & there[1:] & there[:-1]) | (there[1:] != there[:-1])
        differs[1:] |= new
    heads = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    tails = np.append(heads[1:], n) - 1
    for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
        code = int(key[head])
        differs[head] = code not in last or not alike(last[code], _row(answers, head), 0.0)
        last[code] = _row(answers, tail)
    return differs


def comparable(answer: Answer) -> Answer:
    """Sets that can be compared: the items of equal sets in the same order."""

    def listed(items: Any) -> Any:
        return None if items is None else sorted(items, key=lambda item: (type(item).__name__, repr(item)))

    return replace(answer, values=object_array([listed(items) for items in answer.values]))


def _row(answers: Mapping[str, Answer], i: int) -> tuple:
    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value

    return tuple(None if a.there is not None and not a.there[i] else plain(a.values[i]) for a in answers.values())


def some(found: Ended, at: np.ndarray) -> Ended:
    """Some of the windows."""
    return replace(
        found, key=found.key[at], start=found.start[at], end=found.end[at],
        ended=None if found.ended is None else found.ended[at], answers={n: a.at(at) for n, a in found.answers.items()},
    )  # fmt: skip


def result_names(query: Query) -> list[str]:
    """The result's columns, without those of the input."""
    final = [FINAL] if query.updates else []
    if query.per_row:
        return [*query.answer_names().values(), *final]
    edges = [name for pair in query.edge_names().values() for name in pair]
    return [*query.by, *(["window"] if query.named else []), *edges, *query.aggregates, *final]


def all_final(query: Query, n: int) -> dict[str, Output]:
    """The column that says of n results that they are final, where the query has one."""
    return {FINAL: Values(np.ones(n, bool))} if query.updates else {}


def nothing(names: Iterable[str]) -> dict[str, Output]:
    """No results."""
    return dict.fromkeys(names, Values(np.empty(0, object)))
