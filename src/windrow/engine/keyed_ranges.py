"""Loops for several windows by row over one ring of rows: one FlatFIT answers all their ranges (paper 5).

The windows end at the same row, so they differ in where they begin. They are asked from the longest to the shortest,
which is what FlatFIT's count of combines rests on (`swag.flat_fit`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.engine.forms import Form
from windrow.engine.keyed_access import SPARE, Access
from windrow.engine.keyed_loops import empty_window


def ranges_answered(form: Form, traverse: Callable[[], Callable]) -> Callable:
    """(s, r, e, lo, n, i, out, valid): the windows of row i, of which the j-th begins with row lo[j * n + i]."""
    answer, no_rows = traverse(), empty_window(form)
    store, mark = form.store, form.mark

    @form.jit
    def answered(s, r, e, lo, n, i, out, valid):
        for w in range(i, len(lo), n):
            if lo[w] >= e:
                no_rows(out, valid, w)
            else:
                total = answer(s, r.E - (e - lo[w]), r.E)
                store(out, w, total)
                mark(valid, w, total)

    return answered


def by_ranges(form: Form, kernel: Any, access: Access, traverse: Callable[[], Callable]) -> Callable:
    """`run(state, runs, lo, hi, columns, masks, out, valid, at)`: as `keyed_loops.by_row`, for several windows.

    `lo` is that of all windows, one behind the other, the longest first; so are the answers.
    """
    clear, insert, evict = kernel.clear, kernel.insert, kernel.evict
    lift, answered = form.lift_at, ranges_answered(form, traverse)
    opened, load, save, store_of, full = access

    @form.whole
    def run(state, runs, lo, hi, columns, masks, out, valid, at):
        state = opened(state)
        u, i, n = at[0], at[1], len(hi)
        while u < len(runs.key):
            k = runs.key[u]
            s = store_of(state, k)
            f, e, o, p, r = load(state, k)
            if i < 0:
                i = runs.begin[u]
            shift = runs.begin[u] - runs.first[u]
            while i < runs.end[u]:
                if full(s, 3 * (hi[i] - lo[i]) + len(lo) // n * SPARE):
                    save(state, k, f, e, o, p, r)
                    at[0], at[1] = u, i
                    return False
                at[1] = i
                if lo[i] >= e:  # nothing of the longest window is left, and what lies between is not wanted
                    if f < e:
                        r = clear(s)
                    f = e = lo[i]
                while f < lo[i]:
                    r = evict(s, r)
                    f += 1
                while e < hi[i]:
                    r = insert(s, r, lift(columns, masks, e + shift))
                    e += 1
                answered(s, r, e, lo, n, i, out, valid)
                i += 1
            save(state, k, f, e, o, p, r)
            u += 1
            i = -1
        at[0] = u
        return True

    return run


def by_ranges_waiting(
    form: Form, kernel: Any, access: Access, traverse: Callable[[], Callable], queue: Any, queue_access: Access
) -> Callable:
    """The same where rows wait, as in `keyed_loops.by_row_waiting`."""
    clear, insert, evict = kernel.clear, kernel.insert, kernel.evict
    queue_insert, queue_evict = queue.insert, queue.evict
    lift, get, answered = form.lift_at, form.get, ranges_answered(form, traverse)
    opened, load, save, store_of, full = access
    queue_opened, queue_load, queue_save, queue_store, queue_full = queue_access

    @form.whole
    def run(state, waits, runs, lo, hi, columns, masks, out, valid, at):
        state = opened(state)
        waits = queue_opened(waits)
        u, i, n = at[0], at[1], len(hi)
        while u < len(runs.key):
            k = runs.key[u]
            s, q = store_of(state, k), queue_store(waits, k)
            f, e, o, p, r = load(state, k)
            qf, qe, qo, qp, qr = queue_load(waits, k)  # rows qf to qe wait
            if i < 0:
                i = runs.begin[u]
            while i < runs.end[u]:
                if full(s, 3 * (qe - f + SPARE) + len(lo) // n * SPARE) or queue_full(q, SPARE):
                    save(state, k, f, e, o, p, r)
                    queue_save(waits, k, qf, qe, qo, qp, qr)
                    at[0], at[1] = u, i
                    return False
                at[1] = i
                qr = queue_insert(q, qr, lift(columns, masks, i))
                qe += 1
                if lo[i] >= e:
                    if f < e:
                        r = clear(s)
                    f = e = lo[i]
                while qf < e:  # rows that are in no window at all
                    qr = queue_evict(q, qr)
                    qf += 1
                while f < lo[i]:
                    r = evict(s, r)
                    f += 1
                while e < hi[i]:
                    r = insert(s, r, get(q.vals, qr.F & q.mask))
                    qr = queue_evict(q, qr)
                    qf += 1
                    e += 1
                answered(s, r, e, lo, n, i, out, valid)
                i += 1
            save(state, k, f, e, o, p, r)
            queue_save(waits, k, qf, qe, qo, qp, qr)
            u += 1
            i = -1
        at[0] = u
        return True

    return run
