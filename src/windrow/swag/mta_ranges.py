"""Windows as ranges of partials through a stored tree aggregator: what queries with a store are answered by.

The window holds partials f to e of a sequence, numbered so that 0 is the first that is new: those before it are in the
window already, most of them in its store. As in `mta_batch`, a compiled loop goes on as long as the layers allow, then
Python visits the store; where more goes than the cache holds, it goes in bulk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.aggregates import max as maximum
from windrow.engine.columns import read
from windrow.engine.folding import answering
from windrow.engine.forms import Form
from windrow.swag.mta_batch import make_room, run_of

#: for `tail`: the window moves on to this range, and nobody asks for its answer, which may not exist (an overflow)
UNASKED = -2


def between(kernel: Any, form: Form) -> Callable:
    """`run(s, r, f, e, slots, lo, hi, tail, prefixes, out, valid, a, room, spare, done)`: the windows from a on.

    Window i is the partials lo[i] to hi[i], then prefixes[tail[i]] where tail[i] >= 0; `UNASKED` ones have no answer.
    It stops before a window for which `room` inserts or `spare` evictions do not suffice, and says how far it came.
    """
    insert, evict, query = kernel.insert, kernel.evict, kernel.query
    get, identity, answer = form.get, form.identity, answering(form)

    @form.whole
    def run(s, r, f, e, slots, lo, hi, tail, prefixes, out, valid, a, room, spare, done):
        for i in range(a, len(lo)):
            done[0] = i
            while e < hi[i] and room > 0:
                r = insert(s, r, get(slots, e))
                e += 1
                room -= 1
            if e < hi[i] or lo[i] - f > spare:
                return r, f, e, i, room, spare
            while f < lo[i]:
                r = evict(s, r)
                f += 1
                spare -= 1
            if tail[i] != UNASKED:
                p = identity
                if f < e:
                    p = query(s, r)
                answer(out, valid, i, p, f < e, prefixes, tail[i])
        return r, f, e, len(lo), room, spare

    return run


def answer(
    w: Any, form: Form, slots: Any, lo: np.ndarray, hi: np.ndarray, tail: np.ndarray, prefixes: Any,
    out: tuple, valid: tuple, done: np.ndarray,
) -> None:  # fmt: skip
    """Answers all windows; neither lo nor hi ever moves back. `done[0]` is the window it is at, if it raises."""
    if not form.compiled:
        _answer_plain(w, form, slots, lo, hi, tail, prefixes, out, valid, done)
        return
    w._become(form)
    run = run_of(w, "between", lambda: between(type(w).kernel(form), form))
    f, e, i = -len(w), 0, 0
    while i < len(lo):
        room = make_room(w, int(hi[-1]) - e)
        if lo[i] - f > w.spare_evictions and e >= hi[i]:
            w._refill()
            if lo[i] - f > w.spare_evictions:
                w.evict_many(int(lo[i]) - f)
                f = int(lo[i])
        spare = w.spare_evictions
        r, f, e_now, i, left, spare_left = run(
            w.s, w.r, f, e, slots, lo, hi, tail, prefixes, out, valid, i, room, spare, done
        )
        w.r = w.registers(*r)
        w.room -= room - left
        w.spare_evictions -= spare - spare_left
        w.inserted += e_now - e
        e = e_now


def _answer_plain(w, form, slots, lo, hi, tail, prefixes, out, valid, done):
    given = answering(form)
    f, e = -len(w), 0
    for i, (first, end, rest) in enumerate(zip(lo.tolist(), hi.tolist(), tail.tolist(), strict=True)):
        done[0] = i
        for at in range(e, end):
            w.insert_partial(read(slots, at))
        e = max(e, end)
        if first - f == 1:
            w.evict()
        elif first > f:
            w.evict_many(first - f)
        f = max(f, first)
        if rest != UNASKED:
            given(out, valid, i, w._query(), f < e, prefixes, rest)
    if form.journal is not None:
        form.journal.undo.clear()


class Clock:
    """Where the partials of other windows lie along a measure: how many of them come before a value.

    A window of `max` over a measure that never goes back. Its leaves are the measure itself, so those that are in
    memory are searched as an array; of what lies beyond, whole pages go unread.
    """

    aggregate = maximum()

    def __init__(self, window: Any) -> None:
        self.window = window

    def insert(self, measure: np.ndarray) -> None:
        """The newest places, sorted, none before the ones that are here."""
        if len(measure):
            self.window.insert_many(measure)

    def clear(self) -> None:
        """Drops all places."""
        if len(self.window):
            self.window.evict_many(len(self.window))

    def passed(self, floors: np.ndarray, inclusive: bool) -> np.ndarray:
        """For each floor, none below the one before: how many of all places ever inserted lie before it (or at it).

        What lies before the last floor is dropped.
        """
        w, count = self.window, np.empty(len(floors), np.int64)
        gone, i, tries = w.inserted - len(w), 0, 0
        while i < len(floors):
            if not len(w):
                count[i:] = gone
                break
            here = leaves(w)
            last = here[-1]
            j = int(np.searchsorted(floors, last, "left" if inclusive else "right"))
            if j > i:  # floors that do not pass all that is here
                found = np.searchsorted(here, floors[i:j], "right" if inclusive else "left")
                count[i:j] = gone + found
                goes, i, tries = int(found[-1]), j, 0
            elif tries < 2:
                goes, tries = len(here), tries + 1
            else:  # far behind: a search from the root, instead of page after page
                goes, tries = w.enforce(_before(floors[i].item(), inclusive)), 0
                gone += goes
                continue
            if goes:
                w.evict_many(goes)
                gone += goes
        return count


def _before(floor: Any, inclusive: bool) -> Callable[[Any, Any], bool]:
    return (lambda total, old: old <= floor) if inclusive else (lambda total, old: old < floor)


def leaves(w: Any) -> np.ndarray:
    """The oldest rows of a window of one number a partial, as far as they are in memory in one piece."""
    H, T, a, e = w._marks(0)
    if a > H:
        at = np.arange(H, e) & (w.cache - 1)
    else:
        at = w.cache + (np.arange(H, T) & (2 * w.cache - 1))
    if isinstance(w.s.vals, list):
        return np.array([w.s.vals[i] for i in at.tolist()])
    return w.s.vals[0][at]
