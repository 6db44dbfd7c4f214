"""Two-Stacks Lite over a whole array at once: the same flips and the same sums, in an order that a processor likes.

A full window of w rows flips once every w rows, so the array falls into blocks of w. Within a block the row at offset j
has the answer  suffix[j] ⊕ prefix[j]:  what is left of the flipped block before (its rows after offset j), and the back
so far. The block's own flip needs only rows that are already in the array, so it runs beside the back: two chains of
combines that do not wait for each other, then one loop without any chain, which LLVM turns into vector code. Against
the plain driver: 2x to 3x (sum, max), 4x to 5x (stddev, whose divisions become vector divisions).

What did not help: a monotone deque for max (its branches are not predictable), one loop for all three steps (no vector
code), prefix and suffix of the whole array in memory (twice the traffic). What did: unsigned indices in the loops that
count (a signed one is tested for being negative at every access), and `mark` in a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.engine import short_windows
from windrow.engine.columns import allocate
from windrow.engine.forms import Form
from windrow.engine.short_windows import CHUNK, SHORT


def scratch(form: Form, w: int) -> tuple[Any, Any, Any]:
    """Room for the flipped block, the one being flipped and the prefixes of a chunk (or what short windows need)."""
    flipped = allocate(form.dtypes, w)
    if w < SHORT:
        return flipped, *short_windows.scratch(form, w)
    return flipped, allocate(form.dtypes, w), allocate(form.dtypes, CHUNK)


def rows(kernel: Any, form: Form, registers: Any) -> Callable:
    """`run(s, r, columns, masks, starts, w, S, T, P, out, valid, done)` for Two-Stacks Lite.

    `starts` says where keys begin (empty: one key); `done[0]` counts the answers given, from the first one wanted.
    """
    clear, insert, evict, query, size = kernel
    combine, identity, get, put, cut = form.combine, form.identity, form.get, form.put, form.cut
    lift_at, store, mark, take = form.lift_at, form.store, form.mark, form.take
    checked = any(form.checked)

    @form.whole
    def answers(S, P, out, valid, first, count):
        start = np.uint64(first)
        for j in range(np.uint64(count)):
            store(out, start + j, combine(get(S, j), get(P, j)))
        if checked:  # a loop of its own: it needs little of the partial, and both become vector code
            for j in range(np.uint64(count)):
                mark(valid, start + j, combine(get(S, j), get(P, j)))

    @form.whole
    def scans(ahead, ahead_masks, behind, behind_masks, count, p, q, P, T):
        """`count` steps of the back through the rows `ahead`, and of the flip down through the rows `behind`."""
        last = np.uint64(count - 1)
        for j in range(np.uint64(count)):
            p = combine(p, lift_at(ahead, ahead_masks, j))
            put(P, j, p)
            k = last - j
            put(T, k, q)  # exclusive: the rows after this one
            q = combine(lift_at(behind, behind_masks, k), q)
        return p, q

    @form.whole
    def blocks(columns, masks, b, z, w, S, T, P, out, valid):
        """Whole blocks from b on; S is the flipped block before b."""
        while z - b >= w:
            p = q = identity
            c = 0
            while c < w:
                count = min(CHUNK, w - c)
                ahead, behind = b + c, b + w - c - count
                p, q = scans(
                    take(columns, ahead, ahead + count), take(masks, ahead, ahead + count),
                    take(columns, behind, behind + count), take(masks, behind, behind + count),
                    count, p, q, P, cut(T, w - c - count, w - c),
                )  # fmt: skip
                answers(cut(S, c, c + count), P, out, valid, b + c, count)
                c += count
            S, T = T, S
            b += w
        return b, S, T

    @form.whole
    def steps(s, r, columns, masks, a, z, w, out, valid, done):
        """Row by row up to z, or to where the window is empty or about to flip with a block of rows to come."""
        while a < z and (r.F != r.B or not (size(r) == 0 or (size(r) == w and z - a >= w))):
            done[0] = a
            if size(r) == w:
                r = evict(s, r)
            r = insert(s, r, lift_at(columns, masks, a))
            p = query(s, r)
            store(out, a, p)
            mark(valid, a, p)
            a += 1
        return a, r

    @form.whole
    def block(columns, masks, b, count, S, out, valid):
        """The next `count` rows of a block, one after the other; the back."""
        p = identity
        start = np.uint64(b)
        for j in range(np.uint64(count)):
            p = combine(p, lift_at(columns, masks, start + j))
            answer = combine(get(S, j), p)
            store(out, start + j, answer)
            mark(valid, start + j, answer)
        return p

    @form.whole
    def flip(columns, masks, b, w, S):
        q = identity
        for j in range(w - 1, -1, -1):
            put(S, j, q)
            q = combine(lift_at(columns, masks, b + j), q)

    @form.whole
    def small_keys(columns, masks, starts, a, w, out, valid):
        """Keys of no more than w rows, all in one loop; where the first larger one (or the last of all) begins."""
        n = np.uint64(len(starts))
        begin = i = np.uint64(a)
        most = np.uint64(w)
        p = identity
        while i < n and (starts[i] or i - begin < most):
            if starts[i]:
                p = identity
                begin = i
            p = combine(p, lift_at(columns, masks, i))
            store(out, i, p)
            mark(valid, i, p)
            i += np.uint64(1)
        return begin

    short = (short_windows.doubling if form.selective else short_windows.lockstep)(form, answers)

    @form.whole
    def run(s, r, columns, masks, starts, w, S, T, P, out, valid, done):
        n = len(columns[0])
        a = done[0]
        while a < n:
            z = n
            if len(starts) > 0:
                if starts[a]:
                    a = np.int64(small_keys(columns, masks, starts, a, w, out, valid))
                    r = clear(s)
                z = a + 1
                while z < n and not starts[z]:
                    z += 1
            a, r = steps(s, r, columns, masks, a, z, w, out, valid, done)
            if a == z:
                continue
            full = size(r) == w
            b = a
            p = identity
            if w < SHORT and z - a >= CHUNK:
                for j in range(w - 1):
                    put(S, j, get(s.vals, (r.F + 1 + j) & s.mask) if full else identity)
                short(columns, masks, a, z, w, S, T, P, out, valid)
                full = False
                b = z - w
                for j in range(w):
                    p = combine(p, lift_at(columns, masks, b + j))
            else:
                if full:  # let the step of row a flip what is there, and take the flipped block from it
                    _, r = steps(s, r, columns, masks, a, a + 1, w, out, valid, done)
                    for j in range(w - 1):
                        put(S, j, get(s.vals, (r.F + j) & s.mask))
                    put(S, w - 1, identity)
                else:
                    for j in range(min(w, z - b)):
                        put(S, j, identity)
                while b < z:
                    if full and w >= SHORT:
                        b, S, T = blocks(columns, masks, b, z, w, S, T, P, out, valid)
                    p = block(columns, masks, b, min(w, z - b), S, out, valid)
                    if z - b <= w:
                        break
                    flip(columns, masks, b, w, S)
                    full = True
                    b += w
            if z == n:  # the state that goes on
                rest = z - b
                if full and rest < w:  # what is left of the flipped block (inclusive: from row j on), and the back
                    for j in range(rest, w):
                        put(s.vals, j & s.mask, get(S, j - 1))
                    for j in range(rest):
                        put(s.vals, (w + j) & s.mask, lift_at(columns, masks, b + j))
                    r = registers(rest, w, w + rest, p)
                else:  # bare rows only: a whole block, or less than one
                    for j in range(rest):
                        put(s.vals, j & s.mask, lift_at(columns, masks, b + j))
                    r = registers(0, 0, rest, p)
            a = z
        done[0] = n
        return r

    return run
