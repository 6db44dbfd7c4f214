"""Cutty's aggregator, one row at a time: paper 3 §5.2, Alg. 1.

This is the form beside the pseudocode, for any object as a partial, with combines counted as the paper counts them;
batches of many rows and keys go through other modules of this package.

What differs from the print:
- Errata: line 10 collects garbage before line 11 has read it: with w removed from `begins`, min(begins) may lie behind
  w's own slices. Here the window is answered first. Where no window is open there is no min(begins): everything goes.
- Line 3 stores the active partial even where it is empty (the first row begins a window), or where no window is open
  that it could belong to. Here nothing is stored then, and rows while no window is open go into no partial.
- §3.1's "no more slices than active windows" is true of windows that end in the order in which they began. Of several
  kinds together it is not (a window of an hour beside windows of a second: 3,600 slices, two windows). Here it is: an
  edge at which no open window begins any more is taken out, its two slices fused. `fuse=False` is Alg. 1 as printed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.aggregates.base import Aggregate, same
from windrow.aggregates.laws import check_laws
from windrow.engine import snapshot
from windrow.engine.forms import plain_form
from windrow.errors import SnapshotError, WindrowError
from windrow.sharing.counts import Counts
from windrow.sharing.cuts import CUTS
from windrow.sharing.discretizer import Discretizer, Marked
from windrow.sharing.marks import End
from windrow.sharing.partials import STORES
from windrow.sharing.ring import Partials
from windrow.sharing.undo import Undo
from windrow.swag.counting import counting
from windrow.swag.reactive_aggregator import ReactiveAggregator
from windrow.windows.base import Window

NO_ROW = object()


class Result(NamedTuple):
    """One window, reported."""

    window: str
    start: Any
    end: Any
    answer: Any


class Aggregator:
    """Several windows over one stream (of one key), rows in order.

    Args:
        windows: by name; any kind that reports once.
        aggregate: over columns, `agg.sum("price")`, or bare, where a row is a value or a tuple of values.
        store: "fit" (FlatFIT: the fewest combines, for one window and for many), "eager" (FlatFAT: never more than
            2 log2 n for an operation, where FlatFIT has that on average only) or "lazy".
        slicing: "cutty"; for comparison "pairs", "panes", or "rows", which is how the Reactive Aggregator does it.
        fuse: never more stored slices than open windows (with "cutty").
        partial: windows that the data ends inside are reported by `close`, too.
        strict: a row without a time (or without a value that a window is measured on) is an error; else it is counted.
        timed: rows come with times, though no window is measured by time; user-defined windows then report times.

    >>> from windrow import agg, win
    >>> shared = Aggregator({"a": win.sliding(4, every=2), "b": win.sliding(5, every=3)}, agg.concat())
    >>> for letter in "abcdefgh":
    ...     for result in shared.row(letter): print(*result)
    a 0 4 abcd
    b 0 5 abcde
    a 2 6 cdef
    >>> [result.answer for result in shared.close()], shared.counts.slices, shared.counts.most
    (['efgh', 'defgh'], 4, 4)
    """

    def __init__(
        self,
        windows: Mapping[str, Window],
        aggregate: Aggregate,
        *,
        store: str = "fit",
        slicing: str = "cutty",
        fuse: bool = True,
        partial: bool = False,
        strict: bool = False,
        timed: bool = False,
    ) -> None:
        for what, given, known in (("store", store, STORES), ("slicing", slicing, CUTS)):
            if given not in known:
                raise WindrowError(f"{what} is {', '.join(known)}, not {given!r}")
        if not windows:
            raise WindrowError("at least one window is needed")
        self.windows = dict(windows)
        self.of = aggregate if aggregate.combines is not None else counting(aggregate)
        self.options = {"store": store, "slicing": slicing, "fuse": fuse, "partial": partial, "strict": strict}
        self.options["timed"] = timed
        self.form = plain_form(self.of)
        self.takes = self.of.arity[1]  # how many values a row gives it at most
        self.discretizer = Discretizer(windows, partial=partial, timed=timed)
        self.cuts = CUTS[slicing](windows)
        self.fuse = fuse and slicing == "cutty"
        self.store: Partials = STORES[store](self.of)
        self.partial = self.form.identity
        self.filled = False  # there are rows in the open slice
        self.edge = 0  # where it begins
        self.begins: dict[int, int] = {}  # of each open window; ascending
        self.edges: dict[int, int] = {}  # how many open windows begin there
        self.kept = {name: self._rows() for name, window in windows.items() if not window.deterministic}
        self.counts = Counts()
        self.closed = False
        self._sample: list[tuple] | None = None if aggregate.builtin else []

    def row(self, row: Any = None, time: Any = None) -> list[Result]:
        """The next row: the windows that ended before it."""
        self._check_open()
        values = self._values(row)
        self._try_laws(values)
        marked = self.discretizer.row(row, time)
        if marked is None:
            if self.options["strict"]:
                raise WindrowError(f"row {self.discretizer.rows} has no place on {self._measures()}")
            self.counts.rejected += 1
            return []
        results = self._run(marked, values)
        self.counts.rows += 1
        for name, window in self.kept.items():
            window.insert(*values)
            window.evict_many(marked.expired.get(name, 0))
        return results

    def many(self, rows: Sequence[Any]) -> list[Result]:
        """Many rows without times. Between two rows that windows begin or end with, they go straight into the slice."""
        results: list[Result] = []
        done = 0
        while done < len(rows):
            quiet = min(self._quiet(), len(rows) - done)
            if quiet > 0:
                self._fill(rows, done, done + quiet)
                done += quiet
            else:
                results += self.row(rows[done])
                done += 1
        return results

    def advance(self, when: Any) -> list[Result]:
        """Event time has come to `when`: the windows that end by then."""
        self._check_open()
        return self._run(self.discretizer.advance(when))

    def close(self) -> list[Result]:
        """Nothing more comes: the rest."""
        self._check_open()
        results = self._run(self.discretizer.close())
        self.closed = True
        return results

    def check_invariants(self) -> None:
        """The store's own; each open window begins at an edge; with `fuse`, no more slices than open windows."""
        self.store.check_invariants()
        assert list(self.begins.values()) == sorted(self.begins.values())
        for begin in self.begins.values():
            oldest = next(iter(self.begins.values()))
            assert begin in self.store.places or begin in (self.edge, oldest), begin
        if self.fuse:
            assert len(self.store) <= len(self.begins), (len(self.store), len(self.begins))
            counted: dict[int, int] = {}
            for begin in self.begins.values():
                counted[begin] = counted.get(begin, 0) + 1
            assert counted == self.edges
        if not self.begins:
            assert not len(self.store) and not self.filled

    # Alg. 1.

    def _run(self, marked: Marked, values: Any = NO_ROW) -> list[Result]:
        """Lines 1-13 for one row, or for none: then windows only end."""
        cut = self.cuts(marked, self.discretizer)
        if not cut and not marked.ends and not marked.emits:  # most rows
            try:
                self._add(values)
            except BaseException:
                self.discretizer.undo()
                raise
            return []
        i = self.discretizer.rows - (values is not NO_ROW)
        undo = Undo()
        before = self.partial, self.filled, self.edge
        produced = self.counts.slices
        with self._taken_back(undo, before, produced), self.store.all_or_nothing():
            results = [Result(w, start, end, self._kept_answer(w)) for w, start, end in marked.emits]
            tally = self.of.combines
            if cut:  # line 2
                self._cut(i)  # lines 3-4
            appended, held = self.of.combines, len(self.store) + 1
            for begin in marked.begins:  # line 5
                undo.put(self.begins, begin.id, i)  # line 6
                undo.put(self.edges, i, self.edges.get(i, 0) + 1)
            results += [self._result(end) for end in marked.ends if end.told]  # lines 7, 8 and 11
            merged = self.of.combines
            self._collect(marked.ends, undo)  # lines 9-10
            collected = self.of.combines
            self._add(values)  # line 12
        self.counts.append += appended - tally + collected - merged
        self.counts.merge += merged - appended
        self.counts.most = max(self.counts.most, held)
        self.counts.windows += len(results)
        return results

    def _cut(self, i: int) -> None:
        """Lines 3-4: the open slice goes into the store, and a new one begins with row i."""
        if self.filled:
            if self.fuse and self.edge not in self.edges:
                self.store.extend(i, self.partial)
            else:
                self.store.append(i, self.partial)
                self.counts.slices += 1
            self.partial, self.filled = self.form.identity, False
        self.edge = i

    def _result(self, end: End) -> Result:
        """Lines 8 and 11: lower(store.merge(start) ⊕ partial)."""
        start = self.begins[end.id]
        try:
            total = self.partial
            if start < self.edge:
                total = self.store.merge(start)
                if self.filled:
                    total = self.form.combine(total, self.partial)
            return Result(end.window, end.start, end.end, self.of.monoid_lower(total))
        except Exception as error:
            error.add_note(f"in window {end.window} from {end.start} to {end.end}")
            raise

    def _collect(self, ends: tuple[End, ...], undo: Undo) -> None:
        """Lines 9-10: windows that have ended, and the slices that nobody needs any more."""
        dead = []
        for end in ends:
            if not end.stays:
                begin = undo.drop(self.begins, end.id)
                undo.put(self.edges, begin, self.edges[begin] - 1)
                if not self.edges[begin]:
                    undo.drop(self.edges, begin)
                    dead.append(begin)
        if not dead:
            return
        if not self.begins:
            self.store.remove_up_to(self.discretizer.rows)
            self.partial, self.filled = self.form.identity, False
            return
        oldest = next(iter(self.begins.values()))
        self.store.remove_up_to(oldest)
        for begin in dead if self.fuse else ():
            if oldest < begin < self.edge:
                self.store.fuse(begin)

    def _add(self, values: Any) -> None:
        """Line 12: partial := partial ⊕ lift(row), where there is a window to be in."""
        if values is NO_ROW or not self.begins:
            return
        lifted = self.of.monoid_lift(*values)
        if self.filled:
            lifted = self.form.combine(self.partial, lifted)
            self.counts.fill += 1
        self.partial, self.filled = lifted, True

    def _fill(self, rows: Sequence[Any], first: int, stop: int) -> None:
        """Line 12 for rows without marks: in an open slice, that is, or in no window.

        A row that raises has never been there; those before it have.
        """
        total, combine, lift = self.partial, self.form.combine, self.of.monoid_lift
        done = first if self.begins else stop
        try:
            while done < stop:
                total = combine(total, lift(*self._values(rows[done], done - first)))
                done += 1
        finally:
            if self.begins:
                self.counts.fill += done - first
            self.partial = total
            self.discretizer.pass_by(done - first)
            self.counts.rows += done - first

    # Rows kept for windows that are not deterministic: §5.2, last paragraph.

    def _rows(self) -> ReactiveAggregator:
        window = ReactiveAggregator(counting(self.of))
        window._sample = None  # the laws are tried here
        return window

    def _kept_answer(self, name: str) -> Any:
        window = self.kept[name]
        before = window.of.combines
        answer = window.query()
        self.counts.kept += window.of.combines - before
        return answer

    # Saving and going on.

    def snapshot(self) -> bytes:
        """The whole state; `Aggregator.resume` goes on from there, in another process, too."""
        dump = getattr(self.of, "dump", same)
        partial = None if self.partial is None else dump(self.partial)
        own = partial, self.filled, self.edge, list(self.begins.items()), list(self.edges.items()), self.closed
        kept = [window.snapshot() for window in self.kept.values()]
        counts = list(vars(self.counts).values())
        shared = self.discretizer.state(), self.store.state()
        return snapshot.sealed(
            ("sharing", self._said(), list(self.options.items()), *shared, own, kept, counts, self._sample)
        )

    @classmethod
    def resume(cls, windows: Mapping[str, Window], aggregate: Aggregate, data: bytes) -> Aggregator:
        """Goes on from a snapshot of the same windows and aggregate; `SnapshotError` otherwise."""
        what, said, *state = snapshot.opened(data)
        if what != "sharing":
            raise SnapshotError("this is no snapshot of windrow.sharing")
        options, discretizer, store, own, kept, counts, sample = state
        made = cls(windows, aggregate, **dict(options))
        if said != made._said():
            raise SnapshotError(
                f"the snapshot is of {said[1]} over {said[0]}, not of {made._said()[1]} over {made._said()[0]}"
            )
        made.discretizer.resume(discretizer)
        made.store.resume(store)
        partial, made.filled, made.edge, begins, edges, made.closed = own
        load = getattr(aggregate, "load", same)
        made.partial = None if partial is None else load(partial)
        made.begins, made.edges = dict(begins), dict(edges)
        for name, saved in zip(made.kept, kept, strict=True):
            made.kept[name] = ReactiveAggregator.resume(counting(aggregate), saved)
            made.kept[name]._sample = None
        made.counts = Counts(*counts)
        made._sample = sample
        return made

    def _said(self) -> tuple[str, str]:
        return ", ".join(f"{name}: {window}" for name, window in self.windows.items()), repr(self.of)

    # Within.

    def _values(self, row: Any, ahead: int = 0) -> tuple:
        columns = self.of.columns
        if not columns:
            return row if isinstance(row, tuple) else (row,) if self.takes != 0 else ()
        try:
            return tuple(row[name] for name in columns)
        except (KeyError, TypeError, IndexError):
            raise WindrowError(
                f"row {self.discretizer.rows + ahead} has not the columns {', '.join(columns)}"
            ) from None

    def _try_laws(self, values: tuple) -> None:
        """A user's aggregate is tried on its first rows; `LawError` where it breaks a law."""
        if self._sample is not None:
            self._sample.append(values)
            if len(self._sample) in (3, 8):
                check_laws(self.of, self._sample, synthetic=True)
            if len(self._sample) == 8:
                self._sample = None

    def _quiet(self) -> int:
        """How many of the next rows are known to do nothing but fill the open slice."""
        if self._sample is not None or self.kept or self.closed:
            return 0
        return min(self.discretizer.quiet(), self.cuts.quiet(self.discretizer))

    def _check_open(self) -> None:
        if self.closed:
            raise WindrowError("this stream is closed")

    def _measures(self) -> str:
        return ", ".join(str(measure) for measure in self.discretizer.measures)

    @contextlib.contextmanager
    def _taken_back(self, undo: Undo, before: tuple, produced: int) -> Iterator[None]:
        """Nothing here has changed, and the discretizer has not seen the row, if something raises."""
        try:
            yield
        except BaseException:
            self.discretizer.undo()
            undo.rollback()
            self.partial, self.filled, self.edge = before
            self.counts.slices = produced
            self.begins = dict(sorted(self.begins.items(), key=lambda item: item[1]))
            raise
