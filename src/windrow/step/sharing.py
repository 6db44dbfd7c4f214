"""One ring of slices for many windows (papers 3 and 5): cut where any of them begins, answered by one FlatFIT.

Each window's own walk numbers its slices for itself. Here these numbers become those of the shared slices: the walk's
ring has a place for it beside each slice that is open.

A window with a ring of its own never has more slices than windows are open: a slice begins where a window begins, and
windows end in the order in which they began. In a shared ring a slice that was begun for a short window lies between
others until the longest window is past it. Once no open window begins with it, it is fused with the slice before it.

To do so at once would cost too much. FlatFIT's partials reach over several slices, and any number of them may end where
the slice begins. So slices are fused where a step leaves a key with more than twice as many slices as windows are open.
Then half of them go, for one combine each of all there are: two for each slice that goes. Those that stay get new
numbers, without gaps, which are written into the walks' rings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from windrow.engine.keyed_loops import Cuts, Fused, Wins
from windrow.engine.keyed_loops import Runs as SliceRuns
from windrow.engine.table import Table, stretches
from windrow.engine.walking import BASE, SIZE, E, F, Runs, Walked, WalkState, walker


class Merged(NamedTuple):
    """What the walks of all windows found, as one."""

    runs: SliceRuns
    cuts: Cuts
    wins: Wins
    fused: Fused
    order: np.ndarray  # the windows in the order in which they are answered, as places in those of all walks
    peak: np.ndarray


class SharedRing:
    """How many slices a key's ring has had, and which of them are fused."""

    def __init__(self, table: Table, walks: Sequence[WalkState]) -> None:
        self.table, self.walks = table, walks
        self.walks_first = np.array([walk.first for walk in walks])
        self.first = table.add([0, 0])  # slices from the first word on are needed, the second is the next one's number

    def slices(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each key the first slice that is needed, and the number of the next."""
        return self.table.words[keys, self.first], self.table.words[keys, self.first + 1]

    def merged(self, found: Sequence[Walked], runs: Runs, fuses: bool) -> Merged:
        """The cuts and windows of all walks by the numbers of shared slices; with `fuses`, what is fused after them."""
        words, keys, n = self.table.words, runs.key, len(runs.key)
        needed, begin = words[keys, self.first], words[keys, self.first + 1]
        cut_at, shared_of = np.unique(np.concatenate([walked.cut_at for walked in found]), return_inverse=True)
        cuts = np.searchsorted(cut_at, runs.begin)
        cuts = np.append(cuts, len(cut_at))
        number = begin - cuts[:-1]  # of a cut, less its place
        at, lo, start = [], [], 0
        keep = np.full(n, np.iinfo(np.int64).max)
        for walk, walked in zip(self.walks, found, strict=True):
            mine = shared_of[start : start + len(walked.cut_at)]
            start += len(walked.cut_at)
            run = np.repeat(np.arange(n), np.diff(walked.cuts))
            mine = mine + number[run]
            local = walk.word(keys, E) - np.diff(walked.cuts)  # the number of each run's first cut
            self._remember(walk, keys[run], local[run] + np.arange(len(run)) - walked.cuts[run], mine)
            run = np.repeat(np.arange(n), np.diff(walked.wins))
            at.append(walked.win_at)
            lo.append(self._shared(walk, keys, run, walked.win_lo, local, walked.cuts, mine))
            open_ = np.flatnonzero(walked.keep < walk.word(keys, E))
            keep[open_] = np.minimum(
                keep[open_], self._shared(walk, keys, open_, walked.keep[open_], local, walked.cuts, mine)
            )
        end = begin + np.diff(cuts)
        keep = np.minimum(keep, end)  # no window is open: nothing is needed
        peak = end - needed
        fused = self._fused(keys, keep, end) if fuses else _nothing(n)
        words[keys, self.first], words[keys, self.first + 1] = keep, end
        all_at, all_lo = np.concatenate(at), np.concatenate(lo)
        order = np.lexsort((all_lo, all_at))
        # windows of a run lie behind its last row: runs without rows are told apart by their key
        wins_run = np.concatenate([np.repeat(np.arange(n), np.diff(walked.wins)) for walked in found])
        if n > 1:
            order = np.lexsort((all_lo, all_at, wins_run))
        wins = np.searchsorted(wins_run[order], np.arange(n + 1))
        return Merged(
            SliceRuns(keys, runs.begin, runs.end, cuts, wins, keep, np.max([w.closes for w in found], axis=0)),
            Cuts(cut_at, np.zeros(len(cut_at), np.int64)),
            Wins(all_at[order], all_lo[order]),
            fused,
            order,
            peak,
        )

    def _fused(self, keys: np.ndarray, keep: np.ndarray, end: np.ndarray) -> Fused:
        """Which slices are fused, of keys that have too many. The others get new numbers, and `end` with them."""
        crowded = np.empty(len(keys), bool)
        if not _crowded(self.table.words, self.walks_first, keys, end - keep, crowded):
            return _nothing(len(keys))
        keys, low = keys[crowded], keep[crowded]
        total = end[crowded] - low
        begin = np.cumsum(total) - total  # of a key's slices among those of all keys
        stays = np.zeros(int(total.sum()), bool)
        stays[begin + total - 1] = True  # the newest slice, which may be open
        begun = []
        for walk in self.walks:
            first = walk.word(keys, F)
            which, local = stretches(first, walk.word(keys, E) - first)
            slots = walk.slots_at(keys[which], local)
            at = walk.ring.columns[1][slots].astype(np.int64) + (begin - low)[which]
            stays[at] = True
            begun.append((walk, slots, which, at))
        place = np.cumsum(stays) - 1
        place -= np.repeat(place[begin], total)  # the oldest slice of each key stays
        for walk, slots, which, at in begun:
            walk.change(slots, low[which] + place[at])
        end[crowded] = low + place[begin + total - 1] + 1
        place[~stays] = -1
        sizes = np.zeros(len(crowded) + 1, np.int64)
        sizes[1:][crowded] = total
        return Fused(np.cumsum(sizes), place)

    def fused_keys(self, merged: Merged) -> tuple[np.ndarray, np.ndarray]:
        """The keys whose slices are fused, and how many are left."""
        keys = merged.runs.key[np.diff(merged.fused.begin) > 0]
        return keys, self.table.words[keys, self.first + 1] - self.table.words[keys, self.first]

    def _remember(self, walk: WalkState, keys: np.ndarray, local: np.ndarray, shared: np.ndarray) -> None:
        """Writes the shared numbers of the walk's new slices that are still in its ring."""
        open_ = local >= walk.word(keys, F)
        k, at = keys[open_], local[open_]
        slot = walk.word(k, BASE) + (at & (walk.word(k, SIZE) - 1))
        walk.ring.columns[1][slot] = shared[open_]

    def _shared(
        self, walk: WalkState, keys: np.ndarray, run: np.ndarray, lo: np.ndarray, local: np.ndarray, cuts: np.ndarray,
        mine: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """The shared numbers of the walk's slices `lo`: of new ones as just found, of older ones from its ring."""
        found = np.empty(len(lo), np.int64)
        new = lo >= local[run]
        found[new] = mine[cuts[run[new]] + lo[new] - local[run[new]]]
        k, at = keys[run[~new]], lo[~new]
        slot = walk.word(k, BASE) + (at & (walk.word(k, SIZE) - 1))
        found[~new] = walk.ring.columns[1][slot].astype(np.int64)
        return found


def _nothing(runs: int) -> Fused:
    return Fused(np.zeros(runs + 1, np.int64), np.empty(0, np.int64))


@walker
def _crowded(words, walks, keys, total, crowded):
    """Which keys have more than twice as many slices as windows are open; whether there are any."""
    found = False
    for j in range(len(keys)):
        row, is_open = words[keys[j]], 0
        for first in walks:
            is_open += row[first + E] - row[first + F]
        crowded[j] = total[j] > 2 * is_open
        found |= crowded[j]
    return found
