"""The loop that answers rows that ask, over the windows that a live query keeps: one source, plain or compiled.

It moves a key's window from ask to ask as it would from row to row: rows leave, and rows come in that are not in it
yet. Those wait in the window's queue, or are given as columns. The caller takes back all that it does.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from windrow.engine.driver import empty_window
from windrow.engine.forms import Form
from windrow.engine.keyed_access import SPARE, Access

#: stretches of asks by key; row number first[u] of the key is at rows[u] in the columns, and so on from there
AskRuns = namedtuple("AskRuns", "key begin end first rows")


def newest(form: Form, kernel: Any) -> Callable:
    """(s, r, e, lo, n, i, out, valid): the answer of the window as it is, for one window with a ring of its own."""
    query, no_rows, store, mark = kernel.query, empty_window(form), form.store, form.mark

    @form.jit
    def answered(s, r, e, lo, n, i, out, valid):
        if lo[i] >= e:
            no_rows(out, valid, i)
        else:
            answer = query(s, r)
            store(out, i, answer)
            mark(valid, i, answer)

    return answered


def by_ask(form: Form, kernel: Any, access: Access, answered: Callable[[], Callable]) -> Callable:
    """`run(state, runs, lo, hi, columns, masks, out, valid, at)`: for each ask the window of rows lo[i] to hi[i].

    `at` is [run, ask]. Several windows that share a ring are one behind the other in `lo`, the longest first.
    """
    clear, insert, evict, lift, answer = kernel.clear, kernel.insert, kernel.evict, form.lift_at, answered()
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
            shift = runs.rows[u] - runs.first[u]
            while i < runs.end[u]:
                if full(s, 3 * (hi[i] - f) + len(lo) // n * SPARE):
                    save(state, k, f, e, o, p, r)
                    at[0], at[1] = u, i
                    return False
                at[1] = i
                if lo[i] >= e:
                    if f < e:
                        r = clear(s)
                    f = e = lo[i]
                while f < lo[i]:
                    r = evict(s, r)
                    f += 1
                while e < hi[i]:
                    r = insert(s, r, lift(columns, masks, e + shift))
                    e += 1
                answer(s, r, e, lo, n, i, out, valid)
                i += 1
            save(state, k, f, e, o, p, r)
            u += 1
            i = -1
        at[0] = u
        return True

    return run


def by_ask_waiting(
    form: Form, kernel: Any, access: Access, answered: Callable[[], Callable], queue_access: Access
) -> Callable:
    """The same where the newest rows wait in a queue, which stays as it is."""
    clear, insert, evict, lift, answer = kernel.clear, kernel.insert, kernel.evict, form.lift_at, answered()
    get = form.get
    opened, load, save, store_of, full = access
    queue_opened, queue_load, _, queue_store, _ = queue_access

    @form.whole
    def run(state, waits, runs, lo, hi, columns, masks, out, valid, at):
        state = opened(state)
        waits = queue_opened(waits)
        u, i, n = at[0], at[1], len(hi)
        while u < len(runs.key):
            k = runs.key[u]
            s, q = store_of(state, k), queue_store(waits, k)
            f, e, o, p, r = load(state, k)
            qf, qe, _o, _p, qr = queue_load(waits, k)  # rows qf to qe wait
            if i < 0:
                i = runs.begin[u]
            shift = runs.rows[u] - runs.first[u]
            while i < runs.end[u]:
                if full(s, 3 * (hi[i] - f) + len(lo) // n * SPARE):
                    save(state, k, f, e, o, p, r)
                    at[0], at[1] = u, i
                    return False
                at[1] = i
                if lo[i] >= e:
                    if f < e:
                        r = clear(s)
                    f = e = lo[i]
                while f < lo[i]:
                    r = evict(s, r)
                    f += 1
                while e < hi[i] and e < qe:
                    r = insert(s, r, get(q.vals, (qr.F + e - qf) & q.mask))
                    e += 1
                while e < hi[i]:
                    r = insert(s, r, lift(columns, masks, e + shift))
                    e += 1
                answer(s, r, e, lo, n, i, out, valid)
                i += 1
            save(state, k, f, e, o, p, r)
            u += 1
            i = -1
        at[0] = u
        return True

    return run
