"""The report: what it says follows from the CSVs, everything is escaped, nothing is fetched."""

from __future__ import annotations

import csv
import html.parser
import re

import pytest

from benchmarks import EXPERIMENTS, Experiment, Measure, Settings, command, report, run
from benchmarks.app import main
from benchmarks.base import AGREES, Claim, unmeasured
from benchmarks.judging import at_least, at_most
from benchmarks.page import Html, join, page, picture, table, tag
from windrow.errors import WindrowError


def tiny(name="tiny", holds=(True,), paper="9 Tab. 9", expected="b is slower", title="a tiny one"):
    def rows(settings):
        return [{"who": who, "repetition": i, "seconds": s} for who, s in (("a", 1.0), ("b", 2.0)) for i in range(2)]

    def claims(rows):
        return [Claim(f"claim {i}", f"found {i}", one, f"because {i}") for i, one in enumerate(holds)]

    def draw(rows, figure):
        figure.subplots().plot([row["seconds"] for row in rows])

    measure = Measure(("who",), "seconds", "s", baseline="a")
    return Experiment(
        name, title, paper, expected, rows, draw, measure, lambda rows: ["a note"], asked="is b slower?", claims=claims
    )


class Seen(html.parser.HTMLParser):
    """Tags that are open, what they point at, and their text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.sources, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, given):
        if name not in ("img", "meta", "br"):
            self.open.append(name)
        self.sources += [value for key, value in given if key in ("src", "href", "srcset", "data", "action")]

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize(
    ("holds", "agrees"),
    [
        ((True, True), "agrees"),
        ((True, None), "agrees"),
        ((True, False), "agrees in part"),
        ((False, False, None), "does not"),
        ((None,), "not measured"),
        ((), "not measured"),
    ],
)
def test_a_verdict_is_a_function_of_its_claims(holds, agrees):
    found = tiny(holds=holds).verdict([{"level": "quick"}])
    assert found.agrees == agrees
    assert found.agrees in AGREES
    assert found.sentence.endswith("(quick)")
    assert ("found 0" in found.sentence) == (bool(holds) and holds[0] is not None)


def test_near_enough_is_a_factor_of_two_or_better():
    assert at_least(5, 10) and at_least(100, 10) and not at_least(4.9, 10)
    assert at_most(20, 10) and at_most(1, 10) and not at_most(20.1, 10)
    assert unmeasured("x").holds is None


def test_the_report_says_what_the_csvs_say(tmp_path):
    experiments = {
        "good": tiny("good"),
        "part": tiny("part", holds=(True, False)),
        "aim": tiny("aim", holds=(False,), paper="none", expected="ours to set: much"),
        "missing": tiny("missing"),
    }
    for name in ("good", "part", "aim"):
        run(experiments[name], Settings("quick", seed=11), tmp_path)
    path = report.write(experiments, tmp_path)
    assert path == tmp_path / "report.html"
    page = path.read_text()
    seen = Seen(page)
    text = " ".join(seen.text)
    assert "Not run: missing." in text
    assert "Of 2 that a paper has done before, 1 agree with it, 1 in part" in text
    assert all(
        part in text for part in ("quick (small sizes", "is b slower?", "found 1", "because 1", "not met", "seed")
    )
    assert "because 0" in text.split("aim: a tiny one")[-1]
    assert text.count("because 0") == 1  # a reason is told only where the claim does not hold
    assert sum(source.startswith("data:image/png;base64,") for source in seen.sources) == 3
    assert all(source.startswith(("data:", "#")) for source in seen.sources)
    assert not re.search(r"https?://|//cdn|@import|url\(", page)
    assert "default-src 'none'" in page


def test_a_changed_csv_changes_the_report(tmp_path):
    """Nothing in it is typed: the figures are those of the file."""

    def claims(rows):
        slow = max(row["seconds"] for row in rows)
        return [Claim("b takes 2 s", f"b takes {slow:g} s", slow <= 2)]

    experiment = tiny()
    object.__setattr__(experiment, "claims", claims)
    run(experiment, Settings("quick"), tmp_path)
    [before] = report.read({"tiny": experiment}, tmp_path)
    assert (before.verdict.agrees, before.in_a_word) == ("agrees", "agrees")
    with (tmp_path / "tiny.csv").open() as file:
        lines = list(csv.DictReader(file))
    lines[-1]["seconds"] = "7.5"
    with (tmp_path / "tiny.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    [after] = report.read({"tiny": experiment}, tmp_path)
    assert after.verdict == ("does not", "b takes 7.5 s (quick)")


def test_everything_is_escaped(tmp_path):
    bad = '<script>alert("x")</script>'
    experiment = tiny("bad", title=bad, expected=bad, paper=bad)
    run(experiment, Settings("quick"), tmp_path)
    page = report.write({"bad": experiment}, tmp_path).read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    Seen(page)


def test_tags():
    assert tag("p", "a & b", Html("<br>"), class_="x") == '<p class="x">a &amp; b<br></p>'
    assert tag("a", "x", href='"><script>') == '<a href="&quot;&gt;&lt;script&gt;">x</a>'
    assert join(["<", tag("b", ">")]) == "&lt;<b>&gt;</b>"
    assert 'scope="row"' in table(("a", "b"), [("<", 2)], numbers=[1])
    assert picture(b"png", 'a "b"').startswith('<figure><img src="data:image/png;base64,cG5n" alt="a &quot;b&quot;">')
    Seen(page("t < u", table(("a",), [], caption="c")))


def test_a_folder_without_results_is_one_line(tmp_path):
    with pytest.raises(WindrowError, match="no results in"):
        report.write(EXPERIMENTS, tmp_path)
    assert main(["--report-only", "--out", str(tmp_path)]) == 1


def test_the_command_writes_the_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "EXPERIMENTS", {"one": tiny("one"), "two": tiny("two", holds=(False,))})
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"report: {tmp_path / 'report.html'}" in out
    assert "found 0 (quick)" in out
    (tmp_path / "report.html").unlink()
    assert main(["--report-only", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").exists()
    capsys.readouterr()
    assert main(["one", "--json", "--quick", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert '"agrees": "agrees"' in out
    assert "report.html" in err


def rows_of(experiment, lines):
    return [{"level": "normal", "repetition": 0, **line} for line in lines]


def test_claims_can_fail():
    """Rows that contradict a paper are said to."""
    combines = [
        {"window": w, "algorithm": a, "operation": o, "average": average, "worst": worst}
        for w in (8, 64)
        for a, o, average, worst in (
            ("daba", "insert", 2.0, 3),
            ("daba", "evict", 1.0, 2),
            ("daba", "query", 1.0, 1),
            ("flat_fit", "slide", 3 * (w - 1) / (w + 1), w - 1),
            ("flat_fat", "slide", w, w),
        )
    ]
    holds = [claim.holds for claim in EXPERIMENTS["combines"].claims(rows_of("combines", combines))]
    assert holds == [True, True, True, False]
    combines[0]["worst"] = 4
    assert EXPERIMENTS["combines"].claims(rows_of("combines", combines))[0].holds is False
    straight = [{"aggregate": "max", "window": 2**k, "ns_a_row": 10.0 * k + 5} for k in range(3, 20)]
    assert EXPERIMENTS["log-cost"].verdict(rows_of("log-cost", straight)).agrees == "agrees"
    linear = [{"aggregate": "max", "window": 2**k, "ns_a_row": 2.0**k} for k in range(3, 20)]
    assert EXPERIMENTS["log-cost"].verdict(rows_of("log-cost", linear)).agrees == "does not"
    tumbling = [
        {"aggregate": "max", "window": 16, "algorithm": a, "us_a_firing": t, "combines_a_row": 1.0}
        for a, t in (("recalculate", 1.0), ("reactive_aggregator", 2.5))
    ]
    assert EXPERIMENTS["tumbling"].verdict(rows_of("tumbling", tumbling)).agrees == "agrees in part"


def test_an_interrupt_leaves_a_report_of_what_was_done(tmp_path, monkeypatch):
    def interrupted(settings):
        raise KeyboardInterrupt

    second = tiny("two")
    object.__setattr__(second, "run", interrupted)
    monkeypatch.setattr(command, "EXPERIMENTS", {"one": tiny("one"), "two": second})
    assert main(["--quick", "--out", str(tmp_path)]) == 130
    assert "Not run: two." in (tmp_path / "report.html").read_text()


def test_any_failure_lets_the_others_run(tmp_path, monkeypatch, capsys):
    def broken(settings):
        raise ZeroDivisionError("of a library")

    first = tiny("one")
    object.__setattr__(first, "run", broken)
    monkeypatch.setattr(command, "EXPERIMENTS", {"one": first, "two": tiny("two")})
    assert main(["--quick", "--out", str(tmp_path)]) == 1
    assert "one failed: of a library" in capsys.readouterr().err
    assert (tmp_path / "two.csv").exists()
