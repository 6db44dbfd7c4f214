"""What the figures were measured on, and with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

import windrow


def cpu_model() -> str:
    """The processor's own name, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_bytes() -> int | None:
    """The memory of the machine; None where it cannot be asked."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def version(package: str) -> str:
    """The installed version, "" where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def facts(peers: tuple[str, ...] = ()) -> dict[str, str | int | float]:
    """The columns that every CSV begins with."""
    memory = memory_bytes()
    known: dict[str, str | int | float] = {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(memory / 2**30, 1) if memory else 0.0,
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "windrow": windrow.__version__,
    }
    if peers:
        known["peers"] = "; ".join(f"{name} {version(name)}" for name in peers if version(name))
    return known
