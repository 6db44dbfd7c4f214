"""Partials of slices, and the answers of windows made from them: one source, plain or compiled, like the driver.

Items go into slices (`fold`). A window is a range of slices and, where it ends inside one, the partial of that slice's
items before its end: its tail, one of the `prefixes`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

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


#: so many rows of a slice are worth four sums side by side: a sum waits for the one before it, four do not
LONG = 64
FOUR = np.uint64(4)


def fold_sorted(form: Form, commutative: bool) -> Callable:
    """`run(columns, masks, cuts, slices)`: slice j holds the rows cuts[j] to cuts[j + 1]. None is empty."""
    combine, put, lift_at = form.combine, _put(form), form.lift_at
    fold_four, four = _four(form, commutative), form.compiled

    @form.whole
    def run(columns, masks, cuts, slices):
        for j in range(len(cuts) - 1):
            a, z = cuts[j], cuts[j + 1]
            if not four or z - a < LONG:
                p = lift_at(columns, masks, a)
                for i in range(a + 1, z):
                    p = combine(p, lift_at(columns, masks, i))
            else:
                p = fold_four(columns, masks, a, z)
            put(slices, j, p)

    return run


def _four(form: Form, commutative: bool) -> Callable:
    """(columns, masks, a, z): the partial of rows a to z, at least four, from four sums side by side.

    Where rows may be combined in any order, each takes every fourth row: four neighbours at a time are vector code.
    Otherwise each takes a quarter of the rows.
    """
    combine, lift_at = form.combine, form.lift_at

    @form.whole
    def fold_four(columns, masks, a, z):
        n = np.uint64((z - a) >> 2)
        apart, step = n, np.uint64(1)
        if commutative:
            apart, step = np.uint64(1), FOUR
        a0 = np.uint64(a)
        a1, a2, a3 = a0 + apart, a0 + apart + apart, a0 + apart + apart + apart
        p0, p1, p2, p3 = (
            lift_at(columns, masks, a0), lift_at(columns, masks, a1), lift_at(columns, masks, a2),
            lift_at(columns, masks, a3),
        )  # fmt: skip
        for i in range(np.uint64(1), n):
            at = i * step
            p0 = combine(p0, lift_at(columns, masks, a0 + at))
            p1 = combine(p1, lift_at(columns, masks, a1 + at))
            p2 = combine(p2, lift_at(columns, masks, a2 + at))
            p3 = combine(p3, lift_at(columns, masks, a3 + at))
        p = combine(combine(p0, p1), combine(p2, p3))
        for i in range(a0 + FOUR * n, np.uint64(z)):
            p = combine(p, lift_at(columns, masks, i))
        return p

    return fold_four


def fold_mixed(form: Form) -> Callable:
    """`run(columns, masks, slice_of, slices)`: row i goes into slice slice_of[i]; slices are numbered as they begin."""
    combine, get, put, lift_at = form.combine, form.get, _put(form), form.lift_at

    @form.whole
    def run(columns, masks, slice_of, slices):
        count = 0
        for i in range(np.uint64(len(slice_of))):
            j = slice_of[i]
            p = lift_at(columns, masks, i)
            if j < count:
                p = combine(get(slices, j), p)
            else:
                count += 1
            put(slices, j, p)

    return run


def _put(form: Form) -> Callable:
    """`put` without a journal: what is written here is new, and nobody needs it back."""
    return form.put if form.compiled else operator.setitem


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
