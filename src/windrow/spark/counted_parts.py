"""Parts of time for windows that count rows: where they begin and how far back their context goes is counted first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from pyspark.sql import functions as F

from windrow.query import Query
from windrow.spark import statistics
from windrow.spark.parts import PART, quoted
from windrow.spark.rows import CONTEXT, Place
from windrow.spark.statistics import STEP, STEPS, WHICH, Steps, stepped
from windrow.windows.base import ROWS, TIME, Measure
from windrow.windows.durations import spelled

#: a part is at least so many windows long, and there are about so many parts a core
LONG, A_CORE = 4, 4
OWN, LAST = "__windrow_own", "__windrow_last"


@dataclass(frozen=True)
class Cuts:
    """Parts as ranges of steps: where each begins, where its context does, and how many rows are context in all."""

    begin: tuple[int, ...]
    context: tuple[int, ...]
    copied: int


def counting(query: Query) -> bool:
    """Whether each answer needs no more than a known number of rows, and of a known time, before its last one."""
    if query.changes_only or query.time is None:
        return False
    windows = query.windows.values()
    if any(w.reach is None for w in windows):
        return False
    return all(w.per_row for w in windows) or all(w.measure == ROWS and not w.per_row for w in windows)


def reach(query: Query) -> int:
    """How many rows back windows reach."""
    return _longest(query, ROWS) + 1


def _longest(query: Query, measure: Measure) -> int:
    return max((w.reach or 0 for w in query.windows.values() if w.measure == measure), default=0)


def cut(counts: Sequence[int], rows: int, reach: int, back: int = 0) -> Cuts:
    """Parts of at least so many rows; the context of each has at least `reach` rows and `back` steps, or all there are.

    >>> cut([5, 5, 1, 5, 5, 5], rows=10, reach=6)
    Cuts(begin=(0, 2, 5), context=(0, 0, 3), copied=20)
    >>> cut([5, 5, 1, 5, 5, 5], rows=10, reach=6, back=3)
    Cuts(begin=(0, 2, 5), context=(0, 0, 2), copied=21)
    """
    before = np.concatenate([[0], np.cumsum(counts)])
    begin = [0]
    for step in range(1, len(counts)):
        if before[step] - before[begin[-1]] >= rows and before[step] < before[-1]:
            begin.append(step)
    reached = [int(np.searchsorted(before, before[b] - reach, "right")) - 1 for b in begin]
    context = [max(0, min(step, b - back)) for step, b in zip(reached, begin, strict=True)]
    return Cuts(tuple(begin), tuple(context), int((before[begin] - before[context]).sum()))


def cut_up(query: Query, data: Any, counted: Sequence[Steps]) -> dict[Steps, Cuts]:
    """What can be cut, into parts that are long enough: at most half as many rows again are context."""
    rows = max(sum(one.rows for one in counted) // (A_CORE * statistics.cores(data)), LONG * reach(query))
    by_time = _longest(query, TIME)
    found = {}
    for one in counted:
        back = by_time // one.of.width + 2 if by_time else 0  # a row's step is rounded down, and so is that of its time
        cuts, longer = cut(one.counts, rows, reach(query), back), 2 * rows
        while 2 * cuts.copied > one.rows:
            cuts, longer = cut(one.counts, longer, reach(query), back), 2 * longer
        if len(cuts.begin) > 1:
            found[one] = cuts
    return found


def with_context(query: Query, data: Any, parts: Mapping[Steps, Cuts]) -> Any:
    """Rows in parts, numbered through, and as context where windows reach back to them. Other keys are in part -1."""
    own, last = [], []  # of each step: its part, and the last one in which it is context
    for first, cuts in zip(_firsts(parts), parts.values(), strict=True):
        own += (np.searchsorted(cuts.begin, range(STEPS), "right") - 1 + first).tolist()
        last += (np.searchsorted(cuts.context, range(STEPS), "right") - 1 + first).tolist()
    placed = stepped(query, data, [one.of for one in parts])
    at = F.col(WHICH) * F.lit(STEPS) + F.col(STEP) + 1
    placed = placed.withColumns({OWN: _looked_up(own, at), LAST: _looked_up(last, at)})
    mine = F.array(F.struct(F.col(OWN).alias(PART), F.lit(False).alias(CONTEXT)))
    others = F.transform(
        F.sequence(F.col(OWN) + 1, F.col(LAST)), lambda part: F.struct(part.alias(PART), F.lit(True).alias(CONTEXT))
    )
    placings = F.when(F.col(LAST) > F.col(OWN), F.concat(mine, others)).otherwise(mine)
    return placed.select(*map(quoted, data.columns), F.inline(placings))


def alone(query: Query, data: Any, parts: Mapping[Steps, Cuts]) -> Any:
    """Rows in their own parts."""
    own = []
    for first, cuts in zip(_firsts(parts), parts.values(), strict=True):
        own += (np.searchsorted(cuts.begin, range(STEPS), "right") - 1 + first).tolist()
    placed = stepped(query, data, [one.of for one in parts])
    at = F.col(WHICH) * F.lit(STEPS) + F.col(STEP) + 1
    return placed.select(*map(quoted, data.columns), _looked_up(own, at).alias(PART))


def places(parts: Mapping[Steps, Cuts]) -> dict[int, Place]:
    """For each part, which of its key's rows it has."""
    found = {}
    for first, (one, cuts) in zip(_firsts(parts), parts.items(), strict=True):
        before = [0, *accumulate(one.counts)]
        steps = zip(cuts.context, cuts.begin, (*cuts.begin[1:], STEPS), strict=True)
        for part, (context, begin, end) in enumerate(steps, first):
            found[part] = Place(before[context], before[begin], before[end], last=end == STEPS)
    return found


def _firsts(parts: Mapping[Steps, Cuts]) -> list[int]:
    """The number of each key's first part."""
    return [0, *accumulate(len(cuts.begin) for cuts in parts.values())][:-1]


def told(query: Query, parts: Mapping[Steps, Cuts]) -> str:
    """For `explain`."""
    number, keys = sum(len(cuts.begin) for cuts in parts.values()), len(parts)
    which = f"rows of {keys} large {'key' if keys == 1 else 'keys'}" if query.by else "rows"
    by_time = _longest(query, TIME)
    before = f"{reach(query):,} rows{f', or {spelled(by_time)},' if by_time else ''} before it as context"
    counted = "two small jobs have counted rows, so that parts are even"
    return f"puts {which} into {number} parts of time, each with the {before}; {counted}"


def _looked_up(values: Iterable[int], at: Any) -> Any:
    """The value at a place, -1 without one; as text, since a call of Spark's for each of a thousand takes seconds.

    `element_at` is not asked for the place null: it says that it never gives null, and gives the last value.
    """
    return F.when(at.isNotNull(), F.element_at(F.expr(f"array({', '.join(map(str, values))})"), at)).otherwise(-1)
