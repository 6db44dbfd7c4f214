"""A fresh process: for what an import, an environment variable or other work in this process would spoil."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from windrow.errors import WindrowError

#: one thread, whoever asks
ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def lines(code: str, argument: Any, environment: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Runs `python -c CODE ARGUMENT-AS-JSON` and gives each JSON list or object it prints, as it comes."""
    env = {**os.environ, **(environment or {}), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", code, json.dumps(argument)]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.lstrip().startswith(("[", "{")):  # a library may print, too
                    yield json.loads(line)
            if process.wait() != 0:
                errors.seek(0)
                said = errors.read().strip().splitlines() or [f"exit code {process.returncode}"]
                raise WindrowError(f"a child process failed: {said[-1]}")
        except BaseException:
            process.kill()
            raise


def calling(module: str, function: str) -> str:
    """The code that calls a function with the argument."""
    return f"import json, sys\nfrom {module} import {function}\n{function}(json.loads(sys.argv[1]))\n"
