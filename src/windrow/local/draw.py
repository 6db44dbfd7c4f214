"""`Query.draw(rows)`: asks the query which rows each window holds, and draws that.

Nothing is worked out a second time: the query itself runs over the first rows, with a list of row numbers beside its
aggregates, and the picture shows what came back.
"""

from __future__ import annotations

import copy
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windrow import frames
from windrow.aggregates.lists import collect_list
from windrow.drawing import Bar, Dot, Lane, Panel, Picture
from windrow.drawing.axis import Axis
from windrow.drawing.scene import shown
from windrow.frames import Frame, Times, Values
from windrow.frames.times import NANOS
from windrow.local.derived import with_inputs
from windrow.local.intake import Intake, event_times, take_in
from windrow.query import Query
from windrow.windows.base import ROWS, TIME, Measure, Window

#: keys that are drawn
KEYS = 6


def draw(query: Query, data: Any, all_rows: bool, first: int, windows: int, theme: str) -> Picture:
    """The picture of a query over the first rows of the data."""
    frame = frames.read(data)
    rows = min(frame.rows, first)
    if rows < frame.rows:
        notes = [f"The first {rows:,}{f' of {frame.rows:,}' if all_rows else ''} rows."]
        frame = frame.pick(np.arange(rows))
    else:
        notes = []
    asked = _Asked(query, frame)
    panels = [asked.panel(measure, names) for measure, names in asked.by_measure().items()]
    notes += asked.notes() + _limited(panels, windows)
    if query.changes_only:
        notes.append("changes_only: of a key's windows, those with the answer of the one before are not reported.")
    return Picture(panels, "; ".join(map(repr, query.windows.values())), notes, theme)


