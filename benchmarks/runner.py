"""Runs experiments and keeps what they give: OUT/NAME.csv, OUT/NAME.png, a table."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine, results
from benchmarks.base import Experiment, Row, Settings, Verdict
from windrow.errors import WindrowError


@dataclass(frozen=True)
class Outcome:
    """One experiment that was run."""

    experiment: Experiment
    facts: dict[str, Any]
    rows: Sequence[Row]
    notes: list[str]
    seconds: float
    csv: Path
    png: Path | None
    verdict: Verdict
    hint: str = ""  # why there is no picture

    def as_json(self) -> dict[str, Any]:
        """All of it in plain types."""
        e = self.experiment
        return {
            "name": e.name, "title": e.title, "paper": e.paper, "asked": e.asked, "expected": e.expected,
            "agrees": self.verdict.agrees, "verdict": self.verdict.sentence, "machine": self.facts,
            "summary": results.summary(e.measure, self.rows), "notes": self.notes, "rows": list(self.rows),
            "seconds": round(self.seconds, 2), "csv": str(self.csv), "png": str(self.png) if self.png else None,
        }  # fmt: skip


def run(experiment: Experiment, settings: Settings, out: Path) -> Outcome:
    """Runs it, writes the CSV, reads it back and draws from that."""
    out.mkdir(parents=True, exist_ok=True)
    facts = {
        "experiment": experiment.name,
        **machine.facts(experiment.peers),
        "seed": settings.seed,
        "level": settings.level,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    start = time.perf_counter()
    rows = experiment.run(settings)
    if not rows:
        raise WindrowError(f"{experiment.name} gave no rows")
    seconds = time.perf_counter() - start
    csv, png = out / f"{experiment.name}.csv", out / f"{experiment.name}.png"
    results.write_csv(csv, rows, {**facts, "run_seconds": round(seconds, 1)})
    read = results.read_csv(csv)
    drawn: Path | None = png
    hint = ""
    try:
        results.draw(experiment, csv, png)
    except WindrowError as error:  # the figures are worth having without the picture
        drawn, hint = None, str(error)
    return Outcome(experiment, facts, rows, experiment.notes(read), seconds, csv, drawn, experiment.verdict(read), hint)
