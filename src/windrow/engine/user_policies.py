"""Slide policies (paper 4 §4.1.3): after each row a user's function says how much of the oldest part goes.

`evict(total, old)` sees the answers of some aggregates: `total` over the whole window with the new row in it, `old`
over its oldest part. The longest oldest part goes for which it holds, and for every shorter one, `total` staying what
it was. `total` is kept by Two-Stacks Lite, `old` grows from the front: amortised O(1) combines a row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

import numba
import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.aggregates.joins import join
from windrow.engine.batch import form_for
from windrow.engine.columns import allocate
from windrow.engine.forms import Form, plain_form
from windrow.engine.inputs import Column
from windrow.engine.row_kernels import arrays_of, compile_quietly, key_of, scope_of, worth_compiling
from windrow.engine.row_views import objects, row_maker
from windrow.errors import WindrowError


def policy_bounds(
    evict: Callable[[Any, Any], Any],
    over: Mapping[str, Aggregate],
    columns: Mapping[str, Column],
    seg: np.ndarray,
    fresh: np.ndarray,
    *,
    form: str = "auto",
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """For each item i the first item of the window after its policy ran; the window is items lo[i] to i + 1.

    Args:
        evict: (total, old) -> whether the oldest part goes; both have the fields of `over`, None where null.
        over: aggregates bound to columns.
        columns: of the items, sorted by key and order; times are int64 microseconds.
        seg: where each key's items begin; the last entry is the number of items.
        fresh: for each key its first new item. Items before it are in the window already: no policy runs on them, and
            their lo is the key's first item.
        form: "plain" or "compiled" instead of "auto", which begins plain and compiles what many rows go through.
        positions: the number by which an error names each item; without, its place here.

    >>> from windrow import agg
    >>> three_rows = lambda total, old: total.n - old.n >= 3
    >>> policy_bounds(three_rows, {"n": agg.count()}, {}, np.array([0, 5]), np.array([0])).tolist()
    [0, 0, 0, 1, 2]
    """
    seg, fresh = np.ascontiguousarray(seg, np.int64), np.ascontiguousarray(fresh, np.int64)
    joined = join(*over.values())
    for name in joined.columns:
        if name not in columns:
            raise WindrowError(f"the policy's aggregates read {name!r}; there are {', '.join(map(repr, columns))}")
    read = {name: columns[name] for name in joined.columns}
    if not read:  # aggregates that count rows still want a column
        read = {"": Column(np.zeros(seg[-1], bool), None, np.dtype(bool))}
    new = int((seg[1:] - fresh).sum())
    if isinstance(evict, FunctionType) and form != "plain" and (form == "compiled" or worth_compiling(evict, new)):
        found = _run_compiled(evict, joined, tuple(over), read, seg, fresh)
        if found is not None:
            return found
        if form == "compiled":
            raise WindrowError(f"{evict!r} does not compile over {', '.join(map(repr, over.values()))}")
    return _run_plain(evict, joined, tuple(over), read, seg, fresh, positions)


def bounds(form: Form, answers: Callable, evict: Callable) -> Callable:
    """`run(columns, masks, seg, fresh, slots, out, valid, lo, done)`, closed over a form and a policy.

    The window is items F to E. `slots` hold the front stack of Two-Stacks Lite: slots[i - base] is the partial of items
    i to B; `back` is that of items B to E. `out` and `valid` have room for one answer each.
    """
    combine, identity, get, put, lift_at = form.combine, form.identity, form.get, form.put, form.lift_at

    @form.jit
    def flip(columns, masks, F, E, slots):
        """All items become the front stack, from the newest on, the older one on the left."""
        i = E - 1
        acc = lift_at(columns, masks, i)
        put(slots, i - F, acc)
        while i > F:
            i -= 1
            acc = combine(lift_at(columns, masks, i), acc)
            put(slots, i - F, acc)

    @form.whole
    def run(columns, masks, seg, fresh, slots, out, valid, lo, done):
        for k in range(len(seg) - 1):
            F = B = base = seg[k]
            back = identity
            for i in range(seg[k], seg[k + 1]):
                done[0] = i
                back = combine(back, lift_at(columns, masks, i))
                if i >= fresh[k]:
                    whole = back
                    if F < B:
                        whole = combine(get(slots, F - base), back)
                    total = answers(whole, out, valid)
                    old = identity
                    go = True
                    while go and i >= F:
                        old = combine(old, lift_at(columns, masks, F))
                        go = bool(evict(total, answers(old, out, valid)))
                        if go:
                            F += 1
                    if F > B:  # more than the front stack is gone
                        if i >= F:
                            flip(columns, masks, F, i + 1, slots)
                        base = F
                        B = i + 1
                        back = identity
                lo[i] = F

    return run


def _run_plain(
    evict: Callable,
    joined: Any,
    names: tuple,
    columns: Mapping[str, Column],
    seg: np.ndarray,
    fresh: np.ndarray,
    positions: Any,
) -> np.ndarray:
    values = [objects(column) for column in columns.values()]
    make = row_maker(names)
    if len(names) == 1:  # spares the join, which costs more than most aggregates
        ((aggregate, places),) = joined.parts
        values = [values[place] for place in places]
    else:
        aggregate = joined
    lower = aggregate.monoid_lower
    lift = aggregate.monoid_lift
    partials: list = []

    def lift_at(columns: Any, masks: Any, i: int) -> Any:
        return partials[i]

    def answers(partial: Any, out: Any, valid: Any) -> Any:
        return make((lower(partial),) if len(names) == 1 else lower(partial))

    # nothing is kept that would have to be undone
    form = replace(plain_form(aggregate), put=operator.setitem, lift_at=lift_at)
    lo: list = [0] * int(seg[-1])
    done = [0]
    slots = allocate(None, _longest(seg))
    try:
        partials.extend(map(lift, *values) if values else (lift() for _ in lo))
        bounds(form, answers, evict)(None, None, seg.tolist(), fresh.tolist(), slots, None, None, lo, done)
    except Exception as error:
        at = done[0] if len(partials) == len(lo) else len(partials)
        error.add_note(f"in the policy, at row {at if positions is None else int(positions[at])}")
        raise
    return np.array(lo, np.int64)


def _run_compiled(
    evict: Any, joined: Any, names: tuple, columns: Mapping[str, Column], seg: np.ndarray, fresh: np.ndarray
) -> np.ndarray | None:
    """None where numba cannot do it, or something is raised: the plain form says it better, and names the row."""
    kinds = tuple(column.kind for column in columns.values())
    form = form_for(joined, kinds, tuple(column.mask is not None for column in columns.values()))
    key = key_of(evict)
    if form is None or key is None:
        return None
    values, masks = arrays_of(columns, tuple(columns), full=form.masked)
    out = tuple(np.zeros(1, dtype) for dtype in form.outputs)
    valid = tuple(np.ones(1, bool) for _ in form.outputs)
    lo = np.zeros(int(seg[-1]), np.int64)
    slots = allocate(form.dtypes, _longest(seg))
    arguments = (values, masks, seg, fresh, slots, out, valid, lo, np.zeros(1, np.int64))
    if ("policy", key, names) not in form.memo:
        policy = numba.njit(error_model="python")(evict)
        run = bounds(form, _compiled_answers(form, joined, names), policy)
        form.memo["policy", key, names] = compile_quietly(run, arguments)
    run = form.memo["policy", key, names]
    if run is None:
        return None
    try:
        run(*arguments)
    except Exception:
        return None
    return lo


def _compiled_answers(form: Form, joined: Any, names: tuple) -> Callable:
    """Partial -> what the policy sees of it; what may be null is optional."""
    fields = []
    scope = {**scope_of(names), "store": form.store, "mark": form.mark}
    for j, ((aggregate, _), checked) in enumerate(zip(joined.parts, form.checked, strict=True)):
        if not checked:
            fields.append(f"out[{j}][0]")
        elif aggregate.empty is None:
            fields.append(f"optional(out[{j}][0], valid[{j}][0])")
        else:
            scope[f"empty{j}"] = aggregate.empty
            fields.append(f"(out[{j}][0] if valid[{j}][0] else empty{j})")
    exec(
        "def answers(p, out, valid):\n    store(out, 0, p)\n    mark(valid, 0, p)\n"
        f"    return Row({', '.join(fields)})\n",
        scope,
    )
    return numba.njit(scope["answers"])


def _longest(seg: np.ndarray) -> int:
    return int((seg[1:] - seg[:-1]).max(initial=0))
