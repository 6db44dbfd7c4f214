"""Whole arrays through a tree aggregator: by rows over a store, and by policy with or without one.

A compiled loop goes on as long as the layers allow (`room`, `spare_evictions`), then Python visits the store; a bulk
eviction is Python's, too, since it may need pages from there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from windrow.aggregates.laws import check_laws
from windrow.engine import batch
from windrow.engine.forms import Form
from windrow.engine.inputs import Column
from windrow.engine.kernel import CompilationFailed, cached_loop, cached_now, whole
from windrow.engine.policy_state import LOOPS, worth_compiling
from windrow.engine.recent import Recent
from windrow.engine.row_kernels import key_of
from windrow.errors import StoreError, WindrowError

Columns = tuple[Column, ...]
CHUNK = 1 << 16


def rows(kernel: Any, form: Form) -> Callable:
    """`run(s, r, columns, masks, a, z, window, out, valid)`: rows a to z, each with the answer of its window."""
    insert, evict, query, size = kernel.insert, kernel.evict, kernel.query, kernel.size
    lift_at, store, mark = form.lift_at, form.store, form.mark

    @form.whole
    def run(s, r, columns, masks, a, z, window, out, valid):
        for i in range(a, z):
            while size(r) >= window:
                r = evict(s, r)
            r = insert(s, r, lift_at(columns, masks, i))
            p = query(s, r)
            store(out, i, p)
            mark(valid, i, p)
        return r

    return run


def inserts(kernel: Any, form: Form) -> Callable:
    """`run(s, r, columns, masks, a, z)`: inserts the rows a to z."""
    insert, lift_at = kernel.insert, form.lift_at

    @form.whole
    def run(s, r, columns, masks, a, z):
        for i in range(a, z):
            r = insert(s, r, lift_at(columns, masks, i))
        return r

    return run


def rows_by_policy(kernel: Any, form: Form, ask: Callable) -> Callable:
    """`run(s, r, columns, masks, a, z, evictions, out, valid, sizes, total, old)`: insert, enforce, query: rows a to z.

    §4.2.4's rows that are looked at one by one go here, all at once. It stops where they do not suffice (or more than
    `evictions` would go): the row, of which nothing has gone yet, and True. `sizes` gets how many rows each window has.
    """
    insert, cut, query, size, slot = kernel.insert, kernel.cut, kernel.query, kernel.size, kernel.levels.slot
    lift_at, store, mark = form.lift_at, form.store, form.mark
    combine, identity, get, get_link = form.combine, form.identity, form.get, form.get_link

    @form.whole
    def run(s, r, columns, masks, a, z, evictions, out, valid, sizes, total, old):
        for i in range(a, z):
            r = insert(s, r, lift_at(columns, masks, i))
            store(total, 0, query(s, r))
            singles, n = 0, size(r)
            while n > 1:
                singles, n = singles + 1, n >> 1
            singles = min(max(singles, 1), evictions)
            older = identity
            k = 0
            goes = True
            while goes and k < size(r) and k < singles:
                older = combine(older, get(s.vals, slot(s, 0, get_link(s.links, 0) + k)))
                store(old, 0, older)
                goes = ask(total, old)
                if goes:
                    k += 1
            if goes and k < size(r):
                return r, i, evictions, True
            if k > 0:
                r = cut(s, r, k)
                evictions -= k
            sizes[i] = size(r)
            if size(r) > 0:
                p = query(s, r)
                store(out, i, p)
                mark(valid, i, p)
            else:
                for there in valid:
                    there[i] = False
        return r, z, evictions, False

    return run


def _asked(w: Any, policy: Callable, sample: tuple) -> Callable:
    """`ask(total, old)` over arrays of one answer for each output: the policy gets them as `query` gives them.

    Tried by itself first: that a policy is none for the compiler is known in a second then, and not with the kernel.
    """
    answer = type(w.of.empty) if hasattr(w.of, "parts") else None
    # a division by zero raises, as it does in Python, and so does an int that leaves 64 bits
    scope: dict[str, Any] = {"policy": whole("checked")(policy), "Answer": answer}

    def made(name: str) -> str:
        fields = ", ".join(f"{name}[{k}][0]" for k in range(len(w.form.outputs)))
        return fields if answer is None else f"({fields},)" if answer is tuple else f"Answer({fields})"

    exec(f"def ask(total, old):\n    return bool(policy({made('total')}, {made('old')}))", scope)
    ask = w.form.jit(scope["ask"])
    with contextlib.suppress(ArithmeticError, ValueError, LookupError):  # what it makes of the sample does not matter
        ask.compiled(sample, sample)
    return ask


def run_of(w: Any, name: str, make: Callable[[], Any]) -> Callable:
    """A loop over this window's kernel, compiled once a process and kept on disk."""
    key = (type(w), name)
    if key not in w.form.memo:
        w.form.memo[key] = cached_loop(make())
    return w.form.memo[key]


