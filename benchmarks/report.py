"""OUT/report.html: all experiments whose CSV is in a folder, for someone who does not have the code before them.

Everything in it is computed from the CSVs, on another day and another machine as well; the pictures are those beside
them. It makes no request: styles and pictures are inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.base import AGREES, LEVELS, Claim, Experiment, Row, Verdict
from benchmarks.page import Html, page, picture, table, tag
from windrow.errors import WindrowError

NAME = "report.html"
STYLES = dict(zip(AGREES, ("good", "part", "bad", "none"), strict=True))
#: where no paper has measured it, the aim was ours
OURS = dict(zip(AGREES, ("met", "met in part", "not met", "not measured"), strict=True))
AIM = "ours to set"
LEVEL_NAMES = {
    "smoke": "smoke (tests: nothing is big enough to be timed)",
    "quick": "quick (small sizes, minutes)",
    "normal": "normal (an hour at most)",
    "full": "full (the papers' sizes)",
}
#: columns of every CSV that say what the figures were taken on
FACTS = ("cpu", "cores", "memory_gb", "system", "python", "numpy", "numba", "windrow", "seed", "level", "date", "peers")


@dataclass(frozen=True)
class Read:
    """One experiment as it was read back."""

    experiment: Experiment
    rows: Sequence[Row]
    png: Path | None
    claims: Sequence[Claim]
    verdict: Verdict

    @property
    def facts(self) -> dict[str, Any]:
        return {name: self.rows[0][name] for name in FACTS if name in self.rows[0]}

    @property
    def paper(self) -> str:
        """Who has said what it is compared with."""
        return "Our own aim" if self.ours else f"Paper {self.experiment.paper}"

    @property
    def in_a_word(self) -> str:
        """The verdict in a word, for a paper's claims or for our own aims."""
        return OURS[self.verdict.agrees] if self.ours else self.verdict.agrees

    @property
    def ours(self) -> bool:
        return self.experiment.expected.startswith(AIM)

    @property
    def expected(self) -> str:
        return self.experiment.expected.removeprefix(AIM).lstrip(": ")

    @property
    def word(self) -> Html:
        return tag("span", self.in_a_word, class_=f"verdict {STYLES[self.verdict.agrees]}")


def read(experiments: Mapping[str, Experiment], out: Path) -> list[Read]:
    """What there is in a folder, in the order of the experiments."""
    found = []
    for name, experiment in experiments.items():
        path, png = out / f"{name}.csv", out / f"{name}.png"
        rows = results.read_csv(path) if path.exists() else []
        if rows:
            verdict = experiment.verdict(rows)
            found.append(Read(experiment, rows, png if png.exists() else None, experiment.claims(rows), verdict))
    return found


def write(experiments: Mapping[str, Experiment], out: Path) -> Path:
    """Writes the report. Raises `WindrowError` where there is no CSV."""
    found = read(experiments, out)
    if not found:
        raise WindrowError(f"no results in {out}: run python -m benchmarks first, or name its folder with --out")
    missing = [name for name in experiments if name not in {one.experiment.name for one in found}]
    path = out / NAME
    path.write_text(page("windrow benchmarks", first(found, missing), *map(section, found)), encoding="utf-8")
    return path


def first(found: Sequence[Read], missing: Sequence[str]) -> Html:
    """What it is, where it was taken, and one line an experiment."""
    with_paper = [one for one in found if not one.ours]
    agreeing = sum(one.verdict.agrees == AGREES[0] for one in with_paper)
    partly = sum(one.verdict.agrees == AGREES[1] for one in with_paper)
    lead = (
        f"{len(found)} experiments. Of {len(with_paper)} that a paper has done before, {agreeing} agree with it, "
        f"{partly} in part, {len(with_paper) - agreeing - partly} do not or could not be told."
    )
    lines = [
        (tag("a", e.name, href=f"#{e.name}"), one.expected, one.verdict.sentence, one.word)
        for one in found
        for e in [one.experiment]
    ]
    return tag(
        "header",
        tag("h1", "windrow benchmarks: what the papers measured, measured here"),
        tag("p", lead),
        tag(
            "p",
            "The authors had other machines, and wrote C++ and Java. So shapes and ratios are compared, not seconds. A "
            "ratio is taken within one repetition of one run, and given as the median of all. Whether an experiment "
            "agrees is worked out from its CSV, claim by claim: it agrees where all claims hold, in part where some "
            "do. A claim about a ratio or a time holds where ours is within a factor of two of it, or better.",
        ),
        facts(found),
        tag("h3", "Summary"),
        table(("experiment", "what was found before, or aimed at", "what was found here", "agrees"), lines),
        tag("p", f"Not run: {', '.join(missing)}.", class_="soft") if missing else "",
    )


