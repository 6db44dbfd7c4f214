"""User-defined windows (paper 3 §3.2): a class that says of each row how many windows begin with it and end before it.

One instance a key. Its state is what its attributes hold, as plain values that a snapshot can save.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.row_kernels import arrays_of, key_of, kinds_of, worth_compiling
from windrow.engine.row_views import mentioned, read_by_method, views
from windrow.engine.window_classes import (
    WindowClass,
    assigned_in,
    code_of,
    compile_class,
    constants_of,
    functions_of,
)
from windrow.engine.window_states import columns_of, fields_of, repeated, states_from
from windrow.errors import WindrowError

State = dict[str, Any]
CHUNK = 1 << 16  # rows made into objects at a time
PLAIN = (type(None), bool, int, float, str, bytes, Decimal, datetime.date, datetime.datetime, datetime.timedelta)
_compiled: dict[Any, WindowClass | None] = {}  # None: numba refuses it


def discretize_rows(
    prototype: Any,
    columns: Mapping[str, Column],
    seg: np.ndarray,
    states: Sequence[State | None],
    *,
    keep: bool = True,
    form: str = "auto",
    positions: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, list[State | None]]:
    """For each row (begins, ends), and each key's state after its rows. The states given are left as they are.

    Args:
        prototype: a class that can be made without arguments, or an instance that every key begins with.
        columns: of the rows, sorted by key and order.
        seg: where each key's rows begin; the last entry is the number of rows.
        states: for each key its state before, None: a new one.
        keep: whether the states after are wanted; without, they are given as None (a batch with a million keys).
        form: "plain" or "compiled" instead of "auto", which begins plain and compiles what many rows go through.
        positions: the number by which an error names each row; without, its place here.

    >>> class Pairs:
    ...     seen = 0
    ...     def discretize(self, row):
    ...         self.seen += 1
    ...         return self.seen % 2, self.seen % 2 if self.seen > 1 else 0
    >>> begins, ends, states = discretize_rows(Pairs, {}, np.array([0, 3, 4]), [None, None])
    >>> begins.tolist(), ends.tolist(), states
    ([1, 0, 1, 1], [0, 0, 1, 0], [{'seen': 3}, {'seen': 1}])
    """
    made = prototype if isinstance(prototype, type) else type(prototype)
    first = state_of(prototype() if isinstance(prototype, type) else prototype)
    names = _columns_read(made, columns)
    found = None
    if form != "plain" and (form == "compiled" or worth_compiling(made, int(seg[-1]))):
        found = _run_compiled(made, first, columns, names, seg, states, keep)
        if found is None and form == "compiled":
            raise WindrowError(f"{made.__name__} does not compile for these columns and states")
    if found is None:
        given = [first if state is None else state for state in states]
        found = _run_plain(made, columns, tuple(columns) if names is None else names, seg, given, positions)
    begins, ends, after = found
    wrong = (begins < 0) | (ends < 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise _no_pair(made, (int(begins[at]), int(ends[at])), at, positions)
    if not keep:
        return begins, ends, [None] * len(states)
    touched = (seg[1:] > seg[:-1]).tolist()
    return begins, ends, [new if had else old for had, new, old in zip(touched, after, states, strict=True)]


def state_of(window: Any) -> State:
    """What the attributes of an instance hold; `WindrowError` where a snapshot could not."""
    state = dict(getattr(window, "__dict__", ()))
    for owner in type(window).__mro__:
        for name in vars(owner).get("__slots__", ()):
            if name not in ("__dict__", "__weakref__") and hasattr(window, name):
                state[name] = getattr(window, name)
    try:
        return {name: _plain(value) for name, value in state.items()}
    except TypeError:
        for name, value in state.items():
            try:
                _plain(value)
            except TypeError as error:
                raise WindrowError(
                    f"{type(window).__name__}.{name} holds a {error}; the state of a window is numbers, texts, None, "
                    "and lists and tuples of them"
                ) from None
        raise


def _plain(value: Any) -> Any:
    """A value as a snapshot holds it, sharing nothing with the window."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_plain(part) for part in value]
    if kind is tuple:
        return tuple(_plain(part) for part in value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    raise TypeError(kind.__name__)


def revived(made: type, state: State) -> Any:
    """An instance with this state, without a call of its __init__."""
    window: Any = object.__new__(made)
    attributes = getattr(window, "__dict__", None)
    for name, value in state.items():
        if attributes is None or name in getattr(made, "__slots__", ()):
            object.__setattr__(window, name, _plain(value))
        else:
            attributes[name] = _plain(value)
    return window


def _columns_read(made: type, columns: Mapping[str, Column]) -> tuple[str, ...] | None:
    names = read_by_method(made, "discretize")
    for name in names or ():
        if name not in columns:
            known = ", ".join(map(repr, columns))
            raise WindrowError(f"{made.__name__}.discretize reads a column {name!r}; there are {known}")
    return names


def _run_plain(made: type, columns: Any, names: tuple, seg: np.ndarray, states: list[State], positions: Any) -> tuple:
    bounds = seg.tolist()
    rows = _all_views(columns, names, bounds[0], bounds[-1])
    pairs: list[Any] = []
    after: list[State] = []
    try:
        for k, state in enumerate(states):
            window = revived(made, state)
            pairs.extend(map(window.discretize, islice(rows, bounds[k + 1] - bounds[k])))
            after.append(state_of(window))
    except WindrowError:
        raise
    except Exception as error:
        error.add_note(f"in {made.__name__}.discretize, at row {_named(len(pairs), positions)}")
        raise
    return *_split(made, pairs, positions), after


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
            counts = isinstance(pair, (tuple, list)) and all(isinstance(part, (int, np.integer)) for part in pair)
            if not counts or len(pair) != 2 or not all(-(2**63) <= part < 2**63 for part in pair):
                raise _no_pair(made, pair, at, positions)
        table = np.array([(int(a), int(b)) for a, b in pairs], np.int64)
    table = table.astype(np.int64, copy=False)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])


def _no_pair(made: type, pair: Any, at: int, positions: Any) -> WindrowError:
    return WindrowError(
        f"{made.__name__}.discretize gave {pair!r} at row {_named(at, positions)}; it gives two ints of 0 or more, how "
        "many windows begin and how many end"
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
    n = int(seg[-1])
    begins, ends = np.zeros(n, np.int64), np.zeros(n, np.int64)
    constants = tuple(getattr(made, name) for name in window.constants)
    bounds = np.ascontiguousarray(seg, np.int64)
    try:
        lists = window.run(*arrays_of(columns, names), bounds, begins, ends, constants, *arrays)
    except Exception:
        return None
    return begins, ends, states_from(window.fields, arrays, lists, len(states)) if keep else []
