"""User-defined windows (paper 3 §3.2): a class that says of each row how many windows begin with it and end before it.

One instance a key. Its state is what its attributes hold, as plain values that a snapshot can save. A class may say
more: when event time ends its oldest window (`ends_at`, `ended`), and how many of the oldest rows leave (`evict`).
What it is asked, and in which order, depends on the rows and their times alone, not on how they were cut into steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.row_kernels import arrays_of, key_of, kinds_of, worth_compiling
from windrow.engine.row_views import mentioned, read_by_method, views
from windrow.engine.walks import HIGHEST, ready
from windrow.engine.window_classes import (
    LIMIT,
    WindowClass,
    assigned_in,
    code_of,
    constants_of,
    ends_by_time,
    evicts,
    functions_of,
)
from windrow.engine.window_states import (
    State,
    columns_of,
    fields_of,
    first_state,
    repeated,
    revived,
    state_of,
    states_from,
)
from windrow.errors import WindrowError

CHUNK = 1 << 16  # rows made into objects at a time
_compiled: dict[Any, WindowClass | None] = {}  # None: numba refuses it


class Clock(NamedTuple):
    """What windows that end by event time have to know."""

    times: np.ndarray  # of each row
    until: np.ndarray  # for each key, how far event time has come after its rows
    open: np.ndarray  # for each key, how many windows were open before its rows
    tick: int = 1  # units of these times in a microsecond, which is what the class sees


_NO_CLOCK = Clock(*np.zeros((3, 0), np.int64))


class Asked(NamedTuple):
    """What a class said of some rows."""

    begins: np.ndarray
    ends: np.ndarray
    states: list[State | None]  # of each key after its rows
    leaves: np.ndarray  # of the rows before, how many of the oldest leave
    #: event time ended windows at times `when`: those of key k before row i are from timed[i + k] to timed[i + k + 1],
    #: those behind its last row come next
    timed: np.ndarray
    when: np.ndarray
    due: np.ndarray  # for each key, when event time ends its oldest open window; HIGHEST: no time does


def discretize_rows(
    prototype: Any,
    columns: Mapping[str, Column],
    seg: np.ndarray,
    states: Sequence[State | None],
    *,
    clock: Clock | None = None,
    keep: bool = True,
    form: str = "auto",
    positions: np.ndarray | None = None,
) -> Asked:
    """For each row what its key's window says, and each key's state after its rows. The states given stay as they are.

    Args:
        prototype: a class that can be made without arguments, or an instance that every key begins with.
        columns: of the rows, sorted by key and order.
        seg: where each key's rows begin; the last entry is the number of rows.
        states: for each key its state before, None: a new one.
        clock: for classes whose windows end by event time.
        keep: whether the states after are wanted; without, they are given as None (a batch with a million keys).
        form: "plain" or "compiled" instead of "auto", which begins plain and compiles what many rows go through.
        positions: the number by which an error names each row; without, its place here.

    >>> class Pairs:
    ...     seen = 0
    ...     def discretize(self, row):
    ...         self.seen += 1
    ...         return self.seen % 2, self.seen % 2 if self.seen > 1 else 0
    >>> asked = discretize_rows(Pairs, {}, np.array([0, 3, 4]), [None, None])
    >>> asked.begins.tolist(), asked.ends.tolist(), asked.states
    ([1, 0, 1, 1], [0, 0, 1, 0], [{'seen': 3}, {'seen': 1}])
    """
    made = prototype if isinstance(prototype, type) else type(prototype)
    names = _columns_read(made, columns)
    if clock is None:
        assert not ends_by_time(made)
        clock = _NO_CLOCK
    found = None
    if form != "plain" and (form == "compiled" or worth_compiling(made, int(seg[-1]))):
        found = _run_compiled(made, first_state(prototype), columns, names, seg, states, clock, keep)
        if found is None and form == "compiled":
            raise WindrowError(f"{made.__name__} does not compile for these columns and states")
    if found is None:
        first = first_state(prototype) if None in states else {}
        given = [first if state is None else state for state in states]
        found = _run_plain(made, columns, tuple(columns) if names is None else names, seg, given, clock, positions)
    begins, ends, leaves, timed, when, due, after = found
    if any(map(_any_negative, (begins, ends, leaves))):
        raise _negative(made, begins, ends, leaves, positions)
    if not keep:
        return Asked(begins, ends, [None] * len(states), leaves, timed, when, due)
    touched = seg[1:] > seg[:-1]
    if len(when):
        touched |= timed[seg[1:] + np.arange(1, len(seg))] > timed[seg[:-1] + np.arange(len(seg) - 1)]
    kept = [new if had else old for had, new, old in zip(touched.tolist(), after, states, strict=True)]
    return Asked(begins, ends, kept, leaves, timed, when, due)


def _any_negative(values: np.ndarray) -> bool:
    return bool(len(values)) and bool(values[values.argmin()] < 0)


def _negative(made: type, begins: np.ndarray, ends: np.ndarray, leaves: np.ndarray, positions: Any) -> WindrowError:
    """The error that names the first row of which the class gave less than 0."""
    wrong = (begins < 0) | (ends < 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        return _no_pair(made, (int(begins[at]), int(ends[at])), at, positions)
    at = int(np.argmax(leaves < 0))
    return _no_count(made, int(leaves[at]), at, positions)


def _columns_read(made: type, columns: Mapping[str, Column]) -> tuple[str, ...] | None:
    """The columns that it reads, sorted; None: the code does not tell, it may be any."""
    code: Any = getattr(made, "discretize", None), getattr(made, "evict", None)
    methods, together = _read_by_methods(made, *code)
    for method, name in methods:
        if name not in columns:
            known = ", ".join(map(repr, columns))
            raise WindrowError(f"{made.__name__}.{method} reads a column {name!r}; there are {known}")
    return together


@lru_cache(256)
def _read_by_methods(made: Any, *code: Any) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...] | None]:
    """(each method with a column that it reads, all those columns); a class with other `code` is asked again."""
    found = {
        name: read_by_method(made, name) for name in (("discretize", "evict") if evicts(made) else ("discretize",))
    }
    pairs = tuple((method, name) for method, names in found.items() for name in names or ())
    unknown = any(names is None for names in found.values())
    return pairs, None if unknown else tuple(sorted({name for _, name in pairs}))


def _run_plain(
    made: type,
    columns: Any,
    names: tuple,
    seg: np.ndarray,
    states: list[State],
    clock: Clock,
    positions: Any,
) -> tuple:
    bounds = seg.tolist()
    rows = _all_views(columns, names, bounds[0], bounds[-1])
    run = _PlainRun(made, clock, bounds[-1], len(states), positions)
    after: list[State] = []
    try:
        for k, state in enumerate(states):
            window = revived(made, state)
            if run.simple:
                run.pairs.extend(map(window.discretize, islice(rows, bounds[k + 1] - bounds[k])))
            else:
                run.key(window, k, islice(rows, bounds[k + 1] - bounds[k]))
            after.append(state_of(window))
    except WindrowError:
        raise
    except Exception as error:
        error.add_note(f"in {made.__name__}.{run.method}, at row {_named(len(run.pairs), positions)}")
        raise
    begins, ends = _split(made, run.pairs, positions)
    leaves = np.array(run.leaves, np.int64) if run.evicts else np.zeros(len(begins), np.int64)
    if not run.timer:
        timed, when = np.zeros(len(run.timed) + 1, np.int64), np.empty(0, np.int64)
    else:
        timed, when = _offsets(run.timed), np.array(run.when, np.int64)
    return begins, ends, leaves, timed, when, np.array(run.due, np.int64), after


def _offsets(counts: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


class _PlainRun:
    """A class asked row by row: what it said so far."""

    def __init__(self, made: type, clock: Clock, rows: int, keys: int, positions: Any) -> None:
        self.made, self.positions = made, positions
        self.timer, self.evicts = ends_by_time(made), evicts(made)
        self.simple = not (self.timer or self.evicts)
        self.times, self.until, self.open = clock.times.tolist(), clock.until.tolist(), clock.open.tolist()
        self.tick = clock.tick
        self.pairs: list[Any] = []
        self.leaves: list[int] = []
        self.timed = [0] * (rows + keys)
        self.when: list[int] = []
        self.due = [HIGHEST] * keys
        self.method = "discretize"

    def key(self, window: Any, k: int, rows: Iterator[Any]) -> None:
        """The rows of one key. Before a row, event time ends what is due by its time; behind the last, by `until`."""
        left = self.open[k] if self.timer else 0
        due = self._next_end(window, left, -LIMIT)
        for row in rows:
            i = len(self.pairs)
            if self.timer:
                left, due = self._ended(window, left, due, self.times[i], i + k)
            self.method = "discretize"
            pair = window.discretize(row)
            if not _is_pair(pair):
                raise _no_pair(self.made, pair, i, self.positions)
            if self.evicts:
                self.method = "evict"
                leaves = window.evict(row)
                if not _is_count(leaves):
                    raise _no_count(self.made, leaves, i, self.positions)
                self.leaves.append(int(leaves))
            if self.timer:
                left += int(pair[0]) - int(pair[1])
                due = self._next_end(window, left, self.times[i] + 1)
            self.pairs.append(pair)
        if self.timer:
            _, self.due[k] = self._ended(window, left, due, self.until[k], len(self.pairs) + k)

    def _ended(self, window: Any, left: int, due: int, now: int, slot: int) -> tuple[int, int]:
        """Event time has come to `now`: how many windows are left, and when the next one ends."""
        while due < HIGHEST and due <= now:
            self.when.append(due)
            self.timed[slot] += 1
            self.method = "ended"
            window.ended(due // self.tick)
            left -= 1
            due = self._next_end(window, left, due)
        return left, due

    def _next_end(self, window: Any, left: int, least: int) -> int:
        """As `window_classes.next_end`."""
        if not self.timer or left <= 0:
            return HIGHEST
        self.method = "ends_at"
        at = window.ends_at()
        if at is None:
            return HIGHEST
        if isinstance(at, bool) or not isinstance(at, (int, np.integer)):
            raise WindrowError(
                f"{self.made.__name__}.ends_at gave {at!r}; it gives a time, as whole microseconds, or None"
            )
        if not -LIMIT // self.tick < int(at) < LIMIT // self.tick:
            raise WindrowError(f"{self.made.__name__}.ends_at gave {at}, which is too far from 1970 for 64 bits")
        if int(at) * self.tick < least:
            raise WindrowError(
                f"{self.made.__name__}.ends_at gave {at}; the window has a row at {(least - 1) // self.tick} or ended "
                "there, and ends later than that"
            )
        return int(at) * self.tick


def _all_views(columns: Mapping[str, Column], names: tuple[str, ...], start: int, end: int) -> Iterator[Any]:
    parts = (views(columns, names, a, min(a + CHUNK, end)) for a in range(start, end, CHUNK))
    return chain.from_iterable(parts)


def _split(made: type, pairs: list, positions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs -> begins, ends; the first that is no pair of ints is an error."""
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    try:
        table = np.array(pairs)
    except (ValueError, OverflowError):
        table = np.empty(0, object)
    if table.shape != (len(pairs), 2) or table.dtype.kind not in "bi":
        for at, pair in enumerate(pairs):
            if not _is_pair(pair):
                raise _no_pair(made, pair, at, positions)
        table = np.array([(int(a), int(b)) for a, b in pairs], np.int64)
    begins, ends = np.ascontiguousarray(table.T, np.int64)
    return begins, ends


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(_is_count, pair))


