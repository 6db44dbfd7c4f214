"""The loops that take the rows of a step through the windows of their keys: one source, plain or compiled.

A step's rows are sorted by key. `runs` are the keys' stretches of them (some may be empty): `key`, `begin`, `end`. What
windows do there was found before (`windows.*.walk`) and comes as positions: before row `cut_at` a slice begins, before
row `win_at` a window is answered.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from windrow.engine.columns import accessors
from windrow.engine.driver import empty_window
from windrow.engine.forms import Form
from windrow.engine.kernel import once
from windrow.engine.keyed_access import SPARE, Access

#: stretches of rows by key; the first of each run's cuts and windows (one entry more than runs); the first slice
#: that is needed after it; 1 where the open slice is complete when the run ends
Runs = namedtuple("Runs", "key begin end cuts wins keep closes")
#: cut c is before row at[c]; of the slices, those from number keep[c] on are still needed
Cuts = namedtuple("Cuts", "at keep")
#: window w is answered before row at[w], from slice number lo[w] on
Wins = namedtuple("Wins", "at lo")
#: after run u, place[begin[u] + j] is the new place of the j-th oldest slice, or below 0: it is fused with the one
#: before it. The newest slice always stays. Where begin[u] is begin[u + 1], all slices stay
Fused = namedtuple("Fused", "begin place")


#: what comes next in a run: it is over, a slice begins, a window is answered
END, CUT, WINDOW = 0, 1, 2


def slice_at(form: Form) -> Callable:
    """`lift_at` for slices that were folded elsewhere: the columns are their partials."""
    if not form.compiled:
        return lambda partials, masks, i: partials[i]
    assert form.dtypes is not None
    width = len(form.dtypes)

    def make() -> Callable:
        get = form.jit(accessors(width)[0])

        def lift_at(columns, masks, i):
            return get(columns, i)

        return form.jit(lift_at)

    return once(form.memo, "slice at", make)


def sliced(form: Form, kernel: Any, access: Access, lift: Callable) -> Callable:
    """`run(state, runs, cuts, wins, columns, masks, out, valid, at)`: slices of rows, and windows of slices.

    Paper 3, Alg. 1: rows go into the open slice; where the next one begins it goes into the algorithm. `at` is where
    the loop goes on, [run, row, cut, window], and where it stopped when it returns False: the log is full.
    """
    clear, insert, evict, query = kernel.clear, kernel.insert, kernel.evict, kernel.query
    combine, identity = form.combine, form.identity
    store, mark = form.store, form.mark
    opened, load, save, store_of, full = access

    @form.whole
    def run(state, runs, cuts, wins, columns, masks, out, valid, at):
        state = opened(state)
        u, i, c, w = at[0], at[1], at[2], at[3]
        while u < len(runs.key):
            k = runs.key[u]
            s = store_of(state, k)
            f, e, o, p, r = load(state, k)
            if i < 0:
                i = runs.begin[u]
            last_cut, last_win = runs.cuts[u + 1], runs.wins[u + 1]
            what = CUT
            while what != END:
                at[3] = w  # an error names the window that was being filled
                if full(s, e - f + SPARE):
                    break
                # each operation of the algorithm is called at one place: the loop is compiled in half the time
                what, z, lo = END, runs.end[u], runs.keep[u]
                if c < last_cut:
                    what, z, lo = CUT, cuts.at[c], cuts.keep[c]
                if w < last_win and wins.at[w] <= z:
                    what, z, lo = WINDOW, wins.at[w], wins.lo[w]
                if o != 0:
                    for j in range(i, z):
                        p = combine(p, lift(columns, masks, j))
                i = z
                if lo < e:
                    while f < lo:
                        r = evict(s, r)
                        f += 1
                else:
                    if f < e:
                        r = clear(s)
                    f = e
                if what == WINDOW:
                    answer = p
                    if f < e:
                        answer = query(s, r)
                        if o != 0:
                            answer = combine(answer, p)
                    store(out, w, answer)
                    mark(valid, w, answer)
                    w += 1
                elif what == CUT:  # row i begins a slice
                    if o != 0:
                        if lo <= e:
                            r = insert(s, r, p)
                        else:
                            f += 1
                        e += 1
                    p = lift(columns, masks, i)
                    o = 1
                    i += 1
                    c += 1
                elif o != 0 and lo > e:  # nobody needs the open slice
                    o = 0
                    p = identity
                    e += 1
                    f = e
            save(state, k, f, e, o, p, r)
            if what != END:
                at[0], at[1], at[2], at[3] = u, i, c, w
                return False
            u += 1
            i = -1
        at[0] = u
        return True

    return run


#: stretches of rows by key, the number of each run's first row, and the first row that is needed after it
RowRuns = namedtuple("RowRuns", "key begin end first keep")


def by_row(form: Form, kernel: Any, access: Access) -> Callable:
    """`run(state, runs, lo, hi, columns, masks, out, valid, at)`: for each row the window of rows lo[i] to hi[i].

    `hi[i]` is behind row i, so that no row waits. `at` is [run, row].
    """
    clear, insert, evict, query = kernel.clear, kernel.insert, kernel.evict, kernel.query
    lift, no_rows = form.lift_at, empty_window(form)
    store, mark = form.store, form.mark
    opened, load, save, store_of, full = access

    @form.whole
    def run(state, runs, lo, hi, columns, masks, out, valid, at):
        state = opened(state)
        u, i = at[0], at[1]
        while u < len(runs.key):
            k = runs.key[u]
            s = store_of(state, k)
            f, e, o, p, r = load(state, k)
            if i < 0:
                i = runs.begin[u]
            shift = runs.begin[u] - runs.first[u]
            while i < runs.end[u]:
                if full(s, e - f + SPARE + hi[i] - e):
                    save(state, k, f, e, o, p, r)
                    at[0], at[1] = u, i
                    return False
                at[1] = i
                if lo[i] >= e:  # nothing of the window is left, and what lies between is not wanted
                    if f < e:
                        r = clear(s)
                    f = e = lo[i]
                while f < lo[i]:
                    r = evict(s, r)
                    f += 1
                while e < hi[i]:
                    r = insert(s, r, lift(columns, masks, e + shift))
                    e += 1
                if f == e:
                    no_rows(out, valid, i)
                else:
                    answer = query(s, r)
                    store(out, i, answer)
                    mark(valid, i, answer)
                i += 1
            save(state, k, f, e, o, p, r)
            u += 1
            i = -1
        at[0] = u
        return True

    return run


def by_row_waiting(form: Form, kernel: Any, access: Access, queue: Any, queue_access: Access) -> Callable:
    """The same where rows wait: row i is in no window before a later row comes. Those that wait are in a queue."""
    clear, insert, evict, query = kernel.clear, kernel.insert, kernel.evict, kernel.query
    queue_insert, queue_evict = queue.insert, queue.evict
    lift, get, no_rows = form.lift_at, form.get, empty_window(form)
    store, mark = form.store, form.mark
    opened, load, save, store_of, full = access
    queue_opened, queue_load, queue_save, queue_store, queue_full = queue_access

    @form.whole
    def run(state, waits, runs, lo, hi, columns, masks, out, valid, at):
        state = opened(state)
        waits = queue_opened(waits)
        u, i = at[0], at[1]
        while u < len(runs.key):
            k = runs.key[u]
            s, q = store_of(state, k), queue_store(waits, k)
            f, e, o, p, r = load(state, k)
            qf, qe, qo, qp, qr = queue_load(waits, k)  # rows qf to qe wait
            if i < 0:
                i = runs.begin[u]
            while i < runs.end[u]:
                if full(s, qe - f + 2 * SPARE) or queue_full(q, SPARE):
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
                if f == e:
                    no_rows(out, valid, i)
                else:
                    answer = query(s, r)
                    store(out, i, answer)
                    mark(valid, i, answer)
                i += 1
            save(state, k, f, e, o, p, r)
            queue_save(waits, k, qf, qe, qo, qp, qr)
            u += 1
            i = -1
        at[0] = u
        return True

    return run


#: stretches of rows by key; rows before `fresh` are taken in without a policy
PolicyRuns = namedtuple("PolicyRuns", "key begin end fresh")
#: how `by_policy` ends: it is done, or there is no room in the log, or none for a row more in the key's window
DONE, NO_LOG, NO_ROOM = 0, 1, 2


def by_policy(form: Form, kernel: Any, access: Access, view: Callable, goes: Callable) -> Callable:
    """`run(state, runs, columns, masks, out, valid, lo, at)`: for each row the first row of its window, lo[i].

    Paper 4 §4.1.4: insert, then enforce the slide policy. `view(partial, out, valid)` is what a policy sees of a
    partial; `goes((total, out, valid), old)` whether an oldest part goes. `at` is [run, row].
    """
    insert, query, size, enforce = kernel.insert, kernel.query, kernel.size, kernel.policed(goes)
    lift = form.lift_at
    opened, load, save, store_of, full = access

    @form.whole
    def run(state, runs, columns, masks, out, valid, lo, at):
        state = opened(state)
        u, i = at[0], at[1]
        while u < len(runs.key):
            k = runs.key[u]
            s = store_of(state, k)
            f, e, o, p, r = load(state, k)
            if i < 0:
                i = runs.begin[u]
            while i < runs.end[u]:
                how = DONE
                if size(r) > s.mask:
                    how = NO_ROOM
                elif full(s, 4 * (r.h + 3) * (r.h + 3)):  # log2 n single evictions, each with a write or two a level
                    how = NO_LOG
                if how != DONE:
                    save(state, k, f, e, o, p, r)
                    at[0], at[1] = u, i
                    return how
                at[1] = i
                r = insert(s, r, lift(columns, masks, i))
                e += 1
                if i >= runs.fresh[u]:
                    r = enforce(s, r, (view(query(s, r), out, valid), out, valid))
                f = e - size(r)
                lo[i] = f
                i += 1
            save(state, k, f, e, o, p, r)
            u += 1
            i = -1
        at[0] = u
        return DONE

    return run


def shared(
    form: Form, kernel: Any, access: Access, lift: Callable, flat_fit: Callable[[], tuple[Callable, Callable]]
) -> Callable:
    """`run(state, runs, cuts, wins, fused, columns, masks, out, valid, at)`: as `sliced`, many windows over one ring.

    `flat_fit()` gives `answer(s, start, end)` (paper 5), the aggregate of the slices from position `start` on, and
    `fuse`. Windows that are answered at one place come longest first. Slices go, or are fused, when a run is over.
    """
    insert, evict, (answer, fuse) = kernel.insert, kernel.evict, flat_fit()
    combine = form.combine
    store, mark = form.store, form.mark
    opened, load, save, store_of, full = access

    @form.whole
    def run(state, runs, cuts, wins, fused, columns, masks, out, valid, at):
        state = opened(state)
        u, i, c, w = at[0], at[1], at[2], at[3]
        while u < len(runs.key):
            k = runs.key[u]
            s = store_of(state, k)
            f, e, o, p, r = load(state, k)
            if i < 0:
                i = runs.begin[u]
            end, last_cut, last_win = runs.end[u], runs.cuts[u + 1], runs.wins[u + 1]
            what = CUT
            while what != END:
                at[3] = w  # an error names the window that was being filled
                if full(s, 2 * (e - f) + SPARE):
                    break
                what, z = END, end
                if c < last_cut:
                    what, z = CUT, cuts.at[c]
                if w < last_win and wins.at[w] <= z:
                    what, z = WINDOW, wins.at[w]
                if o != 0:
                    for j in range(i, z):
                        p = combine(p, lift(columns, masks, j))
                i = z
                whole = what == CUT
                if what == WINDOW:  # a slice that is complete is in all ranges, and need not be added to each
                    whole = cuts.at[c] == i if c < last_cut else i == end and runs.closes[u] != 0
                if o != 0 and whole:
                    r = insert(s, r, p)
                    e += 1
                    o = 0
                if what == WINDOW:
                    total = p
                    if wins.lo[w] < e:
                        total = answer(s, r.E - (e - wins.lo[w]), r.E)
                        if o != 0:
                            total = combine(total, p)
                    store(out, w, total)
                    mark(valid, w, total)
                    w += 1
                elif what == CUT:  # row i begins a slice
                    p = lift(columns, masks, i)
                    o = 1
                    i += 1
                    c += 1
            if what == END:
                keep = runs.keep[u]
                while f < e and f < keep:
                    r = evict(s, r)
                    f += 1
                if o != 0 and keep > e:  # nobody needs the open slice
                    o = 0
                    e += 1
                    f = e
                newest = fused.begin[u + 1] - 1
                if fused.begin[u] <= newest:
                    at[3] = len(wins.at)  # an error is of no window in particular
                    count = fused.place[newest] if o != 0 else fused.place[newest] + 1  # an open one is not in the ring
                    r = fuse(s, r, fused.place, fused.begin[u], count)
                    e = f + count
            save(state, k, f, e, o, p, r)
            if what != END:
                at[0], at[1], at[2], at[3] = u, i, c, w
                return False
            u += 1
            i = -1
        at[0] = u
        return True

    return run
