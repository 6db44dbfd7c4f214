"""A query over a whole table, in this process: every window is a range of rows that are there."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from windrow import frames
from windrow.engine.grouping import factorize
from windrow.engine.inputs import Column
from windrow.engine.kernel import rather_plain
from windrow.engine.threads import ONE, Threads, wanted
from windrow.errors import WindrowError
from windrow.frames import Frame, Output, refuse_to_guess
from windrow.local.asking import Asking, check_askable, read_asking
from windrow.local.derived import read_for
from windrow.local.explain import explain
from windrow.local.intake import Intake, Ordered, named_columns, take_in
from windrow.local.results import all_final, changed, output, some, table
from windrow.local.schema import Schema
from windrow.query import Query, Report
from windrow.step.choosing import planned
from windrow.step.groups import Answer, Arrangement, arrange
from windrow.step.results import Results, Seen
from windrow.step.slices import of_table
from windrow.step.tables import answers_asked, answers_by_row, stepped, stepped_over
from windrow.windows.base import TIME, Measure, StepRows, Window

#: from so many rows on, one pass for all aggregates is worth a kernel of its own
TOGETHER = 1 << 24


@contextlib.contextmanager
def _threads(query: Query, frame: Frame) -> Iterator[Threads]:
    """The threads of a run, which read the frame's columns, too."""
    with Threads(wanted(query.threads, frame.rows)) as frame.threads:
        try:
            yield frame.threads
        finally:
            frame.threads = ONE


class Local:
    """Runs queries over tables that are in memory."""

    def accepts(self, data: Any) -> bool:
        return True  # it says itself what it cannot read

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        frame = read_for(query, data)
        if query.guesses_unit:
            refuse_to_guess(query.time or "", frame.time(query.time or ""))
        with _threads(query, frame) as threads:
            run = self._batch(query, frame, threads)
            result, rows_out = run.by_row() if query.per_row else run.once()
        return result, Report(frame.rows, rows_out, 0, run.intake.rejected)

    def first(self, data: Any, rows: int) -> tuple[Any, bool]:
        return data, True

    def answer(self, query: Query, data: Any, at: Any, at_time: str | None) -> tuple[Any, Report]:
        check_askable(query, at_time)
        frame, labels = read_for(query, data), frames.read(at)
        if frame.library != labels.library:
            raise WindrowError(f"at= is of the events' kind, {frame.library}, not {labels.library}")
        if query.guesses_unit:
            refuse_to_guess(query.time or "", frame.time(query.time or ""))
        with _threads(query, frame) as threads:
            run = self._batch(query, frame, threads, asked=True)
            asking = read_asking(query, run.intake, labels, at_time)
            result = run.asked(asking)
        return result, Report(frame.rows, labels.rows, 0, run.intake.rejected + asking.rejected)

    def _batch(self, query: Query, frame: Frame, threads: Threads, asked: bool = False) -> Batch:
        intake = take_in(query, frame, threads)
        needed = {
            name: frame.outline(name) if a.builtin else frame.column(name)
            for a in sorted(query.aggregates.values(), key=lambda a: not a.builtin)
            for name in a.columns
        }
        together = frame.rows >= TOGETHER
        types = {name: frame.type(name) for name in needed}
        arrangement = arrange(
            query.aggregates, needed, types=types, together=together, own_plain=rather_plain(frame.rows)
        )
        nullable = any(column.mask is not None for column in needed.values())
        read = {**{name: frame.type(name) for name in named_columns(query)}, **types}
        return Batch(query, intake, arrangement, threads, Schema.of(query, read, intake.times, nullable, asked))

    def explain(self, query: Query, data: Any) -> str:
        if data is None:
            return explain(query, None, {}, 0, 0)
        frame = read_for(query, data)
        with _threads(query, frame) as threads:
            run = self._batch(query, frame, threads)
            run.by_row() if query.per_row else run.once()
        return explain(query, run.arrangement, run.seen, frame.rows, len(run.intake.keys), threads.count)


