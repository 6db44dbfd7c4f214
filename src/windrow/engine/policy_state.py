"""Slide policies (paper 4 §4.1.3): after each row a user's function says how much of the oldest part goes.

`evict(total, old)` sees the answers of some aggregates: `total` over the whole window with the new row in it, `old`
over its oldest part. For each key a Monoid Tree keeps them, so that any number of rows leaves in O(log n) calls.

Few rows go through in plain Python. Many go through one loop into which the policy is compiled, where numba takes it.
numba reads a global once, Python with each call: the loop is kept under a fingerprint of all that the policy refers to,
so that another value means another loop. And where compiled code raises, the rows go through once more in plain Python,
which says better what is wrong, or finds nothing wrong at all (None == 1 is False there, and an error in numba).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np

from windrow.aggregates.base import Aggregate
from windrow.aggregates.joins import Join, join
from windrow.engine.algorithm import Algorithm
from windrow.engine.batch import form_for
from windrow.engine.forms import Form, plain_form
from windrow.engine.inputs import Column
from windrow.engine.keyed import OWN, KeyedWindows, plain_access
from windrow.engine.keyed_hand import hand_access, hand_form
from windrow.engine.keyed_loops import DONE, NO_ROOM, PolicyRuns, by_policy
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
#: how many rows each policy has seen, by its fingerprint
_seen: dict[str, int] = {}


def worth_compiling(key: str, rows: int) -> bool:
    """Whether a policy has seen enough rows, these included. One whose globals have changed is another."""
    _seen[key] = min(_seen.get(key, 0) + rows, COMPILE_AFTER)
    return _seen[key] >= COMPILE_AFTER


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
        self.compiled = False  # whether the last step was
        self.trees = KeyedWindows(table, self._form(columns, nullable), algorithm)
        self._plain: Callable | None = None

    @property
    def kept(self) -> list[tuple[KeyedWindows, Aggregate]]:
        return [(self.trees, self.of)]

    def _form(self, columns: Mapping[str, Column], nullable: bool) -> Form:
        """Columns of numbers where the policy may be compiled."""
        form = None
        if isinstance(self.evict, FunctionType) and key_of(self.evict) is not None:
            own = [columns[name] for name in self.of.columns]
            kinds = tuple(column.kind for column in own) or ("bool",)
            masked = tuple(nullable or column.mask is not None for column in own) or (False,)
            form = form_for(self.of, kinds, masked)
        return form or plain_form(self.of)

    # A step.

    def bounds(
        self, runs: PolicyRuns, columns: Mapping[str, Column], n: int, number: np.ndarray, keep: bool
    ) -> np.ndarray:
        """For each of n rows the first row of its window, counted within its key, after its policy ran.

        `number` is each row's own, for errors; `keep`: the step can be taken back.
        """
        lo, at = np.zeros(n, np.int64), np.array([0, -1])
        filled = runs.end > runs.begin
        runs = PolicyRuns(*(np.ascontiguousarray(part[filled], np.int64) for part in runs))
        given = {name: _numbers(columns[name]) for name in self.of.columns}
        if not given:  # aggregates that count rows still want a column
            given = {"": Column(np.zeros(n, bool), None, np.dtype(bool))}
        held = self._sizes(runs.key)
        loop = self._compiled_loop(given, runs) if self.trees.form.compiled else None
        self.trees.begin(runs.key, held + np.minimum(runs.end - runs.begin, AHEAD), keep or loop is not None)
        self.compiled = loop is not None and self._run_compiled(loop, runs, given, lo, at, keep)
        if not self.compiled:
            self._run_plain(runs, given, lo, at, number, keep)
            if loop is not None:  # numba raises what Python does not
                self._loops[self._key()] = None
        return lo

    def _sizes(self, keys: np.ndarray) -> np.ndarray:
        """How many rows are in the window of each key."""
        if self.trees.form.compiled:
            return self.trees.word(keys, OWN + self.trees.fields.index("n"))
        registers = (self.trees.plain.cells[k][-1] for k in keys.tolist())
        return np.array([0 if r is None else r.n for r in registers], np.int64)

    def _enlarge(self, key: np.ndarray, keep: bool) -> None:
        self.trees.begin(key, 2 * self._sizes(key), keep)

    # In plain Python.

    def _run_plain(
        self, runs: PolicyRuns, given: Mapping[str, Column], lo: np.ndarray, at: np.ndarray, number: np.ndarray,
        keep: bool,
    ) -> None:  # fmt: skip
        if self._plain is None:
            self._plain = self._plain_loop()
        cells = None if self.trees.form.compiled else self.trees.cells()
        listed = PolicyRuns(*(part.tolist() for part in runs))
        values = tuple(column.objects() for column in given.values())
        try:
            while self._plain(cells, listed, values, (None,) * len(values), None, None, lo, at) != DONE:
                self._enlarge(runs.key[at[0] : at[0] + 1], keep)
        except Exception as error:
            error.add_note(f"in the policy, at row {int(number[at[1]])} of its key")
            raise

    def _plain_loop(self) -> Callable:
        trees, evict, lower, make = self.trees, self.evict, self.of.monoid_lower, row_maker(self.names)

        def view(partial, out, valid):
            return make(lower(partial))

        def goes(asked, old):
            return bool(evict(asked[0], make(lower(old))))

        if not trees.form.compiled:
            return by_policy(trees.form, trees.kernel, plain_access(), view, goes)
        form = hand_form(trees, self.of)
        return by_policy(form, trees.algorithm.kernel(form), hand_access(trees), view, goes)

    # Compiled.

    @property
    def _loops(self) -> dict:
        return self.trees.form.memo

    def _key(self) -> tuple:
        return self.trees.algorithm, "policy", key_of(self.evict), self.names

    def _compiled_loop(self, given: Mapping[str, Column], runs: PolicyRuns) -> Callable | None:
        """The loop with the policy as it is now; None: not for numba, or not worth it."""
        rows = int((runs.end - runs.begin).sum())
        key = self._key() if rows >= SMALL else None
        if key is None or key[2] is None or not worth_compiling(key[2], rows):
            return None
        if key not in self._loops:
            trees = self.trees
            policy = numba.njit(error_model="python")(self.evict)  # else a division by zero would go on
            view = _compiled_view(trees.form, self.of, self.names)

            def goes(asked, old):
                return bool(policy(asked[0], view(old, asked[1], asked[2])))

            run = by_policy(trees.form, trees.kernel, trees.access(), view, numba.njit(goes))
            lo, at = np.zeros(0, np.int64), np.zeros(2, np.int64)
            self._loops[key] = compile_quietly(run, self._arguments(runs, given, lo, at))
        return self._loops[key]

    def _arguments(self, runs: PolicyRuns, given: Mapping[str, Column], lo: np.ndarray, at: np.ndarray) -> tuple:
        form = self.trees.form
        values, masks = arrays_of(given, tuple(given), full=form.masked)
        out = tuple(np.zeros(1, dtype) for dtype in form.outputs)
        valid = tuple(np.ones(1, bool) for _ in form.outputs)
        return self.trees.cells(), runs, values, masks, out, valid, lo, at

    def _run_compiled(
        self, loop: Callable, runs: PolicyRuns, given: Mapping[str, Column], lo: np.ndarray, at: np.ndarray, keep: bool
    ) -> bool:
        """Whether all went well; if not, the trees are as they were at row `at`."""
        trees, table = self.trees, self.table
        _, *arguments = self._arguments(runs, given, lo, at)
        start, words = at.copy(), table.words[runs.key]
        while True:
            try:
                how = loop(trees.cells(), *arguments)
            except Exception:
                trees.rollback()
                table.words[runs.key], at[:] = words, start
                trees.begin(runs.key, self._sizes(runs.key) + 1, keep)
                return False
            if how == DONE:
                return True
            if how == NO_ROOM:
                self._enlarge(runs.key[at[0] : at[0] + 1], True)
                continue
            if not keep:  # what is done so far is done
                trees.commit()
                start, words = at.copy(), table.words[runs.key]
            if keep or len(trees.slots[0].log[0]) < LOG:
                trees.more_log(LOG // 8)


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
    return numba.njit(scope["view"])
