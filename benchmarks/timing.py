"""Measuring on a machine that others use as well: round robin, every repetition kept, ratios within a repetition."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

Setup = Callable[[], Callable[[], Any]]


def once(setup: Setup) -> float:
    """Seconds of one run of what `setup` prepared. The garbage collector waits."""
    run = setup()
    gc.disable()
    try:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    finally:
        gc.enable()


def interleaved(competitors: Mapping[str, Setup], repetitions: int) -> list[tuple[str, int, float]]:
    """(name, repetition, seconds): each repetition takes every competitor once, so that noise hits all alike."""
    gc.collect()  # once: with a compiler loaded it takes longer than many of the runs
    return [(name, repetition, once(setup)) for repetition in range(repetitions) for name, setup in competitors.items()]
