"""A user's window class, compiled: one loop over the rows of all keys, with an instance for each key inside it.

The class becomes a numba class over the fields of its state: ints, floats, bools, each of them or None, and lists of
them. Class constants come along as fields that nothing may set. What plain Python would answer differently is refused
here, and runs plain: above all an attribute that is set to what its column cannot hold (numba would cut 2.5 to 2).
Ints are 64 bits wide here; code that counts beyond them raises (`engine.checked`), and runs plain.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaTypeSafetyWarning
from numba.experimental import jitclass
from numba.typed import List

from windrow.engine.row_kernels import compiled, row_source, scope_of
from windrow.engine.walks import HIGHEST
from windrow.engine.window_classes import LIMIT, WindowClass, code_of, constants_of, ends_by_time, evicts
from windrow.engine.window_states import KIND_OF, RANKS, Field


def compile_class(made: type, fields: tuple[Field, ...], names: tuple, kinds: tuple) -> WindowClass | None:
    """The class over these fields and columns of the row; None where numba cannot do it, or would do it differently."""
    own = {field.name for field in fields}
    constants = {name: value for name, value in constants_of(made).items() if name not in own}
    for _ in range(2 * len(fields) + 1):  # each turn widens a field
        found = _try(made, fields, constants, names, kinds)
        if found is None or isinstance(found, WindowClass):
            return found
        fields = found
    return None


def _try(made: type, fields: tuple[Field, ...], constants: dict, names: tuple, kinds: tuple) -> Any:
    """The compiled class, wider fields to try it with, or None."""
    spec = [(field.name, _type(field)) for field in fields]
    spec += [(name, getattr(types, KIND_OF[type(value)])) for name, value in constants.items()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", NumbaTypeSafetyWarning)
            window = _numba_class(made, spec)
    except Exception:
        return None
    source = _source(fields, len(constants), kinds, ends_by_time(made), evicts(made))
    scope = {**scope_of(names), "Window": window, "List": List, "array_of": array_of, "int64": types.int64}
    scope |= {"next_end": next_end, "HIGHEST": HIGHEST}
    scope |= {f"kind{j}": getattr(types, field.kind) for j, field in enumerate(fields)}
    run = compiled(source, "run", scope, _arguments(fields, tuple(constants.values()), kinds), on_disk=False)
    if run is None:
        return None
    if not _gives_ints(window):
        return None
    wider = _widened(window, fields)
    return WindowClass(run, fields, tuple(constants)) if wider == fields else wider


def _type(field: Field) -> Any:
    base = getattr(types, field.kind)
    return {"one": base, "optional": types.Optional(base), "list": types.ListType(base)}[field.shape]


def _numba_class(made: type, spec: list) -> Any:
    names = [name for name, _ in spec]
    scope: dict[str, Any] = {}
    body = "\n".join(f"    self.{name} = {name}" for name in names) or "    pass"
    exec(f"def __init__(self, {', '.join(names)}):\n{body}", scope)
    code = {name: thing for name, thing in code_of(made).items() if name not in names}
    return jitclass(spec)(type(made.__name__, (), {**code, "__init__": scope["__init__"]}))


def _source(
    fields: Sequence[Field], constants: int, kinds: Sequence[tuple[str, bool]], timed: bool, evicting: bool
) -> str:
    """The loop over keys and rows, with the state read before and written after each key."""
    lines, after, arguments, grown = [], [], [], []
    for j, field in enumerate(fields):
        arguments += [f"a{j}", f"b{j}"]
        if field.shape == "list":
            lines += [
                f"        x{j} = List.empty_list(kind{j})",
                f"        for j in range(b{j}[k], b{j}[k + 1]):",
                f"            x{j}.append(a{j}[j])",
            ]
            after += [
                f"        b{j}[k] = len(o{j})",
                f"        for item in window.{field.name}:",
                f"            o{j}.append(item)",
            ]
            grown.append(j)
        elif field.shape == "optional":
            lines.append(f"        x{j} = optional(a{j}[k], b{j}[k])")
            after += [
                f"        y{j} = window.{field.name}",
                f"        b{j}[k] = y{j} is not None",
                f"        if y{j} is not None:",
                f"            a{j}[k] = y{j}",
            ]
        else:
            lines.append(f"        x{j} = a{j}[k]")
            after.append(f"        a{j}[k] = window.{field.name}")
    given = [f"x{j}" for j in range(len(fields))] + [f"constants[{j}]" for j in range(constants)]
    return "\n".join(
        [
            f"def run({', '.join([ARGUMENTS, *arguments])}):",
            *(f"    o{j} = List.empty_list(kind{j})" for j in grown),
            "    when = List.empty_list(int64)",
            "    for k in range(len(seg) - 1):",
            *lines,
            f"        window = Window({', '.join(given)})",
            *(["        left, at = open[k], next_end(window, open[k], -HIGHEST, tick)"] if timed else []),
            "        for i in range(seg[k], seg[k + 1]):",
            *(_timed("            ", "times[i]", "i + k") if timed else []),
            f"            row = {row_source(kinds)}",
            "            begin, end = window.discretize(row)",
            "            begins[i] = begin",
            "            ends[i] = end",
            *(["            leaves[i] = window.evict(row)"] if evicting else []),
            *(["            left += begins[i] - ends[i]"] if timed else []),
            *(["            at = next_end(window, left, times[i] + 1, tick)"] if timed else []),
            *(_timed("        ", "until[k]", "seg[k + 1] + k") if timed else []),
            *(["        due[k] = at"] if timed else []),
            *after,
            *(f"    b{j}[len(seg) - 1] = len(o{j})" for j in grown),
            f"    return (array_of(when, int64), {' '.join(f'array_of(o{j}, kind{j}),' for j in grown)})",
        ]
    )


#: of the loop, before the columns of the state; see `user_windows.Asked` and `Clock`
ARGUMENTS = "columns, masks, seg, times, until, open, tick, begins, ends, leaves, timed, due, constants"


def _timed(indent: str, now: str, slot: str) -> list[str]:
    """The windows that event time ends up to `now`, each at the time that the window said."""
    lines = [
        f"while at < HIGHEST and at <= {now}:",
        "    when.append(at)",
        f"    timed[{slot}] += 1",
        "    window.ended(at // tick)",
        "    left -= 1",
        "    at = next_end(window, left, at, tick)",
    ]
    return [indent + line for line in lines]


@numba.njit
def next_end(window, left, least, tick):
    """When the oldest of `left` open windows ends by event time; HIGHEST: no time ends it. Not before `least`."""
    if left <= 0:
        return HIGHEST
    at = window.ends_at()
    if at is None:
        return HIGHEST
    if at >= LIMIT // tick or at <= -LIMIT // tick or at * tick < least:
        raise ValueError("no time at which a window can end")  # the plain form says it better
    return at * tick


@numba.njit
def array_of(items, kind):
    found = np.empty(len(items), kind)
    for j in range(len(items)):
        found[j] = items[j]
    return found


def _arguments(fields: Sequence[Field], constants: tuple, kinds: Sequence[tuple[str, bool]]) -> tuple:
    """Arguments of the types with which the loop will be called."""
    values, masks = [np.empty(0, kind) for kind, _ in kinds], [np.empty(0, bool) for _ in kinds]
    for array in (*values, *masks):
        array.flags.writeable = False
    whole = np.empty(0, np.int64)
    seconds = {"one": np.empty(0, bool), "optional": np.empty(0, bool), "list": whole}
    state = [array for field in fields for array in (np.empty(0, field.kind), seconds[field.shape])]
    fixed = np.empty(0, np.int64)
    fixed.flags.writeable = False
    clock = (fixed, fixed, fixed, 1)
    return (tuple(values), tuple(masks), fixed, *clock, whole, whole, whole, whole, whole, constants, *state)


def _widened(window: Any, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields made wide enough for all that the code sets them to."""
    needed = {field.name: RANKS.index(field.kind) for field in fields}
    for method in window.class_type.jit_methods.values():
        for result in method.overloads.values():
            typed = result.type_annotation
            if method.py_func.__name__ == "__init__":
                continue
            for step in (step for block in typed.blocks.values() for step in block.body):
                if not isinstance(step, numba.core.ir.SetAttr):
                    continue
                if not isinstance(typed.typemap[step.target.name], types.ClassInstanceType):
                    continue
                rank = _rank(typed.typemap[step.value.name])
                needed[step.attr] = max(needed[step.attr], rank)
    return tuple(field._replace(kind=RANKS[needed[field.name]]) for field in fields)


def _rank(found: Any) -> int:
    """How wide a value's type is; what is no number is numba's to check."""
    bare = types.unliteral(found.type if isinstance(found, types.Optional) else found)
    return 2 if isinstance(bare, types.Float) else 1 if isinstance(bare, types.Integer) else 0


def _gives_ints(window: Any) -> bool:
    """Whether `discretize` gives two ints each time, `evict` one, `ends_at` one or None."""
    wanted = {"discretize": _pair_of_ints, "evict": _int, "ends_at": _time}
    return all(
        fits(result.signature.return_type)
        for name, fits in wanted.items()
        if name in window.class_type.jit_methods
        for result in window.class_type.jit_methods[name].overloads.values()
    )


def _pair_of_ints(found: Any) -> bool:
    parts = list(found) if hasattr(found, "__iter__") else []
    return len(parts) == 2 and all(map(_int, parts))


def _int(found: Any) -> bool:
    return isinstance(types.unliteral(found), (types.Integer, types.Boolean))


def _time(found: Any) -> bool:
    return isinstance(types.unliteral(found.type if isinstance(found, types.Optional) else found), types.Integer)
