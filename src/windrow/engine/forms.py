"""An aggregate made ready to run: how a row is lifted, partials combined and kept, and answers stored.

`plain_form` runs anything in the interpreter; `compiled_form` runs what is tuples of numbers, several aggregates side
by side (`join`) and null rows included, as one tuple of columns. Algorithms and drivers cannot tell the two apart.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate, Numeric, Wrapped
from windrow.aggregates.values import whole_number
from windrow.engine.columns import Journal, accessors
from windrow.engine.counted import counted_monoid
from windrow.engine.kernel import ErrorModel, inlined, plain, whole

PYTHON: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}
NUMPY: dict[str, Any] = {"float64": np.float64, "int64": np.int64, "bool": bool}


@dataclass(frozen=True)
class Form:
    """What algorithms (combine ... put_link) and drivers (lift_at, store) are closed over."""

    combine: Callable
    identity: Any
    inverse: Callable | None
    get: Callable
    put: Callable
    put_link: Callable
    jit: Callable
    lift_at: Callable  # (columns, masks, i) -> partial
    store: Callable  # (out, i, partial): the answer
    mark: Callable  # (valid, i, partial): whether there is one
    lift: Callable = plain  # (*row) -> partial, and
    lower: Callable = plain  # partial -> answer, of a plain form
    cut: Callable | None = None  # rows of partials
    take: Callable | None = None  # rows of the input
    whole: Callable = plain
    dtypes: tuple[np.dtype, ...] | None = None  # of a partial's numbers; None: partials are objects
    outputs: tuple[np.dtype | None, ...] = ()  # of the answers; None: objects
    checked: tuple[bool, ...] = ()  # which outputs can be null
    restores: tuple[bool, ...] = (False,)  # which answers are values of the part's first column
    carries: tuple[int | None, ...] = (None,)  # for each part the number that is a value of its first column
    masked: bool = False  # null rows have a place in it
    own: bool = False  # a user's functions are in it
    parts: tuple[tuple[bool, int], ...] = ()  # of each: whether it counts its rows, then how many more numbers
    joined: bool = False  # partials are tuples, one for each part
    selective: bool = False  # combine gives one of its arguments
    freeze: Callable[[Any], Any] | None = None
    thaw: Callable[[Any], Any] | None = None
    journal: Journal | None = None
    signature: tuple = ()  # the input's types, and which columns hold nulls
    total: bool = False
    sized: Callable[[], Form] | None = None  # makes the form in which combine, store and mark are told numbers of rows
    get_link: Callable = operator.getitem
    widen: Callable | None = None  # (partial, rows) -> partial: from a sized form
    narrow: Callable | None = None  # partial -> partial: to a sized form
    memo: dict = field(default_factory=dict, compare=False)

    @cached_property
    def compiled(self) -> bool:
        return self.dtypes is not None


def plain_form(aggregate: Aggregate, counted: bool = False) -> Form:
    """Partials are objects, None the identity. `counted` pairs each with its number of rows, for inverses."""
    journal = Journal()
    if counted:
        combine, inverse, lift, lower = counted_monoid(aggregate)
    else:
        combine, inverse = _with_identity(aggregate.core_combine), None
        lift, lower = aggregate.monoid_lift, aggregate.monoid_lower
    if aggregate.combines is not None:
        combine = _tallied(combine, aggregate)

    def lift_at(columns, masks, i):
        return lift(
            *[None if mask is not None and not mask[i] else c[i] for c, mask in zip(columns, masks, strict=True)]
        )

    def store(out, i, partial):
        out[0][i] = lower(partial)

    def mark(valid, i, partial):
        pass

    return Form(
        combine, None, inverse, operator.getitem, journal.put, journal.put, plain, lift_at, store, mark, lift, lower,
        outputs=(None,), checked=(False,), journal=journal,
    )  # fmt: skip


def _with_identity(core: Callable) -> Callable:
    """`Aggregate.monoid_combine` as a closure, which is called faster than a method."""

    def combine(older, newer):
        if older is None:
            return newer
        return older if newer is None else core(older, newer)

    return combine


def _tallied(combine: Callable, aggregate: Aggregate) -> Callable:
    """`combine`, each call counted on the aggregate."""

    def tallied(older, newer):
        aggregate.combines += 1
        return combine(older, newer)

    return tallied


def interpreted(form: Form) -> Form:
    """The same form with nothing compiled: for single steps, which a compiled call would only make slower."""
    if not form.compiled:
        return form
    assert form.dtypes is not None
    get, put, cut = accessors(len(form.dtypes))
    if form.own:
        get = _own_numbers(form.dtypes)

    def put_link(links, i, value):
        links[i] = value

    return replace(
        form, combine=_python(form.combine), inverse=form.inverse and _python(form.inverse), get=get, put=put, cut=cut,
        put_link=put_link, get_link=operator.getitem, jit=plain, whole=plain, lift_at=_python(form.lift_at),
        store=_python(form.store), mark=_python(form.mark),
    )  # fmt: skip


def _own_numbers(dtypes: Sequence[np.dtype]) -> Callable:
    """`get` for a user's functions, which are given Python's numbers in plain code, too."""
    scope: dict[str, Any] = {}
    fields = ", ".join(f"{PYTHON[dtype.name].__name__}(slots[{j}][i])" for j, dtype in enumerate(dtypes))
    exec(f"def get(slots, i):\n    return ({fields},)", scope)
    return scope["get"]


def _python(function: Any) -> Callable:
    return getattr(function, "py_func", function)


@dataclass(frozen=True)
class _Part:
    """One component of a compiled form: its functions, its columns of the row, its place in the partial."""

    numeric: Numeric
    columns: tuple[int, ...]
    needs: tuple[int, ...]  # the columns that must not be null
    masked: bool
    at: int
    dtypes: tuple[str, ...]
    output: str

    sized: bool = False  # its functions are told numbers of rows

    @property
    def width(self) -> int:
        return self.masked + len(self.dtypes)

    @property
    def place(self) -> str:
        return f"[{self.at}:{self.at + self.width}]"

    def without_count(self, at: int) -> _Part:
        """The part in a sized form."""
        sized: Any = self.numeric.sized  # Any: its functions take more arguments
        if sized is None or self.masked:  # where there are nulls, positions do not tell how many rows count
            return replace(self, at=at)
        numeric = replace(
            self.numeric, lift=sized.lift, combine=sized.combine, lower=sized.lower, defined=sized.defined,
            identity=sized.identity, inverse=None,
        )  # fmt: skip
        return replace(self, numeric=numeric, at=at, dtypes=("float64",) * len(sized.identity), sized=True)


def compiled_form(aggregate: Aggregate, dtypes: Sequence[str], masked: Sequence[bool]) -> Form | None:
    """The form over columns of these types, `masked` where they hold nulls; None where it does not compile."""
    components = getattr(aggregate, "parts", None) or [(aggregate, tuple(range(len(dtypes))))]
    parts: list[_Part] = []
    at = 0
    for component, columns in components:
        if any(i >= len(dtypes) for i in columns):
            return None
        kinds = tuple(dtypes[i] for i in columns)
        if any(kind not in ("int64", "float64", "bool") for kind in kinds):
            return None
        numeric = component.numeric(kinds)
        if numeric is None:
            return None
        needs = tuple(columns[j] for j in (range(len(columns)) if component.needs is None else component.needs))
        if any(masked[i] and i not in needs for i in columns):
            return None  # a null that counts as a value has no place in a column of numbers
        typed = _settle(component, numeric, kinds)
        if typed is None:
            return None
        part = _Part(numeric, columns, needs, any(masked[i] for i in needs), at, *typed)
        parts.append(part)
        at += part.width
    own = not all(component.builtin for component, _ in components)
    made = _assemble(tuple(parts), dtypes, own, joined=hasattr(aggregate, "parts"))
    selective = len(parts) == 1 and aggregate.selective and not made.masked
    return replace(
        made,
        signature=(tuple(dtypes), tuple(masked)),
        selective=selective,
        sized=lambda: replace(_sized(tuple(parts), dtypes, own), selective=selective),
    )


def _sized(parts: tuple[_Part, ...], inputs: Sequence[str], own: bool) -> Form:
    """The form for loops that know how many rows a partial stands for: parts that can do so leave out their count."""
    bare: list[_Part] = []
    for part in parts:
        bare.append(part.without_count(sum(p.width for p in bare)))
    form = _assemble(tuple(bare), inputs, own, joined=len(parts) > 1, sized=True)
    jit, scope = form.jit, {}
    wide, narrow = [], []
    for k, (part, less) in enumerate(zip(parts, bare, strict=True)):
        if less.sized:
            assert part.numeric.sized is not None
            scope[f"widen{k}"], scope[f"narrow{k}"] = jit(part.numeric.sized.widen), jit(part.numeric.sized.narrow)
        wide.append(f"widen{k}(p{less.place}, rows)" if less.sized else f"p{less.place}")
        narrow.append(f"narrow{k}(p{part.place})" if less.sized else f"p{part.place}")
    exec(f"def widen(p, rows):\n    return {' + '.join(wide)}\ndef narrow(p):\n    return {' + '.join(narrow)}", scope)
    return replace(form, widen=jit(scope["widen"]), narrow=jit(scope["narrow"]))


def _settle(component: Aggregate, numeric: Numeric, kinds: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """The types of a partial's columns and of the answer."""
    partial = tuple(
        "bool" if isinstance(v, bool) else "int64" if isinstance(v, int) else "float64" for v in numeric.identity
    )
    if component.builtin:
        return partial, numeric.answer or kinds[0]
    # A user's: ask the compiler, widening ints to floats until nothing changes.
    from numba import types

    from windrow.engine.compiler import return_type

    try:
        lift, combine, lower = (_unwrapped(f) for f in (numeric.lift, numeric.combine, numeric.lower))
        bare = isinstance(numeric.lift, Wrapped)
        inputs = [getattr(types, kind) for kind in kinds]
        for _ in range(3):
            here = [getattr(types, kind) for kind in partial]
            mine = here[0] if bare else types.Tuple(here)
            wider = _join(_join(partial, return_type(lift, *inputs)), return_type(combine, mine, mine))
            if wider is None:
                return None
            if wider == partial:
                answer = return_type(lower, mine)
                return (partial, str(answer)) if str(answer) in ("int64", "float64", "bool") else None
            partial = wider
    except Exception:  # whatever numba says to a function that is not for it
        pass
    return None


