"""Which aggregates are computed together: those that compile, each by itself or as one tuple, the others in Python.

What can be read off others that are computed anyway is not computed again: a mean of floats off their sum and count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from windrow.aggregates import join
from windrow.aggregates.base import Aggregate, Derivation
from windrow.aggregates.joins import Join
from windrow.aggregates.laws import check_laws
from windrow.engine.batch import form_for, sample_rows
from windrow.engine.columns import allocate
from windrow.engine.forms import Form, plain_form
from windrow.engine.inputs import Column, all_true
from windrow.errors import WindrowError
from windrow.frames.types import Order, Type, example
from windrow.step.decoding import RANK_OF, TimeAnswer, over_ranks, over_times

#: mark the row numbers of a column: of all rows, and of those that are not null
ROW_OF, VALID_ROW_OF = "\0", "\1"
#: a column for aggregates that read none
NOTHING = ""


@dataclass(slots=True, eq=False)
class Answer:
    """A column of answers: values, which of them there are (None: all), or the input column that they are rows of."""

    values: np.ndarray
    there: np.ndarray | None = None
    rows_of: str | None = None

    def at(self, where: np.ndarray | slice) -> Answer:
        """Some of the answers."""
        return Answer(self.values[where], None if self.there is None else self.there[where], self.rows_of)

    def spread(self, rows: np.ndarray, n: int) -> Answer:
        """The answers of some of n rows, for all of them: the others have none."""
        values = np.full(n, None) if self.values.dtype == object else np.zeros(n, self.values.dtype)
        there = np.zeros(n, bool)
        values[rows], there[rows] = self.values, True if self.there is None else self.there
        return Answer(values, there, self.rows_of)


@dataclass(frozen=True)
class Group:
    """Aggregates that share a pass and a partial."""

    names: tuple[str, ...]
    of: Join
    form: Form
    columns: tuple[str, ...]  # as the join takes them, some of them row numbers
    dtypes: dict[str, np.dtype]  # of the columns as they came
    decoded: Mapping[str, TimeAnswer | Order] = field(default_factory=dict)  # for answers that stand for other values

    def labels(self) -> dict[int, tuple[str, str]]:
        """The numbers of a partial that are row numbers: place -> (the aggregate, the column whose rows they are)."""
        found: dict[int, tuple[str, str]] = {}
        if not self.form.compiled:
            return found
        for name, (_, own), place in zip(self.names, self.of.parts, self.form.carries, strict=True):
            if own and place is not None and self.columns[own[0]].startswith((ROW_OF, VALID_ROW_OF)):
                found[place] = (name, self.columns[own[0]][1:])
        return found

    def slots(self, size: int) -> Any:
        """Room for partials."""
        return allocate(self.form.dtypes, size)

    def room(self, n: int) -> tuple[tuple, tuple]:
        """Room for n answers, and for which of them there are."""
        out = tuple([np.empty(n, object if dtype is None else dtype) for dtype in self.form.outputs])
        return out, tuple([_all_true(n) for _ in out])

    def collected(self, arrays: Any) -> dict[str, Answer]:
        """What a window algorithm gave, by the aggregates' names."""
        if not isinstance(arrays, tuple):
            return self._unzipped(arrays)
        found = {}
        for name, array, (_, own) in zip(self.names, arrays, self.of.parts, strict=True):
            there = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
            source = self.columns[own[0]] if own else NOTHING
            rows_of = source[1:] if source.startswith((ROW_OF, VALID_ROW_OF)) else None
            found[name] = self._answer(name, np.ma.getdata(array), there, rows_of)
        return found

    def _answer(self, name: str, values: np.ndarray, there: np.ndarray | None, rows_of: str | None = None) -> Answer:
        """Answers; numbers that stand for times, durations or categories become these."""
        if name in self.decoded:
            values = self.decoded[name].read(values, there)
        return Answer(values, there, rows_of)

    def answers(self, out: tuple, valid: tuple) -> dict[str, Answer]:
        """What a kernel has put there, by the aggregates' names."""
        if not self.form.compiled:
            return self._unzipped(out[0])
        found = {}
        for (name, empty, rows_of, dtype), values, mask in zip(self._told, out, valid, strict=True):
            there = None if all_true(mask) else mask
            if there is not None and empty is not None:
                values[~there] = empty
                there = None
            if dtype is not None and values.dtype is not dtype:
                values = Column(values, None, dtype).restored(values)
            found[name] = self._answer(name, values, there, rows_of)
        return found

    @cached_property
    def _told(self) -> list[tuple[str, Any, str | None, np.dtype | None]]:
        """Of each answer: its name, what it is where there is no row, and whose rows, or of which type, it is."""
        found = []
        for k, (name, (aggregate, own)) in enumerate(zip(self.names, self.of.parts, strict=True)):
            source = self.columns[own[0]] if own and self.form.restores[k] else NOTHING
            rows_of = source[1:] if source.startswith((ROW_OF, VALID_ROW_OF)) else None
            found.append((name, aggregate.empty, rows_of, self.dtypes.get(source) if rows_of is None else None))
        return found

    def _unzipped(self, tuples: np.ndarray) -> dict[str, Answer]:
        answers = [self.of.monoid_lower(None) if t is None else t for t in tuples.tolist()]  # None: no rows
        columns = zip(*answers, strict=True) if answers else [()] * len(self.names)
        found = {name: _objects(column) for name, column in zip(self.names, columns, strict=True)}
        return {name: self._answer(name, answer.values, answer.there) for name, answer in found.items()}


