"""Windows of a few rows over a whole array, where blocks (`blocks`) would spend their time on their ends.

Two ways, both free of long chains of combines. `doubling`, for aggregates that select one of their arguments (min, max,
max_by ...): the best of 1, 2, 4 ... neighbours, two of which cover a window even if they overlap. It is all vector
code. `lockstep`, for all others: many blocks of w rows side by side, each with its own chain. (Doubling would take
popcount(w) steps more for them; measured for mean and stddev, it takes 1.5x the time.)

Either answers the rows b to z, given in S the w-1 partials before b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.engine.columns import allocate
from windrow.engine.forms import Form

#: windows of fewer rows are short
SHORT = 32
#: rows that are answered at a time: their partials stay in the first-level cache
CHUNK = 256
ZERO, ONE = np.uint64(0), np.uint64(1)


def scratch(form: Form, w: int) -> tuple[Any, Any]:
    """Room for both ways: two arrays of a chunk (whole blocks of it) and the rows before."""
    room = -(-CHUNK // w) * w + w
    return allocate(form.dtypes, room), allocate(form.dtypes, room)


def doubling(form: Form, answers: Callable) -> Callable:
    """For selective aggregates: combine is idempotent then, and neighbours may overlap."""
    combine, get, put, cut, lift_at, take = form.combine, form.get, form.put, form.cut, form.lift_at, form.take

    @form.whole
    def shifted(D, shift, start, stop, E):
        """E[i] = D[i - shift] ⊕ D[i]."""
        for i in range(np.uint64(start), np.uint64(stop)):
            put(E, i, combine(get(D, i - np.uint64(shift)), get(D, i)))

    @form.whole
    def short(columns, masks, b, z, w, S, D, E, out, valid):
        before = np.uint64(w - 1)
        while b < z:
            count = min(CHUNK, z - b)
            rows, row_masks = take(columns, b, b + count), take(masks, b, b + count)
            for j in range(before):
                put(D, j, get(S, j))
            for j in range(np.uint64(count)):
                put(D, j + before, lift_at(rows, row_masks, j))
            for j in range(before):
                put(S, j, get(D, j + np.uint64(count)))
            span = 1
            while 2 * span <= w:
                shifted(D, span, 2 * span - 1, w - 1 + count, E)
                D, E = E, D
                span *= 2
            answers(cut(D, span - 1, span - 1 + count), cut(D, w - 1, w - 1 + count), out, valid, b, count)
            b += count

    return short


def lockstep(form: Form, answers: Callable) -> Callable:
    """For any aggregate: all blocks of a panel step by step, as many chains as there are blocks."""
    combine, identity, get, put, cut = form.combine, form.identity, form.get, form.put, form.cut
    lift_at, take = form.lift_at, form.take

    @form.whole
    def scans(rows, row_masks, panel, w, P, T):
        """P[i]: the block up to row i; T[i]: the block after row i."""
        width = np.uint64(w)
        last = width - ONE
        for t in range(ZERO, np.uint64(panel), width):
            put(P, t, lift_at(rows, row_masks, t))
            put(T, t + last, identity)
        for j in range(ONE, width):
            for t in range(ZERO, np.uint64(panel), width):
                i, k = t + j, t + last - j
                put(P, i, combine(get(P, i - ONE), lift_at(rows, row_masks, i)))
                put(T, k, combine(lift_at(rows, row_masks, k + ONE), get(T, k + ONE)))

    @form.whole
    def short(columns, masks, b, z, w, S, P, T, out, valid):
        panel = len(P[0]) - w
        q = identity  # the rows before b as the block after each of them
        for j in range(w - 2, -1, -1):
            q = combine(get(S, j), q)
            put(S, j, q)
        put(S, w - 1, identity)
        while b < z:
            if z - b < panel:  # the last panel is as long as whole blocks go; what is left are fewer rows than w
                panel = (z - b) // w * w
            if panel == 0:
                break
            scans(take(columns, b, b + panel), take(masks, b, b + panel), panel, w, P, T)
            answers(S, P, out, valid, b, w)
            answers(T, cut(P, w, panel), out, valid, b + w, panel - w)
            for j in range(w):
                put(S, j, get(T, panel - w + j))
            b += panel
        p = identity
        for j in range(z - b):
            p = combine(p, lift_at(columns, masks, b + j))
            put(P, j, p)
        answers(S, P, out, valid, b, z - b)

    return short