def _join(kinds: tuple[str, ...] | None, found: Any) -> tuple[str, ...] | None:
    """The columns that hold both: ints become floats where one side is a float."""
    from numba import types

    parts = list(getattr(found, "types", [found]))
    if kinds is None or len(parts) != len(kinds):
        return None
    ranks = ["bool", "int64", "float64"]
    joined = []
    for kind, part in zip(kinds, parts, strict=True):
        name = "int64" if isinstance(part, types.Integer) else str(part)
        if name not in ranks:
            return None
        joined.append(max(kind, name, key=ranks.index))
    return tuple(joined)


def _unwrapped(function: Any) -> Callable:
    return function.function if isinstance(function, Wrapped) else function


def _assemble(parts: tuple[_Part, ...], inputs: Sequence[str], own: bool, joined: bool, sized: bool = False) -> Form:
    """Generates lift_at, combine, inverse and store over the concatenated columns of all parts.

    `sized`: combine takes two numbers of rows more, store and mark one, for the parts that want to be told.
    """
    # a user's division by zero raises, as it does in plain Python, and so does an int that leaves 64 bits
    error_model: ErrorModel = "checked" if own else "numpy"
    jit = inlined(error_model)
    dtypes = tuple(np.dtype(kind) for part in parts for kind in (("int64",) * part.masked + part.dtypes))
    get, put, cut = accessors(len(dtypes))
    if own:
        get = _own_numbers(dtypes)
    scope: dict[str, Any] = {}
    lifts, combines, inverses, stores, marks = [], [], [], [], ["    pass"]
    identity: tuple = ()
    for k, part in enumerate(parts):
        numeric = part.numeric
        for role in ("lift", "combine", "inverse", "lower", "defined"):
            function = getattr(numeric, role)
            scope[f"{role}{k}"] = None if function is None else jit(_unwrapped(function))
        bare = isinstance(numeric.lift, Wrapped)
        numbers = PYTHON if own else NUMPY  # NumPy's divide and wrap as compiled code does
        neutral = tuple(numbers[kind](v) for kind, v in zip(part.dtypes, numeric.identity, strict=True))
        scope[f"none{k}"] = ((0,) if part.masked else ()) + neutral
        identity += scope[f"none{k}"]
        first = part.at + part.masked
        mine = f"[{first}:{first + len(part.dtypes)}]" if len(parts) > 1 or part.masked else ""
        inner = f"[{first}]" if bare else mine
        cast = "{}"
        if own:  # a user's functions may give an int where the column holds floats
            fields = ", ".join(
                f"{PYTHON[kind].__name__}({'t' if bare else f't[{j}]'})" for j, kind in enumerate(part.dtypes)
            )
            exec(f"def cast{k}(t):\n    return ({fields},)", scope)
            scope[f"cast{k}"] = jit(scope[f"cast{k}"])
            cast = f"cast{k}({{}})"
        pair, count = (", na, nb", ", n") if part.sized else ("", "")
        # a user's functions get Python's numbers in plain code, too
        row = ", ".join((PYTHON[inputs[i]].__name__ if own else "") + f"(columns[{i}][i])" for i in part.columns)
        lifted, combined, taken = (
            cast.format(call)
            for call in (f"lift{k}({row})", f"combine{k}(a{inner}, b{inner}{pair})", f"inverse{k}(a{inner}, b{inner})")
        )
        answer = f"out[{k}][i] = lower{k}(p{inner}{count})"
        if part.masked:
            present = " and ".join(f"masks[{i}][i]" for i in part.needs)
            lifts.append(f"((1,) + {lifted} if {present} else none{k})")
            combines.append(f"(a[{part.at}] + b[{part.at}],) + {combined}")
            inverses.append(f"(a[{part.at}] - b[{part.at}],) + {taken}")
            there = "" if numeric.defined is None else f" and defined{k}(p{inner})"
            stores.append(f"    if p[{part.at}] > 0:\n        {answer}")
            marks.append(f"    valid[{k}][i] = p[{part.at}] > 0{there}")
        else:
            lifts.append(lifted)
            combines.append(combined)
            inverses.append(taken)
            stores.append(f"    {answer}")
            if numeric.defined is not None:
                marks.append(f"    valid[{k}][i] = defined{k}(p{inner}{count})")
    pair, count = (", na, nb", ", n") if sized else ("", "")
    exec(
        f"def lift_at(columns, masks, i):\n    return {' + '.join(lifts)}\n"
        f"def combine(a, b{pair}):\n    return {' + '.join(combines)}\n"
        f"def inverse(a, b):\n    return {' + '.join(inverses)}\n"
        f"def store(out, i, p{count}):\n" + "\n".join(stores) + "\n"
        f"def mark(valid, i, p{count}):\n" + "\n".join(marks) + "\n"
        "def put_link(links, i, value):\n    links[i] = value\n"
        "def get_link(links, i):\n    return links[i]\n",
        scope,
    )
    has_inverse = all(part.numeric.inverse is not None for part in parts)
    return Form(
        combine=jit(scope["combine"]),
        identity=identity,
        inverse=jit(scope["inverse"]) if has_inverse else None,
        get=jit(get),
        put=jit(put),
        cut=jit(cut),
        take=jit(accessors(len(inputs))[2]),
        put_link=jit(scope["put_link"]),
        get_link=jit(scope["get_link"]),
        jit=jit,
        whole=whole(error_model),
        lift_at=jit(scope["lift_at"]),
        store=jit(scope["store"]),
        mark=jit(scope["mark"]),
        dtypes=dtypes,
        outputs=tuple(np.dtype(part.output) for part in parts),
        checked=tuple(part.masked or part.numeric.defined is not None for part in parts),
        restores=tuple(part.numeric.restores_input for part in parts),
        carries=tuple(_carried(part) for part in parts),
        masked=any(part.masked for part in parts),
        own=own,
        parts=tuple((part.masked, len(part.dtypes)) for part in parts),
        joined=joined,
        freeze=_freezer(parts, joined),
        thaw=_thawer(parts, joined),
        total=all(part.numeric.total for part in parts),
    )


