"""Windows of a few rows over a whole array, where blocks (`blocks`) would spend their time on their ends.

`doubling`: partials of the last 1, 2, 4 ... rows, of which the window is put together. These are log2(w) combines and
one more for each 1 in w (for aggregates that select one of their arguments, min and max, one in all: the two halves
may overlap), but every step is vector code and its numbers of rows are constants. Where keys begin within a chunk, each
step leaves out what lies before the row's own key, by a comparison instead of a branch: keys of a few rows then cost
little more than one large one. LLVM makes vector code of partials of three numbers, not of more; for these,
`lockstep` takes many blocks of w rows side by side, two combines a row, each block with its own chain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.engine.columns import allocate
from windrow.engine.forms import Form
from windrow.engine.row_steps import row_steps

#: windows of fewer rows are short
SHORT = 32
#: rows that are answered at a time: their partials stay in the first-level cache
CHUNK = 512
ZERO, ONE = np.uint64(0), np.uint64(1)


def scratch(sized: Form, w: int) -> tuple[Any, ...]:
    """Room for the rows before, for three arrays of a chunk (whole blocks of it) and these rows, and for rows' ages."""
    room = -(-CHUNK // w) * w + w
    return *(allocate(sized.dtypes, size) for size in (w, room, room, room)), np.zeros(room)


def rows(kernel: Any, form: Form, sized: Form, registers: Any) -> Callable:
    """`run(s, r, columns, masks, starts, w, *scratch, out, valid, done)`: as `blocks.rows`, for short windows."""
    size, get, put, narrow = kernel.size, form.get, sized.put, sized.narrow
    assert narrow is not None
    steps, key_end, bare = row_steps(kernel, form, registers)
    doubled = doubling(sized)
    vectors = sized.selective or len(sized.dtypes or ()) <= 3
    stepped = doubled if vectors else lockstep(sized)

    @form.whole
    def run(s, r, columns, masks, starts, w, S, D, E, R, ages, out, valid, done):
        n, a = len(columns[0]), done[0]
        z = a if len(starts) > 0 and starts[a] else key_end(starts, a, n)
        a, r = steps(s, r, columns, masks, a, z, w, out, valid, done)
        if a < n:
            age = np.int64(-1)
            if a < z and size(r) == w:
                age += w
                for j in range(w - 1):
                    put(S, j, narrow(get(s.vals, (r.F + 1 + j) & s.mask)))
            if vectors or len(starts) > 0:
                z = n
            else:
                z = min(n, a + max(0, w - 1 - age))  # until the window is full
            age = doubled(columns, masks, starts, a, z, age, w, S, D, E, R, ages, out, valid)
            if not vectors and z < n:
                stepped(columns, masks, z, n, w, S, D, E, ages, out, valid)
                age += n - z
            r = bare(s, columns, masks, n - min(w, age + 1), n)
        done[0] = n
        return r

    return run


def doubling(form: Form) -> Callable:
    """For selective aggregates, for partials of one or two numbers, and for keys: the answers for rows b to z.

    `S` holds the w-1 rows before b. `age` is how many rows of its key came before row b-1, -1 where b begins a key.
    Returns the last row's age.
    """
    combine, get, put, lift_at, take = form.combine, form.get, form.put, form.lift_at, form.take
    assert take is not None
    store, mark, selective, checked = form.store, form.mark, form.selective, any(form.checked)

    @form.jit
    def within(a, b, shift, rows, age):
        """The last `shift` rows b and the `rows` before them a, where they are of the same key."""
        both = combine(a, b, min(rows, age + 1.0 - shift), shift)
        return both if age >= shift else b

    @form.whole
    def double(D, span, stop, keys, ages, E):
        """E[i] = D[i - span] ⊕ D[i]."""
        by, n = np.uint64(span), float(span)
        if keys:
            for i in range(np.uint64(2 * span - 1), np.uint64(stop)):
                put(E, i, within(get(D, i - by), get(D, i), n, n, ages[i]))
        else:
            for i in range(np.uint64(2 * span - 1), np.uint64(stop)):
                put(E, i, combine(get(D, i - by), get(D, i), n, n))

    @form.whole
    def extend(D, span, kept, start, stop, keys, ages, R):
        """R[i] = D[i - kept] ⊕ R[i]."""
        by, na, nb = np.uint64(kept), float(span), float(kept)
        if keys:
            for i in range(np.uint64(start), np.uint64(stop)):
                put(R, i, within(get(D, i - by), get(R, i), nb, na, ages[i]))
        else:
            for i in range(np.uint64(start), np.uint64(stop)):
                put(R, i, combine(get(D, i - by), get(R, i), na, nb))

    @form.whole
    def answers(D, span, R, kept, start, keys, ages, out, valid, first, count):
        """The whole window: D[i - kept] ⊕ R[i]."""
        by, na, nb, n = np.uint64(kept), float(span), float(kept), float(span + kept)
        to, i = np.uint64(first), np.uint64(start)
        if keys:
            for j in range(np.uint64(count)):
                p = within(get(D, i + j - by), get(R, i + j), nb, na, ages[i + j])
                store(out, to + j, p, min(n, ages[i + j] + 1.0))
        else:
            for j in range(np.uint64(count)):
                store(out, to + j, combine(get(D, i + j - by), get(R, i + j), na, nb), n)
        if checked:  # a loop of its own: it needs little of the partial, and both become vector code
            for j in range(np.uint64(count)):
                if keys:
                    p = within(get(D, i + j - by), get(R, i + j), nb, na, ages[i + j])
                    mark(valid, to + j, p, min(n, ages[i + j] + 1.0))
                else:
                    mark(valid, to + j, combine(get(D, i + j - by), get(R, i + j), na, nb), n)

    @form.whole
    def any_of(starts, a, z):
        found = False
        for i in range(np.uint64(a), np.uint64(z)):
            found |= starts[i]
        return found

    @form.whole
    def grow_old(starts, b, count, age, before, ages):
        for j in range(before):
            ages[j] = max(0, age + 1 + j - before)  # not of rows of another key, but these are never asked
        for j in range(count):
            age = 0 if len(starts) > 0 and starts[b + j] else age + 1
            ages[before + j] = age
        return age

    @form.whole
    def single(columns, masks, b, z, out, valid):
        for i in range(np.uint64(b), np.uint64(z)):
            p = lift_at(columns, masks, i)
            store(out, i, p, 1.0)
            mark(valid, i, p, 1.0)

    @form.whole
    def short(columns, masks, starts, b, z, age, w, S, D, E, R, ages, out, valid):
        if w == 1:
            single(columns, masks, b, z, out, valid)
            return 0
        before = w - 1
        top = 1
        while 2 * top < w:
            top *= 2
        rest = w - top  # the window: its last `rest` rows, and `top` rows before them
        while b < z:
            count = min(CHUNK, z - b)
            columns_here, masks_here = take(columns, b, b + count), take(masks, b, b + count)
            for j in range(np.uint64(before)):
                put(D, j, get(S, j))
            for j in range(np.uint64(count)):
                put(D, j + np.uint64(before), lift_at(columns_here, masks_here, j))
            for j in range(np.uint64(before)):
                put(S, j, get(D, j + np.uint64(count)))
            keys = age + 1 < before or (len(starts) > 0 and any_of(starts, b, b + count))
            age = grow_old(starts, b, count, age, before, ages) if keys else age + count
            end = before + count
            span, kept = np.int64(1), np.int64(0)  # D: of each row the last `span`, R: the last `kept`
            while span < top:
                first = False
                if not selective and rest & span:
                    first = kept == 0
                    if not first:
                        extend(D, span, kept, before, end, keys, ages, R)
                    kept += span
                double(D, span, end, keys, ages, E)
                if first:
                    D, E, R = E, R, D
                else:
                    D, E = E, D
                span *= 2
            answers(D, top, R if kept > 0 else D, rest, before, keys, ages, out, valid, b, count)
            b += count
        return age

    return short


def lockstep(form: Form) -> Callable:
    """For all others, the window being full: the blocks of a panel step by step, as many chains as there are blocks."""
    combine, identity, get, put, cut = form.combine, form.identity, form.get, form.put, form.cut
    lift_at, take, store, mark, checked = form.lift_at, form.take, form.store, form.mark, any(form.checked)
    assert cut is not None and take is not None

    @form.whole
    def scans(rows, row_masks, panel, w, P, T):
        """P[i]: the block up to row i; T[i]: the block after row i."""
        width = np.uint64(w)
        last = width - ONE
        for t in range(ZERO, np.uint64(panel), width):
            put(P, t, lift_at(rows, row_masks, t))
            put(T, t + last, identity)
        for j in range(ONE, width):
            n = float(j)
            for t in range(ZERO, np.uint64(panel), width):
                i, k = t + j, t + last - j
                put(P, i, combine(get(P, i - ONE), lift_at(rows, row_masks, i), n, 1.0))
                put(T, k, combine(lift_at(rows, row_masks, k + ONE), get(T, k + ONE), 1.0, n - 1.0))

    @form.whole
    def answers(S, P, w, places, out, valid, first, count):
        start, n = np.uint64(first), float(w)
        for j in range(np.uint64(count)):
            store(out, start + j, combine(get(S, j), get(P, j), n - places[j], places[j]), n)
        if checked:
            for j in range(np.uint64(count)):
                mark(valid, start + j, combine(get(S, j), get(P, j), n - places[j], places[j]), n)

    @form.whole
    def short(columns, masks, b, z, w, S, P, T, places, out, valid):
        panel = len(P[0]) - w
        for j in range(panel):
            places[j] = j % w + 1  # how many rows P[j] stands for
        q = identity  # the rows before b as the block after each of them
        for j in range(w - 2, -1, -1):
            q = combine(get(S, j), q, 1.0, float(w - 2 - j))
            put(S, j, q)
        put(S, w - 1, identity)
        while b < z:
            if z - b < panel:  # the last panel is as long as whole blocks go; what is left are fewer rows than w
                panel = (z - b) // w * w
            if panel == 0:
                break
            scans(take(columns, b, b + panel), take(masks, b, b + panel), panel, w, P, T)
            answers(S, P, w, places, out, valid, b, w)
            answers(T, cut(P, w, panel), w, places, out, valid, b + w, panel - w)
            for j in range(w):
                put(S, j, get(T, panel - w + j))
            b += panel
        p = identity
        for j in range(z - b):
            p = combine(p, lift_at(columns, masks, b + j), float(j), 1.0)
            put(P, j, p)
        answers(S, P, w, places, out, valid, b, z - b)

    return short
