"""Standard input and output in place of files: `-`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from windrow.cli.ending import Usage

PIPE = "-"


@contextmanager
def taken_in(given: str, form: str | None) -> Iterator[str]:
    """The input as a file: itself, or what standard input holds.

    It is read twice, for the columns' types and for the rows, so it goes through a file that is gone afterwards.
    """
    if given != PIPE:
        yield given
        return
    if sys.stdin.isatty():
        raise Usage("--input -: reads rows from a pipe, and standard input is a terminal")
    with tempfile.TemporaryDirectory(prefix="windrow-") as folder:
        path = Path(folder) / f"stdin.{form or 'csv'}"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(path)


@contextmanager
def given_out(output: Path | None, form: str | None) -> Iterator[tuple[Path, str]]:
    """(the folder for the results, their format): itself, or one that goes to standard output at the end."""
    if output is not None and str(output) != PIPE:
        yield output, form or "parquet"
        return
    if form == "parquet":
        raise Usage("--format parquet needs a folder: --output DIR")
    with tempfile.TemporaryDirectory(prefix="windrow-") as folder:
        yield Path(folder) / "out", form or "csv"
        out: IO[bytes] = sys.stdout.buffer
        for number, part in enumerate(sorted((Path(folder) / "out").glob("part-*"))):
            with part.open("rb") as file:
                if number and (form or "csv") == "csv":
                    file.readline()  # the head is there already
                shutil.copyfileobj(file, out)
        out.flush()
