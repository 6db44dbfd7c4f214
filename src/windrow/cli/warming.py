"""`windrow warm`: kernels are compiled, packed, or taken from a pack."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

#: rows of a query's input that tell its types
FEW = 1000
#: what numba compiles for, where the kernels go to other machines of the same architecture
ANY_CPU = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def warm(
    query: Path | None, given: str | None, input_form: Any, allow_code: bool, target: Path | None, source: Path | None
) -> None:
    """See `windrow.cli.app.warm`."""
    began = time.perf_counter()
    if source is not None:
        from windrow.engine.kernel_pack import unpack

        print(f"{unpack(source)} kernels taken from {source}")
        if query is None and target is None:
            return
    if target is None:
        _compile(query, given, input_form, allow_code)
        print(f"compiled in {time.perf_counter() - began:.1f} seconds")
        return
    with tempfile.TemporaryDirectory() as folder:  # what is packed is what is compiled here, and nothing else
        os.environ |= {**ANY_CPU, "WINDROW_CACHE_DIR": folder}  # numba is not imported yet
        _compile(query, given, input_form, allow_code)
        from windrow.engine.kernel_pack import pack

        print(f"{pack(target)} kernels, compiled in {time.perf_counter() - began:.1f} seconds: {target}")


def _compile(query: Path | None, given: str | None, input_form: Any, allow_code: bool) -> None:
    import windrow

    if query is not None and given is not None:
        from windrow.cli.opening import few_rows

        windrow.warm(*few_rows(query, given, input_form, allow_code, FEW))
        return
    columns = TextColumn("compiling what everyday queries use"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("")
        windrow.warm(told=lambda done, of: progress.update(task, completed=done, total=of))
