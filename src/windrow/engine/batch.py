"""Whole arrays through a window: columns in, bounds, the driver, answers out.

The window comes as a `WindowState`, and the state after the batch goes back with the answers. `slide` and
`slide_between` leave the state that they were given as it was where they raise; what is below them writes in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.engine import blocks, driver, short_windows
from windrow.engine.bounds import row_bounds, time_bounds
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.forms import Form, compiled_form
from windrow.engine.inputs import Column, all_there, read_columns, read_keys, read_times
from windrow.engine.kernel import CompilationFailed, cached_loop, mode_now, once
from windrow.engine.paged import closed, is_open
from windrow.engine.same_types import coerced, settled
from windrow.engine.state import WindowState, converted, duplicate, grown
from windrow.errors import SnapshotError, WindrowError

__all__ = [
    "Carry", "answered", "arrays", "between", "by_rows", "carried_state", "carry_from", "chosen_form", "form_for",
    "read_columns", "room_for", "row_count", "run_plain", "sample_rows", "slide", "slide_between",
]  # fmt: skip

Columns = tuple[Column, ...]
Room = tuple[tuple, tuple]

#: answers whose bounds are worked out at a time, so that they stay in the cache
CHUNK = 1 << 16
#: loops over whole arrays in place of the driver, for windows of a number of rows
FUSED: dict[str, ModuleType] = {"rows": blocks, "short": short_windows}


MODES = ("", "rows", *(f"time, closed {closed}" for closed in ("right", "left", "both", "none")))


#: how columns are kept, and of which of NumPy's kinds they may have been
KINDS_KEPT = {"int64": "iumM", "float64": "f", "bool": "b", "object": "OUSVu"}


@dataclass(frozen=True)
class Carry:
    """What goes on from one batch to the next beside the window itself."""

    key: Any = None
    times: np.ndarray | None = None  # of the rows in the window, then of those that wait
    waiting: tuple[Column, ...] = ()  # rows that no window has taken in yet (closed left or none)
    mode: str = ""  # by rows or by time: a window does not change its mind
    types: tuple[tuple[str, np.dtype], ...] = ()  # of the columns


def carried_state(carry: Carry) -> tuple:
    """A carry as plain values, for a snapshot."""
    waiting = tuple(
        (c.values if c.values.dtype != object else c.values.tolist(), c.mask, c.dtype.str) for c in carry.waiting
    )
    return carry.key, carry.times, waiting, carry.mode, tuple((kind, dtype.str) for kind, dtype in carry.types)


def carry_from(state: tuple, rows: int) -> Carry:
    """The inverse of `carried_state`, for a window of so many rows; `SnapshotError` where it cannot be one."""
    key, times, waiting, mode, types = state
    columns = []
    for values, mask, dtype in waiting:
        array = values
        if isinstance(values, list):
            array = np.empty(len(values), object)
            array[:] = values
        columns.append(Column(array, mask, np.dtype(dtype)))
    known = tuple((kind, np.dtype(dtype)) for kind, dtype in types)
    waits = len(columns[0].values) if columns else 0
    parts = [part for c in columns for part in (c.values, c.mask) if part is not None]
    fits = mode in MODES and all(len(part) == waits for part in parts)
    fits &= all(kind in KINDS_KEPT and dtype.kind in KINDS_KEPT[kind] for kind, dtype in known)
    if times is not None:
        fits &= isinstance(times, np.ndarray) and times.dtype.kind in "if" and len(times) == rows + waits
        fits &= not (times[1:] < times[:-1]).any()
    if not fits:
        raise SnapshotError("the saved state does not fit together: what goes on to the next batch")
    return Carry(key, times, tuple(columns), mode, known)


def sample_rows(columns: Columns, count: int = 24) -> list[tuple]:
    """A few rows from all over the columns."""
    n = len(columns[0].values)
    at = np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.int64))
    picked = [Column(c.values[at], None if c.mask is None else c.mask[at], c.dtype).objects() for c in columns]
    return list(zip(*picked, strict=True))


def slide(
    state: WindowState, carry: Carry, columns: Columns, window: Any, *, times: Any, keys: Any, closed: str
) -> tuple[Any, WindowState, Carry]:
    """`Swag.slide`: the answers, the window after them, and what goes on to the next batch beside it."""
    n = len(columns[0].values)
    starts, last_key = read_keys(keys, n, carry.key)
    mode = "rows" if times is None else f"time, closed {closed}"
    if carry.mode not in ("", mode) and len(state):
        raise WindrowError(f"this window slides by {carry.mode}; it cannot go on by {mode}")
    if n == 0:
        last_key = carry.key
    if carry.types and (len(state) or carry.waiting):  # what is in the window is of these
        if len(carry.types) != len(columns):
            raise WindrowError(f"the window holds rows of {len(carry.types)} columns, and {len(columns)} come now")
        columns = tuple(coerced("the window", c, *known) for c, known in zip(columns, carry.types, strict=True))
    types = tuple(map(settled, columns))
    work = _to_write(state, chosen_form(state, columns))
    try:
        if times is None:
            answers, work = by_rows(work, columns, starts, row_count(window), keys is not None)
            carry = Carry(last_key, mode=mode, types=types)
        else:
            answers, work, carry = _by_time(work, carry, columns, starts, times, window, closed)
            carry = replace(carry, key=last_key, mode=mode, types=types)
    except CompilationFailed:
        if state.aggregate.builtin or work.form.total:
            raise
        run_plain(state.aggregate, columns)  # a user's functions that numba cannot do after all: in plain Python, then
        return slide(state, carry, columns, window, times=times, keys=keys, closed=closed)
    return answers, work, carry


def _to_write(state: WindowState, form: Form | None) -> WindowState:
    """The window in this form, in a store of its own unless nothing in the form can raise."""
    if is_open(state):
        return closed(state, state.form if form is None else form)
    work = converted(state, form)
    return duplicate(work) if work.store is state.store and not work.form.total else work


def run_plain(aggregate: Aggregate, columns: Columns) -> None:
    """Remembers that this aggregate does not compile for these columns."""
    kinds = tuple(column.kind for column in columns)
    for masked in itertools.product((False, True), repeat=len(columns)):
        _FORMS[_form_key(aggregate, kinds, masked)] = None


def row_count(window: Any) -> int:
    """The size of a window by rows."""
    if isinstance(window, (bool, float)) or not hasattr(window, "__index__"):
        raise WindrowError(f"a window by rows is a whole number of rows, not {window!r} (a duration needs times=)")
    if window < 1:
        raise WindrowError(f"a window holds at least 1 row, not {window}")
    return int(window)


def chosen_form(state: WindowState, columns: Columns) -> Form | None:
    """The compiled form for these columns and for what the window holds already; None: plain Python."""
    algorithm, form = state.algorithm, state.form
    if algorithm.plain_only or (algorithm.counted and not form.compiled and len(state)):
        return None  # what inverses have been taken from stays exact as it is
    masked = tuple(column.mask is not None for column in columns)
    if (form.masked or not form.compiled) and len(state):  # what is in the window may hold nulls, too
        masked = (True,) * len(columns)
    return form_for(state.aggregate, tuple(column.kind for column in columns), masked)


def signature(columns: Columns) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The kinds of the columns, and which of them have nulls: what `form_for` takes."""
    return tuple(column.kind for column in columns), tuple(column.mask is not None for column in columns)


