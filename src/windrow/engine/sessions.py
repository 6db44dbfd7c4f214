"""Sessions: items that follow each other by less than a gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.compiler import cached, whole
from windrow.engine.walks import check_room, ready


def session_cuts(times: Any, seg: Any, gap: int, flags: np.ndarray) -> None:
    """Sets `flags[i]` where item i begins a session."""
    times, gap = ready(times, np.int64), int(gap)
    if len(times):
        check_room(0, int(times.max()) + gap, f"sessions with a gap of {gap}")
    _cut(times, ready(seg, np.int64), np.int64(gap), flags)


@cached
@whole("numpy")
def _cut(times, seg, gap, flags):
    for s in range(len(seg) - 1):
        a, z = seg[s], seg[s + 1]
        if a < z:
            flags[a] = True
            for i in range(a + 1, z):
                if times[i] >= times[i - 1] + gap:
                    flags[i] = True
