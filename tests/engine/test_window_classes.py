"""Window classes compiled: nothing is answered differently, and what cannot be compiled runs plain."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.engine.test_user_windows import Gap, Stock, table, trades
from tests.query.own_windows import LastRows, Quiet, Spells
from windrow.engine import user_windows, window_compiler
from windrow.engine.row_kernels import COMPILE_AFTER
from windrow.engine.user_windows import Clock, discretize_rows
from windrow.engine.walks import HIGHEST
from windrow.errors import WindrowError

ZERO = 0


def test_an_attribute_is_never_cut_to_its_first_type() -> None:
    """It begins as an int (a bool) and is set to a float later: compiled, it is a float from the start."""

    class Total:
        top: int | None = None

        def __init__(self) -> None:
            self.total = 0
            self.rising = False

        def discretize(self, row):
            self.total += row.price
            self.rising = row.n
            self.top = row.price
            return int(self.total > 2), int(self.rising > 1)

    columns = table(price=[0.7, 0.7, 0.7, 0.7], n=[0, 1, 2, 3])
    found = [discretize_rows(Total, columns, np.array([0, 4]), [None], form=form) for form in ("plain", "compiled")]
    assert found[0][0].tolist() == found[1][0].tolist() == [0, 0, 1, 1]
    assert found[0][1].tolist() == found[1][1].tolist() == [0, 0, 1, 1]
    assert found[0][2] == found[1][2] == [{"total": pytest.approx(2.8), "rising": 3, "top": 0.7}]


def test_lists_are_not_cut_either() -> None:
    class Listed:
        items: list[int]

        def __init__(self) -> None:
            self.items = []

        def discretize(self, row):
            self.items.append(row.price)
            return int(sum(self.items) > 1), 0

    columns = table(price=[0.7, 0.7])
    with pytest.raises(WindrowError, match="does not compile"):
        discretize_rows(Listed, columns, np.array([0, 2]), [None], form="compiled")
    assert discretize_rows(Listed, columns, np.array([0, 2]), [None])[0].tolist() == [0, 1]


def test_what_numba_refuses_runs_plain_and_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Text:
        last = ""

        def discretize(self, row):
            changed, self.last = row.who != self.last, row.who
            return changed, 0

    class Dynamic:
        n: int = 0

        def discretize(self, row):
            self.n += {True: 1, False: 0}[row.n > 1] + len(f"{row.n}{ZERO!r}") - len(str(row.n)) - 1
            return int(self.n > 0), 0

    n = COMPILE_AFTER
    columns = table(who=np.array(["a", "b"], object)[np.arange(n) // 2 % 2], n=np.arange(n))
    begins, _, states = discretize_rows(Text, columns, np.array([0, n]), [None])[:3]
    assert begins[:6].tolist() == [1, 0, 1, 0, 1, 0] and states == [{"last": "b"}]
    tries = []
    original = window_compiler.compile_class
    monkeypatch.setattr(window_compiler, "compile_class", lambda *a: tries.append(a) or original(*a))
    for _ in range(2):
        begins, _, _ = discretize_rows(Dynamic, columns, np.array([0, n]), [None])[:3]
        assert begins[:4].tolist() == [0, 0, 1, 1]
    assert len(tries) == 1


def test_many_rows_are_compiled_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = trades(COMPILE_AFTER, 4)
    seg = np.array([0, COMPILE_AFTER])
    plain = discretize_rows(Gap, columns, seg, [None], form="plain")
    monkeypatch.setattr(user_windows, "_run_plain", None)
    found = discretize_rows(Gap, columns, seg, [None])
    assert (found[0] == plain[0]).all() and (found[1] == plain[1]).all() and found[2] == plain[2]


def test_bases_properties_and_static_methods_compile() -> None:
    class Base:
        n: int = 0

        @property
        def odd(self):
            return self.n % 2 == 1

        @staticmethod
        def half(x):
            return x // 2

        def discretize(self, row):
            self.n += 1
            return int(self.odd), self.step(row)

        def step(self, row):
            return 0

    class Derived(Base):
        def step(self, row):
            return self.half(row.x)

    columns = table(
        x=[1, 2, 4], who=["a", "b", "c"]
    )  # the row gets out of sight; a text that is not named does no harm
    for form in ("plain", "compiled"):
        begins, ends, states = discretize_rows(Derived, columns, np.array([0, 3]), [None], form=form)[:3]
        assert (begins.tolist(), ends.tolist(), states) == ([1, 0, 1], [0, 1, 2], [{"n": 3}])


def test_states_that_columns_cannot_hold_run_plain() -> None:
    columns = trades(5, 6)
    state = {"due": 2**80, "closing": []}
    with pytest.raises(WindrowError, match="does not compile"):
        discretize_rows(Stock, columns, np.array([0, 5]), [state], form="compiled")
    assert discretize_rows(Stock, columns, np.array([0, 5]), [state])[2] == [state]


@dataclass
class Fixed:
    """Says an end all the time: it is asked only while a window is open."""

    end: int = 0

    def discretize(self, row):
        if row.ts < self.end:
            return 0, 0
        self.end = row.ts + 7
        return 1, 0

    def ends_at(self):
        return self.end

    def ended(self, time):
        pass


@pytest.mark.parametrize("tick", [1, 1000])
@pytest.mark.parametrize(
    "prototype", [Quiet(4), Spells(9), LastRows(3, 10), Fixed()], ids=lambda window: type(window).__name__
)
def test_both_forms_end_windows_by_time_at_the_same_times(prototype: Any, tick: int) -> None:
    """Three keys, with rows and without, as one step and as several; the states go on."""
    rng = np.random.default_rng(tick)
    n = 60
    ts = np.sort(rng.integers(0, 100, (3, n)), axis=1)
    price, flag = rng.choice([9.0, 10.5, 12.0], (3, n)), rng.random((3, n)) < 0.1
    found: dict[str, list] = {}
    for form, cuts in (("plain", [0, n]), ("compiled", [0, n]), ("compiled", [0, 0, 7, 8, 31, 31, n])):
        states: list = [None] * 3
        left = np.zeros(3, np.int64)
        said: list[list] = [[] for _ in range(3)]
        for a, z in itertools.pairwise(cuts):
            mine = slice(a, z)
            columns = table(
                ts=np.concatenate([ts[k, mine] for k in range(3)]),
                price=np.concatenate([price[k, mine] for k in range(3)]),
                flag=np.concatenate([flag[k, mine] for k in range(3)]),
            )
            seg = np.arange(4) * (z - a)
            until = np.array([ts[k, z] if z < n else HIGHEST // tick for k in range(3)]) * tick
            clock = Clock(columns["ts"].values * tick, until, left, tick)
            asked = discretize_rows(prototype, columns, seg, states, clock=clock, form=form)
            states = asked.states
            for k in range(3):
                for i in range(seg[k], seg[k + 1] + 1):
                    said[k] += asked.when[asked.timed[i + k] : asked.timed[i + k + 1]].tolist()
                    if i < seg[k + 1]:
                        said[k].append((asked.begins[i], asked.ends[i], asked.leaves[i]))
            ended = np.array([asked.timed[seg[k + 1] + k + 1] - asked.timed[seg[k] + k] for k in range(3)])
            rows = [slice(seg[k], seg[k + 1]) for k in range(3)]
            left = left - ended + [int((asked.begins[r] - asked.ends[r]).sum()) for r in rows]
            assert ((asked.due > until) | (asked.due == HIGHEST)).all()
        found[f"{form} {len(cuts)}"] = [said, states]
    first, *others = found.values()
    assert len(found) == 3 and all(other == first for other in others)
    assert sum(isinstance(part, int) for part in first[0][0]) > 3
