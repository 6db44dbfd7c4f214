"""Slicing as the papers have it, to compare a query with: Panes, Pairs, Cutty, and a slice per row (RA).

Formulas (paper 3 §2.3, §6, Table 1, Fig. 7), and a model that goes through the rows of a stream, cuts them, keeps the
partials of the slices in one of three stores, and counts slices and combines. A row counts as 1, so an answer is the
number of rows in its window, and the model checks every one.

| technique | cuts | slices that a window of range r, slide s needs |
|---|---|---|
| `panes` | at every multiple of gcd(r, s) | r / gcd(r, s) |
| `pairs` | where a window begins or ends | ⌈2r/s⌉ |
| `cutty` | where a window begins | ⌈r/s⌉ + 1 |
| `ra` | at every row | r |
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from windrow import agg, swag

Size = tuple[int, int]  # range and slide


def edges(technique: str, size: Size) -> set[Size]:
    """Where one window cuts: (step, offset) stands for all offset + k·step."""
    r, s = size
    step = math.gcd(r, s)
    return {"panes": {(step, 0)}, "pairs": {(s, 0), (s, r % s)}, "cutty": {(s, 0)}, "ra": {(1, 0)}}[technique]


def cuts(technique: str, sizes: Iterable[Size], stop: int) -> list[int]:
    """Where several windows cut rows 0 to `stop`: wherever one of them does.

    >>> cuts("pairs", [(10, 3)], 10), cuts("cutty", [(10, 3), (8, 4)], 10)
    ([0, 1, 3, 4, 6, 7, 9], [0, 3, 4, 6, 8, 9])
    """
    found: set[int] = set()
    for step, offset in {edge for size in sizes for edge in edges(technique, size)}:
        found.update(range(offset, stop, step))
    return sorted(found)


@dataclass(frozen=True)
class Complexity:
    """A row of Table 1: partials kept, and calls of combine, for one window of range r and slide s."""

    space_lazy: int
    space_eager: int
    update_lazy: int
    update_amortised: float
    merge_lazy: int
    merge_eager: float


def table(technique: str, r: int, s: int) -> Complexity:
    """Table 1 as printed.

    Errata: for Panes, the amortised update "log(⌈r/gcd⌉) + gcd - 1" is for gcd(r, s) rows, not for one; here it is
    divided by them, as elsewhere in the table. Cutty's eager merge is printed "log(⌈a⌉)": log(⌈r/s⌉ + 1) is meant.

    >>> [table(technique, 10, 3).space_lazy for technique in ("cutty", "pairs", "panes", "ra")]
    [5, 7, 10, 10]
    """
    windows = -(-r // s)
    kept, rows_a_slice = {
        "cutty": (windows + 1, float(s)),
        "pairs": (-(-2 * r // s), s / 2),
        "panes": (r // math.gcd(r, s), float(math.gcd(r, s))),
        "ra": (r, 1.0),
    }[technique]
    eager = {"cutty": -(-2 * r // s) + 1, "pairs": -(-4 * r // s)}.get(technique, 2 * kept)
    height = math.log2(windows if technique == "cutty" else kept)
    amortised = (height - 1) / rows_a_slice + 1 if technique != "ra" else height
    return Complexity(kept, eager, 1, amortised, kept, math.log2(kept))


class Lazy:
    """Partials in a row: to append is free, a merge folds."""

    def __init__(self) -> None:
        self.kept: list[int] = []
        self.combines = 0
        self.slots = 0

    def append(self, partial: int) -> None:
        self.kept.append(partial)
        self.slots = max(self.slots, len(self.kept))

    def drop(self, count: int) -> None:
        """The oldest go."""
        del self.kept[:count]

    def newest(self, count: int) -> int:
        """The aggregate of the newest partials."""
        self.combines += count - 1
        return sum(self.kept[-count:])


class Eager:
    """A FlatFAT over a ring of partials (paper 1 §5.1): a slot that is not in use holds ⊥, here None.

    Every node is the aggregate of its children, but for the root, which nobody reads.
    """

    def __init__(self) -> None:
        self.size, self.first, self.end = 4, 0, 0
        self.nodes: list[int | None] = [None] * 8
        self.combines = 0

    @property
    def slots(self) -> int:
        return 2 * self.size

    def append(self, partial: int) -> None:
        if self.end - self.first == self.size:
            rows = [self.nodes[self.size + i % self.size] for i in range(self.first, self.end)]
            self.size, self.first, self.end = 2 * self.size, 0, len(rows)
            self.nodes = [None] * self.size + rows + [None] * (self.size - len(rows))
            self._renew({self.size + i for i in range(len(rows))})
        place = self.size + self.end % self.size
        self.nodes[place] = partial
        self.end += 1
        self._renew({place})

    def drop(self, count: int) -> None:
        places = {self.size + i % self.size for i in range(self.first, self.first + count)}
        for place in places:
            self.nodes[place] = None
        self.first += count
        self._renew(places)

    def newest(self, count: int) -> int:
        i, j = (self.end - count) % self.size, (self.end - 1) % self.size
        if i <= j:
            return self._between(i, j)
        self.combines += 1  # the ring is wrapped between them
        return self._between(i, self.size - 1) + self._between(0, j)

    def _renew(self, places: set[int]) -> None:
        """Paper 1, Alg. 2: each node above a change once."""
        above = {place >> 1 for place in places}
        while above and min(above) > 1:
            for v in above:
                left, right = self.nodes[2 * v], self.nodes[2 * v + 1]
                if left is None and right is None:
                    self.nodes[v] = None
                else:
                    self.nodes[v] = (left or 0) + (right or 0)
                    self.combines += 1
            above = {v >> 1 for v in above}

    def _between(self, i: int, j: int) -> int:
        """Leaves i to j, from the largest nodes that lie within."""
        found, i, j = [], i + self.size, j + self.size + 1
        while i < j:
            whole = i == 2 and j == 4  # all leaves: their root is not kept
            if whole or i & 1:
                found.append(self.nodes[i] or 0)
                i += 1
            if whole or j & 1:
                j -= 1
                found.append(self.nodes[j] or 0)
            i, j = i >> 1, j >> 1
        self.combines += len(found) - 1
        return sum(found)


class Fit:
    """FlatFIT (paper 5), the package's own: to append is free, a merge leaves the way shorter for the next."""

    def __init__(self) -> None:
        self.of = swag.counting(agg.sum())
        self.window = swag.FlatFIT(self.of)

    @property
    def combines(self) -> int:
        return self.of.combines or 0

    @property
    def slots(self) -> int:
        return self.window.capacity

    def append(self, partial: int) -> None:
        self.window.insert(partial)

    def drop(self, count: int) -> None:
        self.window.evict_many(count)

    def newest(self, count: int) -> int:
        return self.window.query_range(count)


