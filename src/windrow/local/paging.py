"""Pages of keys of the old engine, for queries with policy windows: each row has an answer, so there are no slices.

The state of such a query is rows with the numbers of their keys. To cut is to pick the rows of some keys and to number
keys and labels anew; to load is to put them one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.local.arrivals import FOREVER, one_nan
from windrow.local.old_live import OldLive
from windrow.local.saving import columns_of, held_from, held_of, measured_from, measured_of
from windrow.query import Report
from windrow.sharing.groups import ROW_OF, VALID_ROW_OF
from windrow.sharing.rowwise import RowLane, some_rows
from windrow.sharing.slices import Rows
from windrow.step.held import Held


class OldPages:
    """`pages.Pages` of a query with policy windows."""

    def __init__(self, live: OldLive) -> None:
        assert live.machine.row_lane is not None and live.machine.lane is None
        self.live = live
        self.rows_of: RowLane = live.machine.row_lane

    @property
    def report(self) -> Report:
        return self.live.report

    @property
    def watermark(self) -> int:
        return self.live.arrivals.watermark

    def load(self, pages: Iterable[Mapping[str, Any]]) -> None:
        self.rows_of.until = self.watermark
        for page in pages:
            self._load(page)
        self.live.machine.labels.renew()

    def push(self, rows: Any, watermark: int) -> tuple[Any, Any]:
        self.live.set_watermark(watermark)
        results = self.live.push(rows)
        return results, self.live.late

    def keys(self) -> np.ndarray:
        """All of them: a policy may need a key's rows however old they are."""
        return np.arange(len(self.live.arrivals.codes))

    def values(self, keys: np.ndarray, column: str) -> np.ndarray:
        at, known = self.live.query.by.index(column), list(self.live.arrivals.codes)
        return np.array([known[key][at] for key in keys.tolist()])

    def due(self, keys: np.ndarray) -> np.ndarray:
        when = np.full(len(self.live.arrivals.codes), FOREVER)
        held = self.live.arrivals.held
        if held is not None:
            np.minimum.at(when, held.codes, held.times)
        return when[keys]

    def cut(self, keys: np.ndarray, page: np.ndarray) -> dict[int, Mapping[str, Any]]:
        return {number: self._cut(keys[page == number]) for number in np.unique(page).tolist()}

    def _cut(self, codes: np.ndarray) -> Mapping[str, Any]:
        live, known = self.live, list(self.live.arrivals.codes)
        at = np.full(len(known), -1)
        at[codes] = np.arange(len(codes))
        labels: dict[str, list] = {}
        return {
            "keys": [list(part) for part in zip(*(known[code] for code in codes.tolist()), strict=True)],
            "held": _cut_held(live.arrivals.held, at),
            "rows": self._cut_rows(codes, at, labels),
            "last": [
                (w, [(int(at[code]), row) for code, row in rows.items() if at[code] >= 0])
                for w, rows in live.last.items()
            ],
            "labels": list(labels.items()),
        }

    def _cut_rows(self, codes: np.ndarray, at: np.ndarray, labels: dict[str, list]) -> tuple:
        lane = self.rows_of
        there = codes[codes < len(lane.keys.count)]  # keys whose rows all wait are not known here yet
        newest = measured_of({m: values[there] for m, values in lane.keys.newest.items()})
        counts = lane.keys.count[there], newest
        if lane.rows is None:
            return (*counts, None)
        rows = some_rows(lane.rows, np.flatnonzero(at[lane.rows.key] >= 0))
        columns = dict(rows.columns)
        for name, column in rows.columns.items():
            if name.startswith((ROW_OF, VALID_ROW_OF)):
                columns[name] = Column(self._renumbered(column.values, name[1:], labels), column.mask, column.dtype)
        return (*counts, (at[rows.key], measured_of(rows.measures), columns_of(columns)))

    def _renumbered(self, numbers: np.ndarray, of: str, labels: dict[str, list]) -> np.ndarray:
        """Numbers of labels among those of the page only; one that means nothing becomes -1."""
        pool = self.live.machine.labels.values.get(of, [])
        means = (numbers >= 0) & (numbers < len(pool))
        used, at = np.unique(numbers[means], return_inverse=True)
        mine = labels.setdefault(of, [])
        result = np.full(len(numbers), -1)
        result[means] = at + len(mine)
        mine += [pool[number] for number in used.tolist()]
        return result

    def _load(self, page: Mapping[str, Any]) -> None:
        arrivals, labels = self.live.arrivals, self.live.machine.labels
        base = len(arrivals.codes)
        for key in zip(*page["keys"], strict=True):
            arrivals.codes[tuple(map(one_nan, key))] = len(arrivals.codes)
        if page["held"] is not None:
            mine = held_from(page["held"])
            mine = Held(mine.codes + base, mine.times, mine.columns)
            arrivals.held = mine if arrivals.held is None else arrivals.held.followed_by(mine)
        start = {name: len(labels.values.setdefault(name, [])) for name, _ in page["labels"]}
        for name, values in page["labels"]:
            labels.values[name] += values
        for window, rows in page["last"]:
            self.live.last[window].update({base + code: tuple(row) for code, row in rows})
        self._load_rows(page["rows"], base, start)

    def _load_rows(self, parts: tuple, base: int, start: Mapping[str, int]) -> None:
        count, newest, kept = parts
        lane, keys = self.rows_of, self.rows_of.keys
        keys.grow(base, lane.dtypes)
        keys.count = np.concatenate([keys.count, count])
        for measure, values in measured_from(newest).items():
            keys.newest[measure] = np.concatenate([keys.newest[measure], values])
        if kept is None:
            return
        key, measures, columns = kept
        named = held_from((key, key, columns)).columns
        named = {
            n: Column(_from(c.values, start.get(n[1:], 0)), c.mask, c.dtype)
            if n.startswith((ROW_OF, VALID_ROW_OF))
            else c
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


def _cut_held(held: Held | None, at: np.ndarray) -> Any:
    mine = None if held is None else held.at(np.flatnonzero(at[held.codes] >= 0))
    return None if mine is None or not mine.rows else held_of(Held(at[mine.codes], mine.times, mine.columns))


def _from(numbers: np.ndarray, start: int) -> np.ndarray:
    return np.where(numbers >= 0, numbers + start, numbers)
