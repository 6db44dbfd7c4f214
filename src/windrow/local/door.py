"""Rows as they come to a live query: which are in time, and the numbers of their keys."""

from __future__ import annotations

import numpy as np

from windrow.frames import Frame
from windrow.local.arrivals import NEVER, Arrivals
from windrow.local.intake import Intake, take_in
from windrow.query import Query
from windrow.step.held import Held
from windrow.step.keys import Keys


class Door(Arrivals):
    """What is known of rows that come: their types, how far event time has come, the numbers of their keys."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.keys = Keys(len(query.by))

    def _codes(self, intake: Intake) -> np.ndarray:
        n = intake.frame.rows
        if not self.query.by:
            return np.zeros(n, np.int64)
        columns = [intake.frame.objects(name, intake.keys) for name in self.query.by]
        numbers = self.keys.number(columns)
        return numbers[intake.codes] if len(numbers) > 1 else np.full(n, numbers[0])

    def admit(self, frame: Frame) -> tuple[Held | None, np.ndarray, np.ndarray]:
        """(rows that are in time, which are late, which are rejected); event time goes on."""
        intake = take_in(self.query, frame)
        times = self._in_unit(intake)
        if intake.good is None:
            good, rejected = None, np.empty(0, np.int64)
        else:
            good = intake.good
            times = times[good]
            missing = np.ones(frame.rows, bool)
            missing[good] = False
            rejected = np.flatnonzero(missing)
        in_time, newest = self._in_time(times)
        late = np.empty(0, np.int64)
        at: np.ndarray | slice
        if in_time.all():
            at = slice(None) if good is None else good
        else:
            rows = np.arange(frame.rows) if good is None else good
            at, late = rows[in_time], rows[~in_time]
            times = times[in_time]
        rows_in = self._plain(intake, at, times) if len(times) else None
        self.newest = newest
        if self.query.time is not None and newest != NEVER:
            self.watermark = max(self.watermark, newest - self.query.lateness * self.ticks)
        return rows_in, late, rejected
