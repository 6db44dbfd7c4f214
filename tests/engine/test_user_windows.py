"""User-defined windows: both forms give the same, states go on, errors name the row."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.engine import snapshot
from windrow.engine.inputs import Column, read_columns
from windrow.engine.row_kernels import COMPILE_AFTER, SMALL
from windrow.engine.user_windows import discretize_rows
from windrow.errors import WindrowError

MINUTE = 60_000_000


def table(**columns: Any) -> dict[str, Column]:
    return {name: read_columns(values)[0] for name, values in columns.items()}


@dataclass
class Stock:
    """Paper 3, Fig. 1: 10 minutes every 5; below $10, 5 minutes every 2. Windows end in the order they began."""

    due: int | None = None
    closing: list[int] = field(default_factory=list)

    LIMIT: ClassVar[float] = 10.0

    def discretize(self, row):
        ends = 0
        while len(self.closing) > 0 and self.closing[0] <= row.ts:
            self.closing.pop(0)
            ends += 1
        if self.due is not None and row.ts < self.due:
            return 0, ends
        low = row.price < self.LIMIT
        every, size = (2 * MINUTE, 5 * MINUTE) if low else (5 * MINUTE, 10 * MINUTE)
        self.due = row.ts + every
        end = row.ts + size
        if len(self.closing) > 0:
            end = max(end, self.closing[-1])
        self.closing.append(end)
        return 1, ends


@dataclass
class Counted:
    """Paper 3 §3.2: a periodic window of rows."""

    size: int = 4
    every: int = 3
    seen: int = 0

    def discretize(self, row):
        k = self.seen
        self.seen += 1
        return k % self.every == 0, k >= self.size and (k - self.size) % self.every == 0


@dataclass
class Punctuated:
    open: bool = False

    def discretize(self, row):
        if not row["mark"]:
            return 0, 0
        ends = self.open
        self.open = True
        return 1, ends


class Gap:
    """A session, as a class without annotations and with a constant."""

    LENGTH = 3 * MINUTE

    def __init__(self) -> None:
        self.last = -(2**62)
        self.open = 0

    def new(self, now):
        return now >= self.last + self.LENGTH

    def discretize(self, row):
        begins, ends = 0, 0
        if self.new(row.ts):
            begins, ends = 1, self.open
            self.open = 1
        self.last = row.ts
        return begins, ends


class Seen:
    """State that stands in the class until it is set."""

    seen = 0

    def discretize(self, row):
        self.seen += 1
        return self.seen % 2, 0


WINDOWS = [Stock, Counted, Counted(size=2, every=5), Punctuated, Gap, Seen]


def trades(n: int, seed: int) -> dict[str, Column]:
    random = np.random.default_rng(seed)
    return table(
        ts=np.cumsum(random.integers(0, 3 * MINUTE, n)) - 20 * MINUTE,
        price=random.uniform(8, 12, n).round(1),
        mark=random.integers(0, 4, n) == 0,
        who=random.choice(np.array(["ann", "bob"], object), n),
    )


def by_hand(prototype: Any, columns: dict[str, Column], seg: list[int]) -> list[tuple[int, int]]:
    """One instance a key, one call a row."""
    found = []
    for a, z in pairwise(seg):
        window = prototype() if isinstance(prototype, type) else type(prototype)(**vars(prototype))
        for i in range(a, z):
            begins, ends = window.discretize(Row({name: c.values[i] for name, c in columns.items()}))
            found.append((int(begins), int(ends)))
    return found


class Row(dict):
    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("prototype", WINDOWS, ids=str)
def test_both_forms_equal_one_call_a_row(prototype: Any) -> None:
    columns = trades(200, 1)
    seg = [0, 70, 70, 71, 200]
    wanted = by_hand(prototype, columns, seg)
    kept = []
    for form in ("plain", "compiled"):
        begins, ends, states = discretize_rows(prototype, columns, np.array(seg), [None] * 4, form=form)[:3]
        assert begins.dtype == ends.dtype == np.int64
        assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == wanted
        assert states[1] is None
        kept.append(states)
    assert kept[0] == kept[1]


@pytest.mark.parametrize("prototype", WINDOWS, ids=str)
def test_batches_go_on_through_saved_states_in_either_form(prototype: Any) -> None:
    columns = trades(90, 2)
    whole = discretize_rows(prototype, columns, np.array([0, 90]), [None], form="plain")
    states: list = [None]
    parts = []
    for a, z, form in [
        (0, 1, "plain"),
        (1, 30, "compiled"),
        (30, 31, "compiled"),
        (31, 60, "plain"),
        (60, 90, "compiled"),
    ]:
        cut = {name: Column(c.values[a:z], None, c.dtype) for name, c in columns.items()}
        begins, ends, states = discretize_rows(prototype, cut, np.array([0, z - a]), states, form=form)[:3]
        parts.append((begins, ends))
        packed = snapshot.sealed([list(states[0].items())])
        states = [dict(snapshot.opened(packed)[0])]
    assert np.concatenate([begins for begins, _ in parts]).tolist() == whole[0].tolist()
    assert np.concatenate([ends for _, ends in parts]).tolist() == whole[1].tolist()
    assert states == whole[2]


def test_the_stock_window_of_paper_3() -> None:
    """Above $10 a report every 5 minutes; from minute 25 on the price is below, and one begins every 2."""
    minutes = np.arange(0, 40)
    columns = table(ts=minutes * MINUTE, price=np.where(minutes < 25, 11.0, 9.0))
    for form in ("plain", "compiled"):
        begins, ends, _ = discretize_rows(Stock, columns, np.array([0, 40]), [None], form=form)[:3]
        assert np.flatnonzero(begins).tolist() == [0, 5, 10, 15, 20, 25, 27, 29, 31, 33, 35, 37, 39]
        assert {int(i): int(ends[i]) for i in np.flatnonzero(ends)} == {
            10: 1, 15: 1, 20: 1, 25: 1, 30: 2, 32: 1, 34: 1, 36: 1, 38: 1,
        }  # fmt: skip


def test_no_rows_no_keys_and_no_wish_for_states() -> None:
    columns = trades(10, 3)
    none = {name: Column(c.values[:0], None, c.dtype) for name, c in columns.items()}
    for form in ("plain", "auto"):
        begins, ends, states = discretize_rows(Stock, none, np.array([0]), [], form=form)[:3]
        assert len(begins) == len(ends) == len(states) == 0
        assert discretize_rows(Stock, none, np.array([0, 0]), [None], form=form)[2] == [None]
    for form in ("plain", "compiled"):
        assert discretize_rows(Stock, columns, np.array([0, 10]), [None], form=form, keep=False)[2] == [None]


def test_nulls_are_none_in_both_forms() -> None:
    class Nulls:
        def discretize(self, row):
            return (1, 0) if row.x is None else (0, int(row.x > 1))

    columns = table(x=[1, None, 2, None])
    for form in ("plain", "compiled"):
        begins, ends, _ = discretize_rows(Nulls, columns, np.array([0, 4]), [None], form=form)[:3]
        assert (begins.tolist(), ends.tolist()) == ([0, 1, 0, 1], [0, 0, 1, 0])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((-1, 0), r"gave \(-1, 0\) at row 2"),
        ((0, -3), r"gave \(0, -3\) at row 2"),
        ((1, 0, 0), r"gave \(1, 0, 0\) at row 2"),
        ((1.0, 0), r"gave \(1.0, 0\) at row 2"),
        (("1", 0), "gave .* at row 2"),
        ((2**70, 0), "gave .* at row 2"),
        (1, "gave 1 at row 2"),
        (None, "gave None at row 2"),
        ("10", "gave '10' at row 2"),
    ],
)
def test_what_is_no_pair_names_the_row(given: Any, says: str) -> None:
    class Bad:
        n = 0

        def discretize(self, row):
            self.n += 1
            return (0, 0) if self.n < 3 else given

    for form in ("plain", "auto"):
        with pytest.raises(WindrowError, match=says):
            discretize_rows(Bad, {}, np.array([0, 5]), [None], form=form)


def test_a_negative_count_compiled_names_the_row() -> None:
    class Sinking:
        def discretize(self, row):
            return 2 - row.x, 0

    columns = table(x=[1, 2, 3, 4])
    for form in ("plain", "compiled"):
        with pytest.raises(WindrowError, match=r"gave \(-1, 0\) at row 12"):
            discretize_rows(Sinking, columns, np.array([0, 4]), [None], form=form, positions=np.arange(4) + 10)


def test_an_error_names_the_row_and_leaves_the_states() -> None:
    @dataclass
    class Raising:
        seen: list[int] = field(default_factory=list)

        def discretize(self, row):
            self.seen.append(row.x)
            return 6 // row.x, 0

    columns = table(x=np.r_[np.ones(SMALL, int), 0, 3])
    state = {"seen": [7]}
    rows = np.arange(SMALL + 2) + 5
    for form in ("plain", "auto"):
        if form == "auto":  # compiled it raises, too, and is then told by the plain form
            discretize_rows(Raising, table(x=np.ones(COMPILE_AFTER, int)), np.array([0, COMPILE_AFTER]), [None])
        with pytest.raises(ZeroDivisionError) as raised:
            discretize_rows(Raising, columns, np.array([0, SMALL + 2]), [state], form=form, positions=rows)
        assert raised.value.__notes__ == ["in Raising.discretize, at row 1005"]
        assert state == {"seen": [7]}


def test_what_reads_no_column_and_what_cannot_be_saved() -> None:
    class Misspelt:
        def discretize(self, row):
            return row.prise > 1, 0

    with pytest.raises(WindrowError, match=r"Misspelt.discretize reads a column 'prise'; there are 'ts', 'price'"):
        discretize_rows(Misspelt, trades(3, 5), np.array([0, 3]), [None])

    class Dict:
        def __init__(self) -> None:
            self.counts: dict = {}

        def discretize(self, row):
            return 0, 0

    with pytest.raises(WindrowError, match=r"Dict.counts holds a dict; the state of a window is numbers"):
        discretize_rows(Dict, trades(3, 5), np.array([0, 3]), [None])

    class Later:
        def discretize(self, row):
            self.set = {1}
            return 0, 0

    with pytest.raises(WindrowError, match=r"Later.set holds a set"):
        discretize_rows(Later, trades(3, 5), np.array([0, 3]), [None])


def test_other_kinds_of_state() -> None:
    @dataclass(slots=True)
    class Slots:
        name: str = "x"
        pair: tuple[int, int] = (0, 0)
        nested: list = field(default_factory=lambda: [[1], ("a", None)])
        score: Any = None

        def discretize(self, row):
            self.pair = (self.pair[1], row.mark)
            self.nested[0].append(1)
            self.score = np.float64(0.5)
            return 0, 0

    prototype = Slots()
    _, _, states = discretize_rows(prototype, table(mark=[4, 5]), np.array([0, 1, 2]), [None, None])[:3]
    assert states == [
        {"name": "x", "pair": (0, mark), "nested": [[1, 1], ("a", None)], "score": 0.5} for mark in (4, 5)
    ]
    assert prototype.nested == [[1], ("a", None)] and prototype.pair == (0, 0)
    again = discretize_rows(prototype, table(mark=[6]), np.array([0, 1]), states[:1])[2]
    assert again[0] is not None and again[0]["pair"] == (4, 6) and len(again[0]["nested"][0]) == 3


@dataclass
class Said:
    """Says at each call what it was told to say."""

    end: Any = None
    leaves: Any = 0

    def discretize(self, row):
        return 1, 0

    def ends_at(self):
        return self.end

    def ended(self, time):
        pass

    def evict(self, row):
        return self.leaves


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (Said(end=5), "ends_at gave 5; the window has a row at 7 or ended there, and ends later"),
        (Said(end=7), "ends_at gave 7; the window has a row at 7"),
        (Said(end=9.5), "ends_at gave 9.5; it gives a time, as whole microseconds, or None"),
        (Said(end=True), "ends_at gave True"),
        (Said(end=2**63), "ends_at gave 9223372036854775808, which is too far from 1970"),
        (Said(leaves=-1), "evict gave -1 at row 0; it gives an int of 0 or more"),
        (Said(leaves=0.5), "evict gave 0.5 at row 0"),
        (Said(leaves=None), "evict gave None at row 0"),
        (Said(leaves=1), "row at time 7: .*evicts more rows than are held"),
    ],
)
def test_what_is_no_end_or_eviction_is_an_error(said: Said, says: str) -> None:
    query = windrow.Query(time="ts", windows=win.user_defined(said), aggregates={"n": agg.count()})
    with pytest.raises(WindrowError, match=says):
        query.run({"ts": [7, 8]})


def test_the_methods_that_belong_together() -> None:
    class Half:
        def discretize(self, row):
            return 1, 0

        def ends_at(self):
            return 0

    with pytest.raises(WindrowError, match=r"Half has ends_at\(self\), so it needs ended\(self, time\)"):
        win.user_defined(Half)
    with pytest.raises(WindrowError, match="measured by event time; name the column"):
        windrow.Query(windows=win.user_defined(Said), aggregates={"n": agg.count()})


def test_an_error_names_the_method() -> None:
    class Raising:
        def discretize(self, row):
            return 1, 0

        def ends_at(self):
            return 10

        def ended(self, time):
            raise ZeroDivisionError

    query = windrow.Query(time="ts", windows=win.user_defined(Raising), aggregates={"n": agg.count()})
    with pytest.raises(ZeroDivisionError) as raised:
        query.run({"ts": [7, 11]})
    assert raised.value.__notes__ == ["in Raising.ended, at row 1"]
