"""`Query.draw` against windows that are counted by hand, for every kind, and over every kind of data."""

from __future__ import annotations

import datetime
import itertools
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.drawing.axis import Axis
from windrow.drawing.picture import Picture

MINUTE = 60_000_000
AT = [1, 3, 4, 8, 9, 12, 17, 18, 23, 24, 26, 29]
BEGIN = np.datetime64("2024-05-01T06:00", "us")
ZERO = BEGIN.astype(np.int64)
X = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
ROWS = {
    "at": BEGIN + np.array(AT) * np.timedelta64(1, "m"),
    "x": np.array(X),
    "km": np.array(AT) / 2,
    "new": np.array([x > 4 for x in X]),
    "who": ["a", "b"] * 6,
}


@dataclass
class Fives:
    seen: int = 0

    def discretize(self, row):
        self.seen += 1
        return int(self.seen % 5 == 1), int(self.seen % 5 == 1 and self.seen > 1)


def query(window, **options):
    return windrow.Query(**{"time": "at", "windows": window, "aggregates": {"total": agg.sum("x")}, **options})


def minutes(place: float) -> float:
    return (place - ZERO) / MINUTE


def bars(picture: Picture, lane: int = 0, panel: int = 0, window: str = ""):
    return picture.panels[panel].lanes[lane].groups[window]


def found(window, **options):
    """(start, end, rows, answer) of each window, times in minutes after six."""
    picture = query(window, **options).draw(ROWS, first=12, windows=100)
    axis = picture.panels[0].axis
    place = minutes if axis.kind == "time" else float
    return [(place(b.start), place(b.end), [place(p) for p in b.rows], b.answers[0]) for b in bars(picture)]


def test_sliding_by_time():
    expected = []
    for start in range(-5, 30, 5):
        held = [(t, x) for t, x in zip(AT, X, strict=True) if start <= t < start + 10]
        expected.append((start, start + 10, [t for t, _ in held], str(sum(x for _, x in held))))
    assert found(win.sliding("10 minutes", every="5 minutes")) == expected


def test_windows_closed_on_the_right():
    picture = query(win.tumbling("4 minutes", closed="right")).draw(ROWS)
    for bar in bars(picture):
        held = [t for t in AT if minutes(bar.start) < t <= minutes(bar.end)]
        assert bar.edges == "(]" and [minutes(place) for place in bar.rows] == held


def test_sliding_by_rows():
    expected = [(s, s + 4, list(range(s, s + 4)), str(sum(X[s : s + 4]))) for s in range(0, 10, 2)]
    assert found(win.sliding(4, every=2)) == expected


def test_tumbling_along_a_column():
    km = [t / 2 for t in AT]
    expected = []
    for start in (0, 5, 10):
        held = [(k, x) for k, x in zip(km, X, strict=True) if start <= k < start + 5]
        expected.append((start, start + 5, [k for k, _ in held], str(sum(x for _, x in held))))
    assert found(win.tumbling(5.0, on="km"), time=None) == expected


@pytest.mark.parametrize(("closed", "edges"), [("right", "(]"), ("left", "[)"), ("both", "[]"), ("none", "()")])
def test_trailing_by_time(closed, edges):
    picture = query(win.trailing("5 minutes", closed=closed)).draw(ROWS)
    low, high = edges[0] == "[", edges[1] == "]"
    for bar, t in zip(bars(picture), AT, strict=True):
        held = [u for u in AT if (u > t - 5 or (low and u == t - 5)) and (u < t or (high and u == t))]
        assert (minutes(bar.start), minutes(bar.end), bar.edges) == (t - 5, t, edges)
        assert [minutes(place) for place in bar.rows] == held


def test_trailing_by_rows():
    expected = [(AT[max(0, i - 2)], AT[i], AT[max(0, i - 2) : i + 1]) for i in range(12)]
    assert [bar[:3] for bar in found(win.trailing(3))] == expected


def test_session():
    expected = [(1, 12 + 4, AT[:6]), (17, 18 + 4, AT[6:8]), (23, 29 + 4, AT[8:])]
    assert [bar[:3] for bar in found(win.session("4 minutes"))] == expected


def test_punctuated():
    begin = [i for i, x in enumerate(X) if x > 4]
    expected = [(a, b, list(range(a, b))) for a, b in itertools.pairwise(begin)]
    assert [bar[:3] for bar in found(win.punctuated("new"))] == expected


def test_landmark():
    begin = [i for i, x in enumerate(X) if x > 4]
    expected = []
    for a, b in zip(begin, [*begin[1:], 12], strict=True):
        expected += [(a, end, list(range(a, end))) for end in range(a + 2, b + 1, 2)]
    assert [bar[:3] for bar in found(win.landmark("new", every=2))] == expected


def test_last():
    ends = [end for end in range(5, 31, 5) if any(end - 5 <= t < end for t in AT)]
    held = [[t for t in AT if t < end][-3:] for end in ends]
    assert [bar[1:3] for bar in found(win.last(3, every="5 minutes"))] == list(zip(ends, held, strict=True))


def test_policy_and_user_defined():
    policy = win.policy(lambda total, old: total.n - old.n >= 4, over={"n": agg.count()})
    assert [bar[2] for bar in found(policy)] == [AT[max(0, i - 3) : i + 1] for i in range(12)]
    assert [bar[2] for bar in found(win.user_defined(Fives))] == [AT[:5], AT[5:10]]


