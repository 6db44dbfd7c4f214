"""How a query runs over a streaming DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F

from windrow.engine.snapshot import checked_key
from windrow.errors import WindrowError
from windrow.query import Query
from windrow.spark import streams
from windrow.spark.buckets import BUCKETS, HASH
from windrow.spark.checking import check_state_store
from windrow.spark.explaining import EXCHANGE, OURS, SPARK
from windrow.spark.light import Work, light
from windrow.spark.listening import OBSERVED
from windrow.spark.parts import micros_in, micros_of, quoted
from windrow.spark.plan import Plan, arrow_schema, mapped, quiet
from windrow.spark.shapes import result_schema
from windrow.windows.durations import instant, micros, spelled

#: how Spark marks the column that has a watermark
WATERMARK = "spark.watermarkDelayMs"
#: what a bucket is called with
PACK = (streams.BUCKET, streams.PLACE, streams.ROWS)


@dataclass
class AsStream(Plan):
    """A streaming DataFrame: buckets of keys, with their state in pages in Spark's store.

    Append mode; update mode where the query sends updates.

    Args:
        history: rows from before the stream begins, a batch DataFrame: what windows that reach back need of them.
        since: where the stream begins; windows that have ended by then are not sent, rows before it are late.
        ahead: how far a row's time may be ahead of the clock.
        large: each key's windows are Monoid Trees, whose pages are in the state one by one.
        key: pages are signed with it.
    """

    history: Any = None
    since: Any = None
    ahead: Any = None
    large: bool = False
    key: bytes | None = None

    def __post_init__(self) -> None:
        if self.key is not None:
            checked_key(self.key)
            if self.large:
                raise WindrowError("key= signs pages of keys; with large=True the state is pages of trees, unsigned")
        if self.large and self.query.updates:
            raise WindrowError("emit='update' looks at open windows with each trigger: it goes without large=True")
        if (self.history is None) != (self.since is None):
            raise WindrowError("history and since go together: the rows from before the stream, and where it begins")
        if (self.since is not None or self.ahead is not None) and self.query.time is None:
            raise WindrowError("since and ahead are about event time, and this query has none; name it with time=")
        if self.history is not None and self.history.dtypes != self.data.dtypes:
            raise WindrowError("the history has other columns than the stream, or other types")
        marked = watermarked(self.data)
        if marked is not None and self.query.time not in (None, marked):
            raise WindrowError(f"the stream has a watermark on '{marked}', and the query's time is '{self.query.time}'")
        if marked is not None and self.ahead is not None:
            raise WindrowError("ahead= cannot hold back a watermark that the stream has already: use lateness instead")

    def result(self) -> Any:
        query, rows = self.query, arrow_schema(self.data)
        answers = result_schema(query, rows)
        data = self._packed(self._read())
        begun = None if self.since is None else instant(self.since)
        history = None
        if self.history is not None:
            before = self.history.select(*self.data.columns)
            before = before.filter(micros_of(query, before) < F.lit(begun))
            packs = self._packed(before.select(*self._needed().columns)).select(*PACK)
            history = packs.groupBy(streams.BUCKET)
            self._step(SPARK, f"state begins with the rows of the history before {self.since}")
        running = streams.Running(query, self.rows(), answers, begun, self.large, self.key)
        sends = "update" if query.updates else "append"
        data = self._with_state(self._marked(data), running, streams.SENT, history, sends)
        data = data.observe(OBSERVED, *[F.sum(name).alias(name) for name in streams.COUNTS])
        self._step(EXCHANGE, f"of the bytes by bucket, of which there are {BUCKETS if query.by else 1}")
        form = "Monoid Trees, O(log n) pages of which move" if self.large else "pages of some keys each"
        sent = "sent again where it changes (update mode)" if query.updates else "sent once"
        self._step(OURS, f"in each bucket, rows in time order, each window {sent}; state in {form}")
        return mapped(data.select("rows"), streams.Unpacked(answers), answers)

    def late(self, since: Any = None) -> Any:
        """The rows that came behind the watermark."""
        if self.query.time is None:
            raise WindrowError("late rows are behind event time, and this query has none; name the column with time=")
        rows = arrow_schema(self.data)
        data = self._marked(self._packed(self.data))
        begun = 0 if since is None else instant(since)
        late = streams.Late(self.query.time, rows, begun, micros_in(self.query.time_unit))
        data = self._with_state(data, late, "rows binary")
        return mapped(data, streams.Unpacked(rows), rows)

    def rows(self) -> Any:
        """What buckets take in: the columns that are needed, and the hash."""
        needed = self._needed()
        return arrow_schema(needed.withColumn(HASH, _hash(self.query, needed)))

    def _packed(self, data: Any) -> Any:
        """Rows of each bucket as one row."""
        check_state_store(self.data)
        if self.ahead is not None:
            data = data.filter(~F.coalesce(too_far_ahead(self.query, data, self.ahead), F.lit(False)))
        data = data.withColumn(HASH, _hash(self.query, data))
        self._step(OURS, "the rows of each bucket of keys become one row of Arrow bytes")
        return mapped(data, streams.Packed(self.query.time, micros_in(self.query.time_unit)), streams.PACKED)

    def _marked(self, data: Any) -> Any:
        """With the watermark."""
        query = self.query
        if query.time is not None and watermarked(self.data) is not None:
            self._step(SPARK, "watermark: the DataFrame's own")
        elif query.time is not None:
            data = data.withWatermark(streams.WHEN, f"{query.lateness} microseconds")
            self._step(SPARK, f"watermark: {spelled(query.lateness)} behind the newest row")
        # without the column that has the watermark Spark drops nothing: which rows are late is told row by row
        return data.select(*PACK)

    def _with_state(self, data: Any, work: Work, schema: str, history: Any = None, sends: str = "append") -> Any:
        mode = "None" if self.query.time is None else "EventTime"
        with quiet():
            return data.groupBy(streams.BUCKET).transformWithStateInPandas(light(work), schema, sends, mode, history)


def watermarked(data: Any) -> str | None:
    """The column on which a streaming DataFrame has a watermark of its own."""
    return next((field.name for field in data.schema if WATERMARK in field.metadata), None)


def too_far_ahead(query: Query, data: Any, ahead: Any) -> Any:
    """Whether a row's time is further ahead of the clock than rows may be."""
    return micros_of(query, data) > F.unix_micros(F.current_timestamp()) + F.lit(micros(ahead))


def _hash(query: Query, data: Any) -> Any:
    """A hash of the key, the same for keys that are equal."""
    if not query.by:
        return F.lit(0).cast("long")
    kinds = dict(data.dtypes)
    parts = [F.col(quoted(name)) for name in query.by]
    # -0.0 is 0.0
    parts = [p + F.lit(0.0) if kinds[n] in ("float", "double") else p for n, p in zip(query.by, parts, strict=True)]
    return F.xxhash64(*parts)
