"""Keys in parts of time, each with the rows before it that its windows reach back to: all cores work on one key.

Parts are as long as several windows, counted from 1970: nothing has to be known of the data, and a part's context is
a small share of its rows. Rows of one time are never parted.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from windrow.query import Query
from windrow.spark.rows import CONTEXT
from windrow.windows.base import TIME
from windrow.windows.kinds import Trailing

PART = "__windrow_part"
#: how many windows long a part is
LONG = 8


def splittable(query: Query) -> bool:
    """Whether each row's answer needs no more than rows of a known time before it, and there is one key only."""
    windows = query.windows.values()
    trailing = all(isinstance(w, Trailing) and w.measure == TIME for w in windows)
    return trailing and not query.by and not query.changes_only


def length(query: Query) -> int:
    """Microseconds of a part."""
    return LONG * reach(query)


def reach(query: Query) -> int:
    """How far back windows reach."""
    return max(1, *(int(w.range) for w in query.windows.values() if isinstance(w, Trailing)))


def told(query: Query) -> str:
    return f"parts of {length(query) / 1e6:g} s, each with the {reach(query) / 1e6:g} s before it as context"


def split(query: Query, data: Any) -> Any:
    """Each row in its own part, and as context in the next one where windows reach back to it."""
    assert query.time is not None
    micros, long = _micros(data, query.time), F.lit(length(query))
    own = micros - F.pmod(micros, long)
    mine = F.struct(own.alias(PART), F.lit(False).alias(CONTEXT))
    next_ = F.struct((own + long).alias(PART), F.lit(True).alias(CONTEXT))
    reached = micros >= own + long - F.lit(reach(query))
    places = F.when(reached, F.array(mine, next_)).otherwise(F.array(mine))
    return data.select("*", F.inline(places))


def _micros(data: Any, time: str) -> Any:
    """A time column as microseconds since 1970."""
    quoted = "`" + time.replace("`", "``") + "`"
    kind = dict(data.dtypes)[time]
    if kind == "timestamp":
        return F.unix_micros(F.col(quoted))
    if kind == "timestamp_ntz":
        return F.expr(f"timestampdiff(MICROSECOND, timestamp_ntz'1970-01-01 00:00:00', {quoted})")
    if kind == "date":
        return F.unix_date(F.col(quoted)).cast("long") * F.lit(86_400_000_000)
    return F.col(quoted).cast("long")
