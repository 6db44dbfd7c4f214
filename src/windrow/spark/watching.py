"""How far Spark's jobs are, shown while they run, for callers who want it: `with windrow.spark.progress(spark): ...`"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from windrow.errors import WindrowError, how_to_install

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

#: seconds between two looks at a classic session
OFTEN = 0.3


class Bars:
    """A bar for each stage: how many of its tasks are done."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.bars: dict[int, TaskID] = {}

    def show(self, stage: int, name: str, tasks: int, done: int) -> None:
        """Where a stage is; one without tasks has nothing to show."""
        if not tasks:
            return
        if stage not in self.bars:
            self.bars[stage] = self.progress.add_task(name, total=tasks)
        self.progress.update(self.bars[stage], total=tasks, completed=done)


@contextmanager
def progress(spark: Any, console: Console | None = None) -> Iterator[Bars]:
    """Shows the stages of a session's jobs on stderr, or on a console of rich's, until the block ends.

    Nothing of the session changes: a classic one is asked a few times a second, one over Connect tells by itself.
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        raise WindrowError(f"progress needs the package rich: {how_to_install('cli')}") from None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console or Console(stderr=True)) as shown:
        bars = Bars(shown)
        with _told(spark, bars) if "connect" in type(spark).__module__ else _asked(spark, bars):
            yield bars


@contextmanager
def _told(spark: Any, bars: Bars) -> Iterator[None]:
    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        for stage in stages or ():
            bars.show(stage.stage_id, f"stage {stage.stage_id}", stage.num_tasks, stage.num_completed_tasks)

    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextmanager
def _asked(spark: Any, bars: Bars) -> Iterator[None]:
    tracker, ended = spark.sparkContext.statusTracker(), threading.Event()

    def look() -> None:
        for stage in {*tracker.getActiveStageIds(), *bars.bars}:
            if (info := tracker.getStageInfo(stage)) is not None:
                bars.show(stage, f"stage {stage}: {info.name}", info.numTasks, info.numCompletedTasks)

    def watch() -> None:
        while not ended.wait(OFTEN):
            look()

    watcher = threading.Thread(target=watch, name="windrow progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        look()
