"""The driver: one loop that takes any algorithm through a batch of rows, plain or compiled.

A call of a compiled function costs as much as a whole step in plain Python, so the compiled unit is a batch: rows
come as columns, windows as positions (`bounds`), and the window's state goes on from batch to batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.engine.forms import Form
from windrow.engine.kernel import once


def called(form: Form) -> Form:
    """The form for algorithms, which combine at many places: there it is called, not inlined.

    Inlined at each of them, a long combine takes numba several times as long to compile. Partials are numbers, which
    are handed on for nothing, unlike arrays.
    """
    if not form.compiled:
        return form
    combine: Any = form.combine
    return once(form.memo, "called", lambda: replace(form, combine=form.whole(combine.py_func)))


def between(kernel: Any, form: Form, lift: Callable | None = None) -> Callable:
    """`run(s, r, f, e, columns, masks, first, lo, hi, out, valid, done)`, closed over an algorithm and an aggregate.

    The window holds the rows at positions f to e; row i of the columns is at position first + i. For each answer the
    window becomes [lo, hi). `done[0]` counts the answers given, so that an error can name its row. `lift` makes a
    partial of a row; None: as the aggregate does.
    """
    clear, insert, evict, query = kernel.clear, kernel.insert, kernel.evict, kernel.query
    lift_at = form.lift_at if lift is None else lift
    store, mark, no_rows = form.store, form.mark, empty_window(form)

    @form.whole
    def run(s, r, f, e, columns, masks, first, lo, hi, out, valid, done):
        for i in range(len(lo)):
            done[0] = i
            if lo[i] >= e:  # nothing of the window is left, and what lies between is not wanted
                r = clear(s)
                f = e = lo[i]
            while f < lo[i]:
                r = evict(s, r)
                f += 1
            while e < hi[i]:
                r = insert(s, r, lift_at(columns, masks, e - first))
                e += 1
            if f == e:
                no_rows(out, valid, i)
            else:
                p = query(s, r)
                store(out, i, p)
                mark(valid, i, p)
        done[0] = len(lo)
        return r, f, e

    return run


def empty_window(form: Form) -> Callable:
    """(out, valid, i): the answer of a window without rows, where not every aggregate has None."""

    @form.jit
    def told(out, valid, i):
        for there in valid:
            there[i] = False

    def given(out, valid, i):
        form.store(out, i, form.identity)

    return told if form.compiled else given
