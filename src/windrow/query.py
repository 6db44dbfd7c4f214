"""The user's declaration: windows, aggregates, and how rows are ordered. Checked when it is made, run anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from windrow.aggregates.adopted import adopted, is_aggregator
from windrow.aggregates.base import Aggregate
from windrow.engine.threads import checked
from windrow.errors import WindrowError
from windrow.identity import facts
from windrow.stores.base import Store
from windrow.swag import ALGORITHMS
from windrow.windows.base import TIME, Measure, Window
from windrow.windows.durations import micros

#: the name of a window that was given without one
ONLY = "window"
FAVORS = ("throughput", "latency")


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


class Runner(Protocol):
    """What runs queries over one kind of data."""

    def accepts(self, data: Any) -> bool:
        """Whether the data is of this kind."""

    def run(self, query: Query, data: Any) -> tuple[Any, Report]:
        """The whole answer."""

    def explain(self, query: Query, data: Any) -> str:
        """The plan as text, with what was measured on the data."""


#: who runs queries, the most particular first; each engine puts itself here when it is imported
RUNNERS: list[Runner] = []
#: how a query is opened for rows as they come, and gone on with from a snapshot
OPENERS: dict[str, Callable[..., Any]] = {}


class Query:
    """Windows and aggregates, declared once.

    Args:
        windows: a window of `windrow.win`, or several by name.
        aggregates: aggregates of `windrow.agg` (or your own), bound to columns, by the name of their result. A Python
            `Aggregator` of Spark's is given with its columns: `(MyAggregator(), "price")`.
        time: the event-time column; None: rows count in the order in which they come.
        by: the key column or columns; each key has windows of its own.
        lateness: on streams, how far behind the newest row a row may come: a duration.
        algorithm: "auto", or a name of `windrow.swag.ALGORITHMS`. Never changes an answer.
        store: None: state lives in memory. One of `windrow.stores`: a live query (`open`) keeps the partials of its
            periodic, trailing and policy windows there, and O(log n) pages of them in memory, for each key by itself:
            for a few keys with big windows. Windows of other kinds stay in memory, and `run` does not use it: the
            table is in memory already. Never changes an answer.
        favor: "throughput", or "latency": constant time in the worst case, too.
        changes_only: a result only where it differs from the key's last one.
        partial: windows that the data ends inside, too.
        strict: a row that must be rejected is an error.
        threads: how many threads `run` uses for a table in this process. None: as many as WINDROW_THREADS says, else
            all cores for a large table and one for a small one. Never changes an answer, not by a bit. Aggregates and
            windows in plain Python run in one.

    >>> import windrow
    >>> from windrow import agg, win
    >>> q = windrow.Query(windows=win.tumbling(2), aggregates={"total": agg.sum("x"), "text": agg.concat("s")})
    >>> {name: column.tolist() for name, column in q.run({"x": [1, 2, 3, 4, 5], "s": list("abcde")}).items()}
    {'start': [0, 2], 'end': [2, 4], 'total': [3, 7], 'text': ['ab', 'cd']}
    """

    def __init__(
        self,
        *,
        windows: Window | Mapping[str, Window],
        aggregates: Mapping[str, Aggregate],
        time: str | None = None,
        by: str | Sequence[str] | None = None,
        lateness: Any = None,
        algorithm: str = "auto",
        store: Any = None,
        favor: str = "throughput",
        changes_only: bool = False,
        partial: bool = False,
        strict: bool = False,
        threads: int | None = None,
    ) -> None:
        self.named = isinstance(windows, Mapping)
        self.windows: dict[str, Window] = dict(windows) if isinstance(windows, Mapping) else {ONLY: windows}
        self.aggregates: dict[str, Aggregate] = (
            {name: _accepted(a) for name, a in aggregates.items()} if isinstance(aggregates, Mapping) else aggregates
        )
        self.time = time
        self.by: tuple[str, ...] = () if by is None else (by,) if isinstance(by, str) else tuple(by)
        self.lateness = 0 if lateness is None else micros(lateness)
        self.algorithm, self.store, self.favor = algorithm, store, favor
        self.changes_only, self.partial, self.strict = bool(changes_only), bool(partial), bool(strict)
        self.threads = None if threads is None else checked(threads)
        self.report = Report()  # of the last run
        self._check(lateness)

    @property
    def per_row(self) -> bool:
        """One result for each row, beside its columns; otherwise one for each window."""
        return next(iter(self.windows.values())).per_row

    def measure(self, window: Window) -> Measure:
        """What a window's start and end are measured in."""
        if window.edges_in_time and self.time is not None:
            return TIME
        return window.measure

    def run(self, data: Any) -> Any:
        """The answer over all of the data, of the data's own kind: pandas, Polars, pyarrow, or a dict of arrays.

        `report` tells afterwards how many rows came, went, and were rejected.
        """
        result, self.report = self._runner(data).run(self, data)
        return result

    def open(self) -> Any:
        """In this process, batches of rows as they come: `push`, `advance`, `close`, `snapshot`."""
        return OPENERS["open"](self)

    def resume(self, snapshot: bytes, *, key: bytes | None = None) -> Any:
        """Goes on from a snapshot of `open()`'s; `SnapshotError` where it is damaged or of another query.

        With a key, only a snapshot that was signed with it (`snapshot(key=...)`) is believed.

        A query with a store needs the same store, as the snapshot or the one after it left it.
        """
        return OPENERS["resume"](self, snapshot, key)

    def explain(self, data: Any = None) -> str:
        """The plan: what each window is, how it is sliced, by which algorithm it is answered, why, and at what cost.

        With data, what was measured is beside what was expected.
        """
        return (RUNNERS[-1] if data is None else self._runner(data)).explain(self, data)

    def _runner(self, data: Any) -> Runner:
        for runner in RUNNERS:
            if runner.accepts(data):
                return runner
        raise WindrowError(
            f"a query runs over pandas, Polars, pyarrow or a dict of arrays, not a {type(data).__name__}"
        )

    def identity(self) -> dict[str, Any]:
        """What makes two queries the same for saved state, part by part."""

        return {
            "time": self.time,
            "by": list(self.by),
            "windows": [f"{name}: {window} {facts(window)}" for name, window in self.windows.items()],
            "aggregates": [f"{name}: {a!r} {facts(a)}" for name, a in self.aggregates.items()],
            "lateness": self.lateness,
            "changes_only": self.changes_only,
            "partial": self.partial,
        }

    def __repr__(self) -> str:
        windows = ", ".join(f"{name}: {window}" if self.named else str(window) for name, window in self.windows.items())
        aggregates = ", ".join(f"{name}={aggregate!r}" for name, aggregate in self.aggregates.items())
        return f"<Query {windows} | {aggregates}{' by ' + ', '.join(self.by) if self.by else ''}>"

    # What is refused, before any data is read.

    def _check(self, lateness: Any) -> None:
        self._check_columns()
        self._check_windows()
        self._check_aggregates()
        if self.algorithm != "auto" and self.algorithm not in ALGORITHMS:
            raise WindrowError(f"algorithm is auto or one of {', '.join(ALGORITHMS)}, not {self.algorithm!r}")
        if self.store is not None and not isinstance(self.store, Store):
            raise WindrowError(f"store is one of windrow.stores, such as stores.rocksdb(path), not {self.store!r}")
        if self.favor not in FAVORS:
            raise WindrowError(f"favor is {' or '.join(FAVORS)}, not {self.favor!r}")
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
            if window.measure == TIME and self.time is None:
                raise WindrowError(f"{window}: it is measured by event time; name the column, such as time='ts'")
        kinds = {window.per_row for window in self.windows.values()}
        if len(kinds) > 1:
            each = [name for name, window in self.windows.items() if window.per_row]
            once = [name for name, window in self.windows.items() if not window.per_row]
            raise WindrowError(
                f"one query does not mix windows that report with each row ({', '.join(each)}) and windows that report "
                f"once ({', '.join(once)}); make two queries"
            )

    def _check_aggregates(self) -> None:
        if not isinstance(self.aggregates, dict) or not self.aggregates:
            raise WindrowError("aggregates names at least one, such as {'total': agg.sum('x')}")
        taken = {*self.by, "start", "end", *(("window",) if self.named else ())} if not self.per_row else set()
        for name, aggregate in self.aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise WindrowError(f"aggregates['{name}'] is an aggregate such as agg.sum('x'), not {aggregate!r}")
            if not aggregate.columns and aggregate.arity[0] > 0:
                raise WindrowError(f"aggregates['{name}']: name its column(s), such as agg.{aggregate.name}('x')")
            if not isinstance(name, str) or not name or name in taken:
                raise WindrowError(f"an aggregate cannot be called {name!r}: the result has that column already")


def _accepted(aggregate: Any) -> Any:
    """The aggregate; one of Spark's own, given as (aggregator, *columns), made into one of ours."""
    if isinstance(aggregate, tuple) and aggregate and is_aggregator(aggregate[0]):
        return adopted(aggregate[0])(*aggregate[1:])
    return aggregate
