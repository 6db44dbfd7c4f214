"""Slide policies (paper 4 §4.1.3): after each row a user's function says how much of the oldest part goes.

`evict(total, old)` sees the answers of some aggregates: `total` over the whole window with the new row in it, `old`
over its oldest part. For each key a Monoid Tree keeps them, so that any number of rows leaves in O(log n) calls.

Few rows go through in plain Python, over partials that are objects. Many go through one loop into which the policy is
compiled, where numba takes it, over columns of numbers; from then on all do.

numba reads a global once, Python with each call: the loop is kept under a fingerprint of all that the policy refers to,
so that another value means another loop. And where compiled code raises, the rows go through once more in plain Python,
which says better what is wrong, or finds nothing wrong at all (None == 1 is False there, and an error in numba).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.aggregates.joins import Join, join
from windrow.engine.algorithm import Algorithm
from windrow.engine.batch import form_for
from windrow.engine.forms import Form, plain_form
from windrow.engine.inputs import Column, all_true
from windrow.engine.kernel import mode_now, whole
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import OWN, SLICE_E, plain_access
from windrow.engine.keyed_loops import DONE, NO_ROOM, PolicyRuns, by_policy
from windrow.engine.keyed_moves import move
from windrow.engine.recent import Recent
from windrow.engine.row_kernels import COMPILE_AFTER, SMALL, arrays_of, compile_quietly, key_of, scope_of
from windrow.engine.row_views import numbers, row_maker
from windrow.engine.table import Table
from windrow.engine.walking import WalkState
from windrow.errors import WindrowError

Evict = Callable[[Any, Any], Any]  # (total, old), rows with the fields of `over` -> whether the oldest part goes
#: rows of a key that there is room for before they are seen to stay
AHEAD = 1 << 16
#: writes that are logged before they count as done, where the step is not to be taken back
LOG = 1 << 16
#: loops that are kept for each form of aggregates, one for each policy; they are on disk, too
LOOPS = 16
#: how many rows each policy has seen, by its fingerprint
_seen: Recent[str, int] = Recent(1000)


def worth_compiling(key: str, rows: int) -> bool:
    """Whether a policy has seen enough rows, these included. One whose globals have changed is another."""
    _seen[key] = seen = min(_seen.get(key, 0) + rows, COMPILE_AFTER)
    return seen >= COMPILE_AFTER and mode_now() != "never"


class PolicyState(WalkState):
    """For each key the tree of what its policy sees."""

    def __init__(
        self,
        table: Table,
        algorithm: Algorithm,
        evict: Evict,
        over: Sequence[tuple[str, Aggregate]],
        columns: Mapping[str, Column],
        nullable: bool = True,
    ) -> None:
        """`columns` tell the types; `nullable`: rows to come may have nulls where these have none."""
        super().__init__(table, np.int64)
        self.evict, self.names = evict, tuple(name for name, _ in over)
        self.of: Join = join(*(aggregate for _, aggregate in over))
        for name in self.of.columns:
            if name not in columns:
                raise WindrowError(f"the policy's aggregates read {name!r}; there are {', '.join(map(repr, columns))}")
        #: a key's tree is in one of them: partials that are objects, or columns of numbers
        self.plain = KeyedWindows(table, plain_form(self.of), algorithm)
        form = self._form(columns, nullable)
        self.columns = None if form is None else KeyedWindows(table, form, algorithm)
        self.compiled = False  # whether any step was
        self._plain_run = self._plain_loop()

    @property
    def kept(self) -> list[tuple[KeyedWindows, Join]]:
        trees = [self.plain] if self.columns is None else [self.plain, self.columns]
        return [(part, self.of) for part in trees]

    def rows(self, keys: np.ndarray) -> np.ndarray:
        """How many rows each key had: its tree is in one of the two."""
        return _rows(self.plain, keys) + (0 if self.columns is None else _rows(self.columns, keys))

    def sizes(self, keys: np.ndarray) -> np.ndarray:
        """How many rows are in the window of each key."""
        return _sizes(self.plain, keys) + (0 if self.columns is None else _sizes(self.columns, keys))

    def _form(self, columns: Mapping[str, Column], nullable: bool) -> Form | None:
        """Columns of numbers, where the policy may be compiled."""
        if not isinstance(self.evict, FunctionType) or key_of(self.evict) is None:
            return None
        own = [columns[name] for name in self.of.columns]
        kinds = tuple(column.kind for column in own) or ("bool",)
        masked = tuple(nullable or column.mask is not None for column in own) or (False,)
        return form_for(self.of, kinds, masked)

    # A step.

    def bounds(
        self, runs: PolicyRuns, columns: Mapping[str, Column], n: int, number: np.ndarray, keep: bool
    ) -> np.ndarray:
        """For each of n rows the first row of its window, counted within its key, after its policy ran.

        `number` is each row's own, for errors; `keep`: the step can be taken back.
        """
        lo, at = np.zeros(n, np.int64), np.array([0, -1])
        filled = runs.end > runs.begin
        if not all_true(filled):
            runs = PolicyRuns(*(part[filled] for part in runs))
        given = {name: _numbers(columns[name]) for name in self.of.columns}
        if not given:  # aggregates that count rows still want a column
            given = {"": Column(np.zeros(n, bool), None, np.dtype(bool))}
        loop = self._compiled_loop(given, runs, n)
        if loop is None or not self._run_compiled(loop, runs, given, lo, at, keep):
            self._run_plain(runs, given, lo, at, number, keep)
            if loop is not None:  # numba raised what Python does not
                self._loops[self._key()] = None
        return lo

    def _begin(self, trees: KeyedWindows, runs: PolicyRuns, logs: bool) -> None:
        """The keys' trees are in `trees` from now on, with some room for rows to come."""
        other = self.columns if trees is self.plain else self.plain
        if other is not None:
            for k in runs.key[_rows(other, runs.key) > 0].tolist():
                move(k, other, trees, self.of)
        trees.begin(runs.key, _sizes(trees, runs.key) + np.minimum(runs.end - runs.begin, AHEAD), logs)

    # In plain Python.

    def _run_plain(
        self, runs: PolicyRuns, given: Mapping[str, Column], lo: np.ndarray, at: np.ndarray, number: np.ndarray,
        keep: bool,
    ) -> None:  # fmt: skip
        self._begin(self.plain, runs, keep)
        listed = PolicyRuns(*(part.tolist() for part in runs))
        values = tuple(column.objects() for column in given.values())
        try:
            while (
                self._plain_run(self.plain.cells(), listed, values, (None,) * len(values), None, None, lo, at) != DONE
            ):
                _enlarge(self.plain, runs.key[at[0] : at[0] + 1], keep)
        except Exception as error:
            error.add_note(f"in the policy, at row {int(number[at[1]])} of its key")
            raise

    def _plain_loop(self) -> Callable:
        trees, evict, lower, make = self.plain, self.evict, self.of.monoid_lower, row_maker(self.names)

        def view(partial, out, valid):
            return make(lower(partial))

        def goes(asked, old):
            return bool(evict(asked[0], make(lower(old))))

        return by_policy(trees.form, trees.kernel, plain_access(), view, goes)

    # Compiled.

    @property
    def _loops(self) -> Recent:
        assert self.columns is not None
        return self.columns.form.memo.setdefault("policies", Recent(LOOPS))

    def _key(self) -> tuple:
        return "policy", key_of(self.evict), self.names

    def _compiled_loop(self, given: Mapping[str, Column], runs: PolicyRuns, rows: int) -> Callable | None:
        """The loop with the policy as it is now; None: not for numba, or not worth it."""
        trees = self.columns
        if trees is None or (rows < SMALL and not self.compiled):
            return None
        key = self._key()
        if key[1] is None or (key not in self._loops and not worth_compiling(key[1], rows)):
            return None
        if key not in self._loops:
            policy = whole("checked")(self.evict)  # else a division by zero would go on
            view = _compiled_view(trees.form, self.of, self.names)

            def goes(asked, old):
                return bool(policy(asked[0], view(old, asked[1], asked[2])))

            run = by_policy(trees.form, trees.kernel, trees.access(), view, whole("numpy")(goes))
            lo, at = np.zeros(0, np.int64), np.zeros(2, np.int64)
            arguments = trees.cells(), runs, *_arguments(trees.form, given), lo, at
            self._loops[key] = compile_quietly(run, arguments)
        return self._loops[key]

    def _run_compiled(
        self, loop: Callable, runs: PolicyRuns, given: Mapping[str, Column], lo: np.ndarray, at: np.ndarray, keep: bool
    ) -> bool:
        """Whether all went well; if not, the trees are as they were at row `at`."""
        trees, table = self.columns, self.table
        assert trees is not None
        self.compiled = True
        start, words = at.copy(), table.words[runs.key]
        self._begin(trees, runs, True)
        arguments = _arguments(trees.form, given)
        while True:
            try:
                how = loop(trees.cells(), runs, *arguments, lo, at)
            except Exception:
                for part in (self.plain, trees):
                    part.rollback()
                table.words[runs.key], at[:] = words, start
                return False
            if how == DONE:
                return True
            if how == NO_ROOM:
                _enlarge(trees, runs.key[at[0] : at[0] + 1], True)
                continue
            if not keep:  # what is done so far is done
                for part in (self.plain, trees):
                    part.commit()
                start, words = at.copy(), table.words[runs.key]
            if keep or len(trees.used[0].log[0]) < LOG:
                trees.more_log(LOG // 8)


def _rows(trees: KeyedWindows, keys: np.ndarray) -> np.ndarray:
    """How many rows have gone into the tree of each key."""
    if trees.form.compiled:
        return trees.word(keys, SLICE_E)
    return np.array([trees.plain.cells[k][1] for k in keys.tolist()], np.int64)


def _sizes(trees: KeyedWindows, keys: np.ndarray) -> np.ndarray:
    """How many rows are in the window of each key."""
    if trees.form.compiled:
        return trees.word(keys, OWN + trees.fields.index("n"))
    registers = [trees.plain.cells[k][-1] for k in keys.tolist()]
    return np.array([0 if r is None else r.n for r in registers], np.int64)


def _enlarge(trees: KeyedWindows, key: np.ndarray, logs: bool) -> None:
    trees.begin(key, 2 * _sizes(trees, key), logs)


def _arguments(form: Form, given: Mapping[str, Column]) -> tuple:
    """The columns as the loop takes them, and room for one answer."""
    out = tuple(np.zeros(1, dtype) for dtype in form.outputs)
    return *arrays_of(given, tuple(given), full=form.masked), out, tuple(np.ones(1, bool) for _ in form.outputs)


def _numbers(column: Column) -> Column:
    """Times as microseconds."""
    values = numbers(column)
    return Column(values, column.mask, column.dtype if column.dtype.kind not in "mM" else values.dtype)


def _compiled_view(form: Form, joined: Join, names: tuple[str, ...]) -> Callable:
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
        f"def view(p, out, valid):\n    store(out, 0, p)\n    mark(valid, 0, p)\n    return Row({', '.join(fields)})\n",
        scope,
    )
    return whole("numpy")(scope["view"])
