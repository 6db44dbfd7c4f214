"""`windrow.spark.watch(stream)`: a local page that shows a streaming query, trigger by trigger."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from windrow.drawing import Bar, Lane, Panel, svg
from windrow.drawing.axis import Axis
from windrow.errors import WindrowError
from windrow.query import Query
from windrow.spark.listening import Trigger, trigger
from windrow.watching.page import COUNTS, Page
from windrow.watching.words import lasting, sized

#: triggers in the picture
NEWEST = 14
COLUMNS = ("rows in", "results", "seconds")


class Watching(StreamingQueryListener):
    """Adds up what Spark tells of one streaming query."""

    pictured = "Newest triggers"

    def __init__(self, stream: Any, query: Query | None) -> None:
        self.title = stream.name or str(stream.id)
        self.plan = "The plan is here where the query is given: watch(stream, query)." if query is None else str(query)
        if query is not None:
            self.plan = query.explain()
        self.stream = stream
        self._lock = threading.Lock()
        self._counts, self._batch = dict.fromkeys(COUNTS, 0), -1
        self._newest: deque[Trigger] = deque(maxlen=NEWEST)
        self._ended = False
        self._drawn: tuple[int, str] = (-1, "")

    def begin(self, session: Any) -> None:
        """Listens from now on; what Spark still knows of earlier triggers comes first."""
        with self._lock:  # what comes meanwhile waits
            session.streams.addListener(self)
            for progress in self.stream.recentProgress:
                self._add(trigger(progress))

    def _add(self, done: Trigger) -> None:
        if done.batch <= self._batch:  # known, or a trigger without rows
            return
        self._batch = done.batch
        for name in COUNTS:
            self._counts[name] += getattr(done, name) or 0
        self._newest.append(done)

    def onQueryStarted(self, event: Any) -> None:
        """It runs already."""

    def onQueryIdle(self, event: Any) -> None:
        """Nothing came."""

    def onQueryProgress(self, event: Any) -> None:
        if str(event.progress.runId) == str(self.stream.runId):
            with self._lock:
                self._add(trigger(event.progress))

    def onQueryTerminated(self, event: Any) -> None:
        if str(event.runId) == str(self.stream.runId):
            self._ended = True

    # The page's thread.

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def told(self) -> dict[str, str]:
        with self._lock:
            last = self._newest[-1] if self._newest else None
        found = dict.fromkeys(("watermark", "behind_newest", "behind_clock", "keys", "bytes"), "not told")
        found["state"] = "ended" if self._ended else "running"
        if last is None:
            return found
        if last.watermark_delay is not None:
            found["behind_clock"] = lasting(last.watermark_delay)
        if last.watermark is not None:
            found["watermark"] = last.watermark.replace(tzinfo=None).isoformat(" ", "milliseconds")
        if last.newest is not None and last.watermark is not None:
            found["behind_newest"] = lasting((last.newest - last.watermark).total_seconds())
        if last.state_rows is not None:
            found["keys"] = f"{last.state_rows:,} entries"
        if last.state_bytes is not None:
            found["bytes"] = sized(last.state_bytes)
        return found

    def picture(self) -> str:
        with self._lock:
            newest, batch = list(self._newest), self._batch
        if newest and self._drawn[0] != batch:
            bars = []
            for done in newest:
                start, seconds = done.when.timestamp(), (done.milliseconds or 0) / 1e3
                answers = [f"{done.rows_in or 0:,}", f"{done.rows_out or 0:,}", f"{seconds:.1f}"]
                bars.append(Bar(start * 1e6, (start + seconds) * 1e6, (), answers, "[)", done.line(), f"#{done.batch}"))
            panel = Panel(Axis("time"), [Lane(groups={"": bars})], COLUMNS)
            self._drawn = batch, svg.drawn([panel], "The newest triggers", (), None)
        return self._drawn[1]


class StreamPage(Page):
    """The page of a streaming query."""

    def __init__(self, stream: Any, query: Query | None, host: str, port: int) -> None:
        session = SparkSession.getActiveSession()
        if session is None:
            raise WindrowError("watch: there is no active Spark session in this thread")
        watching = Watching(stream, query)
        super().__init__(watching, host, port)
        try:
            watching.begin(session)
        except BaseException:
            super().close()
            raise
        self._listens: Any = session, watching

    def close(self) -> None:
        listens, self._listens = self._listens, None
        if listens is not None:
            listens[0].streams.removeListener(listens[1])
            super().close()
