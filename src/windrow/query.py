"""The user's declaration: windows, aggregates, and how rows are ordered. Checked when it is made, run anywhere."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

from windrow.aggregates.adopted import adopted, is_aggregator
from windrow.aggregates.base import Aggregate
from windrow.aggregates.values import encodes
from windrow.drawing.markup import folded, table, tag
from windrow.engine.identity import facts
from windrow.engine.kernel import checked_mode, compiling, tell_a_person
from windrow.engine.threads import checked
from windrow.errors import WindrowError, WrongType
from windrow.stores.base import Store
from windrow.swag import ALGORITHMS
from windrow.windows.base import ROWS, TIME, Measure, Window
from windrow.windows.durations import TIME_UNITS, micros
from windrow.windows.inputs import Input, derived
from windrow.windows.kinds import between_ticks

#: the name of a window that was given without one
ONLY = "window"
FAVORS = ("throughput", "latency")
EMITS = ("final", "update")
#: the column that tells, with `emit="update"`, whether a result is final
FINAL = "final"


@dataclass(frozen=True)
class Report:
    """What became of a run's rows."""

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    rejected: int = 0

    def plus(self, **more: int) -> Report:
        """The same with more rows counted."""
        return replace(self, **{name: getattr(self, name) + count for name, count in more.items()})

    def _repr_html_(self) -> str:
        counts = {"rows in": self.rows_in, "rows out": self.rows_out, "late": self.late, "rejected": self.rejected}
        return table(tuple(counts), [tuple(f"{count:,}" for count in counts.values())])


class Runner(Protocol):
    """What runs queries over one kind of data."""

    def accepts(self, data: Any) -> bool:
        """Whether the data is of this kind."""

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        """The whole answer."""

    def answer(self, query: Query, data: Any, at: Any, at_time: str | None) -> tuple[Any, Report]:
        """The answers at the rows of a second table."""

    def explain(self, query: Query, data: Any) -> str:
        """The plan as text, with what was measured on the data."""

    def first(self, data: Any, rows: int) -> tuple[Any, bool]:
        """The first rows and at least one more, as data of this process; whether those are all that there are."""


#: who runs queries, the most particular first; each engine puts itself here when it is imported
RUNNERS: list[Runner] = []
#: the engines, which are imported when a query first runs
ENGINES = ["windrow.local", "windrow.spark"]
#: how a query is opened for rows as they come, gone on with from a snapshot, and drawn
OPENERS: dict[str, Callable[..., Any]] = {}


def _load_engines() -> None:
    while ENGINES:
        import_module(ENGINES[0])
        del ENGINES[0]


