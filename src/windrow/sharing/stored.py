"""Steps of a periodic window whose slices are in a store.

Memory holds each key's newest slice and O(log n) pages of each tree. Which slices belong to a window follows from a
`Clock` of where they begin, which is in the store, too. That the newest slice stays here is enough to know which
windows have rows: those that are not reported yet end after all rows of the steps before, so one that has any of them
has the newest of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.columns import allocate, move
from windrow.sharing import passes
from windrow.sharing.groups import Answer
from windrow.sharing.lane import Found, Lane, Ranges
from windrow.sharing.shelf import CLOCK, Shelf, answered, part_of
from windrow.sharing.slices import Items, Rows, Slices, kept, lowest
from windrow.swag import mta_ranges
from windrow.windows.kinds import Periodic


class StoredLane(Lane):
    """One periodic window. A slice goes to the store when the next one has begun."""

    def __init__(self, shelf: Shelf, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.shelf = shelf
        ((self.name, self.window),) = self.windows.items()

    def aggregate(self, part: str) -> Aggregate:
        """What a part of the shelf is a tree of."""
        return mta_ranges.Clock.aggregate if part == CLOCK else self.arrangement.groups[int(part)].of

    def _answers(
        self, rows: Rows, items: Items, flags: np.ndarray, ranges: Mapping[str, Ranges]
    ) -> tuple[list[Found], np.ndarray, list[Any]]:
        n, found = len(items), ranges[self.name]
        cuts = np.append(np.flatnonzero(flags), n)
        self.cuts = len(cuts) - 1
        firsts = np.searchsorted(cuts, items.seg)  # each key's first slice, and the end
        lo, hi = np.searchsorted(cuts, found.lo), np.searchsorted(cuts, found.hi)
        within = cuts[hi] != found.hi
        stops = np.unique(found.hi[within])
        tail = np.where(within, np.searchsorted(stops, found.hi), -1)
        newest = ~within & (hi == firsts[found.key + 1])  # the newest slice counts as a tail: more rows may come to it
        tail[newest] = len(stops) + found.key[newest]
        hi = hi - (within | newest)
        self.spans[self.name] = lo, hi, tail
        bounds = np.searchsorted(found.key, np.arange(len(items.seg)))  # each key's first window, and the end
        work = np.flatnonzero((np.diff(bounds) > 0) | (np.diff(firsts) > 1)).tolist()
        starts = {k: self._clocked(k, items, cuts, firsts, found, bounds) for k in work}
        answers: dict[str, Answer] = {}
        folded = []
        for g, group in enumerate(self.arrangement.groups):
            carried = None if self.slices is None else self.slices.partials[g]
            columns = tuple(rows.columns[column] for column in group.columns)
            slots, prefixes = passes.fold(group, columns, items.source, carried, cuts, stops)
            folded.append(slots)
            tails = _followed(prefixes, _lasts(slots, firsts))
            out, valid = group.room(len(lo))
            for k in work:
                a, z = int(bounds[k]), int(bounds[k + 1])
                closed = int(max(firsts[k + 1] - firsts[k] - 1, 0))
                ends = np.append(hi[a:z] - firsts[k], closed)
                # one more that nobody asked for: it takes in the slices that are closed, drops those nobody needs
                begins = np.minimum(starts[k], ends)
                own = part_of(slots, int(firsts[k]), int(firsts[k]) + closed)
                try:
                    given, there = answered(
                        self.shelf, group, str(g), k, own, begins, ends, np.append(tail[a:z], -1), tails, a
                    )
                except passes.Failed as failed:
                    raise self._named(failed, [self.name], ranges) from failed.__cause__
                for whole, mine in ((out, given), (valid, there)):
                    for column, part in zip(whole, mine, strict=True):
                        column[a:z] = part[: z - a]
            answers.update(group.answers(out, valid))
        result = Found(self.name, found.key, found.start, found.end, found.ended, self.arrangement.finished(answers))
        return [result], cuts, folded

    def _clocked(
        self, k: int, items: Items, cuts: np.ndarray, firsts: np.ndarray, found: Ranges, bounds: np.ndarray
    ) -> np.ndarray:
        """For each window of a key the first slice in it, 0 being the first new one; then the first still needed."""
        clock = mta_ranges.Clock(self.shelf.tree(k, CLOCK, mta_ranges.Clock.aggregate))
        before = clock.window.inserted
        places = items.first[self.window.measure][cuts[firsts[k] : max(firsts[k + 1] - 1, firsts[k])]]
        clock.insert(places)
        floors = found.start[bounds[k] : bounds[k + 1]]
        floors = np.append(floors, self._open_from(k, floors[-1] if len(floors) else None))
        return clock.passed(floors.astype(places.dtype), inclusive=False) - before

    def _open_from(self, k: int, least: Any) -> Any:
        """Where the first window begins that is not over yet, or before it."""
        window, until = self.window, self.over[k].item()
        assert isinstance(window, Periodic)
        bottom = lowest(self.over.dtype) if least is None else least
        if until in (np.inf, -np.inf):
            return bottom
        index = (until - window.range - window.origin) // window.every  # of one that is over
        return max(bottom, min(window.origin + index * window.every, until))

    def _span(self, *args: Any) -> tuple[np.ndarray, np.ndarray]:
        after, until = super()._span(*args)
        self.over = until
        return after, until

    def _kept(
        self, items: Items, cuts: np.ndarray, since: np.ndarray, left: Mapping[str, np.ndarray], folded: list[Any]
    ) -> Slices:
        """Each key's newest slice."""
        last = np.searchsorted(cuts, items.seg[1:]) - 1
        return kept(items, cuts, cuts[np.maximum(last, 0)], left, folded)


def _lasts(slots: Any, firsts: np.ndarray) -> Any:
    """Each key's newest slice; of a key without one, nothing that anybody reads."""
    there = np.flatnonzero(np.diff(firsts))
    lasts = allocate(None if isinstance(slots, list) else [c.dtype for c in slots], len(firsts) - 1)
    move(slots, firsts[there + 1] - 1, lasts, there)
    return lasts


def _followed(slots: Any, more: Any) -> Any:
    if isinstance(slots, list):
        return slots + more
    return tuple(np.concatenate(pair) for pair in zip(slots, more, strict=True))