_FORMS: dict[Any, Form | None] = {}


def form_for(aggregate: Aggregate, kinds: tuple[str, ...], masked: tuple[bool, ...]) -> Form | None:
    """`compiled_form`, made once a process for all aggregates that do the same."""
    if "object" in kinds or aggregate.combines is not None:  # combines are counted in plain Python
        return None
    parts = getattr(aggregate, "parts", None) or [(aggregate, ())]
    if not all(part.builtin for part, _ in parts) and mode_now() == "never":  # it takes a compiler to know their types
        return None
    key = _form_key(aggregate, kinds, masked)
    if key not in _FORMS:
        _FORMS[key] = compiled_form(aggregate, kinds, masked)
    return _FORMS[key]


def _form_key(aggregate: Aggregate, kinds: tuple[str, ...], masked: tuple[bool, ...]) -> Any:
    """What the functions of all parts do."""
    parts = getattr(aggregate, "parts", None) or [(aggregate, ())]
    return tuple((_does(part), columns) for part, columns in parts), kinds, masked


def _does(part: Any) -> Any:
    """What an aggregate's functions do, or itself where that cannot be told. Told once: it takes some time."""
    if "_does" not in vars(part):
        functions = (part.core_lift, part.core_combine, part.core_lower, part.core_inverse)
        try:
            part._does = fingerprint(*functions, part.identity, part.name, part.builtin, part.needs, part.selective)
        except Unhashable:
            part._does = part
    return part._does


def _run(state: WindowState, name: str) -> Any:
    """The driver for this algorithm and form, compiled once a process and kept on disk."""
    algorithm, form = state.algorithm, state.form

    def make() -> Any:
        kernel = algorithm.kernel(driver.called(form))
        if name in FUSED:
            made = FUSED[name].rows(kernel, form, _sized(form), algorithm.registers)
        else:
            made = driver.between(kernel, form)
        return cached_loop(made) if form.compiled else made

    return once(form.memo, (algorithm, name), make)