class Batch:
    """One run."""

    def __init__(
        self, query: Query, intake: Intake, arrangement: Arrangement, threads: Threads, schema: Schema
    ) -> None:
        self.query, self.intake, self.arrangement, self.threads = query, intake, arrangement, threads
        self.schema = schema
        self.frame: Frame = intake.frame
        factor = 1000 if intake.times is not None and intake.times.unit == "ns" else 1
        self.windows = {name: window.scaled(factor) for name, window in query.windows.items()}
        self.dtypes = {m: v.dtype for m, v in intake.measures.items() if m.kind == "column"}
        self.stamps = None if intake.times is None else intake.times.stamps
        self.seen: dict[str, Seen] = {}  # for explain

    @cached_property
    def base(self) -> Ordered:
        """The rows by key and time."""
        return self._base()

    def _base(self, rows_of: np.ndarray | None = None) -> Ordered:
        return Ordered(self.intake, TIME if self.intake.times is not None else None, self.threads, rows_of)

    def lanes(self, windows: dict[str, Window]) -> list[tuple[Ordered, dict[str, Window]]]:
        """Windows that take the same rows in the same order together.

        Those along a column that goes back, or along which rows have no place, are apart.
        """
        own: dict[Measure, dict[str, Window]] = {}
        shared: dict[str, Window] = {}
        some_rows = {m: rows for m in self.dtypes if (rows := self.intake.present(m)) is not None}
        apart = {m for m in self.dtypes if m in some_rows or not self.base.sorted_by(m)}
        for name, window in windows.items():
            measure = window.measure
            if measure in apart:
                own.setdefault(measure, {})[name] = window
            else:
                shared[name] = window
        found = [(self.base, shared)] if shared else []
        return found + [(self._base(some_rows.get(measure)).resorted(measure), some) for measure, some in own.items()]

    def once(self) -> tuple[Any, int]:
        """Windows that report once."""
        found = {f.window: f for results in self._stepped(dict(self.windows)) for f in results.ended}
        in_order = [found[name] for name in self.windows]
        if self.query.changes_only:
            in_order = [
                some(f, np.flatnonzero(changed(self.query, f.key, self._told(f.answers), {}))) for f in in_order
            ]
        rows_out = sum(len(f.key) for f in in_order)
        columns = table(self.query, in_order, self._keys, self.schema.times) | all_final(self.query, rows_out)
        return frames.build(self.frame, columns, self.schema.types), rows_out

    def _stepped(self, windows: dict[str, Window]) -> list[Results]:
        """From slices, which are few to sort, where the rows can be folded as they lie; else from the rows in order."""
        found = self._folded(windows)
        if not found:
            for ordered, some_windows in self.lanes(windows):
                dtypes = self._dtypes(some_windows)
                plan = planned(
                    self.query, some_windows, self.arrangement, dtypes, ordered.readable(), stamps=self.stamps
                )
                found.append(stepped(plan, *self._rows(ordered), ordered.size, self.threads))
        for results in found:
            self.seen |= results.seen
        return found

    def _folded(self, windows: dict[str, Window]) -> list[Results]:
        if not all(window.late_slices for window in windows.values()):
            return []
        plan = planned(self.query, windows, self.arrangement, {}, {}, stamps=self.stamps)
        rows = Ordered.as_they_lie(self.intake)
        times = rows.pick(self.intake.measures[TIME])
        slices = of_table(plan, rows.key, rows.size, times, rows.column, self.threads)
        return [] if slices is None else [stepped_over(plan, slices, rows.size, self.threads)]

    def _rows(self, ordered: Ordered, along: Collection[Measure] = ()) -> tuple[StepRows, dict[str, Column]]:
        """The rows of a step, and what the aggregates read. `along`: measures that rows ask along."""
        looked_at = [m for m in self.intake.measures if m in along or self._measured(m)]
        measures = {m: ordered.pick(self.intake.measures[m]) for m in looked_at}
        columns = {name: ordered.column(name) for name in self.arrangement.columns()}
        return StepRows(ordered.key, measures, ordered.readable()), columns

    def _measured(self, measure: Measure) -> bool:
        """Whether a window looks at this measure."""
        return any(measure in w.measures or (w.edges_in_time and measure == TIME) for w in self.windows.values())

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
        names = self.query.answer_names()
        differs = np.zeros(self.frame.rows, bool)
        for ordered, windows in self.lanes(dict(self.windows)):
            own = {name: ordered.column(name) for window in windows.values() for name in window.columns}
            plan = planned(self.query, windows, self.arrangement, self._dtypes(windows), own)
            for window, answers in answers_by_row(plan, *self._rows(ordered), self.threads).items():
                if self.query.changes_only:
                    differs[ordered.positions()] |= changed(self.query, ordered.key, self._told(answers), {})
                for name, answer in answers.items():
                    columns[names[window, name]] = output(self._unsorted(ordered, answer))
        added = {name: columns[name] for name in names.values()} | all_final(self.query, self.frame.rows)
        result = frames.extend(self.frame, added, self.schema.types)
        if not self.query.changes_only:
            return result, self.frame.rows
        at = np.flatnonzero(differs)
        return frames.read(result).take(at), len(at)

    def asked(self, asking: Asking) -> Any:
        """Windows that report with each row, for rows that ask."""
        columns: dict[str, Output] = {}
        names = self.query.answer_names()
        for ordered, windows in self.lanes(dict(self.windows)):
            own = {name: ordered.column(name) for window in windows.values() for name in window.columns}
            plan = planned(self.query, windows, self.arrangement, self._dtypes(windows), own)
            along = {name: window.asked_along or TIME for name, window in windows.items()}
            placed = {measure: asking.sorted(measure) for measure in set(along.values())}
            asks = {name: placed[measure][0] for name, measure in along.items()}
            for window, answers in answers_asked(plan, *self._rows(ordered, placed), asks, self.threads).items():
                for name, answer in answers.items():
                    unsorted = asking.unsorted(answer, placed[along[window]][1])
                    columns[names[window, name]] = output(unsorted, self.frame)
        return frames.extend(asking.frame, {name: columns[name] for name in names.values()}, self.schema.types)

    def _unsorted(self, ordered: Ordered, answer: Answer) -> Answer:
        """Answers in the frame's own order; rows that were rejected have none."""
        values = ordered.back(answer.values, None if answer.values.dtype == object else 0)
        there = answer.there
        if there is None and ordered.rows_of is not None:
            there = np.ones(len(answer.values), bool)
        return replace(answer, values=values, there=None if there is None else ordered.back(there, False))
