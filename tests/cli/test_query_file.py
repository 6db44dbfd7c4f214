"""A query in a file is the query in Python: the same windows and aggregates, to the last fact that is saved."""

from __future__ import annotations

import datetime
import sys
import textwrap
from pathlib import Path

import pytest

import windrow
from windrow import agg, win
from windrow.cli.ending import Usage
from windrow.cli.query_file import QueryFile
from windrow.cli.query_parts import AGGREGATES
from windrow.cli.slide_policies import SlidePolicy
from windrow.cli.toml_file import read


def loaded(place: Path, text: str, **options):
    (place / "q.toml").write_text(textwrap.dedent(text))
    return QueryFile(place / "q.toml", **options).query


WINDOWS = {
    'kind = "sliding"\nrange = "24 hours"\nevery = "1 minute"': win.sliding("24 hours", every="1 minute"),
    'kind = "sliding"\nrange = 100\nevery = 10': win.sliding(100, every=10),
    'kind = "sliding"\nrange = 10.0\nevery = 5.0\non = "x"': win.sliding(10.0, every=5.0, on="x"),
    'kind = "sliding"\nrange = "1 day"\nevery = "1 day"\norigin = 2024-05-01T06:00:00': win.sliding(
        "1 day", every="1 day", origin=datetime.datetime(2024, 5, 1, 6)
    ),
    'kind = "tumbling"\nsize = "1 hour"\norigin = "15 minutes"': win.tumbling("1 hour", origin="15 minutes"),
    'kind = "trailing"\nrange = "1 hour"\nclosed = "both"': win.trailing("1 hour", closed="both"),
    'kind = "trailing"\nrange = 20': win.trailing(20),
    'kind = "session"\ngap = "30 minutes"': win.session("30 minutes"),
    'kind = "punctuated"\npredicate = "x < 10 and `odd name` == \'a\'"': win.punctuated("x < 10 and `odd name` == 'a'"),
    'kind = "punctuated"\npredicate = "opening"': win.punctuated("opening"),
    'kind = "landmark"\nbegin = "opening"\nevery = "5 minutes"': win.landmark("opening", every="5 minutes"),
    'kind = "last"\nn = 10\nevery = "5 seconds"': win.last(10, every="5 seconds"),
    'kind = "last"\nn = "10 minutes"\nevery = 100': win.last("10 minutes", every=100),
    'kind = "last"\nn = 2.5\non = "km"\nevery = 3\nevery_on = "floor"': win.last(
        2.5, every=3, on="km", every_on="floor"
    ),
    'kind = "policy"\nevict = "total.n - old.n >= 3"\nover = { n = "count()" }': win.policy(
        SlidePolicy("total.n - old.n >= 3"), over={"n": agg.count()}
    ),
}


@pytest.mark.parametrize("text", WINDOWS, ids=lambda text: " ".join(text.split())[7:50])
def test_every_window(place, text):
    found = loaded(place, f'time = "ts"\n[window]\n{text}\n[aggregates]\nt = "concat(s)"\n')
    meant = windrow.Query(time="ts", windows=WINDOWS[text], aggregates={"t": agg.concat("s")})
    assert found.identity() == meant.identity()


def test_every_option(place):
    found = loaded(
        place,
        """
        time = "ts"
        by = "k"
        lateness = "10 minutes"
        algorithm = "daba"
        favor = "latency"
        threads = 3
        changes_only = true
        partial = true
        strict = true
        aggregates.x = "max(x)"
        [windows.a]
        kind = "tumbling"
        size = "1 hour"
        [windows."b c"]
        kind = "session"
        gap = "1 hour"
        """,
    )
    meant = windrow.Query(
        time="ts", by="k", lateness="10 minutes", algorithm="daba", favor="latency", threads=3,
        changes_only=True, partial=True, strict=True,
        windows={"a": win.tumbling("1 hour"), "b c": win.session("1 hour")},
        aggregates={"x": agg.max("x")},
    )  # fmt: skip
    assert found.identity() == meant.identity()
    for option in ("algorithm", "favor", "threads", "strict", "named"):
        assert getattr(found, option) == getattr(meant, option)


