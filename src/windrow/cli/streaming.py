"""`windrow run --stream` in this process: files in the order of their names through a live query.

With a checkpoint, results are written as parts. A part is complete on the disk before the checkpoint that knows it, and
parts that no checkpoint knows are removed when the stream goes on: each result is there once, whatever happens.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.cli import checkpoints
from windrow.cli.checkpoints import Place
from windrow.cli.ending import Interrupted, Usage
from windrow.cli.run import Job, shown
from windrow.cli.writing import Folder, Part, part_name
from windrow.errors import SnapshotError, WindrowError
from windrow.query import Report

#: seconds of work after which a checkpoint is made, at the end of the batch
OFTEN = 10.0


def stream(job: Job) -> Report:
    """Pushes all files, those that a checkpoint does not know yet."""
    try:
        return _stream(job)
    finally:
        if job.file.query.store is not None:
            job.file.query.store.close()


def _stream(job: Job) -> Report:
    if job.checkpoint is None:
        folder = Folder(job.output, job.form, job.overwrite)
        schema = job.schema()
        results = job.check_types(schema)
        schema = pa.schema([schema.field(name) for name in job.columns(schema)])
        with folder.made():
            stream = Stream(job, Place(job.form, b""), schema, results)
            stream.part_folder = folder.new
            stream.push_all(lambda: None)
            stream.finish()
            stream.part.done()
            folder.move()
        return stream.live.report
    with checkpoints.held(job.checkpoint):
        return Kept(job, job.checkpoint).run()


class Stream:
    """Files through a live query, results into a part."""

    def __init__(self, job: Job, place: Place, schema: pa.Schema, results: pa.Schema) -> None:
        self.job, self.place, self.schema = job, place, schema
        query = job.file.query
        self.live = query.resume(place.live) if place.live else query.open()
        self.told = {f.name: f.type for f in results}  # what the types alone tell of the results
        self.types = {f.name: f.type for f in _schema(place.results)} if place.results else dict[str, pa.DataType]()
        self.part_folder = job.output
        self.tell: Callable[[], None] = lambda: None  # how far it is
        self._part: Part | None = None

    @property
    def part(self) -> Part:
        if self._part is None:
            self._part = Part(self.part_folder / part_name(self.place.parts, self.job.form), self.job.form)
        return self._part

    def push_all(self, after: Callable[[], None]) -> None:
        """Pushes what has not been read; `after()` is called whenever the stream could stop."""
        files = [(self.job.input.name(file), file) for file in self.job.input.files]
        self._check_unchanged(files)
        waiting = [(name, file) for name, file in files if name not in self.place.done]
        total = sum(file.stat().st_size for _, file in waiting) or 1
        read = 0
        with shown() as step:
            for name, file in waiting:
                self.tell = partial(self._tell, step, name, read / total)
                self.tell()
                self._push(name, file, after)
                read += file.stat().st_size

    def _tell(self, step: Callable[[str, float], None], name: str, part: float) -> None:
        step(f"{name}, {self.live.report.rows_in:,} rows", part)

    def _push(self, name: str, file: Path, after: Callable[[], None]) -> None:
        size = file.stat().st_size
        skip = self.place.current[2] if self.place.current is not None and self.place.current[0] == name else 0
        rows = 0
        for table in self.job.input.batches(file, self.schema):
            rows += table.num_rows
            if rows <= skip:
                continue
            fresh = table.slice(max(0, skip - (rows - table.num_rows)))
            try:
                found = self.live.push(fresh)
            except WindrowError as error:
                raise WindrowError(f"{file}: {error}") from error
            self.write(found)
            self.place.current = name, size, rows
            self.tell()
            after()
        self.place.done[name] = size
        self.place.current = None
        after()

    def _check_unchanged(self, files: list[tuple[str, Path]]) -> None:
        known = dict(self.place.done)
        if self.place.current is not None:
            known[self.place.current[0]] = self.place.current[1]
        for name, file in files:
            if name in known and file.stat().st_size != known[name]:
                raise Usage(f"{file}: has changed since the stream read it; new rows belong into new files")

    def finish(self) -> None:
        """The rest of the results."""
        self.write(self.live.close())
        if self._part is None and not self.place.parts:
            # no result at all: a file without rows says what the columns are
            self.part.write(pa.schema(list(self.told.items())).empty_table())

    def write(self, found: Any) -> None:
        """Results, in columns of one type throughout."""
        if not isinstance(found, pa.Table) or not found.num_rows:
            return
        for field in found.schema:
            if self.types.get(field.name, pa.null()) == pa.null():
                self.types[field.name] = self.told.get(field.name, pa.null()) if field.type == pa.null() else field.type
        schema = pa.schema([(name, self.types[name]) for name in found.column_names])
        try:
            self.part.write(found.cast(schema))
        except pa.ArrowException as error:
            raise WindrowError(f"results are no longer of the types that they began with: {error}") from error


class Kept(Stream):
    """A stream with a checkpoint."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.folder = folder
        place = checkpoints.load(folder)
        self.new: Folder | None = None
        if place is None:
            self.new = self._new_output(job)
            schema = job.schema()
            results = job.check_types(schema)
            schema = pa.schema([schema.field(name) for name in job.columns(schema)])
            place = Place(job.form, schema.serialize().to_pybytes())
        else:
            self._check(job, place)
            schema = _schema(place.schema)
            job.input.remember(schema)
            results = job.check_types(schema)
        try:
            super().__init__(job, place, schema, results)
        except SnapshotError as error:
            raise Usage(f"--checkpoint {folder}: {error}") from error
        self.saved = time.monotonic()

    def run(self) -> Report:
        """Goes on from where it was."""
        if self.new is not None:
            with self.new.made():
                self.part_folder = self.new.new
                self._run()
        else:
            self._remove_unknown()
            self._run()
        return self.live.report

    def _run(self) -> None:
        try:
            with asked_to_stop() as asked:
                self.push_all(lambda: self._after(asked))
            if self.job.close:
                self.finish()
                self.place.closed = True
            self.save()
        finally:
            if self._part is not None:
                self._part.drop()

    def _after(self, asked: threading.Event) -> None:
        if asked.is_set():
            self.save()
            report = self.live.report
            raise Interrupted(
                f"interrupted after {len(self.place.done)} of {len(self.job.input.files)} files, {report.rows_in:,} "
                f"rows; the same command goes on from there"
            )
        if time.monotonic() - self.saved >= OFTEN:
            self.save()

    def save(self) -> None:
        """Part, then checkpoint."""
        place = self.place
        if self._part is not None:
            self._part.done()
            place.parts += 1
            self._part = None
        if self.new is not None:
            self.new.move()
            self.new, self.part_folder = None, self.job.output
        checkpoints.sync(self.job.output)
        place.results = pa.schema(list(self.types.items())).serialize().to_pybytes()
        place.live = self.live.snapshot()
        checkpoints.save(self.folder, place)
        self.saved = time.monotonic()

    def _new_output(self, job: Job) -> Folder:
        try:
            return Folder(job.output, job.form, job.overwrite)
        except Usage as error:
            if "not empty" in str(error):
                raise Usage(f"{error}; {self.folder} has no checkpoint to go on from") from None
            raise

    def _check(self, job: Job, place: Place) -> None:
        if place.closed:
            raise Usage(
                f"--checkpoint {self.folder}: the stream was closed; a new one needs a new checkpoint and output"
            )
        if job.overwrite:
            raise Usage(
                "--overwrite: the checkpoint goes on with the results that are there; begin with a new checkpoint"
            )
        if place.form != job.form:
            raise Usage(f"--format {job.form}: the stream began with {place.form}")
        for number in range(place.parts):
            if not (job.output / part_name(number, place.form)).exists():
                raise Usage(
                    f"--output {job.output}: has no {part_name(number, place.form)}, which the checkpoint knows"
                )

    def _remove_unknown(self) -> None:
        """Parts that were written after the checkpoint, by a process that then died."""
        for entry in self.job.output.iterdir() if self.job.output.is_dir() else ():
            number = re.fullmatch(rf"\.?part-(\d+)\.{self.job.form}(\.tmp)?", entry.name)
            if number and int(number[1]) >= self.place.parts:
                entry.unlink()


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set by the first Ctrl-C (or SIGTERM); the second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's business
        yield asked
        return

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _schema(data: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(data))
