"""One window by hand: what the classes of all algorithms share.

What an algorithm does is in its record (`engine.algorithm`), which the engine runs over whole arrays. A class puts the
single steps, bulk operations and snapshots around it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from windrow.aggregates.base import Aggregate, same
from windrow.aggregates.compare import alike
from windrow.aggregates.laws import check_laws
from windrow.aggregates.values import without_condition
from windrow.engine import batch, snapshot
from windrow.engine.algorithm import Algorithm, Card, Kernel, Monoid
from windrow.engine.columns import Store
from windrow.engine.forms import Form
from windrow.engine.identity import Described, described
from windrow.engine.inputs import python_values
from windrow.engine.loaded import Partials, check_columns, check_numbers, check_window
from windrow.engine.paged import Paged, closed, is_open, opened
from windrow.engine.state import WindowState, by_hand, converted, duplicate, empty, grown, new_store
from windrow.errors import OptionError, SnapshotError, WrongType
from windrow.swag.enforcing import Enforcing

__all__ = ["Algorithm", "Card", "Kernel", "Monoid", "Swag"]


class Swag(Enforcing):
    """A window that can be asked for its aggregate at any time.

    Args:
        aggregate: of `windrow.agg`, or one's own `windrow.Aggregate`.
        capacity: rows to make room for at once. By hand, a window takes the room that its rows need.
    """

    algorithm: Algorithm
    # the same by field, set from the record
    kernel: ClassVar[Callable[..., Any]]
    layout: ClassVar[Callable[[int], tuple[int, int, int]]]
    card: ClassVar[Card]
    registers: ClassVar[Any]
    name: ClassVar[str]
    partial_registers: ClassVar[tuple[str, ...]]
    counted: ClassVar[bool]
    plain_only: ClassVar[bool]
    fused: ClassVar[bool]
    endless: ClassVar[bool]

    capacity: int
    s: Store
    r: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        record = vars(cls).get("algorithm")
        if record is not None:
            for name in ("card", "registers", "name", "partial_registers", "counted", "plain_only", "fused", "endless"):
                setattr(cls, name, getattr(record, name))
            for name in ("kernel", "layout"):
                setattr(cls, name, staticmethod(getattr(record, name)))

    def __init__(self, aggregate: Aggregate, *, capacity: int = 16) -> None:
        if not isinstance(aggregate, Aggregate):
            raise WrongType(f"{type(self).__name__} takes an aggregate such as agg.max(), not {aggregate!r}")
        without_condition(aggregate, "a window by hand")
        if capacity < 1:
            raise OptionError(f"capacity must be at least 1, not {capacity}")
        self.of = self.accept(aggregate)
        self._holding = False  # the journal, over several operations
        self._start(None, capacity)
        self.carry = batch.Carry()
        self._known: tuple[Any, Any] | None = None  # registers and partial of the last query, until something changes
        self._sample: list[tuple] | None = None if aggregate.builtin else []

    # What an algorithm says of itself.

    def accept(self, aggregate: Aggregate) -> Aggregate:
        """The aggregate as this algorithm runs it; raises `Unsupported` where it cannot."""
        return aggregate

    def span(self) -> tuple[int, int]:
        """The ring's positions in use."""
        return self.r.F, self.r.E

    def check_invariants(self) -> None:
        """Raises AssertionError where the structure is not what the paper says it is."""
        raise NotImplementedError

    # One row at a time.

    def insert(self, *row: Any) -> None:
        """Adds the newest row: one value, or one for each argument of the aggregate's lift."""
        if self._sample is not None:
            self._try_laws(row)
        partial = self._lift(row)
        if self.k.size(self.r) == self.capacity:
            self._grow(2 * self.capacity)
        self.r = self._step(self.k.insert, partial)

    def evict(self) -> None:
        """Drops the oldest row; IndexError where there is none."""
        if not self.k.size(self.r):
            raise IndexError("evict from an empty window")
        self._become(None)
        before = self.r
        self.r = self._step(self.k.evict)
        if self.endless:
            self._let_go(before)

    def query(self) -> Any:
        """The aggregate of the window, oldest to newest."""
        return self._shown(self._query())

    def __len__(self) -> int:
        return self.k.size(self.r)

    def __repr__(self) -> str:
        rows = len(self)
        return f"<{type(self).__name__} of {self.of!r}: {rows:,} row{'' if rows == 1 else 's'}>"

    def insert_many(self, rows: Iterable[Any]) -> None:
        """Inserts every row; a tuple is a row of several values. All or nothing."""
        with self._all_or_nothing():
            for row in rows:
                self.insert(*row) if isinstance(row, tuple) else self.insert(row)

    def evict_many(self, count: int) -> None:
        """Drops the `count` oldest rows; IndexError, and nothing dropped, where there are fewer."""
        if not 0 <= count <= len(self):
            raise IndexError(f"cannot evict {count} of {len(self)} rows")
        before = self.r
        with self._all_or_nothing():
            for _ in range(count):
                self.evict()
        self._let_go(before)

    # Whole arrays.

    def slide(self, values: Any, window: Any, *, times: Any = None, keys: Any = None, closed: str = "right") -> Any:
        """One answer for each row, over the window that ends with it: the batch path, compiled where it can be.

        Args:
            values: an array (NumPy, masked, pyarrow, a list), or a tuple of arrays for an aggregate of several columns.
            window: how many rows; with `times`, how long: an int in the times' unit, or a timedelta.
            times: a sorted int64 or datetime64 column (sorted within each key).
            keys: a column (or a tuple of columns) by which the rows are grouped; each key has a window of its own.
            closed: with `times`, which ends belong to the window: right, left, both or none. Rows of one time
                are in together.

        Returns an array; masked where some answers are null, of objects where they are no numbers; for a `join`, a
        tuple of them. The window goes on: a second call continues where the first ended (the same key, later times).
        A batch that fails leaves the window as it was.

        >>> from windrow import agg, swag
        >>> swag.TwoStacksLite(agg.max()).slide([1, 5, 2, 1, 1], 3).tolist()
        [1, 5, 5, 5, 2]
        >>> swag.DABA(agg.concat()).slide(["a", "b", "c"], 2).tolist()
        ['a', 'ab', 'bc']
        """
        columns = batch.read_columns(values)
        if self._sample is not None and len(columns[0].values) > 2:
            check_laws(self.of, batch.sample_rows(columns), synthetic=True)
            self._sample = None
        answers, state, self.carry = batch.slide(
            self.state, self.carry, columns, window, times=times, keys=keys, closed=closed
        )
        self._after_batch(state)
        return answers

    def slide_between(self, values: Any, lo: Any, hi: Any) -> Any:
        """One answer for each pair of positions: the aggregate of rows lo[i] to hi[i], hi excluded; neither moves back.

        >>> from windrow import agg, swag
        >>> swag.ABA(agg.sum()).slide_between([1, 2, 3, 4], lo=[0, 0, 2], hi=[1, 3, 4]).tolist()
        [1, 6, 7]
        """
        answers, state = batch.slide_between(self.state, batch.read_columns(values), lo, hi)
        self._after_batch(state)
        return answers

    @property
    def state(self) -> WindowState:
        """The window as the engine takes it. Its store is this window's own, not a copy."""
        self._check_not_asking()
        return WindowState(self.algorithm, self.of, self.form, self.s, self.r, self.capacity)

    # Saving and going on.

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """The window's whole state; `resume` goes on from there, in another process, too.

        With a key, a secret of 16 bytes or more, the snapshot is signed.
        """
        self._check_not_asking()
        state = (self.name, tuple(described(self.of)), *self._state(), batch.carried_state(self.carry))
        return snapshot.sealed(state, key)

    @classmethod
    def resume(cls, aggregate: Aggregate, data: bytes, *, key: bytes | None = None) -> Any:
        """A window that goes on from a snapshot of the same algorithm and aggregate; `SnapshotError` otherwise.

        The same aggregate: name, options, parts and identity, and of a user's own the code (`engine.identity`).
        With a key, only a snapshot that was signed with it is believed.

        >>> from windrow import agg, swag
        >>> w = swag.DABA(agg.concat())
        >>> w.insert_many("abc")
        >>> swag.DABA.resume(agg.concat(), w.snapshot()).query()
        'abc'
        """
        window = cls(aggregate)
        content = snapshot.opened(data, key)
        if not isinstance(content, tuple) or len(content) < 4:
            raise SnapshotError("this is a snapshot, but not one of a window")
        algorithm, saved, *state, carry = content
        mine = described(window.of)
        if isinstance(saved, str):
            raise SnapshotError(f"the snapshot is of an older windrow, which did not save what {saved} computes")
        if not isinstance(saved, tuple) or len(saved) != len(mine):
            raise SnapshotError("this is a snapshot, but not one of a window")
        if (algorithm, saved[0]) != (window.name, mine.name):
            raise SnapshotError(
                f"the snapshot is of {algorithm} with {saved[0]}, and cannot go on as {window.name} with {mine.name}"
            )
        with snapshot.believed("the snapshot"):
            refused = mine.refuses(Described(*saved))
            if refused:
                raise SnapshotError(f"the snapshot cannot go on: {refused}")
            window._set_state(*state)
            window.carry = batch.carry_from(carry, len(window))
        return window

    def _state(self) -> tuple:
        """Everything but the carry, as plain values."""
        dump = getattr(self.of, "dump", same)

        def saved(partial: Any) -> Any:
            return None if partial is None else dump(partial)

        def slots(kept: Any) -> Any:
            return [saved(p) for p in kept] if isinstance(kept, list) else kept

        state = closed(self.state, self.form) if is_open(self.state) else self.state
        s, r = state.store, state.registers
        partials = () if self.form.compiled else self.partial_registers
        registers = [saved(v) if n in partials else v for n, v in r._asdict().items()]
        links = [int(i) for i in s.links]
        return self.form.signature, state.capacity, registers, links, slots(s.vals), slots(s.aggs)

    def _set_state(self, signature: tuple, capacity: int, registers: list, links: list, vals: Any, aggs: Any) -> None:
        check_window(self.algorithm, capacity, registers, links, vals, aggs)
        if signature:
            form = batch.form_for(self.of, *signature)
            if form is None or form.dtypes is None:
                raise SnapshotError(f"the snapshot holds columns of {signature[0]}, which {self.of.name} does not")
            dtypes = form.dtypes
            check_columns(dtypes, vals, aggs)
            self._use(form)
            self.s = Store(vals, aggs, np.array(links, np.int64), capacity - 1)

            def loaded(partial: Any) -> Any:
                return check_numbers(dtypes, partial)
        else:
            partials = Partials.of_any(self.of)
            load = partials.load_counted if self.counted else partials.load

            def loaded(partial: Any) -> Any:
                return None if partial is None else load(partial)

            self.s = Store([loaded(p) for p in vals], [loaded(p) for p in aggs], links, capacity - 1)
        self._as_objects = False
        fields = zip(self.registers._fields, registers, strict=True)
        self.r = self.registers(*(loaded(v) if n in self.partial_registers else v for n, v in fields))
        self.capacity = capacity

    # Within. The window is kept as objects; a batch may turn it into columns of numbers, a call by hand turns it back.

    def _take(self, state: WindowState) -> None:
        """Goes on from this state."""
        if not hasattr(self, "form") or state.form is not self.form:
            self._use(state.form)
        self._known = None
        self._as_objects = False
        self.s, self.r, self.capacity = state.store, state.registers, state.capacity

    def _after_batch(self, state: WindowState) -> None:
        """Goes on from what a batch has left. Objects go into pages at once: a ring still holds rows that have left."""
        self._take(state if state.form.compiled or not self.algorithm.endless else opened(state))

    def _start(self, form: Form | None, capacity: int) -> None:
        """An empty window in this form of the aggregate; None: objects."""
        self._take(empty(self.algorithm, self.of, form, capacity))

    def _use(self, form: Form) -> None:
        self.form = form
        self._as_objects = False
        self.m, kernel = by_hand(self.algorithm, form)
        self.k: Any = kernel  # Any: some have more than every kernel has

    def _new_store(self, capacity: int) -> Any:
        return new_store(self.algorithm, self.form, capacity)

    def _try_laws(self, row: tuple) -> None:
        """A user's aggregate is tried on its first rows; `LawError` where it breaks a law."""
        assert self._sample is not None
        self._sample.append(tuple(python_values(row)))
        if len(self._sample) in (3, 8):
            check_laws(self.of, self._sample, synthetic=True)
        if len(self._sample) == 8:
            self._sample = None

    def _lift(self, row: tuple) -> Any:
        self._become(None)
        return self.form.lift(*python_values(row))

    def _query(self) -> Any:
        """The window's partial; asked again while nothing has changed, without a combine."""
        if self._asking:
            self._check_not_asking()
        known = self._known
        if known is None or known[0] is not self.r:
            partial = self._combined()
            self._known = known = self.r, partial
        return known[1]

    def _combined(self) -> Any:
        self._become(None)
        return self._step(self.k.query) if self.k.size(self.r) else self.form.identity

    def _answer(self, partial: Any) -> Any:
        if not self.form.compiled:
            return self.form.lower(partial)
        out, valid = (tuple([start] for _ in self.m.outputs) for start in (None, True))
        if self.form.compiled and not self.form.own:  # NumPy's numbers divide by zero as compiled code does
            partial = tuple(np.float64(number) if isinstance(number, float) else number for number in partial)
        with np.errstate(all="ignore"):
            self.m.store(out, 0, partial)
            self.m.mark(valid, 0, partial)
        answers = tuple(a[0] if there[0] else None for a, there in zip(out, valid, strict=True))
        return answers[0] if len(answers) == 1 else answers

    def _step(self, operation: Callable, *arguments: Any) -> Any:
        """Runs one operation; one that raises leaves no trace."""
        if self._asking:
            self._check_not_asking()
        self._known = None
        journal = self.form.journal
        assert journal is not None
        undo = journal.undo
        start = len(undo)
        try:
            done = operation(self.s, self.r, *arguments)
        except BaseException:
            journal.rollback(start)
            raise
        if not self._holding:
            undo.clear()
        return done

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Several operations, of which none has happened if one of them raises."""
        self._become(None)
        journal = self.form.journal
        assert journal is not None
        before = self.s, self.r, self.capacity
        self._holding = True
        try:
            yield
        except BaseException:
            journal.rollback()
            self.s, self.r, self.capacity = before
            raise
        finally:
            self._holding = False
            journal.undo.clear()

    def _let_go(self, before: Any) -> None:
        """Drops what evictions since the registers were `before` have left in the slots."""
        if self.endless and not self._holding:
            self.algorithm.drop(self.s, before, self.r)

    def _grow(self, capacity: int) -> None:
        """The same rows with room for more."""
        self._take(grown(self.state, capacity))

    def _become(self, form: Form | None) -> None:
        """Carries the window over into another form; None: objects."""
        if self._asking:
            self._check_not_asking()
        if form is None and self._as_objects:
            return
        algorithm = self.algorithm
        if form is None and (algorithm.endless or (self.form.compiled and algorithm.rebuild is None)):
            if not isinstance(self.s.vals, Paged):
                self._take(opened(self.state))
        elif form is not self.form and (form is not None or self.form.compiled):
            self._take(
                converted(self.state, form) if form is None or not is_open(self.state) else closed(self.state, form)
            )
        self._as_objects = form is None

    def _saved(self) -> tuple:
        """All of the state, to come back to."""
        return duplicate(self.state), self.carry

    def _restore(self, saved: tuple) -> None:
        state, self.carry = saved
        self._take(state)

    # For check_invariants.

    def _fold(self, slots: Any, start: int, end: int) -> Any:
        """The partials of a ring's positions start to end, combined from the left."""
        total = self.m.identity
        for i in range(start, end):
            total = self.m.combine(total, self.m.get(slots, i & self.s.mask))
        return total

    def _expect_suffixes(self, start: int, end: int, last: int) -> None:
        """aggs[i] = vals[i] ⊕ ... ⊕ vals[last-1] for i from start to end."""
        for i in range(start, end):
            self._expect(self.m.get(self.s.aggs, i & self.s.mask), self._fold(self.s.vals, i, last), f"aggs[{i}]")

    def _expect_prefixes(self, start: int, end: int, first: int) -> None:
        """aggs[i] = vals[first] ⊕ ... ⊕ vals[i] for i from start to end."""
        for i in range(start, end):
            self._expect(self.m.get(self.s.aggs, i & self.s.mask), self._fold(self.s.vals, first, i + 1), f"aggs[{i}]")

    def _expect(self, claimed: Any, true: Any, what: str) -> None:
        """`claimed` must answer as `true` does (floats: but for rounding)."""
        a, b = self._answer(claimed), self._answer(true)
        assert alike(a, b), f"{what}: {a!r}, and it should be {b!r}"
