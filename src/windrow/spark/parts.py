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
from windrow.windows.durations import TIME_UNITS

PART = "__windrow_part"
#: where timestamps without a zone are counted from
EPOCH_NTZ = "timestamp_ntz'1970-01-01 00:00:00'"
#: how many windows long a part is, without a key and with: its context is one window, so 1/8 or 1/64 more rows move
LONG, LONG_KEYED = 8, 64


def reaching(query: Query) -> bool:
    """Whether each row's answer needs no more than the rows of a known time before it."""
    windows = query.windows.values()
    known = all(w.per_row and w.measure == TIME and w.reach is not None for w in windows)
    return known and not query.changes_only


def length(query: Query) -> int:
    """Microseconds of a part."""
    if reaching(query):
        return (LONG_KEYED if query.by else LONG) * reach(query)
    return max(window.part for window in query.windows.values())


def reach(query: Query) -> int:
    """How far back windows reach."""
    return max(1, *(w.reach or 0 for w in query.windows.values()))


def with_context(query: Query, data: Any) -> Any:
    """Each row in its own part, and as context in the next one where windows reach back to it."""
    micros, own, long = _placed(query, data)
    mine = F.struct(own.alias(PART), F.lit(False).alias(CONTEXT))
    after = F.struct((own + long).alias(PART), F.lit(True).alias(CONTEXT))
    reached = micros >= own + long - F.lit(reach(query))
    return data.select("*", F.inline(F.when(reached, F.array(mine, after)).otherwise(F.array(mine))))


def alone(query: Query, data: Any) -> Any:
    """Each row in its own part."""
    return data.withColumn(PART, _placed(query, data)[1])


def _placed(query: Query, data: Any) -> tuple[Any, Any, Any]:
    """A row's time, its part's beginning, and the parts' length."""
    assert query.time is not None
    micros, long = micros_of(query, data), F.lit(length(query))
    return micros, micros - F.pmod(micros, long), long


def micros_of(query: Query, data: Any) -> Any:
    """The time column as microseconds since 1970."""
    time = query.time or ""
    name = quoted(time)
    kind = dict(data.dtypes)[time]
    if kind == "timestamp":
        return F.unix_micros(F.col(name))
    if kind == "timestamp_ntz":
        return F.expr(f"timestampdiff(MICROSECOND, {EPOCH_NTZ}, {name})")
    if kind == "date":
        return F.unix_date(F.col(name)).cast("long") * F.lit(86_400_000_000)
    return F.col(name).cast("long") * F.lit(micros_in(query.time_unit))


def micros_in(unit: str | None) -> int:
    """Microseconds in the unit that integer times count."""
    return 1 if unit is None else TIME_UNITS[unit] // 1000


def quoted(name: str) -> str:
    """A column's name as Spark's expressions take it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
