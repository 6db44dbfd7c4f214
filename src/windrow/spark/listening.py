"""What each trigger of a stream did: kept, shown on a console, and offered to Prometheus.

    with windrow.spark.listen(spark, console=Console(stderr=True), port=9108) as seen:
        longest.run(stream).writeStream.queryName("longest")...start().awaitTermination()
    seen.triggers[-1].late

Spark tells of every trigger of a session's queries, its own included; what only windrow can tell (rejected rows,
combines, pages) is there for windrow's queries, and None elsewhere. Nothing of the data is kept or shown: names of
queries and numbers, no more.
"""

from __future__ import annotations

import datetime
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from windrow.watching.server import Answer, Server

#: the name under which windrow's streams tell their own counts
OBSERVED = "windrow"
NO_WATERMARK = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Trigger:
    """One trigger of one query; None is what was not told."""

    query: str  # its name, or its id where it has none
    id: str
    batch: int
    when: datetime.datetime  # it began
    rows_in: int | None
    rows_out: int | None
    late: int | None  # rows behind the watermark
    rejected: int | None  # rows without a time or a measure
    state_rows: int | None  # entries in Spark's state
    state_bytes: int | None  # RocksDB's files, in other stores memory
    combines: int | None
    pages_read: int | None
    pages_written: int | None
    page_bytes: int | None  # written
    watermark_delay: float | None  # seconds from the watermark to when it began
    milliseconds: int | None  # it took
    watermark: datetime.datetime | None = None
    newest: datetime.datetime | None = None  # the newest event time of its rows

    @property
    def combines_a_row(self) -> float | None:
        return None if self.combines is None or not self.rows_in else self.combines / self.rows_in

    def line(self) -> str:
        """For people."""
        parts = [f"{self.query} #{self.batch}:"]
        for name, value in (("rows in", self.rows_in), ("out", self.rows_out), ("late", self.late),
                            ("rejected", self.rejected), ("state rows", self.state_rows),
                            ("state bytes", self.state_bytes)):  # fmt: skip
            parts += [] if value is None else [f"{value:,} {name},"]
        if self.combines_a_row is not None:
            parts.append(f"{self.combines_a_row:.2f} combines a row,")
        if self.watermark_delay is not None:
            parts.append(f"watermark {self.watermark_delay:,.1f} s behind,")
        parts += [] if self.milliseconds is None else [f"{self.milliseconds:,} ms"]
        return " ".join(parts).rstrip(",")


def trigger(progress: Any) -> Trigger:
    """From Spark's progress of a query."""
    told = _told(progress.observedMetrics)
    states = progress.stateOperators
    when = _instant(progress.timestamp)
    watermark = progress.eventTime.get("watermark", NO_WATERMARK)
    behind = None if watermark == NO_WATERMARK else (when - _instant(watermark)).total_seconds()
    written = progress.sink.numOutputRows  # -1 where a sink does not count
    dropped = sum(state.numRowsDroppedByWatermark for state in states) if states else None
    return Trigger(
        query=progress.name or str(progress.id),
        id=str(progress.id),
        batch=progress.batchId,
        when=when,
        rows_in=progress.numInputRows if told.get("rows_in") is None else told["rows_in"],
        rows_out=written if written is not None and written >= 0 else told.get("rows_out"),
        late=dropped if told.get("late") is None else told["late"],
        rejected=told.get("rejected"),
        state_rows=sum(state.numRowsTotal for state in states) if states else None,
        state_bytes=sum(_bytes(state) for state in states) if states else None,
        combines=told.get("combines"),
        pages_read=told.get("pages_read"),
        pages_written=told.get("pages_written"),
        page_bytes=told.get("page_bytes"),
        watermark_delay=behind,
        milliseconds=progress.durationMs.get("triggerExecution", progress.batchDuration),
        watermark=None if watermark == NO_WATERMARK else _instant(watermark),
        newest=None if (newest := progress.eventTime.get("max")) is None else _instant(newest),
    )


def _told(observed: Mapping[str, Any]) -> dict[str, int | None]:
    """What windrow's streams tell; the counts of two in one query are added up."""
    found: dict[str, int | None] = {}
    for name, row in observed.items():
        if name == OBSERVED or name.startswith(OBSERVED + "_"):
            for field, value in row.asDict().items():
                if value is not None:
                    found[field] = (found.get(field) or 0) + int(value)
    return found


def _bytes(state: Any) -> int:
    return state.customMetrics.get("rocksdbSstFileSize", state.memoryUsedBytes)


def _instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


#: counters of Prometheus by field of `Trigger`: they only grow
COUNTERS = {
    "rows_in": ("windrow_rows_in_total", "Rows that came."),
    "rows_out": ("windrow_rows_out_total", "Rows that were sent."),
    "late": ("windrow_late_rows_total", "Rows behind the watermark."),
    "rejected": ("windrow_rejected_rows_total", "Rows without a time or a measure."),
    "combines": ("windrow_combines_total", "Combines, as expected: one a row to fill slices, three a result."),
    "pages_read": ("windrow_pages_read_total", "Pages of state that were read."),
    "pages_written": ("windrow_pages_written_total", "Pages of state that were written."),
    "page_bytes": ("windrow_page_bytes_total", "Bytes of the pages that were written."),
}
#: gauges: what the last trigger said
GAUGES = {
    "batch": ("windrow_batch", "Number of the last trigger's batch."),
    "state_rows": ("windrow_state_rows", "Entries in Spark's state."),
    "state_bytes": ("windrow_state_bytes", "Bytes of Spark's state: RocksDB's files, in other stores memory."),
    "watermark_delay": ("windrow_watermark_delay_seconds", "How far the watermark was behind the clock."),
    "combines_a_row": ("windrow_combines_a_row", "Combines, as expected, for each row of the last trigger."),
}


