"""One ring of slices for many windows (papers 3 and 5): cut where any of them begins, answered by one FlatFIT.

Each window's own walk numbers its slices for itself. Here these numbers become those of the shared slices: the walk's
ring has a place for it beside each slice that is open.

A window with a ring of its own never has more slices than windows are open: a slice begins where a window begins, and
windows end in the order in which they began. A shared ring can have more. A slice that was begun for a short window is
kept until the longest window is past it, though nobody needs it apart from its neighbour any more. FlatFIT cannot fuse
the two in constant time: partials before them may have the slice in them already, with a pointer to behind it, and
nothing tells which do. To hold the newest slice back until it is known whether it stays would be one more combine for
each result. So there are as many slices as edges lie in the longest window (`windows.sliding.Composite.held`, which
`explain()` shows), and for that no row is folded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from windrow.engine.keyed_loops import Cuts, Wins
from windrow.engine.keyed_loops import Runs as SliceRuns
from windrow.engine.table import Table
from windrow.engine.walking import BASE, SIZE, E, F, Runs, Walked, WalkState


class Merged(NamedTuple):
    """What the walks of all windows found, as one."""

    runs: SliceRuns
    cuts: Cuts
    wins: Wins
    order: np.ndarray  # the windows in the order in which they are answered, as places in those of all walks
    peak: np.ndarray


class SharedRing:
    """How many slices a key's ring has had."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.first = table.add([0, 0])  # slices from the first word on are needed, the second is the next one's number

    def slices(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each key the first slice that is needed, and the number of the next."""
        return self.table.words[keys, self.first], self.table.words[keys, self.first + 1]

    def merged(self, walks: Sequence[WalkState], found: Sequence[Walked], runs: Runs) -> Merged:
        """The cuts and windows of all walks by the numbers of shared slices."""
        words, keys, n = self.table.words, runs.key, len(runs.key)
        needed, begin = words[keys, self.first], words[keys, self.first + 1]
        cut_at, shared_of = np.unique(np.concatenate([walked.cut_at for walked in found]), return_inverse=True)
        cuts = np.searchsorted(cut_at, runs.begin)
        cuts = np.append(cuts, len(cut_at))
        number = begin - cuts[:-1]  # of a cut, less its place
        at, lo, start = [], [], 0
        keep = np.full(n, np.iinfo(np.int64).max)
        for walk, walked in zip(walks, found, strict=True):
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
        words[keys, self.first], words[keys, self.first + 1] = keep, end
        all_at, all_lo = np.concatenate(at), np.concatenate(lo)
        order = np.lexsort((all_lo, all_at))
        # windows of a run lie behind its last row: runs without rows are told apart by their key
        wins_run = np.concatenate([np.repeat(np.arange(n), np.diff(walked.wins)) for walked in found])
        if n > 1:
            order = np.lexsort((all_lo, all_at, wins_run))
        wins = np.searchsorted(wins_run[order], np.arange(n + 1))
        peak = end - needed
        return Merged(
            SliceRuns(keys, runs.begin, runs.end, cuts, wins, keep, np.max([w.closes for w in found], axis=0)),
            Cuts(cut_at, np.zeros(len(cut_at), np.int64)),
            Wins(all_at[order], all_lo[order]),
            order,
            peak,
        )

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
