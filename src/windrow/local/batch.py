"""A query over a whole table, in this process: every window is a range of rows that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from windrow import frames
from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.frames import Frame, Output
from windrow.local.explain import explain
from windrow.local.intake import Intake, Ordered, take_in
from windrow.local.results import changed, output, some, table
from windrow.query import Query, Report
from windrow.sharing.groups import Answer, Arrangement, arrange
from windrow.step.choosing import planned
from windrow.step.results import Ended, Results, Seen
from windrow.step.state import State
from windrow.step.step import step
from windrow.step.tables import answers_by_row
from windrow.windows.base import TIME, Measure, StepRows, Window
from windrow.windows.kinds import scaled

#: from so many rows on, one pass for all aggregates is worth a kernel of its own
TOGETHER = 1 << 24


class Local:
    """Runs queries over tables that are in memory."""

    def accepts(self, data: Any) -> bool:
        return True  # it says itself what it cannot read

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        frame = frames.read(data)
        run = self._batch(query, frame)
        result, rows_out = run.by_row() if query.per_row else run.once()
        return result, Report(frame.rows, rows_out, 0, run.intake.rejected)

    def _batch(self, query: Query, frame: Frame) -> Batch:
        intake = take_in(query, frame)
        needed = {
            name: frame.outline(name) if a.builtin else frame.column(name)
            for a in sorted(query.aggregates.values(), key=lambda a: not a.builtin)
            for name in a.columns
        }
        # lists and objects without a value do not tell their type: not refused as texts
        untold = {
            name
            for name, column in needed.items()
            if column.kind == "object"
            and frame.library in ("arrays", "pandas")
            and not (frame.rows if column.mask is None else column.mask.any())
        }
        return Batch(query, intake, arrange(query.aggregates, needed, untold=untold, together=frame.rows >= TOGETHER))

    def explain(self, query: Query, data: Any) -> str:
        if data is None:
            return explain(query, None, {}, 0, 0)
        run = self._batch(query, frames.read(data))
        run.by_row() if query.per_row else run.once()
        return explain(query, run.arrangement, run.seen, run.frame.rows, len(run.intake.keys))


class Batch:
    """One run."""

    def __init__(self, query: Query, intake: Intake, arrangement: Arrangement) -> None:
        self.query, self.intake, self.arrangement = query, intake, arrangement
        self.frame: Frame = intake.frame
        factor = 1000 if intake.times is not None and intake.times.unit == "ns" else 1
        self.windows = {name: scaled(window, factor) for name, window in query.windows.items()}
        self.dtypes = {m: v.dtype for m, v in intake.measures.items() if m.kind == "column"}
        self.seen: dict[str, Seen] = {}  # for explain
        self.base = Ordered(intake, TIME if intake.times is not None else None)

    def lanes(self, windows: dict[str, Window]) -> list[tuple[Ordered, dict[str, Window]]]:
        """Windows that take the rows in the same order together; one along a column that goes back has its own."""
        own: dict[Measure, dict[str, Window]] = {}
        shared: dict[str, Window] = {}
        going_back = {m for m in self.dtypes if not self.base.sorted_by(m)}
        for name, window in windows.items():
            measure = window.measure
            if measure in going_back:
                own.setdefault(measure, {})[name] = window
            else:
                shared[name] = window
        found = [(self.base, shared)] if shared else []
        return found + [(self.base.resorted(measure), some) for measure, some in own.items()]

    def once(self) -> tuple[Any, int]:
        """Windows that report once."""
        found: dict[str, Ended] = {}
        for ordered, windows in self.lanes(dict(self.windows)):
            for f in self._stepped(ordered, windows).ended:
                found[f.window] = f
        in_order = [found[name] for name in self.windows]
        if self.query.changes_only:
            in_order = [some(f, np.flatnonzero(changed(f.key, self._told(f.answers), {}))) for f in in_order]
        columns = table(self.query, in_order, self._keys, self.intake.times)
        return frames.build(self.frame, columns), sum(len(f.key) for f in in_order)

    def _stepped(self, ordered: Ordered, windows: dict[str, Window]) -> Results:
        """One step from an empty state to the end of all rows."""
        state = State(planned(self.query, windows, self.arrangement, self._dtypes(windows), {}))
        state.grow(ordered.size)
        rows, columns = self._rows(ordered)
        keys = np.arange(ordered.size) if len(ordered) else np.empty(0, np.int64)
        results = step(state, rows, columns, FOREVER, closing=True, keys=keys, keep=False)
        self.seen |= results.seen
        return results

    def _rows(self, ordered: Ordered) -> tuple[StepRows, dict[str, Column]]:
        """The rows of a step, and what the aggregates read."""
        measures = {m: ordered.pick(values) for m, values in self.intake.measures.items()}
        columns = {name: ordered.column(name) for name in self.arrangement.columns()}
        return StepRows(ordered.key, measures, ordered.readable()), columns

    def _told(self, answers: Mapping[str, Answer]) -> dict[str, Answer]:
        """Answers that can be compared: equal labels have equal numbers, whatever row they are from."""
        return {name: answer if answer.rows_of is None else self._label(answer) for name, answer in answers.items()}

    def _label(self, answer: Answer) -> Answer:
        assert answer.rows_of is not None
        codes, _ = factorize(self.frame.keys([answer.rows_of]))
        mask = self.frame.outline(answer.rows_of).mask
        rows = answer.values if answer.there is None else np.where(answer.there, answer.values, 0)
        there = np.ones(len(rows), bool) if answer.there is None else answer.there
        if mask is not None:
            there = there & mask[rows]
        return Answer(codes[rows], None if there.all() else there)

    def _keys(self, code: np.ndarray) -> dict[str, Output]:
        return {name: frames.Taken(name, self.intake.keys[code]) for name in self.query.by}

    def _dtypes(self, windows: dict[str, Window]) -> dict[Measure, np.dtype]:
        measures = {w.measure for w in windows.values()}
        return {m: dtype for m, dtype in self.dtypes.items() if m in measures}

    def by_row(self) -> tuple[Any, int]:
        """Windows that report with each row."""
        columns: dict[str, Output] = {}
        differs = np.zeros(self.frame.rows, bool)
        for ordered, windows in self.lanes(dict(self.windows)):
            own = {name: ordered.column(name) for window in windows.values() for name in window.columns}
            plan = planned(self.query, windows, self.arrangement, self._dtypes(windows), own)
            for window, answers in answers_by_row(plan, *self._rows(ordered)).items():
                if self.query.changes_only:
                    differs[ordered.positions()] |= changed(ordered.key, self._told(answers), {})
                for name, answer in answers.items():
                    columns[f"{name}_{window}" if self.query.named else name] = output(self._unsorted(ordered, answer))
        declared = [f"{n}_{w}" if self.query.named else n for w in self.windows for n in self.query.aggregates]
        result = frames.extend(self.frame, {name: columns[name] for name in declared})
        if not self.query.changes_only:
            return result, self.frame.rows
        at = np.flatnonzero(differs)
        return frames.read(result).take(at), len(at)

    def _unsorted(self, ordered: Ordered, answer: Answer) -> Answer:
        """Answers in the frame's own order; rows that were rejected have none."""
        if ordered.at is None:
            return answer
        n = self.frame.rows
        values = np.zeros(n, answer.values.dtype) if answer.values.dtype != object else np.full(n, None, object)
        values[ordered.at] = answer.values
        there = answer.there
        if there is not None or len(ordered.at) < n:
            placed = np.zeros(n, bool)
            placed[ordered.at] = True if there is None else there
            there = placed
        return replace(answer, values=values, there=there)
