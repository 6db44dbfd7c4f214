"""What a live query keeps between batches: lanes of windows, labels, the state of user-defined windows."""

from __future__ import annotations

import numpy as np

from windrow.engine.forward import going_forward
from windrow.frames import Times
from windrow.local.held import Held, Labels
from windrow.local.intake import Intake, Ordered, column_measures, measure_dtype
from windrow.query import Query
from windrow.sharing.choice import choose, for_rows
from windrow.sharing.groups import Answer, arrange
from windrow.sharing.lane import Found, Lane
from windrow.sharing.rowwise import RowLane
from windrow.windows.base import TIME, Measure
from windrow.windows.kinds import Last, Periodic, Session, Trailing, scaled


class Machine:
    """Takes in rows in order and gives what has ended. `begin` it with the first rows: they tell the columns' types."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.labels = Labels()
        self.states: dict[str, list] = {}
        self.lane: Lane | None = None
        self.row_lane: RowLane | None = None
        self.dtypes: dict[Measure, np.dtype] = {}

    @property
    def begun(self) -> bool:
        return self.lane is not None or self.row_lane is not None

    @property
    def takes_late_rows(self) -> bool:
        """Whether a row can go straight into its slice: windows by time alone, and no order within a slice."""
        by_time = all(isinstance(w, (Periodic, Session)) and w.measure == TIME for w in self.query.windows.values())
        return by_time and all(aggregate.commutative for aggregate in self.query.aggregates.values())

    @property
    def waits_for_peers(self) -> bool:
        """Whether rows of one time must be taken in together."""
        return any(
            isinstance(w, Trailing) and w.measure == TIME and w.closed in ("right", "both")
            for w in self.query.windows.values()
        )

    def begin(self, rows: Held, ticks: int) -> None:
        query = self.query
        arrangement = arrange(query.aggregates, rows.columns, nullable=True)
        windows = {name: scaled(window, ticks) for name, window in query.windows.items()}
        self.dtypes = {m: measure_dtype(query, m, rows.column(m.column or "")) for m in column_measures(query)}
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

    def _own(self, windows: dict) -> dict[Measure, np.dtype]:
        return {m: dtype for m, dtype in self.dtypes.items() if m in {w.measure for w in windows.values()}}

    def intake(self, rows: Held, keys: int, times: Times | None) -> Intake:
        """Released rows as the lanes take them."""
        measures = {m: rows.column(m.column or "").values.astype(d, copy=False) for m, d in self.dtypes.items()}
        if times is not None:
            measures[TIME] = rows.times
        numbers = {}
        for lane in (self.lane, self.row_lane):
            for name in lane.arrangement.row_numbers() if lane is not None else ():
                numbers[name] = self.labels.numbers(name, rows.column(name))
        return Intake(rows, rows.codes, np.arange(keys), times, measures, None, numbers)

    def forward(
        self, rows: Held, measure: Measure, dtype: np.dtype, keys: int, closing: bool
    ) -> tuple[Held, int, Held | None]:
        """The rows that do not go back along a column; how many do; those that wait, since equal ones may follow."""
        lane = self.lane if self.lane is not None and measure in self.lane.dtypes else self.row_lane
        assert lane is not None
        lane.keys.grow(keys, lane.dtypes)
        at = np.argsort(rows.times, kind="stable")
        values = rows.column(measure.column or "").values.astype(dtype, copy=False)
        stays, last = np.empty(rows.rows, bool), np.empty(rows.rows, bool)
        stays[at], last[at] = going_forward(rows.codes[at], values[at], lane.keys.newest[measure])
        back = int((~stays).sum())
        peers = any(
            isinstance(w, Trailing) and w.measure == measure and w.closed in ("right", "both")
            for w in self.query.windows.values()
        )
        waits = last if peers and not closing else np.zeros(rows.rows, bool)
        if not back and not waits.any():
            return rows, 0, None
        return rows.at(np.flatnonzero(stays & ~waits)), back, rows.at(np.flatnonzero(waits)) if waits.any() else None

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
        return by_row, found
