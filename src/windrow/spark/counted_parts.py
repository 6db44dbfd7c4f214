"""Parts of time for windows that count rows: where they begin, and how far back their context goes, is counted first.

Two small jobs over the time column alone: its range, then how many rows there are in each of a thousand steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import functions as F

from windrow.query import Query
from windrow.spark.parts import PART, micros_of
from windrow.spark.rows import CONTEXT
from windrow.windows.base import ROWS
from windrow.windows.kinds import Trailing

STEPS = 1024
#: fewer rows are not worth two jobs
WORTH = 1 << 20
#: a part is at least so many windows long, and there are about so many parts a core
LONG, A_CORE = 4, 4


@dataclass(frozen=True)
class Cuts:
    """Parts as ranges of steps: each has steps `begin` to `end`, and as context those from `context` on."""

    begin: tuple[int, ...]
    end: tuple[int, ...]
    context: tuple[int, ...]


def counting(query: Query) -> bool:
    """Whether each row's answer needs no more than a known number of rows before it, and there is no key."""
    if query.by or query.changes_only or query.time is None:
        return False
    return all(isinstance(w, Trailing) and w.measure == ROWS for w in query.windows.values())


def reach(query: Query) -> int:
    """How many rows back windows reach."""
    return max(int(w.range) for w in query.windows.values() if isinstance(w, Trailing)) + 1


def cut(counts: Sequence[int], rows: int, reach: int) -> Cuts:
    """Parts of at least so many rows; the context of each holds at least `reach` rows, or all there are.

    >>> cut([5, 5, 1, 5, 5, 5], rows=10, reach=6)
    Cuts(begin=(0, 2, 5), end=(2, 5, 6), context=(0, 0, 3))
    """
    before = np.concatenate([[0], np.cumsum(counts)])
    begin = [0]
    for step in range(1, len(counts)):
        if before[step] - before[begin[-1]] >= rows:
            begin.append(step)
    context = [max(0, int(np.searchsorted(before, before[b] - reach, "right")) - 1) for b in begin]
    return Cuts(tuple(begin), (*begin[1:], len(counts)), tuple(context))


def with_context(query: Query, data: Any) -> tuple[Any, int] | None:
    """Rows in parts, and as context where windows reach back to them; how many parts. None: too few rows for it."""
    assert query.time is not None
    micros = micros_of(data, query.time)
    lowest, highest, rows = data.agg(F.min(micros), F.max(micros), F.count(micros)).first()
    if rows < WORTH:
        return None
    width = (highest - lowest) // STEPS + 1
    step = F.least(((micros - F.lit(lowest)) / F.lit(width)).cast("int"), F.lit(STEPS - 1))
    counts = [0] * STEPS
    for at, count in data.groupBy(step.alias("step")).count().collect():
        if at is not None:
            counts[at] = count
    tasks = A_CORE * data.sparkSession.sparkContext.defaultParallelism if _classic(data) else 16
    cuts = cut(counts, max(rows // tasks, LONG * reach(query)), reach(query))
    own = _looked_up(np.searchsorted(cuts.begin, range(STEPS), "right") - 1, step)
    last = _looked_up(np.searchsorted(cuts.context, range(STEPS), "right") - 1, step)  # parts after its own, up to it
    mine = F.array(F.struct(own.alias(PART), F.lit(False).alias(CONTEXT)))
    others = F.transform(F.sequence(own + 1, last), lambda part: F.struct(part.alias(PART), F.lit(True).alias(CONTEXT)))
    placed = F.when(last > own, F.concat(mine, others)).otherwise(mine)
    return data.select("*", F.inline(placed)), len(cuts.begin)


def _looked_up(values: Iterable[int], at: Any) -> Any:
    """A step's value; one expression as text, since a call of Spark's for each of a thousand takes seconds."""
    return F.element_at(F.expr(f"array({', '.join(map(str, values))})"), at + 1)


def _classic(data: Any) -> bool:
    return "connect" not in type(data).__module__