class Query:
    """Windows and aggregates, declared once.

    Args:
        windows: a window of `windrow.win`, or several by name.
        aggregates: aggregates of `windrow.agg` (or your own), bound to columns, by the name of their result. A Python
            `Aggregator` of Spark's is given with its columns: `(MyAggregator(), "price")`.
        time: the event-time column. None: rows are taken in the order of arrival.
        time_unit: what an integer time column counts: "s", "ms", "us" or "ns" since 1970. None: microseconds, unless
            its values look like another unit's in this century, which is an error.
        by: the key column or columns; each key has windows of its own.
        lateness: live and on streams, how far behind the newest row a row may arrive: a duration.
        algorithm: "auto", or a name of `windrow.swag.ALGORITHMS`. Never changes an answer.
        store: None: state lives in memory. One of `windrow.stores`: a live query (`open`) keeps the partials of its
            periodic, trailing and policy windows there, and O(log n) pages of them in memory, for each key by itself:
            for a few keys with big windows. Windows of other kinds stay in memory, and `run` does not use it: the
            table is in memory already. Never changes an answer.
        favor: "throughput", or "latency": constant time in the worst case, too.
        changes_only: emit a result only if it differs from the key's last one.
        partial: also report windows that are incomplete when the data ends.
        emit: "final": each window once, when it is final. "update": with each push or trigger every window whose answer
            has changed since it was last sent, with a column `final` behind the aggregates. `run` over a table: each
            window once, `final` true.
        strict: a rejected row is an error. Then windows along different measures can share their slices.
        threads: how many threads `run` uses for a table in this process. None: as many as WINDROW_THREADS says, else
            all cores for a large table and one for a small one. Never changes an answer, not by a bit. Aggregates and
            windows in plain Python run in one.
        compile: "auto": small inputs run at once in plain Python; if compiling is cheaper, the query compiles (a live
            query in the background). "always" compiles at once, "never" not at all. WINDROW_COMPILE sets it for the
            process. Never changes an answer, not by a bit.

    >>> import windrow
    >>> from windrow import agg, win
    >>> q = windrow.Query(windows=win.tumbling(2), aggregates={"total": agg.sum("x"), "text": agg.concat("s")})
    >>> {name: column.tolist() for name, column in q.run({"x": [1, 2, 3, 4, 5], "s": list("abcde")}).items()}
    {'start': [0, 2], 'end': [2, 4], 'total': [3, 7], 'text': ['ab', 'cd']}
    """

    def __init__(
        self,
        *,
        windows: Window | Mapping[str, Window] | None = None,
        aggregates: Mapping[str, Aggregate] | None = None,
        time: str | None = None,
        time_unit: str | None = None,
        by: str | Sequence[str] | None = None,
        lateness: Any = None,
        algorithm: str = "auto",
        store: Any = None,
        favor: str = "throughput",
        changes_only: bool = False,
        partial: bool = False,
        emit: str = "final",
        strict: bool = False,
        threads: int | None = None,
        compile: str = "auto",
        **unknown: Any,
    ) -> None:
        for name in unknown:
            raise WrongType(f"Query has no option {name!r}{_near(name)}")
        if windows is None:
            raise WrongType("a query needs windows=, such as windows=win.sliding('24 hours', every='1 minute')")
        if not isinstance(windows, (Window, Mapping)):
            raise WrongType(f"windows is a window of windrow.win, or a dict of them by name, not {_said(windows)}")
        if not isinstance(aggregates, Mapping):
            raise WrongType(
                f"aggregates is a dict of aggregates by the name of their result, such as {{'total': agg.sum('x')}}, "
                f"not {_said(aggregates)}"
            )
        self.named = isinstance(windows, Mapping)
        self.windows: dict[str, Window] = dict(windows) if isinstance(windows, Mapping) else {ONLY: windows}
        #: columns that are derived from those of the data, by the names under which aggregates take them
        self.inputs: dict[str, Input] = {}
        self.aggregates: dict[str, Aggregate] = {
            name: _accepted(name, a, self.inputs) for name, a in aggregates.items()
        }
        self.time, self.time_unit = time, time_unit
        #: whether integers that look like another unit are refused; not where a part of the rows is seen
        self.guesses_unit = time is not None and time_unit is None
        if by is not None and not isinstance(by, (str, Sequence)):
            raise WrongType(f"by is the name of a column, or a list of them, not {by!r}")
        self.by: tuple[str, ...] = () if by is None else (by,) if isinstance(by, str) else tuple(by)
        self.lateness = 0 if lateness is None else micros(lateness)
        self.algorithm, self.store, self.favor = algorithm, store, favor
        self.changes_only, self.partial, self.strict = bool(changes_only), bool(partial), bool(strict)
        self.emit = emit
        self.threads = None if threads is None else checked(threads)
        self.compile = checked_mode(compile)
        self.report = Report()  # of the last run
        self._check(lateness)

    @property
    def per_row(self) -> bool:
        """One result for each row, beside its columns; otherwise one for each window."""
        return next(iter(self.windows.values())).per_row

    @property
    def updates(self) -> bool:
        """Results come before they are final, and again when they change."""
        return self.emit == "update"

    @property
    def withdraws(self) -> bool:
        """A window that was sent may turn out to be none: later rows tell that it begins elsewhere."""
        return self.updates and any(window.may_vanish for window in self.windows.values())

    def measure(self, window: Window) -> Measure:
        """What a window's start and end are measured in."""
        if window.edges_in_time and self.time is not None:
            return TIME
        return window.measure

    def edge_names(self) -> dict[Measure, tuple[str, str]]:
        """What the columns of start and end are called: plainly so, unless windows of several measures need several."""
        measures = list(dict.fromkeys(self.measure(window) for window in self.windows.values()))
        if len(measures) == 1:
            return {measures[0]: ("start", "end")}
        names = {TIME: ("start", "end"), ROWS: ("start_row", "end_row")}
        return {m: names.get(m, (f"start_{m.column}", f"end_{m.column}")) for m in measures}

    def answer_names(self) -> dict[tuple[str, str], str]:
        """What the columns of windows by row are called, by window and aggregate."""
        return {(w, a): f"{a}_{w}" if self.named else a for w in self.windows for a in self.aggregates}

    def run(self, data: Any, *, at: Any = None, at_time: str | None = None) -> Any:
        """Runs the query over all of the data. The result has the input's type: pandas, Polars, pyarrow, a dict.

        Afterwards `report` has the numbers of rows in, out, late and rejected.

        Args:
            data: the rows.
            at: a second table, of the same kind: windows that report with each row are answered at its rows instead.
                It has the columns `by` and a time. One row comes back for each of its rows, with all of its columns.
                Its rows ask: they never count. A row without a time gets null, and is counted as rejected.
            at_time: the time column of that table; None: it has the same name.

        >>> import windrow
        >>> from windrow import agg, win
        >>> q = windrow.Query(time="t", windows=win.trailing("5 us"), aggregates={"n": agg.count(), "x": agg.sum("x")})
        >>> q.run({"t": [1, 4, 8], "x": [1, 2, 4]}, at={"t": [8, 0, 5]})["x"].tolist()
        [6, None, 3]
        """
        runner = self._runner(data)
        if at is None:
            if at_time is not None:
                raise WindrowError("at_time names the time column of the table that asks: give that, too, with at=")
            result, self.report = compiling(self.compile, runner.run, self, data)
        else:
            result, self.report = compiling(self.compile, runner.answer, self, data, at, at_time)
        tell_a_person()
        return result

    def open(self) -> Any:
        """Starts a live query in this process, for rows as they arrive: `push`, `advance`, `close`, `snapshot`."""
        _load_engines()
        return OPENERS["open"](self)

    def resume(self, snapshot: bytes, *, key: bytes | None = None) -> Any:
        """Continues from a snapshot of a live query. `SnapshotError` if it is damaged or of another query.

        With a key, only a snapshot that was signed with it (`snapshot(key=...)`) is accepted.

        A query with a store needs the same store, as the snapshot or the one after it left it.
        """
        _load_engines()
        return OPENERS["resume"](self, snapshot, key)

    def explain(self, data: Any = None) -> str:
        """The plan as text: what each window is, how it is sliced, which algorithm answers it, why, and at what cost.

        With data, the plan also has what was measured.
        """
        _load_engines()
        return (RUNNERS[-1] if data is None else self._runner(data)).explain(self, data)

    def draw(self, rows: Any, *, first: int = 30, windows: int = 40, theme: str = "auto") -> Any:
        """Draws how rows fall into windows, with the answers: a picture (SVG) that notebooks show.

        Args:
            rows: what `run` takes.
            first: how many rows are drawn; the picture says where there are more.
            windows: how many windows are drawn.
            theme: "light", "dark", or "auto": as the reader's screen is.

        Returns:
            A picture: `save(path)` writes it, `str()` is its SVG.
        """
        for name, given in (("first", first), ("windows", windows)):
            if isinstance(given, bool) or not isinstance(given, int) or given < 1:
                raise WrongType(f"draw: {name} is a whole number of 1 or more, not {given!r}")
        _load_engines()
        return OPENERS["draw"](self, *self._runner(rows).first(rows, first), first, windows, theme)

    def _runner(self, data: Any) -> Runner:
        _load_engines()
        for runner in RUNNERS:
            if runner.accepts(data):
                return runner
        raise WindrowError(
            f"a query runs over pandas, Polars, pyarrow or a dict of arrays, not a {type(data).__name__}"
        )

    def identity(self) -> dict[str, Any]:
        """What makes two queries the same for saved state, part by part."""

        return {
            "time": self.time if self.time_unit is None else f"{self.time} in {self.time_unit}",
            "by": list(self.by),
            "windows": [f"{name}: {window} {facts(window)}" for name, window in self.windows.items()],
            "aggregates": [f"{name}: {a!r} {facts(a)}" for name, a in self.aggregates.items()],
            **self._conditions(),
            "lateness": self.lateness,
            "changes_only": self.changes_only,
            "partial": self.partial,
            **({"emit": self.emit} if self.updates else {}),  # queries from before had no other
        }

    def _conditions(self) -> dict[str, Any]:
        """Functions of the row that say which rows aggregates take: their names alone do not tell them."""
        functions = {name: i.where.function for name, i in self.inputs.items() if i.where is not None}
        found = [f"{name} {facts(function)}" for name, function in functions.items() if function is not None]
        return {"conditions": found} if found else {}

    def sources(self, column: str) -> tuple[str, ...]:
        """The columns of the data that a column of an aggregate is made of."""
        return (self.inputs[column].columns or ()) if column in self.inputs else (column,)

    def __repr__(self) -> str:
        windows = ", ".join(f"{name}: {window}" if self.named else str(window) for name, window in self.windows.items())
        aggregates = ", ".join(f"{name}={aggregate!r}" for name, aggregate in self.aggregates.items())
        return f"<Query {windows} | {aggregates}{' by ' + ', '.join(self.by) if self.by else ''}>"

    def _repr_html_(self) -> str:
        """For notebooks: windows and aggregates, and the plan to unfold."""
        order = f"event time {self.time}" if self.time is not None else "the order in which they come"
        rows = [("rows by", order), *([("for each", ", ".join(self.by))] if self.by else [])]
        rows += [(f"window {name}" if self.named else "window", repr(w)) for name, w in self.windows.items()]
        rows += [(name, repr(aggregate)) for name, aggregate in self.aggregates.items()]
        return tag("div", tag("strong", "Query"), table((), rows), folded("The plan", self.explain()))

    # What is refused, before any data is read.

    def _check(self, lateness: Any) -> None:
        self._check_columns()
        self._check_windows()
        self._check_aggregates()
        self._check_names()
        if self.algorithm != "auto" and self.algorithm not in ALGORITHMS:
            raise WindrowError(f"algorithm is auto or one of {', '.join(ALGORITHMS)}, not {self.algorithm!r}")
        if self.store is not None and not isinstance(self.store, Store):
            raise WindrowError(f"store is one of windrow.stores, such as stores.rocksdb(path), not {self.store!r}")
        if self.favor not in FAVORS:
            raise WindrowError(f"favor is {' or '.join(FAVORS)}, not {self.favor!r}")
        if self.emit not in EMITS:
            raise WindrowError(f"emit is {' or '.join(EMITS)}, not {self.emit!r}")
        if self.updates and self.changes_only:
            raise WindrowError("emit='update' sends what has changed of each window: it goes without changes_only=True")
        if self.updates and self.store is not None:
            raise WindrowError(
                "emit='update' looks at open windows with each push, which are in memory: it goes without store="
            )
        if self.lateness < 0:
            raise WindrowError(f"lateness must not be negative, and {lateness!r} is")
        if self.lateness and self.time is None:
            raise WindrowError("lateness is about event time; name the column, such as time='ts'")
        if self.algorithm != "auto":
            for aggregate in self.aggregates.values():
                ALGORITHMS[self.algorithm](aggregate)  # Unsupported, with one that can

    def _check_columns(self) -> None:
        if self.time is not None and not isinstance(self.time, str):
            raise WindrowError(f"time is the name of a column, not {self.time!r}")
        for name in self.by:
            if not isinstance(name, str):
                raise WindrowError(f"by holds names of columns, not {name!r}")
        if self.time_unit is not None and self.time_unit not in TIME_UNITS:
            raise WindrowError(f"time_unit is one of {', '.join(TIME_UNITS)}, not {self.time_unit!r}")
        if self.time_unit is not None and self.time is None:
            raise WindrowError("time_unit is about event time; name the column, such as time='ts'")
        if len(set(self.by)) < len(self.by):
            raise WindrowError(f"by names a column twice: {', '.join(self.by)}")

    def _check_windows(self) -> None:
        if not self.windows:
            raise WindrowError("a query needs a window, such as win.sliding('24 hours', every='1 minute')")
        for name, window in self.windows.items():
            if not isinstance(window, Window):
                raise WindrowError(f"windows are made by windrow.win, and {window!r} is not")
            if not isinstance(name, str) or not name:
                raise WindrowError(f"a window's name is a text, not {name!r}")
            if TIME in window.measures and self.time is None:
                raise WindrowError(f"{window}: it is measured by event time; name the column, such as time='ts'")
            if self.time_unit is not None and (
                part := between_ticks(window, max(1, TIME_UNITS[self.time_unit] // 1000))
            ):
                raise WindrowError(
                    f"{window}: its {part} is no whole number of {self.time_unit}, which the times count (time_unit)"
                )
        kinds = {window.per_row for window in self.windows.values()}
        if len(kinds) > 1:
            each = [name for name, window in self.windows.items() if window.per_row]
            once = [name for name, window in self.windows.items() if not window.per_row]
            raise WindrowError(
                f"one query does not mix windows that report with each row ({', '.join(each)}) and windows that report "
                f"once ({', '.join(once)}); make two queries"
            )

    def _check_aggregates(self) -> None:
        if not self.aggregates:
            raise WindrowError("aggregates names at least one, such as {'total': agg.sum('x')}")
        for name, aggregate in self.aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise WindrowError(f"aggregates['{name}'] is an aggregate such as agg.sum('x'), not {aggregate!r}")
            if not aggregate.columns and aggregate.arity[0] > 0:
                raise WindrowError(f"aggregates['{name}']: name its column(s), such as {_call(aggregate)}")
            if not isinstance(name, str) or not name:
                raise WindrowError(f"an aggregate's name is a text, not {name!r}")

    def _check_names(self) -> None:
        """No two columns of the result may have one name: one of them would be lost."""
        if self.per_row:
            columns = [(name, f"aggregate {a!r} of window {w!r}") for (w, a), name in self.answer_names().items()]
        else:
            columns = [(name, f"the key {name!r}") for name in self.by]
            columns += [("window", "the window's name")] if self.named else []
            for start, end in self.edge_names().values():
                columns += [(start, "where a window begins"), (end, "where it ends")]
            columns += [(name, f"aggregate {name!r}") for name in self.aggregates]
        columns += [(FINAL, "whether a result is final (emit='update')")] if self.updates else []
        taken: dict[str, str] = {}
        for name, what in columns:
            if name in taken:
                raise WindrowError(
                    f"two columns of the result would be called {name!r}: {taken[name]}, and {what}; rename one of them"
                )
            taken[name] = what
        for name in (*taken, *self.windows):
            if not encodes(name):
                raise WindrowError(f"no column or window can be called {name!r}: half of a surrogate pair is no text")


def _near(option: str) -> str:
    options = list(Query.__init__.__kwdefaults__ or ())
    near = difflib.get_close_matches(option, options, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(options)}"


def _said(given: Any) -> str:
    return f"a {type(given).__name__}" if given is not None else "None"


def _call(aggregate: Aggregate) -> str:
    """How an aggregate is bound to a column."""
    return f"agg.{aggregate.name}('x')" if aggregate.builtin else "mine('x') for an aggregate of your own, `mine`"


def _accepted(name: str, aggregate: Any, inputs: dict[str, Input]) -> Any:
    """The aggregate over columns; one of Spark's own, given as (aggregator, *columns), made into one of ours."""
    if isinstance(aggregate, tuple) and aggregate and is_aggregator(aggregate[0]):
        aggregate = adopted(aggregate[0])(*aggregate[1:])
    if not isinstance(aggregate, Aggregate):
        return aggregate
    try:
        return derived(aggregate, inputs)
    except WindrowError as error:
        raise WindrowError(f"aggregates['{name}']: {error}") from None