OPTIONS = {
    "first_n": ", n = 2", "last_n": ", n = 2", "top_k": ", k = 2", "histogram": ", edges = [0, 1, 2]",
    "approx_percentile": ", q = [0.5, 0.9]", "concat": ', sep = "-"', "first": ", ignorenulls = false",
}  # fmt: skip


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate(place, name):
    two = name in ("max_by", "min_by", "corr", "covar_samp", "regr_slope", "weighted_mean")
    columns = ["x", "y"] if two else ["x"]
    window = '[window]\nkind = "tumbling"\nsize = 3\n[aggregates]\n'
    listed = ", ".join(columns)
    if name not in ("first_n", "last_n", "top_k", "histogram", "approx_percentile"):
        short = loaded(place, f'{window}it = "{name}({listed})"\n')
        assert short.aggregates["it"].columns == tuple(columns)
        assert short.aggregates["it"].name == getattr(agg, name)(*columns).name
    long = loaded(place, f'{window}it = {{ function = "{name}", columns = {columns}{OPTIONS.get(name, "")} }}\n')
    assert long.aggregates["it"].columns == tuple(columns)


def test_options_reach_the_aggregate(place):
    found = loaded(
        place,
        '[window]\nkind = "tumbling"\nsize = 3\n[aggregates]\nc = { function = "concat", columns = "s", sep = "-" }\n'
        'f = { function = "first_n", columns = "s", n = 2 }',
    ).run({"s": list("abcdef")})
    assert found["c"].tolist() == ["a-b-c", "d-e-f"]
    assert [list(x) for x in found["f"]] == [["a", "b"], ["d", "e"]]


def test_conditions_and_expressions(place):
    window = '[window]\nkind = "tumbling"\nsize = 3\n[aggregates]\n'
    found = loaded(
        place,
        window + 'n = { function = "count", where = "x >= 2" }\n'
        'v = { function = "sum", columns = [{ expr = "x * y" }], where = "y is not null" }',
    )
    meant = {"n": agg.count(where="x >= 2"), "v": agg.sum(windrow.expr("x * y"), where="y is not null")}
    assert found.identity() == windrow.Query(windows=win.tumbling(3), aggregates=meant).identity()
    assert found.run({"x": [1, 2, 3], "y": [1, 1, 2]})["v"].tolist() == [9]
    for given, says in (
        ('n = { function = "count", where = "x >=" }', "ends too early"),
        ('n = { function = "sum", columns = [{ expr = "x **" }] }', "is not allowed"),
        ('n = { function = "sum", columns = [{ expr = 3 }] }', "takes a text"),
        ('n = { function = "sum", columns = [{ text = "x" }] }', "names of columns, or"),
    ):
        with pytest.raises(Usage, match=says):
            loaded(place, window + given)


def test_code_beside_the_file(place, monkeypatch):
    (place / "my_code_for_tests.py").write_text(
        textwrap.dedent("""
        import windrow

        class Pairs:
            seen: int = 0
            def discretize(self, row):
                self.seen += 1
                return self.seen % 2, int(self.seen % 2 == 1 and self.seen > 1)

        joined = windrow.Aggregate(lift=str, combine=lambda a, b: a + b, identity="")
        """)
    )
    monkeypatch.setattr("sys.path", [*sys.path])
    text = """
        [window]
        kind = "user_defined"
        class = "my_code_for_tests:Pairs"
        [aggregates]
        text = { code = "my_code_for_tests:joined", columns = ["s"] }
    """
    with pytest.raises(Usage, match=r"q\.toml:6: my_code_for_tests:joined is Python code, which runs only with"):
        loaded(place, text)
    assert loaded(place, text, allow_code=True).run({"s": list("abcde")})["text"].tolist() == ["ab", "cd"]