def _carried(part: _Part) -> int | None:
    return None if part.numeric.carries is None else part.at + part.masked + part.numeric.carries


def _freezer(parts: tuple[_Part, ...], joined: bool) -> Callable[[Any], tuple]:
    """Plain partial -> tuple of numbers, each of its column's type."""

    def freeze(partial: Any) -> tuple:
        frozen: list = []
        for k, part in enumerate(parts):
            own = partial[k] if joined and partial is not None else partial
            numbers = part.numeric.identity if own is None else part.numeric.freeze(own)
            frozen += [0 if own is None else 1] * part.masked
            frozen += [
                whole_number(number) if kind == "int64" else PYTHON[kind](number)
                for kind, number in zip(part.dtypes, numbers, strict=True)
            ]
        return tuple(frozen)

    return freeze


def _thawer(parts: tuple[_Part, ...], joined: bool) -> Callable[[tuple], Any]:
    """Tuple of numbers -> plain partial."""

    def thaw(frozen: tuple) -> Any:
        partials = []
        for part in parts:
            own = frozen[part.at : part.at + part.width]
            if part.masked:
                partials.append(part.numeric.thaw(tuple(own[1:])) if own[0] else None)
            else:
                partials.append(part.numeric.thaw(tuple(own)))
        return tuple(partials) if joined else partials[0]

    return thaw
