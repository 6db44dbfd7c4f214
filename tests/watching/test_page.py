"""The page of a live query: its numbers are the query's, whole pushes at a time, and it is for this machine only."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.request

import numpy as np
import pytest

import windrow
from windrow import agg, win
from windrow.local import watched
from windrow.watching import server as serving

BEGIN = np.datetime64("2024-05-01T06:00", "us")
SENSORS = np.array(["hall", "roof", "<img src=x onerror=alert(1)>"])


def rows(first: int, count: int) -> dict:
    number = np.arange(first, first + count)
    return {"at": BEGIN + number * np.timedelta64(7, "s"), "sensor": SENSORS[number % 3], "temp": number % 41}


def query(window=None, **options) -> windrow.Query:
    given = {
        "time": "at",
        "by": "sensor",
        "windows": window or win.sliding("10 minutes", every="1 minute"),
        "aggregates": {"hottest": agg.max("temp"), "n": agg.count()},
        "lateness": "2 minutes",
        "compile": "never",
        **options,
    }
    return windrow.Query(**given)


def asked(address: str, path: str = "", **headers: str) -> http.client.HTTPResponse:
    host, port = address.removeprefix("http://").rstrip("/").rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    connection.request("GET", f"/{path}", headers=headers)
    return connection.getresponse()


def event(address: str) -> dict:
    """The first event that has data."""
    with urllib.request.urlopen(f"{address}events", timeout=20) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                return json.loads(line[6:])
    raise AssertionError("no event")


def test_numbers_are_those_of_the_query(monkeypatch):
    monkeypatch.setattr(watched, "EVERY", 0)  # the size is measured now and then
    live = query().open()
    with live.serve() as page:
        for first in range(0, 1000, 100):
            live.push(rows(first, 100))
        live.push({**rows(0, 3), "at": np.array([BEGIN, "NaT", BEGIN], "M8[us]")})  # two late, one rejected
        source = page.source
        report = live.report
        assert source.counts() == {"rows_in": 1003, "rows_out": report.rows_out, "late": 2, "rejected": 1}
        assert (report.rows_in, report.late, report.rejected) == (1003, 2, 1)
        told = source.told()
        newest = BEGIN + 999 * np.timedelta64(7, "s")
        assert told["watermark"] == str(newest - np.timedelta64(2, "m")).replace("T", " ")[:19]
        assert told["behind_newest"] == "2 min 0 s" and told["state"] == "running"
        assert told["keys"] == "3"
        live.close()
        assert source.counts()["rows_out"] == live.report.rows_out and source.told()["state"] == "closed"


def test_a_reader_sees_whole_pushes():
    live = query(time=None, windows=win.tumbling(3), lateness=None).open()
    after = {0: 0}  # rows in -> results out
    with live.serve() as page:
        seen, done = set(), threading.Event()

        def read() -> None:
            while not done.is_set():
                counts = page.source.counts()
                seen.add((counts["rows_in"], counts["rows_out"]))

        reader = threading.Thread(target=read)
        reader.start()
        for first in range(0, 3000, 7):
            live.push(rows(first, 7))
            after[live.report.rows_in] = live.report.rows_out
        done.set()
        reader.join()
    assert len(seen) > 3 and all(after[rows_in] == rows_out for rows_in, rows_out in seen)


def test_a_push_that_fails_is_not_seen():
    def fail(a, b):
        if b > 50:
            raise ValueError("no")
        return a + b

    own = windrow.Aggregate(lift=lambda x: x, combine=fail, lower=lambda s: s, identity=0)
    live = query(windows=win.tumbling(2), by=None, time=None, lateness=None, aggregates={"own": own("temp")}).open()
    with live.serve() as page:
        live.push({"temp": [1, 2, 3]})
        with pytest.raises(ValueError, match="no"):
            live.push({"temp": [60, 4]})
        assert page.source.counts() == {"rows_in": 3, "rows_out": 1, "late": 0, "rejected": 0}
        assert ">3<" in page.source.picture() and page.source.picture().count('class="bar"') == 1


@pytest.mark.parametrize(
    ("window", "options"),
    [
        (win.session("15 seconds"), {}),
        (win.trailing("5 minutes"), {}),
        (win.trailing(5), {"time": None, "lateness": None}),
        ({"a": win.tumbling("1 minute"), "b": win.tumbling(10)}, {}),
        (win.tumbling(5.0, on="temp"), {"time": None, "lateness": None}),
        (win.tumbling(40), {"by": None}),
    ],
)
def test_the_newest_windows_are_drawn(window, options):
    made = query(windows=window, **options)
    live = made.open()
    with live.serve() as page:
        found = [live.push(rows(first, 50)) for first in range(0, 1000, 50)]
        page.source.counts()
        picture = page.source.picture()
    last = next(result for result in reversed(found) if len(next(iter(result.values()))))
    assert "onerror" not in picture.replace("&lt;img src=x onerror", "")
    assert 0 < picture.count('class="bar"') <= 28
    name = next(name for name in last if name.startswith("hottest"))
    assert f">{np.asarray(last[name])[-1]}<" in picture


def test_large_results_are_not_kept():
    live = query(windows=win.tumbling(1), time=None, lateness=None).open()
    with live.serve() as page:
        live.push(rows(0, 100_000))
        made = page.source._results[-1][0]
        assert {len(output) for output in made.values()} == {14}


def test_key_counts_follow_forgotten_keys():
    live = query(windows=win.session("1 minute"), by="k").open()
    with live.serve() as page:
        live.push({"at": BEGIN + np.zeros(5000, int), "k": np.arange(5000), "temp": np.ones(5000)})
        live.push({"at": np.array([BEGIN + np.timedelta64(1, "D")]), "k": np.array([7]), "temp": np.ones(1)})
        page.source._measured = float("-inf")
        page.source.counts()
        assert (
            page.source.told()["keys"] == f"{live.door.keys.count:,}" == f"{len(live.door.keys._integers.numbers()):,}"
        )


def test_only_this_machine():
    live = query().open()
    with live.serve() as page:
        assert page.address.startswith("http://127.0.0.1:")
        assert asked(page.address).status == 200
        for name in ("localhost", "127.0.0.1:80", "[::1]:80", "LOCALHOST:1"):
            assert asked(page.address, Host=name).status == 200
        for name in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            assert asked(page.address, Host=name).status == 421
            assert asked(page.address, "events", Host=name).status == 421
        assert asked(page.address, "etc/passwd").status == 404
        headers = asked(page.address).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store" and "Access-Control-Allow-Origin" not in headers


def test_texts_are_escaped():
    made = query(windows={"<script>alert(1)</script>": win.tumbling("1 minute")}, time="at")
    with made.open().serve() as page:
        html = asked(page.address).read().decode()
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html


def test_few_streams_at_once(monkeypatch):
    monkeypatch.setattr(serving, "STREAMS", 2)
    with query().open().serve() as page:
        two = [urllib.request.urlopen(f"{page.address}events", timeout=20) for _ in range(2)]
        assert all(stream.readline() == b"retry: 1000\n" for stream in two)
        assert asked(page.address, "events").status == 503
        for stream in two:
            stream.close()


def test_closing_leaves_nothing_behind():
    before = threading.active_count()
    live = query().open()
    one, other = live.serve(), live.serve()
    event(one.address)
    one.close()
    one.close()
    assert live.watched is not None and event(other.address)["texts"]["rows_in"] == "0"
    other.close()
    assert live.watched is None
    live.push(rows(0, 10))
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(one.address, timeout=5)
    for _ in range(100):
        if threading.active_count() <= before:
            break
        threading.Event().wait(0.1)
    assert threading.active_count() <= before


def test_a_port_that_is_taken():
    with query().open().serve() as page:
        port = int(page.address.rstrip("/").rsplit(":", 1)[1])
        with pytest.raises(windrow.errors.WindrowError, match=f"cannot serve on 127.0.0.1:{port}"):
            query().open().serve(port)
