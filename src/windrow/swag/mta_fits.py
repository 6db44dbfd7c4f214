"""Whether the levels of a saved Monoid Tree hang together."""

from __future__ import annotations

from typing import Any


def levels_fit(r: Any, links: Any, room: int, orphans: int) -> bool:
    """Invariants 1 and 2, and the ties between levels; level l has room for room >> l elements.

    `orphans`: how many last pairs of a level have no parent.
    """
    if not 0 <= r.h <= min(len(links) // 2, room.bit_length()) or (r.h == 0) != (r.n == 0):
        return False
    above = 1  # pairs that the level above has elements for
    for l in range(r.h - 1, -1, -1):
        H, T = int(links[2 * l]), int(links[2 * l + 1])
        pairs = ((T - 1) >> 1) - (H >> 1) + 1
        if not 0 <= H < T <= H + (room >> l) or pairs != (1 if l == r.h - 1 else above + orphans):
            return False
        above = T - H
    return r.h == 0 or above == r.n
