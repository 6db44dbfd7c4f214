"""Partials of slices, and the answers of windows made from them: one source, plain or compiled, like the driver.

Items go into slices (`fold`), slices into windows: by a window algorithm where both ends only move on (`fifo`), by a
tree over all slices (`ranges`), by jumps over slices (`fit`) or by going through them (`lazy`) where they do not. A
window is a range of slices and, where it ends inside one, the partial of that slice's items before its end: its tail,
one of the `prefixes`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from windrow.engine.forms import Form


def fold(form: Form) -> Callable:
    """`run(columns, masks, source, kept, cuts, stops, slices, prefixes)`, one combine an item but the first of a slice.

    Item i is row source[i] of the columns, or, where that is negative, the partial kept[~source[i]]; with an empty
    `source` it is row i. Slice j holds the items cuts[j] to cuts[j + 1]; `stops` are sorted positions inside slices,
    and prefixes[q] becomes the partial of the slice's items before stops[q].
    """
    combine, identity, get, put, lift_at = form.combine, form.identity, form.get, _put(form), form.lift_at

    @form.whole
    def item(columns, masks, source, kept, i):
        at = source[i]
        if at >= 0:
            p = lift_at(columns, masks, at)
        else:
            p = get(kept, ~at)
        return p

    @form.whole
    def mixed(columns, masks, source, kept, p, a, z):
        while a < z:  # two loops, because one that chooses at each item takes ten times as long
            while a < z and source[a] < 0:
                p = combine(p, get(kept, ~source[a]))
                a += 1
            while a < z and source[a] >= 0:
                p = combine(p, lift_at(columns, masks, source[a]))
                a += 1
        return p

    @form.whole
    def rows(columns, masks, p, a, z):
        for i in range(a, z):
            p = combine(p, lift_at(columns, masks, i))
        return p

    @form.whole
    def run(columns, masks, source, kept, cuts, stops, slices, prefixes):
        straight = len(source) == 0
        q = 0
        for j in range(len(cuts) - 1):
            a, end = cuts[j], cuts[j + 1]
            p = identity
            if a < end:
                if straight:
                    p = lift_at(columns, masks, a)
                else:
                    p = item(columns, masks, source, kept, a)
                a += 1
            while a <= end:
                inside = q < len(stops) and stops[q] < end
                z = stops[q] if inside else end
                if straight:
                    p = rows(columns, masks, p, a, z)
                else:
                    p = mixed(columns, masks, source, kept, p, a, z)
                if inside:
                    put(prefixes, q, p)
                    q += 1
                    a = z
                else:
                    a = end + 1
            put(slices, j, p)

    return run


def fifo(kernel: Any, form: Form) -> Callable:
    """`run(s, r, slots, lo, hi, tail, prefixes, out, valid, done)`: windows through an algorithm that starts empty.

    Window i is the slices lo[i] to hi[i], neither of which ever moves back, then prefixes[tail[i]] where tail[i] >= 0.
    `done[0]` counts the answers given, so that an error can name its window.
    """
    clear, insert, evict, query = kernel.clear, kernel.insert, kernel.evict, kernel.query
    get, identity, answer = form.get, form.identity, answering(form)

    @form.whole
    def run(s, r, slots, lo, hi, tail, prefixes, out, valid, done):
        f = e = 0
        for i in range(len(lo)):
            done[0] = i
            if lo[i] >= e:  # nothing of the window is left, and what lies between is not wanted
                r = clear(s)
                f = e = lo[i]
            while f < lo[i]:
                r = evict(s, r)
                f += 1
            while e < hi[i]:
                r = insert(s, r, get(slots, e))
                e += 1
            p = identity
            if f < e:
                p = query(s, r)
            answer(out, valid, i, p, f < e, prefixes, tail[i])
        done[0] = len(lo)
        return r

    return run


def ranges(form: Form) -> Callable:
    """`run(slots, tree, lo, hi, tail, prefixes, out, valid, done)`: any ranges of slices, at most 2 log2 combines each.

    `tree` has room for one partial less than there are slices; it is filled here, level by level: first the slices two
    by two, then these two by two. Where a level is odd its last one has no parent, so that no node spans a gap.
    """
    identity, get, put, answer = form.identity, form.get, _put(form), answering(form)
    combine = _called(form)

    @form.whole
    def node(slots, tree, offset, i):
        if offset < 0:  # the slices themselves
            p = get(slots, i)
        else:
            p = get(tree, offset + i)
        return p

    @form.whole
    def build(slots, tree, count):
        below, offset = -1, 0
        while count > 1:
            count >>= 1
            for i in range(count):
                older = node(slots, tree, below, 2 * i)
                put(tree, offset + i, combine(older, node(slots, tree, below, 2 * i + 1)))
            below = offset
            offset += count

    @form.whole
    def between(slots, tree, count, a, z):
        """Slices a to z, a < z: what lies at both edges level by level, then the two sides."""
        left = right = identity
        has_left = has_right = False
        level, above = -1, 0
        while a < z:
            if a & 1:
                p = node(slots, tree, level, a)
                left = combine(left, p) if has_left else p
                has_left = True
                a += 1
            if z & 1 and a < z:
                z -= 1
                p = node(slots, tree, level, z)
                right = combine(p, right) if has_right else p
                has_right = True
            a >>= 1
            z >>= 1
            count >>= 1
            level = above
            above += count
        if has_left and has_right:
            left = combine(left, right)
        elif has_right:
            left = right
        return left

    @form.whole
    def run(slots, tree, lo, hi, tail, prefixes, out, valid, done):
        most = 0
        for i in range(len(hi)):
            most = max(most, hi[i])
        build(slots, tree, most)
        for i in range(len(lo)):
            done[0] = i
            p = identity
            if lo[i] < hi[i]:
                p = between(slots, tree, most, lo[i], hi[i])
            answer(out, valid, i, p, lo[i] < hi[i], prefixes, tail[i])
        done[0] = len(lo)

    return run


def fit(form: Form) -> Callable:
    """`run(slots, sums, links, order, lo, hi, tail, prefixes, out, valid, done)`: FlatFIT (paper 5) for known ranges.

    The windows are taken in this `order`, by the slice at which they end and, of those that end together, the longest
    first. `sums` and `links` have room for all slices: sums[i] is the aggregate of the slices i to links[i]. A window
    follows the links from its first slice to its end, and leaves each slice that it came by leading there at once. All
    windows have told where they end, so there are no appends, and a window's own first slice is kept up, too.
    """
    identity, get, put, answer = form.identity, form.get, _put(form), answering(form)
    combine = _called(form)

    @form.whole
    def between(sums, links, a, z):
        before = i = a
        after = links[i]
        while after < z:  # the way back is kept in the links
            links[i] = before
            before, i = i, after
            after = links[i]
        p = get(sums, i)
        while i != a:
            i = before
            before = links[i]
            p = combine(get(sums, i), p)
            put(sums, i, p)
            links[i] = z
        return p

    @form.whole
    def run(slots, sums, links, order, lo, hi, tail, prefixes, out, valid, done):
        for i in range(len(links)):
            put(sums, i, get(slots, i))
            links[i] = i + 1
        for i in order:
            done[0] = i
            p = identity
            if lo[i] < hi[i]:
                p = between(sums, links, lo[i], hi[i])
            answer(out, valid, i, p, lo[i] < hi[i], prefixes, tail[i])
        done[0] = len(lo)

    return run


def lazy(form: Form) -> Callable:
    """The same as `ranges` without a tree (`tree` may be empty): each range from its first slice to its last."""
    combine, identity, get, answer = form.combine, form.identity, form.get, answering(form)

    @form.whole
    def run(slots, tree, lo, hi, tail, prefixes, out, valid, done):
        for i in range(len(lo)):
            done[0] = i
            p = identity
            if lo[i] < hi[i]:
                p = get(slots, lo[i])
                for j in range(lo[i] + 1, hi[i]):
                    p = combine(p, get(slots, j))
            answer(out, valid, i, p, lo[i] < hi[i], prefixes, tail[i])
        done[0] = len(lo)

    return run


def _put(form: Form) -> Callable:
    """`put` without a journal: what is written here is new, and nobody needs it back."""
    return form.put if form.compiled else operator.setitem


def _called(form: Form) -> Callable:
    """`combine` as a function that is called, not copied to each place that needs it: it compiles in half the time."""
    if not form.compiled:
        return form.combine
    inlined = form.combine

    @form.whole
    def combine(older, newer):
        return inlined(older, newer)

    return combine


def answering(form: Form) -> Callable:
    """(out, valid, i, p, some, prefixes, tail): stores window i's answer: p where there is `some`, then its tail."""
    combine, get, store, mark = form.combine, form.get, form.store, form.mark

    @form.whole
    def given(out, valid, i, p, some, prefixes, tail):
        if tail >= 0:
            rest = get(prefixes, tail)
            p = combine(p, rest) if some else rest
        if some or tail >= 0:
            store(out, i, p)
            mark(valid, i, p)
        else:
            for there in valid:
                there[i] = False

    def given_to_objects(out, valid, i, p, some, prefixes, tail):
        if not some and tail < 0:  # no rows at all: not every aggregate has None for an answer
            store(out, i, form.identity)
        given(out, valid, i, p, some, prefixes, tail)

    return given if form.compiled else given_to_objects
