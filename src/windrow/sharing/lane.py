"""One step of the windows that report once: items in, results out, the slices that are still needed kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.engine import edges
from windrow.engine.since import marks_since, periodic_since, sessions_since
from windrow.errors import WindrowError
from windrow.sharing import passes
from windrow.sharing.groups import Answer, Arrangement
from windrow.sharing.slices import Items, Keys, Rows, Slices, highest, kept, lowest, merged
from windrow.windows.base import ROWS, TIME, Measure, Window
from windrow.windows.kinds import Landmark, Periodic, Punctuated, Session, UserDefined


@dataclass(frozen=True)
class Found:
    """Windows that have ended, with their answers."""

    window: str
    key: np.ndarray
    start: np.ndarray
    end: np.ndarray
    ended: np.ndarray | None  # False: the window is still open, its end not known; None: all have ended
    answers: dict[str, Answer]


@dataclass(frozen=True)
class Ranges:
    """Windows as ranges of items."""

    key: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    start: np.ndarray
    end: np.ndarray
    ended: np.ndarray | None = None


@dataclass
class Lane:
    """Windows that take the same rows in the same order, and share their slices."""

    windows: Mapping[str, Window]
    arrangement: Arrangement
    dtypes: Mapping[Measure, np.dtype]  # int64 or float64, of each column that is a measure
    slicing: str = "cutty"
    partial: bool = False
    in_order: bool = True  # False: rows may come after newer ones; windows by time only, commutative aggregates
    algorithms: Mapping[str, str] = field(default_factory=dict)  # for each window, how it is answered from slices

    def __post_init__(self) -> None:
        self.slices: Slices | None = None
        self.keys = Keys()
        self.until = lowest(np.int64)  # event time
        self.spans: dict[str, tuple] = {}  # of the last step: each window's slices, and its tail
        self.cuts = 0
        self.counted = any(w.by_content or w.measure == ROWS for w in self.windows.values())

    def step(self, rows: Rows, size: int, until: int, closing: bool = False, keep: bool = True) -> list[Found]:
        """Takes in rows of `size` keys in all; event time has come to `until`. What has ended comes back."""
        self.keys.grow(size, self.dtypes)
        items = merged(self.slices, rows, self.keys, None if self.in_order else TIME, self.counted)
        count, newest = self._new_keys(rows, items)
        seg, flags = items.seg, np.zeros(len(items), bool)
        flags[seg[:-1][np.diff(seg) > 0]] = True
        if self.in_order and len(items.source):
            flags |= items.kept
        ranges: dict[str, Ranges] = {}
        since = seg[1:].copy()  # the first item that is needed, for each key
        left: dict[str, np.ndarray] = {}
        for name, window in self.windows.items():
            after, to = self._span(window.measure, count, newest, until, closing)
            ranges[name], needed = self._cut(name, window, items, flags, after, to, closing, left)
            if needed is not None:
                np.minimum(since, needed, out=since)
        answered, cuts, folded = self._answers(rows, items, flags, ranges)
        self.keys.count, self.keys.newest, self.until = count, newest, until
        self.slices = self._kept(items, cuts, since, left, folded) if keep and not closing else None
        return answered

    def _kept(
        self, items: Items, cuts: np.ndarray, since: np.ndarray, left: Mapping[str, np.ndarray], folded: list[Any]
    ) -> Slices:
        return kept(items, cuts, since, left, folded)

    def _new_keys(self, rows: Rows, items: Items) -> tuple[np.ndarray, dict[Measure, np.ndarray]]:
        """Rows and largest values so far, for each key."""
        count = self.keys.count
        if self.counted:
            count = count + np.bincount(rows.key, minlength=len(count)).astype(np.int64)
        newest = {m: values.copy() for m, values in self.keys.newest.items()}
        for measure, values in newest.items():
            there = np.flatnonzero(np.diff(items.seg))
            ends = items.last[measure][items.seg[1:][there] - 1]
            values[there] = np.maximum(values[there], ends)
        return count, newest

    def _span(
        self, measure: Measure, count: np.ndarray, newest: Mapping[Measure, np.ndarray], until: int, closing: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each key: windows that end after the first and at or before the second are to be reported."""
        size = len(count)
        if measure == TIME:
            return np.full(size, self.until), np.full(size, until)
        if measure == ROWS:
            to = np.full(size, highest(np.int64)) if closing and self.partial else count
            return self.keys.count, to
        to = newest[measure]
        return self.keys.newest[measure], np.full(size, highest(to.dtype), to.dtype) if closing else to

    def _cut(
        self,
        name: str,
        window: Window,
        items: Items,
        flags: np.ndarray,
        after: np.ndarray,
        until: np.ndarray,
        closing: bool,
        left: dict[str, np.ndarray],
    ) -> tuple[Ranges, np.ndarray | None]:
        """Cuts the items for one window; the windows to report, and from which item on each key's are still needed."""
        seg = items.seg
        if isinstance(window, Periodic):
            first = items.first[window.measure]
            dtype = first.dtype.type
            size, every, origin = dtype(window.range), dtype(window.every), dtype(window.origin)
            slicing = self.slicing if self.in_order or self.slicing != "cutty" else "pairs"
            extent = items.extent(window.measure)
            edges.periodic_cuts(first, seg, size, every, origin, slicing, flags, extent=extent)
            least = 0 if window.measure == ROWS else -(2**62)
            ranges = Ranges(*edges.periodic(first, seg, size, every, origin, after, until, least, extent))
            return ranges, None if closing else periodic_since(first, seg, size, every, origin, until)
        if isinstance(window, Session):
            first, last = items.first[window.measure], items.last[window.measure]
            gap = first.dtype.type(window.gap)
            edges.session_cuts(first, last, seg, gap, flags)
            ranges = Ranges(*edges.sessions(first, last, seg, gap, after, until))
            return ranges, None if closing else sessions_since(first, last, seg, gap, until)
        begins = items.begins[name]
        if isinstance(window, Landmark):
            first, last = items.first[window.measure], items.last[window.measure]
            marks = begins > 0
            flags |= marks
            fresh = seg[:-1] + np.bincount(items.key[items.kept], minlength=len(seg) - 1)
            ranges = Ranges(*edges.landmarks(marks, first, last, seg, window.every, after, until, self.partial, fresh))
            left[name] = begins.astype(np.int64, copy=False)
            return ranges, marks_since(marks, seg, newest=True)
        if isinstance(window, Punctuated):  # each ends the one before, if there is one: a few places tell all
            at = np.flatnonzero(begins)
            flags[at] = True
            ends_one = items.key[at[1:]] == items.key[at[:-1]]
            lo, hi = at[:-1][ends_one], at[1:][ends_one]
            segment, open_at = items.key[lo], at[~np.append(ends_one, False)] if len(at) else at
        else:
            assert isinstance(window, UserDefined)
            flags |= begins > 0
            segment, lo, hi, still, bad = edges.begins_ends(begins, items.ends[name], seg)
            if bad >= 0:
                where = f"window '{name}', row {items.pos[bad]} of its key"
                raise WindrowError(f"{where}: it ends more windows than are open")
            open_at = np.repeat(np.flatnonzero(still), still[still > 0])
        since = None
        if not closing:
            left[name] = np.bincount(open_at, minlength=len(items)).astype(np.int64, copy=False)
            since = marks_since(left[name] > 0, seg, newest=False)
        ended = None
        if closing and self.partial and len(open_at):
            segment, lo = np.concatenate([segment, items.key[open_at]]), np.concatenate([lo, open_at])
            hi = np.concatenate([hi, seg[items.key[open_at] + 1]])
            ended = np.arange(len(lo)) < len(lo) - len(open_at)
            by_key = np.lexsort((hi, lo, segment))
            segment, lo, hi, ended = segment[by_key], lo[by_key], hi[by_key], ended[by_key]
        measure = items.first[TIME] if isinstance(window, UserDefined) and TIME in items.first else items.pos
        end = measure[np.minimum(hi, len(items) - 1)] if len(hi) else measure[:0]
        return Ranges(segment, lo, hi, measure[lo], end, ended), since

    def _answers(
        self, rows: Rows, items: Items, flags: np.ndarray, ranges: Mapping[str, Ranges]
    ) -> tuple[list[Found], np.ndarray, list[Any]]:
        """Folds the slices and answers all windows from them."""
        n = len(items)
        cuts = np.append(np.flatnonzero(flags), n)
        self.cuts = len(cuts) - 1
        inside, bounds = [], {}
        for name, found in ranges.items():
            lo = np.searchsorted(cuts, found.lo)
            hi = np.searchsorted(cuts, found.hi)
            within = cuts[hi] != found.hi  # it ends inside a slice, of which the rows before its end count
            bounds[name] = (lo, hi - within, within)
            inside.append(found.hi[within])
        stops = np.sort(np.concatenate(inside), kind="stable") if inside else np.empty(0, np.int64)
        stops = stops[np.append(True, stops[1:] != stops[:-1])] if len(stops) else stops  # np.unique takes longer
        for name, (lo, hi, within) in bounds.items():
            self.spans[name] = (lo, hi, np.where(within, np.searchsorted(stops, ranges[name].hi), -1))
        answers: dict[str, dict[str, Answer]] = {name: {} for name in ranges}
        folded = []
        for g, group in enumerate(self.arrangement.groups):
            carried = None if self.slices is None else self.slices.partials[g]
            columns = tuple(rows.columns[column] for column in group.columns)
            slots, prefixes = passes.fold(group, columns, items.source, carried, cuts, stops)
            folded.append(slots)
            for algorithm, names in self._together(ranges).items():
                lo, hi, tail = (np.concatenate(parts) for parts in zip(*(self.spans[n] for n in names), strict=True))
                try:
                    given = passes.answer(group, algorithm[0], slots, lo, hi, tail, prefixes)
                except passes.Failed as failed:
                    raise self._named(failed, names, ranges) from failed.__cause__
                begin = 0
                for name in names:
                    end = begin + len(ranges[name].lo)
                    answers[name].update({n: answer.at(slice(begin, end)) for n, answer in given.items()})
                    begin = end
        results = [
            Found(name, r.key, r.start, r.end, r.ended, self.arrangement.finished(answers[name]))
            for name, r in ranges.items()
        ]
        return results, cuts, folded

    def _together(self, names: Iterable[str]) -> dict[tuple, list[str]]:
        """Windows that are answered in one pass: all that share a tree or jumps, each of the others by itself."""
        passes_of: dict[tuple, list[str]] = {}
        for name in names:
            algorithm = self.algorithms.get(name, passes.TREE)
            shared = algorithm in (passes.TREE, passes.FIT)
            passes_of.setdefault((algorithm,) if shared else (algorithm, name), []).append(name)
        return passes_of

    def _named(self, failed: Any, names: list[str], ranges: Mapping[str, Ranges]) -> Exception:
        """The error that an aggregate raised, with the window in which it did."""
        error, i = failed.__cause__, failed.at
        name = next(n for n in names if i < len(ranges[n].lo) or (i := i - len(ranges[n].lo)) < 0)
        where = f"window '{name}' from {ranges[name].start[i]} to {ranges[name].end[i]}"
        if isinstance(error, OverflowError):
            return OverflowError(f"{error} ({where})")
        error.add_note(f"in {where}")
        return error