def _sized(form: Form) -> Form:
    """The form's sized form, made once."""
    assert form.sized is not None
    return once(form.memo, "sized", form.sized)


def by_rows(
    state: WindowState, columns: Columns, starts: np.ndarray, window: int, keyed: bool, room: Room | None = None
) -> tuple[Any, WindowState]:
    """For each row the answer over the last `window` rows of its key, and the window after them.

    `starts` says where keys begin; where it says so of no row, `keyed` is False. `room` (of `room_for`) is where
    answers go; they are not given back then.
    """
    n, carried = len(starts), len(state)
    if carried > window:
        raise WindrowError(f"the window holds {carried} rows already, more than the {window} it may hold")
    state = _with_room(state, min(window, carried + n))
    form, fast = state.form, state.algorithm.fused and state.form.compiled and n > 0
    out, valid = room or room_for(form, n, every_window_has_rows=fast)
    done = np.zeros(1, np.int64)
    data, masks = arrays(form, columns)
    if fast:
        before = None if form.total else duplicate(state)
        try:
            name = "short" if window < short_windows.SHORT else "rows"
            r = _run(state, name)(
                state.store, state.registers, data, masks, starts if keyed else starts[:0], window,
                *FUSED[name].scratch(_sized(form), window), out, valid, done,
            )  # fmt: skip
            return None if room else answered(state.aggregate, form, columns, out, valid), _after(state, r)
        except CompilationFailed:
            raise
        except Exception:
            if before is None or room:
                raise
            state = before  # once more, row by row, to name the row
            out, valid = room_for(form, n)
    run = _run(state, "between")
    size = min(n, CHUNK)
    lo, hi = np.empty(size, np.int64), np.empty(size, np.int64)
    f, e, begin = 0, carried, 0
    for a in range(0, n, CHUNK):
        z = min(n, a + CHUNK)
        begin = row_bounds(starts, carried, begin, a, z, window, lo, hi)
        state, f, e = _drive(
            state, run, f, e, data, masks, carried, lo[: z - a], hi[: z - a], out, valid, done, a, carried
        )
    return None if room else answered(state.aggregate, form, columns, out, valid), state


def _by_time(
    state: WindowState, carry: Carry, columns: Columns, starts: np.ndarray, times: Any, window: Any, closed: str
) -> tuple[Any, WindowState, Carry]:
    if closed not in ("right", "left", "both", "none"):
        raise WindrowError(f"closed is right, left, both or none, not {closed!r}")
    stamps, duration = read_times(times, window, len(starts))
    n, inserted = len(starts), len(state)
    before = carry.times if carry.times is not None else np.empty(0, np.int64)
    carried = len(before)
    if carried and n and not starts[0] and closed in ("right", "both") and stamps[0] == before[-1]:
        raise WindrowError(f"rows of one time must come in one batch; time {stamps[0]} ended the batch before")
    stamps = np.concatenate([before, stamps])
    lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)
    wrong = time_bounds(
        stamps, starts, carried, inserted, duration, closed in ("left", "both"), closed in ("right", "both"), lo, hi
    )
    if wrong >= 0:
        raise WindrowError(
            f"row {wrong}: its time {stamps[carried + wrong]} is before {stamps[carried + wrong - 1]}; "
            "sort by key and time"
        )
    if carry.waiting:
        columns = tuple(late.followed_by(new) for late, new in zip(carry.waiting, columns, strict=True))
    answers, state, f, e = between(state, columns, lo, hi, inserted, carried)
    waiting = tuple(column.since(e - inserted) for column in columns) if e < len(stamps) else ()
    return answers, state, Carry(times=stamps[f:], waiting=waiting)


def slide_between(state: WindowState, columns: Columns, lo: Any, hi: Any) -> tuple[Any, WindowState]:
    """`Swag.slide_between`: the answers, and the window after them."""
    lo, hi = np.ascontiguousarray(lo, np.int64), np.ascontiguousarray(hi, np.int64)
    n = len(columns[0].values)
    if len(state):
        raise WindrowError("slide_between starts with an empty window")
    if len(lo) != len(hi) or (lo > hi).any() or (np.diff(lo) < 0).any() or (np.diff(hi) < 0).any():
        raise WindrowError("lo and hi must be as long, lo <= hi, and neither may move back")
    if len(lo) and (lo[0] < 0 or hi[-1] > n):
        raise WindrowError(f"positions from 0 to {n} are needed, not {lo[0]} to {hi[-1]}")
    answers, state, _, _ = between(_to_write(state, chosen_form(state, columns)), columns, lo, hi, 0, 0)
    return answers, state


