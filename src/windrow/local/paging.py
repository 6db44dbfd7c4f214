"""The state of a live query, key by key: cut into pages of some keys each, and put together again from a few of them.

A live query keeps everything about a key in columns with the key's number beside them. To cut is to pick these rows
and to number keys and labels anew; to join is to put them one behind the other. So a stream with many keys can load
the pages of those that got rows, step all of them in one call of each kernel, and write just these pages back. A key
about which nothing is left to know is in no page: keys that fall silent cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.local.arrivals import FOREVER, one_nan
from windrow.local.old_live import OldLive as Live
from windrow.local.saving import columns_of, held_from, held_of, measured_from, measured_of, partials_from, partials_of
from windrow.sharing.groups import ROW_OF, VALID_ROW_OF
from windrow.sharing.lane import Lane
from windrow.sharing.rowwise import RowLane, some_rows
from windrow.sharing.slices import Keys, Rows, Slices
from windrow.step.held import Held
from windrow.windows.base import TIME, Measure
from windrow.windows.kinds import Landmark, Last, Periodic, Session, Trailing


@dataclass(frozen=True)
class Picked:
    """Some keys of a live query."""

    codes: np.ndarray  # their numbers, ascending
    at: np.ndarray  # the new number of each key, or -1

    def of(self, key: np.ndarray) -> np.ndarray:
        """Which rows are theirs."""
        return np.flatnonzero(self.at[key] >= 0)


def remembered(live: Live) -> np.ndarray:
    """Which keys have anything to remember."""
    size = len(live.arrivals.codes)
    lane, row_lane = live.machine.lane, live.machine.row_lane
    positions = any(part is not None and part.counted for part in (lane, row_lane))
    if positions or live.machine.dtypes or live.machine.states or live.query.changes_only:
        return np.ones(size, bool)
    there = np.zeros(size, bool)
    if live.arrivals.held is not None:
        there[live.arrivals.held.codes] = True
    if lane is not None and lane.slices is not None:
        there[lane.slices.key] = True
    if row_lane is not None and row_lane.rows is not None:
        there[row_lane.rows.key] = True
    return there


def due(live: Live) -> np.ndarray:
    """For each key, event time before which nothing of it becomes final and nothing can be forgotten."""
    when = np.full(len(live.arrivals.codes), FOREVER)
    held, lane, row_lane = live.arrivals.held, live.machine.lane, live.machine.row_lane
    if held is not None:
        np.minimum.at(when, held.codes, held.times)
    if lane is not None and lane.slices is not None and len(lane.slices):
        slices = lane.slices
        for window in lane.windows.values():
            if isinstance(window, Periodic) and window.measure == TIME:
                since = np.maximum(slices.first[TIME], lane.until)
                np.minimum.at(when, slices.key, _next(since, window.every, window.origin + window.range))
            elif isinstance(window, Session) and window.measure == TIME:
                first, last = slices.first[TIME], slices.last[TIME]
                goes_on = (slices.key[1:] == slices.key[:-1]) & (first[1:] < last[:-1] + window.gap)
                ends = np.flatnonzero(~np.append(goes_on, False))
                np.minimum.at(when, slices.key[ends], last[ends] + window.gap)
            elif isinstance(window, Landmark) and window.measure == TIME:
                when[slices.key] = lane.until
    if row_lane is not None and row_lane.rows is not None and len(row_lane.rows):
        rows = row_lane.rows
        for window in row_lane.windows.values():
            if isinstance(window, Last):
                since = np.maximum(rows.measures[TIME], row_lane.until)
                np.minimum.at(when, rows.key, _next(since, window.every, window.origin))
        by_time = [w.range for w in row_lane.windows.values() if isinstance(w, Trailing) and w.measure == TIME]
        if by_time:  # rows are needed as long as the longest of them reaches back
            newest = np.append(rows.key[1:] != rows.key[:-1], True)
            np.minimum.at(when, rows.key[newest], rows.measures[TIME][newest] + max(by_time) + 1)
    return when


def _next(since: np.ndarray, every: int, offset: int) -> np.ndarray:
    """The first multiple of `every`, counted from `offset`, after each of these."""
    return since + every - (since - offset) % every


def cut(live: Live, page: np.ndarray) -> dict[int, Any]:
    """The state of the keys of each page, as plain values; `page` tells it for each key, -1: for none."""
    keys = list(live.arrivals.codes)
    pages: dict[int, Any] = {}
    for number in np.unique(page[page >= 0]).tolist():
        codes = np.flatnonzero(page == number)
        at = np.full(len(keys), -1)
        at[codes] = np.arange(len(codes))
        pages[number] = _cut(live, Picked(codes, at), keys)
    return pages


def _cut(live: Live, some: Picked, keys: list[tuple]) -> Any:
    machine, held = live.machine, live.arrivals.held
    labels: dict[str, list] = {}
    return {
        "keys": [_values(part) for part in zip(*(keys[code] for code in some.codes.tolist()), strict=True)],
        "held": _cut_held(held, some),
        "lane": None if machine.lane is None else _cut_lane(machine.lane, some, live, labels),
        "row_lane": None if machine.row_lane is None else _cut_rows(machine.row_lane, some, live, labels),
        "states": [
            (n, [None if s is None else list(s.items()) for s in _states(v, some)]) for n, v in machine.states.items()
        ],
        "last": [
            (w, [(int(some.at[c]), row) for c, row in rows.items() if some.at[c] >= 0]) for w, rows in live.last.items()
        ],
        "labels": list(labels.items()),
    }


def _values(values: tuple) -> Any:
    """A column of keys: numbers as an array, which is faster to write."""
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, np.int64)
    return list(values)


def _cut_held(held: Held | None, some: Picked) -> Any:
    mine = None if held is None else held.at(some.of(held.codes))
    return None if mine is None or not mine.rows else held_of(Held(some.at[mine.codes], mine.times, mine.columns))


def _states(states: list, some: Picked) -> list:
    return [states[code] if code < len(states) else None for code in some.codes.tolist()]


def _cut_keys(keys: Keys, some: Picked) -> tuple:
    there = some.codes[some.codes < len(keys.count)]  # keys whose rows all wait are not known to lanes yet
    return keys.count[there], measured_of({m: values[there] for m, values in keys.newest.items()})


def _cut_lane(lane: Lane, some: Picked, live: Live, labels: dict[str, list]) -> tuple:
    slices = lane.slices
    if slices is None:
        return (*_cut_keys(lane.keys, some), None)
    at = some.of(slices.key)
    partials = []
    for group, slots in zip(lane.arrangement.groups, slices.partials, strict=True):
        if isinstance(slots, list):
            partials.append(partials_of(group, [slots[i] for i in at.tolist()]))
            continue
        mine = [column[at] for column in slots]
        for place, (_, of) in group.labels().items():
            mine[place] = _renumbered(mine[place], of, live, labels)
        partials.append(tuple(mine))
    counted = (slices.pos[at], slices.rows[at]) if lane.counted else None
    opened = [(w, v[at]) for w, v in slices.open.items()]
    kept = (some.at[slices.key[at]], counted, *_cut_places(lane, slices, at), opened, partials)
    return (*_cut_keys(lane.keys, some), kept)


def _cut_places(lane: Lane, slices: Slices, at: np.ndarray) -> tuple:
    """Where slices begin and end; on a grid of edges, just the steps from one to the next: a fraction of the bytes."""
    grid = _grid(lane)
    if grid is not None:
        origin, distance = grid
        return np.diff((slices.first[TIME][at] - origin) // distance, prepend=0), None
    return (
        measured_of({m: v[at] for m, v in slices.first.items()}),
        measured_of({m: v[at] for m, v in slices.last.items()}),
    )


def _join_places(lane: Lane, first: Any, last: Any) -> tuple[dict[Measure, np.ndarray], dict[Measure, np.ndarray]]:
    grid = _grid(lane)
    if last is None and grid is not None:
        origin, distance = grid
        places = np.cumsum(first) * distance + origin
        return {TIME: places}, {TIME: places}
    return measured_from(first), measured_from(last)


def _grid(lane: Lane) -> tuple[int, int] | None:
    """Periodic windows by time ask of a slice only between which edges it is. All edges lie on this grid."""
    windows = [w for w in lane.windows.values() if isinstance(w, Periodic) and w.measure == TIME]
    if not windows or len(windows) < len(lane.windows):
        return None
    origin = windows[0].origin
    return origin, math.gcd(*(part for w in windows for part in (w.range, w.every, w.origin - origin)))


def _cut_rows(lane: RowLane, some: Picked, live: Live, labels: dict[str, list]) -> tuple:
    if lane.rows is None:
        return (*_cut_keys(lane.keys, some), None)
    rows = some_rows(lane.rows, some.of(lane.rows.key))
    columns = dict(rows.columns)
    for name, column in rows.columns.items():
        if name.startswith((ROW_OF, VALID_ROW_OF)):
            numbers = _renumbered(column.values, name[1:], live, labels)
            columns[name] = Column(numbers, column.mask, column.dtype)
    return (*_cut_keys(lane.keys, some), (some.at[rows.key], measured_of(rows.measures), columns_of(columns)))


def _renumbered(numbers: np.ndarray, of: str, live: Live, labels: dict[str, list]) -> np.ndarray:
    """Numbers of labels among those of the page only; one that means nothing stays as it is."""
    pool = live.machine.labels.values.get(of, [])
    means = (numbers >= 0) & (numbers < len(pool))
    used, at = np.unique(numbers[means], return_inverse=True)
    mine = labels.setdefault(of, [])
    result = np.full(len(numbers), -1)
    result[means] = at + len(mine)
    mine += [pool[number] for number in used.tolist()]
    return result


def join(live: Live, pages: Iterable[Mapping[str, Any]]) -> None:
    """Puts pages into a live query that has begun and has no keys yet."""
    for page in pages:
        _join(live, page)
    live.machine.labels.renew()


def _join(live: Live, page: Mapping[str, Any]) -> None:
    arrivals, machine = live.arrivals, live.machine
    base = len(arrivals.codes)
    parts = (part if isinstance(part, list) else part.tolist() for part in page["keys"])
    for key in zip(*parts, strict=True):
        arrivals.codes[tuple(map(one_nan, key))] = len(arrivals.codes)
    if page["held"] is not None:
        mine = held_from(page["held"])
        mine = Held(mine.codes + base, mine.times, mine.columns)
        arrivals.held = mine if arrivals.held is None else arrivals.held.followed_by(mine)
    start = {name: len(machine.labels.values.setdefault(name, [])) for name, _ in page["labels"]}
    for name, values in page["labels"]:
        machine.labels.values[name] += values
    for name, states in page["states"]:
        known = machine.states.setdefault(name, [])
        known += [None] * (base - len(known)) + [None if s is None else dict(s) for s in states]
    for window, rows in page["last"]:
        live.last[window].update({base + code: tuple(row) for code, row in rows})
    if page["lane"] is not None and machine.lane is not None:
        _join_lane(machine.lane, page["lane"], base, start)
    if page["row_lane"] is not None and machine.row_lane is not None:
        _join_rows(machine.row_lane, page["row_lane"], base, start)


def _join_keys(lane: Lane | RowLane, count: np.ndarray, newest: Any, base: int) -> None:
    keys = lane.keys
    keys.grow(base, lane.dtypes)
    keys.count = np.concatenate([keys.count, count])
    for measure, values in measured_from(newest).items():
        keys.newest[measure] = np.concatenate([keys.newest[measure], values])


def _join_lane(lane: Lane, parts: tuple, base: int, start: Mapping[str, int]) -> None:
    count, newest, kept = parts
    _join_keys(lane, count, newest, base)
    if kept is None:
        return
    key, counted, first, last, open_, partials = kept
    slots = []
    for group, saved in zip(lane.arrangement.groups, partials, strict=True):
        mine = partials_from(group, saved)
        if not isinstance(mine, list):
            mine = list(mine)
            for place, (_, of) in group.labels().items():
                mine[place] = _from(mine[place], start.get(of, 0))
            mine = tuple(mine)
        slots.append(mine)
    pos, rows = counted if counted is not None else (np.zeros(len(key), np.int64), np.ones(len(key), np.int64))
    new = Slices(key + base, pos, rows, *_join_places(lane, first, last), dict(open_), slots)
    lane.slices = new if lane.slices is None else _followed(lane.slices, new)


def _from(numbers: np.ndarray, start: int) -> np.ndarray:
    return np.where(numbers >= 0, numbers + start, numbers)


def _followed(a: Slices, b: Slices) -> Slices:
    def both(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.concatenate([x, y])

    partials = [
        x + y if isinstance(x, list) else tuple(map(both, x, y)) for x, y in zip(a.partials, b.partials, strict=True)
    ]
    return Slices(
        both(a.key, b.key), both(a.pos, b.pos), both(a.rows, b.rows),
        {m: both(v, b.first[m]) for m, v in a.first.items()}, {m: both(v, b.last[m]) for m, v in a.last.items()},
        {w: both(v, b.open[w]) for w, v in a.open.items()}, partials,
    )  # fmt: skip


def _join_rows(lane: RowLane, parts: tuple, base: int, start: Mapping[str, int]) -> None:
    count, newest, kept = parts
    _join_keys(lane, count, newest, base)
    if kept is None:
        return
    key, measures, columns = kept
    named = held_from((key, key, columns)).columns
    named = {
        n: Column(_from(c.values, start.get(n[1:], 0)), c.mask, c.dtype) if n.startswith((ROW_OF, VALID_ROW_OF)) else c
        for n, c in named.items()
    }
    new = Rows(key + base, measured_from(measures), named, {}, {})
    if lane.rows is None:
        lane.rows = new
        return
    old = lane.rows
    lane.rows = Rows(
        np.concatenate([old.key, new.key]),
        {m: np.concatenate([v, new.measures[m]]) for m, v in old.measures.items()},
        {n: c.followed_by(new.columns[n]) for n, c in old.columns.items()},
        {}, {},
    )  # fmt: skip