def test_a_store_is_not_opened_for_a_plan(place):
    text = 'time = "ts"\nstore = { kind = "rocksdb", path = "s" }\n[window]\nkind = "sliding"\nrange = "1 hour"\n'
    text += 'every = "1 minute"\n[aggregates]\nx = "max(x)"\n'
    plan = loaded(place, text).explain()
    assert f"stores.rocksdb('{place / 's'}')" in plan
    assert not (place / "s").exists()
    opened = loaded(place, text, open_store=True)
    assert (place / "s").is_dir()
    opened.store.close()


def test_lines_of_keys(place):
    (place / "t.toml").write_text(
        'a = 1  # one\n\n"b c" = """\n[no.table]\nx = 1\n"""\n[t."u v"]\nlist = [\n  1,\n  2,\n]\n'
        "d.e = { f = 3 }\n[[g]]\n"
    )
    assert read(place / "t.toml").lines == {
        ("a",): 1, ("b c",): 3, ("t",): 7, ("t", "u v"): 7, ("t", "u v", "list"): 8, ("t", "u v", "d"): 12,
        ("t", "u v", "d", "e"): 12, ("t", "u v", "d", "e", "f"): 12, ("g",): 13,
    }  # fmt: skip


class Row:
    def __init__(self, **fields):
        self.__dict__.update(fields)


NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "total", "old", "holds"),
    [
        ("total.n - old.n >= 3", {"n": 5}, {"n": 2}, True),
        ("total.n - old.n >= 3", {"n": 5}, {"n": 3}, False),
        ("total . n>3", {"n": 5}, {}, True),
        ("total.n > 3", {"n": None}, {}, False),
        ("not (total.n > 3)", {"n": None}, {}, False),
        ("total.n > 3 or old.n is None", {"n": None}, {"n": None}, True),
        ("total.n > 3 and old.n == 1", {"n": None}, {"n": 2}, False),
        ("not (total.n > 3 and old.n == 1)", {"n": None}, {"n": 2}, True),
        ("total.n / old.n > 1", {"n": 5}, {"n": 0}, False),
        ("total.n % 3 == 2 and -total.n < 0 and abs(-1) == 1", {"n": 5}, {}, True),
        ("1 < total.n <= 5", {"n": 5}, {}, True),
        ("total.s in ('total.n', 'b')", {"s": "total.n"}, {}, True),
        ("total.x > 1e300", {"x": NAN}, {}, True),
        ("total.x == old.x", {"x": NAN}, {"x": NAN}, True),
        ("old.x < total.x", {"x": NAN}, {"x": NAN}, False),
        ("total.n // 2 + 1 != 3", {"n": 5}, {}, False),
        ("True", {}, {}, True),
        ("coalesce(total.n, old.n) = 2 and least(total.n, old.n, 5) = 2", {"n": None}, {"n": 2}, True),
        ("greatest(total.x, 7) > 1e300 and old.n between 1 and 3", {"x": NAN}, {"n": 2}, True),
        (
            "case when total.n > 3 then upper(old.s) else 'x' end = 'AB' and length(old.s) = 2",
            {"n": 4},
            {"s": "ab"},
            True,
        ),
        ("case when total.n > 3 then 1 end is null", {"n": 3}, {}, True),
    ],
)
def test_policies_as_text(text, total, old, holds):
    policy = SlidePolicy(text)
    policy.check({*total, *old})
    assert policy(Row(**total), Row(**old)) is holds


def test_a_policy_as_text_runs_as_the_function_does(place):
    text = 'kind = "policy"\nevict = "total.w - old.w >= 10"\nover = { w = "sum(w)" }'
    said = loaded(place, f'[window]\n{text}\n[aggregates]\nt = "concat(s)"\n')
    meant = windrow.Query(
        windows=win.policy(lambda total, old: total.w - old.w >= 10, over={"w": agg.sum("w")}),
        aggregates={"t": agg.concat("s")},
    )
    data = {"w": [4, 5, 3, 9, 2, 1, 20, 1], "s": list("abcdefgh")}
    assert said.run(data)["t"].tolist() == meant.run(data)["t"].tolist()