def _limited(panels: Sequence[Panel], windows: int) -> list[str]:
    """Leaves out what is too much for a picture, and says so."""
    groups = [bars for panel in panels for lane in panel.lanes for bars in lane.groups.values()]
    there = sum(map(len, groups))
    each = max(1, windows // max(1, len(groups)))
    if there <= windows:
        return []
    for bars in groups:
        del bars[each:]
    return [f"{sum(map(len, groups)):,} of {there:,} windows: the first of each key."]


class _Asked:
    """A query, rows, and what it says of them."""

    def __init__(self, query: Query, frame: Frame) -> None:
        self.query, self.frame = query, with_inputs(query, frame)
        number = _unused("row", frame.names)
        self.held = _unused("rows", [*frame.names, *query.aggregates, "start", "end"])
        self.asked = copy.copy(query)
        self.asked.aggregates = {**query.aggregates, self.held: collect_list(number)}
        self.asked.store, self.asked.changes_only, self.asked.compile = None, False, "never"
        numbered = frames.extend(frame, {number: Values(np.arange(frame.rows, dtype=np.int64))})
        self.result = frames.read(self.asked.run(numbered))
        self.intake: Intake = take_in(query, frame)
        self.taken = np.arange(frame.rows) if self.intake.good is None else self.intake.good
        self.values = next((a.columns[0] for a in query.aggregates.values() if a.columns), None)

    def notes(self) -> list[str]:
        """Rows and keys that are not to be seen."""
        found = []
        if lost := self.frame.rows - len(self.taken):
            found.append(f"{lost:,} row{'s have' if lost > 1 else ' has'} no time, and {'are' if lost > 1 else 'is'} "
                         "in no window.")  # fmt: skip
        keys = len(self.intake.keys)
        return [*found, f"The first {KEYS} of {keys:,} keys."] if keys > KEYS else found

    def by_measure(self) -> dict[Measure, list[str]]:
        """The windows that can be drawn along one axis, by what that is."""
        found: dict[Measure, list[str]] = {}
        for name, window in self.query.windows.items():
            found.setdefault(self._measure(window), []).append(name)
        return found

    def _measure(self, window: Window) -> Measure:
        if not self.query.per_row:
            return self.query.measure(window)
        return window.measure if window.measure.kind == "column" else TIME if self.query.time is not None else ROWS

    def panel(self, measure: Measure, names: Sequence[str]) -> Panel:
        """The lanes of some windows."""
        places = self._places(measure)
        lanes = self._lanes(places)
        bars = self._by_row if self.query.per_row else self._once
        for name in names:
            bars(measure, name, places, lanes)
        return Panel(self._axis(measure), list(lanes.values())[:KEYS], list(self.query.aggregates), self.values or "")

    def _axis(self, measure: Measure) -> Axis:
        if measure == TIME:
            return time_axis(self._times)
        return Axis("rows", "row") if measure == ROWS else Axis("number", measure.column or "")

    @property
    def _times(self) -> Times:
        return event_times(self.query, self.frame)

    def _places(self, measure: Measure) -> np.ndarray:
        """Where each row lies."""
        if measure == TIME:
            return places_of(self._times)
        if measure != ROWS:
            return self.intake.measures[measure].astype(float)
        times = self.intake.measures.get(TIME, np.zeros(self.frame.rows))[self.taken]
        codes = self.intake.codes[self.taken]
        order = np.lexsort((times, codes))
        position = np.zeros(self.frame.rows)
        for code in np.unique(codes):
            own = order[codes[order] == code]
            position[self.taken[own]] = np.arange(len(own))
        return position

    def _lanes(self, places: np.ndarray) -> dict[int, Lane]:
        """A lane for each key, with its rows."""
        lanes = {}
        columns = {name: self.frame.objects(name, range(self.frame.rows)) for name in self.frame.names}
        for code, row in enumerate(self.intake.keys.tolist()):
            lanes[code] = Lane(", ".join(shown(columns[name][row]) for name in self.query.by))
        if not lanes:
            lanes[0] = Lane()
        for row in self.taken.tolist():
            told = "\n".join([f"row {row}", *(f"{name}: {shown(values[row])}" for name, values in columns.items())])
            label = "" if self.values is None else shown(columns[self.values][row])
            lanes[int(self.intake.codes[row])].dots.append(Dot(float(places[row]), label, told))
        return lanes

    def _once(self, measure: Measure, name: str, places: np.ndarray, lanes: Mapping[int, Lane]) -> None:
        """Windows that report once, as the result tells them."""
        query, result = self.query, self.result
        start, end = query.edge_names()[measure]
        at: Sequence[int] = range(result.rows)
        if query.named:
            windows = result.objects("window", at)
            at = [i for i in at if windows[i] == name]
        edges = [self._edges(side, measure)[list(at)].tolist() for side in (start, end)]
        held = result.objects(self.held, at)
        answers = [result.objects(each, at) for each in query.aggregates]
        keys = list(zip(*(result.objects(each, at) for each in query.by), strict=True)) if query.by else [()] * len(at)
        codes = self._codes()
        edges_of = query.windows[name].brackets
        found: dict[int, list[Bar]] = {}
        for low, high, rows, key, *values in zip(*edges, held, keys, *answers, strict=True):
            bar = self._bar(
                low, high, [float(places[row]) for row in rows or ()], values, edges_of, self._axis(measure)
            )
            found.setdefault(codes.get(repr(key), 0), []).append(bar)
        for code, bars in found.items():
            lanes[code].groups[name if query.named else ""] = sorted(bars, key=lambda bar: (bar.start, bar.end))

    def _codes(self) -> dict[str, int]:
        """The number of each key, as results tell it."""
        keys = [self.frame.objects(name, self.intake.keys) for name in self.query.by]
        return {repr(key): code for code, key in enumerate(zip(*keys, strict=True))}

    def _edges(self, name: str, measure: Measure) -> np.ndarray:
        if measure != TIME:
            return self.result.column(name).values.astype(float)
        return places_of(frames.counted_in(name, self.result.time(name), self.query.time_unit))

    def _by_row(self, measure: Measure, name: str, places: np.ndarray, lanes: Mapping[int, Lane]) -> None:
        """Windows that report with each row."""
        names, window = self.asked.answer_names(), self.query.windows[name]
        every = range(self.result.rows)
        held = self.result.objects(names[name, self.held], every)
        answers = [self.result.objects(names[name, each], every) for each in self.query.aggregates]
        found: dict[int, list[Bar]] = {}
        for row in self.taken.tolist():
            bar = bar_of_row(window, measure, float(places[row]), [float(places[i]) for i in held[row] or ()])
            made = self._bar(*bar[:3], [values[row] for values in answers], bar[3], self._axis(measure))
            found.setdefault(int(self.intake.codes[row]), []).append(made)
        for code, bars in found.items():
            lanes[code].groups[name if self.query.named else ""] = sorted(bars, key=lambda bar: bar.end)

    def _bar(self, low: float, high: float, rows: list[float], values: Sequence[Any], edges: str, axis: Axis) -> Bar:
        told = [
            f"{edges[0]}{axis.told(low)}, {axis.told(high)}{edges[1]}: {len(rows)} row{'' if len(rows) == 1 else 's'}"
        ]
        told += [f"{name}: {shown(value)}" for name, value in zip(self.query.aggregates, values, strict=True)]
        return Bar(low, high, rows, [shown(value) for value in values], edges, "\n".join(told))


def bar_of_row(window: Window, measure: Measure, at: float, held: list[float]) -> tuple[float, float, list[float], str]:
    """(start, end, rows, brackets) of the window of a row."""
    span = window.span(at) if window.measure == measure else None
    if span is None:
        return min([*held, at]), max([*held, at]), held, "[]"
    return span[0], span[1], held, span[2]


def time_axis(times: Times) -> Axis:
    """An axis in the zone of a time column; of one of integers, numbers."""
    if times.native.kind == "integer":
        return Axis("number", times.native.unit)
    zone = times.native.zone
    if isinstance(zone, str):
        try:
            zone = zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            zone = None
    return Axis("time", "", zone)


def places_of(times: Times) -> np.ndarray:
    """Times along that axis."""
    if times.native.kind != "integer":
        return times.micros.astype(float)
    return times.values / (NANOS[times.native.unit] / NANOS[times.unit])


def place_of(tick: int, times: Times) -> float:
    """One moment, counted as these times are, along that axis."""
    return float(places_of(replace(times, values=np.array([tick]), mask=None))[0])


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
