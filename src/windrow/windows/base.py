"""What all windows have in common: a measure, and whether they report once or with each row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, ClassVar, NamedTuple

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.asking import Asks, LiveAsks, Refused
from windrow.engine.cutting import Edges
from windrow.engine.inputs import Column
from windrow.engine.table import Table
from windrow.engine.walking import ByRow, E, Entries, F, Runs, Walked, WalkState
from windrow.errors import WindrowError
from windrow.windows.durations import abbreviated, is_duration, micros, spelled


class Measure(NamedTuple):
    """Along what a window is measured: the event time, the number of rows, or an ordered numeric column."""

    kind: str
    column: str | None = None

    def spelled(self, length: int | float) -> str:
        """A length of this measure as a person writes it."""
        if self.kind == "time":
            return spelled(int(length))
        if self.kind == "rows":
            return f"{length:,} row{'' if length == 1 else 's'}"
        return f"{length:g} of {self.column}" if isinstance(length, float) else f"{length:,} of {self.column}"

    def __str__(self) -> str:
        return self.column if self.column is not None else self.kind


#: the fields of kinds that are lengths, or places, along their measure
LENGTHS = ("range", "every", "origin", "gap", "at_most")
TIME, ROWS = Measure("time"), Measure("rows")
#: the number of a key -> a tree of its own, in a store
Trees = Callable[[int], Any]


@dataclass(slots=True, eq=False)
class StepRows:
    """The rows of a step, sorted by key and in order within each."""

    key: np.ndarray
    measures: dict[Measure, np.ndarray]  # event time, row numbers, columns
    readable: Mapping[str, Column]  # what predicates and user-defined windows see; read when asked for
    last: Mapping[Measure, np.ndarray] = field(default_factory=dict)  # of slices instead of rows: their newest values
    keep: bool = True  # the step can be taken back

    def __len__(self) -> int:
        return len(self.key)


class Window:
    """A kind of window, which is a frozen dataclass: what runs it keeps the state."""

    measure: Measure
    #: the name of its function in `windrow.win`
    kind: ClassVar[str]
    #: one result for each row (else one for each window)
    per_row: ClassVar[bool] = False
    #: the row tells it, not its place on the measure
    by_content: ClassVar[bool] = False
    #: no two windows of a key begin at the same place; else their ends tell them apart
    unique_start: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        """Refuses a kind that leaves out what is asked of it: when it is defined, not when it runs."""
        super().__init_subclass__()
        cls.__repr__ = Window.__repr__  # type: ignore[method-assign]  # in place of the dataclass's, which tells all fields
        asked = ["__str__", "due", "idle", "bounds" if cls.per_row else "walk"]
        asked += ["stored_bounds" if cls.per_row else "stored_walk"] if cls.storable else []
        missing = [name for name in asked if getattr(cls, name) is getattr(Window, name)]
        if cls.state is Window.state and cls.state_over is Window.state_over:
            missing.append("state")
        if missing:
            raise TypeError(f"the window kind {cls.__name__} does not say {', '.join(missing)}")

    def state(self, table: Table, dtype: np.dtype) -> WalkState:
        """What is known of each key, for a measure of this type."""
        raise NotImplementedError

    def state_over(self, table: Table, dtype: np.dtype, columns: Mapping[str, Column]) -> WalkState:
        """The same for a kind that keeps aggregates of the rows: `columns` tell their types."""
        return self.state(table, dtype)

    def walk(self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        """Where slices begin and windows end in a step."""
        raise NotImplementedError

    def bounds(self, state: WalkState, runs: Runs, rows: StepRows) -> ByRow:
        """For windows by row: the rows of each row's window."""
        raise NotImplementedError

    def asked(self, asks: Asks) -> tuple[np.ndarray, np.ndarray]:
        """For windows by row: the first row of each asking row's window, and the first one past it."""
        raise NotImplementedError

    def asked_live(self, state: WalkState, asks: LiveAsks, rows: StepRows) -> tuple[np.ndarray, np.ndarray] | Refused:
        """The same of a live query, by the rows' numbers in their keys. `rows` wait: a step is to be taken back."""
        raise NotImplementedError

    @property
    def asked_along(self) -> Measure | None:
        """Along what rows ask: by event time unless it is measured along a column. None: no row can ask."""
        if type(self).asked is Window.asked:
            return None
        return TIME if self.measure.column is None else self.measure

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All that it is measured along: one measure, for most kinds."""
        return (self.measure,)

    def scaled(self, factor: int) -> Window:
        """The same window over a time column with `factor` ticks a microsecond."""
        if self.measure != TIME:
            return self
        lengths = [part for part in (*LENGTHS, "tick") if hasattr(self, part)]
        changed: Any = replace  # every kind is a dataclass, which the base cannot say
        return changed(self, **{part: getattr(self, part) * factor for part in lengths})

    @property
    def numbers_rows(self) -> bool:
        """Whether a row's number in its key matters: then a key that had rows cannot be forgotten."""
        return self.measure == ROWS or self.by_content

    @property
    def last_rows(self) -> int | None:
        """How many rows there are in every window by row, the row itself included; None: it depends."""
        return None

    def due(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """For each key the event time before which nothing of it becomes final."""
        raise NotImplementedError

    def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
        """Which keys may be forgotten: to go on without what is known of them changes no answer."""
        raise NotImplementedError

    def fits(self, state: WalkState, keys: np.ndarray, entries: Entries) -> np.ndarray | bool:
        """Whether a step can have left what is known of these keys: asked of saved state, which may be forged.

        A step must neither leave its arrays nor report windows without end with what this lets pass.
        """
        return True

    def slices(self, state: WalkState, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each key the first slice that is needed, and how many there have been; for windows by row: rows."""
        return state.word(keys, F), state.word(keys, E)

    def evictions(self, state: WalkState, runs: Runs) -> np.ndarray | None:
        """At most how many slices leave the rings of these keys in a step; None: nothing is known of it.

        What lies between the oldest of them and the newest slice need not be in memory then (`step.chunks`).
        """
        return None

    # In a store, where a live query has one.

    #: its partials can lie there: they come and go at its ends, oldest first
    storable: ClassVar[bool] = False

    @property
    def places(self) -> Aggregate | None:
        """What a tree beside the partials is of that tells where windows begin; None: there is no need for one."""
        return None

    def stored_state(self, table: Table, dtype: np.dtype) -> WalkState:
        """What is known of each key in memory."""
        return self.state(table, dtype)

    def stored_walk(
        self, state: WalkState, runs: Runs, rows: StepRows, closing: bool, partial: bool, tree: Trees
    ) -> Walked:
        """`walk`; which slices there are is known to `tree(key)`, the tree of `places`, and not to the ring."""
        raise NotImplementedError

    def stored_bounds(self, state: WalkState, runs: Runs, rows: StepRows, tree: Trees) -> ByRow:
        """`bounds` in the same way. For a run without rows `keep` is 0, or its end if no row is needed."""
        raise NotImplementedError

    # How it is shown.

    #: which ends belong to a window that reports once
    brackets: ClassVar[str] = "[)"

    def span(self, at: float) -> tuple[float, float, str] | None:
        """For windows by row: from where to where the window of a row at `at` goes, and its brackets.

        None: from the first to the last of the rows that it holds.
        """
        return None

    def __repr__(self) -> str:
        return abbreviated(str(self))

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    # How `explain` describes it.

    #: what a row tells of the windows that it is in
    described: ClassVar[str] = ""
    #: where its slices begin
    sliced: ClassVar[str] = "cutty: a slice begins where a window begins"
    #: every row is a slice of its own
    row_slices: ClassVar[bool] = False

    @property
    def held(self) -> str:
        """What is kept of a key, at most."""
        return "one slice"

    @property
    def ring(self) -> Hashable:
        """Windows with an equal one can share a ring of slices, or of rows, and one FlatFIT. None: it has its own."""
        return None

    @property
    def length(self) -> float:
        """Of windows by row that share a ring: how long they are, along their measure."""
        raise NotImplementedError

    @property
    def late_slices(self) -> bool:
        """Whether a row tells its slice, whatever came before it: rows may be folded in any order."""
        return False

    @property
    def edges(self) -> Edges:
        """Where `late_slices`: at which times slices are cut, so that each window is a run of whole slices."""
        raise NotImplementedError

    def check_places(self, values: np.ndarray) -> None:
        """Where `late_slices`: an error where windows around these times are beyond 64 bits."""

    #: starts and ends are told in event time, where there is one, whatever it is measured along
    edges_in_time: ClassVar[bool] = False

    @property
    def lengths(self) -> tuple[Any, ...]:
        """What it is long, how far apart windows are and where they begin, along its measure."""
        return tuple(getattr(self, part) for part in LENGTHS if hasattr(self, part))

    @property
    def edge_lengths(self) -> tuple[int, ...]:
        """Microseconds: its edges in event time are whole numbers of these away from the epoch or a row's time."""
        return self.lengths if self.measure == TIME else ()

    @property
    def may_be_empty(self) -> bool:
        """Whether it reports a window without rows."""
        return False

    @property
    def may_vanish(self) -> bool:
        """Whether a window that has rows may be none any more when a late row has come."""
        return True

    @property
    def reads_any_column(self) -> bool:
        """Whether it is a user's code that does not say which columns it reads."""
        return False

    @property
    def in_python(self) -> bool:
        """Whether it calls a user's code, which may be plain Python: that runs in one thread at a time."""
        return self.reads_any_column

    @property
    def reach(self) -> int | None:
        """How far back along its measure an answer can depend on rows; None: there is no such limit."""
        return None

    @property
    def part(self) -> int:
        """How long a part of time is to be, for tasks that fold slices: many slices, so that few are cut in two."""
        return 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the window itself reads."""
        column = self.measure.column
        return () if column is None else (column,)


def length(kind: str, what: str, given: object, on: str | None, least: int = 1) -> tuple[int | float, Measure]:
    """A length and its measure: durations are time, whole numbers rows, numbers with `on` that column."""
    if on is not None:
        if not isinstance(on, str) or not on:
            raise WindrowError(f"win.{kind}: on= is the name of a column, not {on!r}")
        if is_duration(given) or isinstance(given, bool) or not isinstance(given, (int, float)):
            raise WindrowError(f"win.{kind}: with on='{on}', {what} is a number, not {given!r}")
        size, measure = given, Measure("column", on)
        if size != size or size in (float("inf"), float("-inf")):
            raise WindrowError(f"win.{kind}: {what} must be finite, not {given}")
    elif is_duration(given):
        size, measure = micros(given), TIME
    elif isinstance(given, bool) or not hasattr(given, "__index__"):
        hint = "; give on='column' to measure along a column" if isinstance(given, float) else ""
        raise WindrowError(
            f"win.{kind}: {what} is a duration such as '10 minutes' or a whole number of rows, not {given!r}{hint}"
        )
    else:
        size, measure = int(given), ROWS
    if size < 0 or (least and size == 0):
        raise WindrowError(f"win.{kind}: {what} must be {'more than' if least else 'at least'} 0, not {given!r}")
    if isinstance(size, int) and size >= 2**62:
        raise WindrowError(f"win.{kind}: {what} of {given!r} is beyond what 64 bits can measure")
    return size, measure


def same_measure(kind: str, one: str, other: str, a: Measure, b: Measure) -> None:
    """Two lengths of a window must be of one measure."""
    if a != b:
        raise WindrowError(
            f"win.{kind}: {one} is measured in {a}, {other} in {b}; both must be durations, or both numbers of rows"
        )