def test_keys_windows_and_measures_have_lanes_of_their_own():
    windows = {"ten": win.tumbling("10 minutes"), "two": win.tumbling(2)}
    picture = query(windows, by="who").draw(ROWS)
    assert [panel.axis.kind for panel in picture.panels] == ["time", "rows"]
    assert [lane.title for lane in picture.panels[0].lanes] == ["a", "b"]
    by_time = [[minutes(p) for p in bar.rows] for bar in bars(picture, 1, 0, "ten")]
    assert by_time == [[3, 8], [12, 18], [24, 29]]
    assert [list(bar.rows) for bar in bars(picture, 1, 1, "two")] == [[0, 1], [2, 3], [4, 5]]


def test_many_rows_keys_and_windows_are_cut_and_it_says_so():
    rows = {"x": np.arange(1000), "k": np.arange(1000) % 9}
    picture = query(win.sliding(2, every=1), time=None, by="k").draw(rows, first=90, windows=12)
    assert "The first 90 of 1,000 rows." in str(picture) and "The first 6 of 9 keys." in str(picture)
    assert sum(len(lane.groups[""]) for lane in picture.panels[0].lanes) == 12
    assert "12 of 54 windows: the first of each key." in picture.notes


def test_rows_without_a_time_are_told():
    rows = {**ROWS, "at": np.where(np.arange(12) == 3, np.datetime64("NaT"), ROWS["at"])}
    picture = query(win.tumbling("10 minutes")).draw(rows)
    assert "1 row has no time, and is in no window." in picture.notes
    assert [minutes(p) for bar in bars(picture) for p in bar.rows] == [t for i, t in enumerate(AT) if i != 3]


def test_every_text_is_escaped():
    evil = "</svg><script>alert(1)</script>&\x00"
    rows = {"k": [evil] * 4, "t": [evil] * 4}
    made = query({evil.replace("\x00", ""): win.tumbling(2)}, time=None, by="k", aggregates={'"<i>': agg.concat("t")})
    picture = made.draw(rows)
    root = ET.fromstring(str(picture))  # it is XML
    assert not [e for e in root.iter() if e.tag.endswith(("script", "}i"))]
    for html in (made._repr_html_(), picture._repr_html_(), next(iter(made.windows.values()))._repr_html_()):
        assert "<script" not in html and "<i>" not in html
    assert "&lt;b&gt;" in win.punctuated("'<b>' == x")._repr_html_()


def test_every_kind_of_data_gives_the_same_picture():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    made = query(win.session("4 minutes"), by="who", aggregates={"n": agg.count(), "all": agg.collect_list("x")})
    expected = str(made.draw(ROWS))
    for data in (pd.DataFrame(ROWS), pl.DataFrame(ROWS), pa.table(ROWS)):
        assert str(made.draw(data)) == expected


def test_integer_times_are_numbers():
    picture = query(win.tumbling("10 s"), time="t", time_unit="s").draw({"t": [0, 3, 12], "x": [1, 2, 3]})
    assert [(bar.start, bar.end, list(bar.rows)) for bar in bars(picture)] == [(0, 10, [0, 3]), (10, 20, [12])]


def test_themes_and_files(tmp_path):
    made = query(win.tumbling("10 minutes"))
    auto, light, dark = (str(made.draw(ROWS, theme=theme)) for theme in ("auto", "light", "dark"))
    assert "prefers-color-scheme:dark" in auto and "prefers-color-scheme" not in light + dark and light != dark
    where = made.draw(ROWS).save(tmp_path / "windows.svg")
    assert where.read_text() == auto + "\n"
    with pytest.raises(windrow.errors.WindrowError, match="theme is auto, light or dark, not 'blue'"):
        made.draw(ROWS, theme="blue")
    with pytest.raises(windrow.errors.WrongType, match="first is a whole number"):
        made.draw(ROWS, first=0)


def test_the_query_itself_is_not_touched():
    made = query(win.tumbling("10 minutes"), changes_only=True)
    made.run(ROWS)
    before = made.report
    made.draw({name: values[:3] for name, values in ROWS.items()})
    assert made.report == before and list(made.aggregates) == ["total"] and made.changes_only


def test_ticks():
    hours = Axis("time").ticks(ZERO, ZERO + 3 * 3600e6)
    assert [label for _, label, _ in hours][:3] == ["06:00", "06:30", "07:00"] and hours[0][2] == "1 May 2024"
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    assert Axis("time", zone=zone).ticks(ZERO, ZERO + 86400e6 * 6)[0][1:] == ("May 2", "2024")
    assert len(Axis("time").ticks(-(2.0**62), 2.0**62)) > 1  # beyond Python's years
    assert [label for _, label, _ in Axis("rows").ticks(0, 3)] == ["0", "1", "2", "3"]
    assert [label for _, label, _ in Axis("number").ticks(0, 0.3)][:3] == ["0", "0.05", "0.1"]


def test_short_texts():
    assert repr(win.sliding("24 hours", every="1 minute")) == "sliding 24 h every 1 min"
    assert repr(win.punctuated("s == '5 minutes'")) == "punctuated s == '5 minutes'"
    live = query(win.sliding("2 days", every="1 hour")).open()
    live.push({name: values[:3] for name, values in ROWS.items()})
    assert repr(live) == "<Live sliding 2 d every 1 h: 3 rows in, 0 out>"
    window = windrow.swag.DABA(agg.max("x"))
    window.insert(3)
    assert repr(window) == "<DABA of max(x): 1 row>"


def test_html_of_queries_and_reports():
    made = query(win.sliding("24 hours", every="1 minute"), by="who")
    html = made._repr_html_()
    assert "sliding 24 h every 1 min" in html and "<details>" in html and "sum(x)" in html
    made.run(ROWS)
    assert "<td>12</td>" in made.report._repr_html_()
