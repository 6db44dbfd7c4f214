"""What a live query tells a page that shows it.

After each whole call the query leaves its counters here as one immutable record, and its results by reference. A page's
thread reads them without a lock: it sees whole pushes, and no push waits for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from windrow import frames
from windrow.drawing import Bar, Lane, Panel, svg
from windrow.drawing.axis import Axis
from windrow.drawing.scene import shown
from windrow.frames import Frame, Instants, Output, Taken, Times, Values
from windrow.local.door import FOREVER, NEVER
from windrow.local.draw import bar_of_row, place_of, places_of, time_axis
from windrow.query import Query
from windrow.watching.page import COUNTS, Page
from windrow.watching.words import lasting, sized
from windrow.windows.base import ROWS, TIME, Measure

#: windows in the picture
NEWEST = 14
#: seconds between two looks at how large the state is
EVERY = 0.25


class Moment(NamedTuple):
    """A query between two calls."""

    counts: tuple[int, ...] = (0, 0, 0, 0)
    watermark: int = NEVER  # in ticks of the time column
    newest: int = NEVER
    times: Times | None = None
    ticks: int = 1
    closed: bool = False
    keys: int = 0
    bytes: int = 0


class Watched:
    """A live query as a page sees it."""

    pictured = "Newest windows"

    def __init__(self, live: Any) -> None:
        self.live, self.query = live, live.query
        self.title = "; ".join(map(repr, self.query.windows.values()))
        self.plan = self.query.explain()
        self.made: dict[str, Output] | None = None  # the results of the call that is going on
        self.pages = 0
        self._results: deque[tuple[dict[str, Output], Frame, Any, int]] = deque(maxlen=NEWEST)
        self._moment = self._seen = Moment()
        self._measured = float("-inf")
        self._drawn: tuple[Any, str] = (None, "")
        with live.turn:
            self.done()

    # The query's thread, at the end of each call.

    def done(self) -> None:
        """A call is over."""
        live, before = self.live, self._moment
        counts, made = tuple(live._counts), self.made
        self.made = None
        if made is not None and counts[1] > before.counts[1]:
            self._results.append((_tail(made), live.template, live.schema, counts[1]))
        size = before.keys, before.bytes
        if time.monotonic() - self._measured >= EVERY or live.closed:
            size = self._size()
        door = live.door
        self._moment = Moment(counts, door.watermark, door.newest, door.times, door.ticks, live.closed, *size)

    def _size(self) -> tuple[int, int]:
        state = self.live.state
        self._measured = time.monotonic()
        return (0, 0) if state is None else (self.live.door.keys.count, state.nbytes)

    # The page's thread.

    def counts(self) -> dict[str, int]:
        """The counters after the last whole call."""
        if time.monotonic() - self._measured >= EVERY and self.live.turn.acquire(blocking=False):
            try:  # nothing is going on: the size is that of now
                keys, size = self._size()
                self._moment = self._moment._replace(keys=keys, bytes=size)
            finally:
                self.live.turn.release()
        self._seen = self._moment
        return dict(zip(COUNTS, self._seen.counts, strict=True))

    def told(self) -> dict[str, str]:
        """The rest, in words."""
        seen = self._seen
        found = {"keys": f"{seen.keys:,}", "bytes": sized(seen.bytes), "state": "closed" if seen.closed else "running"}
        if self.query.time is None:
            return {**found, **dict.fromkeys(("watermark", "behind_newest", "behind_clock"), "no event time")}
        if seen.watermark in (NEVER, FOREVER) or seen.times is None:
            return {**found, **dict.fromkeys(("watermark", "behind_newest", "behind_clock"), "no row yet")}
        micros = seen.watermark / seen.ticks
        found["watermark"] = time_axis(seen.times).told(place_of(seen.watermark, seen.times))
        newest = max(seen.newest, seen.watermark) / seen.ticks
        found["behind_newest"] = lasting((newest - micros) / 1e6)
        by_clock = seen.times.native.kind != "integer"
        found["behind_clock"] = lasting(time.time() - micros / 1e6) if by_clock else "times are integers"
        return found

    def picture(self) -> str:
        """The newest windows."""
        results = self._results.copy()
        seen = self._seen
        newest = results[-1][3] if results else 0
        if self._drawn[0] != (newest, seen.watermark):
            panels = panels_of(self.query, [_read(*result[:3]) for result in results], newest, seen)
            self._drawn = (newest, seen.watermark), svg.drawn(panels, "The newest windows", (), None) if panels else ""
        return self._drawn[1]


class LivePage(Page):
    """The page of a live query."""

    def __init__(self, live: Any, host: str, port: int) -> None:
        with live.turn:
            watched = live.watched or Watched(live)
            super().__init__(watched, host, port)
            watched.pages += 1
            live.watched = watched
        self._live = live

    def close(self) -> None:
        live, self._live = self._live, None
        if live is None:
            return
        super().close()
        with live.turn:
            live.watched.pages -= 1
            if not live.watched.pages:
                live.watched = None


def panels_of(query: Query, results: Sequence[Frame], rows_out: int, seen: Moment) -> list[Panel]:
    """The newest results as bars, one panel for each measure; the newest at the bottom."""
    left, bars = NEWEST, dict[Measure, list[Bar]]()
    for frame in reversed(results):
        first = max(0, frame.rows - left)
        at = range(frame.rows - 1, first - 1, -1)
        for row in at:
            for measure, bar in _bars(query, frame, row, rows_out - (frame.rows - 1 - row)):
                bars.setdefault(measure, []).insert(0, bar)
        rows_out -= frame.rows
        left -= len(at)
        if not left:
            break
    panels = []
    for measure, some in bars.items():
        axis, mark = _axis(measure, seen.times), None
        if measure == TIME and seen.times is not None and seen.watermark not in (NEVER, FOREVER):
            mark = place_of(seen.watermark, seen.times)
        panels.append(Panel(axis, [Lane(groups={"": some})], list(query.aggregates), "", mark, "watermark"))
    return panels


def _axis(measure: Measure, times: Times | None) -> Axis:
    if measure == TIME and times is not None:
        return time_axis(times)
    return Axis("rows", "row") if measure == ROWS else Axis("number", measure.column or "")


def _bars(query: Query, frame: Frame, row: int, number: int) -> list[tuple[Measure, Bar]]:
    """The windows of one row of the results; of a query with several windows by row there are several."""
    key = ", ".join(shown(_value(frame, name, row)) for name in query.by)
    if not query.per_row:
        name = _value(frame, "window", row) if query.named else next(iter(query.windows))
        measure = query.measure(query.windows[name])
        low, high = (_place(query, frame, side, row, measure) for side in query.edge_names()[measure])
        answers = [shown(_value(frame, each, row)) for each in query.aggregates]
        label = ", ".join(filter(None, [key, name if query.named else ""]))
        return [(measure, Bar(low, high, (), answers, query.windows[name].brackets, "\n".join(answers), label))]
    found = []
    for name, window in query.windows.items():
        measure = window.measure if window.measure.kind == "column" else TIME if query.time is not None else ROWS
        column = measure.column or query.time or ""
        at = float(number - 1) if measure == ROWS else _place(query, frame, column, row, measure)
        low, high, held, edges = bar_of_row(window, measure, at, [at])
        names = query.answer_names()
        answers = [shown(_value(frame, names[name, each], row)) for each in query.aggregates]
        label = ", ".join(filter(None, [key, name if query.named else ""]))
        found.append((measure, Bar(low, high, held, answers, edges, "\n".join(answers), label)))
    return found


def _value(frame: Frame, name: str, row: int) -> Any:
    return frame.objects(name, [row])[0]


def _place(query: Query, frame: Frame, name: str, row: int, measure: Measure) -> float:
    if measure == TIME:
        return float(places_of(frames.counted_in(name, frame.time(name), query.time_unit))[row])
    return float(frame.column(name).values[row])


def _read(made: Mapping[str, Output], like: Frame, schema: Any) -> Frame:
    return frames.read(frames.build(like, made, None if schema is None else schema.types))


def _tail(made: dict[str, Output]) -> dict[str, Output]:
    """The last results, so that no large ones are kept for a picture."""
    if len(next(iter(made.values()))) <= NEWEST:
        return made
    return {name: _last(output) for name, output in made.items()}


def _last(output: Output) -> Output:
    if isinstance(output, Taken):
        return Taken(output.source, output.positions[-NEWEST:].copy())
    values = output.array if isinstance(output, Values) else output.values
    mask = None if output.mask is None else output.mask[-NEWEST:].copy()
    if isinstance(output, Instants):
        return Instants(values[-NEWEST:].copy(), mask, output.like)
    return Values(np.copy(values[-NEWEST:], subok=True), mask, output.like, output.texts)
