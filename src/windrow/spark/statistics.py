"""What is found out about the rows before they move: how they spread over time, and whether keys are too large.

    a sample ── for each key, or for all rows: how many, from about when to when ──> large keys
    their rows, all of them ── how many in each of a thousand steps of time ──> Steps

Two small jobs that read the key and the time alone. Keys are known by their hashes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F

from windrow.query import Query
from windrow.spark.parts import micros_of, quoted

STEPS = 1024
#: fewer rows are not worth two jobs, and a key of fewer is not large
WORTH = 1 << 20
#: of the rows are looked at to find large keys, in tables of so many bytes or more, as Spark estimates them
SHARE, BYTES = 1 / 64, 64 << 20
#: of these types, values that are the same key have the same hash; of others (0.0 and -0.0), perhaps not
HASHED = {
    "tinyint", "smallint", "int", "bigint", "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz",
    "boolean",
}  # fmt: skip
#: what Spark reads again at little cost: no exchange, no join, no Python
CHEAP = {
    "LogicalRelation", "DataSourceV2ScanRelation", "HiveTableRelation", "InMemoryRelation", "LocalRelation",
    "LogicalRDD", "Range", "Project", "Filter", "Union",
}  # fmt: skip
#: Spark's estimate where it knows nothing
UNKNOWN = 2**63 - 1
#: so many cores a task keeps busy, one with Spark's part of it and one with ours: a key alone can do no better
A_TASK = 2
#: more keys are never split
MOST = 64
#: steps are between these shares of the times: a few wild ones would leave all others in one step
MOST_TIMES = (0.002, 0.998)
WHICH, STEP = "__windrow_which", "__windrow_step"


@dataclass(frozen=True)
class Seen:
    """What the sample tells of a key, or of all rows."""

    key: int  # its hash
    rows: int  # about
    lowest: int  # microseconds; the first step has all rows before it, too, and the last one all that come later
    highest: int

    @property
    def width(self) -> int:
        """Of a step."""
        return (self.highest - self.lowest) // STEPS + 1


@dataclass(frozen=True)
class Steps:
    """How many rows there are in each step of time, exactly."""

    of: Seen
    counts: tuple[int, ...]

    @property
    def rows(self) -> int:
        return sum(self.counts)


def large_keys(query: Query, data: Any) -> list[Seen]:
    """The keys that are more of all rows than a task is of all cores, the largest first; where looking is cheap."""
    few = cores(data) <= A_TASK
    if few or not query.by or query.time is None or not _hashed(query, data) or not _rereadable(data):
        return []
    seen, rows = _seen(query, data)
    large = [key for key in seen if key.rows >= max(WORTH, A_TASK * rows / cores(data))]
    return sorted(large, key=lambda key: -key.rows)[:MOST]


def steps_of_large_keys(query: Query, data: Any) -> list[Steps]:
    """The rows of large keys by steps of time."""
    large = large_keys(query, data)
    return _counted(query, data, large) if large else []


def steps_of_all(query: Query, data: Any) -> list[Steps]:
    """All rows by steps of time, where there is no key; none where there are few rows."""
    seen, rows = _seen(query, data)
    return _counted(query, data, seen) if rows >= WORTH else []


def stepped(query: Query, data: Any, of: Sequence[Seen]) -> Any:
    """With two columns more: the place of a row's key among these (null: not there), and the step its time is in.

    Column by column: Spark computes what is nested again wherever it is used.
    """
    assert query.time is not None
    data = data.withColumn(WHICH, _hash(query.by, 0)) if query.by else data
    place = F.lit(None).cast("int") if query.by else F.lit(0)
    for i, one in enumerate(of if query.by else ()):
        place = F.when(F.col(WHICH) == F.lit(one.key), F.lit(i)).otherwise(place)
    data = data.withColumn(WHICH, place).withColumn(STEP, micros_of(query, data).cast("double"))
    step = F.lit(None).cast("double")
    for i, one in enumerate(of):
        mine = (F.col(STEP) - F.lit(float(one.lowest))) / F.lit(float(one.width))
        step = F.when(F.col(WHICH) == F.lit(i), mine).otherwise(step)
    within = F.least(F.greatest(step, F.lit(0.0)), F.lit(STEPS - 1.0))  # of null, they give the number
    return data.withColumn(STEP, F.when(step.isNotNull(), within.cast("int")))


def cores(data: Any) -> int:
    """How many tasks run at a time, as far as that can be told."""
    return data.sparkSession.sparkContext.defaultParallelism if _classic(data) else 4


def _seen(query: Query, data: Any) -> tuple[list[Seen], int]:
    """From a sample: keys that may be large, or all rows as one; about how many rows there are."""
    assert query.time is not None
    key = _hash(query.by, 0) if query.by else F.lit(0)
    rows = data.select(key.alias("key"), micros_of(query, data).alias("at")).dropna(subset="at")
    if SHARE < 1:
        rows = rows.sample(SHARE, seed=0)
    most = F.percentile_approx("at", list(MOST_TIMES), 1000).alias("times")
    keys = rows.groupBy("key").agg(F.count("at").alias("rows"), most)
    many = F.col("rows") >= F.lit(WORTH * SHARE / 2)
    total, found = keys.agg(F.sum("rows"), F.collect_list(F.when(many, F.struct("key", "rows", "times")))).first()
    return [Seen(key, int(n / SHARE), *times) for key, n, times in found], int((total or 0) / SHARE)


def _counted(query: Query, data: Any, seen: Sequence[Seen]) -> list[Steps]:
    """The exact number of rows in each step; not of keys that share their hash, which are left as they are."""
    assert query.time is not None
    columns = dict.fromkeys([*query.by, query.time])
    rows = stepped(query, data.select(*map(quoted, columns)), seen).where(F.col(STEP).isNotNull())
    other = _hash(query.by, 1) if query.by else F.lit(0)
    steps = rows.groupBy(WHICH, STEP).agg(F.count("*"), F.min(other), F.max(other)).collect()
    counts = [[0] * STEPS for _ in seen]
    others: list[set[int]] = [set() for _ in seen]
    for which, step, count, low, high in steps:
        counts[which][step] = count
        others[which] |= {low, high}
    return [Steps(one, tuple(mine)) for one, mine, keys in zip(seen, counts, others, strict=True) if len(keys) == 1]


def _hash(by: Sequence[str], seed: int) -> Any:
    """Of a key; nulls would leave no trace by themselves."""
    columns = [F.col(quoted(name)) for name in by]
    return F.xxhash64(F.lit(seed), *columns, *(column.isNull() for column in columns))


def _hashed(query: Query, data: Any) -> bool:
    kinds = dict(data.dtypes)
    return all(kinds[name].split("(")[0] in HASHED for name in query.by)


def _rereadable(data: Any) -> bool:
    """Whether a table is large, and reading it once more is cheap."""
    if not _classic(data):
        return False
    plan = data._jdf.queryExecution().optimizedPlan()
    return BYTES <= plan.stats().sizeInBytes() < UNKNOWN and _nodes(plan) <= CHEAP


def _nodes(plan: Any) -> set[str]:
    children = plan.children()
    return {plan.getClass().getSimpleName()}.union(*(_nodes(children.apply(i)) for i in range(children.size())))


def _classic(data: Any) -> bool:
    """Not over Connect, which tells nothing of the cluster and of plans."""
    return "connect" not in type(data).__module__
