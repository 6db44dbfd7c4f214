"""A window whose partials are in a store (paper 4): trees by key, and what cannot be in them yet.

Memory holds O(log n) pages of each tree. Beside them it holds the partials that later rows may change or keep out of
the next window: the open slice, or rows of one time where windows are closed on the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine.columns import room
from windrow.engine.walking import ByRow, E, Runs, Walked, WalkState
from windrow.step import passes
from windrow.step.errors import named
from windrow.step.groups import Answer, Group
from windrow.step.shelf import Shelf
from windrow.swag import mta_ranges
from windrow.windows.base import StepRows, Window

#: the tree that tells where windows begin (`Window.places`); those of the groups are parts by number
PLACES = "places"


class Items(NamedTuple):
    """What a step takes in, by run: the partials that were left, then the rows."""

    source: np.ndarray  # a row, or ~ the number of a partial that was left; empty: item i is row i
    begin: np.ndarray  # of each run, and the end
    left: np.ndarray  # how many were left, for each run
    shift: np.ndarray  # from a row of a run to its item


class Ranges(NamedTuple):
    """What goes through the trees: item j of the slots is the partials from cuts[j] to cuts[j + 1], folded.

    Answer w is slots lo[w] to hi[w] of its run, the first being 0, and those before it in the tree; then tail[w], a
    prefix of a slot (`stops`), or the newest slot of a run, counted from the number of stops on (-1: none). After
    them, slots before `enter` are in the tree and those before `keep` have left it. The others are left for the next
    step.
    """

    cuts: np.ndarray
    stops: np.ndarray
    first: np.ndarray  # the slots of each run
    last: np.ndarray
    answers: np.ndarray  # the first of each run, and the end
    lo: np.ndarray
    hi: np.ndarray
    tail: np.ndarray
    enter: np.ndarray
    keep: np.ndarray
    work: np.ndarray  # the runs whose trees change or are asked


class StoredWindow:
    """One window, with all groups of aggregates."""

    def __init__(self, window: Window, groups: Sequence[Group], walk: WalkState, shelf: Shelf) -> None:
        self.window, self.groups, self.walk, self.shelf = window, groups, walk, shelf
        self.left: list[dict[int, Any]] = [{} for _ in groups]  # slots by key
        self._before: dict[int, list[Any]] = {}  # what the keys of this step had left

    def of(self, part: str) -> Aggregate:
        """What a part of the shelf is a tree of."""
        found = self.window.places if part == PLACES else self.groups[int(part)].of
        assert found is not None
        return found

    def _places(self, key: int) -> Any:
        return self.shelf.tree(key, PLACES, self.of(PLACES))

    # A step.

    def walked(self, runs: Runs, rows: StepRows, closing: bool, partial: bool) -> Walked:
        """Where slices begin and windows end."""
        return self.window.stored_walk(self.walk, runs, rows, closing, partial, self._places)

    def ended(
        self, runs: Runs, found: Walked, data: Callable[[Group], tuple], where: Callable[[int], str]
    ) -> dict[str, Answer]:
        """The answers of the windows that the walk found."""
        items = self._items(runs)
        new, wins = np.diff(found.cuts), np.diff(found.wins)
        of_cut, of_win = (np.repeat(np.arange(len(runs.key)), count) for count in (new, wins))
        begin, stop = items.begin[:-1], items.begin[1:]
        cuts = np.unique(np.concatenate([begin[begin < stop], found.cut_at + items.shift[of_cut]]))
        last = np.searchsorted(cuts, stop)
        first = last - new - items.left  # rows before a run's first slice are in no window
        end = found.win_at + items.shift[of_win]
        hi = np.searchsorted(cuts, end)
        cuts = np.append(cuts, items.begin[-1])
        inside = (hi == last[of_win]) | (cuts[hi] != end)  # it ends in a slice that goes on, or may go on
        newest = inside & (end == stop[of_win])
        stops = np.unique(end[inside & ~newest])
        tail = np.where(inside, np.where(newest, len(stops) + of_win, np.searchsorted(stops, end)), -1)
        before = self.walk.word(runs.key, E) - new - items.left  # slices in the trees
        enter = np.maximum(last - first - 1, 0)
        ranges = Ranges(
            cuts, stops, first, last, found.wins, found.win_lo - before[of_win], hi - first[of_win] - inside, tail,
            enter, found.keep - before, np.flatnonzero((wins > 0) | (enter > 0)),
        )  # fmt: skip
        return self._answered(runs, items, ranges, data, len(found.win_at), where)

    def by_row(
        self, runs: Runs, rows: StepRows, data: Callable[[Group], tuple], where: Callable[[ByRow, int], str]
    ) -> dict[str, Answer]:
        """The answers of the rows' windows."""
        found = self.window.stored_bounds(self.walk, runs, rows, self._places)
        items = self._items(runs)
        count = np.diff(items.begin)
        filled = runs.end > runs.begin
        before = np.where(filled, found.first, self.walk.word(runs.key, E)) - items.left  # rows in the trees
        of_row = np.repeat(np.arange(len(runs.key)), runs.end - runs.begin)
        lo, hi = found.lo - before[of_row], found.hi - before[of_row]
        keep, enter = found.keep - before, np.zeros(len(runs.key), np.int64)
        enter[filled] = hi[runs.end[filled] - 1]
        none = found.keep >= before + count  # no row is needed any more
        enter = np.where(none, count, enter)
        ranges = Ranges(
            np.arange(items.begin[-1] + 1), np.empty(0, np.int64), items.begin[:-1], items.begin[1:],
            np.append(runs.begin, len(rows)), lo, hi, np.full(len(rows), -1), enter, keep,
            np.flatnonzero(filled | (none & (before + count > 0))),
        )  # fmt: skip
        return self._answered(runs, items, ranges, data, len(rows), lambda i: where(found, i))

    def _items(self, runs: Runs) -> Items:
        """The rows of the step, each key's behind what it has left."""
        mine = self.left[0]
        left = np.array([room(mine[key]) if key in mine else 0 for key in runs.key.tolist()], np.int64)
        shift, rows = np.cumsum(left), int(runs.end[-1]) if len(runs.end) else 0
        source = np.empty(0, np.int64)
        if left.any():
            source = np.insert(np.arange(rows), np.repeat(runs.begin, left), ~np.arange(shift[-1]))
        begin = np.append(runs.begin + shift - left, rows + int(left.sum()))
        return Items(source, begin, left, shift)

    def _answered(
        self, runs: Runs, items: Items, ranges: Ranges, data: Callable[[Group], tuple], n: int,
        where: Callable[[int], str],
    ) -> dict[str, Answer]:  # fmt: skip
        """Folds items into slots, and takes them through the trees of each group."""
        keys = runs.key.tolist()
        self._before.update({key: [left.get(key) for left in self.left] for key in keys})
        answers: dict[str, Answer] = {}
        for g, group in enumerate(self.groups):
            left = _joined([self.left[g][key] for key in keys if key in self.left[g]])
            try:
                slots, prefixes = passes.fold(group, data(group), items.source, left, ranges.cuts, ranges.stops)
            except Exception as error:
                named(error, where(-1))
                raise
            newest = np.maximum(ranges.last - 1, 0)  # of a run without any, something that nobody reads
            tails = _joined([prefixes, _some(slots, newest)]) if room(slots) else prefixes
            out, valid = group.room(n)
            for u in ranges.work.tolist():
                self._through(g, keys[u], u, ranges, slots, tails, out, valid, where)
            answers.update(group.answers(out, valid))
            for u, key in enumerate(keys):
                rest = slice(ranges.first[u] + ranges.enter[u], ranges.last[u])
                if rest.start < rest.stop:
                    self.left[g][key] = _some(slots, np.arange(rest.start, rest.stop))
                else:
                    self.left[g].pop(key, None)
        return answers

    def _through(
        self, g: int, key: int, u: int, ranges: Ranges, slots: Any, tails: Any, out: tuple, valid: tuple,
        where: Callable[[int], str],
    ) -> None:  # fmt: skip
        """The answers of one run. One range more, unasked, takes in what may enter, and drops what nobody needs."""
        a, z, group = int(ranges.answers[u]), int(ranges.answers[u + 1]), self.groups[g]
        hi = np.append(ranges.hi[a:z], ranges.enter[u])
        lo = np.minimum(np.append(ranges.lo[a:z], ranges.keep[u]), hi)
        tail = np.append(ranges.tail[a:z], mta_ranges.UNASKED)
        first = int(ranges.first[u])
        mine = _part(slots, first, first + int(ranges.enter[u]))
        done = np.zeros(1, np.int64)
        given, there = group.room(len(lo))
        tree = self.shelf.tree(key, str(g), group.of)
        try:
            mta_ranges.answer(tree, group.form, mine, lo, hi, tail, tails, given, there, done)
        except Exception as error:
            named(error, where(a + int(done[0]) if done[0] < z - a else -1))
            raise
        for whole, some in ((out, given), (valid, there)):
            for column, part in zip(whole, some, strict=True):
                column[a:z] = part[:-1]

    def forget(self, keys: np.ndarray) -> None:
        """No key is ever idle: a snapshot may refer to its trees."""
        raise NotImplementedError

    def commit(self) -> None:
        """The step stays."""
        self._before = {}
        self.shelf.commit()

    def rollback(self) -> None:
        """The step is taken back."""
        self.shelf.rollback()
        for key, before in self._before.items():
            for left, slots in zip(self.left, before, strict=True):
                if slots is None:
                    left.pop(key, None)
                else:
                    left[key] = slots
        self._before = {}

    # Saved state.

    def dump(self, keys: np.ndarray) -> tuple:
        """What is known of these keys, which are all there are: as plain values, and a reference to what is durable."""
        place = {key: i for i, key in enumerate(keys.tolist())}
        left = [
            [(place[key], _saved(group, slots)) for key, slots in mine.items()]
            for group, mine in zip(self.groups, self.left, strict=True)
        ]
        trees = [(place[key], *rest) for key, *rest in self.shelf.reference()]
        return self.shelf.name, self.shelf.made, trees, left

    def load(self, content: tuple, keys: np.ndarray) -> None:
        """Puts back what `dump` gave."""
        self.shelf.name, self.shelf.made, trees, left = content
        number = keys.tolist()
        for g, (group, mine) in enumerate(zip(self.groups, left, strict=True)):
            self.left[g] = {number[place]: _loaded(group, slots) for place, slots in mine}
        self.shelf.reopen([(number[place], *rest) for place, *rest in trees], self.of)


def _joined(parts: list[Any]) -> Any:
    """Slots behind one another; None: there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    if isinstance(parts[0], list):
        return [partial for part in parts for partial in part]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _part(slots: Any, start: int, end: int) -> Any:
    return slots[start:end] if isinstance(slots, list) else tuple(column[start:end] for column in slots)


def _some(slots: Any, at: np.ndarray) -> Any:
    """Some slots, in memory of their own."""
    return [slots[i] for i in at.tolist()] if isinstance(slots, list) else tuple(column[at] for column in slots)


def _saved(group: Group, slots: Any) -> Any:
    if not isinstance(slots, list):
        return slots
    return [None if partial is None else group.of.dump(partial) for partial in slots]


def _loaded(group: Group, slots: Any) -> Any:
    if not isinstance(slots, list):
        return slots
    return [None if partial is None else group.of.load(partial) for partial in slots]