def facts(found: Sequence[Read]) -> Html:
    """The machine, the versions, the day; what differs between experiments is told with both ends."""
    known = {name: list(dict.fromkeys(one.facts[name] for one in found if name in one.facts)) for name in FACTS}

    def all_of(name: str, end: str = "") -> str:
        return " / ".join(f"{value}{end}" for value in known[name]) or "not recorded"

    levels = sorted(known["level"], key=LEVELS.index)
    dates = sorted(map(str, known["date"]))
    peers = dict.fromkeys(peer for said in known["peers"] for peer in str(said).split("; "))
    pairs = [
        ("machine", f"{all_of('cpu')}, {all_of('cores')} cores, {all_of('memory_gb', ' GB')}, {all_of('system')}"),
        ("versions", ", ".join(f"{name} {all_of(name)}" for name in ("windrow", "python", "numpy", "numba"))),
        ("beside it", ", ".join(sorted(peers)) or "nothing"),
        ("date", f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates) or "not recorded"),
        ("level", " / ".join(LEVEL_NAMES[level] for level in levels)),
        ("seed", all_of("seed")),
    ]
    return tag("dl", *(part for name, text in pairs for part in (tag("dt", name), tag("dd", text))), class_="facts")


def section(one: Read) -> Html:
    """One experiment: asked, found before, found here, agreed or why not, picture, figures."""
    e, level = one.experiment, one.facts.get("level", "")
    marks = {True: ("holds", "good"), False: ("does not", "bad"), None: ("not measured", "none")}
    claims = [
        (claim.said, claim.found, tag("span", marks[claim.holds][0], class_=f"verdict {marks[claim.holds][1]}"))
        for claim in one.claims
    ]
    why = [claim.why for claim in one.claims if claim.holds is False and claim.why]
    source = "The aim, which was ours to set" if one.ours else f"Found before (paper {e.paper})"
    return tag(
        "section",
        tag("h2", f"{e.name}: {e.title}"),
        tag("h3", "Asked"),
        tag("p", e.asked or e.title),
        tag("h3", source),
        tag("p", one.expected),
        tag("h3", "Found here"),
        tag("p", one.word, f": {one.verdict.sentence}", class_="callout"),
        table(("claim", "here", "holds"), claims) if claims else "",
        *((tag("h3", "Why not"), *(tag("p", text) for text in dict.fromkeys(why))) if why else ()),
        picture(one.png, f"{e.title}. {one.verdict.sentence}", f"Drawn from {e.name}.csv. {one.paper}: {one.expected}.")
        if one.png
        else tag("p", "There is no picture: matplotlib was missing.", class_="soft"),
        details(one),
        tag("p", f"{level}, seed {one.facts.get('seed', '')}, {one.facts.get('date', '')}", class_="soft"),
        id=e.name,
        class_="experiment",
    )


def details(one: Read) -> Html:
    """Notes, and all figures as a table, folded away."""
    e, measure = one.experiment, one.experiment.measure
    notes = e.notes(one.rows)
    head = [*measure.by, measure.unit, "least - most", "repetitions"]
    if measure.baseline is not None:
        head.append(f"times better than {measure.baseline}")
    lines = []
    for line in results.summary(measure, one.rows):
        cells = [f"{line[name]:,}" if isinstance(line[name], int) else str(line[name]) for name in measure.by]
        cells += [results.figure(line["median"]), f"{results.figure(line['least'])} - {results.figure(line['most'])}"]
        cells.append(str(line["repetitions"]))
        if measure.baseline is not None:
            cells.append("" if line["ratio"] is None else results.figure(line["ratio"]))
        lines.append(cells)
    listed = tag("details", tag("summary", "In sentences"), tag("ul", *(tag("li", note) for note in notes)))
    numbers = range(len(measure.by), len(head))
    return tag(
        "div",
        listed if notes else "",
        tag("details", tag("summary", f"All medians ({len(lines)} lines)"), table(head, lines, numbers=numbers)),
        class_="screen",
    )