def between(
    state: WindowState, columns: Columns, lo: np.ndarray, hi: np.ndarray, inserted: int, carried: int,
    room: Room | None = None,
) -> tuple[Any, WindowState, int, int]:  # fmt: skip
    """Answers for windows given as positions, of which the first `inserted` rows are in the window already.

    With them the window after, and the positions of its first row and past its last. `room` as in `by_rows`.
    """
    n, form = len(lo), state.form
    state = _with_room(state, int((hi - lo).max(initial=0)))
    out, valid = room or room_for(form, n)
    done = np.zeros(1, np.int64)
    data, masks = arrays(form, columns)
    run = _run(state, "between")
    f, e = 0, inserted
    for a in range(0, n, CHUNK):
        z = min(n, a + CHUNK)
        state, f, e = _drive(state, run, f, e, data, masks, inserted, lo[a:z], hi[a:z], out, valid, done, a, carried)
    return None if room else answered(state.aggregate, form, columns, out, valid), state, f, e


def _drive(state, run, f, e, data, masks, first, lo, hi, out, valid, done, a, carried):
    """One chunk through the driver; an error names the row and its window."""
    z = a + len(lo)
    journal = state.form.journal
    if not state.form.compiled:
        lo, hi = lo.tolist(), hi.tolist()
    if journal is not None:
        journal.keeps = False  # the store is a copy: where this raises, it is thrown away
    try:
        r, f, e = run(
            state.store, state.registers, f, e, data, masks, first, lo, hi,
            tuple(o[a:z] for o in out), tuple(v[a:z] for v in valid), done,
        )  # fmt: skip
    except CompilationFailed:
        raise
    except Exception as error:
        i = int(done[0])
        rows = f"rows {lo[i] - carried} to {hi[i] - 1 - carried}" if hi[i] - lo[i] > 1 else f"row {lo[i] - carried}"
        if isinstance(error, OverflowError):
            raise OverflowError(f"{error} (the window of row {a + i}: {rows})") from error
        error.add_note(f"in the window of row {a + i}: {rows}")
        raise
    finally:
        if journal is not None:
            journal.keeps = True
    return _after(state, r), f, e


def _after(state: WindowState, r: Any) -> WindowState:
    """The window with the registers that a driver gave, be they of numba's own class."""
    registers = state.algorithm.registers
    return state.after(r if type(r) is registers else registers(*r))


def _with_room(state: WindowState, rows: int) -> WindowState:
    return grown(state, 1 << (rows - 1).bit_length()) if rows > state.capacity else state


def room_for(form: Form, n: int, every_window_has_rows: bool = False) -> tuple[tuple, tuple]:
    """Arrays for the answers and, where there can be nulls, for which of them there are."""
    out = tuple(np.empty(n, object if dtype is None else dtype) for dtype in form.outputs)
    if every_window_has_rows:  # each row is marked, where its answer can be null at all
        return out, tuple(np.empty(n if checked else 0, bool) for checked in form.checked)
    return out, tuple(np.ones(n, bool) for _ in form.checked)


def arrays(form: Form, columns: Sequence[Column]) -> tuple[tuple, tuple]:
    """The columns as the form's drivers take them, and which of their values there are."""
    if form.compiled:
        masks = [
            all_there(len(c.values) if form.masked else 0) if c.mask is None else _read_only(c.mask) for c in columns
        ]
        return tuple([_read_only(c.values) for c in columns]), tuple(masks)
    return tuple(c.objects() for c in columns), tuple(None for _ in columns)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Always so, because a kernel is compiled once for arrays that can be written and once for those that cannot."""
    view = array.view()
    view.setflags(write=False)
    return view


def answered(aggregate: Aggregate, form: Form, columns: Columns, out: tuple, valid: tuple) -> Any:
    """The arrays as the caller gets them: nulls masked, the input's own type where the answer is one of its values."""
    parts = getattr(aggregate, "parts", None) or [(aggregate, tuple(range(len(columns))))]
    results = []
    for (part, own), answers, there, restores in zip(parts, out, valid, form.restores, strict=False):
        if form.compiled:
            if not there.all():
                if part.empty is not None:
                    answers[~there] = part.empty
                else:
                    answers = np.ma.masked_array(answers, ~there)
            if restores:
                answers = columns[own[0]].restored(answers)
        results.append(answers)
    return tuple(results) if hasattr(aggregate, "parts") and form.compiled else results[0]
