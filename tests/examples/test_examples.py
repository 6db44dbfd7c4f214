"""The scripts in examples/ run, and their answers are those of a few plain lines."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from tests.docs.blocks import ROOT, script

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
PAGE = (ROOT / "docs" / "examples.md").read_text()


def loaded(name):
    return script(ROOT / "examples" / f"{name}.py")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_each_says_what_it_is(path):
    """And is on the page, whose console blocks run it and compare what it prints (tests/docs)."""
    module = loaded(path.stem)
    assert f"python examples/{path.name}" in inspect.getdoc(module)
    assert callable(module.main)
    assert f"$ python examples/{path.name}\n" in PAGE
    assert f'--8<-- "examples/{path.name}"' in PAGE
    assert len(path.read_text().splitlines()) < 120


def test_stock():
    stock = loaded("stock")
    rows = stock.trades()
    found = stock.query.run(rows)
    minutes = (rows["ts"] - rows["ts"][0]) // np.timedelta64(1, "m")
    expected, begin = [], 0
    while begin < 50:
        low = rows["price"][begin] <= stock.LOW
        end = max([begin + (5 if low else 10), *(e for _, e, _ in expected)])
        inside = (minutes >= begin) & (minutes < end)
        weighted = (rows["price"] * rows["volume"])[inside].sum() / rows["volume"][inside].sum()
        expected.append((begin, end, weighted))
        begin += 2 if low else 5
    ended = [window for window in expected if window[1] < 50]
    assert len(ended) == len(found["vwap"]) > 8
    starts, ends = ((found[edge] - rows["ts"][0]) // np.timedelta64(1, "m") for edge in ("start", "end"))
    assert list(zip(starts, ends, strict=True)) == [window[:2] for window in ended]
    assert found["vwap"] == pytest.approx([window[2] for window in ended])


def test_vehicle():
    vehicle = loaded("vehicle")
    rows = vehicle.reports()
    found = vehicle.query.run(rows)
    minutes = (rows["ts"] - np.datetime64("1970-01-01", "us")) // np.timedelta64(1, "m")
    expected = []
    for name, place, size, every in (("time", minutes, 10, 6), ("distance", rows["mileage"], 10, 5)):
        first = int((place[0] - size) // every)
        for start in range(first * every, int(place[-1]) + 1, every):
            inside = (place >= start) & (place < start + size)
            if inside.any():
                expected.append((name, int(inside.sum()), rows["speed"][inside].max()))
    assert list(zip(*(found[name] for name in ("window", "reports", "fastest")), strict=True)) == expected


def test_telemetry():
    telemetry = loaded("telemetry")
    rows = telemetry.readings()
    assert (np.diff(rows["at"]) < np.timedelta64(0)).any()  # some come late
    expected = []
    for device in np.unique(rows["device"]):
        mine = rows["device"] == device
        order = np.argsort(rows["at"][mine], kind="stable")
        at, celsius = rows["at"][mine][order], rows["celsius"][mine][order]
        parts = np.split(np.arange(len(at)), np.flatnonzero(np.diff(at) >= 10 * telemetry.MINUTE) + 1)
        ends = [at[part[-1]] + 10 * telemetry.MINUTE for part in parts]
        expected += [
            (device, at[part[0]], end, len(part), celsius[part].max()) for part, end in zip(parts, ends, strict=True)
        ]
    live = telemetry.query.open()
    batches = [{name: column[at : at + 40] for name, column in rows.items()} for at in range(0, len(rows["at"]), 40)]
    got = [*map(live.push, batches), live.close()]
    names = ("device", "start", "end", "readings", "hottest")
    sent = [row for part in got for row in zip(*(part[name] for name in names), strict=True)]
    assert live.report.late == 0
    assert sorted(sent) == sorted(expected)


def longest(values):
    best = run = 0
    for i, value in enumerate(values):
        run = run + 1 if i and value > values[i - 1] else 1
        best = max(best, run)
    return best


def test_rising(monkeypatch):
    rising = loaded("rising")
    monkeypatch.setattr(rising, "SIZE", 50)
    rows = rising.readings(600)
    found = rising.query.run(rows)
    values = rows["mb"].tolist()
    assert found["longest"].tolist() == [longest(values[max(0, i - 49) : i + 1]) for i in range(600)]
    assert (found["kept"] <= 50).all() and found["kept"].mean() < 40