def _form(w: Any, columns: Columns) -> Form | None:
    """The compiled form for these columns, the laws tried on them; None: row by row."""
    if w._sample is not None and len(columns[0].values) > 2:
        check_laws(w.of, batch.sample_rows(columns), synthetic=True)
        w._sample = None
    return batch.chosen_form(w.state, columns)


def make_room(w: Any, wanted: int) -> int:
    """How many of the wanted rows may go in before the store must be visited again."""
    wanted = min(wanted, CHUNK)
    while len(w) + wanted > w.capacity:
        w._grow(2 * w.capacity)
    if not hasattr(w, "pager"):
        return wanted
    if not w.room:
        w._flush()
    return min(wanted, w.room)


def inserted(w: Any, columns: Columns) -> bool:
    """All rows in compiled code; False, and nothing done, where that cannot be."""
    form, n = _form(w, columns), len(columns[0].values)
    if form is None or not n:
        return False
    w._become(form)
    try:
        run = run_of(w, "inserts", lambda: inserts(type(w).kernel(form), form))
        data, masks = batch.arrays(form, columns)
        a = 0
        while a < n:
            z = a + make_room(w, n - a)
            w.r = w.registers(*run(w.s, w.r, data, masks, a, z))
            w.room -= z - a
            w.inserted += z - a
            a = z
    except CompilationFailed:
        if w.of.builtin:
            raise
        batch.run_plain(w.of, columns)
        return False  # the first call compiles: nothing has been inserted
    return True


def slid(w: Any, columns: Columns, window: Any) -> Any:
    """`slide` of a stored window, by rows."""
    window, n = batch.row_count(window), len(columns[0].values)
    if len(w) > window:
        raise WindrowError(f"the window holds {len(w)} rows already, more than the {window} it may hold")
    form = _form(w, columns)
    try:
        if form is not None and n:
            return _slid(w, form, columns, window)
    except CompilationFailed:
        if w.of.builtin:
            raise
        batch.run_plain(w.of, columns)
    out = np.empty(n, object)
    for i, row in enumerate(zip(*(c.objects() for c in columns), strict=True)):
        if len(w) == window:
            w.evict()
        w.insert(*row)
        out[i] = w.query()
    return out


def _slid(w: Any, form: Form, columns: Columns, window: int) -> Any:
    w._become(form)
    n, a = len(columns[0].values), 0
    run = run_of(w, "rows", lambda: rows(type(w).kernel(form), form))
    data, masks = batch.arrays(form, columns)
    out, valid = batch.room_for(form, n, every_window_has_rows=True)
    while a < n:
        z = a + make_room(w, n - a)
        if not w.spare_evictions:
            w._refill()
        z = min(z, a + w.spare_evictions)
        w.r = w.registers(*run(w.s, w.r, data, masks, a, z, window, out, valid))
        w.room -= z - a
        w.spare_evictions -= z - a
        w.inserted += z - a
        a = z
    return batch.answered(w.of, form, columns, out, valid)


def policed(w: Any, columns: Columns, policy: Callable) -> Any:
    """`slide_policy`. What comes back depends on the aggregate and the columns, not on whether the policy compiles."""
    form, n = _form(w, columns), len(columns[0].values)
    if form is not None and (not w.singles_first or any(form.checked)):
        form = None
    saved = w._saved()
    try:
        if form is not None and n and _worth(w, form, policy, columns):
            try:
                return _policed(w, form, columns, policy, np.empty(n, np.int64))
            except StoreError:
                raise
            except Exception:  # not for numba; or in Python it says better what is wrong, or nothing is wrong there
                w._restore(saved)
                _loops(w, form)[_key(policy)] = None
        told = None if _times(columns) else batch.form_for(w.of, *batch.signature(columns))
        out, valid = ((np.empty(n, object),), ()) if told is None else batch.room_for(told, n)
        for i, row in enumerate(zip(*(c.objects() for c in columns), strict=True)):
            w.insert(*row)
            w.enforce(policy)
            if told is None:
                out[0][i] = w.query()
            else:
                _put(w, w.query(), i, out, valid)
        return out[0] if told is None else batch.answered(w.of, told, columns, out, valid)
    except BaseException:
        w._restore(saved)
        raise


