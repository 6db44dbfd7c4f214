"""`Aggregate`: lift, combine, lower (paper 1, §3.1) and the algebraic facts that algorithms ask for.

Two layers, so that each formula is written once:

* the *core* functions know nothing of nulls: `lift(*row) -> partial`, `combine(older, newer) -> partial`,
  `lower(partial) -> answer`. They are plain Python that numba can compile where partials are tuples of numbers;
* the *monoid* adjoins `None` as the identity ("no rows yet"), which is how nulls are skipped and how the
  aggregate of no rows gets its answer (`empty`) without asking every formula to think of it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from windrow.errors import WindrowError, WrongType

Partial = Any


def same(value: Any) -> Any:
    """The default `lower`: the partial is the answer."""
    return value


@dataclass(frozen=True)
class Sized:
    """A numeric form whose partials do not carry their number of rows, for loops that know it from positions.

    `combine(older, newer, rows of older, rows of newer)` and `lower(partial, rows)` are told instead, as floats. Of two
    neighbours at most one has no rows. `widen(partial, rows)` and `narrow(partial)` lead to the counted partial and
    back.
    """

    lift: Callable[..., tuple]
    combine: Callable[[tuple, tuple, float, float], tuple]
    lower: Callable[[tuple, float], Any]
    identity: tuple
    widen: Callable[[tuple, float], tuple]
    narrow: Callable[[tuple], tuple]
    defined: Callable[[tuple, float], bool] | None = None


@dataclass(frozen=True)
class Numeric:
    """The form of an aggregate that compiles: every partial is a tuple of numbers.

    `identity` fixes the width and the column types (int, float or bool). `freeze` and `thaw` turn a plain partial
    into such a tuple and back; both default to leaving it alone. `total` says that no function here can raise.
    """

    lift: Callable[..., tuple]
    combine: Callable[[tuple, tuple], tuple]
    lower: Callable[[tuple], Any]
    identity: tuple
    inverse: Callable[[tuple, tuple], tuple] | None = None
    freeze: Callable[[Partial], tuple] = same
    thaw: Callable[[tuple], Partial] = same
    #: whether `lower` has an answer; None: always. (Asked beside it, so that loops stay free of branches.)
    defined: Callable[[tuple], bool] | None = None
    #: the type of the answer: "float64", "int64", "bool"; None: that of the first input
    answer: str | None = "float64"
    total: bool = True
    restores_input: bool = False  # the answer is one of the first input's values (min, max, first ...)
    #: which number of the partial is the first input's value, handed on as it is; None: none
    carries: int | None = None
    #: the same without a count of rows, where there is one to be spared
    sized: Sized | None = None
    #: the partial in SQL, an expression of aggregate functions for each of its numbers, over the rows that count: {0}
    #: and {1} stand for the columns (false and true are 0 and 1), {x} and {y} for the same as floats, null for the
    #: identity. None: SQL has no functions that agree
    sql: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Derivation:
    """How an aggregate's answers are read off those of others over the same columns.

    It pays where the first of the sources is asked for anyway. The others cost little: they are added where needed.
    """

    sources: tuple[Aggregate, ...]
    #: the sources' columns of answers -> the answers, and which of them there are (None: all)
    read: Callable[..., tuple[np.ndarray, np.ndarray | None]]
    #: the types of the first column for which this gives what the aggregate itself gives
    kinds: tuple[str, ...]


#: what the answers are. By name; or a value of the first column, a list of such values; or as the types of the columns
#: tell (`local.schema`): a sum, mean, product or range of integers, floats, decimals, durations or times
Result = Literal[
    "int64", "float64", "bool", "text", "int64 list", "float64 list", "input", "list", "sum", "mean", "product", "range"
]


@lru_cache(maxsize=512)
def _arity(lift: Callable[..., Any]) -> tuple[int, int | None]:
    try:
        parameters = inspect.signature(lift).parameters.values()
    except (TypeError, ValueError):  # a C function without a signature
        return 1, None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    most = None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
    return sum(p.default is p.empty for p in positional), most


class Aggregate:
    """An aggregate of one's own: `combine` must be associative, `identity` its neutral element.

    >>> import windrow
    >>> vwap = windrow.Aggregate(
    ...     lift=lambda price, volume: (price * volume, volume),
    ...     combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ...     lower=lambda s: s[0] / s[1],
    ...     identity=(0.0, 0.0),
    ... )
    >>> vwap.lower(vwap.combine(vwap.lift(10.0, 1.0), vwap.lift(20.0, 3.0)))
    17.5
    >>> vwap("price", "volume").columns
    ('price', 'volume')

    Args:
        lift: a row's values -> a partial.
        combine: two neighbouring partials, the older first -> their partial. Must not change its arguments.
        lower: the window's partial -> the answer.
        identity: the neutral partial. Numbers or a tuple of numbers: the aggregate is compiled.
        inverse: `inverse(combine(a, b), a) == b`, where there is such a function (and it is exact).
        commutative: the order of rows does not matter.
        selective: `combine` returns one of its arguments (min- and max-like).
        name: for messages; the class of a user's aggregate is known as "user's own" otherwise.
        returns: the type of the answer, a pyarrow type or its name ("float64"): a result's types are known before there
            are rows. Needed only where the answer for made-up rows does not tell it.
        dump, load: a partial -> bytes, and back, for stores and snapshots. Needed only where partials are objects that
            neither are numbers, texts, bytes, times, nor lists, tuples, sets or dicts of these. Nothing is pickled.
    """

    columns: tuple[str, ...] = ()
    builtin = False
    dump: Callable[[Partial], Any]  # there only where partials are saved as something else
    load: Callable[[Any], Partial]
    #: which of lift's arguments must not be null for the row to count; None: all of them
    needs: tuple[int, ...] | None = None
    #: what `lower` gives for a window without rows
    empty: Any = None
    #: the same aggregate in exact, invertible arithmetic, where this one rounds
    exact: Aggregate | None = None
    #: how often combine was called; None: not counted (see `swag.counting`)
    combines: Any = None
    #: hands on a value of its first column without looking at it: the number of its row will do
    carries_label = False
    #: which of lift's arguments it compares with those of other rows: ordered categories come as their ranks there
    compares: tuple[int, ...] = ()
    #: what its answers are; None: its compiled form tells, or `returns`, or its answer for rows that are made up
    result: Result | None = None
    #: the same over times or durations, which count so many units of its answer each; None: as over integers
    over_times: Callable[[int], Aggregate] | None = None
    #: its answer is a set: the order of the items means nothing
    unordered = False
    #: its answers can be read off others
    derived_from: Derivation | None = None
    #: it takes the rows where this holds: a predicate (`windows.predicates`) that the query has not read yet; None: all
    where: Any = None

    def __init__(
        self,
        lift: Callable[..., Partial],
        combine: Callable[[Partial, Partial], Partial],
        lower: Callable[[Partial], Any] = same,
        identity: Partial = None,
        *,
        inverse: Callable[[Partial, Partial], Partial] | None = None,
        commutative: bool = False,
        selective: bool = False,
        name: str = "user's own",
        returns: Any = None,
        dump: Callable[[Partial], bytes] | None = None,
        load: Callable[[bytes], Partial] | None = None,
    ) -> None:
        for label, function in (("lift", lift), ("combine", combine), ("lower", lower)):
            if not callable(function):
                raise WrongType(f"{label} must be a function, not {type(function).__name__}")
        if (dump is None) != (load is None):
            raise WrongType("dump and load go together: what one writes the other reads")
        if dump is not None and load is not None:
            if not callable(dump) or not callable(load):
                raise WrongType("dump and load must be functions: from a partial to bytes, and back")
            self.dump, self.load = dump, load
        self.lift, self.combine, self.lower, self.identity = lift, combine, lower, identity
        self.inverse = inverse
        self.commutative, self.selective, self.name = commutative, selective, name
        self.returns = returns
        self.core_lift, self.core_combine, self.core_lower = lift, combine, lower
        self.core_inverse = inverse
        self.numeric: Callable[[Sequence[str]], Numeric | None] = self._own_numeric

    @property
    def invertible(self) -> bool:
        """There is an exact inverse, here or in the exact form."""
        return self.inverse is not None or self.exact is not None

    @property
    def arity(self) -> tuple[int, int | None]:
        """How many columns `lift` takes: at least, at most (None: any number)."""
        return _arity(self.core_lift)

    def computes(self, other: Aggregate) -> bool:
        """Whether it does what the other one does, over whatever columns."""
        mine, theirs = ((a.core_lift, a.core_combine, a.core_lower, a.needs, a.builtin, a.empty) for a in (self, other))
        return mine == theirs

    def __call__(self, *columns: str, where: Any = None) -> Aggregate:
        """The same aggregate over named columns, for a query; with `where`, of the rows where that holds."""
        least, most = self.arity
        if len(columns) < least or (most is not None and len(columns) > most):
            expected = f"{least}" if most == least else f"{least} to {most}" if most is not None else f"{least} or more"
            raise WindrowError(f"{self.name} takes {expected} column(s), got {len(columns)}: {', '.join(columns)}")
        bound = copy.copy(self)
        bound.columns = tuple(columns)
        if where is not None:
            bound.where = where
        return bound

    def __repr__(self) -> str:
        condition = [] if self.where is None else [f"where={self.where!r}"]
        return f"{self.name}({', '.join([*self.columns, *condition])})"

    # The monoid with None adjoined: what the plain engine runs on.

    def monoid_lift(self, *row: Any) -> Partial | None:
        """`lift`, or None where the row is to be skipped."""
        needed = row if self.needs is None else [row[i] for i in self.needs]
        for value in needed:
            if value is None:
                return None
        return self.core_lift(*row)

    def monoid_combine(self, older: Partial | None, newer: Partial | None) -> Partial | None:
        """`combine` with None as identity."""
        if older is None:
            return newer
        if newer is None:
            return older
        return self.core_combine(older, newer)

    def monoid_lower(self, partial: Partial | None) -> Any:
        """`lower`, or `empty` where there was no row."""
        return copy.copy(self.empty) if partial is None else self.core_lower(partial)  # a copy: [] is the caller's

    def monoid_inverse(self, total: Partial | None, oldest: Partial | None) -> Partial | None:
        """`inverse` with None as identity."""
        if total is None or oldest is None:
            return total
        assert self.core_inverse is not None
        return self.core_inverse(total, oldest)

    def _own_numeric(self, dtypes: Sequence[str]) -> Numeric | None:
        """A user's aggregate compiles when its identity is a number or a tuple of numbers."""
        if isinstance(self.identity, (int, float)):
            lift, combine, lower, inverse = self.lift, self.combine, self.lower, self.inverse
            return Numeric(
                lift=Wrapped("lift", lift),
                combine=Wrapped("combine", combine),
                lower=Wrapped("lower", lower),
                identity=(self.identity,),
                inverse=None if inverse is None else Wrapped("combine", inverse),
                freeze=lambda p: (p,),
                thaw=lambda p: p[0],
                total=False,
            )
        flat = isinstance(self.identity, tuple) and self.identity
        if flat and all(isinstance(part, (int, float)) for part in self.identity):
            return Numeric(
                self.lift, self.combine, self.lower, self.identity, inverse=self.inverse, freeze=tuple, total=False
            )
        return None


