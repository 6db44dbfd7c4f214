"""What a live query keeps between batches: lanes of windows, labels, the state of user-defined windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.forward import going_forward, hold_back
from windrow.frames import Times
from windrow.local.intake import Intake, Ordered, column_measures, measure_dtype
from windrow.local.labels import Labels
from windrow.query import Query
from windrow.sharing.choice import choose, for_rows
from windrow.sharing.groups import Answer, Arrangement, arrange
from windrow.sharing.lane import Found, Lane
from windrow.sharing.rowwise import RowLane
from windrow.sharing.shelf import Shelf, storable
from windrow.sharing.stored import StoredLane
from windrow.sharing.stored_rows import StoredRowLane
from windrow.step.held import Held
from windrow.windows.base import ROWS, TIME, Measure, Window
from windrow.windows.kinds import Last, Periodic, Session, Trailing, scaled


class Machine:
    """Takes in rows in order and gives what has ended. `begin` it with the first rows: they tell the columns' types."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.labels = Labels()
        self.states: dict[str, list] = {}
        self.lane: Lane | None = None
        self.row_lane: RowLane | None = None
        self.stored: dict[str, StoredLane | StoredRowLane] = {}  # a lane for each window that is in the store
        self.called = ""  # what the names of all that is in the store begin with
        self.dtypes: dict[Measure, np.dtype] = {}

    @property
    def begun(self) -> bool:
        return bool(self.lanes)

    @property
    def lanes(self) -> list[Any]:
        """All that take in rows."""
        return [lane for lane in (self.lane, self.row_lane, *self.stored.values()) if lane is not None]

    @property
    def shelves(self) -> list[Shelf]:
        """What the query has in its store."""
        return [lane.shelf for lane in self.stored.values()]

    @property
    def takes_late_rows(self) -> bool:
        """Whether a row can go straight into its slice: windows by time alone, and no order within a slice.

        Not where slices go to a store: there they come in order.
        """
        if self.query.store is not None:
            return False
        by_time = all(isinstance(w, (Periodic, Session)) and w.measure == TIME for w in self.query.windows.values())
        return by_time and all(aggregate.commutative for aggregate in self.query.aggregates.values())

    @property
    def peers(self) -> set[Measure]:
        """The measures along which rows of one value must be taken in together."""
        return {
            w.measure
            for w in self.query.windows.values()
            if isinstance(w, Trailing) and w.measure != ROWS and w.closed in ("right", "both")
        }

    def begin(self, rows: Held, ticks: int) -> None:
        query = self.query
        arrangement = arrange(query.aggregates, rows.columns, nullable=True)
        windows = {name: scaled(window, ticks) for name, window in query.windows.items()}
        self.dtypes = {m: measure_dtype(query, m, rows.column(m.column or "")) for m in column_measures(query)}
        if query.store is not None:
            self._begin_stored({name: w for name, w in windows.items() if storable(w)}, arrangement)
            windows = {name: w for name, w in windows.items() if not storable(w)}
        over_rows = {name: w for name, w in windows.items() if w.per_row or isinstance(w, Last)}
        sliced = {name: w for name, w in windows.items() if name not in over_rows}
        if sliced:
            chosen = choose(sliced, query.algorithm, query.favor)
            self.lane = Lane(
                sliced, arrangement, self._own(sliced), query.slicing, query.partial, not self.takes_late_rows,
                {name: choice.algorithm for name, choice in chosen.items()},
            )  # fmt: skip
        if over_rows:
            algorithms = {n: for_rows(w, query.algorithm, query.favor).algorithm for n, w in over_rows.items()}
            self.row_lane = RowLane(over_rows, arrangement, self._own(over_rows), algorithms)

    def _begin_stored(self, windows: dict[str, Window], arrangement: Arrangement) -> None:
        stored: dict[str, StoredLane | StoredRowLane] = {}
        for name, window in windows.items():
            shelf, one = Shelf(self.query.store, f"{self.called}, window {name}"), {name: window}
            if window.per_row:
                stored[name] = StoredRowLane(shelf, one, arrangement, self._own(one), {})
            else:
                stored[name] = StoredLane(
                    shelf, one, arrangement, self._own(one), self.query.slicing, self.query.partial
                )
        self.stored = stored

    def _own(self, windows: dict) -> dict[Measure, np.dtype]:
        return {m: dtype for m, dtype in self.dtypes.items() if m in {w.measure for w in windows.values()}}

    def intake(self, rows: Held, keys: int, times: Times | None) -> Intake:
        """Released rows as the lanes take them."""
        measures = {m: rows.column(m.column or "").values.astype(d, copy=False) for m, d in self.dtypes.items()}
        if times is not None:
            measures[TIME] = rows.times
        numbers = {}
        for lane in self.lanes[:1]:  # all have the same aggregates
            for name in lane.arrangement.row_numbers():
                numbers[name] = self.labels.numbers(name, rows.column(name))
        return Intake(rows, rows.codes, np.arange(keys), times, measures, None, numbers)

    def tidy(self) -> None:
        """Forgets what nothing refers to any more; what a store refers to is not known here."""
        if self.query.store is None:
            self.labels.tidy(self.lane, self.row_lane)

    def forward(self, rows: Held, keys: int, closing: bool) -> tuple[Held, int, Held | None]:
        """The rows that do not go back along a column; how many do; those that wait, since equal ones may follow."""
        back, wait = 0, np.zeros(rows.rows, bool)
        at = np.argsort(rows.times, kind="stable")
        rows = rows.at(at)
        for measure in self.dtypes:
            lane = next(lane for lane in self.lanes if measure in lane.dtypes)
            lane.keys.grow(keys, lane.dtypes)
            stays, last = going_forward(rows.codes, self._along(rows, measure), lane.keys.newest[measure])
            if measure in self.peers and not closing:
                wait |= last
            if not stays.all():
                back += int((~stays).sum())
                where = np.flatnonzero(stays)
                rows, at, wait = rows.at(where), at[where], wait[where]
        if wait.any():
            hold_back(rows.codes, [self._along(rows, measure) for measure in self.peers], wait)
        as_they_came = np.argsort(at)
        rows, wait = rows.at(as_they_came), wait[as_they_came]
        if not wait.any():
            return rows, back, None
        return rows.at(np.flatnonzero(~wait)), back, rows.at(np.flatnonzero(wait))

    def _along(self, rows: Held, measure: Measure) -> np.ndarray:
        if measure == TIME:
            return rows.times
        return rows.column(measure.column or "").values.astype(self.dtypes[measure], copy=False)

    def step(self, ordered: Ordered, until: int, closing: bool) -> tuple[dict[str, dict[str, Answer]], list[Found]]:
        """For windows by row the answers for these rows, and the windows that have ended."""
        found: list[Found] = []
        by_row: dict[str, dict[str, Answer]] = {}
        if self.lane is not None:
            rows = ordered.rows(self.lane.windows, self.lane.arrangement.columns(), self.states)
            found += self.lane.step(rows, ordered.size, until, closing)
        if self.row_lane is not None:
            rows = ordered.rows(self.row_lane.windows, self.row_lane.columns())
            by_row, ended = self.row_lane.step(rows, ordered.size, until, closing)
            found += ended
        for name, lane in self.stored.items():
            if isinstance(lane, StoredRowLane):
                rows = ordered.rows(lane.windows, lane.columns())
                by_row[name] = lane.step(rows, ordered.size, until, closing)[0][name]
            else:
                rows = ordered.rows(lane.windows, lane.arrangement.columns())
                found += lane.step(rows, ordered.size, until, closing)
        return {name: by_row[name] for name in self.query.windows if name in by_row}, found
