"""Neighbours of a shared ring are fused: at most twice as many slices as windows are open, and the same answers."""

from __future__ import annotations

import random
import re
import traceback
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import windrow
from benchmarks.stepping import Stepping
from windrow import agg, swag, win
from windrow.engine.keyed_access import OPEN, SLICE_E, SLICE_F
from windrow.step.sharing import SharedRing, _nothing
from windrow.swag.flat_fit import GOES, fusing
from windrow.windows.base import ROWS, TIME

SECOND = 1_000_000
#: in plain Python, and not commutative
TEXT = swag.counting(agg.concat("s"))
#: the first and the last value, and how many: compiled, and not commutative. What comes before a value of 666 raises
ENDS = windrow.Aggregate(
    lift=lambda x: (1, x, x),
    combine=lambda a, b: b if a[0] == 0 else (a if b[0] == 0 else (a[0] + b[0] + 0 // (b[1] - 666), a[1], b[2])),
    lower=lambda p: p[1] * 1_000_000 + p[2] * 1_000 + p[0],
    identity=(0, 0, 0),
    name="ends",
)


def windows(rnd: random.Random, measures: list[str]) -> dict[str, Any]:
    """Short ones and long ones, along the measures."""
    found = {}
    for i in range(rnd.randrange(2, 5)):
        size = rnd.choice([1, 1, 2, 3, 7, 20, 60, 150])
        every = rnd.choice([1, 2, size, max(size // 4, 1), size + 2])
        kind = measures[i % len(measures)]
        if kind == "time":
            origin = f"{rnd.randrange(5)} seconds"
            found[f"w{i}"] = win.sliding(f"{size} seconds", every=f"{every} seconds", origin=origin)
        elif kind == "rows":
            found[f"w{i}"] = win.sliding(size, every=every, origin=rnd.randrange(5))
        else:
            found[f"w{i}"] = win.sliding(size / 4, every=every / 4, on="y")
    return found


def rows(rnd: random.Random, n: int) -> dict[str, np.ndarray]:
    return {
        "t": np.cumsum([rnd.choice([0, 0, 1, 1, 1, 2, 9]) for _ in range(n)]) * SECOND,
        "y": np.cumsum([rnd.choice([0.0, 0.0, 0.25, 0.5, 3.0]) for _ in range(n)]),
        "k": np.array([rnd.randrange(2) for _ in range(n)]),
        "s": np.array([chr(97 + i % 26) for i in range(n)], object),
        "x": np.arange(n) % 600,
    }


def parts(rnd: random.Random, n: int) -> list[tuple[int, int]]:
    cuts = [0]
    while cuts[-1] < n:
        cuts.append(min(n, cuts[-1] + rnd.choice([1, 1, 1, 2, 5, 40])))
    return list(pairwise(cuts))


def known(live: Any) -> list[tuple[int, int]]:
    """The numbers of the keys that are known, with the keys."""
    keys = live.door.keys
    return list(zip(keys.all().tolist(), np.asarray(keys.column(keys.all(), 0)).tolist(), strict=True))


def held(live: Any, key: int) -> int:
    """The slices of the shared ring of the key with this number, the open one included."""
    found = []
    for groups in live.state.groups.values():
        for group in groups:
            kept = group.windows
            if kept.form.compiled:
                first, end, is_open = (int(kept.word(np.array([key]), w)[0]) for w in (SLICE_F, SLICE_E, OPEN))
            else:
                first, end, is_open, *_ = kept.plain.cells[key]
            found.append(end - first + (is_open != 0))
    assert len(set(found)) == 1
    return found[0]


def open_windows(ours: dict[str, Any], data: dict[str, np.ndarray], until: int) -> int:
    """Windows with a row of the key in them that have not ended, by their definition."""
    total = 0
    for window in ours.values() if len(data["t"]) else ():
        newest, now = data["y"].max(), data["y"].max()
        if window.measure == ROWS:
            newest, now = len(data["t"]) - 1, len(data["t"])
        elif window.measure == TIME:
            newest, now = data["t"].max(), until
        last = (newest - window.origin) // window.every
        ended = (now - window.origin - window.range) // window.every
        total += max(0, int(last - max(ended, -1 if window.measure == ROWS else ended)))
    return total


def told(result: dict, column: str) -> list[str]:
    names = ("window", "k", column)
    return sorted(map(repr, zip(*(result[name].tolist() for name in names), strict=True)))


def expected(query: windrow.Query, data: dict[str, np.ndarray], column: str) -> list[str]:
    """Each window alone, in plain Python."""
    found = []
    plain = {name: swag.counting(of) for name, of in query.aggregates.items()}
    for name, window in query.windows.items():
        one = windrow.Query(time=query.time, by="k", windows={name: window}, aggregates=plain, partial=query.partial)
        found += told(one.run(data), column)
    return sorted(found)


class Watched:
    """Counts the slices that are fused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gone = 0
        fused = SharedRing._fused

        def watched(ring: SharedRing, *given: np.ndarray) -> Any:
            found = fused(ring, *given)
            self.gone += int((found.place == GOES).sum())
            return found

        monkeypatch.setattr(SharedRing, "_fused", watched)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def checked(query: windrow.Query, rnd: random.Random, data: dict[str, np.ndarray], column: str) -> None:
    """Pushes the rows; after each push, no key has too many slices. The answers are those of each window alone."""
    most = int(re.findall(r"state +at most ([\d,]+) slices?, shared", query.explain())[0].replace(",", ""))
    sent: list[str] = []
    live, n = query.open(), len(data["k"])
    for begin, end in parts(rnd, n):
        sent += told(live.push({name: values[begin:end] for name, values in data.items()}), column)
        for number, key in known(live):
            mine = {name: values[:end][data["k"][:end] == key] for name, values in data.items()}
            left = open_windows(query.windows, mine, int(data["t"][end - 1]))
            assert held(live, number) <= 2 * left, (key, end)
            assert held(live, number) <= most, (key, end)
        if rnd.random() < 0.1:
            live = query.resume(live.snapshot())
    sent += told(live.close(), column)
    assert sorted(sent) == expected(query, data, column)


@pytest.mark.parametrize("measures", [["rows"], ["time"], ["time", "column"], ["rows", "column"]], ids="-".join)
def test_slices_and_answers_of_random_windows(measures: list[str], watched: Watched) -> None:
    for seed in range(12):
        rnd = random.Random(f"{measures} {seed}")
        time = "t" if "time" in measures else None
        query = windrow.Query(
            time=time,
            by="k",
            windows=windows(rnd, measures),
            aggregates={"s": TEXT},
            partial=seed % 3 == 0,
            strict=True,
        )
        checked(query, rnd, rows(rnd, 250), "s")
    assert watched.gone > 100


def test_compiled_as_in_plain_python(watched: Watched) -> None:
    for seed in range(6):
        rnd = random.Random(seed)
        query = windrow.Query(
            by="k", windows=windows(rnd, ["rows", "column"]), aggregates={"x": ENDS("x")}, strict=True
        )
        checked(query, rnd, rows(rnd, 400), "x")
    assert watched.gone > 100


def test_slices_that_wait_for_late_rows_are_fused_when_they_enter_the_ring(watched: Watched) -> None:
    """Commutative aggregates fold late rows into slices; those that the watermark has passed are slices of the ring."""
    for seed in range(4):
        rnd = random.Random(seed)
        ours = {"long": win.sliding("150 seconds", every="50 seconds"), "short": win.tumbling("2 seconds")}
        query = windrow.Query(
            time="t", by="k", windows=ours, aggregates={"s": swag.counting(agg.sum("x"))}, lateness="20 seconds"
        )
        assert "fold into slices, which wait" in query.explain()
        data = rows(rnd, 300)
        moved = data["t"] + np.array([rnd.randrange(20) for _ in range(300)]) * SECOND
        order = np.argsort(moved, kind="stable")
        data = {name: values[order] for name, values in data.items()}
        live, sent, newest = query.open(), [], 0
        for begin, end in parts(rnd, 300):
            sent += told(live.push({name: values[begin:end] for name, values in data.items()}), "s")
            newest = max(newest, int(data["t"][begin:end].max()))
            until = newest - 20 * SECOND
            for number, key in known(live):
                mine = (data["k"][:end] == key) & (data["t"][:end] <= until)
                left = open_windows(ours, {name: values[:end][mine] for name, values in data.items()}, until)
                assert held(live, number) <= max(2 * left, 8), (seed, end)
        sent += told(live.close(), "s")
        assert sorted(sent) == expected(
            query, {n: v[np.argsort(data["t"], kind="stable")] for n, v in data.items()}, "s"
        )
        assert live.report.late == 0
    assert watched.gone > 50


class Armed:
    """Joins texts, and raises in the call with the number that it is told."""

    left = 0

    def combine(self, a: str, b: str) -> str:
        self.left -= 1
        if self.left == 0:
            raise ValueError("no")
        return a + b


def test_a_push_that_fails_while_slices_are_fused_has_never_been() -> None:
    armed = Armed()
    of = swag.counting(windrow.Aggregate(lambda x: x, armed.combine, identity="", name="text")("s"))
    ours = {"long": win.sliding(40, every=20), "middle": win.sliding(6, every=2), "short": win.tumbling(1)}
    query = windrow.Query(by="k", windows=ours, aggregates={"s": of})
    data = rows(random.Random(3), 120)
    live, sent, inside = query.open(), [], 0
    for begin in range(0, 120, 4):
        push = {name: values[begin : begin + 4] for name, values in data.items()}
        before = live.snapshot()
        for call in range(1, 100):
            armed.left = call
            try:
                result = live.push(push)
            except ValueError as error:
                inside += any(frame.name == "fuse" for frame in traceback.extract_tb(error.__traceback__))
                assert live.snapshot() == before, (begin, call)
            else:
                break
        armed.left = 0
        sent += told(result, "s")
    sent += told(live.close(), "s")
    assert sorted(sent) == expected(query, data, "s")
    assert inside > 20


def test_an_error_while_slices_are_fused_names_the_windows() -> None:
    """Compiled. A window of one row combines nothing, so the error comes where slices of the long one are fused."""
    ours = {"long": win.tumbling(200), "short": win.tumbling(1)}
    query = windrow.Query(by="k", windows=ours, aggregates={"x": ENDS("x")})
    live, clean = query.open(), query.open()
    for i in range(40):
        live.push({"k": [1, 2, 3], "x": [i, i, i]})
        clean.push({"k": [1, 2, 3], "x": [i, i, i]})
        before = live.snapshot()
        with pytest.raises(ZeroDivisionError, match="windows long, short"):  # when slices of key 1 are fused already
            live.push({"k": [1, 1, 1, 2, 2, 2, 3], "x": [1, 1, 1, 1, 666, 1, 1]})
        assert live.snapshot() == before
    rest = {"k": np.repeat([1, 2, 3], 160), "x": np.tile(np.arange(160), 3)}
    result = live.push(rest)
    assert result["x"].tolist() == clean.push(rest)["x"].tolist()
    assert [x for x in result["x"].tolist() if x % 1_000 == 200] == [159_200] * 3  # from 0 to 159


SETS = {
    "nested": [(200, 200), (1, 1)],
    "sliding in tumbling": [(10, 1), (200, 200)],
    "aligned": [(10, 1), (300, 10)],
    "not aligned": [(3, 1), (305, 10)],
    "primes": [(60, 7), (97, 11), (500, 13)],
    "all ranges": [(k, 1) for k in range(1, 17)],
}


@pytest.mark.parametrize("name", SETS)
def test_a_slice_that_is_fused_costs_two_combines_at_most(name: str, watched: Watched) -> None:
    ours = {f"w{i}": win.sliding(size, every=every) for i, (size, every) in enumerate(SETS[name])}
    counted = {}
    for fuses in (True, False):
        query = windrow.Query(windows=ours, aggregates={"n": swag.counting(agg.sum("x"))})
        stepping = Stepping(query, {"x": np.ones(600, np.int64)})
        if not fuses:
            (ring,) = stepping.state.rings.values()
            ring._fused = lambda keys, *_: _nothing(len(keys))
        for _ in range(600):
            stepping.step(1)
        counted[fuses] = stepping.counts
    assert counted[True].windows == counted[False].windows
    assert counted[True].merge <= counted[False].merge + 2 * watched.gone
    if name == "all ranges":
        assert watched.gone == 0 and counted[True].merge == counted[False].merge <= 16 * 600
    else:
        assert watched.gone > 0 and counted[True].most < counted[False].most


def test_rows_fused_in_a_flat_fit() -> None:
    """Whatever was asked before, each row that stays has what it had with those after it, for a combine per row."""
    for seed in range(200):
        rnd = random.Random(seed)
        text = swag.counting(agg.concat())
        w = swag.FlatFIT(text, capacity=64)
        fuse = fusing(w.form)
        model: list[str] = []
        for i in range(rnd.randrange(1, 60)):
            what = rnd.random()
            if what < 0.5 or not model:
                model.append(chr(97 + i % 26))
                w.insert(model[-1])
            elif what < 0.6:
                model.pop(0)
                w.evict()
            elif what < 0.8:
                ranges = [rnd.randrange(1, len(model) + 1) for _ in range(3)]
                assert w.query_many(ranges) == ["".join(model[-k:]) for k in ranges]
            else:
                stays = [True, *(rnd.random() < 0.5 for _ in model[1:])]
                places = [sum(stays[:j]) if stay else GOES for j, stay in enumerate(stays)]
                before = w.of.combines
                w.r = fuse(w.s, w.r, [0, *places], 1, sum(stays))
                w.form.journal.undo.clear()
                assert w.of.combines - before < len(model)
                fused: list[str] = []
                for row, stay in zip(model, stays, strict=True):
                    if stay:
                        fused.append(row)
                    else:
                        fused[-1] += row
                model = fused
            w.check_invariants()
            assert len(w) == len(model)
        if model:
            assert w.query_many(range(1, len(model) + 1)) == ["".join(model[-k:]) for k in range(1, len(model) + 1)]


def test_with_latency_windows_have_rings_of_their_own_and_nothing_is_fused() -> None:
    """FlatFIT and fusing are constant on average; in the worst case only a ring for each window is."""
    total = swag.counting(agg.sum("x"))
    ours = {"long": win.sliding(400, every=10), "short": win.sliding(10, every=1)}
    query = windrow.Query(windows=ours, aggregates={"s": total}, favor="latency")
    assert "fused" not in query.explain() and "constant time in the worst case" in query.explain()
    live, worst = query.open(), 0
    for i in range(1_200):
        before = query.aggregates["s"].combines
        live.push({"x": [i]})
        worst = max(worst, query.aggregates["s"].combines - before)
    assert worst <= 16


@pytest.mark.parametrize("of", [ENDS("x"), swag.counting(ENDS("x"))], ids=["compiled", "plain"])
def test_a_large_push_leaves_no_large_state(of: windrow.Aggregate) -> None:
    """The slices of a push are fused when it is over; the room that they took is given back, unless it has failed."""
    query = windrow.Query(windows={"long": win.tumbling(20_000), "short": win.tumbling(1)}, aggregates={"x": of})
    live, clean = query.open(), query.open()
    for i in range(10):
        for each in (live, clean):
            each.push({"x": [i]})
    small = len(live.snapshot())
    before = live.snapshot()
    with pytest.raises(ZeroDivisionError):
        live.push({"x": np.where(np.arange(3_000) == 1_500, 666, 1)})
    assert live.snapshot() == before
    for each in (live, clean):
        each.push({"x": np.arange(3_000) % 600})
    assert len(live.snapshot()) < 2 * small
    for each in (live, clean):
        each.push({"x": np.ones(3_000, np.int64)})
    rest = {"x": np.ones(14_000, np.int64)}
    result = live.push(rest)["x"]
    assert result.tolist() == clean.push(rest)["x"].tolist()
    assert 1_000 + 20_000 in result.tolist()  # from 0 to 1, and 20,000 of them