@dataclass(frozen=True)
class Wrapped:
    """A function on bare numbers that the compiler is to wrap for 1-tuples (role: lift, combine or lower)."""

    role: str
    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError("only the compiler calls this")  # pragma: no cover


class Builtin(Aggregate):
    """An aggregate of the library: public `lift`, `combine` and `lower` are the monoid's own, its identity None."""

    builtin = True

    def __init__(
        self,
        name: str,
        lift: Callable[..., Partial],
        combine: Callable[[Partial, Partial], Partial],
        lower: Callable[[Partial], Any] = same,
        *,
        inverse: Callable[[Partial, Partial], Partial] | None = None,
        commutative: bool = False,
        selective: bool = False,
        needs: tuple[int, ...] | None = None,
        empty: Any = None,
        exact: Aggregate | None = None,
        numeric: Callable[[Sequence[str]], Numeric | None] | None = None,
        dump: Callable[[Partial], Any] = same,
        load: Callable[[Any], Partial] = same,
        carries_label: bool = False,
        result: Result | None = None,
        over_times: Callable[[int], Aggregate] | None = None,
        unordered: bool = False,
        derived_from: Derivation | None = None,
        compares: tuple[int, ...] = (),
    ) -> None:
        super().__init__(lift, combine, lower, inverse=inverse, commutative=commutative, selective=selective, name=name)
        self.needs, self.empty, self.exact = needs, empty, exact
        self.numeric = numeric or (lambda dtypes: None)
        self.dump, self.load = dump, load  # partial <-> what a snapshot can hold
        self.carries_label, self.derived_from, self.over_times = carries_label, derived_from, over_times
        self.result = "input" if carries_label else result
        self.unordered, self.compares = unordered, compares
        self.lift, self.combine, self.lower = self.monoid_lift, self.monoid_combine, self.monoid_lower
        self.inverse = None if inverse is None else self.monoid_inverse
        self.identity = None