def _is_count(part: Any) -> bool:
    return isinstance(part, (int, np.integer)) and -(2**63) <= int(part) < 2**63


def _no_pair(made: type, pair: Any, at: int, positions: Any) -> WindrowError:
    return WindrowError(
        f"{made.__name__}.discretize gave {pair!r} at row {_named(at, positions)}; it gives two ints of 0 or more, how "
        "many windows begin and how many end"
    )


def _no_count(made: type, leaves: Any, at: int, positions: Any) -> WindrowError:
    return WindrowError(
        f"{made.__name__}.evict gave {leaves!r} at row {_named(at, positions)}; it gives an int of 0 or more, how many "
        "of the oldest rows leave"
    )


def _named(at: int, positions: np.ndarray | None) -> int:
    return at if positions is None else int(positions[at])


def _run_compiled(
    made: type,
    first: State,
    columns: Any,
    names: tuple | None,
    seg: np.ndarray,
    states: Sequence[State | None],
    clock: Clock,
    keep: bool,
) -> tuple | None:
    """None where numba cannot do it, or something is raised: the plain form says it better, and names the row."""
    if not len(states):
        return None
    key = key_of(made.__name__, sorted(code_of(made)), functions_of(made), list(constants_of(made).items()))
    if names is None:  # the row gets out of sight: texts that no method names are left out
        said = mentioned(functions_of(made))
        names = tuple(name for name, column in columns.items() if column.kind != "object" or name in said)
    kinds = kinds_of(columns, names)
    defaults = {name: getattr(made, name) for name in sorted(assigned_in(made)) if hasattr(made, name)}
    fields = fields_of(made, {**defaults, **first})
    if key is None or kinds is None or fields is None:
        return None
    if (key, fields, names, kinds) not in _compiled:
        from windrow.engine.window_compiler import compile_class

        _compiled[key, fields, names, kinds] = compile_class(made, fields, names, kinds)
    window = _compiled[key, fields, names, kinds]
    if window is None:
        return None
    new = {**defaults, **first}
    alone = all(state is None for state in states)
    given = [new] if alone else [new if state is None else {**defaults, **state} for state in states]
    arrays = columns_of(window.fields, given)
    if arrays is None:
        return None
    if alone:
        arrays = repeated(window.fields, arrays, len(states))
    n, count = int(seg[-1]), len(states)
    begins, ends, leaves = np.zeros((3, n), np.int64)
    timed, due = np.zeros(n + count, np.int64), np.full(count, HIGHEST)
    constants = tuple(getattr(made, name) for name in window.constants)
    fixed = [ready(part, np.int64) for part in (seg, *clock[:3])]
    written = begins, ends, leaves, timed, due
    try:
        when, *lists = window.run(*arrays_of(columns, names), *fixed, int(clock.tick), *written, constants, *arrays)
    except Exception:
        return None
    after = states_from(window.fields, arrays, lists, count) if keep else []
    return begins, ends, leaves, _offsets(timed), when, due, after
