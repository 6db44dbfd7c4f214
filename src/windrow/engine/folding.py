"""Partials of slices, and the answers of windows made from them: one source, plain or compiled, like the driver.

Items go into slices (`fold`). A window is a range of slices and, where it ends inside one, the partial of that slice's
items before its end: its tail, one of the `prefixes`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

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