def sized_by_policy(w: Any, columns: Columns, policy: Callable, plain: Callable) -> np.ndarray:
    """How many rows each row's window has; between `begin` and `commit`.

    `plain` is the policy for what does not compile.
    """
    n = len(columns[0].values)
    sizes = np.empty(n, np.int64)
    compiles = n and isinstance(policy, FunctionType) and hasattr(w.of.empty, "_fields")
    form = _form(w, columns) if compiles else None
    if form is not None and not any(form.checked) and _loops(w, form).get(_key(policy), policy) is not None:
        saved = w._saved()
        try:
            _policed(w, form, columns, policy, sizes)
            return sizes
        except StoreError:
            raise
        except Exception:  # not for numba; or in Python it says better what is wrong, and where
            w._restore(saved)
            _loops(w, form)[_key(policy)] = None
    for i, row in enumerate(zip(*(c.objects() for c in columns), strict=True)):
        try:
            w.insert(*row)
            w.enforce(plain)
        except Exception as error:
            error.add_note(f"in the policy, at row {i} of the key's new rows")
            raise
        sizes[i] = len(w)
    return sizes


def _key(policy: Callable) -> str:
    """The name of a policy among loops. One whose globals have changed is another: numba reads a global once."""
    return f"policy {key_of(policy) or id(policy)}"


def _loops(w: Any, form: Form) -> Recent:
    """The loops of policies, each with its policy, so that no other gets its id; None: it does not compile."""
    return form.memo.setdefault((type(w), "policies"), Recent(LOOPS))


def _worth(w: Any, form: Form, policy: Callable, columns: Columns) -> bool:
    """Whether rows go through a compiled loop: it takes seconds to compile, and few rows are through in Python by then.

    Times and durations do so at any rate: the compiled loop gives them back as they came.
    """
    key, loops = _key(policy), _loops(w, form)
    if key in loops:
        return loops[key] is not None
    return worth_compiling(key, len(columns[0].values)) or _times(columns)


def _times(columns: Columns) -> bool:
    return any(column.dtype.kind in "mM" for column in columns)


def _policed(w: Any, form: Form, columns: Columns, policy: Callable, sizes: np.ndarray) -> Any:
    w._become(form)
    n, a = len(columns[0].values), 0
    data, masks = batch.arrays(form, columns)
    out, valid = batch.room_for(form, n)
    total, old = (tuple(np.ones(1, dtype) for dtype in form.outputs) for _ in range(2))
    loops, key = _loops(w, form), _key(policy)
    if loops.get(key) is None:
        loops[key] = cached_now(rows_by_policy(type(w).kernel(form), form, _asked(w, policy, total))), policy
    run = loops[key][0]
    layers = hasattr(w, "pager")
    while a < n:
        z = a + make_room(w, n - a)
        if layers and not w.spare_evictions:
            w._refill()
        evictions = min(w.spare_evictions, 2**62) if layers else 2**62
        r, at, left, more = run(w.s, w.r, data, masks, a, z, evictions, out, valid, sizes, total, old)
        w.r = w.registers(*r)
        end = at + 1 if more else at
        if layers:
            w.room -= end - a
            w.inserted += end - a
            w.spare_evictions = left if evictions < 2**62 else w.spare_evictions
        if more:
            _bulk(w, policy, total, at, out, valid)
            sizes[at] = len(w)
        a = end
    return batch.answered(w.of, form, columns, out, valid)


def _bulk(w: Any, policy: Callable, total: tuple, i: int, out: tuple, valid: tuple) -> None:
    """One row's eviction, and its answer."""
    numbers = [answer[0].item() for answer in total]
    whole: Any = numbers[0]
    if hasattr(w.of, "parts"):
        whole = getattr(type(w.of.empty), "_make", tuple)(numbers)
    w.r = w._step(w._enforce, w._goes(policy, whole))
    if hasattr(w, "pager"):
        w._measured()
    _put(w, w.query(), i, out, valid)


def _put(w: Any, answer: Any, i: int, out: tuple, valid: tuple) -> None:
    """One row's answer among those of the compiled loop."""
    for k, part in enumerate(answer if hasattr(w.of, "parts") else (answer,)):
        if len(w) and part is not None:
            out[k][i] = part
        elif len(valid[k]):
            valid[k][i] = False