def _all_true(n: int) -> np.ndarray:
    mask = np.empty(n, bool)  # np.ones takes twice as long for a few rows
    mask.fill(True)
    return mask


def _objects(column: Any) -> Answer:
    values = np.empty(len(column), object)
    values[:] = column
    there = np.fromiter((value is not None for value in column), bool, len(column))
    return Answer(values, None if there.all() else there)


@dataclass(frozen=True)
class Derived:
    """An aggregate that is read off others: how, and the names of those others."""

    how: Derivation
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Arrangement:
    """All aggregates of a query, in groups, and those that are read off others."""

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    derived: dict[str, Derived]

    def columns(self) -> tuple[str, ...]:
        """The columns that aggregates read."""
        return self._columns

    def row_numbers(self) -> tuple[str, ...]:
        """The columns of which aggregates take row numbers."""
        return self._row_numbers

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The columns of which aggregates take ranks."""
        return tuple(c[1:] for c in self._columns if c.startswith(RANK_OF))

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for group in self.groups for column in group.columns))

    @cached_property
    def _row_numbers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c[1:] for c in self._columns if c.startswith((ROW_OF, VALID_ROW_OF))))

    def finished(self, found: dict[str, Answer]) -> dict[str, Answer]:
        """The answers in the order declared."""
        if not self.derived and len(found) == 1:
            return found
        done = dict(found)
        for name, derived in self.derived.items():
            done[name] = Answer(*derived.how.read(*(done[source].values for source in derived.sources)))
        return {name: done[name] for name in self.names}


def arrange(
    aggregates: Mapping[str, Aggregate],
    columns: Mapping[str, Column],
    nullable: bool = False,
    types: Mapping[str, Type] | None = None,
    together: bool = False,
    own_plain: bool = False,
) -> Arrangement:
    """The groups for columns like these.

    Args:
        nullable: rows to come may have nulls where these have none.
        types: what the columns hold, to refuse what an aggregate cannot take before there are rows.
        together: one kernel for all that compile. It goes through the rows once, and has to be compiled for just this
            set of aggregates; otherwise each has its own, which is on disk as soon as any query has used it.
        own_plain: users' own aggregates run in plain Python. To know their types takes a compiler.
    """
    wanted, derived = _without_derived(aggregates, columns)
    # nulls in one column: forms with room for them in all, so that there are two kernels to compile, not 2^columns
    nullable = nullable or any(column.mask is not None for column in columns.values())

    def kind(name: str) -> tuple[str, bool]:
        if name == NOTHING or name.startswith(ROW_OF):
            return "int64", False
        as_numbers = name.startswith((VALID_ROW_OF, RANK_OF))
        column = columns[name[1:] if as_numbers else name]
        return ("int64" if as_numbers else column.kind), nullable or column.mask is not None

    def form(joined: Join, names: tuple[str, ...]) -> Form | None:
        kinds, masked = zip(*(kind(name) for name in names), strict=True)
        return form_for(joined, kinds, masked)

    fast: dict[str, Aggregate] = {}
    slow: dict[str, Aggregate] = {}
    decoded: dict[str, TimeAnswer | Order] = {}
    types = {} if types is None else types
    for name, aggregate in wanted.items():
        own = [columns[column] for column in aggregate.columns]
        if aggregate.builtin:
            _check_types(aggregate, own, types)
            aggregate, answer = over_ranks(aggregate, types) or over_times(aggregate, own)
            decoded |= {} if answer is None else {name: answer}
        elif own and len(own[0].values):
            check_laws(aggregate, sample_rows(tuple(own)), synthetic=True)
        bound = _by_row_number(aggregate, own, nullable)
        plain = aggregate.combines is not None or (own_plain and not aggregate.builtin)
        if not plain and form(*_joined([bound])) is not None:
            fast[name] = bound
        else:
            slow[name] = aggregate
    groups = []
    dtypes = {name: column.dtype for name, column in columns.items()}
    compiled = [fast] if together else [{name: aggregate} for name, aggregate in fast.items()]
    for some in (*compiled, slow):
        if some:
            joined, names = _joined(list(some.values()))
            made = form(joined, names) if some is not slow else _counted(plain_form(joined), [wanted[n] for n in some])
            assert made is not None  # each of them compiles by itself
            mine = {name: decoded[name] for name in some if name in decoded}
            groups.append(Group(tuple(some), joined, made, names, dtypes, mine))
    return Arrangement(tuple(aggregates), tuple(groups), derived)


def _counted(form: Form, aggregates: list[Aggregate]) -> Form:
    """The form, with each combine counted on the aggregates that are `swag.counting`."""
    counting = [aggregate for aggregate in aggregates if aggregate.combines is not None]
    combine = form.combine

    def tallied(older: Any, newer: Any) -> Any:
        for aggregate in counting:
            aggregate.combines += 1
        return combine(older, newer)

    return replace(form, combine=tallied) if counting else form


def _check_types(aggregate: Aggregate, own: list[Column], types: Mapping[str, Type]) -> None:
    """Text where a number is needed is refused before any row is taken in."""
    if not any(column.kind == "object" for column in own):
        return
    values = [_some_value(column, types.get(name)) for name, column in zip(aggregate.columns, own, strict=True)]
    if any(value is None for value in values):
        return  # nothing is known of a column; what comes will be looked at
    try:
        aggregate.monoid_lift(*values)
    except TypeError as error:
        raise WindrowError(f"{aggregate!r}: {error}; look at column {', '.join(aggregate.columns)}") from error


def _some_value(column: Column, of: Type | None) -> Any:
    """The first that is not null; where there is none, one that is made up; None: nothing is known."""
    there = np.flatnonzero(column.mask) if column.mask is not None else np.arange(min(len(column.values), 1))
    if len(column.values) and len(there):
        at = int(there[0])
        return Column(column.values[at : at + 1], None, column.dtype).objects()[0]
    return None if of is None else example(of, 1)


def compiled_answer(aggregate: Aggregate, kinds: tuple[str, ...], nullable: bool = True) -> np.dtype | None:
    """The type of an aggregate's answers over columns of these kinds of the engine's; None: it does not compile."""
    joined, names = _joined([aggregate])
    found = form_for(joined, kinds or ("int64",), (nullable and bool(kinds),) * len(names))
    return None if found is None else found.outputs[0]


def _joined(aggregates: list[Aggregate]) -> tuple[Join, tuple[str, ...]]:
    joined = join(*aggregates)
    return joined, joined.columns or (NOTHING,)


def _by_row_number(aggregate: Aggregate, own: list[Column], nullable: bool) -> Aggregate:
    """The aggregate over row numbers instead of texts, or instead of values among which a null may be chosen."""
    if not aggregate.carries_label or not own:
        return aggregate
    chooses_nulls = aggregate.needs is not None and 0 not in aggregate.needs
    if own[0].kind == "object" or (chooses_nulls and (nullable or own[0].mask is not None)):
        mark = ROW_OF if chooses_nulls else VALID_ROW_OF
        return aggregate(mark + aggregate.columns[0], *aggregate.columns[1:])
    return aggregate


def _without_derived(
    aggregates: Mapping[str, Aggregate], columns: Mapping[str, Column]
) -> tuple[dict[str, Aggregate], dict[str, Derived]]:
    """Leaves out each aggregate that can be read off one that is asked for, too; what it needs beside that is added."""

    def named(source: Aggregate, of: tuple[str, ...]) -> str | None:
        found = (n for n, a in aggregates.items() if a.computes(source) and a.columns == of and a.combines is None)
        return next(found, None)

    wanted = dict(aggregates)
    derived: dict[str, Derived] = {}
    for name, aggregate in aggregates.items():
        how, of = aggregate.derived_from, aggregate.columns
        if how is None or columns[of[0]].kind not in how.kinds or named(how.sources[0], of) is None:
            continue
        names = []
        for source in how.sources:
            names.append(named(source, of) or f"{ROW_OF}{source.name} of {of[0]}")
            wanted.setdefault(names[-1], source(*of))
        derived[name] = Derived(how, tuple(names))
        del wanted[name]
    return wanted, derived
