"""What `python -m benchmarks` shows: progress while it runs, tables or JSON when it is done."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import EXPERIMENTS, Outcome, Settings, report, results
from benchmarks import run as run_experiment
from benchmarks.base import Level
from windrow.errors import WindrowError


def names() -> list[str]:
    return list(EXPERIMENTS)


def unknown(wanted: Sequence[str]) -> list[str]:
    return [name for name in wanted if name not in EXPERIMENTS]


def show_list(console: Console, as_json: bool) -> None:
    """What there is to run."""
    if as_json:
        print(
            json.dumps(
                [
                    {"name": e.name, "title": e.title, "paper": e.paper, "expected": e.expected}
                    for e in EXPERIMENTS.values()
                ]
            )
        )
        return
    table = Table(title="python -m benchmarks NAME...", title_justify="left")
    for column in ("name", "what", "paper", "the paper's result"):
        table.add_column(column, overflow="fold")
    for e in EXPERIMENTS.values():
        table.add_row(e.name, e.title, e.paper, e.expected)
    console.print(table)


def run(wanted: Sequence[str], level: Level, as_json: bool, out: Path, seed: int) -> None:
    """Runs them one after the other; one that fails does not keep the rest from running."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    done: list[dict[str, Any]] = []
    failed: list[str] = []
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    ) as progress:  # fmt: skip

        def track(items: Iterable[Any], label: str) -> Iterator[Any]:
            listed = list(items)
            task = progress.add_task(label, total=len(listed))
            for item in listed:
                yield item
                progress.advance(task)
            progress.remove_task(task)

        for name in wanted:
            try:
                outcome = run_experiment(EXPERIMENTS[name], Settings(level, seed, track), out)
            except KeyboardInterrupt:
                if any((out / f"{known}.csv").exists() for known in EXPERIMENTS):
                    report.write(EXPERIMENTS, out)  # of what there is
                raise
            except Exception as error:  # a library's own, too: hours of other experiments are worth more
                if len(wanted) == 1:
                    raise
                failed.append(name)
                print(f"benchmarks: {name} failed: {' '.join(str(error).split())}", file=sys.stderr)
                continue
            if as_json:
                done.append(outcome.as_json())
            else:
                show(console, outcome)
    if as_json:
        print(json.dumps(done, default=float))
    if len(failed) < len(wanted):
        write_report(Console(stderr=True) if as_json else console, out, not as_json and len(wanted) > 1)
    if failed:
        raise WindrowError(f"{len(failed)} of {len(wanted)} experiments failed: {', '.join(failed)}")


def write_report(console: Console, out: Path, verdicts: bool = True) -> None:
    """One page of all experiments whose results are in the folder; their verdicts as a table, too."""
    path = report.write(EXPERIMENTS, out)
    if verdicts:
        console.print(verdict_table(out))
    console.print(f"report: {path}", markup=False, highlight=False, soft_wrap=True)


def verdict_table(out: Path) -> Table:
    """One line an experiment."""
    table = Table(title="what the papers found, and what was found here", title_justify="left")
    for column in ("experiment", "agrees", "found here"):
        table.add_column(column, overflow="fold")
    for one in report.read(EXPERIMENTS, out):
        table.add_row(one.experiment.name, one.in_a_word, escape(one.verdict.sentence))
    return table


def show(console: Console, outcome: Outcome) -> None:
    """The table, what it shows, and what the paper found."""
    e = outcome.experiment
    console.print(results.table(e, outcome.rows))
    for note in outcome.notes:
        console.print(f"  {note}", markup=False, highlight=False)
    said = "the paper's result" if e.paper != "none" else "no paper has it"
    console.print(f"  {said} ({e.paper}): {e.expected}", markup=False, highlight=False)
    console.print(f"  verdict: {outcome.verdict.agrees}", markup=False, highlight=False)
    where = f"{outcome.csv}" + (f", {outcome.png}" if outcome.png else f" (no picture: {outcome.hint})")
    facts = outcome.facts
    console.print(
        f"  {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}; seed {facts['seed']}, {facts['level']}; "
        f"{outcome.seconds:.0f} s; {where}\n",
        markup=False, highlight=False,
    )  # fmt: skip