STORES: dict[str, type[Lazy | Eager | Fit]] = {"lazy": Lazy, "eager": Eager, "fit": Fit}


@dataclass
class Counts:
    """What a stream took, after its first `warm` rows."""

    rows: int = 0
    slices: int = 0  # that were begun
    fill: int = 0  # combines of a row with the open slice
    update: int = 0  # combines of the store, when slices come and go
    merge: int = 0  # combines of answers
    windows: int = 0
    most: int = 0  # slices at once, the open one included
    slots: int = 0  # of the store


def periodic(sizes: Iterable[Size], rows: int) -> Iterator[Size]:
    """(start, end) of all windows of a stream; those of the last ones are beyond it."""
    for r, s in sizes:
        for start in range(0, rows, s):
            yield start, start + r


def modelled(cut_at: Sequence[int], windows: Iterable[Size], rows: int, store: str, warm: int = 0) -> Counts:
    """Paper 3, Alg. 1 over rows 0 to `rows`: slices begin at `cut_at`, windows are (start, end).

    A window is answered when its last row is there, as a query does it.
    """
    kept = STORES[store]()
    ordered = sorted(windows)
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for start, end in ordered:
        if end <= rows:
            ends[end].append(start)
    begun = set(cut_at)
    starts: list[int] = []  # of all slices that were stored; those from `first` on are in the store
    first = oldest = opened = last = 0
    idle = False  # no window is open: rows are in no slice
    counts = before = Counts()
    for at in sorted(begun | ends.keys() | {warm, rows}):
        if not idle:
            counts.fill += max(0, at - last - (last == opened))  # the first row of a slice is combined with nothing
        last = at
        tally = kept.combines
        if at in begun:  # lines 2-4
            if at > opened and not idle:
                kept.append(at - opened)
                starts.append(opened)
            opened, idle = at, oldest < len(ordered) and ordered[oldest][0] > at
            counts.slices += warm <= at and not idle
        counts.update += kept.combines - tally
        counts.most = max(counts.most, len(starts) - first + 1)
        tally = kept.combines
        for start in ends.get(at, ()):  # lines 7, 8 and 11
            closed = len(starts) - bisect_left(starts, start)
            total = kept.newest(closed) if closed else 0
            if at > opened:
                total += at - opened
                counts.merge += closed > 0
            assert total == at - start, (start, at, total)
            counts.windows += 1
        counts.merge += kept.combines - tally
        tally = kept.combines
        if at in ends:  # lines 9-10: slices that no open window needs
            while oldest < len(ordered) and ordered[oldest][1] <= at:
                oldest += 1
            needed = ordered[oldest][0] if oldest < len(ordered) else rows
            idle = needed > at
            gone = bisect_left(starts, needed) - first
            if gone > 0:
                kept.drop(gone)
                first += gone
        counts.update += kept.combines - tally
        if at <= warm:
            before = replace(counts)
    counts.rows = rows - warm
    for name in ("fill", "update", "merge", "windows"):
        setattr(counts, name, getattr(counts, name) - getattr(before, name))
    counts.slots = kept.slots
    return counts
