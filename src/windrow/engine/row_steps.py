"""What the loops over whole arrays share: single steps of Two-Stacks Lite, the state they leave to the next batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.engine.forms import Form


def row_steps(kernel: Any, form: Form, registers: Any) -> tuple[Callable, Callable, Callable]:
    """`steps`, `key_end` and `bare`."""
    insert, evict, query, size = kernel.insert, kernel.evict, kernel.query, kernel.size
    combine, identity, put, lift_at, store, mark = (
        form.combine, form.identity, form.put, form.lift_at, form.store, form.mark,
    )  # fmt: skip

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
    def key_end(starts, a, n):
        """Where the key of row a ends."""
        if len(starts) == 0:
            return n
        z = a + 1
        while z < n and not starts[z]:
            z += 1
        return z

    @form.whole
    def bare(s, columns, masks, b, z):
        """The state of a window that holds the rows b to z and has not flipped."""
        back = identity
        for j in range(z - b):
            p = lift_at(columns, masks, b + j)
            put(s.vals, j & s.mask, p)
            back = combine(back, p)
        return registers(0, 0, z - b, back)

    return steps, key_end, bare