class Totals:
    """What a query has done since it was first seen. Restarts go on counting."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.triggers, self.seconds = 0, 0.0
        self.last: Trigger | None = None
        self.running = True

    def add(self, done: Trigger) -> None:
        for field in COUNTERS:
            value = getattr(done, field)
            if value is not None:
                self.sums[field] = self.sums.get(field, 0) + value
        self.triggers += 1
        self.seconds += (done.milliseconds or 0) / 1e3
        self.last = done


def exposition(totals: Mapping[str, Totals]) -> str:
    """The text that Prometheus reads (version 0.0.4)."""
    lines: list[str] = []

    def family(name: str, kind: str, meaning: str, samples: list[tuple[str, str, Any]]) -> None:
        if samples:
            lines.extend([f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"])
            lines.extend(f'{name}{suffix}{{query="{_escaped(query)}"}} {value}' for suffix, query, value in samples)

    for field, (name, meaning) in COUNTERS.items():
        family(name, "counter", meaning, [("", q, t.sums[field]) for q, t in totals.items() if field in t.sums])
    for field, (name, meaning) in GAUGES.items():
        said = [("", q, getattr(t.last, field)) for q, t in totals.items() if t.last is not None]
        family(name, "gauge", meaning, [sample for sample in said if sample[2] is not None])
    parts = [(s, q, v) for q, t in totals.items() for s, v in (("_sum", t.seconds), ("_count", t.triggers))]
    family("windrow_trigger_seconds", "summary", "Time of the triggers.", parts)
    family(
        "windrow_query_running", "gauge", "1 while the query runs.", [("", q, +t.running) for q, t in totals.items()]
    )
    return "".join(line + "\n" for line in lines)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Listening(StreamingQueryListener):
    """Listens until `close()`, or to the end of a `with` block."""

    def __init__(self, console: Any = None, keep: int = 1000) -> None:
        self.console = console
        self._lock = threading.Condition()
        self._kept: deque[Trigger] = deque(maxlen=keep)
        self._totals: dict[str, Totals] = {}
        self._names: dict[str, str] = {}  # by run, of those that run
        self._server: Server | None = None
        self._session: Any = None

    @property
    def triggers(self) -> list[Trigger]:
        """What was kept, the oldest first. Spark tells of a trigger a moment after it is done."""
        with self._lock:
            return list(self._kept)

    @property
    def address(self) -> str | None:
        """Where Prometheus finds it; None without a port."""
        return None if self._server is None else self._server.address

    def metrics(self) -> str:
        """What Prometheus is told."""
        with self._lock:
            return exposition(self._totals)

    def settled(self, timeout: float = 30.0) -> bool:
        """Waits until each query that was seen has ended and all of it was told; False: some have not."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._names, timeout)

    def close(self) -> None:
        """Stops listening, and closes the port. What was kept stays."""
        session, self._session = self._session, None
        if session is not None:
            session.streams.removeListener(self)
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def __enter__(self) -> Listening:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, spark: Any, port: int | None, host: str) -> None:
        """From now on. The port is opened first: where that fails, nothing has changed."""
        if port is not None:
            paths = {"/metrics": lambda: Answer("text/plain; version=0.0.4; charset=utf-8", self.metrics().encode())}
            self._server = Server(paths, host, port, "windrow-metrics")
        try:
            spark.streams.addListener(self)
        except BaseException:
            self.close()
            raise
        self._session = spark

    def onQueryStarted(self, event: Any) -> None:
        name = event.name or str(event.id)
        with self._lock:
            self._names[str(event.runId)] = name
            self._totals.setdefault(name, Totals()).running = True

    def onQueryProgress(self, event: Any) -> None:
        done = trigger(event.progress)
        with self._lock:
            self._kept.append(done)
            self._names.setdefault(str(event.progress.runId), done.query)  # it ran before we listened
            self._totals.setdefault(done.query, Totals()).add(done)
        if self.console is not None:
            self.console.print(done.line(), markup=False, highlight=False, soft_wrap=True)

    def onQueryIdle(self, event: Any) -> None:
        """Nothing came: nothing to tell."""

    def onQueryTerminated(self, event: Any) -> None:
        with self._lock:
            name = self._names.pop(str(event.runId), None)
            if name is not None:
                self._totals[name].running = name in self._names.values()
            self._lock.notify_all()


def listen(
    spark: Any, console: Any = None, port: int | None = None, *, host: str = "127.0.0.1", keep: int = 1000
) -> Listening:
    """Listens to the streaming queries of a session, those that run already included.

    Over Connect it works as well, as long as the connection does: after it is lost Spark removes all listeners, and
    one has to listen anew. The records and the port are on the client's machine.

    Args:
        spark: a session, classic or Connect. Queries of its other sessions (`newSession`) are not heard.
        console: a `rich.console.Console`, which gets a line for each trigger.
        port: of a page for Prometheus, `/metrics`; 0 takes a free one, which `address` tells.
        host: where the port is. Only this machine by default: the page has no password.
        keep: how many triggers are kept, the newest ones.
    """
    listening = Listening(console, keep)
    listening.begin(spark, port, host)
    return listening
